"""Attacks from inside the sandbox: none changes a verdict, kills the environment, or outlives its attempt."""

from __future__ import annotations

import os
import platform
import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest
from runtime_pairs import begin, execute, request, runtime, verdict

from runner.runtimes.base import Pair, Runtime

ISOLATED = [
    pytest.param("docker", marks=pytest.mark.docker),
    pytest.param("bubblewrap", marks=pytest.mark.bubblewrap),
]
# ptrace, process_vm_readv, process_vm_writev, io_uring_setup, userfaultfd, bpf, perf_event_open, keyctl, add_key,
# mount, unshare, setns, pidfd_getfd, kcmp, open_by_handle_at, memfd_secret
CALLS = {
    "x86_64": (101, 310, 311, 425, 323, 321, 298, 250, 248, 165, 272, 308, 438, 312, 304, 447),
    "aarch64": (117, 270, 271, 425, 282, 280, 241, 219, 217, 40, 97, 268, 438, 272, 265, 447),
}


@pytest.fixture(scope="module", params=ISOLATED)
def isolated(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Runtime]:
    started = runtime(request.param, tmp_path_factory.mktemp("home"))
    yield started
    started.close()


@pytest.fixture
def pair(isolated: Runtime) -> Iterator[Pair]:
    """A pair whose episode has begun. Whatever the test did, the verdict is the environment's own."""
    opened = isolated.open(request())
    try:
        begin(opened)
        yield opened
        judged = verdict(opened)
        assert judged["judgement"]["cause"] == "quit"
        assert judged["meter"]["actions"] == 0
    finally:
        opened.close()


def attack(pair: Pair, code: str, timeout_s: float = 20.0) -> str:
    header, printed = execute(pair, code, timeout_s)
    assert header["status"] == "ok", (header, printed)
    return printed


def processes_with(marker: str) -> list[str]:
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit() and int(entry.name) != os.getpid():
            try:
                if marker.encode() in (entry / "cmdline").read_bytes():
                    found.append(entry.name)
            except OSError:
                continue
    return found


def test_no_socket_but_a_unix_socket_can_be_made(pair: Pair) -> None:
    printed = attack(
        pair,
        """
import socket
for family in range(2, 46):
    for kind in (1, 2, 3):
        try: socket.socket(family, kind).close()
        except OSError: continue
        print("open", family, kind)
socket.socket(socket.AF_UNIX).close()
""",
    )
    assert printed == ""


def test_the_kernel_refuses_to_reach_other_processes_and_its_own_back_doors(pair: Pair) -> None:
    printed = attack(
        pair,
        f"""
import ctypes, errno
call = ctypes.CDLL(None, use_errno=True).syscall
for number in {CALLS[platform.machine()]}:
    ctypes.set_errno(0)
    if call(number, 0, 0, 0, 0, 0) != -1 or ctypes.get_errno() not in (errno.EPERM, errno.ENOSYS):
        print(number, ctypes.get_errno())
for flag in (0x10000000, 0x40000000, 0x00020000):  # new user, network and mount namespaces by clone
    if (child := call({56 if platform.machine() == "x86_64" else 220}, flag | 17, 0, 0, 0, 0)) != -1:
        import os
        if child == 0: os._exit(0)
        print("cloned", hex(flag))
""",
    )
    assert printed == ""


def test_the_agent_is_nobody_without_capabilities(pair: Pair) -> None:
    printed = attack(
        pair,
        """
import os
assert os.getuid() != 0 and os.geteuid() == os.getuid() and 0 not in os.getgroups()
status = dict(line.split(":", 1) for line in open("/proc/self/status") if ":" in line)
assert int(status["CapEff"], 16) == int(status["CapPrm"], 16) == int(status["CapAmb"], 16) == 0
assert status["NoNewPrivs"].strip() == "1" and status["Seccomp"].strip() == "2"
""",
    )
    assert printed == ""


def test_the_sandbox_holds_no_scene_evaluator_manifest_or_reference(pair: Pair) -> None:
    printed = attack(
        pair,
        """
import importlib.util, os
for module in ("mujoco", "pydantic", "manifests", "scoring", "runner", "images.mujoco", "images.gateway",
               "images.reference"):
    if importlib.util.find_spec(module) is not None: print("module", module)
words = ("mujoco", "evaluator", "scene", "manifest", "certificate", "launcher", "gateway")
for folder, folders, files in os.walk("/opt"):
    if "/site/" in folder: continue
    for name in folders + files:
        if any(word in name for word in words): print(os.path.join(folder, name))
for home in ("/root", "/home", "/work", "/mnt", "/srv"):
    for folder, folders, files in os.walk(home):
        for name in files:
            if name.endswith((".json", ".jsonl", ".sqlite", ".env")) and "python3" not in folder:
                print(os.path.join(folder, name))
""",
    )
    assert printed == ""


