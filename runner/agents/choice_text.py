"""The texts of the ``choice`` agent, made of the files ``prompts/choice*`` and of what ``describe`` says."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from string import Template
from typing import Any

from runner.agents.choices import LETTERS
from runner.agents.pictures import Picture
from runner.agents.policy import PROMPTS


def rules_text(setting: str) -> str:
    """How to play, and how to answer in a setting."""
    return _template("choice").substitute(answer=_template(f"choice_{setting}").template.strip())


def step_text(goal: str, step: int, steps: int, options: Sequence[str]) -> str:
    """One step: the goal, the count of steps, the lettered options. Its picture follows."""
    return _template("choice_step").substitute(goal=goal, step=step, steps=steps, options=lettered(options)).strip()


def example_parts(worked: Mapping[str, Any], pictures: Sequence[Picture]) -> list[dict[str, Any]]:
    """The worked example as content of one message: each step with its picture, the right action and the reason."""
    steps = worked["steps"]
    parts = [text(_template("choice_example").substitute(goal=worked["goal"], steps=len(steps)).strip())]
    for number, (step, picture) in enumerate(zip(steps, pictures, strict=True), 1):
        options, right = step["options"], step["option"]
        before = _template("choice_example_step").substitute(step=number, options=lettered(options))
        after = _template("choice_example_answer").substitute(
            letter=LETTERS[right], action=options[right], reason=step["reason"]
        )
        parts += [text(before.strip()), image(picture), text(after.strip())]
    return parts


def lettered(options: Sequence[str]) -> str:
    """``A) 'pick up ...'``, one a line."""
    return "\n".join(f"{letter}) '{option}'" for letter, option in zip(LETTERS, options, strict=False))


def text(said: str) -> dict[str, Any]:
    return {"type": "text", "text": said}


def image(picture: Picture) -> dict[str, Any]:
    """As it stands in a stored message, named by its artifact."""
    return picture.part()


@cache
def _template(name: str) -> Template:
    return Template((PROMPTS / f"{name}.md").read_text(encoding="utf-8"))
