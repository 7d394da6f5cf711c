"""What an audit asks of a replay, as data: ``load_audit().classes["bit-exact"].divergence``."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field, model_validator

from manifests.errors import ManifestError
from manifests.load import FOLDER, parse
from manifests.records import Strict

DeterminismClass = Literal["bit-exact", "tolerance", "statistical"]
Severity = Literal["problem", "doubt", "note"]


class ReplayRule(Strict):
    """``elsewhere``: the class up to whose difference a divergence stays undecided where the recording machine was
    another one; beyond it, it counts as in the engine's own class. ``difference``: two state samples are the
    same up to it, in their own units (m, rad). What a difference counts as: ``start`` before the first action, where
    no path has had time to part; ``divergence`` after it; ``verdict``."""

    text: str
    elsewhere: DeterminismClass
    difference: Annotated[float, Field(ge=0)]
    start: Severity
    divergence: Severity
    verdict: Severity


class AuditPolicy(Strict):
    """``sample``: the share of attempts that is replayed unless another is asked for. ``ended_by_environment``: causes
    that the stored actions bring about again by themselves; every other end came from the agent or the host.
    ``processor``: the fields of a fingerprint that the image does not decide and that may change a result;
    ``without_effect``: those that change none (pictures are no part of the state)."""

    text: str
    sample: Annotated[float, Field(gt=0, le=1)]
    processor: tuple[str, ...]
    without_effect: tuple[str, ...]
    ended_by_environment: tuple[str, ...]
    classes: dict[DeterminismClass, ReplayRule]

    @model_validator(mode="after")
    def _complete(self) -> AuditPolicy:
        for rule in self.classes.values():
            if rule.elsewhere not in self.classes:
                raise ValueError(f"class {rule.elsewhere!r} of 'elsewhere' is not one of {', '.join(self.classes)}")
        return self


@cache
def load_audit(folder: Path = FOLDER) -> AuditPolicy:
    """``audit.json`` of ``folder``, checked. Raises ManifestError."""
    try:
        text = (folder / "audit.json").read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise ManifestError(f"manifests/audit.json: cannot be read: {error}") from None
    return parse("manifests/audit.json", text, AuditPolicy)
