"""The recorded policy of model agents: what is cut, kept, evicted and tolerated (``prompts/policy.json``).

The file is hashed into the run with the prompts, so that two runs with another policy never go under one name.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field

from manifests.load import parse
from manifests.records import Strict

PROMPTS = Path(__file__).with_name("prompts")
Kind = Literal["pictures", "outputs", "replies"]
Count = Annotated[int, Field(ge=1)]
Fraction = Annotated[float, Field(gt=0, le=1)]


class Code(Strict):
    """``timeout_s`` of one program; bytes kept of each of its streams; bytes of code that are run; the ends of a
    program after which the attempt goes on, with a fresh interpreter where the old one is gone."""

    timeout_s: Annotated[float, Field(gt=0)]
    output_bytes: Count
    code_bytes: Count
    goes_on_after: tuple[Literal["ok", "error", "timeout", "killed", "memory"], ...]


class Tools(Strict):
    significant_digits: Annotated[int, Field(ge=3, le=17)]
    output_characters: Count


class Pictures(Strict):
    """Limits of one picture (pixels a side, bytes as PNG); whether a model of which nothing is known gets any."""

    side: Count
    bytes: Count
    sent_when_unknown: bool


class Functions(Strict):
    """Whether a model of which nothing is known gets tool schemas; it writes plain text otherwise."""

    used_when_unknown: bool


class Choice(Strict):
    """Pixels a side of the picture of a step, and of the one that checks whether a model sees; ends of a call that are
    the model's own reply and name no option."""

    picture_side: Count
    check_side: Count
    names_nothing: tuple[str, ...]


class Kept(Strict):
    """Turns, counted from the newest, whose parts are never evicted."""

    pictures: Count
    outputs: Count
    replies: Count


class History(Strict):
    """When and how a conversation is shortened. ``evict_above`` and ``evict_down_to`` are fractions of the model's
    window: the gap between them keeps most turns a mere continuation, which providers can cache."""

    window_tokens_when_unknown: Count
    characters_per_token: Annotated[float, Field(gt=0)]
    tokens_per_picture: Count
    evict_above: Fraction
    evict_down_to: Fraction
    order: tuple[Kind, ...]
    newest_turns_kept: Kept
    pictures_at_most: Count
    pictures_down_to: Count
    excerpt_characters: Count
    reply_characters: Count
    tries_after_overflow: Annotated[int, Field(ge=0, le=5)]


class Policy(Strict):
    code: Code
    tools: Tools
    pictures: Pictures
    functions: Functions
    choice: Choice
    history: History


@cache
def policy() -> Policy:
    """The policy file, checked. Raises ManifestError naming file and field."""
    name = "runner/agents/prompts/policy.json"
    return parse(name, (PROMPTS / "policy.json").read_text(encoding="utf-8"), Policy)
