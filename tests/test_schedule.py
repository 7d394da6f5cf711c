"""The schedule: what is due, in which order, and that attempts at one condition never overlap."""

from __future__ import annotations

import threading
import time
from dataclasses import replace
from typing import Any

import pytest
from slider_runtime import planned

from manifests.load import load
from manifests.records import AttemptRecord
from runner.agents.base import AgentInfo
from runner.errors import BadInput
from runner.plan import budget_labels, plan, versions
from runner.record import Course, Ending, Identity, make_record
from runner.runtimes.base import RuntimeFacts
from runner.schedule import Schedule, Taken
from runner.settings import Choices, attempt_seed, check_same, default_name, flatten, run_settings
from runner.store.text import now
from scoring.ledger import Attempt
from scoring.rules import Rules

INFO = AgentInfo("noop", "baseline", "1", "d" * 64, "L0")


def record(taken: Taken, cause: str, sequence: int, code: str | None = None) -> AttemptRecord:
    facts = RuntimeFacts("process", False, "")
    slot = taken.slot
    identity = Identity(f"a{sequence}", "r", sequence, slot.planned, slot.condition.index, INFO, facts, now())
    return make_record(load(), identity, Course(), Ending(cause, code), ())


def attempt(taken: Taken, cause: str, sequence: int, code: str | None = None) -> Attempt:
    found = record(taken, cause, sequence, code)
    place = (found.sequence, found.environment_id, found.condition)
    return Attempt(*place, found.outcome, found.cause, found.code, found.incident)


def run_through(protocol: str, *causes: str) -> list[tuple[int, int]]:
    """(condition, ordinal) in the order in which a run with these outcomes takes them."""
    choices = Choices("scripted", subset="smoke", tasks="marble/dual-panda/A007", protocol=protocol)
    schedule = Schedule(planned([{}, {}], choices), [], Rules(load(), protocol))
    order = []
    for sequence, cause in enumerate(causes, start=1):
        taken = schedule.take(lambda: False)
        if taken is None:
            break
        order.append((taken.slot.condition.index, taken.ordinal))
        schedule.closed(taken.slot, attempt(taken, cause, sequence, "RULE" if cause == "violation" else None))
    return order


@pytest.mark.parametrize(
    ("protocol", "causes", "order"),
    [
        ("pass2", ["violation"] * 9, [(0, 1), (1, 1), (0, 2), (1, 2)]),
        ("pass2", ["goal_met", "violation", "goal_met"], [(0, 1), (1, 1), (1, 2)]),
        ("pass2", ["container_fault", "quit", "quit", "quit"], [(0, 1), (1, 1), (1, 2)]),
        ("single", ["quit"] * 9, [(0, 1), (1, 1)]),
        ("single", ["wall_clock", "goal_met"], [(0, 1), (1, 1)]),
        ("pass2", ["wall_clock", "goal_met", "quit"], [(0, 1), (1, 1), (0, 2)]),
    ],
)
def test_every_condition_gets_its_first_attempt_before_any_second_and_no_more_than_are_due(
    protocol: str, causes: list[str], order: list[tuple[int, int]]
) -> None:
    assert run_through(protocol, *causes) == order


def test_attempts_at_one_condition_never_overlap() -> None:
    schedule = Schedule(planned([{}, {}]), [], Rules(load(), "pass2"))
    running: set[int] = set()
    seen: list[int] = []
    lock = threading.Lock()

    def work() -> None:
        while (taken := schedule.take(lambda: False)) is not None:
            index = taken.slot.condition.index
            with lock:
                assert index not in running
                running.add(index)
                seen.append(index)
                sequence = len(seen)
            time.sleep(0.02)
            with lock:
                running.discard(index)
            schedule.closed(taken.slot, attempt(taken, "quit", sequence))

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    assert sorted(seen) == [0, 0, 1, 1]


def test_an_environment_that_cannot_run_here_is_never_taken() -> None:
    (item,) = planned([{}, {}])
    away = replace(item, environment_id="x/y/z", conditions=(), reason="no engine")
    schedule = Schedule((away, item), [], Rules(load(), "pass2"))
    assert schedule.planned == 2
    taken = schedule.take(lambda: False)
    assert taken is not None
    assert taken.slot.planned is item


def test_an_unknown_cause_is_invalid_and_keeps_its_name() -> None:
    schedule = Schedule(planned([{}]), [], Rules(load(), "pass2"))
    taken = schedule.take(lambda: False)
    assert taken is not None
    found = record(taken, "gremlins", 1)
    assert (found.outcome, found.cause, found.code, found.incident) == ("invalid", "gremlins", "ERR", "none")


# ---- identity of a run ----------------------------------------------------------------------------------------------


