"""The sandbox's kernel: code runs in a worker that can be bounded, lost and replaced; nothing reaches the kernel."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from images.client.wire import encode
from images.sandbox.output import Capture
from images.sandbox.processes import descendants
from tests.gateway_harness import Process, gateway


class Sandbox(Process):
    def __init__(self, path: str = "/nowhere/s", uid: int | None = None) -> None:
        module = ["images.sandbox"] if uid is None else ["tests.sandbox_as_user", str(uid), "40"]
        super().__init__(*module, "--socket", path)
        self.expect("hello")
        self.count = 0

    def run(self, code: str, timeout_s: float = 20.0, output_limit: int = 65536) -> dict[str, Any]:
        """The result with its two streams."""
        self.count += 1
        self.send("exec", id=self.count, code=code, timeout_s=timeout_s, output_limit=output_limit)
        header, parts = self.expect("result")
        assert header["id"] == self.count
        return {**header, **parts}

    def kill(self) -> None:
        """In order where that is possible: a killed kernel can end nothing that the code has forked."""
        with contextlib.suppress(subprocess.TimeoutExpired):
            self.end(5)
        super().kill()

    def output(self, code: str) -> str:
        result = self.run(code)
        assert result["status"] == "ok", result
        return result["stdout"].decode().strip()


@pytest.fixture(scope="module")
def shared() -> Iterator[Sandbox]:
    sandbox = Sandbox()
    yield sandbox
    sandbox.kill()


@pytest.fixture
def sandbox() -> Iterator[Sandbox]:
    sandbox = Sandbox()
    yield sandbox
    sandbox.kill()


def alive(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except (FileNotFoundError, ProcessLookupError):
        return False
    return state not in "ZX"


def gone(pid: int, within_s: float = 2.0) -> bool:
    deadline = time.monotonic() + within_s
    while alive(pid) and time.monotonic() < deadline:
        time.sleep(0.01)
    return not alive(pid)


def test_variables_live_from_one_piece_of_code_to_the_next(shared):
    assert shared.run("x = 3\nclass Point: pass")["status"] == "ok"
    assert shared.output("import pickle; print(x, type(pickle.loads(pickle.dumps(Point()))).__name__)") == "3 Point"


def test_numpy_and_pillow_are_there_at_once(shared):
    begin = time.monotonic()
    assert shared.output("import sys; print('numpy' in sys.modules, 'PIL.Image' in sys.modules)") == "True True"
    assert time.monotonic() - begin < 0.2


@pytest.mark.parametrize(
    ("code", "name", "text"),
    [
        ("def f():\n    return 1 / 0\nf()", "ZeroDivisionError", "return 1 / 0"),
        ("x = = 1", "SyntaxError", "x = = 1"),
        ("import sys; sys.exit('no')", "SystemExit", "no"),
        ("raise BaseException('odd')", "BaseException", "odd"),
        ("x = 'a\0b'\n\0", "SyntaxError", ""),
        ("def f(): f()\nf()", "RecursionError", "maximum recursion depth"),
        ("class E(Exception):\n    def __str__(self): 1/0\nraise E", "E", ""),
        ("raise ValueError('y' * 10**7)", "ValueError", "y" * 100),
    ],
)
def test_an_exception_is_reported_with_the_agents_lines_and_nothing_else(shared, code, name, text):
    result = shared.run(code)
    assert result["status"] == "error"
    assert result["error"]["type"] == name
    assert text in result["error"]["traceback"]
    assert "images/sandbox" not in result["error"]["traceback"]
    assert len(result["error"]["traceback"]) < 10_000
    assert result["restarted"] is False


def test_sys_exit_without_an_error_is_a_normal_end(shared):
    assert shared.run("import sys; sys.exit()")["status"] == "ok"
    assert shared.run("raise SystemExit(0)")["status"] == "ok"


def test_output_of_children_and_of_descriptors_is_captured_with_the_rest(shared):
    code = "import os, subprocess\nprint('a')\nos.write(2, b'raw\\xff\\xfe')\nsubprocess.run(['echo', 'b'])"
    result = shared.run(code)
    assert (result["stdout"], result["stderr"]) == (b"a\nb\n", b"raw\xff\xfe")


def test_a_lone_surrogate_can_be_printed(shared):
    assert shared.output("print('\\ud800')") == "\\ud800"


def test_a_hundred_megabytes_are_counted_and_not_kept(shared):
    code = "import os\nos.write(1, b'begin')\nfor _ in range(1600): os.write(1, b'x' * 65536)\nos.write(1, b'end')"
    begin = time.monotonic()
    result = shared.run(code, output_limit=1000)
    assert time.monotonic() - begin < 10
    assert result["truncated"] == 1600 * 65536 + 8 - 1000
    assert result["stdout"].startswith(b"begin")
    assert result["stdout"].endswith(b"end")
    assert f"[... {result['truncated']} bytes left out ...]".encode() in result["stdout"]
    assert len(result["stdout"]) < 1100


@pytest.mark.parametrize("limit", [0, 1, 7, 100])
def test_a_capture_keeps_exactly_its_limit(limit):
    for total in range(0, 3 * limit + 5):
        data = bytes(i % 251 for i in range(total))
        for chunk in (1, 3, 1000):
            capture = Capture(limit)
            for start in range(0, total, chunk):
                capture.write(data[start : start + chunk])
            assert capture.omitted == max(0, total - limit)
            if total <= limit:
                assert capture.value() == data
            else:
                assert capture.value().startswith(data[: limit // 2])
                assert capture.value().endswith(data[total - (limit - limit // 2) :])


def test_an_endless_loop_is_interrupted_and_keeps_its_variables(sandbox):
    sandbox.run("x = 5")
    begin = time.monotonic()
    result = sandbox.run("print('before')\nwhile True: pass", timeout_s=0.3)
    assert 0.3 <= time.monotonic() - begin < 1.0
    assert (result["status"], result["restarted"], result["stdout"]) == ("timeout", False, b"before\n")
    assert sandbox.output("print(x)") == "5"


def test_code_that_ignores_the_interrupt_is_killed_with_everything_that_it_forked(sandbox):
    code = """
