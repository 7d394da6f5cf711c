"""Runs of KidGym for the pages: real episodes played by a made-up model, recorded as the runner records them."""

from __future__ import annotations

import json
from collections.abc import Iterator
from random import Random
from typing import Any

from leaderboard_records import IMAGES
from run_writer import Writer, new_run

from images.kidgym import png, solve
from images.kidgym.draw import frame
from images.kidgym.episode import Episode
from manifests.load import load
from manifests.lookup import condition_count
from manifests.records import Artifact, Usage
from runner.agents.base import AgentInfo
from runner.agents.choices import as_published, strict
from runner.plan import Planned
from runner.record import Course, Ending
from runner.runtimes.base import RuntimeFacts
from runner.settings import Choices
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
    kind = "model" if "/" in model else "baseline"
    given = {"setting": mode} if kind == "model" else {}
    info = AgentInfo(model, kind, "1", "f" * 64, "L0", parameters=given)
    choices = Choices(model=model, board="kidgym", subset=subset, protocol="pass1", runtime="docker")
    run, planned = new_run(store, name, choices, info, {})
    random, left = Random(name), kept
    with store.database.write() as session:
        writer = Writer(session, run, info, RuntimeFacts("docker", True, "chosen"))
        for item in planned:
            for condition in range(condition_count(load(), item.environment_id, subset)):
                _write(store, writer, item, condition, random, skill, keep=left > 0)
                left -= 1
    return run


def _write(
    store: Store, writer: Writer, planned: Planned, condition: int, random: Random, skill: float, *, keep: bool
) -> None:
    begun = writer.begin(planned, condition)
    code, level = planned.environment_id.rpartition("/")[2].split("-L")
    episode = Episode(code, int(level), condition)
    folder = store.attempt_folder(writer.run, begun.id) if keep else None
    if folder is not None:
        folder.start()
        folder.keep("describe.json", json.dumps({"task": episode.task.goal, "control_hz": 1}).encode())
    rows = list(_played(episode, random, skill, "/" in writer.info.name, folder))
    files: tuple[Artifact, ...] = () if folder is None else folder.seal()
    course = Course(
        wall_s=2.5 * len(rows),
        success_wall_s=2.5 * len(rows) if episode.end == "success" else None,
        images=IMAGES,
        usage=Usage(tokens_input=900 * len(rows), tokens_cached=0, tokens_output=12 * len(rows), cost_usd=0.001),
    )
    record = writer.close(begun, course, _ending(episode, rows), files)
    if folder is not None:
        folder.publish(record)


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
