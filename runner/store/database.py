"""Opening the store: SQLite (WAL) or PostgreSQL, migrated to the schema that this program knows.

Write transactions begin with BEGIN IMMEDIATE: a deferred one that reads first and writes later fails at once with
'database is locked' when another process wrote in between, whatever the busy timeout (inspect_ai#4148).
"""

from __future__ import annotations

import os
import sqlite3
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import quote

from sqlalchemy import URL, Connection, Engine, create_engine, event, inspect, text
from sqlalchemy.engine import make_url
from sqlalchemy.exc import ArgumentError, DatabaseError, NoSuchModuleError, OperationalError
from sqlalchemy.pool import NullPool
from sqlmodel import Session

from runner.errors import AssayError, BadInput
from runner.store import waiting
from runner.store.filesystem import DOUBTFUL, NETWORK, filesystem_magic, why_not_made
from runner.store.tables import SCHEMA_VERSION, NoTime

READER_TIMEOUT_S = 2  # WAL readers wait for nobody but a recovery; somebody is looking at the page meanwhile
_MIGRATION_LOCK = 7_115_397  # PostgreSQL advisory lock: one migration at a time


class StoreError(AssayError):
    """The store cannot be used. One line that names it and says what to do."""


class Damaged(StoreError):
    """What is stored of a run contradicts itself, so that no number from it can be trusted."""


class StoreFull(StoreError):
    """The disk under the store is full: nothing more can be recorded."""


class StoreMissing(StoreError):
    """Nothing was ever recorded at this place. Only a reader meets this; a writer makes the store."""


class StoreLocked(StoreError):
    """Another process holds the whole store."""


class StoreVersion(StoreError):
    """The store has another schema than this program can read."""


class StoreOlder(StoreVersion):
    """One that a command which may write brings up to date."""


class Database:
    """An engine with two kinds of transactions. Safe to share between threads.

    ``read_only`` creates, migrates and changes nothing, and also reads a store on a read-only mount. ``say`` is told
    when a writer has to wait for another process; it may be replaced at any time.
    """

    def __init__(
        self, url: str | URL, *, read_only: bool = False, say: Callable[[str], None] = lambda text: None
    ) -> None:
        self.url = url
        self.say = say
        self.read_only = read_only
        self.path: Path | None = None
        try:
            parsed = make_url(url)
            if parsed.get_backend_name() == "sqlite":
                self.path = Path(parsed.database or "").absolute()
                if not read_only:
                    _check_folder(self.path)
            elif parsed.get_backend_name() != "postgresql":
                raise BadInput(f"ASSAY_STORE={self.label}: use a sqlite:///PATH or postgresql+psycopg://... URL")
            self.engine: Engine = (
                _reader(url, self.path) if read_only else create_engine(url, pool_pre_ping=self.path is None)
            )
        except ArgumentError:
            raise BadInput(f"ASSAY_STORE={url}: not a database URL; use sqlite:///PATH or postgresql://...") from None
        except (ModuleNotFoundError, NoSuchModuleError) as error:
            raise StoreError(f"store {self.label}: {error}: pip install 'assay[postgres]'") from None
        if self.path is not None:
            if not read_only:
                event.listen(self.engine, "connect", self._configure)
            event.listen(self.engine, "begin", self._begin)
        with self.errors():
            self._check_version() if read_only else self._migrate()
        self._file = self._identity()

    @property
    def label(self) -> str:
        """The store's name in messages: a path, or the URL without its password."""
        return str(self.path) if self.path else make_url(self.url).render_as_string(hide_password=True)

    @contextmanager
    def read(self) -> Iterator[Session]:
        """A snapshot; no lock that hinders a writer."""
        with self.errors(), Session(self.engine) as session:
            yield session

    @contextmanager
    def write(self) -> Iterator[Session]:
        """One transaction that holds the write lock from its start; commits at the end, or nothing happened."""
        if self._identity() != self._file:  # SQLite would go on writing to a file that has no name any more
            raise StoreError(
                f"store {self.label}: it was removed or replaced while it was in use: restore it from a backup, or set "
                "ASSAY_HOME to another folder"
            )
        with (
            self.errors(),
            self.engine.connect().execution_options(assay_write=True) as connection,
            Session(connection, expire_on_commit=False) as session,
            session.begin(),
        ):
            yield session

    def close(self) -> None:
        self.engine.dispose()

    def _identity(self) -> tuple[int, int] | None:
        """Device and inode of the file; None for a server, and for a file that is gone."""
        try:
            found = os.stat(self.path) if self.path is not None else None
        except OSError:
            return None
        return (found.st_dev, found.st_ino) if found is not None else None

    @contextmanager
    def errors(self) -> Iterator[None]:
        """Database errors as one line each."""
        try:
            yield
        except OperationalError as error:
            cause = _first_line(error)
            if "disk is full" in cause or "No space left" in cause or "disk I/O error" in cause:
                raise StoreFull(f"store {self.label}: {cause}: free disk space, then run the same command") from None
            kind = StoreLocked if "locked" in cause else StoreError
            raise kind(f"store {self.label}: {cause}: {_advice(cause, self.path, read_only=self.read_only)}") from None
        except NoTime as error:
            raise Damaged(f"store {self.label}: {error}: restore the store from a backup") from None
        except DatabaseError as error:
            if isinstance(error.orig, sqlite3.IntegrityError) or type(error).__name__ == "IntegrityError":
                raise
            raise StoreError(
                f"store {self.label}: not a usable database ({_first_line(error)}): restore it from a backup, or "
                "move it away to start an empty one"
            ) from None

    def _configure(self, connection: Any, _record: Any) -> None:
        assert self.path is not None
        waiting.configure(connection, self.path, self.say)

    def _begin(self, connection: Connection) -> None:
        if not connection.get_execution_options().get("assay_write", False):
            connection.exec_driver_sql("BEGIN")
            return
        assert self.path is not None
        driver: Any = connection.connection.driver_connection
        try:
            waiting.begin_immediate(driver, self.path, self.say)
        except sqlite3.OperationalError as error:
            raise OperationalError("BEGIN IMMEDIATE", None, error) from None

    def _migrate(self) -> None:
        with self.engine.connect() as connection:
            if self._version(connection) == SCHEMA_VERSION:
                return
        with self.engine.connect().execution_options(assay_write=True) as connection, connection.begin():
            if self.path is None:
                connection.execute(text("SELECT pg_advisory_xact_lock(:key)"), {"key": _MIGRATION_LOCK})
            if self._version(connection) != SCHEMA_VERSION:
                _upgrade(connection)

    def _check_version(self) -> None:
        try:
            missing = self.path is not None and not self.path.is_file()
        except OSError as error:
            raise StoreError(f"store {self.label}: {error.strerror}: make its folder readable for this user") from None
        if missing:
            raise StoreMissing(f"store {self.label}: does not exist: record a run first, or set ASSAY_HOME")
        with self.engine.connect() as connection:
            version = self._version(connection)
        if version is None:
            raise StoreMissing(f"store {self.label}: is empty: record a run first")
        if version != SCHEMA_VERSION:
            raise StoreOlder(
                f"store {self.label}: schema version {version} is older than this program reads ({SCHEMA_VERSION}); "
                "any command that may write brings it up to date, `assay runs` too"
            )

    def _version(self, connection: Connection) -> str | None:
        """The schema version found. Raises StoreError for a version of the future and for a foreign database."""
        tables = inspect(connection).get_table_names()
        if "alembic_version" not in tables:
            if tables:
                raise StoreError(
                    f"store {self.label}: holds tables of another program ({', '.join(sorted(tables)[:3])}): "
                    "set ASSAY_STORE or ASSAY_HOME to another place"
                )
            return None
        version = connection.execute(text("SELECT version_num FROM alembic_version")).scalar()
        if version is None and len(tables) > 1:
            raise StoreError(
                f"store {self.label}: it has tables but no schema version, as after a migration that did not end: "
                "restore it from a backup, or move it away to start an empty one"
            )
        if version is not None and version > SCHEMA_VERSION:
            raise StoreVersion(
                f"store {self.label}: schema version {version} is newer than this program knows ({SCHEMA_VERSION}): "
                "upgrade assay"
            )
        return version


