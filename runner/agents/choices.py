"""Reads which lettered option a reply commits to (KidGym text, section 'Explanation' of the decoding, and its faults).

Two decoders. ``as_published`` does what the text describes, so that published rows stay comparable. ``strict`` mends
where that misreads: it takes whole words only, lets the last commitment win over mentions, sets aside what is negated,
and calls a reply ambiguous instead of guessing.
"""

from __future__ import annotations

import re
import string
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

LETTERS = string.ascii_uppercase
Kind = Literal["chosen", "ambiguous", "none"]


@dataclass(frozen=True)
class Decoded:
    """``index`` of the option (None unless ``kind`` is chosen) and the rule that found it."""

    kind: Kind
    index: int | None
    rule: str


@dataclass(frozen=True)
class Mention:
    """An option that a reply names: where its letter or words start and end, and where the phrase around it begins."""

    index: int
    start: int
    end: int
    phrase: int
    rule: Literal["cue", "listed", "action", "letter"]


NONE = Decoded("none", None, "nothing named")
_TAGS = re.compile(r"<\s*answer\s*>(.*?)(?:<\s*/\s*answer\s*>|\Z)", re.IGNORECASE | re.DOTALL)
_THOUGHT = re.compile(r"<\s*(think|thinking|reasoning)\s*>.*?<\s*/\s*\1\s*>", re.IGNORECASE | re.DOTALL)
_DECORATION = re.compile(r"[*_`$]|\\(?:boxed|text)\b|[{}]")
_ALONE = re.compile(r"[\W\d_]*([A-Za-z])[\W_]*")
# A commitment, then a letter. Lower case counts here only: 'answer: d' is one, a stray 'a' is not.
_CUE = re.compile(
    r"\b(?:(?:final\s+|correct\s+|best\s+|right\s+|my\s+|good\s+)*(?:answer|choice|option|action|letter|selection|decision)"
    r"(?:\s+(?:letter|option|action))?(?:\s+(?:is|would\s+be|will\s+be|should\s+be|must\s+be))?"
    r"|(?:choose|chose|select|pick|choosing|selecting|picking|go\s+with|going\s+with|opt\s+for)"
    r"(?:\s+(?:the\s+)?(?:letter|option|action|choice|answer))*(?:\s+(?:letter|option))?)"
    r"\s*(?:is|:|=|-|\u2192)?\s*[\"'(\[\u2018\u201c]*((?-i:[A-Za-z]))(?![A-Za-z0-9'\u2019])",
    re.IGNORECASE,
)
_LISTED = re.compile(r"(?<![A-Za-z0-9])([A-Z])\s?[).:](?![A-Za-z0-9])")
_LETTER = re.compile(r"(?<![A-Za-z0-9'\u2019])([A-Z])(?![A-Za-z0-9'\u2019])")
_ARTICLE = re.compile(
    r"\s+(?!(?:or|and|nor|is|was|would|then|but|because|since|as|rather|instead|seems|looks|works)\b)[a-z]"
)
_PRONOUN = re.compile(r"\s+[a-z]")
_NEGATED = re.compile(
    r"(?:\b(?:not|never|cannot|isn['\u2019]t|instead\s+of|rather\s+than|except|excluding|eliminat\w+|reject\w*|avoid\w*|neither"
    r"|rul\w+\s+out|wrong\s+(?:is|are))\b|n['\u2019]t\b)(?:\s+(?:be|is|option|action|letter|choice|answer|choose|pick|select|the))*"
    r"\s*[:\"'(\u2018\u201c]*\s*$",
    re.IGNORECASE,
)
_FOLLOWED_BY_NO = re.compile(
    r"[)\"'\u2019\u201d]*\s+(?:is|are|would\s+be)\s+(?:not|wrong|incorrect|impossible|invalid)\b", re.IGNORECASE
)
_STRENGTH = {"cue": 3, "listed": 2, "action": 2, "letter": 1}


