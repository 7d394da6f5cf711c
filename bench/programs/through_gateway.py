"""Run in the sandbox: steps recorded actions through the public client and times it."""

import base64
import time

import numpy as np

from images.client import connect

env = connect()


def decode(recorded: str) -> np.ndarray:
    """Actions float64 (n, dim) from base64 text."""
    return np.frombuffer(base64.b64decode(recorded)).reshape(-1, len(env.describe().controls))


def seconds(actions: np.ndarray, start: int, stop: int, batch: int) -> float:
    """Wall-clock time of these actions with ``batch`` of them per call."""
    began = time.perf_counter()
    if batch == 1:
        for action in actions[start:stop]:
            env.step(action)
    else:
        for first in range(start, stop, batch):
            env.step(actions[first : first + batch])
    return time.perf_counter() - began
