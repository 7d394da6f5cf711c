"""The frame of a reference agent's episode, the same for every family."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from images.client.results import Description, Terminal
from images.client.sdk import Client
from images.reference.motion import Terminated


class Unequipped(RuntimeError):
    """The session does not grant what the reference agent needs."""


def play(
    client: Client,
    needed: Sequence[str],
    episode: Callable[[Description], str],
    gives_up: tuple[type[Exception], ...],
    report: Callable[[str], None],
) -> Terminal:
    """Play to the end. ``needed`` are fields that only level L3 has; ``episode`` returns why it stops, or raises one of
    ``gives_up``. Raises Unequipped below level L3."""
    description = client.describe()
    missing = [name for name in needed if name not in description.fields]
    if missing:
        level = description.access["level"]
        raise Unequipped(
            f"the reference agent needs access level L3; this session has {level} and no field {missing[0]!r}"
        )
    try:
        reason = episode(description)
    except Terminated as ended:
        return ended.terminal
    except gives_up as failure:
        reason = str(failure)
    report(f"stops: {reason}")
    return client.finish()
