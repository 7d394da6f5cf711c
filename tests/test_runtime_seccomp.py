"""Sockets are AF_UNIX only and no system call reaches another process, on both architectures and in both runtimes."""

from __future__ import annotations

import json
import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from images.base.seccomp import PROFILE, profile
from runner.runtimes import bpf

ALLOWED, REFUSED, KILLED = bpf.ALLOW, bpf.ERRNO | bpf.EPERM, bpf.KILL_PROCESS
AUDIT = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}
SOCKET = {"x86_64": 41, "aarch64": 198}
CLONE = {"x86_64": 56, "aarch64": 220}
MACHINES = sorted(AUDIT)


def run(code: bytes, number: int, architecture: int, argument: int = 0) -> int:
    """What the kernel would return for one system call: classic BPF over ``struct seccomp_data``."""
    data = struct.pack("<IIQQ", number, architecture, 0, argument)
    accumulator, at = 0, 0
    while True:
        operation, if_true, if_false, value = struct.unpack_from("<HBBI", code, 8 * at)
        at += 1
        if operation == 0x20:
            (accumulator,) = struct.unpack_from("<I", data, value)
        elif operation == 0x15:
            at += if_true if accumulator == value else if_false
        elif operation == 0x45:
            at += if_true if accumulator & value else if_false
        else:
            assert operation == 0x06
            return value


def program(machine: str) -> bytes:
    code = bpf.program(machine)
    assert code is not None
    return code


@pytest.mark.parametrize("machine", MACHINES)
@given(family=st.integers(0, 255))
def test_the_filter_lets_unix_sockets_through_and_no_other(machine: str, family: int) -> None:
    expected = ALLOWED if family == 1 else REFUSED
    assert run(program(machine), SOCKET[machine], AUDIT[machine], family) == expected


@pytest.mark.parametrize("machine", MACHINES)
@given(flags=st.integers(0, 0xFFFFFFFF))
def test_the_filter_lets_threads_through_and_no_namespace(machine: str, flags: int) -> None:
    expected = REFUSED if flags & bpf.NEW_NAMESPACES else ALLOWED
    assert run(program(machine), CLONE[machine], AUDIT[machine], flags) == expected


@pytest.mark.parametrize("machine", MACHINES)
def test_a_call_of_another_architecture_ends_the_process(machine: str) -> None:
    other = AUDIT["aarch64" if machine == "x86_64" else "x86_64"]
    assert run(program(machine), 0, other) == KILLED
    assert run(program(machine), 0, 0x40000003) == KILLED  # i386


def test_the_third_call_table_of_x86_64_is_refused() -> None:
    assert run(program("x86_64"), 0x40000000 | 41, AUDIT["x86_64"], 1) == REFUSED


def test_an_unknown_machine_has_no_filter() -> None:
    assert bpf.program("riscv64") is None


def test_the_stored_profile_is_the_one_that_the_groups_give() -> None:
    assert json.loads(PROFILE.read_text()) == profile()


FORBIDDEN = """
ptrace process_vm_readv process_vm_writev io_uring_setup io_uring_enter io_uring_register userfaultfd bpf
perf_event_open keyctl add_key request_key mount umount2 pivot_root chroot unshare setns pidfd_getfd kcmp
name_to_handle_at open_by_handle_at memfd_secret fsopen move_mount init_module kexec_load reboot personality clone3
socketcall setuid setgid
"""


def test_the_profile_allows_no_call_that_reaches_beyond_the_process() -> None:
    allowed = {name for rule in profile()["syscalls"] if rule["action"] == "SCMP_ACT_ALLOW" for name in rule["names"]}
    assert allowed.isdisjoint(FORBIDDEN.split())
    assert profile()["defaultAction"] == "SCMP_ACT_ERRNO"
    for rule in profile()["syscalls"]:
        if rule["action"] == "SCMP_ACT_ALLOW" and {"socket", "socketpair", "clone"} & set(rule["names"]):
            assert rule["args"]
