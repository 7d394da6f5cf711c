"""Where an imported run came from: the ``received`` entry that its import appends to the ledger."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from sqlmodel import col, select

from runner.store.store import Store
from runner.store.tables import EntryRow
from runner.store.text import parse

KIND = "received"
KEY_DIGITS = 12


@dataclass(frozen=True)
class Received:
    """``key`` signed the bundle (public key, hexadecimal); ``name`` is what the submitter calls themselves;
    ``statement`` is the SHA-256 of the signed payload, the first ``entries`` of the ledger are the submitter's, and
    ``run_name`` is what the run is called here."""

    key: str
    name: str | None
    statement: str
    entries: int
    run_name: str

    def payload(self) -> dict[str, Any]:
        return asdict(self)


def signed_by(name: str | None, key: str) -> str:
    """``Our Lab 83f9a0c4d21b``, ``key 83f9a0c4d21b``: a submitter, and how the public key begins."""
    return f"{name or 'key'} {key[:KEY_DIGITS]}"


def received(store: Store) -> dict[str, Received]:
    """Run id to submitter, of every run that was imported from a bundle."""
    with store.database.read() as session:
        found = session.exec(select(EntryRow).where(EntryRow.kind == KIND).order_by(col(EntryRow.sequence))).all()
        return {row.run_id: Received(**parse(row.payload)) for row in found}
