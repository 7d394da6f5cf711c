"""Certificates: recorded successes of the reference agents, made by the robots through the public operations.

``python -m images.mujoco.workshop.certify`` plays every certified episode of every family again and compares the
digests of its actions and of its final state; ``--record`` plays the conditions of the chosen tasks and stores what
comes of it. The reference agents draw no random numbers, so that they are the compact form of their actions.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any

from images.mujoco.authored import AuthoredError
from images.mujoco.workshop.chosen import CONDITIONS, conditions, is_meant, jobs, patterns_of
from images.mujoco.workshop.episode import Episode
from images.reference import solve

UNSTORED = ("report", "cpu_s", "did")
MACHINE = ("environment_s",)  # what differs each time
FAMILIES = ("images.mujoco.launcher.workshop.certify", "images.mujoco.hanoi.workshop.certify")
"""Modules whose ``FAMILY`` says what there is to certify."""


class CertificateError(ValueError):
    """A file of certificates that cannot be read."""


@dataclass(frozen=True)
class Family:
    """What certificates need to know of a family. ``tasks`` lists its names, ``folder`` holds one file for each;
    ``episode`` starts one at a condition; ``condition`` gives its parameters; ``details`` says what a certificate keeps
    besides, and ``did`` the same in a few words."""

    folder: Path
    tasks: Callable[[], list[str]]
    condition: Callable[[str, int], dict[str, Any]]
    episode: Callable[[str, int], Episode]
    details: Callable[[Any], dict[str, Any]]
    did: Callable[[dict[str, Any]], str]

    def path(self, task: str) -> Path:
        """The file with a task's certificates."""
        return self.folder / f"{task}.json"

    def stored(self, task: str) -> list[dict[str, Any]]:
        """The episodes on file of a task, one for each condition that was played. Raises CertificateError."""
        path = self.path(task)
        if not path.is_file():
            return []
        try:
            content = json.loads(path.read_text(encoding="utf-8"))
            episodes = {int(episode["condition"]): dict(episode) for episode in content["episodes"]}
            if any(type(episode["success"]) is not bool for episode in episodes.values()):
                raise ValueError("a success that is neither true nor false")
            if content["case"] != path.stem or len(episodes) != len(content["episodes"]):
                raise ValueError("another case, or a condition that stands twice")
            return [episodes[index] for index in sorted(episodes)]
        except (ValueError, TypeError, KeyError) as error:
            raise CertificateError(f"{path} is damaged ({error!r}); delete it and record it again") from None

    def certified(self, task: str) -> bool:
        """Whether there is a success in every condition."""
        return {episode["condition"] for episode in self.stored(task) if episode["success"]} == set(CONDITIONS)

    def play(self, task: str, index: int) -> dict[str, Any]:
        """One episode of the reference agent, as its certificate says it; ``cpu_s`` and ``report`` beside it."""
        started = time.process_time()
        client = self.episode(task, index)
        lines: list[str] = []
        terminal = solve(client, lines.append)
        meter = client.session.meter
        details = self.details(client.environment)
        failed = f"{terminal.cause} {terminal.code or ''}: {terminal.text}"
        return {
            "condition": index,
            "parameters": self.condition(task, index),
            "outcome": terminal.cause if terminal.success else failed,
            "success": bool(terminal.success),
            **details,
            "actions": meter.actions,
            "simulated_s": round(meter.simulated_s, 2),
            "action_digest": client.action_digest(),
            "final_digest": client.environment.digest(),
            "cpu_s": round(time.process_time() - started, 1),
            "environment_s": round(client.environment_s, 2),
            "did": self.did(details),
            "report": lines,
        }

    def record(self, task: str, episodes: Iterable[dict[str, Any]]) -> None:
        """Write a task's file: certificates, and for a condition without one how the episode ended."""
        kept = [
            {key: value for key, value in episode.items() if key not in UNSTORED}
            for episode in sorted(episodes, key=lambda item: item["condition"])
        ]
        rows = ",\n  ".join(json.dumps(item) for item in kept)
        path = self.path(task)
        path.parent.mkdir(parents=True, exist_ok=True)
        case = task.rsplit("/", 1)[-1]
        path.write_text(f'{{\n "case": "{case}",\n "episodes": [\n  {rows}\n ]\n}}\n', encoding="utf-8")


