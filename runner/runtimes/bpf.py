"""A seccomp filter for bubblewrap, which takes a compiled program: a small assembler for what it needs.

bubblewrap already takes away network, capabilities and the view of other processes; the filter closes what a plain user
can still reach inside: other socket families (AF_VSOCK reaches the hypervisor from any namespace), ptrace and reading
other processes' memory, new namespaces, io_uring, userfaultfd, bpf, keys. It is a deny-list, unlike the containers'
profile: numbers of three hundred calls for two architectures would be a table that nobody checks.
"""

from __future__ import annotations

import os
import platform
import struct

ALLOW, KILL_PROCESS, ERRNO = 0x7FFF0000, 0x80000000, 0x00050000
EPERM, ENOSYS = 1, 38
AF_UNIX = 1
NEW_NAMESPACES = 0x7E020000  # every CLONE_NEW* flag of clone
X32 = 0x40000000  # the third system call table of x86-64
_LOAD, _EQUAL, _BITS, _RETURN = 0x20, 0x15, 0x45, 0x06  # BPF: load word, jump if equal, jump if any bit, return
_NUMBER, _ARCHITECTURE, _ARGUMENT = 0, 4, 16  # offsets in struct seccomp_data; both architectures are little endian

# Same number everywhere: open_tree, move_mount, fsopen, fsconfig, fsmount, fspick, io_uring_*, pidfd_getfd,
# mount_setattr, memfd_secret
_EVERYWHERE = (428, 429, 430, 431, 432, 433, 425, 426, 427, 438, 442, 447)
# machine -> (audit architecture, socket, socketpair, clone, clone3, denied calls in this order: ptrace,
# process_vm_readv, process_vm_writev, userfaultfd, bpf, perf_event_open, keyctl, add_key, request_key, mount, umount2,
# pivot_root, chroot, unshare, setns, kcmp, name_to_handle_at, open_by_handle_at, syslog, personality)
_TABLES: dict[str, tuple[int, int, int, int, int, tuple[int, ...]]] = {
    "x86_64": (
        *(0xC000003E, 41, 53, 56, 435),
        (101, 310, 311, 323, 321, 298, 250, 248, 249, 165, 166, 155, 161, 272, 308, 312, 303, 304, 103, 135),
    ),
    "aarch64": (
        *(0xC00000B7, 198, 199, 220, 435),
        (117, 270, 271, 282, 280, 241, 219, 217, 218, 40, 39, 41, 51, 97, 268, 272, 264, 265, 116, 92),
    ),
}


def program(machine: str) -> bytes | None:
    """The filter as an array of ``struct sock_filter``; None for a machine that there is no table for."""
    if machine not in _TABLES:
        return None
    architecture, socket, socketpair, clone, clone3, denied = _TABLES[machine]
    code = [
        _instruction(_LOAD, _ARCHITECTURE),
        _instruction(_EQUAL, architecture, 1, 0),
        _instruction(_RETURN, KILL_PROCESS),
        _instruction(_LOAD, _NUMBER),
        _instruction(_BITS, X32, 0, 1),
        _instruction(_RETURN, ERRNO | EPERM),
    ]
    for number in (*denied, *_EVERYWHERE):
        code += _refuse(number, EPERM)
    code += _refuse(clone3, ENOSYS)  # its flags are out of a filter's reach; the C library falls back to clone
    for number in (socket, socketpair):
        code += _unless_equal(number, AF_UNIX)
    code += _if_any_bit(clone, NEW_NAMESPACES)
    code.append(_instruction(_RETURN, ALLOW))
    return b"".join(code)


def descriptor(machine: str | None = None) -> int | None:
    """A descriptor from which bubblewrap reads the filter once; the caller closes it."""
    code = program(machine or platform.machine())
    if code is None:
        return None
    file = os.memfd_create("seccomp", 0)
    os.write(file, code)
    os.lseek(file, 0, os.SEEK_SET)
    return file


def _instruction(code: int, value: int, if_true: int = 0, if_false: int = 0) -> bytes:
    return struct.pack("<HBBI", code, if_true, if_false, value)


def _refuse(number: int, error: int) -> list[bytes]:
    return [_instruction(_EQUAL, number, 0, 1), _instruction(_RETURN, ERRNO | error)]


def _unless_equal(number: int, value: int) -> list[bytes]:
    """Refuse the call unless its first argument (low word) is ``value``."""
    return [
        _instruction(_EQUAL, number, 0, 4),
        _instruction(_LOAD, _ARGUMENT),
        _instruction(_EQUAL, value, 0, 1),
        _instruction(_RETURN, ALLOW),
        _instruction(_RETURN, ERRNO | EPERM),
    ]


def _if_any_bit(number: int, bits: int) -> list[bytes]:
    """Refuse the call if its first argument has any of ``bits``."""
    return [
        _instruction(_EQUAL, number, 0, 4),
        _instruction(_LOAD, _ARGUMENT),
        _instruction(_BITS, bits, 1, 0),
        _instruction(_RETURN, ALLOW),
        _instruction(_RETURN, ERRNO | EPERM),
    ]
