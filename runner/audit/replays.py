"""``replay``: a sample of the attempts in fresh pairs, each compared with what was stored."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from manifests.audit import load_audit
from manifests.load import Manifests
from manifests.records import AttemptRecord
from runner.audit import compare
from runner.audit.classes import judge, origin_of
from runner.audit.findings import Check, Finding, check, note, problem, skipped
from runner.audit.recorded import CannotReplay, read, slot
from runner.audit.replay import replay
from runner.audit.rescore import OFFICIAL
from runner.audit.snapshot import Folded
from runner.halt import Halt
from runner.plan import Slot
from runner.runtimes.base import EngineGone, Runtime
from runner.startup import Cancelled
from runner.store.text import storable
from runner.words import count

SlotOf = Callable[[AttemptRecord, Manifests], Slot]


@dataclass(frozen=True)
class Replays:
    """How to replay: where the attempts lie, in which runtime, and whom to tell (``attempt 3: 1,200 actions``)."""

    folder: Path
    runtime: Runtime
    manifests: Manifests
    jobs: int
    say: Callable[[str], None]
    slot_of: SlotOf = slot


def replayable(folded: Folded) -> list[AttemptRecord]:
    """Records of attempts that took at least one action and kept it."""
    return [
        record
        for row in folded.attempts
        if (record := folded.records.get(row.id)) is not None
        and record.actions > 0
        and any(artifact.name == "actions.npy" for artifact in record.artifacts)
    ]


def check_replays(setting: Replays, chosen: list[AttemptRecord], possible: int, sampling: dict[str, Any]) -> Check:
    """Raises EngineGone when the runtime is lost; whatever one attempt does is a finding of that attempt."""
    if not chosen:
        return skipped("replay", "no attempt took an action that could be replayed")
    halt = Halt()
    rows: dict[int, dict[str, Any]] = {}
    findings: dict[int, list[Finding]] = {}
    with ThreadPoolExecutor(setting.jobs) as threads:
        running = {threads.submit(_one, setting, record, halt): record for record in chosen}
        try:
            for done in as_completed(running):
                sequence = running[done].sequence
                rows[sequence], findings[sequence] = done.result()
                setting.say(f"replay {len(rows)} of {len(chosen)}: attempt {sequence} {rows[sequence]['status']}")
        except BaseException:  # Ctrl-C and a lost Engine: end what runs, or leaving the block would wait for it
            halt.abandon()
            for future in running:
                future.cancel()
            setting.runtime.close()
            raise
    same = sum(row["status"] == "same" for row in rows.values())
    diverged = sum(row["status"] == "diverged" for row in rows.values())
    actions = sum(row["actions"] for row in rows.values())
    remarks = Counter(row["remark"] for row in rows.values() if row.get("remark") is not None)
    parts = [f"{same} of {count(len(chosen), 'attempt')} the same", f"{diverged} diverged", count(actions, "action")]
    summary = ", ".join([*parts, *(f"{number} {remark}" for remark, number in remarks.items())])
    data = {
        "sampling": {**sampling, "replayable": possible, "chosen": [record.sequence for record in chosen]},
        "runtime": setting.runtime.facts.name,
        "attempts": [rows[record.sequence] for record in chosen],
    }
    return check("replay", summary, [one for record in chosen for one in findings[record.sequence]], data)


def _one(setting: Replays, record: AttemptRecord, halt: Halt) -> tuple[dict[str, Any], list[Finding]]:
    where = f"attempt {record.sequence}"
    row = {
        "sequence": record.sequence,
        "attempt": record.attempt,
        "environment_id": record.environment_id,
        "condition": record.condition,
        "actions": record.actions,
    }

    def progress(actions: int) -> None:
        setting.say(f"replay of {where} ({record.environment_id} c{record.condition}): {count(actions, 'action')}")

    try:
        recorded = read(record, setting.folder / record.attempt)
        began = time.monotonic()
        found = replay(
            setting.runtime,
            record,
            recorded,
            setting.slot_of(record, setting.manifests),
            setting.manifests,
            halt,
            progress,
        )
    except CannotReplay as error:
        return {**row, "status": "failed", "why": str(error)}, [problem(where, f"cannot be replayed: {error}")]
    except Cancelled:
        raise EngineGone("the replay was stopped") from None
    policy = load_audit()
    origin = origin_of(record, found, policy, from_images=setting.runtime.facts.name == OFFICIAL)
    judged, ended = judge(record, recorded, found, origin, setting.manifests, policy), compare.verdict(record, found)
    apart, rule = judged.divergence, policy.classes[judged.binding]
    text = compare.disclosed(recorded, found.course)
    row |= {
        "status": "diverged" if apart is not None or ended.agrees is False or text is not None else "same",
        "declared": judged.declared,
        "class": judged.binding,
        "remark": judged.remark,
        "fingerprint_differs": list(origin.differs),
        "image": {"recorded": record.images[0].content if record.images else None, "replayed": found.images[0].content},
        "actions": len(found.course.actions),
        "digests": sum(count in dict(found.course.digests) for count, _ in recorded.digests),
        "states": min(len(recorded.times), len(found.course.times)),
        "divergence": apart.plain() if apart is not None else None,
        "verdict": asdict(ended),
        "stepping_s": round(found.stepping_s, 3),
        "wall_s": round(time.monotonic() - began, 3),
    }
    findings = [problem(where, line) for line in origin.impossible]
    if origin.differs:
        outcome = judged.remark or (f"{judged.declared} all the same" if apart is None else "which does not explain it")
        findings.append(note(where, f"another fingerprint ({', '.join(origin.differs)}): {outcome}"))
    if apart is not None and judged.severity is not None:
        remark = f"{judged.remark}: " if judged.remark else ""
        findings.append(Finding(judged.severity, where, f"{remark}diverges {apart}"))
    if ended.agrees is False:
        findings.append(Finding(rule.verdict, where, f"recorded {ended.recorded}, replayed {ended.replayed}"))
    if text is not None:
        findings.append(Finding(rule.verdict, where, f"the task was described otherwise: {text}"))
    return dict(storable(row)), findings
