"""One submitted record against its ledger entries, its run and the manifests."""

from __future__ import annotations

from collections import Counter
from pathlib import PurePosixPath

from manifests.load import Manifests
from manifests.lookup import rule
from manifests.records import AttemptRecord
from manifests.submission import Limits, RunSettings
from runner.plan import Planned
from runner.store.artifacts import RECORD
from runner.store.tables import AttemptRow
from runner.store.text import stamp
from runner.submission.findings import Report, shown
from runner.words import count

OFFICIAL = "docker"  # the one runtime whose records may call themselves official
# What a replay needs of a success (docs/architecture.md, 'Host and environment').
EVIDENCE = ("actions.npy", "states.npy", "state_times.npy", "digests.json", "scorer_log.jsonl", "describe.json")


def check_record(
    row: AttemptRow, record: AttemptRecord, settings: RunSettings, planned: Planned | None, manifests: Manifests,
    limits: Limits, report: Report, path: str,
) -> None:  # fmt: skip
    """Every way in which a record contradicts what else is known of its attempt."""
    _identity(row, record, limits.wall_slack_s, report, path)
    _agent(record, settings, report, path)
    if planned is not None:
        _group(record, settings, planned, report, path)
        _budgets(record, planned, manifests.budgets.families[planned.family].control_hz, limits, report, path)
    _verdict(record, manifests, report, path)
    _physics(record, report, path)
    _artifact_names(record, report, path)


def _identity(row: AttemptRow, record: AttemptRecord, slack_s: float, report: Report, path: str) -> None:
    found = record.model_dump(
        include={"attempt", "run", "sequence", "environment_id", "condition", "opened_at", "began_at"}
    )
    entries = {
        "attempt": row.id,
        "run": row.run_id,
        "sequence": row.sequence,
        "environment_id": row.environment_id,
        "condition": row.condition,
        "opened_at": row.opened_at,
        "began_at": row.began_at,
    }
    report.differences(path, found, entries, "the attempt's entries; submit the run again")
    if row.closed_at is not None and not 0 <= (row.closed_at - record.closed_at).total_seconds() <= slack_s:
        order = "after" if record.closed_at > row.closed_at else "long before"
        report.problem(f"{path}.closed_at", f"{stamp(record.closed_at)} is {order} its entry of {stamp(row.closed_at)}")
    elif record.closed_at < (record.began_at or record.opened_at):
        report.note(f"{path}.closed_at", f"{stamp(record.closed_at)} is before the attempt began: a clock was set back")


def _agent(record: AttemptRecord, settings: RunSettings, report: Report, path: str) -> None:
    agent = {name: value for name, value in record.agent.items() if name != "model"}
    report.differences(f"{path}.agent", agent, settings.agent.model_dump(), "the run's settings")
    report.differences(f"{path}.runtime", record.runtime, settings.runtime, "the run's settings")
    if record.official and settings.runtime != OFFICIAL:
        report.problem(f"{path}.official", f"true with runtime {settings.runtime!r}; only {OFFICIAL} is official")


def _group(record: AttemptRecord, settings: RunSettings, planned: Planned, report: Report, path: str) -> None:
    found = record.settings.model_dump(exclude={"versions"})
    report.differences(f"{path}.settings", found, planned.settings.model_dump(exclude={"versions"}), "the manifests")
    versions = {name: settings.versions.get(name) for name in record.settings.versions}
    report.differences(f"{path}.settings.versions", record.settings.versions, versions, "the run's settings")
    if record.images or record.actions:  # an attempt whose containers never started has none
        images: dict[str, str] = {}
        for number, image in enumerate(record.images):
            if image.role in images:
                text = f"{shown(image.role)} stands twice; an attempt has one image of each role: submit the run again"
                report.problem(f"{path}.images[{number}].role", text)
            images.setdefault(image.role, image.content)
        report.differences(f"{path}.images", images, settings.images.get(planned.engine, {}), "the run's settings")


