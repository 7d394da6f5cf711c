"""Where a replay parts from what was stored: the true first difference lies in the interval that is reported."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from gateway_slider import Slider
from hypothesis import given, settings
from hypothesis import strategies as st

from images.gateway.recorder import DIGEST_EVERY, Recorder
from manifests.audit import load_audit
from manifests.errors import ManifestError
from manifests.load import load
from manifests.lookup import named
from manifests.records import AttemptRecord
from runner.audit.compare import divergence
from runner.audit.recorded import Course
from runner.audit.sample import draw

EXACT, LOOSE = load_audit().classes["bit-exact"], load_audit().classes["tolerance"]


def course(actions: np.ndarray) -> tuple[Course, list[str]]:
    """An episode of the slider as the gateway records it, and the digest after every single action."""
    slider = Slider({})
    recorder = Recorder(slider, 25.0)  # type: ignore[arg-type]
    every = [slider.digest()]
    for number, action in enumerate(actions, start=1):
        slider.apply(action)
        recorder.catch_up(number)
        every.append(slider.digest())
    recorder.keep(actions)
    recorder.complete(len(actions))
    found: dict[str, Any] = recorder.artifacts()
    digests = tuple((count, digest) for count, digest in json.loads(found["digests"]))
    made = Course(
        found["actions"], digests, found["states"], found["state_times"], b"", {"control_hz": 50.0}, {"x": 0.0}
    )
    return made, every


@settings(max_examples=60, deadline=None)
@given(
    st.integers(1, 170),
    st.integers(0, 169),
    st.integers(0, 63),
    st.integers(0, 2**32 - 1),
)
def test_one_flipped_bit_is_found_where_the_states_part(length: int, at: int, bit: int, seed: int) -> None:
    actions = np.zeros((length, 2))
    actions[:, 0] = np.random.default_rng(seed).uniform(-1, 1, length)
    at %= length
    other = actions.copy()
    other.view(np.uint64)[at, 0] ^= np.uint64(1 << bit)
    if not np.isfinite(other).all() or np.abs(other).max() > 1e3:
        return
    (stored, then), (now, again) = course(actions), course(other)
    found = divergence(stored, now, EXACT)
    parted = [number for number in range(length + 1) if then[number] != again[number]]
    if found is None:
        # The last digit was lost in a sum, then or later: at no digest do the two differ.
        assert not {count for count, _ in stored.digests} & set(parted)
        return
    assert found.after not in parted
    assert any(found.after < number <= found.by for number in parted)
    assert found.by - found.after <= DIGEST_EVERY


def test_a_difference_below_the_samples_is_found_by_the_digest() -> None:
    actions = np.zeros((120, 2))
    other = actions.copy()
    other[70, 0] = 1e-300
    found = divergence(course(actions)[0], course(other)[0], EXACT)
    assert found is not None
    assert (found.field, found.after, found.by, found.size) == ("digest", 50, 100, None)
    assert divergence(course(actions)[0], course(other)[0], LOOSE) is None


def test_a_difference_is_named_with_its_field_and_size() -> None:
    actions = np.zeros((120, 2))
    other = actions.copy()
    other[70, 0] = 0.5  # v becomes 0.1 m/s with action 71, x 2 mm; samples are taken at every second action
    found = divergence(course(actions)[0], course(other)[0], EXACT)
    assert found is not None
    assert (found.field, found.after, found.by) == ("state[1]", 50, 72)
    assert found.size == pytest.approx(0.1)
    assert str(found) == "between actions 51 and 72: state[1] differs by 0.1 (recorded 0, now 0.1)"


def test_a_tolerance_forgives_what_is_below_it_and_not_what_is_above() -> None:
    actions = np.zeros((120, 2))
    small, large = actions.copy(), actions.copy()
    small[70, 0], large[70, 0] = 1e-4, 1e-1
    stored = course(actions)[0]
    assert divergence(stored, course(small)[0], LOOSE) is None
    found = divergence(stored, course(large)[0], LOOSE)
    assert found is not None
    assert found.field == "state[1]"


def test_an_episode_that_ends_earlier_diverges_at_its_end() -> None:
    actions = np.zeros((120, 2))
    found = divergence(course(actions)[0], course(actions[:90])[0], EXACT)
    assert found is not None
    assert (found.field, found.after, found.by) == ("actions", 90, 91)


# ---- policy and samples ----------------------------------------------------------------------------------------------
def test_every_declared_class_has_a_rule_and_every_end_a_cause() -> None:
    policy = load_audit()
    for engine in load().engines.values():
        assert engine.determinism in policy.classes
    for cause in policy.ended_by_environment:
        named("cause", cause, load().causes)


def test_a_wrong_audit_policy_is_one_line_with_its_field(tmp_path: Any) -> None:
    raw = load_audit().model_dump(mode="json")
    raw["classes"]["tolerance"]["difference"] = -1
    (tmp_path / "audit.json").write_text(json.dumps(raw))
    with pytest.raises(ManifestError, match=r"^manifests/audit\.json: classes\.tolerance\.difference: .*-1"):
        load_audit(tmp_path)


def record(sequence: int, outcome: str) -> AttemptRecord:
    return AttemptRecord.model_construct(attempt=f"{sequence:032x}", sequence=sequence, outcome=outcome)  # type: ignore[arg-type]


@given(st.integers(0, 40), st.integers(0, 40), st.floats(0.01, 1), st.integers(0, 2**32 - 1))
def test_a_sample_takes_its_share_of_successes_and_of_the_rest(good: int, bad: int, share: float, seed: int) -> None:
    records = [record(number, "success" if number < good else "failure") for number in range(good + bad)]
    chosen = draw(records, seed, share)
    for outcome, total in (("success", good), ("failure", bad)):
        size = sum(item.outcome == outcome for item in chosen)
        assert min(total, 1) <= size <= total
        assert abs(size - share * total) < 1
    assert [item.sequence for item in chosen] == sorted(item.sequence for item in chosen)
    assert draw(list(reversed(records)), seed, share) == chosen
    assert draw(records, seed, 1.0) == records


def test_a_start_that_differs_is_never_forgiven_as_another_path() -> None:
    rules = load_audit().classes
    assert (rules["bit-exact"].start, rules["tolerance"].start, rules["statistical"].start) == (
        "problem",
        "problem",
        "note",
    )
    stored = course(np.zeros((10, 2)))[0]
    for shift, expected in ((1e-4, None), (0.25, "realized.x")):
        found = divergence(stored, replace(stored, realized={"x": shift}), LOOSE)
        assert (found.field if found else None) == expected
