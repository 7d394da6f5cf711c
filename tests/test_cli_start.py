"""Ctrl-C from the first moment of the program on, also in the middle of an import, is one line and no traceback."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from runner.images.contents import ROOT

PROGRAM = """
import os, signal, sys

class Interrupting:
    def find_spec(self, name, path=None, target=None):
        if name == sys.argv[1]:
            os.kill(os.getpid(), signal.SIGINT)

sys.meta_path.insert(0, Interrupting())
from runner.cli import main
main(["runs"])
"""


def start(home: Path, module: str, *, ignored: bool = False) -> subprocess.CompletedProcess[str]:
    """``assay runs``, interrupted when it imports ``module``."""
    before = signal.signal(signal.SIGINT, signal.SIG_IGN if ignored else signal.default_int_handler)
    try:
        return subprocess.run(
            [sys.executable, "-c", PROGRAM, module],
            cwd=ROOT,
            env={**os.environ, "ASSAY_HOME": str(home)},
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
    finally:
        signal.signal(signal.SIGINT, before)


@pytest.mark.parametrize("module", ["runner.cli.program", "click", "runner.cli.runs", "sqlmodel"])
def test_an_interrupt_during_an_import_is_one_line(tmp_path: Path, module: str) -> None:
    done = start(tmp_path, module)
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "\nassay: error: stopped\n")


def test_whoever_started_it_to_ignore_interrupts_is_obeyed(tmp_path: Path) -> None:
    done = start(tmp_path, "click", ignored=True)
    assert done.returncode == 0, done.stderr
