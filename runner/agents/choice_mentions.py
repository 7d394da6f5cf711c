"""Which options a reply names, and how: a commitment, an option by its name or words, a bare letter.

Letters are ASCII: whoever folds case takes signs for letters that are none. Patterns look no farther than ``NEAR``
characters away from a letter, so that the work grows with a reply's length alone.
"""

from __future__ import annotations

import re
import string
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

LETTERS = string.ascii_uppercase
NEAR = 60
Rule = Literal["cue", "line", "named", "listed", "action", "letter"]
STRENGTH: dict[Rule, int] = {"cue": 3, "line": 3, "named": 2, "listed": 2, "action": 2, "letter": 1}


@dataclass(frozen=True)
class Mention:
    """An option that a reply names: where its letter or words start and end, and where the phrase around it begins."""

    index: int
    start: int
    end: int
    phrase: int
    rule: Rule


# Where a letter that stands alone begins and ends: "A's", "A1" and an A with an accent of its own are none.
BEGIN = r"(?<![A-Za-z0-9\u00c0-\u024f])(?<![A-Za-z]['\u2019])"
END = r"(?![A-Za-z0-9\u00c0-\u024f\u0300-\u036f]|['\u2019][A-Za-z])"
OPEN, SHUT = r"[\s\"'(\[\u2018\u201c]*", r"[\s\"')\]\u2019\u201d]*"
_NOUN = r"(?:option|action|letter|choice|answer)"
_COPULA = r"(?:is|would\s+be|will\s+be|should\s+be|must\s+be)"
_PRAISE = r"(?:final|correct|best|right|good|optimal|my)"
# A commitment, then a letter. Lower case counts here and after an option's noun only: 'answer: d' is one, a stray 'a'
# is not. 'Option' and 'action' by themselves name an option and commit to none: 'Option D needs a key first'.
_COMMITMENT = re.compile(
    r"(?:"
    rf"\b(?:{_PRAISE}\s+){{0,4}}(?:answer|choice|selection|decision)\b(?:\s+{_NOUN})?(?:\s+{_COPULA}\b)?"
    rf"|\b(?:{_PRAISE}\s+){{1,4}}(?:option|action|letter)\b(?:\s+{_COPULA}\b)?"
    rf"|\b(?:option|action|letter|move)\b(?:\s+letter)?(?=['\"\u201d]?\s*[:=\u2192]|\s+{_COPULA}\b)(?:\s+{_COPULA}\b)?"
    rf"|(?P<verb>\b(?:choose|chose|select|pick|go\s+with|opt\s+for|i(?:\s+will|['\u2019]ll)?\s+take"
    r"|(?:\bam|['\u2019]m)\s+(?:choosing|selecting|picking|taking|going\s+with|opting\s+for))\b)"
    r")"
    rf"['\"\u201d]?\s*(?::|=|->?|\u2192)?(?:\s*\b(?:the\s+)?{_NOUN}\b(?:\s+letter\b)?){{0,2}}\s*:?{OPEN}((?-i:[A-Za-z])){END}",
    re.IGNORECASE,
)
# A commitment taken back: 'no, B.', 'Sorry, I meant B'; but not 'wait, B leads nowhere'.
_CORRECTION = re.compile(
    r"\b(?:no,|wait|actually|correction|sorry|scratch\s+that|or\s+rather|i\s+meant?)"
    r"(?:[\s,.:]+(?:no|wait|sorry|actually|it\s+is|it['\u2019]s|i\s+meant?|make\s+that)\b){0,3}"
    rf"[,.:]?{OPEN}((?-i:[A-Z])){END}(?={SHUT}(?:[.,;:!?]|\Z|because\b|since\b|as\b))",
    re.IGNORECASE,
)
_CONCLUSION = re.compile(
    rf"\b(?:so|therefore|thus|hence|must\s+be)\b[,:]?{OPEN}((?-i:[A-Z])){END}"
    rf"(?={SHUT}(?:[.;!]|\Z|because\b|since\b|as\b|it\s+is\b))",
    re.IGNORECASE,
)
_PRAISED = re.compile(
    rf"{BEGIN}((?-i:[A-Z])){END}{SHUT}\s(?:is|would\s+be|must\s+be|seems)\s+(?:the\s+|my\s+)?(?:final\s+|only\s+)?"
    r"(?:best|right|correct|optimal|answer|choice|chosen)\b",
    re.IGNORECASE,
)
# What is said of a choice that was not made: 'If I choose A', 'one could pick A'.
_SUPPOSED = re.compile(
    r"(?:\b(?:if|unless|whether|suppose|supposing|assuming|imagine|when|were)"
    r"(?:\s+(?:i|we|you|one|the|my)\b)?(?:\s+(?:were\s+to|would|should|will))?"
    r"|\b(?:could|might|may|can)(?:\s+(?:also|either))?)\s*\Z",
    re.IGNORECASE,
)
# A step of a plan: 'Step 2: pick B', a line '2. pick B'; but not 'It has label 2. I pick B'.
_STEP = re.compile(r"(?:\bstep\s+\d+|^[^\w\n]*\d+)\s*[:.)-]\s*\Z", re.IGNORECASE | re.MULTILINE)
_NAMED = re.compile(rf"\b(?:option|action|letter)\b(?:\s+letter\b)?{OPEN}((?-i:[A-Za-z])){END}", re.IGNORECASE)
_LINE = re.compile(rf"^[^\w\n]*([A-Z]){END}[^\w\n]*$", re.MULTILINE)
_LISTED = re.compile(rf"{BEGIN}([A-Z])\s?[):](?![A-Za-z0-9])|^[^\w\n]*([A-Z])\s?\.(?![A-Za-z0-9])", re.MULTILINE)
_LETTER = re.compile(rf"{BEGIN}([A-Z]){END}")
_LABEL = re.compile(r"([A-Za-z]+)\s+[A-Z](?![A-Za-z0-9])")  # in an option: 'backpack A'
_PLACE = re.compile(r"\b(slots?|backpack|item|piece)\s+(?:letter\s+|is\s+)?\Z", re.IGNORECASE)
_WORD_BEFORE = re.compile(r"([A-Za-z]+)\s+\Z")
_NO_NOUN = (
    r"(?:or|and|nor|is|was|would|must|seems|looks|works|leads|fails|then|but|because|since|as|rather|instead|not|to|for|if|so|when|while"
    r"|with|that|which|this|it|i|we|you|in|at|on|of|by|here|now|first|next|before|after|until|from)"
)
_ARTICLE = re.compile(rf"\s+(?!{_NO_NOUN}\b)[a-z]")
_PRONOUN = re.compile(r"\s+[a-z]|['\u2019]")


