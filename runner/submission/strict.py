"""JSON of strangers: no key twice, no NaN, no odd nesting, and exactly the bytes of its canonical form (RFC 8785)."""

from __future__ import annotations

from typing import Any

import rfc8785

from manifests import strict
from runner.store.text import number

DEEPEST = 64  # levels of objects and lists: what the runner writes has about ten


class NotStrict(ValueError):
    """Why a text is no strict JSON, in a few words with the fix."""


def canonical_value(raw: bytes) -> Any:
    """The value of canonical JSON. Raises NotStrict."""
    value = strict_value(raw)
    try:
        again = rfc8785.dumps(value)
    except (rfc8785.CanonicalizationError, UnicodeEncodeError, RecursionError) as error:
        raise NotStrict(f"has no canonical form ({error}); `assay submit` writes it again") from None
    if again != raw:
        at = next((i for i, (a, b) in enumerate(zip(again, raw, strict=False)) if a != b), min(len(again), len(raw)))
        raise NotStrict(f"is not the canonical form of its content from byte {at} on; `assay submit` writes it again")
    return value


def strict_value(raw: bytes) -> Any:
    """The value of JSON without a key twice and without NaN. Raises NotStrict."""
    try:
        text = raw.decode("utf-8")
        value = strict.loads(text, parse_int=number)
    except strict.DuplicateKey as error:
        raise NotStrict(f"{error}; keep one of them") from None
    except strict.NotFinite as error:
        raise NotStrict(f"{error}; write null for what is not known") from None
    except UnicodeDecodeError as error:
        raise NotStrict(f"is not UTF-8 at byte {error.start}; `assay submit` writes it again") from None
    except RecursionError:
        raise NotStrict("is nested too deeply; `assay submit` writes it again") from None
    except ValueError as error:
        raise NotStrict(f"is not JSON ({error}); `assay submit` writes it again") from None
    if _deeper(value, DEEPEST):
        raise NotStrict("is nested too deeply; `assay submit` writes it again")
    return value


def _deeper(value: Any, levels: int) -> bool:
    if isinstance(value, dict):
        return not levels or any(_deeper(item, levels - 1) for item in value.values())
    return isinstance(value, list) and (not levels or any(_deeper(item, levels - 1) for item in value))
