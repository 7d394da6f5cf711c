"""Decisions of an attempt with the time of their entries: whether a key was trusted then depends on it."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import sqlalchemy as sa
from alembic import op

from runner.store.tables import UtcDateTime
from runner.store.text import canonical, parse, stamp

revision = "0003"
down_revision = "0002"
branch_labels = None
depends_on = None

_ATTEMPT = sa.table(
    "attempt", sa.column("id", sa.String), sa.column("run_id", sa.String), sa.column("decisions", sa.Text)
)
_ENTRY = sa.table(
    "entry", sa.column("run_id", sa.String), sa.column("sequence", sa.BigInteger), sa.column("time", UtcDateTime)
)
_GONE = datetime(1970, 1, 1, tzinfo=UTC)  # of an entry that is missing: no key was trusted, and the run is damaged


def upgrade() -> None:
    def timed(run: str, item: dict[str, Any]) -> dict[str, Any]:
        place = (_ENTRY.c.run_id == run) & (_ENTRY.c.sequence == item["sequence"])
        moment: datetime | None = op.get_bind().execute(sa.select(_ENTRY.c.time).where(place)).scalar()
        return {**item, "time": stamp(moment or _GONE)}

    _rewrite(timed)


def downgrade() -> None:
    _rewrite(lambda run, item: {name: value for name, value in item.items() if name != "time"})


def _rewrite(change: Any) -> None:
    bind = op.get_bind()
    decided = sa.select(_ATTEMPT).where(_ATTEMPT.c.decisions.is_not(None))
    for key, run, decisions in map(tuple, bind.execute(decided).all()):
        text = canonical([change(run, item) for item in parse(decisions)]).decode()
        bind.execute(_ATTEMPT.update().where(_ATTEMPT.c.id == key).values(decisions=text))
