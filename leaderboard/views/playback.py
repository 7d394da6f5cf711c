"""The course of an episode: controls over simulated time, what the evaluator saw, and where pictures come from."""

from __future__ import annotations

from typing import Any

import numpy as np

from leaderboard import charts
from leaderboard.blocks import Block, data_of, figure
from leaderboard.episode import Stored
from leaderboard.markup import Safe, code, notice, small, table, tag
from manifests.records import AttemptRecord
from manifests.words import count

TRACES = 8  # controls in the figure
POINTS = 400  # of a trace
ROWS = 2000  # actions in the download
EVENTS = 200
LARGEST = 1e12  # of a bound of a control


def course(record: AttemptRecord, stored: Stored, now: float | None) -> list[Block | Safe]:
    """The figure of the course, with a mark at ``now`` (simulated seconds)."""
    if stored.actions is None or not len(stored.actions):
        return [tag("p", "No action was taken, or none is stored.", class_="quiet")]
    return [_figure(record, stored, now)]


def end_of(record: AttemptRecord, stored: Stored) -> float:
    """Simulated seconds of the episode."""
    times = stored.seconds(record)
    return max(float(times[-1]) if len(times) else 0.0, record.simulated_s)


def how_to_draw(run: str, record: AttemptRecord, stored: Stored) -> Safe:
    """The command that makes a video where there is none."""
    if not record.artifacts or record.actions == 0:
        return tag("p", "There is nothing to play: no action was taken.", class_="quiet")
    cameras = ", ".join(str(camera.get("name", camera)) for camera in _cameras(stored)) or "those of its task"
    command = f'assay episode {run} {record.sequence} --video "${{ASSAY_HOME:-runs}}/{run}/rendered/"'
    return notice(
        "No video of this episode is stored.",
        tag("p", "Whoever has the records draws it from the recorded states:"),
        tag("pre", code(Safe(command))),
        tag("p", small(f"Cameras: {cameras} (--camera). ", Safe("RENDER=1"), " of make evaluate draws every attempt.")),
    )


def _cameras(stored: Stored) -> list[Any]:
    found = stored.describe.get("cameras")
    every = found if isinstance(found, list) else []
    return [camera if isinstance(camera, dict) else {"name": camera} for camera in every]


def controls_of(stored: Stored) -> list[tuple[str, str, float, float]]:
    """(name, unit, low, high) of every control, from the public description or the actions themselves."""
    assert stored.actions is not None
    given = stored.describe.get("controls")
    width = stored.actions.shape[1]
    if isinstance(given, list) and len(given) == width and all(map(_is_control, given)):
        return [(str(i["name"]), str(i.get("unit", "")), float(i["low"]), float(i["high"])) for i in given]
    low, high = stored.actions.min(axis=0), stored.actions.max(axis=0)
    return [(f"control {index}", "", float(low[index]), float(high[index])) for index in range(width)]


def _is_control(item: Any) -> bool:
    """Whether a description says of a control what the page needs: its name, and a range of numbers."""
    if not isinstance(item, dict) or not {"name", "low", "high"} <= item.keys():
        return False
    return all(isinstance(item[end], int | float) and abs(item[end]) < LARGEST for end in ("low", "high"))


def _figure(record: AttemptRecord, stored: Stored, now: float | None) -> Block:
    actions, times, controls = stored.actions, stored.seconds(record), controls_of(stored)
    assert actions is not None
    low, high = (np.array([control[index] for control in controls]) for index in (2, 3))
    part = np.clip((actions - low) / np.maximum(high - low, 1e-12), 0, 1)
    moved = np.abs(np.diff(part, axis=0)).sum(axis=0)
    chosen = sorted(np.argsort(-moved, kind="stable")[:TRACES].tolist())
    step = max(1, len(actions) // POINTS)
    lines = [
        (
            controls[index][0].replace("_", " "),
            f"{controls[index][2]:.3g} to {controls[index][3]:.3g} {controls[index][1]}",
            list(zip(times[::step].tolist(), part[::step, index].tolist(), strict=True)),
        )
        for index in chosen
    ]
    shown = (
        f"the {len(lines)} controls that moved most, of {len(controls)}" if len(controls) > TRACES else "all controls"
    )
    alt = f"Commands over simulated time: {shown}; red lines are events of the evaluator"
    end = end_of(record, stored)
    drawing = charts.traces(f"controls-{record.sequence}", alt, end, lines, stored.events[:EVENTS], now)
    every = max(1, -(-len(actions) // ROWS))
    columns = ["simulated_s", *(control[0] for control in controls)]
    rows = [[time, *row] for time, row in zip(times[::every].tolist(), actions[::every].tolist(), strict=True)]
    note = f"; the download has every {every}th action" if every > 1 else ""
    return figure(drawing, f"{alt}{note}", data_of(f"actions-{record.sequence}", columns, rows))


def controls(record: AttemptRecord, stored: Stored, now: float | None) -> Safe:
    """The commands at ``now``, or the last ones; nothing without an action."""
    actions = stored.actions
    if actions is None or not len(actions):
        return Safe("")
    times = stored.seconds(record)
    taken = len(actions) if now is None else int(np.searchsorted(times, now + 1e-9, side="right"))
    last = actions[max(taken, 1) - 1]
    rows = [
        [name.replace("_", " "), f"{value:.4g} {unit}", f"{low:.4g} to {high:.4g}"]
        for (name, unit, low, high), value in zip(controls_of(stored), last.tolist(), strict=True)
    ]
    where = "at the end" if now is None else f"at {now:.2f} s"
    title = f"Controls {where}: action {max(taken, 1):,} of {len(actions):,}"
    shown = table(title, ("Control", "Command", "Range"), rows)
    return tag("details", tag("summary", title), shown)


def events(stored: Stored, now: float | None) -> Safe:
    """What the evaluator noted up to ``now``."""
    if not stored.events:
        return tag("p", "The evaluator noted no event.", class_="quiet")
    shown = [event for event in stored.events if now is None or event[0] <= now + 1e-9]
    items = [tag("li", tag("strong", f"{time:.2f} s "), words) for time, words in shown[-EVENTS:]]
    title = f"What the evaluator saw: {len(shown)} of {count(len(stored.events), 'event')}"
    body = tag("ol", *items, class_="events", tabindex=0) if items else tag("p", "Nothing yet.")
    return tag("details", tag("summary", title), body, open="open")
