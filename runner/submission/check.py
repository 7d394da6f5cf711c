"""``verify``: everything that can be said of a bundle without running anything. Import uses the same."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta

from manifests.load import Manifests
from manifests.submission import ENVELOPE_FILE, LEDGER_FILE, Limits, RunSettings, Statement
from runner.store.text import now, stamp
from runner.submission.archive import DAMAGED, Archive
from runner.submission.blob_check import check_artifacts, check_files
from runner.submission.envelope import read_envelope
from runner.submission.expected import Expected
from runner.submission.facts import Tally, predicate
from runner.submission.findings import Report
from runner.submission.ledger_file import LedgerReader, lines_of, record_of
from runner.submission.record_check import check_record
from runner.submission.run_check import DecisionCheck, check_coverage, check_settings
from runner.words import count

EARLIEST = "2026-01-01"  # of an entry: no release of this program is older
UNSIGNED = "; fetch the bundle again"


@dataclass(frozen=True)
class Verified:
    """A bundle whose envelope could be read. It may be imported when the report has no problem."""

    statement: Statement
    payload_sha256: str
    ledger_sha256: str


def check(
    archive: Archive, manifests: Manifests, limits: Limits, report: Report, key: str | None = None
) -> Verified | None:
    """Every problem of a bundle goes to the report; one problem does not hide the next.

    ``key`` is the public key that has to have signed. Reads the archive as a stream: memory grows with the number of
    files and attempts, not with their sizes.
    """
    statement, payload = _statement(archive, limits, report, key)
    with LedgerReader(report) as ledger:
        readable = _ledger(archive, limits, ledger, report)
        tally = Tally()
        _times(ledger, limits, report)
        wanted = check_settings(ledger.settings, manifests, report) if ledger.settings is not None else None
        if ledger.settings is not None:
            attempts = _attempts(archive, ledger, ledger.settings, wanted, tally, manifests, limits, report)
            if wanted is not None:
                check_coverage(wanted, attempts, manifests, report)
            if statement is not None and readable:
                _stated(statement, ledger, ledger.settings, wanted, tally, report)
        sha256 = ledger.end.sha256 if readable else None
        check_files(archive, tally.blobs, sha256, statement, report)
        return Verified(statement, payload, ledger.end.sha256) if statement is not None else None


def _statement(archive: Archive, limits: Limits, report: Report, key: str | None) -> tuple[Statement | None, str]:
    """The statement and the SHA-256 of its payload."""
    if ENVELOPE_FILE not in archive.files:
        report.problem(ENVELOPE_FILE, "missing: nothing is signed; fetch the bundle again")
        return None, ""
    try:
        return read_envelope(archive.read(ENVELOPE_FILE, limits.statement_bytes), report, key)
    except DAMAGED as error:
        report.problem(ENVELOPE_FILE, f"cannot be read ({error}){UNSIGNED}")
        return None, ""


def _ledger(archive: Archive, limits: Limits, ledger: LedgerReader, report: Report) -> bool:
    """Whether the whole ledger could be read."""
    if LEDGER_FILE not in archive.files:
        report.problem(LEDGER_FILE, f"missing: there is no record of any attempt{UNSIGNED}")
        return False
    try:
        size = archive.files[LEDGER_FILE].file_size
        if size > limits.ledger_bytes:
            raise ValueError(f"{size} bytes, {limits.ledger_bytes} are allowed")
        with archive.stream(LEDGER_FILE) as stream:
            ledger.read(lines_of(stream, limits.line_bytes))
        return True
    except DAMAGED as error:
        report.problem(LEDGER_FILE, f"cannot be read ({error}){UNSIGNED}")
        return False


def _times(ledger: LedgerReader, limits: Limits, report: Report) -> None:
    """A run of the future, or of before this program: of little use to who reads its dates, and no reason to refuse."""
    latest = stamp(now() + timedelta(seconds=limits.clock_ahead_s))
    for time, path in ledger.times.items():
        if not EARLIEST <= time <= latest:
            when = "in the future" if time > latest else "before there was this program"
            report.note(path, f"{time} is {when}: the submitter's clock was wrong, and so are the run's dates")


def _attempts(
    archive: Archive,
    ledger: LedgerReader,
    settings: RunSettings,
    wanted: Expected | None,
    tally: Tally,
    manifests: Manifests,
    limits: Limits,
    report: Report,
) -> list[tuple[str, int, str]]:
    """Check every record, in ledger order; returns (environment, condition, state) of the attempts."""
    decisions = DecisionCheck(settings, manifests, limits, report)
    attempts = []
    for row in ledger.rows():
        attempts.append((row.environment_id, row.condition, row.state))
        record = record_of(row)
        if record is None:
            continue
        path = ledger.record_path(row)
        planned = wanted.planned.get(row.environment_id) if wanted is not None else None
        check_record(row, record, settings, planned, manifests, limits, report, path)
        check_artifacts(archive, record, report, path)
        tally.add(record)
        if record.settings.protocol in manifests.protocols:
            decisions.check(row)
    if settings.protocol in manifests.protocols:
        for ruled in ledger.rulings:
            decisions.check_ruled(ruled)
    return attempts


def _stated(
    statement: Statement,
    ledger: LedgerReader,
    settings: RunSettings,
    wanted: Expected | None,
    tally: Tally,
    report: Report,
) -> None:
    """The predicate is what follows from the ledger and the manifests."""
    said = statement.predicate
    conditions = wanted.conditions if wanted is not None else said.conditions
    found = predicate(ledger.run, settings, tally, ledger.end, conditions, said.submitter)
    mine = said.model_dump(mode="json", exclude_unset=True)
    for name, values in conditions.items():
        given = mine["conditions"].get(name, ())
        if len(given) != len(values):
            report.problem(
                f"statement.predicate.conditions.{name}",
                f"{count(len(given), 'condition')}, the manifests prescribe {len(values)}; evaluate all of them",
            )
    report.differences("statement.predicate", mine, found, "ledger and manifests; submit the run again")
