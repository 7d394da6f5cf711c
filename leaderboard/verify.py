"""Checks a bundle of a stranger in a process of its own, with limits, and without importing anything of it.

The checker is the command ``assay verify``; it needs no store, network or simulator. It runs with a limit of memory,
time and files that it may write, and the bundle lies in a temporary folder that goes afterwards.
"""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import tempfile
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from manifests import strict

MOST_MB = 64  # of a bundle that the page takes; larger ones are verified by the command
MEMORY = 2 << 30  # bytes of address space
SECONDS = 120
OUTPUT = 16 << 20  # bytes


class CannotVerify(RuntimeError):
    """The check did not end; one line for the page."""


def available() -> bool:
    """Whether this installation has the command; the container image of the pages has not."""
    return find_spec("runner.submission") is not None


def verify(bundle: bytes) -> dict[str, Any]:
    """The findings, as ``assay verify --json`` prints them. Raises CannotVerify."""
    with tempfile.TemporaryDirectory(prefix="assay-bundle-") as folder:
        path = Path(folder) / "bundle.zip"
        path.write_bytes(bundle)
        command = [sys.executable, "-m", "runner.cli", "verify", str(path), "--json"]
        environment = {
            "PATH": os.environ.get("PATH", ""),
            "TMPDIR": folder,
            "OPENBLAS_NUM_THREADS": "1",
            "HOME": folder,
        }
        environment |= {key: os.environ[key] for key in ("PYTHONPATH", "LANG") if key in os.environ}
        try:
            done = subprocess.run(
                command, capture_output=True, timeout=SECONDS, env=environment, preexec_fn=_limit, check=False
            )
        except subprocess.TimeoutExpired:
            raise CannotVerify(f"it took more than {SECONDS} s: verify it with `assay verify`") from None
    try:
        found = strict.loads(done.stdout)
    except (ValueError, RecursionError):
        raise CannotVerify("it is no bundle, or needs more memory than this page gives it") from None
    if not isinstance(found, dict):
        raise CannotVerify("the check gave no result")
    return found


def _limit() -> None:
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    resource.setrlimit(resource.RLIMIT_FSIZE, (OUTPUT + (MOST_MB << 20), OUTPUT + (MOST_MB << 20)))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
