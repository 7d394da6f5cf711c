"""A submitted run against the manifests: the same budgets, every condition, images and decisions that are known."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from datetime import timedelta

from manifests.errors import ManifestError
from manifests.load import Manifests
from manifests.submission import LEDGER_FILE, Limits, RunSettings
from runner.seeds import private_digest
from runner.store.decisions import (
    PAYLOAD_TYPE,
    Decision,
    incident_state,
    ruling_of,
    signed_bytes,
    why_proposal,
)
from runner.store.signature import holds
from runner.store.status import stale
from runner.store.tables import AttemptRow
from runner.store.text import now, stamp
from runner.submission.expected import Expected, baseline_digest, expected, image_known
from runner.submission.findings import Report, shown
from runner.submission.ledger_file import Ruled

UNRELEASED = (
    "no release in manifests/images.lock has it; build the images of a release (its checkout, then `make images`), "
    "evaluate again and submit that run; `assay images verify` says whether yours are of one"
)
SETTINGS = f"{LEDGER_FILE}[1].payload.settings"


def check_settings(settings: RunSettings, manifests: Manifests, report: Report) -> Expected | None:
    """What the manifests expect of a run of these choices; None where they cannot say."""
    try:
        wanted = expected(settings, manifests)
    except ManifestError as error:
        report.problem(SETTINGS, str(error))
        return None
    found = settings.model_dump(mode="json", exclude={"images", "versions"}, exclude_unset=True)
    report.differences(SETTINGS, found, wanted.settings, "the manifests; evaluate again with these")
    digest = baseline_digest(settings.model, settings.board)
    if digest is not None and digest != settings.agent.digest:
        report.note(
            f"{SETTINGS}.agent.digest",
            f"{settings.agent.digest} is not the {digest} of {settings.model} in this release",
        )
    if (private := private_digest(settings.versions, manifests)) is not None:
        report.note(
            f"{SETTINGS}.versions.seeds",
            f"{private} is a private seed list: no episode was held against its seed, and the condition hashes "
            "are those of the public list; whoever has it puts it at seeds/SHA256.json under the home of the records, "
            "and `assay audit RUN --replay all` then holds every episode against it",
        )
    engines = sorted({item.engine for item in wanted.planned.values() if item.reason is None})
    for engine in engines:
        _images(settings, manifests, engine, report)
    for reason in stale([settings.versions], engines, manifests):
        report.note(f"{SETTINGS}.versions", reason)
    return wanted


def _images(settings: RunSettings, manifests: Manifests, engine: str, report: Report) -> None:
    path = f"{SETTINGS}.images.{engine}"
    roles = settings.images.get(engine, {})
    needed = manifests.engines[engine].role
    if needed not in roles:
        report.problem(path, f"has no image {needed!r}: a run records what it ran in; submit the run again")
    for role, content in roles.items():
        if role != needed and role not in manifests.sandboxes:
            report.problem(f"{path}.{role}", f"unknown image role; known: {needed}, {', '.join(manifests.sandboxes)}")
            continue
        known = image_known(settings.runtime, role, content)
        text = f"unknown image {shown(content)}"
        if known is False:
            report.problem(f"{path}.{role}", f"{text}: {UNRELEASED}")
        elif known is None:
            report.note(f"{path}.{role}", f"{text}: no pinned identity here is the same; only a rerun can tell")


def check_coverage(
    wanted: Expected, attempts: Sequence[tuple[str, int, str]], manifests: Manifests, report: Report
) -> None:
    """Every prescribed condition of an environment that runs here has an attempt with a record, and no other has one.

    ``attempts`` are (environment, condition, state)."""
    closed = Counter((name, condition) for name, condition, state in attempts if state == "closed")
    for name, condition, state in attempts:
        if state != "closed":
            report.problem(
                LEDGER_FILE, f"{name} c{condition}: an attempt is {state} and has no record; go on with the run"
            )
    for name, item in wanted.planned.items():
        if item.reason is not None:
            report.note(LEDGER_FILE, f"{name}: no attempt counts here, {item.reason}")
        for prescribed in item.conditions:
            if not closed[name, prescribed.index]:
                report.problem(
                    LEDGER_FILE,
                    f"{name} c{prescribed.index}: the condition has no attempt; go on with the run, then submit",
                )
    for name, condition in sorted(set(closed)):
        found = wanted.planned.get(name)
        if found is not None and found.reason is not None:
            text = f"nobody can make an attempt here, {found.reason}; verify it with the release that it was made by"
        elif found is None or condition not in {row.index for row in found.conditions}:
            text = "is not planned in subset and tasks of this run; leave it out"
        else:
            continue
        report.problem(LEDGER_FILE, f"{name} c{condition}: {text}")


class DecisionCheck:
    """Decisions on incidents: what binds here, what is a proposal, what is forged."""

    def __init__(self, settings: RunSettings, manifests: Manifests, limits: Limits, report: Report) -> None:
        protocol = manifests.protocols.get(settings.protocol)
        self._protocol = settings.protocol
        self._exclusion = protocol.exclusion if protocol else None
        self._manifests, self._limits, self._report = manifests, limits, report
        self._automatic: Counter[tuple[str, int]] = Counter()

    def check(self, row: AttemptRow) -> None:
        """The decisions on one attempt, whose record has its schema and names a known protocol."""
        if row.decisions is None:
            return
        state = incident_state(row, self._manifests)
        for decision in state.proposals:
            self._proposal(decision)
        if state.binding is not None and state.binding.by_policy:
            slot = (row.environment_id, row.condition)
            self._automatic[slot] += 1
            allowed = self._exclusion.automatic_per_condition if self._exclusion else 0
            if self._automatic[slot] > allowed:
                self._report.problem(
                    _path(state.binding),
                    f"{self._automatic[slot]} incidents at {slot[0]} c{slot[1]} are confirmed by policy, {allowed} are "
                    "allowed; ask a reviewer",
                )

    def check_ruled(self, found: Ruled) -> None:
        """What an entry makes of an attempt, whoever signed it: a rejected incident becomes a failure, a confirmed one
        nothing else."""
        latest = now() + timedelta(seconds=self._limits.clock_ahead_s)
        for path, time in ((f"{found.path}.time", found.time), (f"{found.path}.payload.time", found.signed)):
            if time is not None and time > latest:
                self._report.problem(path, f"{stamp(time)} is in the future; set the clock, decide again")
        path = f"{found.path}.payload.ruled" if found.decision is not None else f"{found.path}.payload"
        if found.decision == "confirmed":
            if found.ruled is not None:
                self._report.problem(path, f"{shown(found.ruled)} of a confirmed incident; leave it out")
            return
        ruling = ruling_of(self._manifests, self._protocol, found.ruled)
        if ruling is None:
            self._report.problem(
                path,
                f"{shown(found.ruled)} cannot take the place of an incident: that becomes a failure of the agent, with "
                "the code of the cause table; leave the entry out",
            )
        elif found.outcome not in (None, ruling.outcome):
            text = f"{shown(found.outcome)}, and {shown(found.ruled)} is {ruling.outcome!r} under {self._protocol}"
            self._report.problem(f"{path}.outcome", f"{text}; submit the run again")

    def _proposal(self, decision: Decision) -> None:
        payload, path = decision.payload, _path(decision)
        key, who = payload["key"], shown(payload["reviewer"])
        if key is not None and not holds(key, str(payload["signature"]), PAYLOAD_TYPE, signed_bytes(payload)):
            self._report.problem(f"{path}.signature", f"is no signature of this decision by key {key}; leave it out")
        elif decision.trusted is not None or decision.by_policy:
            self._report.problem(path, f"{decision.decision} by {who} does not fit the attempt's record; leave it out")
        else:
            self._report.note(
                path,
                f"{decision.decision} by {who} (key {key or 'none'}) arrives as a proposal, so the incident is still a "
                f"candidate: {why_proposal(decision, self._manifests)}",
            )


def _path(decision: Decision) -> str:
    return f"{LEDGER_FILE}[{decision.sequence}].payload"
