"""Real records for the pages: written through the store, ruled by the cause table, of planned conditions."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from run_writer import Writer, new_run

from manifests.records import Artifact, ImageIdentity, Usage
from runner.agents.base import AgentInfo
from runner.plan import Planned
from runner.record import Course, Ending
from runner.runtimes.base import RuntimeFacts
from runner.settings import Choices
from runner.store.artifacts import RECORD
from runner.store.store import Run, Store
from runner.store.text import canonical

SUCCESS = Ending(cause="goal_met", text="every target was hit", meter={"actions": 812, "simulated_s": 41.5}, acted=True)
QUIT = Ending(cause="quit", text="the agent finished without success", meter={"actions": 0, "simulated_s": 0.0})
FAULT = Ending(cause="container_fault", text="the container ended", evidence={"exit": 137})
RULE = Ending(
    cause="violation",
    code="RULE",
    clause="interlock.launch",
    text="launched before the aiming cycle was complete",
    data={"clause_text": "No launch before the aiming cycle is complete.", "limit": 1, "value": 0},
    meter={"actions": 230, "simulated_s": 11.5},
    event_simulated_s=11.46,
    acted=True,
)

IMAGES = (
    ImageIdentity(role="mujoco", reference="assay/mujoco", id="sha256:" + "a" * 64, content="sha256:" + "b" * 64),
    ImageIdentity(role="sandbox", reference="assay/sandbox", id="sha256:" + "c" * 64, content="sha256:" + "d" * 64),
)
ACTIONS = b"the actions of an attempt"
SHA256 = hashlib.sha256(ACTIONS).hexdigest()
FILES = (Artifact(name="actions.npy", sha256=SHA256, size=len(ACTIONS), media_type="application/x-npy"),)
BASELINES = ("noop", "random", "reference")

Play = Callable[[str, int, int], Ending | None]


def write_run(
    store: Store,
    name: str,
    play: Play,
    *,
    model: str = "noop",
    subset: str = "smoke",
    tasks: str | None = None,
    protocol: str = "pass2",
    level: Any = "L0",
    runtime: str = "docker",
    usage: Usage | None = None,
    parameters: Mapping[str, Any] | None = None,
    settings: Mapping[str, Any] | None = None,
    wall_s: float = 12.25,
) -> Run:
    """A run whose attempts ended as ``play(environment id, condition, ordinal)`` says; None leaves the rest of the
    condition to come. ``settings`` replaces recorded settings."""
    kind = "baseline" if model in BASELINES else "model"
    info = AgentInfo(model, kind, "1", "f" * 64, level, parameters=dict(parameters or {}))
    choices = Choices(model=model, subset=subset, tasks=tasks, protocol=protocol, runtime=runtime)
    run, planned = new_run(store, name, choices, info, settings or {})
    course = Course(
        wall_s=wall_s,
        images=IMAGES if runtime == "docker" else (),
        fingerprint={"mujoco": "4.0.1", "arch": "x86_64"},
        realized={"stiffness": 22.0},
        usage=usage or Usage(),
    )
    with store.database.write() as session:
        writer = Writer(session, run, info, RuntimeFacts(runtime, runtime == "docker", "chosen"))
        for item in planned:
            for condition in range(4):
                for ordinal in (1, 2, 3):
                    ending = play(item.environment_id, condition, ordinal)
                    if ending is None:
                        break
                    _write(store, writer, item, condition, ending, course)
    return run


def _write(store: Store, writer: Writer, planned: Planned, condition: int, ending: Ending, course: Course) -> None:
    success_wall_s = course.wall_s if ending.cause == "goal_met" else None
    begun = writer.begin(planned, condition)
    record = writer.close(begun, replace(course, success_wall_s=success_wall_s), ending, FILES)
    folder = store.attempt_folder(writer.run, begun.id).final
    folder.mkdir(parents=True)
    (folder / RECORD).write_bytes(canonical(record.model_dump(mode="json")))
    (folder / "actions.npy").write_bytes(ACTIONS)


def twice(*endings: Ending) -> Play:
    """Every condition gets these endings in order, and stops after a success."""

    def play(environment_id: str, condition: int, ordinal: int) -> Ending | None:
        done = any(ending.cause == "goal_met" for ending in endings[: ordinal - 1])
        return None if done or ordinal > len(endings) else endings[ordinal - 1]

    return play
