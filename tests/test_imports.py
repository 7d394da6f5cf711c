"""Imports go down only: the table of ``docs/architecture.md`` against the code, and what may run beside an agent."""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
ROOMS = ("manifests", "scoring", "images", "runner", "leaderboard")
PROGRAMS = "runner/agents/programs"  # texts that run inside a sandbox; the host reads them and never imports them


def table() -> dict[str, tuple[str, ...]]:
    """Room -> module prefixes that it may import, as the architecture page says."""
    page = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    found = {}
    for room, allowed in re.findall(r"^\| `(\w+)/` \|.*\| ([^|]*) \|$", page, flags=re.MULTILINE):
        found[room] = tuple(re.findall(r"`([\w.]+)`", allowed))
    return found


def imported(source: str, package: str) -> Iterator[str]:
    """Dotted names that a module of ``package`` imports anywhere in its text; ``from a import b`` counts as ``a.b``.
    Names given to ``import_module`` and ``__import__`` as literals count too."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = node.module or ""
            if node.level:
                parents = package.split(".")
                base = ".".join(parents[: len(parents) - node.level + 1] + ([base] if base else []))
            yield from (f"{base}.{alias.name}" for alias in node.names)
        elif isinstance(node, ast.Call) and node.args and isinstance(node.args[0], ast.Constant):
            name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
            if name in ("import_module", "__import__") and isinstance(node.args[0].value, str):
                yield node.args[0].value


def modules(folder: str) -> list[tuple[Path, list[str]]]:
    """Every Python file below a folder with what it imports; sandbox programs only when asked for themselves."""
    found = []
    for path in sorted((ROOT / folder).rglob("*.py")):
        if folder != PROGRAMS and path.is_relative_to(ROOT / PROGRAMS):
            continue
        package = ".".join(path.relative_to(ROOT).parent.parts)
        found.append((path.relative_to(ROOT), list(imported(path.read_text(encoding="utf-8"), package))))
    return found


def within(name: str, prefixes: tuple[str, ...]) -> bool:
    return any(name == prefix or name.startswith(f"{prefix}.") for prefix in prefixes)


def breaches(folder: str, allowed: tuple[str, ...]) -> list[str]:
    """Imports of our own rooms that are not allowed, as 'file imports name'."""
    return [
        f"{path} imports {name}"
        for path, names in modules(folder)
        for name in names
        if name.split(".")[0] in ROOMS and not within(name, allowed)
    ]


def foreign(folder: str, allowed: tuple[str, ...]) -> list[str]:
    """Imports of what is neither ours nor the standard library nor allowed."""
    return [
        f"{path} imports {name}"
        for path, names in modules(folder)
        for name in names
        if name.split(".")[0] not in ROOMS and name.split(".")[0] not in {*sys.stdlib_module_names, *allowed}
    ]


def test_the_table_has_every_room() -> None:
    assert tuple(table()) == ROOMS


@pytest.mark.parametrize("room", ROOMS)
def test_a_room_imports_only_what_the_table_allows(room: str) -> None:
    assert breaches(room, (room, *table()[room])) == []


def test_the_client_is_standard_library_numpy_and_pillow() -> None:
    assert breaches("images/client", ("images.client",)) == []
    assert foreign("images/client", ("numpy", "PIL")) == []


def test_the_sandbox_holds_nothing_of_the_environment() -> None:
    assert breaches("images/sandbox", ("images.sandbox", "images.client")) == []
    assert foreign("images/sandbox", ("numpy", "PIL")) == []


def test_programs_of_baselines_run_in_a_sandbox_and_are_never_imported() -> None:
    assert breaches(PROGRAMS, ("images.client", "images.reference")) == []
    assert foreign(PROGRAMS, ("numpy", "PIL")) == []
    everywhere = [name for room in ROOMS for _, names in modules(room) for name in names]
    assert not [name for name in everywhere if within(name, (PROGRAMS.replace("/", "."),))]


def test_the_gateway_knows_no_simulator() -> None:
    assert breaches("images/gateway", ("images.gateway", "images.client", "manifests")) == []


def test_scoring_needs_no_more_than_numbers() -> None:
    assert foreign("scoring", ("numpy", "pydantic")) == []


@pytest.mark.parametrize(
    ("source", "name"),
    [
        ("import images.gateway.server as s", "images.gateway.server"),
        ("from images import gateway", "images.gateway"),
        ("from ..gateway import environment", "images.gateway.environment"),
        ("from .. import gateway", "images.gateway"),
        ("def f():\n    from manifests.load import load", "manifests.load.load"),
        ("import importlib\nimportlib.import_module('images.mujoco')", "images.mujoco"),
    ],
)
def test_the_check_sees_every_way_of_importing(source: str, name: str) -> None:
    assert name in list(imported(source, "images.client"))
