"""``assay audit`` as people use it: exit status, report, messages; and a reference run in containers."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from audit_forger import NAME, Forger, audit, make_run
from test_cli import ASSAY

from manifests.records import AttemptRecord
from runner.audit import pages
from runner.audit.sample import draw
from runner.store.store import Store

REFERENCE = ["evaluate", "--model", "reference", "--subset", "smoke", "--tasks", "*/A007", "--protocol", "single"]


@pytest.fixture(scope="module")
def original(tmp_path_factory: pytest.TempPathFactory) -> Path:
    home = tmp_path_factory.mktemp("original")
    make_run(home)
    return home


def assay(home: Path, *arguments: str, timeout: float = 280) -> subprocess.CompletedProcess[str]:
    environment = os.environ | {"ASSAY_HOME": str(home)}
    return subprocess.run([*ASSAY, *arguments], env=environment, capture_output=True, text=True, timeout=timeout)


def test_the_exit_status_says_whether_the_run_passed(original: Path, tmp_path: Path) -> None:
    done = assay(original, "audit", NAME, "--replay", "0", "--seed", "7")
    assert done.returncode == 0, done.stderr
    assert "PASSED audit of test (seed 7" in done.stdout
    assert "replay       skipped" in done.stdout
    home = Path(shutil.copytree(original, tmp_path / "home"))
    Forger(home).sql("DELETE FROM entry WHERE sequence = 3")
    done = assay(home, "audit", NAME, "--replay", "0", "-o", str(tmp_path / "report"))
    assert done.returncode == 1
    assert "✗ chain: entry 4: entry 3 is missing before it" in done.stdout
    assert re.search(r"^FAILED audit of test \(seed \d+.*\): chain, ", done.stdout, re.MULTILINE)
    assert {path.name for path in (tmp_path / "report").iterdir()} == {"audit.json", "audit.md", "audit.html"}
    assert json.loads((tmp_path / "report" / "audit.json").read_text())["passed"] is False


def test_the_head_that_an_audit_prints_is_what_a_later_one_takes(original: Path) -> None:
    done = assay(original, "audit", NAME, "--replay", "0")
    (whole,) = re.findall(r"^head ([0-9a-f]{64}) ", done.stdout, re.MULTILINE)
    for head in (whole, whole[:12], whole[:12].upper()):
        assert assay(original, "audit", NAME, "--replay", "0", "--head", head).returncode == 0
    other = assay(original, "audit", NAME, "--replay", "0", "--head", "0" * 12)
    assert other.returncode == 1
    assert "no entry has the hash 000000000000" in other.stdout


def test_the_verdict_says_when_nothing_was_replayed_or_can_be(original: Path, tmp_path: Path) -> None:
    done = assay(original, "audit", NAME, "--replay", "0")
    assert re.search(r"^PASSED audit of test \(.+\): nothing was replayed: not asked for$", done.stdout, re.MULTILINE)
    file = tmp_path / "ledger.csv"
    file.write_text(
        "sequence,environment_id,condition,outcome,failure_code,incident\n1,marble/dual-panda/A007,0,success,,\n"
    )
    choices = ["--name", "paper", "--kind", "published", "--subset", "ep-launch"]
    assert assay(tmp_path, "ledger", "import", str(file), *choices).returncode == 0
    done = assay(tmp_path, "audit", "paper", "-o", str(tmp_path / "report"))
    assert "it is published, and there is nothing to replay" in done.stdout
    for name in ("audit.md", "audit.html"):
        assert "there is nothing to replay" in (tmp_path / "report" / name).read_text()


def test_json_goes_to_standard_output_and_progress_does_not(original: Path) -> None:
    done = assay(original, "audit", NAME, "--replay", "0", "--format", "json")
    found = json.loads(done.stdout)
    assert found["passed"] is True
    assert [check["name"] for check in found["checks"]] == list(pages.WHAT)
    assert found["options"]["seed"] in range(2**32)
    assert "rescore ..." in done.stderr


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (["nobody"], "run 'nobody' is not in"),
        ([NAME, "--replay", "half"], "replay 'half': give a share of the attempts from 0 to 1, or all"),
        ([NAME, "--replay", "1.5"], "replay '1.5': give a share"),
        ([NAME, "--replay", "nan"], "replay 'nan': give a share"),
        ([NAME, "--rerun", "-1"], "rerun -1: give a whole number from 0"),
        ([NAME, "--jobs", "0"], "jobs 0: give a whole number from 1"),
        ([NAME, "--seed", "-1"], "seed -1: give a whole number from 0 to 4294967295"),
        ([NAME, "--runtime", "podman"], "runtime 'podman' is not one of auto, docker, bubblewrap, process"),
        ([NAME, "--head", "c11bc65aea2"], "head 'c11bc65aea2': give 12 to 64 hexadecimal digits"),
        ([NAME, "--head", "nothexadecimal"], "head 'nothexadecimal': give 12 to 64 hexadecimal digits"),
        ([NAME, "--against", "nowhere.json"], "against nowhere.json: cannot be read (No such file or directory)"),
    ],
)
def test_a_wrong_option_is_one_line_that_names_it(original: Path, arguments: list[str], text: str) -> None:
    done = assay(original, "audit", *arguments)
    assert done.returncode == 2
    assert text in done.stderr
    assert len(done.stderr.strip().splitlines()) == 1


def test_where_nothing_was_recorded_there_is_nothing_to_audit(tmp_path: Path) -> None:
    done = assay(tmp_path / "none", "audit", NAME)
    assert done.returncode == 1
    assert "does not exist: record a run first, or set ASSAY_HOME" in done.stderr
    assert not (tmp_path / "none").exists()


class Tags(HTMLParser):
    """Every tag of a page and whether each that was opened is closed."""

    def __init__(self) -> None:
        super().__init__()
        self.seen: list[str] = []
        self.open: list[str] = []

    def handle_starttag(self, tag: str, attrs: Any) -> None:
        self.seen.append(tag)
        if tag != "meta":
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


def test_nothing_that_an_agent_or_a_forger_writes_becomes_markup(original: Path, tmp_path: Path) -> None:
    home = Path(shutil.copytree(original, tmp_path / "home"))
    forger = Forger(home)
    (forger.folder(0) / "<script>alert(1)</script>|[x](y).txt".replace("/", "_")).write_bytes(b"x")
    made = audit(home, share=1.0)
    page, text = pages.page(made), pages.markdown(made)
    tags = Tags()
    tags.feed(page)
    assert tags.open == []
    assert "script" not in tags.seen
    assert "&lt;script&gt;" in page
    assert "<script>" not in text
    rows = [line for line in text.splitlines() if line.startswith("|")]
    assert all(line.count("|") - line.count("\\|") in (5, 10) for line in rows)


# ---- containers ------------------------------------------------------------------------------------------------------
@pytest.mark.docker
@pytest.mark.timeout(600)
def test_a_reference_run_in_containers_replays_with_zero_divergence_and_an_altered_bit_is_found(
    tmp_path: Path,
) -> None:
    home, name = tmp_path / "home", f"audited-{os.getpid()}"
    done = assay(home, *REFERENCE, "--runtime", "docker", "--jobs", "2", "--run", name)
    assert done.returncode == 0, done.stderr
    done = assay(home, "audit", name, "--replay", "all", "--jobs", "2", "--format", "json")
    assert done.returncode == 0, done.stdout + done.stderr
    replays = json.loads(done.stdout)["checks"][4]["data"]
    assert replays["runtime"] == "docker"
    assert [row["status"] for row in replays["attempts"]] == ["same"] * 4
    assert all(row["class"] == "bit-exact" and row["divergence"] is None for row in replays["attempts"])
    assert all(row["image"]["recorded"] == row["image"]["replayed"] for row in replays["attempts"])

    store = Store(home)
    run = store.find_run(name)
    assert run is not None
    records = [AttemptRecord.model_validate_json(row.record or "") for row in store.attempts(run)]
    (record,) = draw(records, 5, 0.1)
    path = store.folder(run) / record.attempt / "actions.npy"
    store.close()
    actions = np.load(path)
    actions.view(np.uint64)[333, 1] ^= np.uint64(1 << 40)  # the target of one joint, by less than 0.1 mrad
    np.save(path, actions)
    done = assay(home, "audit", name, "--replay", "0.1", "--seed", "5", "--format", "json")
    assert done.returncode == 1
    report = json.loads(done.stdout)
    (altered,) = report["checks"][4]["data"]["attempts"]
    assert (altered["sequence"], altered["status"]) == (record.sequence, "diverged")
    assert altered["divergence"]["after"] == 300
    assert 334 <= altered["divergence"]["by"] <= 350
    assert any("actions.npy has hash" in finding["text"] for finding in report["checks"][1]["findings"])
