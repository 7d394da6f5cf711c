"""Runs of KidGym for the pages: real episodes played by a made-up model, recorded as the runner records them."""

from __future__ import annotations

import json
import uuid
from collections.abc import Iterator
from random import Random
from typing import Any

from leaderboard_records import IMAGES
from sqlmodel import Session

from images.kidgym import png, solve
from images.kidgym.draw import frame
from images.kidgym.episode import Episode
from manifests.load import load
from manifests.lookup import condition_count
from manifests.records import Artifact, Usage
from runner.agents.base import AgentInfo
from runner.agents.choices import as_published, strict
from runner.plan import Planned, budget_labels, plan, run_mode, versions
from runner.record import Course, Ending, Identity, make_record
from runner.runtimes.base import RuntimeFacts
from runner.settings import Choices, run_settings
from runner.store import ledger
from runner.store.artifacts import AttemptFolder
from runner.store.store import Run, Store

QUICK = "kidgym-quick"
REPLIES = (
    "<answer>{letter}</answer>",
    "I look at the picture.\nA good choice is {letter}.",
    "{text}",
    "Not {other}, but {letter}: <script>alert(1)</script>",
)
LOST = "I cannot see anything that helps.\x1b[2J"


def write_kidgym(
    store: Store, name: str, skill: float, *, model: str, mode: str = "zero-shot", subset: str = QUICK, kept: int = 0
) -> Run:
    """A run whose model takes the right option with chance ``skill``, else any. Its first ``kept`` attempts have a
    transcript with pictures."""
    manifests, kind = load(), "model" if "/" in model else "baseline"
    given = {"setting": mode} if kind == "model" else {}
    info = AgentInfo(model, kind, "1", "f" * 64, "L0", parameters=given)
    choices = Choices(model=model, board="kidgym", subset=subset, protocol="pass1", runtime="docker")
    planned = plan(manifests, choices, info)
    recorded = run_settings(
        choices,
        info,
        environments={item.environment_id: item.engine for item in planned},
        budgets=budget_labels(manifests, planned),
        runtime="docker",
        images={},
        versions=versions(manifests, (item.engine for item in planned)),
        mode=run_mode(manifests, "kidgym", planned),
    )
    run = store.create_run(name, recorded)
    random, left = Random(name), kept
    with store.database.write() as session:
        for item in planned:
            for condition in range(condition_count(manifests, item.environment_id, subset)):
                _write(store, session, run, item, condition, info, random, skill, keep=left > 0)
                left -= 1
    return run


def _write(
    store: Store,
    session: Session,
    run: Run,
    planned: Planned,
    condition: int,
    info: AgentInfo,
    random: Random,
    skill: float,
    *,
    keep: bool,
) -> None:
    attempt = uuid.uuid4().hex
    place = {"environment_id": planned.environment_id, "condition": condition}
    opened = ledger.append(session, run.id, "opened", {"attempt": attempt, **place})
    began = ledger.append(session, run.id, "began", {"attempt": attempt})
    code, level = planned.environment_id.rpartition("/")[2].split("-L")
    episode = Episode(code, int(level), condition)
    folder = store.attempt_folder(run, attempt) if keep else None
    if folder is not None:
        folder.start()
        folder.keep("describe.json", json.dumps({"task": episode.task.goal, "control_hz": 1}).encode())
    rows = list(_played(episode, random, skill, "/" in info.name, folder))
    files: tuple[Artifact, ...] = () if folder is None else folder.seal()
    course = Course(
        began_at=began.time,
        wall_s=2.5 * len(rows),
        success_wall_s=2.5 * len(rows) if episode.end == "success" else None,
        images=IMAGES,
        usage=Usage(tokens_input=900 * len(rows), tokens_cached=0, tokens_output=12 * len(rows), cost_usd=0.001),
    )
    identity = Identity(attempt, run.id, opened.sequence, planned, condition, info, _facts(), opened.time)
    record = make_record(load(), identity, course, _ending(episode, rows), files)
    ledger.append(session, run.id, "closed", {"attempt": attempt, "record": record.model_dump(mode="json")})
    if folder is not None:
        folder.publish(record)


def _facts() -> RuntimeFacts:
    return RuntimeFacts("docker", True, "chosen")


def _played(
    episode: Episode, random: Random, skill: float, asked: bool, folder: AttemptFolder | None
) -> Iterator[dict[str, Any]]:
    while episode.end is None:
        texts = [option.action.text for option in episode.options]
        index = _choice(episode, random, skill)
        other = (index + 1) % len(texts)
        letter, wrong = (episode.options[number].letter for number in (index, other))
        said = LOST if random.random() < 0.05 else random.choice(REPLIES)
        reply = said.format(letter=letter, other=wrong, text=texts[index])
        row: dict[str, Any] = {"step": episode.steps + 1, "options": texts, "reply": None, "strict": None}
        row |= {"published": None, "taken": index}
        if asked:
            read, published = strict(reply, texts), as_published(reply, texts)
            row |= {"reply": reply, "strict": vars(read), "published": vars(published), "taken": read.index}
        if folder is not None:
            name = f"pictures/{episode.steps:03}.png"
            folder.keep(name, png.encode(frame(episode.scene, episode.task.theme)))
            user = [{"type": "image_url", "image_url": {"url": name}}, {"type": "text", "text": "\n".join(texts)}]
            message = {"kind": "message", "index": 2 * episode.steps, "message": {"role": "user", "content": user}}
            folder.append("transcript.jsonl", message)
            answer = {"role": "assistant", "content": reply}
            folder.append("transcript.jsonl", {"kind": "request", "turn": episode.steps, "messages": 1})
            folder.append("transcript.jsonl", {"kind": "reply", "turn": episode.steps, "finish": "stop", "model": "m"})
            folder.append("transcript.jsonl", {"kind": "message", "index": 2 * episode.steps + 1, "message": answer})
        yield row
        episode.choose(row["taken"])


def _choice(episode: Episode, random: Random, skill: float) -> int:
    if random.random() < skill:
        try:
            path = solve.solution(episode.task, episode.state)
        except solve.Unsolvable:
            path = []
        if path:
            return episode.index_of(path[0])
    return random.randrange(len(episode.options))


def _ending(episode: Episode, rows: list[dict[str, Any]]) -> Ending:
    cause, code, clause = {
        "success": ("goal_met", None, "K-01"),
        "wrong": ("violation", "WRONG", "K-02"),
        "steps": ("action_budget", "TIME", "G-02"),
    }[str(episode.end)]
    meter = {"actions": len(rows), "simulated_s": float(len(rows))}
    data = {"clause_text": "A wrong choice that cannot be undone ends the episode."} if code == "WRONG" else {}
    evidence = {"choices": rows}
    return Ending(cause, code, clause, "it ended", data, evidence, meter, acted=True)
