"""Dispatch of the reference agent on the environment's family."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module

from images.client import Client, connect
from images.client.results import Terminal

# Family (first part of the environment's id) to the module that solves it: ``solve(client, report) -> Terminal``.
FAMILIES = {
    "marble": "images.mujoco.launcher.reference.agent",
    "hanoi_panda": "images.mujoco.hanoi.reference.agent",
    "hanoi_sharpa": "images.mujoco.hanoi.reference.agent",
    "hanoi_floating": "images.mujoco.hanoi.reference.agent",
}


class NoReference(LookupError):
    """There is no reference agent for this environment's family."""


def solve(client: Client | None = None, report: Callable[[str], None] = print) -> Terminal:
    """Connect to the attempt's environment, solve it and return how it ended. ``report`` takes progress lines.

    Raises NoReference for a family without a reference agent.
    """
    client = client or connect()
    environment_id = client.describe().environment_id
    family = environment_id.split("/")[0]
    if family not in FAMILIES:
        raise NoReference(f"no reference agent solves {environment_id!r}; families with one: {', '.join(FAMILIES)}")
    terminal: Terminal = import_module(FAMILIES[family]).solve(client, report)
    report(f"{environment_id}: {terminal.cause}{f' ({terminal.code})' if terminal.code else ''}: {terminal.text}")
    return terminal
