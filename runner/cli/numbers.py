"""Numbers that people type: a wrong one is an error that names the field, the value and the fix."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from typing import Any

import click

from runner.errors import BadInput


class _Number(click.ParamType):
    """``low`` and ``high`` are permitted themselves."""

    def __init__(self, name: str, make: Callable[[str], float], low: float, high: float, what: str) -> None:
        self.name = name
        self._make, self._low, self._high, self._what = make, low, high, what

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        try:
            number = self._make(value) if isinstance(value, str) else value
        except ValueError:
            number = math.nan
        if math.isfinite(number) and self._low <= number <= self._high:
            return number
        field = str(param.name if param is not None else self.name).replace("_", "-")
        raise BadInput(f"{field} {str(value)[:60]}: give {self._what}")


def whole(what: str, low: int, high: float = math.inf) -> click.ParamType:
    """A whole number; ``what`` completes 'give ...'."""
    return _Number("integer", int, low, high, what)


def real(what: str, low: float, high: float = math.inf) -> click.ParamType:
    """A finite number."""
    return _Number("number", float, low, high, what)


class NumberedCommand(click.Command):
    """A command with the number of an attempt among its arguments: ``-5`` is a wrong one and no unknown option."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        given = tuple(args)
        try:
            return super().parse_args(ctx, args)
        except click.NoSuchOption as error:
            wrong = [text for text in given if text.startswith(error.option_name) and re.fullmatch("-[0-9]+", text)]
            if not wrong:
                raise
            raise BadInput(f"sequence {wrong[0][:60]}: give the number that reports show for the attempt") from None
