"""The state of every planned condition of a run as one sign, so that a thousand runs fit into memory and onto a page.

A success has the number of the valid attempt that made it: ``1``, ``2`` ... up to 9.
"""

from __future__ import annotations

import numpy as np

from scoring.eligibility import STATES, Eligibility
from scoring.window import State

SIGN = {"failure": "f", "candidate": "c", "invalid": "i", "missing": "m"}
STATE = {sign: name for name, sign in SIGN.items()}


def signs(judged: Eligibility) -> str:
    """One for each slot of the layout."""
    first = (judged.window.known == 1).argmax(axis=1) + 1  # of a success: the smallest k that holds it
    states = np.array([STATES[int(state)] for state in judged.window.state])
    return "".join(
        str(number) if state == STATES[State.SUCCESS] else SIGN[state]
        for number, state in zip(first.tolist(), states.tolist(), strict=True)
    )


def state(sign: str) -> str:
    """``success``, ``failure``, ``candidate``, ``invalid`` or ``missing``."""
    return "success" if sign.isdigit() else STATE[sign]