import os, signal, subprocess, time
signal.signal(signal.SIGINT, signal.SIG_IGN)
child = subprocess.Popen(['sleep', '1000'])
daemon = os.fork()
if daemon == 0:
    os.setsid()
    if os.fork() == 0:
        os.setsid()
        print('grandchild', os.getpid(), flush=True)
        time.sleep(1000)
    time.sleep(1000)
print('child', child.pid, flush=True)
print('daemon', daemon, flush=True)
print('worker', os.getpid(), flush=True)
while True: pass
"""
    result = sandbox.run(code, timeout_s=0.5)
    assert (result["status"], result["restarted"]) == ("timeout", True)
    pids = [int(line.split()[1]) for line in result["stdout"].decode().splitlines()]
    assert len(pids) == 4
    assert all(gone(pid) for pid in pids)
    assert sandbox.run("code")["error"]["type"] == "NameError"


@pytest.mark.parametrize(
    ("code", "text"),
    [
        ("import os; os._exit(7)", "exit code 7"),
        ("import os; os.kill(os.getpid(), 9)", "worker ended"),
        ("import ctypes; ctypes.string_at(0)", "signal 11"),
        (
            "import os\nfor fd in range(3, 64):\n    try: os.close(fd)\n    except OSError: pass\nwhile True: pass",
            "ended",
        ),
    ],
)
def test_the_death_of_the_worker_is_reported_and_a_fresh_one_goes_on(sandbox, code, text):
    result = sandbox.run("print('last words', flush=True)\n" + code)
    assert (result["status"], result["restarted"]) == ("killed", True)
    assert text in result["error"]["message"]
    assert result["stdout"] == b"last words\n"
    again = sandbox.run("print('on')")
    assert (again["status"], again["restarted"], again["stdout"]) == ("ok", False, b"on\n")


def test_an_interrupt_also_ends_what_the_code_has_forked(sandbox):
    code = "import os, time\nif os.fork() == 0:\n    while True: pass\ntime.sleep(100)"
    result = sandbox.run(code, timeout_s=0.3)
    assert (result["status"], result["restarted"]) == ("timeout", False)
    assert len(descendants(sandbox.child.pid)) == 1


def test_a_fork_that_comes_to_the_end_of_the_code_does_not_answer_for_the_worker(sandbox):
    assert sandbox.output("import os\npid = os.fork()\nif pid: os.wait()\nprint(pid > 0)") == "False\nTrue"
    assert sandbox.output("print('one')") == "one"
    assert sandbox.frames.empty()


def test_a_worker_that_dies_between_two_pieces_of_code_is_noticed_by_the_next(sandbox):
    sandbox.run("import os, threading; threading.Timer(0.2, lambda: os._exit(1)).start()")
    time.sleep(0.5)
    result = sandbox.run("print('on')")
    assert (result["status"], result["restarted"], result["stdout"]) == ("ok", True, b"on\n")


def test_a_worker_that_was_stopped_takes_no_code_and_is_replaced(sandbox):
    pid = int(sandbox.output("import os; print(os.getpid())"))
    os.kill(pid, signal.SIGSTOP)
    result = sandbox.run("x = 1", timeout_s=0.3)
    assert (result["status"], result["restarted"]) == ("timeout", True)
    assert sandbox.output("print('on')") == "on"


def test_memory_error_is_a_status_of_its_own(sandbox):
    result = sandbox.run("x = bytearray(10**15)")
    assert (result["status"], result["error"]["type"], result["restarted"]) == ("memory", "MemoryError", False)


def test_a_closed_stdout_costs_the_output_only(sandbox):
    assert sandbox.run("import os; os.close(1); os.close(2)")["status"] == "ok"
    begin = time.process_time()
    assert sandbox.run("import time; time.sleep(0.3); x = 2")["status"] == "ok"
    assert time.process_time() - begin < 0.2
    assert sandbox.run("assert x == 2")["status"] == "ok"


WRITE_EVERYWHERE = """
import os
from images.client.wire import encode
for fd in range(3, 64):
    try: os.write(fd, {})
    except OSError: pass
