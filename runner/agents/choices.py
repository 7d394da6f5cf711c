"""Reads which lettered option a reply commits to (KidGym text, section 'Explanation' of the decoding, and its faults).

Two decoders. ``as_published`` does what the text describes, so that published rows stay comparable. ``strict`` mends
where that misreads: it takes whole words only, lets the last commitment win over mentions, sets aside what is negated,
and calls a reply ambiguous instead of guessing. Replies are text of strangers: the work grows with their length alone.
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
NEAR = 60  # characters: what negates or joins a mention stands no farther from it
_TAGS = re.compile(r"<\s*answer\s*>(.*?)(?:<\s*/\s*answer\s*>|\Z)", re.IGNORECASE | re.DOTALL)
_THOUGHT = re.compile(r"<\s?(/?)\s?(think|thinking|reasoning)\s?>", re.IGNORECASE)
_DECORATION = re.compile(r"[*_`$]|\\(?:boxed|text)\b|[{}]")
# Where a letter that stands alone begins and ends: "A's", "A1" and an A with an accent of its own are none.
_BEGIN = r"(?<![A-Za-z0-9])(?<![A-Za-z]['\u2019])"
_END = r"(?![A-Za-z0-9\u0300-\u036f]|['\u2019][A-Za-z])"
_OPEN, _SHUT = r"[\s\"'(\[\u2018\u201c]*", r"[\s\"')\]\u2019\u201d]*"
_ALONE = re.compile(rf"[\W\d_]*([A-Za-z]){_END}[\W_]*")
# A commitment, then a letter. Lower case counts here only: 'answer: d' is one, a stray 'a' is not.
_CUE = re.compile(
    r"\b(?:(?:final\s+|correct\s+|best\s+|right\s+|my\s+|good\s+){0,4}(?:answer|choice|option|action|letter|selection|decision)"
    r"(?:\s+(?:letter|option|action))?(?:\s+(?:is|would\s+be|will\s+be|should\s+be|must\s+be))?"
    r"|(?:choose|chose|select|pick|choosing|selecting|picking|go\s+with|going\s+with|opt\s+for)"
    r"(?:\s+(?:the\s+)?(?:letter|option|action|choice|answer))*(?:\s+(?:letter|option))?)"
    rf"\s*(?:is|:|=|-|\u2192)?{_OPEN}((?-i:[A-Za-z])){_END}",
    re.IGNORECASE,
)
# A commitment taken back: 'no, B.', 'Sorry, I meant B'; but not 'wait, B leads nowhere'.
_CORRECTION = re.compile(
    r"\b(?:no,|wait|actually|correction|sorry|scratch\s+that|or\s+rather|i\s+meant?)"
    r"(?:[\s,.:]+(?:no|wait|sorry|actually|it\s+is|it['\u2019]s|i\s+meant?|make\s+that)\b){0,3}"
    rf"[,.:]?{_OPEN}((?-i:[A-Z])){_END}(?={_SHUT}(?:[.,;:!?]|\Z|because\b|since\b|as\b))",
    re.IGNORECASE,
)
_LISTED = re.compile(r"(?<![A-Za-z0-9])([A-Z])\s?[).:](?![A-Za-z0-9])")
_LETTER = re.compile(rf"{_BEGIN}([A-Z]){_END}")
_LABEL = re.compile(r"([A-Za-z]+)\s+[A-Z](?![A-Za-z0-9])")  # in an option: 'backpack A'
_WORD_BEFORE = re.compile(r"([A-Za-z]+)\s+\Z")
_ARTICLE = re.compile(
    r"\s+(?!(?:or|and|nor|is|was|would|then|but|because|since|as|rather|instead|seems|looks|works)\b)[a-z]"
)
_PRONOUN = re.compile(r"\s+[a-z]")
_NEGATED = re.compile(
    r"(?:\b(?:no|not|never|cannot|isn['\u2019]t|instead\s+of|rather\s+than|except|excluding|eliminat\w+|reject\w*|avoid\w*"
    r"|neither|nor|rul\w+\s+out|wrong\s+(?:is|are))\b|n['\u2019]t\b)"
    rf"(?:\s+(?:be|is|option|action|letter|choice|answer|choose|pick|select|the))*:?{_OPEN}\Z",
    re.IGNORECASE,
)
_FOLLOWED_BY_NO = re.compile(
    rf"{_SHUT}(?:(?:is|are|was|would\s+be)\s+(?:not|wrong|incorrect|impossible|invalid)\b"
    r"|(?:is|are|was|would|ca|do|does)n['\u2019]t\b)",
    re.IGNORECASE,
)
_OR = re.compile(rf"{_SHUT},?\s*[(\[]?(?:\b(?:or|nor|and/or)\b|/){_OPEN}(?:maybe|perhaps|even)?\s*", re.IGNORECASE)
_AND = re.compile(rf"{_SHUT}(?:,|&|\+|,?\s*\b(?:and|then)\b)(?:\s*\bthen\b)?{_OPEN}", re.IGNORECASE)
_LAST = re.compile(rf"{_SHUT}(?:[.,;!?]|\Z|(?:and|or|both|are)\b)", re.IGNORECASE)  # no sentence of its own begins
_STRENGTH = {"cue": 3, "listed": 2, "action": 2, "letter": 1}


def strict(reply: str, actions: Sequence[str]) -> Decoded:
    """What the reply commits to; ``actions`` are the options' words in the order of their letters."""
    text = _essence(reply)
    alone = _ALONE.fullmatch(text)
    if alone is not None:
        index = LETTERS.index(alone[1].upper())
        return Decoded("chosen", index, "letter alone") if index < len(actions) else Decoded("none", None, "no option")
    mentions = _undenied(text, _mentions(text, actions))
    if not mentions:
        return NONE
    strongest = max(_STRENGTH[mention.rule] for mention in mentions)
    best = [mention for mention in mentions if _STRENGTH[mention.rule] == strongest]
    last = best[-1]
    if strongest < _STRENGTH["cue"] and len({mention.index for mention in best}) > 1:
        return Decoded("ambiguous", None, f"several options by {last.rule}")
    if _joined(text, mentions.index(last), mentions):
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
    """The last tagged answer, or the reply without its tagged thoughts; with single blanks and no marks of emphasis."""
    text = _unthought(" ".join(reply.split()))
    tagged = _TAGS.findall(text)
    if tagged and tagged[-1].strip():
        text = tagged[-1]
    return _DECORATION.sub("", text).strip()


