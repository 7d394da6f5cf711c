"""The next pair is started in the background while others run; a pair serves one attempt only."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import pytest
from runtime_pairs import request

from runner.runtimes.base import PairRequest, StartFailed
from runner.runtimes.pool import Pool


@dataclass(eq=False)
class CountedPair:
    """A pair without processes; the pool never looks at them."""

    request: PairRequest
    expires: float
    living: bool = True
    closed: bool = False
    environment: Any = None
    sandbox: Any = None
    environment_hello: Any = None
    sandbox_hello: Any = None
    images: Any = ()
    start_s: float = 0.0

    def alive(self) -> bool:
        return self.living and not self.closed

    def close(self) -> None:
        self.closed = True

    def exit(self, role: Any, timeout: float) -> None:
        return None

    def kill(self, role: Any) -> None:
        self.living = False


class Starts:
    """``start`` of a pool, counted; ``fail`` makes the next starts fail."""

    def __init__(self) -> None:
        self.made: list[CountedPair] = []
        self.fail = 0
        self.lifetime_s = 1000.0
        self.lock = threading.Lock()

    def __call__(self, wanted: PairRequest) -> CountedPair:
        with self.lock:
            if self.fail:
                self.fail -= 1
                raise StartFailed("no luck")
            self.made.append(CountedPair(wanted, time.monotonic() + self.lifetime_s))
            return self.made[-1]

    def wait_for(self, number: int) -> None:
        deadline = time.monotonic() + 5.0
        while len(self.made) < number:
            assert time.monotonic() < deadline, f"{len(self.made)} of {number} pairs were started"
            time.sleep(0.005)


@pytest.fixture
def starts() -> Starts:
    return Starts()


@pytest.fixture
def pool_of(starts: Starts) -> Iterator[Callable[[int], Pool]]:
    pools: list[Pool] = []

    def make(size: int) -> Pool:
        pools.append(Pool(starts, size))
        return pools[-1]

    yield make
    for pool in pools:
        pool.close()


def test_the_next_pair_is_started_ahead_and_handed_over(starts: Starts, pool_of: Callable[[int], Pool]) -> None:
    pool = pool_of(1)
    first = pool.take(request())
    starts.wait_for(2)
    assert pool.take(request()) is starts.made[1]
    assert first is starts.made[0]


def test_no_pair_is_handed_out_twice(starts: Starts, pool_of: Callable[[int], Pool]) -> None:
    pool = pool_of(2)
    taken = [pool.take(request()) for _ in range(20)]
    assert len({id(pair) for pair in taken}) == 20


def test_without_a_pool_nothing_is_started_ahead(starts: Starts, pool_of: Callable[[int], Pool]) -> None:
    pool_of(0).take(request())
    time.sleep(0.05)
    assert len(starts.made) == 1


def test_a_pair_that_died_while_it_waited_is_replaced(starts: Starts, pool_of: Callable[[int], Pool]) -> None:
    pool = pool_of(1)
    pool.take(request())
    starts.wait_for(2)
    starts.made[1].living = False
    pair = pool.take(request())
    assert pair is not starts.made[1]
    assert pair.alive()
    assert starts.made[1].closed


def test_a_pair_whose_dead_man_switch_is_too_near_is_replaced(starts: Starts, pool_of: Callable[[int], Pool]) -> None:
    pool = pool_of(1)
    starts.lifetime_s = 100.0
    pool.take(request(wall_s=10.0))
    starts.wait_for(2)
    starts.lifetime_s = 10_000.0
    pair = pool.take(request(wall_s=500.0))
    assert pair is not starts.made[1]
    assert starts.made[1].closed


def test_another_wall_clock_limit_can_use_the_same_pair(starts: Starts, pool_of: Callable[[int], Pool]) -> None:
    pool = pool_of(1)
    pool.take(request(wall_s=10.0))
    starts.wait_for(2)
    assert pool.take(request(wall_s=20.0)) is starts.made[1]


def test_a_pair_with_other_limits_is_not_used(starts: Starts, pool_of: Callable[[int], Pool]) -> None:
    pool = pool_of(1)
    pool.take(request())
    starts.wait_for(2)
    other = replace(request(), sandbox="reference")
    assert pool.take(other).request == other  # type: ignore[attr-defined]
    deadline = time.monotonic() + 5.0
    while not starts.made[1].closed:
        assert time.monotonic() < deadline, "the pair that nobody needs was kept"
        time.sleep(0.005)


def test_a_failed_start_ahead_is_no_attempts_fault(starts: Starts, pool_of: Callable[[int], Pool]) -> None:
    pool = pool_of(1)
    pool.take(request())
    starts.wait_for(2)
    starts.fail = 1
    pool.take(request())
    deadline = time.monotonic() + 5.0
    while starts.fail:
        assert time.monotonic() < deadline, "nothing was started ahead"
        time.sleep(0.005)
    assert pool.take(request()).alive()


def test_a_start_that_fails_for_an_attempt_says_so(starts: Starts, pool_of: Callable[[int], Pool]) -> None:
    starts.fail = 1
    with pytest.raises(StartFailed, match="no luck"):
        pool_of(1).take(request())


def test_closing_ends_every_pair_that_waits(starts: Starts, pool_of: Callable[[int], Pool]) -> None:
    pool = pool_of(3)
    taken = [pool.take(request()) for _ in range(3)]
    pool.close()
    pool.close()
    waiting = [pair for pair in starts.made if pair not in taken]
    assert all(pair.closed for pair in waiting)
    assert not any(pair.closed for pair in taken)  # type: ignore[attr-defined]