def families() -> list[Family]:
    """Every family that has certificates."""
    return [import_module(name).FAMILY for name in FAMILIES]


def main(chosen: Sequence[Family] | None = None) -> int:
    """The command; ``chosen`` families, or all."""
    parser = argparse.ArgumentParser(prog="certify", description=__doc__.split("\n")[0])
    parser.add_argument("--tasks", default="*", help="comma-separated tasks or globs: A007,A02[56],panda/H*")
    parser.add_argument("--record", action="store_true", help="play and store instead of comparing")
    parser.add_argument(
        "--conditions", type=conditions, default=CONDITIONS, help="which conditions are played: 0,1,2,3 unless told"
    )
    parser.add_argument("--jobs", type=jobs, default=1, help="episodes at a time")
    parser.add_argument("--verbose", action="store_true", help="what the reference agent reports")
    options = parser.parse_args()
    known = list(chosen or families())
    there = [(number, task) for number, family in enumerate(known) for task in family.tasks()]
    patterns = patterns_of(options.tasks)
    for pattern in patterns or [options.tasks]:
        if not any(is_meant(task, pattern) for _, task in there):
            print(f"error: --tasks: {pattern!r} matches nothing; tasks are named as {there[0][1]} and {there[-1][1]}")
            return 2
    found = [(number, task) for number, task in there if any(is_meant(task, pattern) for pattern in patterns)]
    tasks = [(known[number], task) for number, task in found]
    work = [(family, task, index) for family, task in tasks for index in options.conditions]
    try:
        lacking = [] if options.record else [item for item in work if item[2] not in _certified(*item[:2])]
        with ProcessPoolExecutor(max_workers=options.jobs) as pool:
            playing = [item for item in work if item not in lacking]
            played = pool.map(partial(_play, verbose=options.verbose), playing)
            return _record(work, played) if options.record else _compare(playing, played, lacking)
    except (CertificateError, AuthoredError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 2


def _certified(family: Family, task: str) -> list[int]:
    return [episode["condition"] for episode in family.stored(task) if episode["success"]]


Work = tuple[Family, str, int]


def _play(item: Work, verbose: bool) -> dict[str, Any]:
    family, task, index = item
    episode = family.play(task, index)
    if verbose:
        print("\n".join(f"  {line}" for line in episode["report"]), flush=True)
    return episode


def _tell(task: str, episode: dict[str, Any], text: str) -> None:
    pace = episode["simulated_s"] / max(episode["environment_s"], 1e-3)
    print(
        f"{task} condition {episode['condition']}: {text}; {episode['did']}, "
        f"{episode['simulated_s']:.1f} s simulated, environment {pace:.0f}x, {episode['cpu_s']:.1f} s CPU",
        flush=True,
    )


def _record(work: list[Work], played: Iterable[dict[str, Any]]) -> int:
    failed = 0
    for (family, task, _), episode in zip(work, played, strict=True):
        failed += not episode["success"]
        _tell(task, episode, episode["outcome"])
        others = [e for e in family.stored(task) if e["condition"] != episode["condition"]]
        family.record(task, [*others, episode])
    print(f"{len(work) - failed} of {len(work)} episodes succeed")
    return int(failed > 0)


def _compare(work: list[Work], played: Iterable[dict[str, Any]], lacking: list[Work]) -> int:
    """Say what differs from the certificates, and what has none. On another machine the last bits of the robots' paths
    may differ: an episode that succeeds with other digests is told apart from one that fails."""
    failed = differing = 0
    for (family, task, index), episode in zip(work, played, strict=True):
        certificate = next(item for item in family.stored(task) if item["condition"] == index)
        kept = {name: value for name, value in episode.items() if name not in (*UNSTORED, *MACHINE)}
        fields = [name for name, value in json.loads(json.dumps(kept)).items() if certificate.get(name) != value]
        failed += not episode["success"]
        differing += bool(fields)
        _tell(task, episode, f"differs in {', '.join(fields)}: {episode['outcome']}" if fields else "the same")
    for _, task, index in lacking:
        print(f"{task} condition {index}: no certificate on file")
    missing = f", {len(lacking)} missing" if lacking else ""
    print(f"{len(work)} certificates: {len(work) - differing} the same, {failed} without success{missing}")
    return int(failed > 0 or differing > 0 or bool(lacking))


if __name__ == "__main__":
    sys.exit(main())
