"""Reads which lettered option a reply commits to (KidGym text, section 'Explanation' of the decoding, and its faults).

Two decoders. ``as_published`` does what the text describes, so that published rows stay comparable. ``strict`` mends
where that misreads: it takes whole words only, lets the last commitment win over mentions, sets aside what is negated
or only supposed, and calls a reply ambiguous instead of guessing. Replies are text of strangers: the work grows with
their length alone.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from runner.agents.choice_mentions import END, LETTERS, NEAR, OPEN, SHUT, STRENGTH, Mention, mentions, undecorated

__all__ = ["LETTERS", "Decoded", "as_published", "strict"]

Kind = Literal["chosen", "ambiguous", "none"]


@dataclass(frozen=True)
class Decoded:
    """``index`` of the option (None unless ``kind`` is chosen) and the rule that found it."""

    kind: Kind
    index: int | None
    rule: str


NONE = Decoded("none", None, "nothing named")
_TAGS = re.compile(r"<\s*answer\s*>(.*?)(?:<\s*/\s*answer\s*>|\Z)", re.IGNORECASE | re.DOTALL)
_THOUGHT = re.compile(r"<\s?(/?)\s?(think|thinking|reasoning)\s?>", re.IGNORECASE)
_ALONE = re.compile(rf"[\W\d_]*([A-Za-z]){END}[\W_]*")
_NEGATED = re.compile(
    r"(?:\b(?:no|not|never|cannot|isn['\u2019]t|instead\s+of|rather\s+than|except|excluding|eliminat\w+|reject\w*|avoid\w*"
    r"|neither|nor|rul\w+\s+out|wrong\s+(?:is|are))\b|n['\u2019]t\b)"
    r"(?:\s+(?:be|is|it|that|think|believe|want|like|to|option|action|letter|choice|answer|choose|pick|select|the))*"
    rf":?{OPEN}\Z",
    re.IGNORECASE,
)
_FOLLOWED_BY_NO = re.compile(
    rf"{SHUT}(?:(?:is|are|was|would\s+be)\s+(?:not|wrong|incorrect|impossible|invalid)\b"
    r"|(?:is|are|was|would|ca|do|does)n['\u2019]t\b)",
    re.IGNORECASE,
)
_OR = re.compile(rf"{SHUT},?\s*[(\[]?(?:\b(?:or|nor|and/or)\b|/){OPEN}(?:maybe|perhaps|even)?\s*", re.IGNORECASE)
_AND = re.compile(rf"{SHUT}(?:,|&|\+|,?\s*\b(?:and|then)\b)(?:\s*\bthen\b)?{OPEN}", re.IGNORECASE)
_LAST = re.compile(rf"{SHUT}(?:[.,;!?]|\Z|(?:and|or|both|are)\b)", re.IGNORECASE)  # no sentence of its own begins


def strict(reply: str, actions: Sequence[str]) -> Decoded:
    """What the reply commits to; ``actions`` are the options' words in the order of their letters."""
    text = _essence(reply)
    alone = _ALONE.fullmatch(text)
    if alone is not None:
        index = LETTERS.index(alone[1].upper())
        return Decoded("chosen", index, "letter alone") if index < len(actions) else Decoded("none", None, "no option")
    found = _undenied(text, mentions(text, actions))
    if not found:
        return NONE
    strongest = max(STRENGTH[mention.rule] for mention in found)
    best = [mention for mention in found if STRENGTH[mention.rule] == strongest]
    last = best[-1]
    rivals = (
        best if strongest < STRENGTH["cue"] else [mention for mention in best if mention.rule == last.rule == "line"]
    )
    if len({mention.index for mention in rivals}) > 1 or _joined(text, found.index(last), found):
        return Decoded("ambiguous", None, f"several options by {last.rule}")
    if _contradicted(text, last, found):
        return Decoded("ambiguous", None, "letter and action differ")
    if last.index >= len(actions):
        return Decoded("none", None, "no option")
    return Decoded("chosen", last.index, last.rule)