def _unthought(text: str) -> str:
    """The text without its tagged thoughts; one that is never closed stays."""
    kept: list[str] = []
    done = 0
    opened: tuple[str, int] | None = None  # name and start of a thought
    for tag in _THOUGHT.finditer(text):
        name = tag[2].lower()
        if opened is None and not tag[1]:
            opened = (name, tag.start())
        elif opened is not None and tag[1] and name == opened[0]:
            kept.append(text[done : opened[1]])
            done, opened = tag.end(), None
    return " ".join([*kept, text[done:]])


# ---- what a text names ----------------------------------------------------------------------------------------------
def _mentions(text: str, actions: Sequence[str]) -> list[Mention]:
    """Every option that the text names, in the order of the text."""
    labels = {match[1].lower() for action in actions for match in _LABEL.finditer(action)}
    found = [*_named(text, actions), *_cued(text)]
    taken = {position for mention in found for position in range(mention.start, mention.end)}
    for pattern, rule in ((_LISTED, "listed"), (_LETTER, "letter")):
        for match in pattern.finditer(text):
            start = match.start(1)
            if start in taken or _is_label(text, start, labels) or (rule == "letter" and _is_word(text, match)):
                continue
            found.append(Mention(LETTERS.index(match[1]), start, match.end(1), start, rule))  # type: ignore[arg-type]
            taken.add(start)
    return sorted(found, key=lambda mention: mention.start)


def _cued(text: str) -> Iterator[Mention]:
    seen: set[int] = set()
    for pattern in (_CUE, _CORRECTION):
        for match in pattern.finditer(text):
            if not _is_word(text, match) and match.start(1) not in seen:
                seen.add(match.start(1))
                yield Mention(LETTERS.index(match[1].upper()), match.start(1), match.end(1), match.start(), "cue")


