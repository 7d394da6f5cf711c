"""Same actions, same image, same bits: the reference agent plays a scene in two containers at once."""

from __future__ import annotations

import time
from pathlib import Path

import numpy as np
import pytest
from runtime_pairs import execute, request, runtime

from images.client.wire import Attachment
from images.mujoco.launcher.workshop.episode import start
from runner.runtimes.base import Pair

SOLVE = "from images.reference import solve\nprint(solve(report=lambda line: None).cause)"
WAIT_S = 300.0


def begin(pair: Pair, case: str) -> None:
    pair.environment.send({"op": "start", "spec": start(case, 1)})
    expect(pair, "ready")


def expect(pair: Pair, op: str) -> dict[str, Attachment]:
    """The attachments of the environment's next frame ``op``."""
    until = time.monotonic() + WAIT_S
    while True:
        header, attachments = pair.environment.receive(until - time.monotonic())
        assert header["op"] != "fault", header
        if header["op"] == op:
            return attachments


@pytest.mark.docker
@pytest.mark.timeout(600)
@pytest.mark.parametrize(
    "case",  # glass that breaks under a load; two ranges; an arch; a row; four numbered targets
    ["A035", *(pytest.param(case, marks=pytest.mark.slow) for case in ("A001", "A071", "A006", "A091"))],
)
def test_the_same_actions_give_the_same_bits_in_two_containers(case: str, tmp_path: Path) -> None:
    started = runtime("docker", tmp_path)
    pairs: list[Pair] = []
    try:
        wanted = request(sandbox="reference", wall_s=WAIT_S)
        pairs = [started.open(wanted) for _ in range(2)]
        played = []
        for pair in pairs:
            begin(pair, case)
            assert execute(pair, SOLVE, WAIT_S)[1] == "goal_met\n"
            played.append(expect(pair, "verdict"))
        first, second = played
        assert np.array_equal(np.asarray(first["actions"]), np.asarray(second["actions"]))
        assert bytes(first["digests"]) == bytes(second["digests"])
        assert len(np.asarray(first["actions"])) > 500
        assert bytes(first["digests"]).count(b'"') > 20  # every 50 actions, and the last
    finally:
        for pair in pairs:
            pair.close()
        started.close()
