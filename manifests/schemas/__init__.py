"""JSON Schema of every manifest, of the attempt record, of claims and of submissions, for readers that are not Python.

The files beside this module are generated from the pydantic models by ``python -m manifests.schemas``; a test fails
when they differ from what the models say.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

from manifests.load import FILES, model_of

if TYPE_CHECKING:
    from pydantic import BaseModel

FOLDER = Path(__file__).resolve().parent
DIALECT = "https://json-schema.org/draft/2020-12/schema"


def texts() -> dict[str, str]:
    """File name -> contents of every schema file."""
    from manifests.claims import Claims
    from manifests.figures import Figures
    from manifests.records import AttemptRecord
    from manifests.submission import Envelope, LedgerLine, Statement

    named: dict[str, type[BaseModel]] = {stem: model_of(stem) for stem in FILES}
    named["record"] = AttemptRecord
    named["claims"] = Claims
    named["figures"] = Figures
    named["submission"] = Statement
    named["submission_envelope"] = Envelope
    named["submission_ledger"] = LedgerLine
    return {f"{stem}.schema.json": _text(stem, model) for stem, model in named.items()}


def _text(stem: str, model: type[BaseModel]) -> str:
    schema = {"$schema": DIALECT, "$id": f"assay/{stem}.schema.json", **model.model_json_schema()}
    return json.dumps(schema, indent=2, ensure_ascii=False) + "\n"
