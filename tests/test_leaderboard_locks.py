"""Two lock files, one virtual environment: neither may pull it apart, or hold a package without a hash."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
MAIN, PAGES = ROOT / "requirements.lock", ROOT / "requirements-leaderboard.lock"


def pins(lock: Path) -> dict[str, set[str]]:
    """Package -> its pinned versions, with their markers."""
    found: dict[str, set[str]] = {}
    for name, pin in re.findall(r"^([a-z0-9._-]+)==([^\\\n]+?)\s*\\?$", lock.read_text(), flags=re.MULTILINE):
        found.setdefault(name, set()).add(pin.strip())
    return found


def test_both_locks_pin_the_same_versions_of_what_they_share() -> None:
    main, pages = pins(MAIN), pins(PAGES)
    shared = main.keys() & pages.keys()
    assert {"numpy", "pydantic", "sqlmodel"} <= shared
    versions = [({pin.split(" ;")[0] for pin in lock[name]} for lock in (main, pages)) for name in sorted(shared)]
    assert [pair for one, two in versions if (pair := (one, two)) and one != two] == []


def test_streamlit_is_pinned_for_the_pages_and_no_part_of_an_evaluation() -> None:
    assert "streamlit" in pins(PAGES)
    assert "streamlit" not in pins(MAIN)


@pytest.mark.parametrize("lock", [MAIN, PAGES], ids=lambda lock: lock.name)
def test_every_package_has_a_hash(lock: Path) -> None:
    for block in re.split(r"^(?=[a-z0-9])", lock.read_text(), flags=re.MULTILINE)[1:]:
        assert "--hash=sha256:" in block, block
