"""Both processes of an attempt as plain children: no isolation at all. For agents of this repository only."""

from __future__ import annotations

import os
import platform
import sys
from pathlib import Path

from manifests.records import ImageIdentity
from runner.images.contents import ROOT
from runner.runtimes import view
from runner.runtimes.base import PairRequest, Role, RuntimeFacts
from runner.runtimes.children import Command
from runner.runtimes.commands import entry_points, refuse_gpus


class ProcessLauncher:
    def __init__(self, why: str) -> None:
        details = {"python": platform.python_version(), "kernel": platform.release(), "limits": "none"}
        self.facts = RuntimeFacts("process", False, why, details)

    def prepare(self, request: PairRequest) -> tuple[ImageIdentity, ...]:
        refuse_gpus("process", request)
        return tuple(view.identity("process", role) for role in entry_points(request).images)

    def commands(self, request: PairRequest, io: Path) -> dict[Role, Command]:
        points, socket = entry_points(request), str(io / "s")
        variables = {
            "PATH": os.environ.get("PATH", "/usr/bin:/bin"),
            "HOME": str(io),
            "LANG": "C.UTF-8",
            "PYTHONPATH": str(ROOT),
            "OPENBLAS_NUM_THREADS": "1",
        }
        python = sys.executable
        commands: dict[Role, Command] = {"environment": Command([python, *points.environment(socket)], variables, io)}
        if points.sandbox_role is not None:
            commands["sandbox"] = Command([python, *points.sandbox(socket)], variables, io)
        return commands
