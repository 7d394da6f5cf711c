"""Rates shared by parallel attempts, measured where they arrive; the limiter against every order of requests."""

from __future__ import annotations

import threading
import time
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st
from model_server import ModelServer, say
from model_session import ask, opened, policy

from runner.errors import BadInput
from runner.models.base import Allowance, CallCancelled
from runner.models.limiter import Limiter, Rates, limiter_of

WINDOW_S = 1.5
NEVER = threading.Event()


def most_in_a_window(times: Sequence[float], window_s: float) -> int:
    ordered = sorted(times)
    return max(sum(1 for at in ordered if start <= at < start + window_s) for start in ordered)


def test_two_models_in_parallel_jobs_stay_under_one_rate_at_the_server() -> None:
    with ModelServer([say("hello")]) as server:
        calls, rates = policy(rate_window_s=WINDOW_S), Rates(rpm=5)
        models = [opened(server, f"openai/{name}", rates=rates, calls=calls) for name in ("one", "two")]
        clients = [model.client(Allowance()) for model in models for _ in range(2)]
        threads = [threading.Thread(target=lambda c=c: [ask(c, within_s=60) for _ in range(4)]) for c in clients]
        began = time.monotonic()
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        took = time.monotonic() - began
        times = [request.at for request in server.calls]
    assert len(times) == 16
    assert most_in_a_window(times, WINDOW_S) <= 5
    assert took < 4 * WINDOW_S + 5  # 16 requests, 5 a window: three full waits, and no more than that


def test_tokens_a_minute_are_kept_by_the_providers_count() -> None:
    with ModelServer([say("hello")]) as server:  # 150 tokens each
        calls = policy(rate_window_s=WINDOW_S)
        estimate = calls.estimate.model_copy(update={"tokens_per_answer": 150})
        model = opened(server, rates=Rates(tpm=600), calls=calls.model_copy(update={"estimate": estimate}))
        asked = model.client(Allowance())
        for _ in range(9):
            ask(asked)
        times = [request.at for request in server.calls]
    assert most_in_a_window(times, WINDOW_S) <= 4


def test_a_wait_for_the_rate_ends_with_the_episode() -> None:
    limiter = Limiter(Rates(rpm=1), 60.0)
    limiter.admit(1, NEVER, time.monotonic() + 5)
    cancel = threading.Event()
    threading.Timer(0.2, cancel.set).start()
    with pytest.raises(CallCancelled):
        limiter.admit(1, cancel, time.monotonic() + 30)
    with pytest.raises(CallCancelled):
        limiter.admit(1, NEVER, time.monotonic() + 0.2)


def test_a_request_above_the_whole_token_rate_is_admitted_alone() -> None:
    limiter = Limiter(Rates(tpm=100), 0.2)
    limiter.admit(500, NEVER, time.monotonic() + 5)
    began = time.monotonic()
    limiter.admit(500, NEVER, time.monotonic() + 5)
    assert time.monotonic() - began >= 0.2


def test_without_rates_nothing_waits() -> None:
    limiter = Limiter(Rates(), 60.0)
    began = time.monotonic()
    for _ in range(200):
        limiter.admit(10**6, NEVER, began + 5)
    assert time.monotonic() - began < 1


def test_models_of_one_provider_share_a_limiter_and_addresses_do_not() -> None:
    rates = Rates(rpm=3)
    one = limiter_of("openai", "http://a/v1", rates, 60)
    assert limiter_of("openai", "http://a/v1", rates, 60) is one
    assert limiter_of("openai", "http://b/v1", rates, 60) is not one
    assert limiter_of("anthropic", "http://a/v1", rates, 60) is not one


@given(
    st.lists(st.tuples(st.floats(0, 1), st.integers(1, 60)), max_size=40),
    st.integers(1, 5),
    st.integers(60, 200),
)
def test_no_window_ever_holds_more_than_the_rates(requests: list[tuple[float, int]], rpm: int, tpm: int) -> None:
    """The limiter's own clock run ahead: each request comes some time after the one before and waits as told."""
    limiter = Limiter(Rates(rpm, tpm), 1.0)
    now, admitted = 1000.0, []
    for gap, tokens in requests:
        now = limiter.admit_at(tokens, now + gap)
        admitted.append((now, tokens))
    for start, _ in admitted:
        inside = [tokens for at, tokens in admitted if start <= at < start + 1.0]
        assert len(inside) <= rpm
        assert sum(inside) <= tpm


@pytest.mark.parametrize(("rates", "name"), [({"rpm": 0}, "rpm 0"), ({"tpm": -1}, "tpm -1")])
def test_a_rate_below_one_is_refused(rates: dict[str, int], name: str) -> None:
    with pytest.raises(BadInput, match=name):
        Rates(**rates)
