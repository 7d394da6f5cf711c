"""The state of every planned condition of a run as one sign, so that a thousand runs fit into memory and onto a page.

A success has the number of the valid attempt that made it: ``1``, ``2`` ... up to 9.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

SIGN = {"failure": "f", "candidate": "c", "invalid": "i", "missing": "m"}
STATE = {sign: name for name, sign in SIGN.items()}


def signs(groups: Iterable[dict[str, Any]]) -> str:
    """From the groups of a report: their conditions in order."""
    return "".join(_sign(condition) for group in groups for condition in group["conditions"])


def state(sign: str) -> str:
    """``success``, ``failure``, ``candidate``, ``invalid`` or ``missing``."""
    return "success" if sign.isdigit() else STATE[sign]


def within(sign: str, k: int) -> bool | None:
    """Success within ``k`` valid attempts; None while it is not known."""
    if sign.isdigit():
        return int(sign) <= k
    return False if sign == SIGN["failure"] else None


def _sign(condition: dict[str, Any]) -> str:
    if condition["state"] != "success":
        return SIGN[condition["state"]]
    return min((k for k, known in condition["within"].items() if known == 1), key=int)