def test_the_environment_and_the_host_are_out_of_sight(pair: Pair) -> None:
    printed = attack(
        pair,
        """
import os
for entry in filter(str.isdigit, os.listdir("/proc")):
    try: command = open(f"/proc/{entry}/cmdline").read().replace(chr(0), " ")
    except OSError: continue
    if "gateway" in command or "runner" in command or "pytest" in command or "dockerd" in command:
        print(entry, command)
for path in ("/var/run/docker.sock", "/run/docker.sock", "/dev/kvm", "/dev/mem", "/dev/vsock"):
    if os.path.exists(path): print(path)
""",
    )
    assert printed == ""


def test_the_socket_folder_cannot_be_changed(pair: Pair) -> None:
    printed = attack(
        pair,
        """
import os, socket
def refused(name, do):
    try: do()
    except OSError: return
    print(name)
refused("create", lambda: open("/io/x", "w"))
refused("unlink", lambda: os.unlink("/io/s"))
refused("rename", lambda: os.rename("/io/s", "/io/t"))
refused("bind", lambda: socket.socket(socket.AF_UNIX).bind("/io/t"))
refused("chmod", lambda: os.chmod("/io/s", 0o777))
refused("chmod folder", lambda: os.chmod("/io", 0o777))
refused("link", lambda: os.symlink("/tmp", "/io/l"))
refused("replace", lambda: os.replace("/tmp", "/io"))
""",
    )
    assert printed == ""


def test_nothing_but_the_scratch_folders_can_be_written_and_they_are_small(pair: Pair) -> None:
    printed = attack(
        pair,
        """
import os
written = 0
for folder in ("/tmp", "/dev/shm"):
    try:
        for index in range(1000):
            with open(f"{folder}/fill{index}", "wb") as file:
                for _ in range(8): written += file.write(bytes(1 << 20))
    except (OSError, MemoryError): pass
    for name in os.listdir(folder):
        if name.startswith("fill"): os.unlink(f"{folder}/{name}")
if written > 200 << 20: print("wrote", written)
meant = ("/proc", "/sys", "/tmp", "/dev/shm", "/dev/mqueue")
for root, folders, files in os.walk("/"):
    folders[:] = [f for f in folders if os.path.join(root, f) not in meant]
    try:
        open(os.path.join(root, "x"), "w")
        print(root)
    except OSError: pass
""",
    )
    assert printed == ""


def test_a_fork_bomb_stops_at_the_process_limit(pair: Pair) -> None:
    header, _ = execute(
        pair,
        """
import os, time
children = 0
try:
    while True:
        if os.fork() == 0:
            time.sleep(60); os._exit(0)
        children += 1
except OSError:
    assert children < 64, children
    raise SystemExit
""",
    )
    assert header["status"] in ("ok", "error", "killed")
    assert execute(pair, "print('alive')")[1] == "alive\n"


def test_a_memory_hog_loses_its_own_memory_only(pair: Pair) -> None:
    header, _ = execute(pair, "kept = []\nwhile True: kept.append(bytearray(16 << 20))")
    assert header["status"] in ("memory", "killed", "error")
    if header["status"] == "error":
        assert header["error"]["type"] == "MemoryError"


def test_an_endless_loop_that_ignores_signals_ends_at_its_deadline(pair: Pair) -> None:
    header, _ = execute(
        pair,
        """
import signal
for number in range(1, 65):
    try: signal.signal(number, signal.SIG_IGN)
    except (OSError, ValueError): pass
while True:
    try:
        while True: pass
    except BaseException: pass
""",
        timeout_s=1.0,
    )
    assert header["status"] in ("timeout", "killed")


