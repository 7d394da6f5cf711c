"""What the tests of every family's reference agent do: an episode through a gateway process, and what it imports."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from gateway_harness import ROOT, Process

from images.client import connect
from images.mujoco.workshop.episode import Episode
from images.reference import solve

OURS = ("images", "manifests", "runner", "scoring")


def assert_same_through_a_gateway(folder: Path, spec: dict[str, Any], here: Episode) -> None:
    """The reference agent solves the episode of ``spec`` through a gateway process, with its socket in ``folder``: with
    the same actions and to the same state as ``here``, in this process."""
    process = Process("images.gateway", "--engine", "images.mujoco", "--socket", str(folder / "s"))
    try:
        process.expect("hello")
        process.send("start", spec=spec)
        process.expect("ready")
        client = connect(str(folder / "s"))
        assert solve(client, lambda line: None).success
        process.expect("acted")
        verdict, artifacts = process.expect("verdict")
        client.close()
    finally:
        process.kill()
    assert verdict["judgement"]["cause"] == "goal_met"
    assert verdict["digest"] == here.session.digest()
    assert len(artifacts["actions"]) > 0
    assert np.array_equal(artifacts["actions"], here.actions[: len(artifacts["actions"])])


def imported_besides(allowed: Sequence[str], folders: Sequence[str]) -> Iterator[str]:
    """Modules of ours outside the ``allowed`` packages that a file of ``folders`` imports."""
    files = [path for folder in folders for path in (ROOT / folder).rglob("*.py")]
    assert len(files) > 5
    for path in files:
        for node in ast.walk(ast.parse(path.read_text())):
            names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            names += [node.module or ""] if isinstance(node, ast.ImportFrom) else []
            for name in names:
                if name.startswith(OURS) and not name.startswith(tuple(allowed)):
                    yield f"{path.relative_to(ROOT)} imports {name}"
