"""Clients that stall, lie, break off or come in numbers: none disturbs the environment or another client."""

from __future__ import annotations

import os
import signal
import socket
import struct
import subprocess
import sys
import threading
import time

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from images.client.wire import FrameBuffer, encode
from images.gateway.server import Server, bind
from tests.gateway_harness import ROOT, Gateway, Peer, gateway


def test_a_second_client_is_answered_while_the_first_is_idle_stalled_or_half_written():
    with gateway() as process:
        idle, stalled, half = process.dial(), process.dial(), process.dial()
        frame = encode({"v": 1, "id": 1, "op": "step", "action": [1.0, 0.0]})
        stalled.send(frame[:2])
        half.send(frame[:-1])
        second = process.dial()
        begin = time.monotonic()
        assert second.ask("observe")[0]["actions"] == 0
        assert time.monotonic() - begin < 20
        half.send(frame[-1:])
        assert half.receive()[0]["actions"] == 1
        assert idle.ask("observe")[0]["actions"] == 1


def test_a_client_that_does_not_read_its_replies_holds_up_nobody():
    with gateway() as process:
        deaf, second = process.dial(), process.dial()
        request = encode({"v": 1, "id": 1, "op": "observe", "pictures": [{"camera": "side"}] * 8})
        deaf.socket.settimeout(2)
        with pytest.raises(TimeoutError):
            deaf.send(request * 5000)
        begin = time.monotonic()
        assert second.ask("step", action=[0.0, 0.0])[0]["actions"] == 1
        assert time.monotonic() - begin < 20


def test_two_clients_share_one_episode_one_request_at_a_time():
    with gateway() as process:
        first, second = process.dial(), process.dial()
        request = encode({"v": 1, "id": 1, "op": "step"}, {"actions": np.zeros((300, 2))})
        for peer in (first, second):
            peer.send(request)
        totals = sorted(peer.receive()[0]["actions"] for peer in (first, second))
        assert totals == [300, 600]


def test_more_clients_than_there_are_places_are_turned_away_and_places_are_given_back():
    with gateway() as process:
        peers = [process.dial() for _ in range(16)]
        assert all(peer.ask("observe")[0]["ok"] for peer in peers)
        turned_away = process.dial()
        refused = turned_away.receive()[0]["error"]
        assert refused == {
            "kind": "too_many_connections",
            "text": "16 connections are open, which is all that there are; close one",
        }
        with pytest.raises(EOFError):
            turned_away.receive()
        for peer in peers:
            peer.close()
        time.sleep(0.1)
        assert process.dial().ask("observe")[0]["ok"]


def test_a_client_killed_in_the_middle_of_a_frame_has_no_effect():
    with gateway() as process:
        program = (
            "import sys, time, numpy as np\n"
            "from images.client.wire import encode\n"
            "import socket\n"
            "s = socket.socket(socket.AF_UNIX); s.connect(sys.argv[1])\n"
            "f = encode({'v': 1, 'id': 1, 'op': 'step'}, {'actions': np.zeros((1000, 2))})\n"
            "s.sendall(f[:len(f) // 2]); print('sent', flush=True); time.sleep(60)\n"
        )
        child = subprocess.Popen([sys.executable, "-c", program, process.path], cwd=ROOT, stdout=subprocess.PIPE)
        assert child.stdout is not None
        assert child.stdout.readline() == b"sent\n"
        os.kill(child.pid, signal.SIGKILL)
        child.communicate()
        assert process.dial().ask("observe")[0]["actions"] == 0


def test_a_client_that_goes_before_the_reply_has_made_its_step():
    with gateway() as process:
        peer = process.dial()
        peer.send(encode({"v": 1, "id": 1, "op": "step", "action": [0.0, 0.0]}))
        peer.close()
        process.expect("acted")
        assert process.dial().ask("observe")[0]["actions"] == 1


@pytest.mark.parametrize(
    "data",
    [
        struct.pack(">I", (256 << 10) + 1),
        b"\xff\xff\xff\xff",
        encode({"v": 1, "id": 1, "op": "step"}, {"actions": np.zeros((1 << 20, 4))})[:400],
    ],
)
def test_a_frame_over_the_limits_is_refused_before_it_is_read_and_its_stream_closed(data):
    with gateway() as process:
        peer = process.dial()
        peer.send(data)
        reply, _ = peer.receive()
        assert (reply["id"], reply["error"]["kind"]) == (None, "undecodable")
        with pytest.raises((EOFError, ConnectionResetError)):
            peer.receive()
        assert process.dial().ask("observe")[0]["actions"] == 0


