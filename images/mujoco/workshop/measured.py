"""Measurements of tasks beside their certificates: a file for each task, made again when what it depends on has
changed."""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from images.mujoco.workshop.chosen import is_meant, jobs, patterns_of


@dataclass(frozen=True)
class Measurements:
    """One family's. ``folder`` holds ``TASK.json``; ``tasks`` lists what there is to measure, ``source`` digests what a
    task's measurements depend on, ``measure`` makes them and ``told`` says them in a line."""

    folder: Path
    tasks: Callable[[], list[str]]
    source: Callable[[str], str]
    measure: Callable[[str], dict[str, Any]]
    told: Callable[[dict[str, Any]], str]

    def stored(self, task: str) -> dict[str, Any] | None:
        """The measurements on file, if there are any."""
        path = self.folder / f"{task}.json"
        return dict(json.loads(path.read_text(encoding="utf-8"))) if path.is_file() else None

    def update(self, task: str) -> str:
        """Measure a task unless its file is up to date; a line that says what was found."""
        old, source = self.stored(task), self.source(task)
        if old is not None and old["source"] == source:
            return f"{task}: up to date"
        found = {"source": source, **self.measure(task)}
        path = self.folder / f"{task}.json"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
        return f"{task}: {self.told(found)}"

    def main(self, text: str) -> int:
        """The command; ``text`` says what it does."""
        parser = argparse.ArgumentParser(prog="measure", description=text)
        parser.add_argument("--tasks", default="*", help="comma-separated tasks or globs: A007,panda/H1*")
        parser.add_argument("--jobs", type=jobs, default=1, help="tasks at a time")
        options = parser.parse_args()
        patterns = patterns_of(options.tasks)  # of all families: some have none of them
        chosen = [task for task in self.tasks() if any(is_meant(task, pattern) for pattern in patterns)]
        with ProcessPoolExecutor(max_workers=options.jobs) as pool:
            for line in pool.map(self.update, chosen):
                print(line, flush=True)
        return 0
