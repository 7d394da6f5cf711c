"""Writes ``launcher_conditions.json`` and ``hanoi_conditions.json``: ``python -m manifests.generate``.

Every value follows from the environment's identifier, the condition and the factor alone (SHA-256), so that nobody
chose it and any language can recompute it; a run uses the stored file and draws nothing. The rule is in
``docs/conditions.md``.
"""

from __future__ import annotations

import hashlib
import json
from typing import TYPE_CHECKING, Any

from manifests.load import FOLDER, read_file

if TYPE_CHECKING:
    from manifests.models import Factor

FAMILIES = ("launcher", "hanoi")
BASE_SEED = 0


def uniform(*key: object) -> float:
    """A number in [0, 1) from the first 53 bits of SHA-256 over the key parts joined by '|'."""
    digest = hashlib.sha256("|".join(str(part) for part in key).encode()).digest()
    return (int.from_bytes(digest[:8], "big") >> 11) / (1 << 53)


def drawn(factor: Factor, *key: object) -> float:
    """A multiple of ``step`` from ``low`` to ``high``, both included, all equally likely."""
    assert factor.low is not None
    assert factor.high is not None
    assert factor.step is not None
    steps = round((factor.high - factor.low) / factor.step)
    return round(factor.low + int(uniform(*key) * (steps + 1)) * factor.step, 6) + 0.0  # no -0.0


def listed(name: str, factor: Factor, number: int, condition: int) -> int | float | str:
    """Numbers are listed in the order of the conditions; names rotate with the case number, so that a background does
    not always come with the same stiffness."""
    assert factor.values is not None
    shift = number if name == "background" else 0
    return factor.values[(condition + shift) % len(factor.values)]


def conditions(factors: dict[str, Factor], environment_id: str, number: int, count: int) -> list[dict[str, Any]]:
    """Conditions 0 to ``count`` - 1 of one environment with the case number ``number``."""
    result = []
    for condition in range(count):
        parameters: dict[str, Any] = {}
        for name, factor in factors.items():
            key = (environment_id, BASE_SEED, condition, name)
            if factor.values is not None:
                parameters[name] = listed(name, factor, number, condition)
            elif factor.size == 1:
                parameters[name] = drawn(factor, *key)
            else:
                parameters[name] = [drawn(factor, *key, axis) for axis in range(factor.size)]
        result.append(parameters)
    return result


def file(family: str) -> str:
    """Name of the file with a family's conditions."""
    return f"{family}_conditions.json"


def text(family: str) -> str:
    """The whole file of a family, one condition a line."""
    rules: Any = read_file(FOLDER, "conditions")
    catalog: Any = read_file(FOLDER, "catalog")
    blocks = []
    for entry in catalog.environments:
        if entry.family == family:
            number = int(entry.case.lstrip("AH"))
            rows = conditions(rules.families[family].factors, entry.id, number, rules.count)
            lines = ",\n".join(f"      {json.dumps(row)}" for row in rows)
            blocks.append(f"    {json.dumps(entry.id)}: [\n{lines}\n    ]")
    body = ",\n".join(blocks)
    return f'{{\n  "base_seed": {BASE_SEED},\n  "environments": {{\n{body}\n  }}\n}}\n'


if __name__ == "__main__":
    for name in FAMILIES:
        (FOLDER / file(name)).write_text(text(name), encoding="utf-8")
