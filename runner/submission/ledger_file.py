"""The ledger of a bundle: one canonical line an entry, its chain followed, its attempts folded as the store does it."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime
from functools import cache
from types import TracebackType
from typing import IO, Any

from pydantic import ValidationError
from sqlalchemy import Engine, create_engine
from sqlalchemy.pool import NullPool
from sqlmodel import Session, SQLModel, col, select

from manifests.records import SCHEMA_VERSION, AttemptRecord
from manifests.submission import LEDGER_FILE, PAYLOADS, LedgerLine, RunSettings
from runner.errors import BadInput
from runner.store import view
from runner.store.decisions import signed_time
from runner.store.ledger import GENESIS, Entry, entry_hash
from runner.store.store import check_name
from runner.store.tables import AttemptRow, EntryRow, RunRow
from runner.store.text import canonical, parse, stamp
from runner.submission.facts import LedgerEnd
from runner.submission.findings import Report
from runner.submission.strict import NotStrict, canonical_value


@cache
def _memory() -> Engine:
    """Every connection is an empty database of its own."""
    return create_engine("sqlite://", poolclass=NullPool)


def line_of(entry: Entry) -> bytes:
    """An entry as a line of ``ledger.jsonl``."""
    value = {
        "run": entry.run,
        "sequence": entry.sequence,
        "kind": entry.kind,
        "time": stamp(entry.time),
        "payload": entry.payload,
        "previous": entry.previous,
        "hash": entry.hash,
    }
    return canonical(value) + b"\n"


def row_of(line: LedgerLine) -> EntryRow:
    """The same entry as the store keeps it."""
    return EntryRow(
        run_id=line.run,
        sequence=line.sequence,
        kind=line.kind,
        time=datetime.fromisoformat(line.time),
        payload=canonical(line.payload).decode(),
        previous=line.previous,
        hash=line.hash,
    )


def parse_line(raw: bytes) -> LedgerLine:
    """A line of ``ledger.jsonl``. Raises NotStrict, ValidationError."""
    value = canonical_value(raw)
    line = LedgerLine.model_validate_json(raw, strict=True)
    return line.model_copy(update={"payload": value["payload"]})  # numbers as the store reads them


def lines_of(stream: IO[bytes], limit: int) -> Iterator[bytes]:
    """Lines without their newline. Raises ValueError for one above ``limit`` bytes or without its end, and what reading
    from the stream raises."""
    while line := stream.readline(limit + 1):
        if not line.endswith(b"\n"):
            raise ValueError(f"a line above {limit} bytes" if len(line) > limit else "the last line has no end")
        yield line[:-1]


@dataclass(frozen=True)
class Ruled:
    """What an entry makes of an attempt. ``decision`` is None in a ``ruled`` entry, which alone has an ``outcome``;
    ``signed`` is the time under the signature of a decision."""

    path: str
    time: datetime
    decision: str | None
    ruled: dict[str, Any] | None
    outcome: str | None
    signed: datetime | None = None

    @classmethod
    def of(cls, line: LedgerLine, path: str) -> Ruled:
        payload, time = line.payload, datetime.fromisoformat(line.time)
        if line.kind == "decision":
            return cls(path, time, payload["decision"], payload["ruled"], None, signed_time(payload))
        return cls(path, time, None, {name: payload[name] for name in ("cause", "code")}, payload["outcome"])


class LedgerReader:
    """Follows a ledger from its first line to its last; every problem goes to the report.

    ``rows()`` are the attempts as the store would have them; they live in memory, as compact as in the store.
    ``rulings`` are what its decisions make of attempts, in ledger order.
    """

    def __init__(self, report: Report) -> None:
        self.report = report
        self.run: dict[str, str] = {}  # id, name, created_at
        self.settings: RunSettings | None = None
        self.rulings: list[Ruled] = []
        self._hash, self._size, self._count, self._head = hashlib.sha256(), 0, 0, GENESIS
        self._time = ""
        self.times: dict[str, str] = {}  # the earliest and the latest time of an entry, with the path of each
        self._open: dict[tuple[str, int], str] = {}
        self._closed: dict[str, int] = {}
        self._connection = _memory().connect()
        tables = [SQLModel.metadata.tables[name] for name in ("run", "attempt")]
        SQLModel.metadata.create_all(self._connection, tables=tables, checkfirst=False)
        self._session = Session(self._connection)
        self._run_row: RunRow | None = None

    def read(self, lines: Iterable[bytes]) -> None:
        """All lines. What the source raises is raised."""
        for raw in lines:
            self._count += 1
            self._hash.update(raw + b"\n")
            self._size += len(raw) + 1
            self._line(raw, f"{LEDGER_FILE}[{self._count}]")
        self._session.flush()
        if not self._count:
            self.report.problem(LEDGER_FILE, "is empty: a run has at least its first entry; submit the run again")

    @property
    def end(self) -> LedgerEnd:
        return LedgerEnd(self._count, self._head, self._size, self._hash.hexdigest())

    def rows(self) -> Iterator[AttemptRow]:
        """In sequence order."""
        for row in self._session.exec(select(AttemptRow).order_by(col(AttemptRow.sequence))):
            yield row
            self._session.expunge(row)

    def record_path(self, row: AttemptRow) -> str:
        """The path of an attempt's record."""
        return f"{LEDGER_FILE}[{self._closed[row.id]}].payload.record"

    def _line(self, raw: bytes, path: str) -> None:
        try:
            line = parse_line(raw)
        except NotStrict as error:
            self.report.problem(path, str(error))
            return
        except ValidationError as error:
            self.report.schema(path, error)
            return
        self._chain(line, path)
        if self._payload(line.kind, line.payload, path):
            self._fold(line, path)

    def _chain(self, line: LedgerLine, path: str) -> None:
        report = self.report
        if line.sequence != self._count:
            report.problem(
                f"{path}.sequence",
                f"is {line.sequence} on line {self._count}: entries are missing, added or moved; submit the run again",
            )
        if line.previous != self._head:
            report.problem(
                f"{path}.previous", f"{line.previous} is not the hash of the entry before it; submit the run again"
            )
        moment = datetime.fromisoformat(line.time)
        found = entry_hash(line.run, line.sequence, line.kind, moment, line.payload, line.previous)
        if found != line.hash:
            report.problem(f"{path}.hash", f"{line.hash} is not the {found} of its content: the entry was changed")
        if self.run and line.run != self.run["id"]:
            report.problem(
                f"{path}.run", f"{line.run} is not the run {self.run['id']} of the first entry; leave it out"
            )
        if line.time < self._time:
            report.note(
                f"{path}.time", f"{line.time} is before the entry before it: the submitter's clock was set back"
            )
        self._head, self._time = line.hash, line.time
        self.times.setdefault(line.time, f"{path}.time")
        ends = (min(self.times), max(self.times))
        self.times = {time: self.times[time] for time in ends}

    def _payload(self, kind: str, payload: Any, path: str) -> bool:
        """Whether the payload has its schema."""
        record = payload.get("record") if kind == "closed" else None
        version = record.get("schema_version") if isinstance(record, dict) else None
        if isinstance(version, int) and version > SCHEMA_VERSION:
            self.report.problem(
                f"{path}.payload.record.schema_version",
                f"{version} is a schema that this program does not know (it knows {SCHEMA_VERSION}); upgrade assay",
            )
            return False
        try:
            PAYLOADS[kind].model_validate_json(canonical(payload), strict=True)
        except ValidationError as error:
            self.report.schema(f"{path}.payload", error)
            return False
        return True

    def _fold(self, line: LedgerLine, path: str) -> None:
        payload = line.payload
        if (line.kind == "run") != (self._run_row is None):
            first = "the first entry of a ledger is its run, and no other is"
            self.report.problem(f"{path}.kind", f"{line.kind!r}: {first}; submit the run again")
            return
        if line.kind == "run":
            self._name(payload["name"], f"{path}.payload.name")
            self.run = {"id": line.run, "name": payload["name"], "created_at": line.time}
            self.settings = RunSettings.model_validate_json(canonical(payload["settings"]), strict=True)
            self._run_row = RunRow(
                id=line.run,
                name=payload["name"],
                created_at=datetime.fromisoformat(line.time),
                settings=canonical(payload["settings"]).decode(),
            )
            self._session.add(self._run_row)
            self._session.flush()
            return
        if line.kind == "opened":
            self._overlap(payload, path)
        elif line.kind in ("decision", "ruled"):
            self.rulings.append(Ruled.of(line, path))
        elif line.kind == "closed":
            self._open = {slot: attempt for slot, attempt in self._open.items() if attempt != payload["attempt"]}
            self._closed[payload["attempt"]] = self._count
        try:
            if line.kind == "opened" and self._session.get(AttemptRow, payload["attempt"]) is not None:
                raise view.LedgerError(f"opened: attempt {payload['attempt']} was opened before")
            view.apply(self._session, row_of(line))
        except view.LedgerError as error:
            self.report.problem(f"{path}.payload", f"{error}; submit the run again")

    def _name(self, name: str, path: str) -> None:
        """No store gives a run a name that is the id of another one, or one of its own files."""
        try:
            check_name(name)
        except BadInput as error:
            self.report.problem(path, str(error))

    def _overlap(self, payload: dict[str, Any], path: str) -> None:
        """Attempts at one condition never overlap (design: section 4)."""
        slot = (payload["environment_id"], payload["condition"])
        if slot in self._open:
            self.report.problem(
                f"{path}.payload.condition",
                f"{slot[0]} c{slot[1]} was opened while attempt {self._open[slot]} was open",
            )
        self._open[slot] = payload["attempt"]

    def close(self) -> None:
        self._session.close()
        self._connection.close()

    def __enter__(self) -> LedgerReader:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def record_of(row: AttemptRow) -> AttemptRecord | None:
    """The record of a closed attempt."""
    return AttemptRecord.model_validate(parse(row.record)) if row.record else None
