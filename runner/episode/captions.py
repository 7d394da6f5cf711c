"""The words beside a picture: the time, what the actions do, the evaluator's last event, and the verdict."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from manifests.records import AttemptRecord
from runner.episode.stored import Episode
from runner.record import CLAUSE_TEXT
from runner.words import one_line

NAMED = 3  # controls named in the summary of an action
LEAST = 0.002  # of a control's range: a smaller change is not worth naming


@dataclass(frozen=True)
class Caption:
    """The words of one instant. ``event`` is empty before the first; ``progress`` is 0 to 1 of the episode."""

    time: str
    count: str
    action: str
    event: str
    progress: float


@dataclass(frozen=True)
class Verdict:
    """How the attempt ended, as recorded. ``word`` is a failure's code, ``clause`` the disclosed rule that it broke."""

    outcome: str
    word: str
    text: str
    clause: str


class Captions:
    """Captions of one episode by simulated time (s)."""

    def __init__(self, episode: Episode) -> None:
        record = episode.record
        self.title = f"{record.environment_id}  ·  condition {record.condition}  ·  {agent_name(episode)}"
        self.verdict = verdict(record)
        self.end = max(float(episode.times[-1]), 1e-9)
        self.events = [(time, text) for time, text in map(event, episode.log) if text]
        self._actions = episode.actions
        self._controls = list(episode.describe.get("controls", ()))
        self._step = self.end / len(self._actions) if len(self._actions) else self.end

    def at(self, time: float, since: float) -> Caption:
        """The caption at ``time``; the action's summary is of what changed after ``since``."""
        total = len(self._actions)
        taken = min(total, round(time / self._step)) if total else 0
        last = [text for moment, text in self.events if moment <= time + 1e-6]
        return Caption(
            time=f"{time:.2f} s",
            count=f"action {taken:,} of {total:,}" if total else "no action was taken",
            action=self._summary(taken, min(taken, round(since / self._step)) if total else 0),
            event=last[-1] if last else "",
            progress=min(1.0, time / self.end),
        )

    def _summary(self, taken: int, before: int) -> str:
        """The controls that moved most, in parts of their ranges, between two counts of actions."""
        if taken == 0 or len(self._controls) != self._actions.shape[1]:
            return ""
        now = self._actions[taken - 1]
        change = now - self._actions[max(before, 1) - 1]
        spans = np.array([max(item["high"] - item["low"], 1e-12) for item in self._controls])
        part = np.abs(change) / spans
        order = [int(index) for index in np.argsort(-part, kind="stable")[:NAMED] if part[index] > LEAST]
        if not order:
            return "holds still"
        return ",  ".join(_control(self._controls[index], float(change[index])) for index in order)


def verdict(record: AttemptRecord) -> Verdict:
    found = record.violation
    word = "success" if record.outcome == "success" else record.code if record.outcome == "failure" else "invalid"
    text = one_line(record.text or record.cause.replace("_", " "))
    clause = ""
    if found is not None and found.clause:
        told = one_line(str(found.data.get(CLAUSE_TEXT, "")))
        clause = f"{found.clause}  {told}".strip()
        text = one_line(found.text or text).removeprefix(f"{found.clause}: ")
    return Verdict(record.outcome, word or record.outcome, text, clause)


def agent_name(episode: Episode) -> str:
    """``reference``, or ``provider/model (code)``."""
    agent = episode.record.agent
    name, model = one_line(str(agent.get("name"))), agent.get("model")
    return f"{one_line(str(model))} ({name})" if model else name


def event(entry: Mapping[str, Any]) -> tuple[float, str]:
    """(simulated time, text) of an entry of the evaluator's log; an empty text where it has no time or name. Lengths
    and angles are left out: the log itself has them."""
    if not isinstance(entry.get("simulated_s"), int | float) or not entry.get("event"):
        return 0.0, ""
    details = [
        str(value) if isinstance(value, str) else f"{key} {value}"
        for key, value in entry.items()
        if key not in ("simulated_s", "event") and type(value) in (str, int)
    ]
    name = str(entry["event"])
    return float(entry["simulated_s"]), one_line(f"{name}: {', '.join(details)}" if details else name)


def _control(control: Mapping[str, Any], change: float) -> str:
    return one_line(f"{control['name']} {change:+.3g} {control['unit']}".replace("_", " "))
