"""The texts that a model gets, made of the files in ``prompts/`` and the public description of the episode.

Nothing else goes in: what is not in ``describe`` or in those files is not told (text: 'Access Levels', 'Trial Design').
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Iterable, Mapping
from functools import cache
from pathlib import Path
from string import Template
from typing import Any

from manifests import strict
from runner.agents.policy import PROMPTS, Policy

NONE = "none"


def system_text(agent: str, *, functions: bool, sees: bool, policy: Policy) -> str:
    """How to act: the prompt of ``agent`` for a model with or without tool schemas, with or without pictures."""
    values = {**policy.code.model_dump(), **policy.tools.model_dump()}
    pictures = phrase(f"{agent}_{'seen' if sees else 'unseen'}", side=policy.pictures.side)
    manner = _read(f"{agent}_{'functions' if functions else 'text'}.md").strip()
    return Template(_read(f"{agent}.md")).substitute(
        manner=manner, pictures=pictures, **{key: _plain(value) for key, value in values.items()}
    )


def task_text(describe: Mapping[str, Any], digits: int) -> str:
    """The episode in words: all that ``describe`` says, every clause and budget included.

    Cameras and parameters have ``digits`` significant digits: a model pays for all 17 with every request."""
    access = describe["access"]
    cameras, parameters = rounded(describe["cameras"], digits), rounded(describe["parameters"], digits)
    return Template(_read("task.md")).substitute(
        environment_id=describe["environment_id"],
        title=describe["title"],
        task=describe["task"],
        mode=describe["mode"],
        embodiment=describe["embodiment"] or NONE,
        control_hz=_plain(describe["control_hz"]),
        dimension=len(describe["controls"]),
        controls=_lines(_control(item) for item in describe["controls"]),
        fields=_lines(_field(item) for item in describe["fields"]),
        cameras=_lines(_camera(item) for item in cameras),
        clauses=_lines(_clause(item) for item in describe["clauses"]),
        budgets=_lines(f"- {name}: {_limit(value)}" for name, value in describe["budgets"].items()),
        level=access["level"],
        grants=", ".join(access["grants"]) or NONE,
        digits=digits,
        parameters=_lines(f"- {name}: {_json(value)}" for name, value in parameters.items()),
    )


def phrase(name: str, **values: Any) -> str:
    """A short text of ``prompts/phrases.json`` with its values filled in."""
    return Template(_phrases()[name]).substitute({key: _plain(value) for key, value in values.items()})


def rounded(value: Any, digits: int) -> Any:
    """``value`` (JSON) with ``digits`` significant digits in every float; one that is not finite becomes its name."""
    if isinstance(value, float):
        return float(f"{value:.{digits}g}") if math.isfinite(value) else str(value)
    if isinstance(value, Mapping):
        return {key: rounded(item, digits) for key, item in value.items()}
    if isinstance(value, list):
        return [rounded(item, digits) for item in value]
    return value


@cache
def files_digest(*modules: str) -> str:
    """SHA-256 over the prompts, the policy and the source of ``modules`` (paths): what the run hashes of an agent."""
    digest = hashlib.sha256()
    for path in (*sorted(PROMPTS.iterdir()), *map(Path, modules)):
        content = path.read_bytes()
        digest.update(f"{path.name} {len(content)}\n".encode())
        digest.update(content)
    return digest.hexdigest()


@cache
def _read(name: str) -> str:
    return (PROMPTS / name).read_text(encoding="utf-8")


@cache
def _phrases() -> dict[str, str]:
    return dict(strict.loads(_read("phrases.json")))


def _control(item: Mapping[str, Any]) -> str:
    return f"- {item['name']}: {item['low']} to {item['high']} {item['unit']}; {item['text']}"


def _field(item: Mapping[str, Any]) -> str:
    return f"- {item['name']}: {item['dtype']} {list(item['shape'])}, {item['unit']}; {item['text']} ({item['level']})"


def _camera(item: Mapping[str, Any]) -> str:
    fx, fy, cx, cy = item["intrinsics"]
    return (
        f"- {item['name']}: {item['width']} x {item['height']} pixels; fx {fx}, fy {fy}, cx {cx}, cy {cy}; "
        f"world from camera (x right, y down, z forward) {_json(item['pose'])}; {item['text']}"
    )


def _clause(item: Mapping[str, Any]) -> str:
    value = "" if item["value"] is None else f" Value: {_json(item['value'])} {item['unit']}.".replace(" .", ".")
    tolerance = "" if item["tolerance"] is None else f" Tolerance: {item['tolerance']} {item['unit']}."
    code = f" [{item['code']}]" if item["code"] else ""
    return f"- {item['id']}{code}: {item['text']}{value}{tolerance}"


def _lines(rows: Iterable[str]) -> str:
    return "\n".join(rows) or NONE


def _limit(value: Any) -> str:
    return "not limited" if value is None else _plain(value)


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)


def _plain(value: Any) -> str:
    return f"{value:g}" if isinstance(value, float) and abs(value) < 1e6 else str(value)