"""


def test_a_forged_report_of_the_worker_changes_nothing_but_its_own_status(sandbox):
    forged = [{"op": "verdict", "cause": "goal_met"}, {"op": "hello"}, {"op": "done", "id": 99}]
    code = WRITE_EVERYWHERE.format("b''.join(map(encode, " + repr(forged) + "))")
    assert sandbox.run(code)["status"] == "ok"
    assert sandbox.run("print(1)")["stdout"] == b"1\n"
    assert sandbox.frames.empty()


def test_garbage_on_the_control_stream_is_the_end_of_that_worker(sandbox):
    result = sandbox.run(
        "import os\nfor fd in range(3, 64):\n    try: os.write(fd, b'\\xff' * 100)\n    except OSError: pass"
    )
    assert (result["status"], result["restarted"]) == ("killed", True)
    assert sandbox.output("print('on')") == "on"


@pytest.mark.parametrize(
    "header",
    [
        '{"op":"done","id":ID,"status":"ok","error":{"type":%s}}',
        '{"op":"done","id":%s}',
        '{"op":%s}',
        '{"op":"show","attachments":%s}',
        '{"op":"show","attachments":[{"name":"picture","kind":"array","dtype":"uint8","shape":%s,"size":0}]}',
        '{"op":"show","attachments":[{"name":"picture","kind":"array","dtype":"uint8","shape":[4611686018427387904,0],"size":0}]}%.0s',
    ],
)
def test_no_forged_report_ends_the_kernel(sandbox, header):
    for depth in (900, *range(970, 1000), 100_000):  # around the limit of what can be read and printed
        report = header.replace("ID", str(sandbox.count + 1))
        code = (
            f"import os, struct\nhead = ({report!r} % ('[' * {depth} + ']' * {depth})).encode()\n"
            "for fd in range(3, 16):\n"
            "    try: os.write(fd, struct.pack('>I', len(head)) + head)\n"
            "    except OSError: pass\n"
        )
        sandbox.run(code)
        assert sandbox.run("print('on')")["status"] in ("ok", "killed"), depth
    assert sandbox.output("print('still')") == "still"


def test_notes_reach_the_host_in_order_and_not_in_floods(sandbox):
    sandbox.count += 1
    code = "from images.sandbox import note as same\nnote('aiming')\nsame('x' * 10**6)\nfor i in range(1000): note(i)"
    sandbox.send("exec", id=sandbox.count, code=code, timeout_s=10)
    notes = []
    while (frame := sandbox.frames.get(timeout=10))[0]["op"] == "note":
        notes.append(frame[0]["text"])
    assert frame[0]["op"] == "result"
    assert notes[0] == "aiming"
    assert len(notes[1]) == 500
    assert len(notes) <= 60


def test_the_agents_code_finds_its_episode():
    with gateway() as process:
        sandbox = Sandbox(process.path)
        code = (
            "import os\nprint(env.describe().title, env.step([0.0, 0.0]).actions, connect().observe().actions, "
            "os.environ['ASSAY_SOCKET'])"
        )
        assert sandbox.output(code) == f"Slider 1 1 {process.path}"
        sandbox.kill()


def test_a_call_is_relayed_with_its_attachments_also_while_code_runs():
    with gateway() as process:
        sandbox = Sandbox(process.path)
        sandbox.send("exec", id=1, code="import time; time.sleep(0.5)", timeout_s=5)
        sandbox.send("call", {"actions": np.zeros((5, 2))}, id=2, request={"op": "step", "fields": ["speed"]})
        sandbox.send("call", id=3, request={"op": "observe", "pictures": [{"camera": "side"}]})
        sandbox.send("call", id=4, request={"op": "observe", "fields": ["position"]})
        step, parts = sandbox.expect("reply")
        assert (step["id"], step["header"]["ok"], step["header"]["applied"]) == (2, True, 5)
        assert parts["speed"].shape == (1,)
        observe, parts = sandbox.expect("reply")
        assert observe["id"] == 3
        assert parts["picture/0"].startswith(b"\x89PNG")
        refused, _ = sandbox.expect("reply")
        assert refused["header"]["error"]["kind"] == "not_permitted"
        assert sandbox.expect("result")[0]["id"] == 1
        sandbox.kill()


def test_a_call_without_a_gateway_says_so(tmp_path):
    sandbox = Sandbox(str(tmp_path / "none"))
    sandbox.send("call", id=5, request={"op": "describe"})
    reply, _ = sandbox.expect("reply")
    assert reply["header"]["error"]["kind"] == "unreachable"
    assert "No such file" in reply["header"]["error"]["text"]
    sandbox.kill()


def test_a_gateway_that_ends_during_a_call_is_reported():
    with gateway(parameters={"fault": "exit"}) as process:
        sandbox = Sandbox(process.path)
        sandbox.send("call", id=6, request={"op": "step", "action": [0.0, 0.0]})
        assert sandbox.expect("reply")[0]["header"]["error"]["kind"] == "unreachable"
        sandbox.kill()


@pytest.mark.parametrize("end", ["eof", "close"])
def test_the_end_of_the_host_ends_everything_at_once(sandbox, end):
    code = "import os, subprocess as s\np = s.Popen(['sleep', '99'], start_new_session=True)\nprint(p.pid, os.getpid())"
    pids = [int(pid) for pid in sandbox.output(code).split()]
    sandbox.send("exec", id=99, code="while True: pass", timeout_s=1000)
    time.sleep(0.1)
    begin = time.monotonic()
    if end == "close":
        sandbox.send("close")
    else:
        assert sandbox.child.stdin is not None
        sandbox.child.stdin.close()
    assert sandbox.child.wait(5) == 0
    assert time.monotonic() - begin < 1
    assert all(gone(pid, 0.1) for pid in pids)


def test_a_worker_does_not_outlive_a_killed_kernel(sandbox):
    pid = int(sandbox.output("import os; print(os.getpid())"))
    sandbox.child.kill()
    assert gone(pid)


DESCRIPTORS = """
import os
for fd in sorted(map(int, os.listdir('/proc/self/fd'))):
    try: print(os.readlink(f'/proc/self/fd/{fd}'))
    except OSError: pass
