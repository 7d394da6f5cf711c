"""Tasks as authored data: JSON read strictly against the schema of their family."""

from __future__ import annotations

import json
from typing import TypeVar

from pydantic import BaseModel, ValidationError

from images.client.strict import unique

Authored = TypeVar("Authored", bound=BaseModel)


class AuthoredError(ValueError):
    """A task file that cannot be used; the text names file, key and value."""


def parse(schema: type[Authored], text: str, source: str, refused: type[AuthoredError]) -> Authored:
    """The task in JSON ``text``. Raises ``refused`` naming ``source``, the path of the key and the value. NaN and
    infinities, which are no JSON, are left to ``schema``: it can say where they stand."""
    try:
        json.loads(text, object_pairs_hook=unique)
        return schema.model_validate_json(text)  # as JSON, so that a strict schema takes its arrays as tuples
    except ValidationError as error:
        first = error.errors()[0]
        path = ".".join(str(part) for part in first["loc"])
        value = "" if first["type"] == "missing" or not path else f" (value {first['input']!r:.80})"
        text = first["msg"].removeprefix("Value error, ")
        raise refused(f"{source}: {path + ': ' if path else ''}{text}{value}") from None
    except (ValueError, RecursionError) as error:
        raise refused(f"{source}: not JSON: {error}") from None