def _is_label(text: str, start: int, labels: set[str]) -> bool:
    """Whether the letter names a place of the scene, as the 'A' of 'backpack A' where options say so too."""
    word = _WORD_BEFORE.search(text, max(0, start - NEAR), start)
    return word is not None and word[1].lower() in labels


def _is_word(text: str, match: re.Match[str]) -> bool:
    """Whether the letter is an article or a pronoun: 'a key', 'A good choice', 'I see'."""
    form = {"a": _ARTICLE, "A": _ARTICLE, "I": _PRONOUN}.get(match[1])
    return form is not None and form.match(text, match.end(1)) is not None


def _named(text: str, actions: Sequence[str]) -> Iterator[Mention]:
    """Actions by their words, as a whole: 'label 1' is not in 'label 12'. Of two that overlap the longer one counts."""
    spans: list[tuple[int, int, int]] = []
    for index, action in enumerate(actions):
        words = " ".join(re.escape(word) for word in _DECORATION.sub("", action).split())
        if not words:
            continue
        pattern = re.compile(rf"(?<![A-Za-z0-9]){words}(?![A-Za-z0-9])", re.IGNORECASE)
        spans += [(match.start(), match.end(), index) for match in pattern.finditer(text)]
    outer = (-1, -1)
    for start, end, index in sorted(spans, key=lambda span: (span[0], -span[1])):
        if end > outer[1] or (start, end) == outer:
            outer = (start, end)
            yield Mention(index, start, end, start, "action")


# ---- what becomes of a mention --------------------------------------------------------------------------------------
def _undenied(text: str, mentions: Sequence[Mention]) -> list[Mention]:
    """The mentions without those that are denied: 'not A', 'instead of A', 'A is wrong', 'neither A nor B', 'A and B
    are wrong'."""
    denied: set[int] = set()
    for number, mention in enumerate(mentions):
        negated = any(_NEGATED.search(text[max(0, place - NEAR) : place]) for place in {mention.phrase, mention.start})
        if negated or (number - 1 in denied and _between(_OR, text, mentions[number - 1], mention)):
            denied.add(number)
    wrong: set[int] = set()
    for number in reversed(range(len(mentions))):
        mention = mentions[number]
        listed = number + 1 in wrong and any(
            _between(pattern, text, mention, mentions[number + 1]) for pattern in (_OR, _AND)
        )
        if listed or _FOLLOWED_BY_NO.match(text, mention.end):
            wrong.add(number)
    denied |= wrong
    return [mention for number, mention in enumerate(mentions) if number not in denied]


def _joined(text: str, number: int, mentions: Sequence[Mention]) -> bool:
    """Whether the mention is one of several in a row: 'answer: A or B', 'A, B'."""
    chosen = mentions[number]
    if number and mentions[number - 1].index != chosen.index and _between(_OR, text, mentions[number - 1], chosen):
        return True
    if number + 1 == len(mentions) or mentions[number + 1].index == chosen.index:
        return False
    other = mentions[number + 1]
    if _between(_OR, text, chosen, other):
        return True
    return _between(_AND, text, chosen, other) and _LAST.match(text, other.end) is not None


def _between(pattern: re.Pattern[str], text: str, one: Mention, other: Mention) -> bool:
    """Whether what stands between two mentions is all ``pattern``."""
    apart = other.phrase - one.end
    return 0 < apart <= NEAR and pattern.fullmatch(text, one.end, other.phrase) is not None


def _contradicted(text: str, chosen: Mention, mentions: Sequence[Mention]) -> bool:
    """Whether the chosen letter stands directly before the words of another option: "B) 'pick up C'"."""
    for other in mentions:
        if other.rule == "action" and other.index != chosen.index and 0 <= other.start - chosen.end <= NEAR:
            between = text[chosen.end : other.start]
            if re.fullmatch(r"[\s).:\"'\u2018\u201c\-\u2013,]*", between):
                return True
    return False
