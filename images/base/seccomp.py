"""Writes ``images/sandbox/seccomp.json``: the system calls that a container of an attempt may make.

    python -m images.base.seccomp

An allow-list by purpose: what Python, NumPy, Pillow, MuJoCo and software rendering use, and nothing else. Sockets are
AF_UNIX only, new namespaces cannot be made, and the calls that read or steer other processes or that widen the reach
into the kernel (ptrace, process_vm_*, io_uring, userfaultfd, bpf, keyctl, mount, ...) are absent. The default profile
of Engine 20.10 leaves AF_VSOCK and io_uring open and lets an agent hold its container open by ptrace.

The keys are those that every Engine from 20.10 on understands; names that an architecture or a libseccomp does not know
are skipped by the Engine. Foreign architectures of the same processor (i386, x32, 32-bit ARM) are not listed: their
calls are refused altogether.
"""

from __future__ import annotations

import json
import socket
from pathlib import Path
from typing import Any

PROFILE = Path(__file__).resolve().parents[1] / "sandbox" / "seccomp.json"
ENOSYS = 38
# CLONE_NEWNS, NEWCGROUP, NEWUTS, NEWIPC, NEWUSER, NEWPID and NEWNET
NEW_NAMESPACES = 0x7E020000

FILES = """
access faccessat faccessat2 chdir fchdir chmod fchmod fchmodat fchmodat2 chown fchown fchownat lchown close
close_range copy_file_range creat dup dup2 dup3 fadvise64 fallocate fcntl fdatasync flock fsync fstat fstatfs
ftruncate futimesat getcwd getdents getdents64 getxattr fgetxattr lgetxattr listxattr flistxattr llistxattr
inotify_init inotify_init1 inotify_add_watch inotify_rm_watch ioctl lseek link linkat lstat memfd_create mkdir mkdirat
mknod mknodat newfstatat open openat openat2 pread64 preadv preadv2 pwrite64 pwritev pwritev2 read readahead readlink
readlinkat readv rename renameat renameat2 rmdir sendfile splice stat statfs statx symlink symlinkat sync
sync_file_range syncfs tee truncate umask unlink unlinkat utime utimensat utimes write writev
"""
MEMORY = """
brk madvise membarrier mincore mlock mlock2 mlockall mmap mprotect mremap msync munlock munlockall munmap pkey_alloc
pkey_free pkey_mprotect
"""
PROCESSES = """
arch_prctl capget execve execveat exit exit_group fork getcpu getegid geteuid getgid getgroups getpgid getpgrp getpid
getppid getpriority getresgid getresuid getrlimit getrusage getsid gettid getuid kill pidfd_open pidfd_send_signal
prctl prlimit64 rseq sched_get_priority_max sched_get_priority_min sched_getaffinity sched_getattr sched_getparam
sched_getscheduler sched_rr_get_interval sched_setaffinity sched_setparam sched_setscheduler sched_yield
set_robust_list get_robust_list set_tid_address setpgid setpriority setrlimit setsid sysinfo tgkill times tkill uname
vfork wait4 waitid
"""
SIGNALS_AND_TIME = """
alarm clock_getres clock_gettime clock_nanosleep getitimer gettimeofday nanosleep pause restart_syscall rt_sigaction
rt_sigpending rt_sigprocmask rt_sigqueueinfo rt_sigreturn rt_sigsuspend rt_sigtimedwait rt_tgsigqueueinfo setitimer
sigaltstack signalfd signalfd4 time timer_create timer_delete timer_getoverrun timer_gettime timer_settime
timerfd_create timerfd_gettime timerfd_settime
"""
WAITING = """
epoll_create epoll_create1 epoll_ctl epoll_pwait epoll_pwait2 epoll_wait eventfd eventfd2 futex futex_waitv getrandom
pipe pipe2 poll ppoll pselect6 select
"""
CONNECTED_SOCKETS = """
accept accept4 bind connect getpeername getsockname getsockopt listen recvfrom recvmmsg recvmsg sendmmsg sendmsg
sendto setsockopt shutdown
"""


def _argument(index: int, value: int, operator: str, second: int = 0) -> dict[str, Any]:
    return {"index": index, "value": value, "valueTwo": second, "op": f"SCMP_CMP_{operator}"}


def profile() -> dict[str, Any]:
    """The profile in the Engine's format."""
    groups = (FILES, MEMORY, PROCESSES, SIGNALS_AND_TIME, WAITING, CONNECTED_SOCKETS)
    return {
        "defaultAction": "SCMP_ACT_ERRNO",
        "archMap": [
            {"architecture": "SCMP_ARCH_X86_64", "subArchitectures": []},
            {"architecture": "SCMP_ARCH_AARCH64", "subArchitectures": []},
        ],
        "syscalls": [
            *({"names": sorted(group.split()), "action": "SCMP_ACT_ALLOW"} for group in groups),
            {
                "names": ["socket", "socketpair"],
                "action": "SCMP_ACT_ALLOW",
                "args": [_argument(0, int(socket.AF_UNIX), "EQ")],
            },
            {"names": ["clone"], "action": "SCMP_ACT_ALLOW", "args": [_argument(0, NEW_NAMESPACES, "MASKED_EQ")]},
            # Its flags are behind a pointer that a filter cannot read; the C library falls back to clone.
            {"names": ["clone3"], "action": "SCMP_ACT_ERRNO", "errnoRet": ENOSYS},
        ],
    }


if __name__ == "__main__":
    PROFILE.write_text(json.dumps(profile(), indent=1) + "\n", encoding="utf-8")
