"""Which instants of an episode stand on its contact sheet: what the evaluator saw, then where most moved."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from runner.episode.captions import Captions

ROW = 3  # pictures in a row of the sheet: their number is filled up to whole rows
LEAST, MOST = 6, 9
ALIKE_S = 0.15  # events that follow one another within this are one instant
STILL_S = 0.3  # a shorter stretch between two pictures is not worth one more
UNMOVED = 0.002  # of a state (m, rad): a component that never changes by more is noise
SMALL = 0.02  # of all motion: a stretch with less is not worth a picture


@dataclass(frozen=True)
class Moment:
    """One picture of the sheet: simulated time (s), camera (None: the first), caption (None: the last event), and how
    much larger than the whole picture its middle is shown (None: as large as what moves allows)."""

    time: float
    camera: str | None = None
    caption: str | None = None
    zoom: float | None = None


@dataclass(frozen=True)
class _Instant:
    """Events at one time (s)."""

    time: float
    texts: tuple[str, ...]


def chosen_moments(captions: Captions, times: np.ndarray, states: np.ndarray) -> list[Moment]:
    """The start, the end, the evaluator's events between, the rare ones first where there are too many, and, where
    there are few, the instants between which most moved. An episode in which nothing happens has one picture.

    ``times`` float64 (m,) and ``states`` float32 (m, k) of the record.
    """
    end, moved = float(times[-1]), _moved(times, states)
    found = _instants(captions.events)
    if not found and moved[-1] == 0.0:
        return [Moment(0.0, caption=f"{captions.at(end, 0.0).count}: {captions.verdict.text}")]
    told = {item.time: "; ".join(item.texts) for item in found}
    last = [text for time, text in told.items() if time > end - ALIKE_S]
    between = [item for item in found if ALIKE_S < item.time <= end - ALIKE_S]
    chosen = [0.0, *(item.time for item in _rarest(between, MOST - 2)), end]
    wanted = min(MOST, max(LEAST, -(-len(chosen) // ROW) * ROW))
    told |= {0.0: "start", end: "; ".join(last) or captions.verdict.text}
    filled = _filled(chosen, times, moved, wanted)
    return [
        Moment(time, caption=told.get(time) or captions.at(time, before).action or "goes on")
        for before, time in zip([0.0, *filled], filled, strict=False)
    ]


def _instants(events: Sequence[tuple[float, str]]) -> list[_Instant]:
    """Events in order of time, those that follow within ``ALIKE_S`` of the first of an instant together."""
    groups: list[list[tuple[float, str]]] = []
    for time, text in sorted(events, key=lambda item: item[0]):
        if groups and time - groups[-1][0][0] < ALIKE_S:
            groups[-1].append((time, text))
        else:
            groups.append([(time, text)])
    return [_Instant(group[-1][0], tuple(dict.fromkeys(text for _, text in group))) for group in groups]


def _rarest(instants: Sequence[_Instant], count: int) -> list[_Instant]:
    """At most ``count`` of them: what happened once tells more than what happened again and again. Of equally rare
    ones, those spread evenly."""
    kinds = Counter(text.partition(":")[0] for item in instants for text in item.texts)
    by_rarity: dict[int, list[_Instant]] = {}
    for item in instants:
        by_rarity.setdefault(min(kinds[text.partition(":")[0]] for text in item.texts), []).append(item)
    found: list[_Instant] = []
    for _, group in sorted(by_rarity.items()):
        room = count - len(found)
        if len(group) > room:
            group = [group[round(index * (len(group) - 1) / max(room - 1, 1))] for index in range(room)]
        found += group
    return sorted(found, key=lambda item: item.time)


def _moved(times: np.ndarray, states: np.ndarray) -> np.ndarray:
    """How much has moved by each of ``times``, (m,), from 0 to 1: every component in parts of its own range."""
    spans = np.ptp(states.astype(np.float64), axis=0) if len(states) else np.zeros(0)
    moving = spans > UNMOVED
    if len(times) < 2 or not moving.any():
        return np.zeros(len(times))
    steps = np.abs(np.diff(states[:, moving].astype(np.float64), axis=0)) / spans[moving]
    total = np.concatenate([[0.0], np.cumsum(steps.sum(axis=1))])
    return np.asarray(total / total[-1])


def _filled(chosen: Sequence[float], times: np.ndarray, moved: np.ndarray, count: int) -> list[float]:
    """``chosen`` with up to ``count`` times: each new one halves the motion of the stretch that has most of it."""
    found = list(chosen)
    while len(found) < count:
        at = np.interp(found, times, moved)
        gains = np.diff(at)
        gains[np.diff(found) < STILL_S] = 0.0
        most = int(np.argmax(gains)) if len(gains) else 0
        if not len(gains) or gains[most] <= SMALL:
            break
        row = int(np.searchsorted(moved, (at[most] + at[most + 1]) / 2))
        time = float(times[row])
        if not found[most] < time < found[most + 1]:
            break
        found.insert(most + 1, time)
    return found
