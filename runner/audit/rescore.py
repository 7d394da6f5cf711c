"""``rescore`` and ``eligibility``: every number again from the ledger alone, and which attempts count and why."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

from pydantic import ValidationError

from manifests.image_lock import ImageLock, load_image_lock
from manifests.load import Manifests
from runner.audit.findings import Check, Finding, check, note, problem, skipped
from runner.audit.records import check_records
from runner.audit.snapshot import Folded, Snapshot, differing
from runner.score import score_run
from runner.settings import flatten
from runner.store.store import Run, Store
from runner.store.text import parse
from runner.words import count
from scoring.ledger import LedgerError

SHOWN = 20  # differing numbers that are listed one by one
OFFICIAL = "docker"  # the only runtime whose processes come from images
PLACES = ("run.records",)  # where the records lie is no number

Report = dict[str, Any]


def rescore(
    store: Store,
    run: Run,
    found: Snapshot,
    folded: Folded,
    manifests: Manifests,
    against: Report | None,
) -> tuple[Check, Report | None]:
    """Score the folded ledger and the attempt table of the store, and compare every number of the two.

    ``against`` is a result that was published (JSON of ``assay score``); it is compared too.
    """
    findings: list[Finding] = list(differing(folded.attempts, found.attempts))
    if folded.run is None:
        return skipped("rescore", "the ledger cannot be read"), None
    mine = _score(folded.store, folded.run, manifests, "ledger", findings)
    theirs = _score(store, run, manifests, "attempt table", findings)
    if mine is None:
        return check("rescore", "no number can be computed", findings), None
    findings += check_records(folded, folded.run, manifests)
    numbers = flatten(mine)
    if theirs is not None:
        findings += _compare(numbers, flatten(theirs), "in the attempt table")
    if against is not None:
        findings += _compare(numbers, flatten(against), "in the published result")
    findings += [note("run", text) for text in mine["run"].get("stale", ())]
    if run.settings.get("runtime") == OFFICIAL:
        findings += unknown_images(run.settings["images"], load_image_lock())
    summary = f"{count(len(numbers), 'number')} and words of {count(len(folded.records), 'record')} recomputed"
    return check("rescore", summary, findings, {"numbers": len(numbers), "total": mine["total"]}), mine


def eligibility(report: Report | None, found: Snapshot) -> Check:
    """Fails when something is left to decide by nobody: unknown causes, overlapping, unplanned and missing attempts."""
    if report is None:
        return skipped("eligibility", "the ledger cannot be scored")
    ledger, findings = report["ledger"], list(_overlaps(found))
    for sequence in ledger["unknown_causes"]:
        findings.append(problem(f"attempt {sequence}", "its cause or code is in no table"))
    if ledger["outside_selection"]:
        findings.append(problem("ledger", f"{count(ledger['outside_selection'], 'attempt')} at tasks outside the run"))
    findings += _slots(report)
    findings += [
        note(f"attempt {row['sequence']}", row["reason"]) for row in report["attempts"] if row["status"] != "scored"
    ]
    names = ("scored", "excluded", "extra", "pending", "candidate", "invalid", "open")
    counted = [f"{ledger[name]:,} {name}" for name in names if ledger.get(name)]
    data = {"ledger": ledger, "attempts": report["attempts"], "rankable": report["rankable"]}
    return check("eligibility", ", ".join(counted) or "no attempt", findings, data)


def unknown_images(images: dict[str, dict[str, str]], known: ImageLock) -> list[Finding]:
    """The images of a run (engine to role to canonical identity) that no release has."""
    found = {role: content for pair in images.values() for role, content in pair.items()}
    return [
        note(f"image {role}", f"{content[:12]} is of no release: an unreleased build")
        for role, content in found.items()
        if known.release_of(role, content) is None
    ]


def _score(store: Store, run: Run, manifests: Manifests, where: str, findings: list[Finding]) -> Report | None:
    try:
        return score_run(store, run, manifests)
    except (LedgerError, ValidationError, ValueError, KeyError, TypeError) as error:
        first = (str(error).splitlines() or [type(error).__name__])[0]
        findings.append(problem(where, f"cannot be scored: {first}"))
        return None


def _compare(mine: dict[str, Any], theirs: dict[str, Any], where: str) -> Iterator[Finding]:
    paths = [path for path in {**mine, **theirs} if not _same(mine.get(path), theirs.get(path))]
    paths = [path for path in paths if path not in PLACES]
    for path in paths[:SHOWN]:
        yield problem(path, f"is {theirs.get(path)} {where}, and {mine.get(path)} from the records")
    if len(paths) > SHOWN:
        yield problem("and so on", f"{len(paths) - SHOWN} more differ {where}")


def _same(one: Any, other: Any) -> bool:
    both_nan = isinstance(one, float) and isinstance(other, float) and math.isnan(one) and math.isnan(other)
    return bool(one == other) or both_nan


def _overlaps(found: Snapshot) -> Iterator[Finding]:
    """Attempts at one condition never overlap, so that nobody draws twice and keeps the better one."""
    open_at: dict[tuple[str, int], tuple[str, int]] = {}
    for entry in found.entries:
        try:
            payload = parse(entry.payload)
            if entry.kind == "opened":
                key = (payload["environment_id"], payload["condition"])
                if key in open_at:
                    text = f"opened at {key[0]} c{key[1]} before attempt {open_at[key][1]} there was closed"
                    yield problem(f"attempt {entry.sequence}", text)
                open_at[key] = (payload["attempt"], entry.sequence)
            elif entry.kind == "closed":
                open_at = {key: one for key, one in open_at.items() if one[0] != payload["attempt"]}
        except (ValueError, KeyError, TypeError):
            continue  # the chain check has said so


def _slots(report: Report) -> Iterator[Finding]:
    away = {name for row in report["unavailable"] for name in row["environments"]}
    for row in report["unavailable"]:
        yield note("plan", f"missing here: {row['text']}")
    for group in report["groups"]:
        missing = group["missing"]
        if missing and group["environment_id"] not in away and report["run"]["kind"] == "evaluated":
            which = ", ".join(f"c{index}" for index in missing)
            text = f"{which} of {group['environment_id']} still due: the run is unfinished or its log was cut short"
            yield problem("plan", text)
