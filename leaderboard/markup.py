"""HTML by small functions. Text is escaped unless it is :class:`Safe`, and passes :func:`leaderboard.public.public`."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from contextvars import ContextVar
from datetime import UTC, datetime
from html import escape
from typing import Any
from urllib.parse import urlencode

from leaderboard.public import inline

VOID = {"br", "img"}


class Safe(str):
    """HTML that was built here."""

    __slots__ = ()


def text(value: Any) -> Safe:
    """Anything as escaped text; what is Safe already stays as it is."""
    return value if isinstance(value, Safe) else Safe(escape(inline(value), quote=True))


def join(parts: Iterable[Any], between: str = "") -> Safe:
    return Safe(between.join(text(part) for part in parts))


def tag(name: str, *content: Any, **attributes: Any) -> Safe:
    """An element. ``class_`` is class, ``data_label`` is data-label; an attribute that is None is left out.
    One that is Safe stays as it is: without quotes, and not cut."""
    given = "".join(
        f' {key.rstrip("_").replace("_", "-")}="{text(value if isinstance(value, Safe) else str(value))}"'
        for key, value in attributes.items()
        if value is not None
    )
    return Safe(f"<{name}{given}>" if name in VOID else f"<{name}{given}>{join(content)}</{name}>")


def link(label: Any, **parameters: Any) -> Safe:
    """To a page of this site; without parameters to the front page. Just the label where the site has no such page."""
    where = address(**parameters)
    return text(label) if where is None else Safe(f'<a href="{escape(where)}">{text(label)}</a>')


def address(**parameters: Any) -> str | None:
    """Where the page of these parameters is; a parameter that is None is left out. None where there is no such page, or
    where a text that may not be shown would stand in the address."""
    given = {name: str(value) for name, value in parameters.items() if value is not None}
    return SITE.get()(given) if all(inline(value) == value for value in given.values()) else None


def _served(parameters: dict[str, str]) -> str:
    return "?" + urlencode(parameters)


# How addresses are made: the server's pages by their parameters, the files of a static export by their names.
SITE: ContextVar[Callable[[dict[str, str]], str | None]] = ContextVar("SITE", default=_served)


def small(*content: Any) -> Safe:
    return tag("small", *content)


def code(value: Any) -> Safe:
    return tag("code", value)


def badge(label: str, kind: str = "") -> Safe:
    return tag("span", label, class_=f"badge {kind}".strip())


def notice(title: str, *content: Any, kind: str = "") -> Safe:
    """A box that says one thing."""
    return tag("section", tag("strong", title), *content, class_=f"notice {kind}".strip())


def facts(pairs: Iterable[tuple[str, Any]]) -> Safe:
    """A list of names and values."""
    rows = [tag("div", tag("dt", name), tag("dd", value)) for name, value in pairs]
    return tag("dl", *rows, class_="facts")


def table(caption: str, head: Sequence[str], rows: Iterable[Sequence[Any]], *, kind: str = "") -> Safe:
    """A table whose first column names its rows. It scrolls by itself where the screen is too narrow; with kind
    ``cards`` a row becomes a card there."""
    cells = [tag("th", name, scope="col") for name in head]
    body = [_row(head, row) for row in rows]
    whole = tag(
        "table", tag("caption", caption), tag("thead", tag("tr", *cells)), tag("tbody", *body), class_=kind or None
    )
    return tag("div", whole, class_="scroll", tabindex=0, role="group", aria_label=caption)


def _row(head: Sequence[str], row: Sequence[Any]) -> Safe:
    first, *rest = row
    cells = [tag("td", value, data_label=name) for name, value in zip(head[1:], rest, strict=True)]
    return tag("tr", tag("th", first, scope="row", data_label=head[0]), *cells)


def bar(lower: float, upper: float, value: float | None, spoken: str) -> Safe:
    """A dot with its interval on a scale from 0 to 1; without a value, bounds."""
    left, width = _percent(lower), _percent(max(upper - lower, 0.0))
    kind = "bounds" if value is None else "interval"
    parts = [tag("span", class_=kind, style=f"left:{left};width:{width}")]
    if value is not None:
        parts.append(tag("span", class_="dot", style=f"left:{_percent(value)}"))
    return tag("div", *parts, class_="bar", role="img", aria_label=spoken)


def moment(value: datetime | None) -> str:
    """UTC to the minute."""
    return "never" if value is None else f"{value.astimezone(UTC):%Y-%m-%d %H:%M} UTC"


def seconds(value: float | None) -> str:
    return "unknown" if value is None else f"{value:,.2f} s"


def whole(value: int | None) -> str:
    return "unknown" if value is None else f"{value:,}"


def hundredths(value: float) -> str:
    """A bound of an interval, in percent."""
    return f"{100 * value:.2f}"


def _percent(value: float) -> str:
    return f"{100 * value:.2f}%"
