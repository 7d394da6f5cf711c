"""The table of attempts that a ledger folds to, as plain rows: what :mod:`runner.store.view` makes, without a session
and without writing a record anew that the ledger holds as canonical text already."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from sqlalchemy import Row

from runner.store.tables import AttemptRow
from runner.store.text import canonical, stamp

FIELDS = tuple(AttemptRow.model_fields)
BEFORE = {"began": ("opened",), "resumed": ("opened",), "closed": ("opened", "began")}  # the states an entry follows
IMPORTED = ("sequence", "environment_id", "condition", "outcome", "code", "incident")
SAID = ("outcome", "cause", "code", "incident")


@dataclass
class Folded:
    """``rows`` by attempt id, each by the fields of AttemptRow; ``files`` (name, bytes) of the artifacts that a record
    lists."""

    run: str
    rows: dict[str, dict[str, Any]] = field(default_factory=dict)
    files: dict[str, list[tuple[str, int]]] = field(default_factory=dict)
    _decided: dict[str, dict[str, Any]] = field(default_factory=dict)
    _withdrawn: bool = False

    @classmethod
    def of(cls, run: str, entries: Iterable[Row[Any]]) -> Folded | None:
        """None where an entry cannot follow the ones before it, or is not written as the ledger writes it."""
        found = cls(run)
        try:
            for sequence, kind, time, payload, _, _ in map(tuple, entries):
                found._take(sequence, kind, time, payload, json.loads(payload))
        except (ValueError, KeyError, TypeError, AttributeError):
            return None
        return found

    def _take(self, sequence: int, kind: str, time: str | datetime, text: str, said: dict[str, Any]) -> None:
        if kind in ("run", "received"):
            return
        if kind == "withdrawn":
            _must(not self._withdrawn)
            self._withdrawn = True
        elif kind == "opened":
            _must(not self._withdrawn)
            place = {name: said[name] for name in ("environment_id", "condition")}
            self._add(said["attempt"], {**place, "sequence": sequence, "state": "opened", "opened_at": time})
        elif kind == "imported":
            ruling = canonical(said["ruled"]).decode() if said.get("ruled") else None
            given = {name: said[name] for name in IMPORTED}
            self._add(said["attempt"], {**given, "state": "closed", "opened_at": time, "ruling": ruling})
        else:
            row = self.rows[said["attempt"]]
            _must(row["state"] in BEFORE.get(kind, ("closed",)))
            self._change(row, sequence, kind, time, text, said)

    def _add(self, attempt: str, values: dict[str, Any]) -> None:
        _must(attempt not in self.rows)
        self.rows[attempt] = dict.fromkeys(FIELDS) | values | {"id": attempt, "run_id": self.run}

    def _change(
        self, row: dict[str, Any], sequence: int, kind: str, time: str | datetime, text: str, said: dict[str, Any]
    ) -> None:
        if kind == "began":
            row |= {"state": "began", "began_at": time}
        elif kind == "closed":
            head, record = f'{{"attempt":"{row["id"]}","record":', said["record"]
            _must(text.startswith(head))
            row |= {"state": "closed", "closed_at": time, "record": text[len(head) : -1]}
            row |= {name: record[name] for name in SAID}
            self.files[row["id"]] = [(item["name"], item["size"]) for item in record["artifacts"]]
        elif kind == "decision":
            before = f"{row['decisions'][:-1]}," if row["decisions"] else "["
            row["decisions"] = f'{before}{{"payload":{text},"sequence":{sequence},"time":"{stamped(time)}"}}]'
            self._decided[row["id"]] = said
        elif kind == "ruled":
            last = self._decided.get(row["id"], {})
            ruled = {name: said[name] for name in ("cause", "code")}
            _must(last.get("decision") == "rejected" and last.get("ruled") == ruled)
            row["ruling"] = text
        else:
            _must(kind == "resumed")


def stamped(time: str | datetime) -> str:
    """An instant as it stands in a hash (:func:`runner.store.text.stamp`)."""
    return f"{time.replace(' ', 'T')}Z" if isinstance(time, str) else stamp(time)


def _must(holds: bool) -> None:
    if not holds:
        raise ValueError