def test_the_default_name_is_readable_and_changes_with_every_choice() -> None:
    choices = Choices("noop", subset="smoke")
    name = default_name(choices, INFO)
    assert name.startswith("noop-smoke-pass2-embedded-L0-s0-")
    others = [
        replace(choices, tasks="*A007"),
        replace(choices, runtime="docker"),
        replace(choices, parameters={"temperature": 0.5}),
        replace(choices, seed=1),
        replace(choices, protocol="single"),
        replace(choices, gpus=True),
    ]
    names = {default_name(other, INFO) for other in others}
    assert len(names | {name}) == len(others) + 1


def test_a_model_name_with_slashes_makes_a_valid_run_name() -> None:
    from runner.store.store import check_name

    check_name(default_name(Choices("openai/gpt-6 astra@2026", subset="smoke"), INFO))


def test_the_differing_field_is_named_with_both_values_and_the_fix() -> None:
    before = {"agent": {"digest": "a", "parameters": {"effort": "high"}}, "budgets": {"launcher": {"tokens": 30}}}
    after = {"agent": {"digest": "a", "parameters": {"effort": "low"}}, "budgets": {"launcher": {"tokens": 60}}}
    check_same("r", before, before)
    expected = r"effort was high and is now low; budgets.launcher.tokens was 30 and is now 60: .* RUN="
    with pytest.raises(BadInput, match=rf"run r: agent.parameters.{expected}") as caught:
        check_same("r", before, after)
    assert "RUN=" in str(caught.value)
    with pytest.raises(Exception, match=r"temperature was not set and is now 0.5"):
        check_same("r", {}, {"temperature": 0.5})
    with pytest.raises(BadInput, match=r"grants was reference-kit,x and is now not set:"):
        check_same("r", {"grants": ["reference-kit", "x"]}, {"grants": []})
    assert flatten({"a": [1, {"b": 2}], "c": {}}) == {"a[0]": 1, "a[1].b": 2, "c": {}}


def settings(subset: str, tasks: str | None = None, model: str = "noop", **info: Any) -> dict[str, Any]:
    """As the first entry of a ledger has them."""
    manifests = load()
    choices = Choices(model, subset=subset, tasks=tasks)
    planned = plan(manifests, choices, INFO)
    return run_settings(
        choices,
        replace(INFO, **info),
        environments={item.environment_id: item.engine for item in planned},
        budgets=budget_labels(manifests, planned),
        runtime="process",
        images={},
        versions=versions(manifests, (item.engine for item in planned)),
    )


def refusal(before: dict[str, Any], after: dict[str, Any]) -> str:
    with pytest.raises(BadInput) as caught:
        check_same("r", before, after)
    return str(caught.value)


FIX = "go back to what was recorded, or start another run with RUN=..."


def test_another_subset_is_named_with_how_many_environments_it_has_and_not_by_all_of_them() -> None:
    text = refusal(settings("ep-launch"), settings("smoke"))
    assert "run r: subset was ep-launch and is now smoke; environments were 34 and are now 3 (31 left out:" in text
    assert text.count("marble/") == 3
    assert text.endswith(f", ...): {FIX}")
    larger = refusal(settings("smoke"), settings("full"))
    assert "run r: subset was smoke and is now full; environments were 3 and are now 410 (407 added: " in larger
    assert "budgets" not in larger  # of the added environments: they follow from the subset
    assert len(larger) < 400


def test_other_tasks_are_named_by_what_was_typed_and_the_first_environments_that_differ() -> None:
    one = "marble/dual-panda/A007"
    assert refusal(settings("smoke", one), settings("smoke")) == (
        "run r: tasks was marble/dual-panda/A007 and is now not set; environments were 1 and are now 3 (2 added: "
        f"marble/dual-panda/A025, marble/dual-panda/A026): {FIX}"
    )
    moved = {**settings("smoke", one), "environments": {one: "isaaclab"}}
    assert f"environments were 1 and are now 1 (1 on another engine: {one})" in refusal(settings("smoke", one), moved)


def test_a_budget_that_changed_under_the_same_subset_is_named() -> None:
    before, after = settings("smoke"), settings("smoke")
    after["budgets"]["launcher"]["actions"] = 7
    assert refusal(before, after) == f"run r: budgets.launcher.actions was 7500 and is now 7: {FIX}"


def test_another_model_is_named_without_what_follows_from_it() -> None:
    after = settings("smoke", model="random", name="random", digest="9" * 64)
    assert refusal(settings("smoke"), after) == f"run r: model was noop and is now random: {FIX}"
    assert "agent.digest (its code and prompts) was" in refusal(settings("smoke"), settings("smoke", digest="9" * 64))


def test_the_seed_of_an_attempt_depends_on_seed_environment_condition_and_ordinal_alone() -> None:
    base = attempt_seed(0, "e", 0, 1)
    assert base == attempt_seed(0, "e", 0, 1)
    assert 0 <= base < 2**32
    others = {
        attempt_seed(1, "e", 0, 1),
        attempt_seed(0, "f", 0, 1),
        attempt_seed(0, "e", 1, 1),
        attempt_seed(0, "e", 0, 2),
    }
    assert len(others | {base}) == 5
