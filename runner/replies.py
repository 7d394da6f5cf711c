"""How the replies of a run were read, summed over its records (boards whose agents name lettered options)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Any

from manifests.records import AttemptRecord
from runner.agents.choice_record import REPLIES
from runner.words import count

KINDS = ("chosen", "ambiguous", "none", "published_differs")


def tally(records: Iterable[AttemptRecord]) -> dict[str, int] | None:
    """Steps by what the strict decoder made of their replies, and those that the published one reads otherwise; None
    where no record says."""
    counts: Counter[str] = Counter()
    found = False
    for record in records:
        replies = record.evidence.get(REPLIES)
        if isinstance(replies, dict):
            found = True
            counts.update({kind: replies[kind] for kind in KINDS if isinstance(replies.get(kind), int)})
    return {kind: counts[kind] for kind in KINDS} if found else None


def line(found: dict[str, Any]) -> str:
    """``130 replies: 120 named an option, 3 several (ambiguous), 7 none``, and of how many the published decoder reads
    otherwise."""
    every = sum(found[kind] for kind in ("chosen", "ambiguous", "none"))
    return (
        f"{count(every, 'reply')}: {found['chosen']:,} named an option, {found['ambiguous']:,} several (ambiguous), "
        f"{found['none']:,} none; the published decoder reads {found['published_differs']:,} of the {every:,} otherwise"
    )
