"""Alembic environment: runs on the connection and in the transaction that the store hands over."""

from __future__ import annotations

from alembic import context

connection = context.config.attributes["connection"]
# SQLite has transactional DDL once BEGIN is ours (runner.store.database): a killed migration leaves nothing.
context.configure(connection=connection, transactional_ddl=True, transaction_per_migration=False)
context.run_migrations()
