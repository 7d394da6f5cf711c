"""A client that waits for a reply finds it as soon as it is there, and takes no processor that others want."""

from __future__ import annotations

import os
import socket
import threading

import pytest

from images.client import patience
from images.client.patience import Patience

NOTHING_RUNS, ALL_RUN = "0.1 0.1 0.1 1/300 9\n", f"9.0 9.0 9.0 {len(os.sched_getaffinity(0)) + 1}/300 9\n"


@pytest.fixture
def load(tmp_path, monkeypatch):
    """The machine's load as a file that a test can write."""
    file = tmp_path / "loadavg"
    file.write_text(NOTHING_RUNS)
    monkeypatch.setattr(patience, "LOAD", str(file))
    return file


@pytest.fixture
def pair():
    ours, theirs = socket.socketpair()
    with ours, theirs:
        yield ours, theirs


def ask(patient: Patience, pair, after_s: float) -> bytes:
    """A reply that comes so many seconds after it is waited for."""
    ours, theirs = pair
    timer = threading.Timer(after_s, theirs.sendall, [b"reply"])
    timer.start()
    try:
        return patient.receive(ours, 100)
    finally:
        timer.join()


@pytest.mark.parametrize("after_s", [0.0, 0.0005, 0.0015, 0.004, 0.05])
def test_every_reply_arrives_whether_it_is_early_or_late(load, pair, after_s):
    patient = Patience()
    for _ in range(4):
        assert ask(patient, pair, after_s) == b"reply"
    assert ask(patient, pair, 0.02) == b"reply"
    assert ask(patient, pair, 0.0) == b"reply"


def test_a_closed_connection_is_seen_at_once(load, pair):
    patient = Patience()
    assert ask(patient, pair, 0.0) == b"reply"
    pair[1].close()
    assert patient.receive(pair[0], 100) == b""


class Counted:
    """A socket that counts how often it was asked without waiting."""

    def __init__(self, connection: socket.socket) -> None:
        self._connection, self.looks = connection, 0

    def recv(self, size: int, flags: int = 0) -> bytes:
        self.looks += bool(flags & socket.MSG_DONTWAIT)
        return self._connection.recv(size, flags)


def looks(patient: Patience, pair, after_s: float) -> int:
    counted = Counted(pair[0])
    assert ask(patient, (counted, pair[1]), after_s) == b"reply"
    return counted.looks


@pytest.mark.parametrize("text", [ALL_RUN, "", "no numbers here x/y"])
def test_it_sleeps_while_every_processor_is_wanted_or_nothing_is_known(load, pair, text):
    patient = Patience()
    assert looks(patient, pair, 0.0) > 0
    load.write_text(text)
    assert looks(patient, pair, 0.0) == 0


def test_it_does_not_look_for_replies_that_take_long(load, pair):
    patient = Patience()
    while patient._expected < patience.LONGEST_S:
        assert looks(patient, pair, 0.03) > 0
    assert looks(patient, pair, 0.03) == 0


def test_without_the_file_it_sleeps(monkeypatch, pair):
    monkeypatch.setattr(patience, "LOAD", "/nowhere")
    patient = Patience()
    assert not patient._spare()
    assert ask(patient, pair, 0.001) == b"reply"
