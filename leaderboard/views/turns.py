"""An episode of choices as it went: each picture with its lettered options, the reply, and what was read in it."""

from __future__ import annotations

import base64
import string
from collections.abc import Sequence
from html import escape

from leaderboard.blocks import Block, Data, data_of
from leaderboard.episode import Stored
from leaderboard.markup import Safe, badge, code, join, notice, small, table, tag
from leaderboard.public import public
from leaderboard.turns import COMMAND, Reading, Turn
from manifests.records import AttemptRecord
from manifests.words import count

LONGEST = 4000  # characters of a reply
LARGEST = 1 << 20  # bytes of a picture
DRAWN = "drawn from the recorded state"
STRICT, PUBLISHED = "strict decoder, which counts", "decoder of the published text"


def build(run: str, record: AttemptRecord, stored: Stored, turns: Sequence[Turn]) -> list[Block | Safe]:
    """The goal, and every step below the one before."""
    if not turns:
        return [tag("p", "No step was taken.", class_="quiet")]
    goal = stored.describe.get("task")
    blocks: list[Block | Safe] = [tag("p", tag("strong", "Goal: "), str(goal))] if goal else []
    blocks.append(_head(record, turns))
    if all(turn.picture is None for turn in turns):
        blocks.append(_how_to_draw(run, record))
    steps = [*(_step(turn, record) for turn in turns), _end(run, turns[-1], record)]
    return [*blocks, Block(tag("div", *steps, class_="steps"), _data(record, turns))]


def _head(record: AttemptRecord, turns: Sequence[Turn]) -> Safe:
    asked = [turn for turn in turns if turn.strict is not None]
    words = [f"{len(turns)} of {count(record.settings.budgets.actions, 'step')}."]
    if asked:
        named = sum(turn.taken is not None for turn in asked)
        apart = sum(turn.apart for turn in asked)
        replies = count(len(asked), "reply")
        words.append(f"{named} of {replies} named one option; at {apart} the two decoders read differently.")
    else:
        words.append("This agent calls no model: there is no reply to read.")
    return tag("p", " ".join(words), class_="quiet")


def _step(turn: Turn, record: AttemptRecord) -> Safe:
    limit = record.settings.budgets.actions
    title = tag("h3", f"Step {turn.step} of {limit}")
    said = [title, _options(turn), *_reply(turn)]
    return tag("section", tag("div", _picture(turn), class_="seen"), tag("div", *said), class_="step",
               id=f"step-{turn.step}")  # fmt: skip


def _end(run: str, last: Turn, record: AttemptRecord) -> Safe:
    """What the last step led to."""
    drawn = last.after is not None
    shown = _image(last.after, f"After step {last.step}", DRAWN)
    how = tag("p", small("No model is sent it. Drawn by: "), code(Safe(escape(_command(run, record)))))
    said = (tag("h3", f"After step {last.step}"), tag("p", record.text or record.cause), *([] if drawn else [how]))
    return tag("section", tag("div", shown, class_="seen"), tag("div", *said), class_="step", id="end")


def _picture(turn: Turn) -> Safe:
    return _image(turn.picture, f"Step {turn.step}", "as it was sent to the model" if turn.sent else DRAWN)


def _image(picture: bytes | None, what: str, origin: str) -> Safe:
    if picture is None or len(picture) > LARGEST:
        return tag("p", small("no picture of this step is stored"))
    source = "data:image/png;base64," + base64.b64encode(picture).decode()
    return join((tag("img", src=Safe(source), alt=f"{what}, {origin}"), tag("p", small(origin))))


def _options(turn: Turn) -> Safe:
    items = [
        tag("li", tag("strong", f"{letter(index)}) "), text, *([" ", badge("taken")] if index == turn.taken else []),
            class_="taken" if index == turn.taken else None)
        for index, text in enumerate(turn.options)
    ]  # fmt: skip
    none = tag("p", badge("none taken", "warn"), " the step was used up, and nothing changed")
    return join((tag("ul", *items, class_="options"), none if turn.taken is None else ""))


def _reply(turn: Turn) -> list[Safe]:
    if turn.reply is None:
        return []
    found = [tag("p", small("Reply, as it came"), class_="label"), _pre(turn.reply)]
    if turn.cut:
        found.append(small(f"{count(turn.cut, 'more character')} in the transcript"))
    rows = [
        [name, _read(turn, reading), reading.rule]
        for name, reading in ((STRICT, turn.strict), (PUBLISHED, turn.published))
        if reading is not None
    ]
    if rows:
        mark = [" ", badge("they differ", "warn")] if turn.apart else []
        found.append(table("What was read in it", ("Decoder", "Reads", "By the rule"), rows))
        found.append(tag("p", *mark) if mark else Safe(""))
    return found


def _read(turn: Turn, reading: Reading) -> Safe:
    if reading.index is None:
        return tag("em", {"ambiguous": "several options", "none": "no option"}.get(reading.kind, reading.kind))
    known = 0 <= reading.index < len(turn.options)
    return join((tag("strong", letter(reading.index)), f" {turn.options[reading.index]}" if known else ""))


def letter(index: int) -> str:
    return string.ascii_uppercase[index] if 0 <= index < 26 else str(index)


def _how_to_draw(run: str, record: AttemptRecord) -> Safe:
    return notice(
        "No picture of this episode is stored.",
        tag("p", "Whoever has the records draws them from the recorded states:"),
        tag("pre", code(Safe(escape(_command(run, record))))),
    )


def _command(run: str, record: AttemptRecord) -> str:
    return COMMAND.format(run=run, sequence=record.sequence)


def _data(record: AttemptRecord, turns: Sequence[Turn]) -> Data:
    columns = ("step", "option", "text", "taken", "reply", "strict", "strict_rule", "published", "published_rule")
    rows = [
        [turn.step, letter(index), text, index == turn.taken, turn.reply, *_columns(turn.strict),
         *_columns(turn.published)]
        for turn in turns
        for index, text in enumerate(turn.options)
    ]  # fmt: skip
    return data_of(f"steps-{record.sequence}", columns, rows)


def _columns(reading: Reading | None) -> list[str | None]:
    if reading is None:
        return [None, None]
    return [reading.kind if reading.index is None else letter(reading.index), reading.rule]


def _pre(value: str) -> Safe:
    return Safe(f"<pre><code>{escape(public(value, LONGEST))}</code></pre>")
