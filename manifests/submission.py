"""What a submission bundle says: a signed in-toto statement over a ledger and its artifacts (docs/submissions.md).

Files of the bundle: ``submission.json`` (DSSE envelope of a :class:`Statement`), ``ledger.jsonl`` (one
:class:`LedgerLine` a line) and ``blobs/<SHA-256>`` (every artifact once, whatever its attempts call it).
"""

from __future__ import annotations

from datetime import datetime
from functools import cache
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, Field

from manifests.load import FOLDER, parse
from manifests.records import AttemptRecord, Budgets, Level, Strict

ENVELOPE_FILE = "submission.json"
LEDGER_FILE = "ledger.jsonl"
BLOBS = "blobs/"

PAYLOAD_TYPE = "application/vnd.in-toto+json"
STATEMENT_TYPE = "https://in-toto.io/Statement/v1"
PREDICATE_NAME = "urn:assay:submission:"
SUBMISSION_VERSION = 1
PREDICATE_TYPE = f"{PREDICATE_NAME}{SUBMISSION_VERSION}"

Sha256 = Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]
Identifier = Annotated[str, Field(pattern=r"^[0-9a-f]{32}$")]
Count = Annotated[int, Field(ge=0)]
RunName = Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$")]
DisplayName = Annotated[str, Field(pattern=r"^[^\x00-\x1f\x7f-\x9f]{1,100}$")]  # no control characters


class Limits(Strict):
    """Bounds on what is read of a bundle from a stranger. Sizes in bytes, unpacked; ``ratio`` is of unpacked to packed
    size of any file: `assay submit` stores what would pack better.

    A record may be above the allowance of tokens by what its last call used, ``last_call_tokens`` at most, and above
    the wall clock by ``wall_slack_s``, which the end of an attempt takes on a slow machine. A decision may be recorded
    ``clock_ahead_s`` after the present: whether its key is trusted depends on its time, which nobody may choose."""

    files: Count
    file_bytes: Count
    total_bytes: Count
    ratio: Annotated[int, Field(ge=2)]
    statement_bytes: Count
    ledger_bytes: Count
    line_bytes: Count
    last_call_tokens: Count
    wall_slack_s: Count
    clock_ahead_s: Count


@cache
def load_limits(folder: Path = FOLDER) -> Limits:
    """``submission_limits.json`` of ``folder``. Raises ManifestError."""
    text = (folder / "submission_limits.json").read_text(encoding="utf-8")
    return parse("manifests/submission_limits.json", text, Limits)


# submission.json


class Signature(Strict):
    """``keyid`` is the public key itself, 32 bytes in hexadecimal; ``sig`` the Ed25519 signature in base64."""

    keyid: Sha256
    sig: str


class Envelope(Strict):
    """DSSE v1. ``payload`` is the canonical JSON (RFC 8785) of the statement in base64."""

    payloadType: Literal["application/vnd.in-toto+json"]
    payload: str
    signatures: Annotated[tuple[Signature, ...], Field(min_length=1, max_length=1)]


class Digest(Strict):
    sha256: Sha256


class Subject(Strict):
    """One file of the bundle."""

    name: str
    digest: Digest


class SubmittedAgent(Strict):
    """``digest`` is SHA-256 over the agent's code and every one of its prompt files."""

    name: str
    kind: str
    version: str
    digest: Sha256
    parameters: dict[str, Any]


class Submitter(Strict):
    """Who signs. ``name`` is what they call themselves; only ``key`` is proven."""

    key: Sha256
    name: DisplayName | None


class SubmittedRun(Strict):
    id: Identifier
    name: RunName
    created_at: str


class LedgerFacts(Strict):
    """``head`` is the hash of the last entry; ``size`` in bytes."""

    entries: Count
    head: Sha256
    size: Count


class AttemptCounts(Strict):
    success: Count
    failure: Count
    invalid: Count
    candidates: Count


class UsageTotals(Strict):
    """Sums over all attempts. None where an attempt does not know its part; times in seconds."""

    tokens_input: int | None
    tokens_cached: int | None
    tokens_output: int | None
    estimated: bool
    images_sent: int
    model_calls: int
    cost_usd: float | None
    actions: int
    simulated_s: float
    wall_s: float