def _reader(url: str | URL, path: Path | None) -> Engine:
    """An engine whose connections cannot change anything. A file is opened anew for every transaction."""
    if path is None:
        return create_engine(url, pool_pre_ping=True, connect_args={"options": "-c default_transaction_read_only=on"})

    def connect() -> sqlite3.Connection:
        # WAL needs the -shm file, which cannot be made on a read-only mount. Without a log to merge the file by itself
        # is the whole store.
        whole = not os.access(path.parent, os.W_OK) and not _log_size(path)
        source = f"file:{quote(str(path))}?mode=ro{'&immutable=1' if whole else ''}"
        connection = sqlite3.connect(source, uri=True, timeout=READER_TIMEOUT_S, isolation_level=None)
        connection.execute("PRAGMA query_only = ON")
        return connection

    return create_engine("sqlite://", creator=connect, poolclass=NullPool)


def _log_size(path: Path) -> int:
    """Bytes of the write-ahead log beside a database; 0 where there is none."""
    try:
        return path.with_name(f"{path.name}-wal").stat().st_size
    except FileNotFoundError:
        return 0


def _upgrade(connection: Connection) -> None:
    from alembic import command  # slow to import, and needed only when the schema changes
    from alembic.config import Config

    config = Config()
    config.set_main_option("script_location", "runner.store:migrations")
    config.set_main_option("path_separator", "os")
    config.attributes["connection"] = connection
    command.upgrade(config, "head")


def make_folder(path: Path) -> None:
    """Raises StoreError when it does not exist and cannot be made."""
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise StoreError(
            f"store {path}: {why_not_made(path, error)}: set ASSAY_HOME to a folder that you can write"
        ) from None


def _check_folder(path: Path) -> None:
    """The folder exists and can hold a WAL database."""
    make_folder(path.parent)
    magic = filesystem_magic(path.parent)
    if magic in NETWORK:
        raise StoreError(
            f"store {path}: the file system is {NETWORK[magic]}, where SQLite loses data: set ASSAY_HOME to a local "
            "disk, or ASSAY_STORE to a PostgreSQL URL"
        )
    if magic in DOUBTFUL:
        warnings.warn(
            f"store {path}: the file system is {DOUBTFUL[magic]}; if it is a network mount, set ASSAY_HOME to a local "
            "disk",
            stacklevel=2,
        )


def _first_line(error: DatabaseError) -> str:
    return str(error.orig).strip().splitlines()[0]


def _advice(cause: str, path: Path | None, *, read_only: bool) -> str:
    if "locked" in cause:
        who = waiting.holder(path) if path is not None else "another process"
        return f"{who} holds it; wait for it to end, or stop it"
    if "unable to open" in cause and read_only:
        return "its last entries stand in the -wal file beside it: copy the folder to where it can be written"
    if "readonly" in cause or "unable to open" in cause:
        return "make the file and its folder writable, or set ASSAY_HOME to another place"
    if path is not None:
        return "it is not whole: restore it from a backup, or move it away to start an empty one"
    return "check that it is running and that the address is right"
