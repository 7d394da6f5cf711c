"""Real runs as signed bundles, and a forger who may change anything in them and do the sums again."""

from __future__ import annotations

import atexit
import base64
import hashlib
import json
import shutil
import zipfile
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from tempfile import mkdtemp
from typing import Any

from test_cli import assay

from manifests.errors import ManifestError
from manifests.load import Manifests, load
from manifests.submission import BLOBS, ENVELOPE_FILE, LEDGER_FILE, Limits, RunSettings, Submitter, load_limits
from runner.keys import Key, new_key
from runner.store.ledger import GENESIS
from runner.store.store import Run, Store
from runner.store.text import canonical, digest, parse
from runner.submission.archive import Archive, NoBundle, member
from runner.submission.bundle import submit
from runner.submission.check import check
from runner.submission.expected import expected
from runner.submission.facts import Tally, predicate, statement
from runner.submission.findings import Report
from runner.submission.importing import import_bundle
from runner.submission.ledger_file import LedgerReader, record_of

Change = Callable[["Forge"], object]
TASK = "marble/dual-panda/A007"
RUNS = ("noop", "random", "reference")


def _conditions(settings: RunSettings) -> dict[str, tuple[str, ...]]:
    try:
        return expected(settings, load()).conditions
    except ManifestError:  # of a forger who invents a subset
        return {}


@dataclass(frozen=True)
class Origin:
    """Three finished runs of baselines, their submitter's key and their bundles."""

    home: Path
    key: Key
    other: Key
    bundles: dict[str, Path]


@cache
def origin() -> Origin:
    """Made once per test session: the three baselines on one environment, as plain processes."""
    home = Path(mkdtemp(prefix="assay-test-submission-"))
    atexit.register(shutil.rmtree, home, ignore_errors=True)
    for model in RUNS:
        choices = ["--model", model, "--subset", "full", "--tasks", TASK, "--runtime", "process", "--run", model]
        assay(home, "evaluate", *choices, check=0)  # one at a time: in the order of the conditions
    key, other = new_key(home / "key.pem"), new_key(home / "other.pem")
    bundles = {}
    store = Store(home)
    for model in RUNS:
        run = store.find_run(model)
        assert run is not None
        done = submit(store, run, load(), load_limits(), key, home / f"{model}.zip", "Test Lab")
        assert done.path is not None, [str(finding) for finding in done.report.findings]
        bundles[model] = done.path
    store.close()
    return Origin(home, key, other, bundles)


def verify(path: Path, key: str | None = None, limits: Limits | None = None) -> Report:
    """What ``assay verify`` finds."""
    report = Report()
    limits = limits or load_limits()
    try:
        with Archive(path, limits, report) as archive:
            check(archive, load(), limits, report, key)
    except NoBundle:
        assert report.problems
    return report


