"""Which board a command means, and what a run of it gets without a choice."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from manifests.errors import nearest
from runner.errors import BadInput

if TYPE_CHECKING:
    from manifests.load import Manifests

DEFAULT = "ep"


def complete(options: dict[str, Any], manifests: Manifests) -> None:
    """Fill in board, subset and protocol. A subset says by itself of which board it is. Raises BadInput."""
    subset = manifests.subsets.get(options["subset"]) if options["subset"] is not None else None
    board = options["board"] or (subset.board if subset is not None else DEFAULT)
    if board not in manifests.boards:
        raise BadInput(f"board {board!r} is not one of {', '.join(manifests.boards)}{nearest(board, manifests.boards)}")
    if subset is not None and subset.board != board:
        own = [name for name, row in manifests.subsets.items() if row.board == board]
        raise BadInput(f"subset {options['subset']!r} is of board {subset.board}; board {board} has {', '.join(own)}")
    rules = manifests.boards[board]
    options["board"] = board
    options["subset"] = options["subset"] or rules.subset
    protocol = options["protocol"] or rules.protocols[0]
    if protocol not in rules.protocols:
        near, known = nearest(protocol, rules.protocols), ", ".join(rules.protocols)
        raise BadInput(f"protocol {protocol!r} is none of board {board}{near}; choose one of: {known}")
    options["protocol"] = protocol


def with_seeds(options: dict[str, Any], manifests: Manifests) -> Manifests:
    """The manifests with the seed list that was given, if one was. Raises BadInput."""
    if options["seeds"] is None:
        return manifests
    from runner.seeds import read_list, with_list

    return with_list(manifests, options["board"], read_list(options["seeds"], manifests, options["board"]))


def keep_seeds(options: dict[str, Any], manifests: Manifests, home: Path) -> None:
    """Keep the list that was given under ``home``, so that its run can go on and be audited."""
    if options["seeds"] is not None:
        from runner.seeds import keep, list_of

        keep(home, list_of(manifests, options["board"]))
