"""Waiting for a store that another process holds: visibly, not for ever, and saying who that is.

A writer of ours holds the lock for milliseconds. Who waits for seconds waits for something else (a backup, an open
database browser, a program that hangs), and has to be told which, since only a person can end it.
"""

from __future__ import annotations

import os
import socket
import sqlite3
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import TypeVar

PATIENCE_S = 60  # covers a stalled disk with 20 writers in line, and a backup
SAID_AFTER_S = 1.5  # until then nothing is said
TRY_S = 0.5  # SQLite itself waits so long at a time; between two tries Ctrl-C is heard
LOCKS = Path("/proc/locks")
# First bytes of SQLite's exclusive locks: on the -shm file (120 is the writer's), and on the database file (pending,
# reserved, shared).
_BYTES = frozenset((*range(120, 128), 0x40000000, 0x40000001, 0x40000002))
_SHOWN = 60  # characters of a command line

T = TypeVar("T")


def patiently(attempt: Callable[[], T], path: Path, say: Callable[[str], None]) -> T:
    """What ``attempt`` returns, tried again while the database at ``path`` is locked, for PATIENCE_S. ``say`` is told
    once, when it takes longer than a moment. Raises sqlite3.OperationalError in the end."""
    begun, said = time.monotonic(), False
    while True:
        try:
            return attempt()
        except sqlite3.OperationalError as error:
            waited = time.monotonic() - begun
            if "locked" not in str(error) or waited > PATIENCE_S:
                raise
            if waited > SAID_AFTER_S and not said:
                said = True
                say(f"store {path}: {holder(path)} holds it; waiting up to {PATIENCE_S} s for it to end")
        time.sleep(0.02)


def configure(connection: sqlite3.Connection, path: Path, say: Callable[[str], None]) -> None:
    """A new connection of a writer: our own BEGIN, WAL, foreign keys, full durability at commit. It waits here for a
    database that nobody else may even read now."""
    connection.isolation_level = None
    cursor = connection.cursor()
    cursor.execute(f"PRAGMA busy_timeout = {_milliseconds(TRY_S)}")

    def switch() -> None:
        cursor.execute("SELECT 1 FROM sqlite_master LIMIT 1").fetchall()
        # The switch to WAL does not wait for the busy timeout when two processes make it at once.
        if cursor.execute("PRAGMA journal_mode").fetchone()[0] != "wal":
            cursor.execute("PRAGMA journal_mode = WAL")

    patiently(switch, path, say)
    cursor.execute(f"PRAGMA busy_timeout = {_milliseconds(PATIENCE_S)}")
    cursor.execute("PRAGMA synchronous = FULL")
    cursor.execute("PRAGMA foreign_keys = ON")
    cursor.close()


def begin_immediate(connection: sqlite3.Connection, path: Path, say: Callable[[str], None]) -> None:
    """Take the write lock."""
    connection.execute(f"PRAGMA busy_timeout = {_milliseconds(TRY_S)}")
    try:
        patiently(lambda: connection.execute("BEGIN IMMEDIATE"), path, say)
    finally:
        connection.execute(f"PRAGMA busy_timeout = {_milliseconds(PATIENCE_S)}")


def holder(path: Path) -> str:
    """Who keeps others from the SQLite database at ``path``: ``process 4711 (sqlite3 assay.sqlite) on lab-3``.

    Read from the kernel's table. Opening the file to ask would, on closing it, drop the locks that this process has.
    """
    found = _holders(path)
    if os.getpid() in found:
        return "another thread of this process"
    return f"process {found[0]}{_command(found[0])} on {socket.gethostname()}" if found else "another process"


def _holders(path: Path) -> list[int]:
    """Processes with an exclusive lock of SQLite on the database or its -shm file."""
    inodes, found = set(), []
    for file in (path, path.with_name(f"{path.name}-shm")):
        with suppress(OSError):
            inodes.add(str(file.stat().st_ino))
    with suppress(OSError, ValueError):
        for line in LOCKS.read_text().splitlines():
            # 1: POSIX  ADVISORY  WRITE 4711 08:01:131090 120 120, and "1: -> POSIX ..." for one that waits
            fields = line.split()
            if len(fields) != 8 or fields[3] != "WRITE":
                continue
            number, inode, first = int(fields[4]), fields[5].rsplit(":", 1)[-1], int(fields[6])
            if inode in inodes and first in _BYTES and number > 0:  # 0 stands for a process of another container
                found.append(number)
    return found


def _milliseconds(seconds: float) -> int:
    return round(1000 * seconds)


def _command(number: int) -> str:
    """`` (sqlite3 runs/assay.sqlite)``; empty where it may not be read."""
    try:
        words = Path(f"/proc/{number}/cmdline").read_bytes().decode("utf-8", "backslashreplace").split("\0")
    except OSError:
        return ""
    text = " ".join(" ".join([Path(words[0]).name, *words[1:]]).split())
    return f" ({text if len(text) <= _SHOWN else text[: _SHOWN - 3] + '...'})" if text else ""