def mentions(text: str, actions: Sequence[str]) -> list[Mention]:
    """Every option that the text names, in the order of the text; of two readings of one letter the stronger."""
    labels = {match[1].lower() for action in actions for match in _LABEL.finditer(action)}
    found = list(_worded(text, actions))
    taken = {position for mention in found for position in range(mention.start, mention.end)}
    for index, start, phrase, rule in _lettered(text):
        if start not in taken and not _is_label(text, start, labels):
            found.append(Mention(index, start, start + 1, phrase, rule))
            taken.add(start)
    return sorted(found, key=lambda mention: mention.start)


def _lettered(text: str) -> Iterator[tuple[int, int, int, Rule]]:
    """Index, place of the letter, beginning of its phrase and rule; the strongest rules first."""
    for pattern in (_COMMITMENT, _CORRECTION, _CONCLUSION, _PRAISED):
        for match in pattern.finditer(text):
            place = match.start(match.lastindex or 0)
            letter = text[place]
            if _is_word(text, letter, place + 1):
                continue
            supposed = pattern in (_COMMITMENT, _PRAISED) and _is_supposed(text, match)
            yield LETTERS.index(letter.upper()), place, match.start(), "letter" if supposed else "cue"
    for pattern, rule in ((_LINE, "line"), (_NAMED, "named"), (_LISTED, "listed"), (_LETTER, "letter")):
        for match in pattern.finditer(text):
            place = match.start(match.lastindex or 0)
            if rule not in ("named", "letter") or not _is_word(text, text[place], place + 1):
                yield LETTERS.index(text[place].upper()), place, match.start() if rule == "named" else place, rule  # type: ignore[misc]


def _is_supposed(text: str, match: re.Match[str]) -> bool:
    """Whether what looks like a commitment is a supposition or a step of a plan."""
    before = max(0, match.start() - NEAR), match.start()
    planned = match.groupdict().get("verb") is not None and _STEP.search(text, *before) is not None
    return planned or _SUPPOSED.search(text, *before) is not None


def _is_label(text: str, start: int, labels: set[str]) -> bool:
    """Whether the letter names a place of the scene: 'slot A', or the 'A' of 'backpack A' where options say so too."""
    near = max(0, start - NEAR)
    place = _PLACE.search(text, near, start)
    if place is not None and (labels or place[1].lower() not in ("item", "piece")):
        return True
    word = _WORD_BEFORE.search(text, near, start)
    return word is not None and word[1].lower() in labels


def _is_word(text: str, letter: str, end: int) -> bool:
    """Whether the letter is an article or a pronoun: 'a key', 'A good choice', 'I see'."""
    form = {"a": _ARTICLE, "A": _ARTICLE, "I": _PRONOUN}.get(letter)
    return form is not None and form.match(text, end) is not None


def _worded(text: str, actions: Sequence[str]) -> Iterator[Mention]:
    """Actions by their words, as a whole: 'label 1' is not in 'label 12'. Of two that overlap the longer one counts."""
    spans: list[tuple[int, int, int]] = []
    for index, action in enumerate(actions):
        words = r"\s+".join(re.escape(word) for word in undecorated(action).split())
        if not words:
            continue
        pattern = re.compile(rf"(?<![A-Za-z0-9]){words}(?![A-Za-z0-9])", re.IGNORECASE)
        spans += [(match.start(), match.end(), index) for match in pattern.finditer(text)]
    outer = (-1, -1)
    for start, end, index in sorted(spans, key=lambda span: (span[0], -span[1])):
        if end > outer[1] or (start, end) == outer:
            outer = (start, end)
            yield Mention(index, start, end, start, "action")


_DECORATION = re.compile(r"[*_`$]|\\(?:boxed|text)\b|[{}]")


def undecorated(text: str) -> str:
    """The text without marks of emphasis, code and formulas."""
    return _DECORATION.sub("", text)
