"""The tables of the store. ``entry`` is the truth; ``attempt`` is a view of it that is kept in the same transaction."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

from sqlalchemy import BigInteger, DateTime, Dialect, Text, TypeDecorator, UniqueConstraint
from sqlmodel import Field, SQLModel

SCHEMA_VERSION = "0003"  # head of runner/store/migrations


class NoTime(ValueError):
    """What is stored as an instant is none: it was never written so."""


class UtcDateTime(TypeDecorator[datetime]):
    """Aware datetimes on UTC. SQLite keeps no zone, so a plain column would hand back another instant on a host that
    is not on UTC (sqlmodel#539)."""

    impl = DateTime(timezone=True)
    cache_ok = True

    def process_bind_param(self, value: datetime | None, dialect: Dialect) -> datetime | None:
        if value is None:
            return None
        if value.tzinfo is None:
            raise ValueError(f"time {value.isoformat()} has no zone")
        moment = value.astimezone(UTC)
        return moment.replace(tzinfo=None) if dialect.name == "sqlite" else moment

    def result_processor(self, dialect: Dialect, coltype: object) -> Callable[[Any], datetime | None] | None:
        read = super().result_processor(dialect, coltype)
        if read is None:
            return None

        def checked(value: Any) -> datetime | None:
            try:
                return read(value)
            except (ValueError, TypeError, OverflowError):
                raise NoTime(f"{value!r:.40} is stored as a time and is none") from None

        return checked

    def process_result_value(self, value: datetime | None, dialect: Dialect) -> datetime | None:
        if value is None:
            return None
        return value.replace(tzinfo=UTC) if value.tzinfo is None else value.astimezone(UTC)


class RunRow(SQLModel, table=True):
    """One agent setting over one subset."""

    __tablename__ = "run"
    id: str = Field(primary_key=True)  # random, so that two runs of one second differ
    name: str = Field(unique=True)
    created_at: datetime = Field(sa_type=UtcDateTime)
    settings: str = Field(sa_type=Text)  # canonical JSON, as in the ledger's first entry
    withdrawn_at: datetime | None = Field(default=None, sa_type=UtcDateTime)  # from the ledger's ``withdrawn`` entry
    withdrawn: str | None = Field(default=None, sa_type=Text)  # canonical JSON of its payload


class EntryRow(SQLModel, table=True):
    """One entry of a run's ledger. Never updated, never deleted."""

    __tablename__ = "entry"
    run_id: str = Field(primary_key=True, foreign_key="run.id")
    sequence: int = Field(primary_key=True, sa_type=BigInteger)
    kind: str
    time: datetime = Field(sa_type=UtcDateTime)
    payload: str = Field(sa_type=Text)  # canonical JSON
    previous: str  # hash of the entry before, 64 zeros for the first
    hash: str


class AttemptRow(SQLModel, table=True):
    """What the ledger says of one attempt, folded up to now (:mod:`runner.store.view`).

    Outcome, cause, code and incident are those of the record; what decisions make of them depends on the board's trust
    list and is worked out by :func:`runner.store.decisions.incident_state`.
    """

    __tablename__ = "attempt"
    __table_args__: Any = (UniqueConstraint("run_id", "sequence"),)
    id: str = Field(primary_key=True)
    run_id: str = Field(foreign_key="run.id", index=True)
    sequence: int = Field(sa_type=BigInteger)  # of its ``opened`` entry; of an imported attempt, that of its file
    environment_id: str
    condition: int
    state: str  # opened, began, closed
    opened_at: datetime = Field(sa_type=UtcDateTime)
    began_at: datetime | None = Field(default=None, sa_type=UtcDateTime)
    closed_at: datetime | None = Field(default=None, sa_type=UtcDateTime)
    outcome: str | None = None
    cause: str | None = None
    code: str | None = None
    incident: str | None = None  # none, candidate; of an imported attempt also confirmed, rejected
    record: str | None = Field(default=None, sa_type=Text)  # canonical JSON of the terminal record
    decisions: str | None = Field(default=None, sa_type=Text)  # canonical JSON list of {sequence, time, payload}
    ruling: str | None = Field(default=None, sa_type=Text)  # canonical JSON of the ``ruled`` payload


class LeaseRow(SQLModel, table=True):
    """Who works on what now: the whole run (key ``run``) or one attempt (its id). Not part of the ledger."""

    __tablename__ = "lease"
    run_id: str = Field(primary_key=True, foreign_key="run.id")
    key: str = Field(primary_key=True)
    owner: str  # random per process
    host: str
    pid: int
    acquired_at: datetime = Field(sa_type=UtcDateTime)
    expires_at: datetime = Field(sa_type=UtcDateTime)
