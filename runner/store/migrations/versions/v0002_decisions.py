"""Decisions of an attempt, and the withdrawal of a run.

Revision 0001 folded a decision into outcome and incident of its attempt; no program of that revision wrote one, so
there is nothing to fold again.
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("attempt", sa.Column("decisions", sa.Text()))
    op.add_column("run", sa.Column("withdrawn_at", sa.DateTime(timezone=True)))
    op.add_column("run", sa.Column("withdrawn", sa.Text()))


def downgrade() -> None:
    op.drop_column("run", "withdrawn")
    op.drop_column("run", "withdrawn_at")
    op.drop_column("attempt", "decisions")
