"""A PostgreSQL server of the tests' own, from Debian's package, that runs as a user who is not root."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from sqlalchemy import create_engine, text

BINARIES = max(Path("/usr/lib/postgresql").glob("*/bin"), key=lambda path: int(path.parent.name), default=None)
USER = "nobody"  # the server refuses to run as root


def why_not() -> str | None:
    """Why no server can be started here, in one line; None when one can."""
    if BINARIES is None or not (BINARIES / "initdb").is_file():
        return "the PostgreSQL server is not installed (Debian: postgresql)"
    if os.geteuid() == 0 and shutil.which("su") is None:
        return "the PostgreSQL server does not run as root and there is no su"
    return None


@contextmanager
def running() -> Iterator[str]:
    """URL of an empty server's database ``assay``; the server and its files are gone afterwards."""
    folder = Path("/tmp") / f"assay-postgres-{os.getpid()}"  # pytest's folders are closed to other users
    folder.mkdir()
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    try:
        if os.geteuid() == 0:
            shutil.chown(folder, USER)
        _run(f"{BINARIES}/initdb -D {folder}/data -A trust -U assay --no-sync")
        options = f"-k {folder} -p {port} -c listen_addresses=127.0.0.1 -c fsync=off"
        _run(f"{BINARIES}/pg_ctl -D {folder}/data -o '{options}' -l {folder}/log -w start")
        try:
            yield database(f"postgresql+psycopg://assay@127.0.0.1:{port}/postgres", "assay")
        finally:
            _run(f"{BINARIES}/pg_ctl -D {folder}/data -m immediate stop")
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def database(url: str, name: str) -> str:
    """URL of another, empty database of a server."""
    admin = create_engine(url, isolation_level="AUTOCOMMIT")
    with admin.connect() as connection:
        connection.execute(text(f"CREATE DATABASE {name}"))
    admin.dispose()
    return f"{url.rsplit('/', 1)[0]}/{name}"


def _run(command: str) -> None:
    shell = ["su", "-s", "/bin/sh", USER, "-c", command] if os.geteuid() == 0 else ["sh", "-c", command]
    subprocess.run(shell, check=True, stdout=subprocess.DEVNULL, timeout=120, cwd="/")
