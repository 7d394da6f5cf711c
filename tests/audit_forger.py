"""A small real run to audit, and a forger who edits its database and files like somebody who has both in hand."""

from __future__ import annotations

import hashlib
import json
import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from slider_runtime import Scripted, SliderRuntime, evaluation, planned, program

from manifests.load import Manifests, load
from manifests.records import AttemptRecord
from runner.agents.base import Agent, AgentEnd, AttemptContext
from runner.audit.audit import Audit, Auditor, Options
from runner.plan import Slot
from runner.store import ledger
from runner.store.store import Run, Store
from runner.store.text import canonical, parse

NAME = "test"
BEGIN = "import numpy as np\nrng = np.random.default_rng({seed})\n"
# By condition: sixty pushes and the goal; a hundred and the wall; seventy and an early end; nothing at all.
PROGRAMS = (
    """
def push(force, n): return env.step(np.tile([force, 0.0], (n, 1)))
for _ in range(60): env.step([0.0, rng.uniform(-0.5, 0.5)])
push(1.0, 16); result = push(-1.0, 16)
while result.terminal is None: result = push(0.0, 1)
""",
    """
for _ in range(100): env.step([0.01 * rng.uniform(-1, 1), 0.0])
env.step(np.tile([-1.0, 0.0], (200, 1)))
""",
    """
for _ in range(70): env.step([0.1 * rng.uniform(-1, 1), 0.0])
env.finish()
""",
    "env.finish()",
)


def make_run(home: Path) -> None:
    """The closed attempts of a whole run: a success, a violation, one that the agent gave up, one without an action."""
    numbers = iter(range(len(PROGRAMS)))

    def act(context: AttemptContext) -> AgentEnd | None:
        number = next(numbers)
        return program(BEGIN.format(seed=number) + PROGRAMS[number]).run(context)

    made = evaluation(home, Scripted(act), name=NAME, parameters=[{}] * len(PROGRAMS), protocol="single")
    made.run()
    made.store.close()


def slot_of(record: AttemptRecord, manifests: Manifests) -> Slot:
    """The slider's condition of a record, with the limits of the record."""
    (item,) = planned([{}] * len(PROGRAMS))
    found = Slot(item, item.conditions[record.condition])
    assert found.planned.environment_id == record.environment_id
    return found


def audit(home: Path, *, share: float = 0.0, agent: Agent | None = None, **options: Any) -> Audit:
    """Audit the run; ``agent`` stands for what the run's settings name when something is evaluated anew."""
    store = Store(home, read_only=True)
    run = store.find_run(NAME)
    assert run is not None
    try:
        auditor = Auditor(
            store, load(), lambda text: None, lambda run, options: SliderRuntime(), slot_of, lambda request: agent
        )
        return auditor.audit(
            run, Options(share, options.pop("reruns", 0), "process", options.pop("seed", 1), **options)
        )
    finally:
        store.close()


def findings(made: Audit, check: str, severity: str = "problem") -> list[str]:
    (found,) = [item for item in made.checks if item.name == check]
    return [str(finding) for finding in found.findings if finding.severity == severity]


class Forger:
    """Edits one run. ``rehash`` and ``refold`` make everything that can be recomputed fit again."""

    def __init__(self, home: Path) -> None:
        self.home = home
        self.database = sqlite3.connect(home / "assay.sqlite", isolation_level=None)
        self.run = self.database.execute("SELECT id FROM run").fetchone()[0]

    def sql(self, text: str, *values: Any) -> list[Any]:
        return self.database.execute(text, values).fetchall()

    def sequence(self, kind: str, number: int = -1) -> int:
        """Sequence of an entry of a kind, the last by default."""
        return self.sql("SELECT sequence FROM entry WHERE kind = ? ORDER BY sequence", kind)[number][0]

    def payload(self, sequence: int) -> Any:
        return parse(self.sql("SELECT payload FROM entry WHERE sequence = ?", sequence)[0][0])

    def put(self, sequence: int, payload: Any) -> None:
        self.sql("UPDATE entry SET payload = ? WHERE sequence = ?", canonical(payload).decode(), sequence)

    def record(self, condition: int, change: Callable[[dict[str, Any]], None]) -> None:
        """Change a record in the ledger and beside its files."""
        for (sequence,) in self.sql("SELECT sequence FROM entry WHERE kind = 'closed' ORDER BY sequence"):
            payload = self.payload(sequence)
            if payload["record"]["condition"] == condition:
                change(payload["record"])
                self.put(sequence, payload)
                (self.folder(condition) / "record.json").write_bytes(canonical(payload["record"]))

    def folder(self, condition: int) -> Path:
        (name,) = self.sql("SELECT id FROM attempt WHERE condition = ?", condition)[0]
        return self.home / NAME / name

    def write(self, condition: int, name: str, content: bytes) -> None:
        (self.folder(condition) / name).write_bytes(content)

    def forge(self, condition: int, name: str, content: bytes) -> None:
        """Replace an artifact and everything that vouches for it."""
        self.write(condition, name, content)

        def change(record: dict[str, Any]) -> None:
            for artifact in record["artifacts"]:
                if artifact["name"] == name:
                    artifact |= {"sha256": hashlib.sha256(content).hexdigest(), "size": len(content)}

        self.record(condition, change)
        self.rehash()
        self.refold()

    def flip(self, condition: int, action: int, bit: int) -> bytes:
        """The file of actions with one bit of one number changed; bit 0 is the lowest of the first component."""
        path = self.folder(condition) / "actions.npy"
        actions = np.load(path)
        actions.view(np.uint64)[action, 0] ^= np.uint64(1 << bit)
        np.save(path, actions)
        return path.read_bytes()

    def rehash(self) -> None:
        """The whole chain again."""
        store, run = self._open()
        previous = ledger.GENESIS
        for entry in store.entries(run):
            found = ledger.entry_hash(entry.run, entry.sequence, entry.kind, entry.time, entry.payload, previous)
            text = "UPDATE entry SET previous = ?, hash = ? WHERE sequence = ?"
            self.sql(text, previous, found, entry.sequence)
            previous = found
        store.close()

    def refold(self) -> None:
        """The attempt table again."""
        store, run = self._open()
        with store.database.write() as session:
            ledger.rebuild(session, run.id)
        store.close()

    def append(self, kind: str, payload: Any) -> None:
        """An entry as the program itself would append it."""
        store, run = self._open()
        store.append(run, kind, payload)
        store.close()

    def _open(self) -> tuple[Store, Run]:
        store = Store(self.home)
        run = store.find_run(NAME)
        assert run is not None
        return store, run


def digests(folder: Path) -> list[Any]:
    found: list[Any] = json.loads((folder / "digests.json").read_bytes())
    return found