class FingerprintCount(Strict):
    """An engine's fingerprint and how many attempts have it."""

    engine: str
    fingerprint: dict[str, Any]
    attempts: Count


class ArtifactFacts(Strict):
    """Distinct files and their bytes."""

    files: Count
    size: Count


class Submission(Strict):
    """The predicate. All but ``submitter`` follows from the ledger and the manifests: whoever verifies works it out
    again. ``conditions`` maps an environment that could run to the SHA-256 of the canonical parameters of each
    prescribed condition."""

    schema_version: Literal[1]
    submitter: Submitter
    run: SubmittedRun
    board: str
    model: str
    agent: SubmittedAgent
    subset: str
    tasks: str | None
    environments: dict[str, str]
    conditions: dict[str, tuple[Sha256, ...]]
    protocol: str
    profile: str
    level: Level
    grants: tuple[str, ...]
    seed: int
    budgets: dict[str, Budgets]
    runtime: str
    official: bool
    gpus: bool
    images: dict[str, dict[str, str]]
    versions: dict[str, str]
    mode: str | None = None
    fingerprints: tuple[FingerprintCount, ...]
    attempts: AttemptCounts
    usage: UsageTotals
    artifacts: ArtifactFacts
    ledger: LedgerFacts


class Statement(Strict):
    """in-toto Statement v1; its subjects are the ledger and every blob."""

    type: Annotated[Literal["https://in-toto.io/Statement/v1"], Field(alias="_type")]
    subject: tuple[Subject, ...]
    predicateType: Literal["urn:assay:submission:1"]
    predicate: Submission


# ledger.jsonl


def _instant(text: str) -> str:
    try:
        datetime.fromisoformat(text)
    except ValueError:
        raise ValueError(f"{text} is no day and time that there is") from None
    return text


Instant = Annotated[
    str,
    Field(pattern=r"^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}\.[0-9]{6}Z$"),
    AfterValidator(_instant),
]


class LedgerLine(Strict):
    """One entry. ``hash`` is SHA-256 over the canonical JSON of the other fields; ``time`` is UTC in microseconds."""

    run: Identifier
    sequence: Annotated[int, Field(ge=1)]
    kind: Literal["run", "opened", "began", "resumed", "closed", "decision", "ruled"]
    time: Instant
    payload: dict[str, Any]
    previous: Sha256
    hash: Sha256


class RunSettings(Strict):
    """Settings of an evaluated run: what its first entry holds. ``images`` maps engine to role to content identity;
    ``mode`` is the setting, on boards that have settings."""

    board: str
    model: str
    agent: SubmittedAgent
    subset: str
    tasks: str | None
    environments: dict[str, str]
    protocol: str
    profile: str
    level: Level
    grants: tuple[str, ...]
    seed: int
    budgets: dict[str, Budgets]
    runtime: str
    gpus: bool
    images: dict[str, dict[str, str]]
    versions: dict[str, str]
    mode: str | None = None


class RunPayload(Strict):
    name: RunName
    settings: RunSettings


class OpenedPayload(Strict):
    attempt: Identifier
    environment_id: str
    condition: Count


class AttemptPayload(Strict):
    """Of ``began`` and ``resumed``."""

    attempt: Identifier


class ClosedPayload(Strict):
    attempt: Identifier
    record: AttemptRecord


class EvidenceFile(Strict):
    name: str
    size: Count
    sha256: Sha256


class Replacement(Strict):
    """What a rejected incident becomes."""

    cause: str
    code: str | None


class DecisionPayload(Strict):
    run: Identifier
    attempt: Identifier
    record: Sha256
    decision: Literal["confirmed", "rejected"]
    ruled: Replacement | None
    reviewer: str
    reason: str
    evidence: tuple[EvidenceFile, ...]
    time: Instant | None = None  # a decision of an older release has none
    key: Sha256 | None
    signature: str | None


class RuledPayload(Strict):
    attempt: Identifier
    outcome: str
    cause: str
    code: str | None
    reason: str


PAYLOADS: dict[str, type[Strict]] = {
    "run": RunPayload,
    "opened": OpenedPayload,
    "began": AttemptPayload,
    "resumed": AttemptPayload,
    "closed": ClosedPayload,
    "decision": DecisionPayload,
    "ruled": RuledPayload,
}
