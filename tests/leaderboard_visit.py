"""A visit to a page without a browser, and the page as its reader sees it. Needs Streamlit."""

from __future__ import annotations

import html
import re
from typing import Any

from streamlit.testing.v1 import AppTest

from leaderboard.app import __file__ as APP


def visit(**parameters: Any) -> AppTest:
    app = AppTest.from_file(APP, default_timeout=60)
    for name, value in parameters.items():
        app.query_params[name] = value if isinstance(value, list) else str(value)
    app.run()
    assert not app.exception, app.exception
    return app


def shown(app: AppTest) -> str:
    """The page as HTML, without its style sheet."""
    bodies = [element.proto.body for element in app.get("html")]
    return "\n".join(body for body in bodies if not body.lstrip().startswith("<style"))


def words(app: AppTest) -> str:
    """The page as a reader sees it."""
    return spoken(shown(app))


def spoken(part: str) -> str:
    return html.unescape(re.sub(r"\s+", " ", re.sub(r"<[^>]+>", " ", part))).strip()


def lines(app: AppTest, caption: str) -> list[str]:
    """The rows of a table, as words. ``caption`` is how its caption begins."""
    found = re.search(rf"<caption>{re.escape(caption)}.*?</table>", shown(app), flags=re.DOTALL)
    if found is None:
        return []
    body = found.group(0).split("<tbody>")[1]
    return [spoken(row) for row in body.split("<tr>")[1:]]
