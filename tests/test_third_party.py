"""Every locked package stands in THIRD_PARTY.md with its licence (ground rule: licences of packages and assets)."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
LOCKS = sorted(ROOT.glob("requirements*.lock"))
ROW = re.compile(r"^\| (?P<name>[a-z0-9_.-]+) \| (?P<licence>[^|]+) \| [^|]+ \|$", re.M)


@pytest.mark.parametrize("lock", LOCKS, ids=lambda path: path.name)
def test_every_locked_package_is_listed_with_its_licence(lock: Path) -> None:
    listed = {row["name"]: row["licence"].strip() for row in ROW.finditer((ROOT / "THIRD_PARTY.md").read_text())}
    locked = set(re.findall(r"^([a-z0-9_.-]+)(?:\[[^]]*\])?==", lock.read_text(), re.M))
    assert len(locked) > 5, f"{lock.name} names almost no package: the pattern no longer reads it"
    assert locked <= {name for name, licence in listed.items() if licence}


@pytest.mark.parametrize("lock", LOCKS, ids=lambda path: path.name)
def test_every_locked_package_has_a_hash(lock: Path) -> None:
    entries = re.split(r"\n(?=[a-z0-9])", lock.read_text())
    without = [
        e.split()[0] for e in entries if re.match(r"[a-z0-9_.-]+(\[[^]]*\])?==", e) and "--hash=sha256:" not in e
    ]
    assert without == []
