"""Peak memory and time of ``assay verify`` and ``assay submit`` on a bundle of 1 GB, each in a process of its own.

The run is a real one: an agent on a real environment that keeps incompressible pictures until their sizes add up. Raw
is the least that any verifier does: read every byte of the bundle and hash it.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

from bench.figures import Figure, Target
from bench.tools import say

ROOT = Path(__file__).resolve().parent.parent
TASK = "marble/dual-panda/A007"
CONDITIONS = 4
PICTURE = 2_500_000  # bytes
PEAK_MB = 300.0
HASH = "import hashlib, sys; hashlib.file_digest(open(sys.argv[1], 'rb'), 'sha256')"
# ru_maxrss of an exited child begins with the memory of who started it, so the command tells its peak itself.
PEAK = """
import re, sys
from runner.cli import run
code = run(sys.argv[1:])
print(re.search(r"VmHWM:\\s+(\\d+) kB", open("/proc/self/status").read())[1])
sys.exit(code)
"""


@dataclass(frozen=True)
class Spent:
    """Seconds of wall clock and peak resident memory in MB (10**6 bytes)."""

    seconds: float
    peak: float


def run(quick: bool) -> list[Figure]:
    size = 100_000_000 if quick else 1_000_000_000
    with tempfile.TemporaryDirectory(prefix="assay-bench-") as folder:
        home, bundle = Path(folder, "home"), Path(folder, "bundle.zip")
        _record(home, size)
        variables = os.environ | {"ASSAY_HOME": str(home), "ASSAY_KEY": str(home / "key.pem")}
        spend(["keys", "new"], variables)
        submit = spend(["submit", "bench", "-o", str(bundle)], variables)
        label = f"bundle of {bundle.stat().st_size / 1e9:.2f} GB"
        say(f"{label} submitted in {submit.seconds:.1f} s")
        began = time.perf_counter()
        subprocess.run([sys.executable, "-c", HASH, str(bundle)], check=True)
        raw_s = time.perf_counter() - began
        verify = spend(["verify", str(bundle)], variables)
        variables["ASSAY_HOME"] = str(Path(folder, "board"))
        taken = spend(["import", str(bundle)], variables)
    limit = Target("ours", "<", PEAK_MB)
    return [
        Figure(f"verify, {label}: peak memory", "MB", verify.peak, target=limit),
        Figure(f"submit, {label}: peak memory", "MB", submit.peak, target=limit),
        Figure(f"import, {label}: peak memory", "MB", taken.peak, target=limit),
        Figure(
            f"verify, {label}: time, against hashing the file",
            "s",
            verify.seconds,
            raw_s,
            verify.seconds / raw_s,
        ),
    ]


def spend(arguments: list[str], variables: dict[str, str]) -> Spent:
    """Run a command of ``assay`` to its end. Raises CalledProcessError when it fails."""
    began = time.perf_counter()
    command = [sys.executable, "-c", PEAK, *arguments]
    done = subprocess.run(command, stdout=subprocess.PIPE, env=variables, cwd=ROOT, text=True, check=True)
    return Spent(time.perf_counter() - began, int(done.stdout.splitlines()[-1]) * 1024 / 1e6)


def _record(home: Path, size: int) -> None:
    """A run named ``bench`` whose artifacts take ``size`` bytes."""
    from manifests.load import load
    from runner.agents.base import AgentEnd, AgentInfo, AttemptContext
    from runner.attempt import AttemptView
    from runner.evaluate import Evaluation
    from runner.plan import plan
    from runner.runtimes.select import select
    from runner.schedule import Schedule
    from runner.settings import Choices
    from runner.store.store import Store

    pictures = size // CONDITIONS // PICTURE

    class Hoarder:
        info = AgentInfo("hoarder", "baseline", "1", "0" * 64, "L0", trusted=True)

        def run(self, context: AttemptContext) -> AgentEnd:
            for number in range(pictures):
                context.keep(f"pictures/{number}.png", os.urandom(PICTURE))
            context.sandbox.call({"v": 1, "op": "finish"})
            return AgentEnd()

    class Silent:
        def say(self, text: str) -> None: ...

        def begin(self, schedule: Schedule, jobs: int) -> None: ...

        def opened(self, view: AttemptView) -> None: ...

        def closed(self, view: AttemptView, record: object) -> None: ...

    agent, manifests = Hoarder(), load()
    choices = Choices(model="hoarder", subset="full", tasks=TASK, protocol="single", runtime="process")
    Evaluation(
        store=Store(home),
        manifests=manifests,
        choices=choices,
        agent=agent,
        planned=plan(manifests, choices, agent.info),
        name="bench",
        jobs=1,
        make_runtime=lambda: select("process", agent.info, home, say),
        observer=Silent(),
    ).run()
