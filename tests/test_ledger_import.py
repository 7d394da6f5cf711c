"""Attempts made elsewhere: taken in as a whole or not at all, marked everywhere, never ranked."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from scoring_reference_ledger import PRINTED, reference_ledger

from leaderboard.ranking import standings
from leaderboard.source import Entry, read_entry
from manifests.demo import FOLDER
from manifests.errors import ManifestError
from manifests.load import load
from runner.cli import run as assay
from runner.errors import BadInput
from runner.imports.csv_file import as_csv
from runner.imports.ledger import Source, import_ledger
from runner.score import score_run
from runner.store import ledger
from runner.store.store import Store
from scoring.ledger import CSV_COLUMNS, attempts_from_csv
from scoring.plan import selection_of
from scoring.reconstruct import reconstruct
from scoring.report import score
from scoring.rules import Rules

A007 = "marble/dual-panda/A007"
SOURCE = Source("paper", "published", "ep-100", "pass2")
DEMO = FOLDER / "gpt-6-astra.csv"


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store(tmp_path / "home")


def write(path: Path, *rows: str) -> Path:
    path.write_text("\n".join([",".join(CSV_COLUMNS), *rows]) + "\n", encoding="utf-8")
    return path


# -- the demo


def test_the_demo_ledger_is_what_the_printed_figures_make() -> None:
    assert DEMO.read_text(encoding="utf-8") == as_csv(reconstruct(load(), PRINTED))
    assert attempts_from_csv(DEMO.read_text(encoding="utf-8")) == reference_ledger()


@pytest.mark.parametrize(
    ("subset", "figures"),
    [("ep-100", "13.80/19.94"), ("ep-easy", "18.42/27.41"), ("ep-hard", "8.81/12.01"), ("ep-20", "15.42/18.75")],
)
def test_the_demo_prints_the_figures_of_the_text(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], subset: str, figures: str
) -> None:
    monkeypatch.setenv("ASSAY_HOME", str(tmp_path))
    assert assay(["ledger", "import", str(DEMO), "--name", "gpt-6-astra", "--kind", "reconstructed"]) == 0
    capsys.readouterr()
    assert assay(["score", "gpt-6-astra", "--subset", subset, "--format", "json"]) == 0
    result = json.loads(capsys.readouterr().out)
    assert "/".join(result["headline"][f"pass_at_{k}"]["percent"] for k in (1, 2)) == figures
    assert assay(["score", "gpt-6-astra", "--subset", subset]) == 0
    table = capsys.readouterr().out
    assert "reconstructed: made to agree with printed figures, not attempts that anybody made; never ranked" in table
    assert f"{figures.split('/')[0]} %" in table


def test_the_demo_target_succeeds_the_second_time_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("ASSAY_HOME", str(tmp_path))
    command = ["ledger", "import", str(DEMO), "--name", "gpt-6-astra", "--kind", "reconstructed"]
    assert assay(command) == 0
    assert assay([*command, "--exist-ok"]) == 0
    assert "there already: 846 attempts" in capsys.readouterr().out
    assert assay(command) == 2
    assert "name 'gpt-6-astra': this file is imported already" in capsys.readouterr().err


# -- the same score as the file


def test_an_imported_ledger_scores_like_its_file_with_the_numbers_of_its_rows(store: Store) -> None:
    run, made = import_ledger(store, DEMO, SOURCE, load())
    assert made
    assert run.kind == "published"
    selection = selection_of(load(), "ep-100", profile="native", level="L3")
    file = score(reference_ledger(), selection, Rules(load(), "pass2"))
    result = score_run(store, run, load())
    for part in ("headline", "total", "by", "ledger", "attempts", "groups", "codes_by_suite", "complete"):
        assert result[part] == file[part], part
    assert store.verify(run) is None
    before = [row.model_dump() for row in store.attempts(run)]
    with store.database.write() as session:
        assert ledger.rebuild(session, run.id) == 846
    assert [row.model_dump() for row in store.attempts(run)] == before


def test_a_rejected_incident_in_a_file_keeps_its_ruled_outcome(store: Store, tmp_path: Path) -> None:
    path = write(tmp_path / "l.csv", f"5,{A007},0,failure,QUIT,rejected", f"3,{A007},0,invalid,ERR,confirmed")
    run, _ = import_ledger(store, path, _smoke(), load())
    found = score_run(store, run, load())["attempts"]
    assert [(row["sequence"], row["status"], row["outcome"]) for row in found] == [
        (3, "excluded", "invalid"),
        (5, "scored", "failure"),
    ]


def _smoke(**change: Any) -> Source:
    return Source(**{"name": "paper", "kind": "external", "subset": "smoke", "protocol": "pass2", **change})


# -- marked everywhere, never ranked


@pytest.mark.parametrize("kind", ["published", "reconstructed", "external"])
def test_an_imported_run_is_marked_in_every_output_and_has_no_rank(store: Store, kind: str) -> None:
    from runner.report_rows import as_csv as report_csv
    from runner.report_rows import as_markdown

    run, _ = import_ledger(store, DEMO, Source("paper", kind, "ep-100", "pass2"), load())
    result = score_run(store, run, load(), by=("suite",))
    assert (result["run"]["kind"], result["run"]["official"], result["rankable"]) == (kind, False, False)
    assert result["not_rankable"][0].startswith(f"{kind}: ")
    assert result["complete"]
    lines = list(csv.DictReader(io.StringIO(report_csv(result))))
    assert {line["kind"] for line in lines} == {kind}
    assert kind in as_markdown(result)
    entry = read_entry(store, run)
    assert isinstance(entry, Entry)
    (standing,) = standings([entry])
    assert standing.ranked == ()
    assert standing.unranked[0].reasons[0].startswith(f"{kind}: ")


def test_there_is_no_record_to_decide_on(store: Store) -> None:
    from runner.incidents import confirm, incidents, reviewer

    run, _ = import_ledger(store, DEMO, SOURCE, load())
    assert incidents(store, run, load(), decided=True) == []
    with pytest.raises(BadInput, match="attempt 12 was made elsewhere: there is no record to decide on"):
        confirm(store, run, 12, load(), reviewer("me", None, load()), "because")


def test_an_evaluation_does_not_go_on_with_an_imported_run(store: Store) -> None:
    from slider_runtime import Scripted, evaluation, fail

    import_ledger(store, DEMO, SOURCE, load())
    with pytest.raises(BadInput, match=r"run paper: .*start another run with RUN="):
        evaluation(store.home, Scripted(fail), name="paper").run()


# -- what is refused, with nothing written

WRONG: list[tuple[str, str]] = [
    (f"1,{A007},0,success,,\n1,{A007},1,success,,", "attempt 1: sequence 1 stands twice; number each attempt once"),
    ("1,marble/dual-panda/A999,0,success,,", "attempt 1: environment_id 'marble/dual-panda/A999' is unknown; nearest"),
    (
        "1,marble/dual-panda/A008,0,success,,",
        "environment_id 'marble/dual-panda/A008' is not in subset 'smoke'; choose",
    ),
    (f"1,{A007},4,success,,", "attempt 1: condition 4 is not one of 0 to 3"),
    (f"1,{A007},0,,,", "attempt 1: outcome is empty; an attempt made elsewhere has ended"),
    (f"1,{A007},0,won,,", "line 2: attempt 1: outcome 'won' is not one of success, failure, invalid"),
    (f"1,{A007},0,failure,BANG,", "attempt 1: failure_code 'BANG' is not one of COLL"),
    (f"1,{A007},0,failure,,", "attempt 1: failure_code '' on a failure; give the code of its first violation"),
    (f"1,{A007},0,success,COLL,", "attempt 1: failure_code 'COLL' on a success; leave it empty"),
    (f"1,{A007},0,success,,confirmed", "attempt 1: incident 'confirmed' on a success"),
    (f"x,{A007},0,success,,", "line 2: sequence 'x' is not a whole number"),
    (f"1,{A007},0,success", "line 2: has not 6 values"),
    ("", "has no attempt; give at least one row"),
]


@pytest.mark.parametrize(("rows", "text"), WRONG, ids=[text[:48] for _, text in WRONG])
def test_a_wrong_row_is_one_line_and_nothing_is_written(store: Store, tmp_path: Path, rows: str, text: str) -> None:
    path = write(tmp_path / "l.csv", *rows.splitlines())
    with pytest.raises(BadInput) as caught:
        import_ledger(store, path, _smoke(), load())
    assert str(caught.value).startswith(f"ledger {path}: ")
    assert text in str(caught.value)
    assert "\n" not in str(caught.value)
    assert store.runs() == []


def test_a_wrong_last_row_of_many_leaves_nothing(store: Store, tmp_path: Path) -> None:
    path = tmp_path / "l.csv"
    path.write_text(DEMO.read_text(encoding="utf-8") + f"847,{A007},9,success,,\n", encoding="utf-8")
    with pytest.raises(BadInput, match="attempt 847: condition 9 is not one of 0 to 3"):
        import_ledger(store, path, SOURCE, load())
    assert store.runs() == []


@pytest.mark.parametrize(
    ("change", "error", "text"),
    [
        ({"kind": "evaluated"}, BadInput, "kind 'evaluated' is not one of published, reconstructed, external"),
        ({"name": "../up"}, BadInput, "RUN='../up': use 1 to 100 letters"),
        ({"subset": "ep-21"}, ManifestError, "subset 'ep-21' is unknown"),
        ({"protocol": "pass3"}, ManifestError, "protocol 'pass3' is unknown"),
        ({"profile": "gpu"}, ManifestError, "profile 'gpu' is unknown"),
        ({"level": "L9"}, BadInput, "level 'L9' is not one of L0, L1, L2, L3"),
        ({"model": " "}, BadInput, "give the name of what was evaluated"),
    ],
)
def test_a_wrong_setting_is_one_line(
    store: Store, tmp_path: Path, change: dict[str, str], error: type[Exception], text: str
) -> None:
    path = write(tmp_path / "l.csv", f"1,{A007},0,success,,")
    with pytest.raises(error, match=text):
        import_ledger(store, path, _smoke(**change), load())
    assert store.runs() == []


@pytest.mark.parametrize(
    ("content", "text"),
    [
        (b"\xff\xfe", "is not UTF-8 text: byte 0; save it as UTF-8"),
        (b"a,b\n1,2\n", "line 1: columns a,b are not sequence,environment_id"),
        (b"", r"line 1: columns \(none\) are not"),
    ],
)
def test_a_file_of_another_kind_is_one_line(store: Store, tmp_path: Path, content: bytes, text: str) -> None:
    (tmp_path / "l.csv").write_bytes(content)
    with pytest.raises(BadInput, match=text):
        import_ledger(store, tmp_path / "l.csv", _smoke(), load())
    with pytest.raises(BadInput, match=r"cannot be read \(No such file"):
        import_ledger(store, tmp_path / "gone.csv", _smoke(), load())


def test_duplicates_are_refused(store: Store, tmp_path: Path) -> None:
    first = write(tmp_path / "1.csv", f"1,{A007},0,success,,")
    other = write(tmp_path / "2.csv", f"1,{A007},0,failure,QUIT,")
    import_ledger(store, first, _smoke(), load())
    assert import_ledger(store, first, _smoke(), load())[1] is False
    with pytest.raises(BadInput, match="name 'paper': there is a run of that name with other attempts"):
        import_ledger(store, other, _smoke(), load())
    with pytest.raises(BadInput, match="run 'paper' holds the same file"):
        import_ledger(store, first, _smoke(name="copy"), load())
    assert len(store.runs()) == 1


# -- figures that no ledger can have


def _figures(change: Callable[[dict[str, Any]], object], path: Path) -> Path:
    data = json.loads((FOLDER / "gpt-6-astra.json").read_text(encoding="utf-8"))
    change(data)
    path.write_text(json.dumps(data), encoding="utf-8")
    return path


@pytest.mark.parametrize(
    ("change", "text"),
    [
        (lambda d: d["suites"]["Launch"].update({"ep-100": ["15.51", "25.74"]}), "15.51 % is printed for 0 counts"),
        (lambda d: d["records"].update(total=847), "records.total is 847, the other figures make 846"),
        (lambda d: d.pop("model"), "model: field required"),
        (lambda d: d["suites"]["Launch"].update({"ep-21": ["0.00", "0.00"]}), "subset 'ep-21' is unknown"),
    ],
)
def test_figures_that_no_ledger_has_are_one_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], change: Callable[[dict[str, Any]], object], text: str
) -> None:
    path = _figures(change, tmp_path / "f.json")
    assert assay(["ledger", "reconstruct", str(path), "-o", str(tmp_path / "out.csv")]) == 2
    error = capsys.readouterr().err
    assert text in error
    assert error.count("\n") == 1
    assert not (tmp_path / "out.csv").exists()