def strict(reply: str, actions: Sequence[str]) -> Decoded:
    """What the reply commits to; ``actions`` are the options' words in the order of their letters."""
    text = _essence(reply)
    alone = _ALONE.fullmatch(text)
    if alone is not None:
        index = LETTERS.index(alone[1].upper())
        return Decoded("chosen", index, "letter alone") if index < len(actions) else Decoded("none", None, "no option")
    mentions = [m for m in _mentions(text, actions) if not _denied(text, m)]
    if not mentions:
        return NONE
    strongest = max(_STRENGTH[mention.rule] for mention in mentions)
    best = [mention for mention in mentions if _STRENGTH[mention.rule] == strongest]
    last = best[-1]
    if strongest < _STRENGTH["cue"] and len({mention.index for mention in best}) > 1:
        return Decoded("ambiguous", None, f"several options by {last.rule}")
    if _contradicted(text, last, mentions):
        return Decoded("ambiguous", None, "letter and action differ")
    if last.index >= len(actions):
        return Decoded("none", None, "no option")
    return Decoded("chosen", last.index, last.rule)


def as_published(reply: str, actions: Sequence[str]) -> Decoded:
    """The text's own decoder: the first action of the list that appears in the reply, else the first single capital."""
    text = re.sub(r"<\s*/?\s*answer\s*>", "", reply, flags=re.IGNORECASE)
    for index, action in enumerate(actions):
        if action in text:
            return Decoded("chosen", index, "action")
    match = re.search(r"\b[A-Z]\b", text)
    if match is not None and LETTERS.index(match[0]) < len(actions):
        return Decoded("chosen", LETTERS.index(match[0]), "letter")
    return NONE


def _essence(reply: str) -> str:
    """The last tagged answer, or the reply without its tagged thoughts; without marks of emphasis."""
    text = _THOUGHT.sub(" ", reply)
    tagged = _TAGS.findall(text)
    if tagged and tagged[-1].strip():
        text = tagged[-1]
    return _DECORATION.sub("", text).strip()


def _mentions(text: str, actions: Sequence[str]) -> list[Mention]:
    """Every option that the text names, in the order of the text."""
    found = [*_cued(text), *_named(text, actions)]
    taken = {position for mention in found for position in range(mention.start, mention.end)}
    for pattern, rule in ((_LISTED, "listed"), (_LETTER, "letter")):
        for match in pattern.finditer(text):
            if match.start(1) in taken or (rule == "letter" and _is_word(text, match)):
                continue
            found.append(Mention(LETTERS.index(match[1]), match.start(1), match.end(1), match.start(1), rule))  # type: ignore[arg-type]
            taken.add(match.start(1))
    return sorted(found, key=lambda mention: mention.start)


def _cued(text: str) -> Iterator[Mention]:
    for match in _CUE.finditer(text):
        if not _is_word(text, match):
            yield Mention(LETTERS.index(match[1].upper()), match.start(1), match.end(1), match.start(), "cue")


def _is_word(text: str, match: re.Match[str]) -> bool:
    """Whether the letter is an article or a pronoun: 'a key', 'A good choice', 'I see'."""
    form = {"a": _ARTICLE, "A": _ARTICLE, "I": _PRONOUN}.get(match[1])
    return form is not None and form.match(text, match.end(1)) is not None


def _named(text: str, actions: Sequence[str]) -> Iterator[Mention]:
    """Actions by their words, as a whole: 'label 1' is not in 'label 12'. Of two that overlap the longer one counts."""
    spans: list[tuple[int, int, int]] = []
    for index, action in enumerate(actions):
        words = r"\s+".join(re.escape(word) for word in _DECORATION.sub("", action).split())
        pattern = re.compile(rf"(?<![A-Za-z0-9]){words}(?![A-Za-z0-9])", re.IGNORECASE)
        spans += [(match.start(), match.end(), index) for match in pattern.finditer(text)]
    for start, end, index in spans:
        if not any(s <= start and end <= e and (s, e) != (start, end) for s, e, _ in spans):
            yield Mention(index, start, end, start, "action")


def _denied(text: str, mention: Mention) -> bool:
    """'not A', 'do not choose A', 'instead of A', 'A is wrong'."""
    negated = any(_NEGATED.search(text[:position]) for position in {mention.phrase, mention.start})
    return negated or _FOLLOWED_BY_NO.match(text, mention.end) is not None


def _contradicted(text: str, chosen: Mention, mentions: Sequence[Mention]) -> bool:
    """Whether the chosen letter stands directly before the words of another option: "B) 'pick up C'"."""
    for other in mentions:
        if other.rule == "action" and other.index != chosen.index and other.start >= chosen.end:
            between = text[chosen.end : other.start]
            if re.fullmatch(r"[\s).:\"'\u2018\u201c\-\u2013,]*", between):
                return True
    return False