@pytest.mark.parametrize("fault", [RecursionError, OverflowError, MemoryError, ValueError, KeyError, TypeError])
def test_whatever_a_frame_does_to_its_reader_ends_that_connection_only(fault, tmp_path, monkeypatch):
    read = FrameBuffer.next

    def next_or_fault(self: FrameBuffer):
        frame = read(self)
        if frame is not None and frame[0].get("op") == "break":
            raise fault("the reader is broken")
        return frame

    monkeypatch.setattr(FrameBuffer, "next", next_or_fault)
    wake, end = os.pipe()
    listener = bind(str(tmp_path / "s"))
    ended = threading.Event()
    server = Server(listener, lambda header, parts: ({"ok": True}, {}), lambda: None, wake, lambda: not ended.is_set())
    thread = threading.Thread(target=server.run)
    thread.start()
    try:
        bad, good = Peer(str(tmp_path / "s")), Peer(str(tmp_path / "s"))
        assert bad.ask("observe")[0]["ok"]
        bad.send(encode({"v": 1, "id": 2, "op": "break"}))
        assert fault.__name__ in bad.receive()[0]["error"]["text"]
        with pytest.raises(EOFError):
            bad.receive()
        assert good.ask("observe")[0]["ok"]
    finally:
        ended.set()
        os.write(end, b"e")
        thread.join(10)
        listener.close()
    assert not thread.is_alive()


def test_an_undecodable_frame_is_answered_and_the_next_one_served():
    with gateway() as process:
        peer = process.dial()
        peer.send(struct.pack(">I", 5) + b"hello")
        reply, _ = peer.receive()
        assert (reply["id"], reply["error"]["kind"]) == (None, "undecodable")
        assert peer.ask("observe")[0]["ok"]


@pytest.mark.parametrize("identity", ["7", None, 1.5, True, 2**60, [1]])
def test_an_id_that_is_no_integer_is_answered_with_null(identity):
    with gateway() as process:
        peer = process.dial()
        peer.send(encode({"v": 1, "id": identity, "op": "observe"}))
        reply, _ = peer.receive()
        assert reply["ok"]
        assert reply["id"] is None


# Requests that are never a whole valid step or finish: whatever they are, they must not count.
values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=6,
)
names = st.sampled_from(["speed", "position", "grasp", "qpos", "", "picture/0"]) | st.text(max_size=5)
harmless = st.fixed_dictionaries(
    {
        "op": st.sampled_from(["describe", "observe", "reset", "verdict", "Step", ""])
        | values.filter(lambda value: value not in ("step", "finish"))
    },
    optional={
        "v": st.just(1) | values,
        "id": st.integers(0, 9) | values,
        "fields": st.lists(names, max_size=4) | values,
        "pictures": st.lists(st.fixed_dictionaries({"camera": st.just("side") | names}, optional={"width": values}))
        | values,
        "level": values,
        "terminal": values,
    },
)
parts = st.dictionaries(st.sampled_from(["actions", "x"]), st.binary(max_size=40), max_size=2)
frames = st.builds(encode, harmless, parts)
garbage = st.binary(max_size=200) | st.builds(lambda text: struct.pack(">I", len(text)) + text, st.binary(max_size=100))
mangled = st.builds(
    lambda frame, at, byte: frame[: at % len(frame)] + bytes([byte]) + frame[at % len(frame) + 1 :],
    frames,
    st.integers(0, 10_000),
    st.integers(0, 255),
)


stepping = st.just(encode({"v": 1, "id": 1, "op": "step", "action": [0.0, 0.0]}))


def attack(process: Gateway, sequence: list[bytes]) -> None:
    """Send all of it, read whatever comes back, and look for what nobody at L0 may have."""
    peer = process.dial()
    try:
        for data in sequence:
            peer.send(data)
        peer.socket.shutdown(socket.SHUT_WR)
        while True:
            _, values = peer.receive()
            assert not {"position", "grasp"} & values.keys()
    except (EOFError, OSError):
        pass
    finally:
        peer.close()


def test_no_sequence_of_malformed_frames_kills_the_environment_counts_or_changes_the_verdict():
    with gateway() as process:

        @settings(max_examples=150, deadline=None)
        @given(st.lists(frames | garbage | mangled, min_size=1, max_size=6))
        def before_the_end(sequence: list[bytes]) -> None:
            attack(process, sequence)
            check = process.dial()
            reply, _ = check.ask("observe")
            check.close()
            assert (reply["actions"], reply["simulated_s"], reply["terminal"]) == (0, 0.0, None)
            assert process.frames.empty()

        before_the_end()
        peer = process.dial()
        peer.ask("step", {"actions": np.zeros((10, 2))})
        terminal = peer.ask("finish")[0]["terminal"]
        process.expect("acted")
        verdict, _ = process.expect("verdict")
        assert (verdict["meter"]["actions"], verdict["meter"]["steps"]) == (10, 1)
        assert verdict["judgement"]["cause"] == "quit"

        @settings(max_examples=80, deadline=None)
        @given(st.lists(frames | garbage | mangled | stepping, min_size=1, max_size=6))
        def after_the_end(sequence: list[bytes]) -> None:
            attack(process, sequence)
            reply, _ = peer.ask("observe")
            assert (reply["actions"], reply["terminal"]) == (10, terminal)
            assert process.frames.empty()

        after_the_end()
        assert process.end() == 0
        assert process.rest() == []