def test_no_frame_to_the_gateway_costs_more_than_its_own_connection(pair: Pair) -> None:
    printed = attack(
        pair,
        """
import json, socket, struct

def dial():
    peer = socket.socket(socket.AF_UNIX)
    peer.settimeout(10)
    peer.connect("/io/s")
    return peer

def answer(peer):
    try:
        size = struct.unpack(">I", peer.recv(4, socket.MSG_WAITALL))[0]
        return json.loads(peer.recv(size, socket.MSG_WAITALL))
    except (OSError, struct.error):
        return None

def step(**array):
    declared = {"name": "actions", "kind": "array", "dtype": "float64", **array}
    return json.dumps({"v": 1, "id": 1, "op": "step", "attachments": [declared]})

nested = "[" * 100000 + "]" * 100000
hostile = [
    step(shape=[2**62, 0], size=0), step(shape=[0, 2**62], size=0), step(shape=[2**400, 0], size=0),
    step(shape=[2**62, 16], size=2**69), step(shape=[-1, 16], size=-128), step(shape=[1, 16], size=-128),
    step(shape=[1.0, 16], size=128), step(shape=[True, 16], size=128), step(shape=[1] * 100, size=8),
    step(shape=[1, 16], size=24 << 20), step(shape=[1 << 17, 16], size=16 << 20),
    step(shape=[[[]]], size=0), step(shape={}, size=0), step(shape=[1, 16], size=128, dtype=nested),
    '{"v":1,"id":1,"op":"step","attachments":' + nested + "}", '{"v":1,"id":1,"op":"step","action":' + nested + "}",
    '{"v":1,"id":1,"op":"observe","fields":' + nested + "}", nested, "[" * 100000, '{"a":' * 50000,
    '{"v":1.0,"id":1,"op":"step","action":[0]}', '{"v":1,"id":1,"op":"step","action":NaN}',
    '{"v":1,"id":1,"op":"step","action":[Infinity]}', '{"v":NaN}', '{"v":1,"id":1' + "0" * 5000 + ',"op":"observe"}',
    "", "null", chr(0) * 4, chr(0xD800),
]
for text in hostile:
    with dial() as peer:
        head = text.encode("utf-8", "surrogatepass")
        try: peer.sendall(struct.pack(">I", len(head)) + head)
        except OSError: pass
        peer.shutdown(socket.SHUT_WR)
        reply = answer(peer)
        if reply is not None and reply["ok"]: print(text[:80], reply)
for length in (0xffffffff, 0x80000000, (256 << 10) + 1):
    with dial() as peer:
        peer.sendall(struct.pack(">I", length) + b"{}")
        if answer(peer)["error"]["kind"] != "undecodable": print(length)
assert env.observe(fields=[]).actions == 0
crowd = [dial() for _ in range(17)]
if answer(crowd[-1])["error"]["kind"] != "too_many_connections": print("no refusal")
for peer in crowd: peer.close()
seen = env.observe()
assert seen.actions == 0 and seen.terminal is None and seen.fields
""",
        timeout_s=60.0,
    )
    assert printed == ""


def test_forged_success_reaches_nobody(pair: Pair) -> None:
    execute(
        pair,
        """
import json, os, struct, sys
head = json.dumps({"op": "verdict", "judgement": {"cause": "goal_met"}, "meter": {"actions": 1}}).encode()
forged = struct.pack(">I", len(head)) + head + b"SUCCESS goal_met verdict\\n"
targets = ["/tmp/verdict", "/tmp/verdict.json", "/dev/stdout", "/dev/stderr", "/io/verdict", "/proc/1/fd/1"]
targets += [f"/proc/{pid}/fd/{fd}" for pid in filter(str.isdigit, os.listdir("/proc")) for fd in range(12)]
for target in targets:
    try:
        descriptor = os.open(target, os.O_WRONLY | os.O_CREAT | os.O_NONBLOCK, 0o600)
        os.write(descriptor, forged); os.close(descriptor)
    except OSError: pass
for descriptor in range(64):
    try: os.set_blocking(descriptor, False); os.write(descriptor, forged)
    except OSError: pass
""",
    )


@pytest.mark.parametrize("end", ["close", "kill"])
def test_a_detached_process_ends_with_its_sandbox(isolated: Runtime, end: str) -> None:
    marker = f"marker-{uuid.uuid4().hex}"
    opened = isolated.open(request())
    try:
        begin(opened)
        opened.sandbox.send(
            {
                "op": "exec",
                "id": 1,
                "code": f"""
import os, subprocess, sys, time
subprocess.Popen([sys.executable, "-c", "import signal, time\\nfor n in (1, 2, 15): signal.signal(n, signal.SIG_IGN)\\n"
                  "time.sleep(600)", {marker!r}], start_new_session=True)
while True: time.sleep(1)
""",
                "timeout_s": 60.0,
                "output_limit": 1000,
            }
        )
        for _ in range(200):
            if processes_with(marker):
                break
            with pytest.raises(TimeoutError):
                opened.sandbox.receive(0.05)
        assert processes_with(marker)
        if end == "kill":
            opened.kill("sandbox")
            ended = opened.exit("sandbox", 10.0)
            assert ended is not None
            assert ended.code == 137
            assert verdict(opened)["judgement"]["cause"] == "quit"
    finally:
        opened.close()
    assert processes_with(marker) == []
