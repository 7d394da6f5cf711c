"""Leases: who works on a run or an attempt now. A lease that nobody renews expires, so nothing stays 'running' forever.

On one machine the flock of a run (:mod:`runner.store.lock`) tells at once that its last owner is dead; the lease does
the same between machines that share a PostgreSQL store.
"""

from __future__ import annotations

import os
import socket
import uuid
from dataclasses import dataclass
from datetime import timedelta

from sqlmodel import Session, col, delete, select, update

from runner.store.tables import LeaseRow
from runner.store.text import now

LEASE_S = 60.0  # a lease is renewed every 10 s: five missed renewals and another machine may take over
RENEW_S = 10.0
RUN_KEY = "run"


@dataclass(frozen=True)
class Owner:
    """One runner process."""

    id: str
    host: str
    pid: int

    @staticmethod
    def current() -> Owner:
        return Owner(uuid.uuid4().hex, socket.gethostname(), os.getpid())


def acquire(session: Session, run_id: str, key: str, owner: Owner) -> LeaseRow | None:
    """Take the lease, or return the live one of another machine that is in the way.

    The caller holds the run's flock, so an old lease from this machine belongs to a dead process and is replaced.
    """
    held = session.get(LeaseRow, (run_id, key))
    time = now()
    if held is not None:
        if held.owner != owner.id and held.host != owner.host and held.expires_at > time:
            return held
        session.delete(held)
        session.flush()
    session.add(
        LeaseRow(
            run_id=run_id,
            key=key,
            owner=owner.id,
            host=owner.host,
            pid=owner.pid,
            acquired_at=time,
            expires_at=time + timedelta(seconds=LEASE_S),
        )
    )
    session.flush()
    return None


def renew(session: Session, run_id: str, owner: Owner) -> int:
    """Extend every lease of ``owner``; returns how many there are (0: another machine took over)."""
    result = session.exec(
        update(LeaseRow)
        .where(col(LeaseRow.run_id) == run_id, col(LeaseRow.owner) == owner.id)
        .values(expires_at=now() + timedelta(seconds=LEASE_S))
    )
    return result.rowcount


def release(session: Session, run_id: str, key: str, owner: Owner) -> None:
    session.exec(
        delete(LeaseRow).where(
            col(LeaseRow.run_id) == run_id, col(LeaseRow.key) == key, col(LeaseRow.owner) == owner.id
        )
    )


def held(session: Session, run_id: str) -> list[LeaseRow]:
    return list(session.exec(select(LeaseRow).where(LeaseRow.run_id == run_id)).all())
