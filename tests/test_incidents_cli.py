"""``assay incidents``, ``assay keys`` and ``assay runs withdraw`` as a person calls them: one line each, exit codes."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from incident_board import LATE_FAULT, one_condition, trusting
from leaderboard_records import QUIT, twice, write_run

from manifests.policy import TrustedKey
from runner.cli import run as assay
from runner.keys import load_key
from runner.score import score_run
from runner.store.store import Store


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("ASSAY_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("ASSAY_KEY", str(tmp_path / "key.pem"))
    return tmp_path / "home"


def error_of(capsys: pytest.CaptureFixture[str]) -> str:
    (line,) = capsys.readouterr().err.splitlines()
    return line.removeprefix("assay: error: ")


def test_a_maintainer_makes_a_key_is_listed_and_decides(
    home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    one_condition(Store(home), "r", LATE_FAULT, LATE_FAULT, QUIT)
    assert assay(["keys", "new"]) == 0
    key = load_key(tmp_path / "key.pem")
    assert key is not None
    assert key.public in capsys.readouterr().out
    assert assay(["keys", "show"]) == 0
    said, entry = capsys.readouterr().out.splitlines()[-2:]
    assert said.startswith("not on the trust list (manifests/trust.json): decisions are proposals")
    assert TrustedKey.model_validate_json(entry).public_key == key.public
    manifests = trusting(key)
    monkeypatch.setattr("manifests.load.load", lambda: manifests)
    assert assay(["keys", "show"]) == 0
    assert "trusted as 'the board' since 2020-01-01T00:00:00.000000Z" in capsys.readouterr().out

    assert assay(["incidents", "list", "r"]) == 0
    listed = capsys.readouterr().out
    assert "invalid by container_fault, after the agent's first action: the container ended" in listed
    assert "evidence exit: 137" in listed
    assert assay(["incidents", "confirm", "r", "2", "--reason", "the host lost power"]) == 0
    assert capsys.readouterr().out == "attempt 2: confirmed; it takes no opportunity\n"
    assert assay(["incidents", "reject", "r", "5", "--reason", "the agent killed it", "--ruled", "quit"]) == 0
    assert capsys.readouterr().out == "attempt 5: rejected and ruled failure QUIT (quit)\n"
    assert assay(["incidents", "list", "r"]) == 0
    assert capsys.readouterr().out == "no open incidents in run r; --all lists decided ones\n"
    assert assay(["incidents", "list", "r", "--all", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert [(item["sequence"], item["incident"]) for item in found] == [(2, "confirmed"), (5, "rejected")]
    assert assay(["incidents", "confirm", "r", "2", "--reason", "again"]) == 2
    assert "it is decided" in error_of(capsys)


def test_without_a_key_a_decision_is_a_proposal(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    one_condition(Store(home), "r", LATE_FAULT)
    assert assay(["incidents", "confirm", "r", "2", "--reason", "power"]) == 2
    assert error_of(capsys) == "reviewer: no trusted key says who you are; give --reviewer NAME"
    assert assay(["incidents", "confirm", "r", "2", "--reason", "power", "--reviewer", "lab"]) == 0
    assert "recorded as a proposal; it stays a candidate until a key of the board's" in capsys.readouterr().out
    assert assay(["incidents", "list", "r"]) == 0
    why = "no key of this board's trust list signed it"
    assert f"confirmed by lab (entry 5, proposal: {why}): power" in capsys.readouterr().out


@pytest.mark.parametrize("command", [["incidents", "confirm"], ["incidents", "reject"], ["episode"]])
def test_a_number_below_zero_is_a_wrong_number_and_no_option(
    home: Path, command: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert assay([*command, "r", "-51"]) == 2
    assert error_of(capsys) == "sequence -51: give the number that reports show for the attempt"
    assert assay([*command, "r", "--resaon", "-5"]) == 2
    assert "No such option '--resaon'" in error_of(capsys)


def test_a_private_key_is_for_its_owner_alone_and_never_printed(
    home: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "key.pem"
    assert assay(["keys", "show"]) == 2
    assert "there is none; `assay keys new` makes one" in error_of(capsys)
    assert assay(["keys", "new"]) == 0
    secret = path.read_text(encoding="ascii")
    assert path.stat().st_mode & 0o777 == 0o600
    body = "".join(line for line in secret.splitlines() if "KEY" not in line)
    output = capsys.readouterr().out
    assert body not in output
    assert repr(load_key(path)).startswith("Key(")
    assert body not in repr(load_key(path))
    assert assay(["keys", "new"]) == 2
    assert "there is one already" in error_of(capsys)
    assert path.read_text(encoding="ascii") == secret
    path.chmod(0o644)
    assert assay(["keys", "show"]) == 2
    assert f"its mode 644 lets others read it; run: chmod 600 {path}" in error_of(capsys)
    path.chmod(0o600)
    path.write_text("no key", encoding="ascii")
    assert assay(["keys", "show"]) == 2
    assert "is not an unencrypted Ed25519 key in PEM" in error_of(capsys)


def test_the_private_key_is_in_no_record(home: Path, tmp_path: Path) -> None:
    one_condition(Store(home), "r", LATE_FAULT)
    assert assay(["keys", "new"]) == 0
    assert assay(["incidents", "confirm", "r", "2", "--reason", "power", "--reviewer", "lab"]) == 0
    secret = (tmp_path / "key.pem").read_text(encoding="ascii").splitlines()[1]
    Store(home).close()
    for path in home.rglob("*"):
        if path.is_file():
            assert secret.encode() not in path.read_bytes()


def test_a_withdrawn_run_keeps_its_records_and_has_no_rank(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    from manifests.load import load

    store = Store(home)
    run = write_run(store, "r", twice(QUIT, QUIT))
    assert score_run(store, run, load())["complete"]
    assert assay(["runs", "withdraw", "r", "--reason", "the wrong checkpoint", "--reviewer", "the lab"]) == 0
    assert "withdrawn" in capsys.readouterr().out
    found = store.find_run("r")
    assert found is not None
    assert found.withdrawn is not None
    assert (found.withdrawn.reason, found.withdrawn.reviewer) == ("the wrong checkpoint", "the lab")
    result = score_run(store, found, load())
    assert result["rankable"] is False
    assert result["not_rankable"][0].endswith("by the lab: the wrong checkpoint")
    assert result["run"]["withdrawn"] == result["not_rankable"][0]
    assert len(store.attempts(found)) == 24
    assert store.entries(found)[-1].kind == "withdrawn"
    assert store.verify(found) is None
    assert assay(["score", "r"]) == 0
    assert "by the lab: the wrong checkpoint" in capsys.readouterr().out
    assert assay(["runs"]) == 0
    assert "withdrawn" in capsys.readouterr().out
    assert assay(["runs", "withdraw", "r", "--reason", "again"]) == 2
    assert "already" in error_of(capsys)
    assert assay(["runs", "withdraw", "r", "--reason", " "]) == 2
    assert error_of(capsys) == "reason: 1 characters; give 1 to 1000"


def test_a_withdrawn_run_does_not_go_on(home: Path) -> None:
    from slider_runtime import Scripted, evaluation, fail

    from runner.errors import BadInput
    from runner.store.leases import Owner
    from runner.store.view import LedgerError

    made = evaluation(home, Scripted(fail), parameters=[{}], protocol="single")
    run = made.run()
    made.store.withdraw_run(run, "the lab", "the wrong checkpoint")
    with pytest.raises(BadInput, match="the wrong checkpoint; start another with RUN="):
        evaluation(home, Scripted(fail), parameters=[{}], protocol="single").run()
    with pytest.raises(LedgerError, match="the run is withdrawn"):
        made.store.open_attempt(run, "marble/dual-panda/A007", 0, Owner.current())
