"""What is kept of an episode: every action, sampled states and digests.

Memory is bounded: when the samples outgrow :data:`STATE_BYTES`, every second one is dropped and the rate halves. The
times stay exact, so that a player shows the right instants at fewer frames per second.
"""

from __future__ import annotations

import json

import numpy as np

from images.client.wire import Attachment
from images.gateway.environment import Environment

STATE_BYTES = 48 << 20
DIGEST_EVERY = 50  # actions


class Recorder:
    """Recording of one environment. ``state_hz`` is the wanted rate of samples in simulated time."""

    def __init__(self, environment: Environment, state_hz: float) -> None:
        self._environment = environment
        self._stride = max(1, round(1 / (state_hz * environment.control_dt)))
        self._actions: list[np.ndarray] = []
        self._states: list[np.ndarray] = []
        self._sampled_at: list[int] = []  # number of actions before the sample
        self._bytes = 0
        self._next_sample = 0
        self._digests: list[tuple[int, str]] = []
        self._next_digest = 0
        self.catch_up(0)

    def catch_up(self, count: int) -> None:
        """Sample what is due of the present instant, after ``count`` actions; once more changes nothing."""
        if count >= self._next_sample:
            self._sample(count)
            self._next_sample = count + self._stride
        if count >= self._next_digest:
            self._digests.append((count, self._environment.digest()))
            self._next_digest = count + DIGEST_EVERY

    def keep(self, actions: np.ndarray) -> None:
        """Actions float64 (n, dim) that were applied. The array is kept, not copied."""
        self._actions.append(actions)

    def complete(self, count: int) -> None:
        """Add the present instant, after ``count`` actions."""
        if self._sampled_at[-1] != count:
            self._sample(count)
        if self._digests[-1][0] != count:
            self._digests.append((count, self._environment.digest()))

    def artifacts(self) -> dict[str, Attachment]:
        """``actions`` float64 (n, dim), ``states`` float32 (m, k), ``state_times`` float64 (m,) in s of simulated time,
        ``digests`` as JSON [[actions, hex], ...]."""
        dimension = len(self._environment.controls())
        times = np.array(self._sampled_at, dtype=np.float64) * self._environment.control_dt
        return {
            "actions": np.concatenate([np.zeros((0, dimension)), *self._actions]),
            "states": np.stack(self._states),
            "state_times": times,
            "digests": json.dumps(self._digests).encode(),
        }

    def _sample(self, count: int) -> None:
        state = np.array(self._environment.state(), dtype=np.float32)
        if self._states and state.shape != self._states[0].shape:
            raise ValueError(f"state() returned shape {state.shape}, {self._states[0].shape} before")
        self._states.append(state)
        self._sampled_at.append(count)
        self._bytes += state.nbytes
        if self._bytes > STATE_BYTES and len(self._states) > 2:
            self._states, self._sampled_at = self._states[::2], self._sampled_at[::2]
            self._bytes = sum(sample.nbytes for sample in self._states)
            self._stride *= 2