class Forge:
    """A good bundle taken apart. ``lines`` are the ledger's entries, ``envelope`` and ``statement`` plain JSON.

    ``signed()`` is what any submitter can do: sign again what they changed. ``chained()`` makes the ledger's chain
    whole again, ``restated()`` states what follows from the changed ledger.
    """

    def __init__(self, path: Path, key: Key) -> None:
        self.key = key
        with zipfile.ZipFile(path) as bundle:
            self.files = {name: bundle.read(name) for name in bundle.namelist()}
        self.lines: list[dict[str, Any]] = [parse(line) for line in self.files[LEDGER_FILE].decode().splitlines()]
        self.envelope: dict[str, Any] = json.loads(self.files[ENVELOPE_FILE])
        self.statement: dict[str, Any] = parse(base64.b64decode(self.envelope["payload"]).decode())

    @property
    def predicate(self) -> dict[str, Any]:
        found: dict[str, Any] = self.statement["predicate"]
        return found

    @property
    def settings(self) -> dict[str, Any]:
        found: dict[str, Any] = self.lines[0]["payload"]["settings"]
        return found

    def of(self, kind: str) -> list[dict[str, Any]]:
        """The payloads of a kind, in ledger order."""
        return [line["payload"] for line in self.lines if line["kind"] == kind]

    @property
    def record(self) -> dict[str, Any]:
        """The first record."""
        found: dict[str, Any] = self.of("closed")[0]["record"]
        return found

    def artifact(self, name: str) -> dict[str, Any]:
        """An artifact of the first record."""
        return next(item for item in self.record["artifacts"] if item["name"] == name)

    def replace_artifact(self, name: str, content: bytes) -> None:
        """Another content under its own hash, as the record then says."""
        item = self.artifact(name)
        self.files.pop(f"{BLOBS}{item['sha256']}")
        item["sha256"], item["size"] = hashlib.sha256(content).hexdigest(), len(content)
        self.files[f"{BLOBS}{item['sha256']}"] = content

    def written(self) -> Forge:
        """The ledger file anew from ``lines``, whatever its chain says."""
        self.files[LEDGER_FILE] = b"".join(canonical(line) + b"\n" for line in self.lines)
        return self

    def chained(self) -> Forge:
        """Sequence numbers of entries, hashes, and the ledger file anew."""
        previous = GENESIS
        for number, line in enumerate(self.lines, start=1):
            line["sequence"], line["previous"] = number, previous
            line["hash"] = previous = digest({name: value for name, value in line.items() if name != "hash"})
        return self.written()

    def restated(self) -> Forge:
        """Statement and subjects as they follow from the ledger file, as far as it can still be read."""
        with LedgerReader(Report()) as ledger:
            ledger.read(self.files[LEDGER_FILE].splitlines())
            tally = Tally()
            for row in ledger.rows():
                record = record_of(row)
                if record is not None:
                    tally.add(record)
            if ledger.settings is not None:
                conditions = _conditions(ledger.settings)
                submitter = Submitter(key=self.key.public, name="Test Lab")
                stated = predicate(ledger.run, ledger.settings, tally, ledger.end, conditions, submitter)
                self.statement = statement(stated, ledger.end.sha256, tally.blobs)
        return self

    def signed(self, key: Key | None = None) -> Forge:
        payload = canonical(self.statement)
        return self.sealed(payload, key)

    def sealed(self, payload: bytes, key: Key | None = None) -> Forge:
        """Any payload, signed."""
        signer = key or self.key
        kind = self.envelope["payloadType"]
        self.envelope["payload"] = base64.b64encode(payload).decode()
        self.envelope["signatures"] = [{"keyid": signer.public, "sig": signer.sign(kind, payload)}]
        self.files[ENVELOPE_FILE] = canonical(self.envelope)
        return self

    def forged(self) -> Forge:
        """Everything that a submitter can do by themselves to hide a change of the ledger."""
        return self.chained().restated().signed()

    def write(self, path: Path, packed: bool = False) -> Path:
        with zipfile.ZipFile(path, "w") as bundle:
            for name, content in self.files.items():
                with bundle.open(member(name, len(content), packed=packed), "w") as target:
                    target.write(content)
        return path


def forge(model: str = "reference") -> Forge:
    """A good bundle, taken apart."""
    made = origin()
    return Forge(made.bundles[model], made.key)


def problems(path: Path, key: str | None = None) -> str:
    """Every problem of a bundle, a line each."""
    return "\n".join(str(finding) for finding in verify(path, key).problems)


def put(target: dict[str, Any], path: str, value: Any) -> None:
    """``target.a.b = value``; a part may hold '/' but no dot."""
    *parts, last = path.split(".")
    for part in parts:
        target = target[part]
    assert target[last] != value, "the change changes nothing"
    target[last] = value


def blob(made: Forge) -> str:
    """The file of the first record's states."""
    return f"{BLOBS}{made.artifact('states.npy')['sha256']}"


def taken_in(home: Path, path: Path, manifests: Manifests | None = None, **choices: Any) -> tuple[Store, Run]:
    """A store and the run that it imported."""
    store = Store(home)
    done = import_bundle(store, path, manifests or load(), load_limits(), **choices)
    assert done.run is not None, [str(problem) for problem in done.report.problems]
    return store, done.run