def _budgets(
    record: AttemptRecord, planned: Planned, control_hz: float, limits: Limits, report: Report, path: str
) -> None:
    """What an attempt can use, and that its clocks say the same."""
    budgets, usage = planned.budgets, record.usage
    tokens = (usage.tokens_input or 0) + (usage.tokens_output or 0)
    for name, unit, value, most in (
        ("actions", "", record.actions, budgets.actions),
        ("simulated_s", " s", record.simulated_s, budgets.simulated_s + 1e-6),  # the last control step ends within it
        ("wall_s", " s", record.wall_s, budgets.wall_s + limits.wall_slack_s),
        ("usage.images_sent", "", usage.images_sent, budgets.images),
        ("usage", " tokens", tokens, None if budgets.tokens is None else budgets.tokens + limits.last_call_tokens),
    ):
        if most is not None and value > most:
            report.problem(f"{path}.{name}", f"{value}{unit} are above the budget of {most:g}{unit}")
    if abs(record.simulated_s - record.actions / control_hz) > 1e-3:
        text = f"{record.simulated_s} s are not {count(record.actions, 'action')} at {control_hz:g} Hz"
        report.problem(f"{path}.simulated_s", text)
    lasted = (record.closed_at - record.opened_at).total_seconds()
    if record.wall_s > lasted + limits.wall_slack_s:
        text = f"{record.wall_s} s between entries that are {lasted:.0f} s apart"
        report.note(f"{path}.wall_s", f"{text}: a clock was set meanwhile, or the figure is wrong")


def _verdict(record: AttemptRecord, manifests: Manifests, report: Report, path: str) -> None:
    """Outcome, code and incident are those of the cause table; nobody else decides them."""
    protocol = record.settings.protocol
    if protocol not in manifests.protocols:
        return  # said of the run's settings already
    found = rule(manifests, record.cause, protocol, record.code)
    if not found.known:
        report.note(f"{path}.cause", f"{record.cause!r} (code {record.code!r}) is in no table here: counts as invalid")
    for name, right in (("outcome", found.outcome), ("code", found.code)):
        value = getattr(record, name)
        if value != right:
            report.problem(
                f"{path}.{name}", f"{shown(value)}, and cause {record.cause!r} is {shown(right)} under {protocol}"
            )
    if (record.incident == "candidate") != found.incident:
        report.problem(f"{path}.incident", f"{record.incident!r} does not follow from cause {record.cause!r}")
    if record.violation is not None and record.violation.code != record.code:
        report.problem(f"{path}.violation.code", f"{record.violation.code!r} is not the record's code {record.code!r}")


def _physics(record: AttemptRecord, report: Report, path: str) -> None:
    """What no episode can do."""
    for name in ("wall_s", "simulated_s", "actions", "image_reads", "success_wall_s"):
        value = getattr(record, name)
        if value is not None and value < 0:
            report.problem(f"{path}.{name}", f"{value} is below 0")
    for name, value in record.usage.model_dump().items():
        if value is not None and value < 0:
            report.problem(f"{path}.usage.{name}", f"{value} is below 0")
    if record.began_at is None and (record.acted or record.actions):
        report.problem(f"{path}.began_at", f"is null with {count(record.actions, 'action')}")
    if record.actions and not record.acted:
        report.problem(f"{path}.acted", f"is false with {count(record.actions, 'action')}")
    if record.outcome != "success":
        if record.success_wall_s is not None:
            report.problem(f"{path}.success_wall_s", f"{record.success_wall_s} of an attempt without success")
        return
    if not record.actions:
        report.problem(f"{path}.actions", "0 of a success: nothing succeeds before the first action")
    if record.success_wall_s is None or record.success_wall_s > record.wall_s:
        report.problem(f"{path}.success_wall_s", f"{record.success_wall_s} is not within wall_s {record.wall_s}")
    names = {artifact.name for artifact in record.artifacts}
    for name in EVIDENCE:
        if name not in names:
            report.problem(
                f"{path}.artifacts", f"a success without {name} cannot be replayed; submit it with its files"
            )


def _artifact_names(record: AttemptRecord, report: Report, path: str) -> None:
    """A name is that of a file inside the attempt's folder, and stands once; what it calls a folder is no file."""
    names = Counter(artifact.name for artifact in record.artifacts)
    folders = {str(parent) for name in names for parent in PurePosixPath(name).parents}
    for number, artifact in enumerate(record.artifacts):
        where = f"{path}.artifacts[{number}].name"
        if not safe_name(artifact.name):
            text = "leads out of the attempt's folder (path traversal), or is not in plain characters"
            if artifact.name.split("/")[0].lower() == RECORD:
                text = f"takes the place of the attempt's own {RECORD}"
            report.problem(where, f"{shown(artifact.name)} {text}; give the file another name")
        elif names[artifact.name] > 1 or artifact.name in folders:
            report.problem(where, f"{shown(artifact.name)} stands twice, or another file lies inside it")


def safe_name(name: str) -> bool:
    """Whether an artifact may be written under this name: relative, in plain characters, in a folder at most one deep,
    and not over the record."""
    parts = name.split("/")
    plain = all(part.isascii() and part.isprintable() and part.strip(". ") and len(part) <= 150 for part in parts)
    return plain and len(parts) <= 2 and not any(c in name for c in '\\:*?"<>|') and parts[0].lower() != RECORD