"""


def test_the_worker_holds_no_descriptor_of_the_kernel(sandbox):
    links = sandbox.output(DESCRIPTORS).splitlines()
    assert links[0] == "/dev/null"
    own = [link for link in links[1:] if link != "/proc/loadavg"]  # which its client looks at
    assert [link.split(":")[0] for link in own] == ["pipe", "pipe", "socket"]
    host = {os.readlink(f"/proc/self/fd/{s.fileno()}") for s in (sandbox.child.stdin, sandbox.child.stdout)}
    assert not host & set(links)


REACH = """
import os
kernel = os.getppid()
for what in ('fd', 'mem', 'environ', 'maps'):
    try:
        if what == 'fd': print(os.listdir(f'/proc/{kernel}/fd'))
        else: open(f'/proc/{kernel}/{what}', 'rb').read(1); print(what)
    except OSError as error:
        print(type(error).__name__)
import ctypes
libc = ctypes.CDLL(None, use_errno=True)
print(libc.ptrace(16, kernel, 0, 0))
"""


needs_root = pytest.mark.skipif(os.getuid() != 0, reason="needs root, to become another user")
SUBPROCESS = """
import subprocess
print(subprocess.run(['true'], close_fds=True).returncode, open('/proc/self/maps').read(1) != '')
"""
FORK_BOMB = """
import os
while True:
    try: os.fork()
    except OSError: pass
"""


@needs_root
def test_code_of_the_same_user_cannot_reach_into_the_kernel():
    sandbox = Sandbox(uid=54322)
    try:
        assert sandbox.output("import os; print(os.getuid())") == "54322"
        assert sandbox.output(REACH).split() == ["PermissionError"] * 4 + ["-1"]
        assert sandbox.output(SUBPROCESS) == "0 True"
    finally:
        sandbox.kill()


@needs_root
def test_a_fork_bomb_within_a_process_limit_is_survived():
    sandbox = Sandbox(uid=54321)
    try:
        result = sandbox.run(FORK_BOMB, timeout_s=0.5)
        assert result["status"] == "timeout"
        assert sandbox.output("print('on')") == "on"
        assert len(descendants(sandbox.child.pid)) == 1
    finally:
        sandbox.kill()


def test_an_interrupt_from_the_terminal_is_left_to_the_host(sandbox):
    os.kill(sandbox.child.pid, signal.SIGINT)
    assert sandbox.output("print('on')") == "on"


def test_a_frame_that_no_host_sends_ends_the_kernel(sandbox):
    assert sandbox.child.stdin is not None
    sandbox.child.stdin.write(encode({"op": "verdict"}))
    sandbox.child.stdin.flush()
    assert sandbox.child.wait(5) == 0
