"""Baselines that know nothing of a family: doing nothing, and random poses."""

from __future__ import annotations

import hashlib

import numpy as np

from images.client.results import Terminal
from images.client.sdk import Client

APPROACH_S = 4.0  # s from one random pose to the next, as ``MODEL=random`` takes
BATCH = 100  # actions in one call


def noop(client: Client, seconds: float) -> Terminal:
    """Keep the robot where it stands for so long, then leave."""
    rest = client.observe(fields=["commanded"]).fields["commanded"]
    left = round(seconds * client.describe().control_hz)
    terminal = None
    while terminal is None and left > 0:
        count = min(left, BATCH)
        terminal = client.step(np.tile(rest, (count, 1))).terminal
        left -= count
    return terminal or client.finish()


def random_play(client: Client, task: str, index: int) -> Terminal:
    """Slow straight ways between random poses, as ``MODEL=random`` goes them, until the episode ends. Every task has
    poses of its own in each of its conditions."""
    description = client.describe()
    low, high = np.array([[control.low, control.high] for control in description.controls]).T
    seed = int.from_bytes(hashlib.sha256(f"{task} {index}".encode()).digest()[:8], "little")
    random, steps = np.random.default_rng(seed), round(APPROACH_S * description.control_hz)
    pose, terminal = client.observe(fields=["commanded"]).fields["commanded"], None
    while terminal is None:
        start, pose = pose, random.uniform(low, high)
        way = np.linspace(start, pose, steps + 1)[1:]
        terminal = client.step(np.clip(way, low, high)).terminal
    return terminal
