"""The ledger of a run, the view of its attempts, and leases."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None

_TIME = sa.DateTime(timezone=True)


def upgrade() -> None:
    op.create_table(
        "run",
        sa.Column("id", sa.String(), primary_key=True),
        sa.Column("name", sa.String(), nullable=False, unique=True),
        sa.Column("created_at", _TIME, nullable=False),
        sa.Column("settings", sa.Text(), nullable=False),
    )
    op.create_table(
        "entry",
        sa.Column("run_id", sa.String(), sa.ForeignKey("run.id"), primary_key=True),
        sa.Column("sequence", sa.BigInteger(), primary_key=True, autoincrement=False),
        sa.Column("kind", sa.String(), nullable=False),
        sa.Column("time", _TIME, nullable=False),
        sa.Column("payload", sa.Text(), nullable=False),
        sa.Column("previous", sa.String(), nullable=False),
        sa.Column("hash", sa.String(), nullable=False),
    )
    op.create_table(
        "attempt",
        sa.Column("id", sa.String(), primary_key=True),
        sa.Column("run_id", sa.String(), sa.ForeignKey("run.id"), nullable=False),
        sa.Column("sequence", sa.BigInteger(), nullable=False),
        sa.Column("environment_id", sa.String(), nullable=False),
        sa.Column("condition", sa.Integer(), nullable=False),
        sa.Column("state", sa.String(), nullable=False),
        sa.Column("opened_at", _TIME, nullable=False),
        sa.Column("began_at", _TIME),
        sa.Column("closed_at", _TIME),
        sa.Column("outcome", sa.String()),
        sa.Column("cause", sa.String()),
        sa.Column("code", sa.String()),
        sa.Column("incident", sa.String()),
        sa.Column("record", sa.Text()),
        sa.Column("ruling", sa.Text()),
        sa.UniqueConstraint("run_id", "sequence"),
    )
    op.create_index("ix_attempt_run_id", "attempt", ["run_id"])
    op.create_table(
        "lease",
        sa.Column("run_id", sa.String(), sa.ForeignKey("run.id"), primary_key=True),
        sa.Column("key", sa.String(), primary_key=True),
        sa.Column("owner", sa.String(), nullable=False),
        sa.Column("host", sa.String(), nullable=False),
        sa.Column("pid", sa.Integer(), nullable=False),
        sa.Column("acquired_at", _TIME, nullable=False),
        sa.Column("expires_at", _TIME, nullable=False),
    )


def downgrade() -> None:
    for table in ("lease", "attempt", "entry", "run"):
        op.drop_table(table)
