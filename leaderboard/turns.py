"""The turns of an attempt whose agent chose from lettered options, as its record holds them, each with its picture.

Pictures are those that the model was sent, or those that were drawn afterwards from the stored states
(:data:`COMMAND`, ``RENDER=1``). The record is text of strangers: what is missing or odd is left out, never guessed.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from leaderboard.episode import LARGEST, Stored
from manifests.records import AttemptRecord
from runner.store.artifacts import RENDERED, rendered_stem
from runner.store.store import Run, Store

COMMAND = 'assay episode {run} {sequence} --size 576 --stills "${{ASSAY_HOME:-runs}}/{run}/rendered/"'
STILL = re.compile(r"state_(\d{5})\.png")


@dataclass(frozen=True)
class Reading:
    """What one decoder made of a reply. ``index`` is that of an option, None where the reply names none or several;
    ``kind`` says which, ``rule`` by which rule."""

    kind: str
    index: int | None
    rule: str


@dataclass(frozen=True)
class Turn:
    """One step. ``taken`` is the index of the option that was sent, None for none, which used up the step. Without a
    model ``reply``, ``strict`` and ``published`` are None. ``cut`` counts characters of the reply that only the
    transcript has. ``picture`` is a PNG, ``sent`` whether the model was sent the very same."""

    step: int
    options: tuple[str, ...]
    taken: int | None
    reply: str | None
    cut: int
    strict: Reading | None
    published: Reading | None
    picture: bytes | None
    sent: bool
    after: bytes | None = None

    @property
    def apart(self) -> bool:
        """Whether the two decoders read different options."""
        return self.strict is not None and self.published is not None and self.strict.index != self.published.index


def has_turns(record: AttemptRecord) -> bool:
    return isinstance(record.evidence.get("choices"), list)


def turns(store: Store, run: Run, record: AttemptRecord, stored: Stored) -> list[Turn]:
    """In order; empty for an attempt of another kind."""
    rows = record.evidence.get("choices")
    found = [row for row in rows if isinstance(row, Mapping)] if isinstance(rows, list) else []
    drawn, sent = _drawn(drawn_folder(store, run, record)), iter(_sent(stored, record))
    result = []
    for number, row in enumerate(found):
        was_sent = next(sent, None) if row.get("reply") is not None else None
        result.append(_turn(number, row, was_sent or drawn.get(number), was_sent is not None))
    return [*result[:-1], *(replace(turn, after=drawn.get(len(result))) for turn in result[-1:])]


def drawn_folder(store: Store, run: Run, record: AttemptRecord) -> Path:
    """Where :data:`COMMAND` has to put its pictures."""
    return store.folder(run) / RENDERED / rendered_stem(record)


def _turn(number: int, row: Mapping[str, Any], picture: bytes | None, sent: bool) -> Turn:
    options, taken, reply, cut = (row.get(name) for name in ("options", "taken", "reply", "cut"))
    return Turn(
        step=number + 1,
        options=tuple(map(str, options)) if isinstance(options, list) else (),
        taken=taken if isinstance(taken, int) else None,
        reply=None if reply is None else str(reply),
        cut=cut if isinstance(cut, int) else 0,
        strict=_reading(row.get("strict")),
        published=_reading(row.get("published")),
        picture=picture,
        sent=sent,
    )


def _reading(found: Any) -> Reading | None:
    if not isinstance(found, Mapping):
        return None
    index = found.get("index")
    return Reading(str(found.get("kind")), index if isinstance(index, int) else None, str(found.get("rule")))


def _sent(stored: Stored, record: AttemptRecord) -> list[bytes | None]:
    """For each turn of the model the last picture in its request: that of the present moment."""
    last: str | None = None
    by_turn: dict[Any, str | None] = {}
    for entry in stored.transcript:
        if entry.get("kind") == "message" and isinstance(entry.get("message"), Mapping):
            content = entry["message"].get("content")
            for part in content if isinstance(content, list) else ():
                where = part.get("image_url") if isinstance(part, Mapping) else None
                url = where.get("url") if isinstance(where, Mapping) else where
                last = url if isinstance(url, str) else last
        elif entry.get("kind") == "request" and isinstance(entry.get("turn"), int):
            by_turn[entry["turn"]] = last  # a request that is made again after an eviction has the same turn
    return [None if url is None else stored.picture(record, url) for url in by_turn.values()]


def _drawn(folder: Path) -> dict[int, bytes]:
    """Number of steps taken to the picture after them."""
    try:
        names = {int(found[1]): path for path in folder.iterdir() if (found := STILL.fullmatch(path.name))}
        return {number: path.read_bytes() for number, path in names.items() if path.stat().st_size <= LARGEST}
    except OSError:
        return {}