def as_published(reply: str, actions: Sequence[str]) -> Decoded:
    """The text's own decoder: the first action of the list that appears in the reply, else the first single capital.

    In the text's example 'Based on all of the information, I choose action C' gives C: a capital without an option,
    as the pronoun, is passed over.
    """
    text = re.sub(r"<\s*/?\s*answer\s*>", "", reply, flags=re.IGNORECASE)
    for index, action in enumerate(actions):
        if action in text:
            return Decoded("chosen", index, "action")
    for match in re.finditer(r"\b[A-Z]\b", text):
        if LETTERS.index(match[0]) < len(actions):
            return Decoded("chosen", LETTERS.index(match[0]), "letter")
    return NONE


def _essence(reply: str) -> str:
    """The last tagged answer, or the reply without its tagged thoughts: lines without surplus blanks and emphasis."""
    text = _unthought(reply)
    tagged = _TAGS.findall(text)
    if tagged and tagged[-1].strip():
        text = tagged[-1]
    lines = (" ".join(line.split()) for line in undecorated(text).splitlines())
    return "\n".join(line for line in lines if line)


def _unthought(text: str) -> str:
    """The text without its tagged thoughts. One that is never closed stays; what stands before an end without a
    beginning is a thought, too, since templates of reasoning models open it in the prompt."""
    kept: list[str] = []
    done = 0
    opened: tuple[str, int] | None = None  # name and start of a thought
    for tag in _THOUGHT.finditer(text):
        name = tag[2].lower()
        if opened is None and not tag[1]:
            opened = (name, tag.start())
        elif opened is None:
            kept, done = [], tag.end()
        elif tag[1] and name == opened[0]:
            kept.append(text[done : opened[1]])
            done, opened = tag.end(), None
    return " ".join([*kept, text[done:]])


def _undenied(text: str, found: Sequence[Mention]) -> list[Mention]:
    """The mentions without those that are denied: 'not A', 'instead of A', 'A is wrong', 'neither A nor B', 'A and B
    are wrong'."""
    denied: set[int] = set()
    for number, mention in enumerate(found):
        negated = any(_NEGATED.search(text[max(0, place - NEAR) : place]) for place in {mention.phrase, mention.start})
        if negated or (number - 1 in denied and _between(_OR, text, found[number - 1], mention)):
            denied.add(number)
    wrong: set[int] = set()
    for number in reversed(range(len(found))):
        mention = found[number]
        listed = number + 1 in wrong and any(
            _between(pattern, text, mention, found[number + 1]) for pattern in (_OR, _AND)
        )
        if listed or _FOLLOWED_BY_NO.match(text, mention.end):
            wrong.add(number)
    denied |= wrong
    return [mention for number, mention in enumerate(found) if number not in denied]


def _joined(text: str, number: int, found: Sequence[Mention]) -> bool:
    """Whether the mention is one of several in a row: 'answer: A or B', 'A, B'."""
    chosen = found[number]
    if number and found[number - 1].index != chosen.index and _between(_OR, text, found[number - 1], chosen):
        return True
    if number + 1 == len(found) or found[number + 1].index == chosen.index:
        return False
    other = found[number + 1]
    if _between(_OR, text, chosen, other):
        return True
    return _between(_AND, text, chosen, other) and _LAST.match(text, other.end) is not None


def _between(pattern: re.Pattern[str], text: str, one: Mention, other: Mention) -> bool:
    """Whether what stands between two mentions is all ``pattern``."""
    apart = other.phrase - one.end
    return 0 < apart <= NEAR and pattern.fullmatch(text, one.end, other.phrase) is not None


def _contradicted(text: str, chosen: Mention, found: Sequence[Mention]) -> bool:
    """Whether the chosen letter stands directly before the words of another option: "B) 'pick up C'"."""
    for other in found:
        if other.rule == "action" and other.index != chosen.index and 0 <= other.start - chosen.end <= NEAR:
            between = text[chosen.end : other.start]
            if re.fullmatch(r"[\s).:\"'\u2018\u201c\-\u2013,]*", between):
                return True
    return False
