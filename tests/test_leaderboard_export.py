"""``assay site``: what it writes, what it replaces, and what it refuses. It needs no Streamlit."""

from __future__ import annotations

import json
import re
import sqlite3
from pathlib import Path

import pytest
from leaderboard_records import QUIT, RULE, SUCCESS, twice, write_run

from leaderboard.export import MARKER, main
from manifests.load import load
from runner.cli import run as assay
from runner.score import score_run
from runner.store.store import Store


def test_the_command_writes_the_pages_with_the_numbers_of_the_score_command(store: Store, tmp_path: Path) -> None:
    run = write_run(store, "one", twice(RULE, SUCCESS), subset="ep-launch")
    folder = tmp_path / "public"
    assert assay(["site", "-o", str(folder)]) == 0
    for path in folder.glob("*.html"):  # all tasks agree: an interval would have no width
        assert "0.00 to 0.00" not in path.read_text(), path.name
        assert "100.00 to 100.00" not in path.read_text(), path.name
    assert "exact 95 %: ≥ 91.57" in (folder / "ranking.html").read_text()
    names = {path.name for path in folder.iterdir()}
    assert {"index.html", "ranking.html", "audit.html", "submit.html", "protocol.html", "data", "figures"} <= names
    for view in ("suites", "tasks", "failures"):
        assert [name for name in names if re.fullmatch(rf"{view}-[0-9a-f]{{8}}\.html", name)]
    (table,) = (json.loads(path.read_text()) for path in (folder / "data").glob("ranking-*.json"))
    metrics = score_run(store, run, load())["total"]["metrics"]
    for key, metric in metrics.items():
        assert table[0][f"{key}_percent"] == float(metric["balanced"]["percent"])
        assert table[0][f"{key}_planned"] == metric["planned"]
        assert [table[0][f"{key}_exact_{end}"] for end in ("lower", "upper")] == metric["balanced"]["exact_bound"]


def test_the_numbers_of_a_damaged_run_are_not_exported(store: Store, tmp_path: Path) -> None:
    write_run(store, "sound", twice(QUIT, QUIT), model="lab/sound")
    write_run(store, "spoilt", twice(SUCCESS), model="lab/spoilt")
    with sqlite3.connect(store.home / "assay.sqlite") as raw:
        raw.execute("UPDATE attempt SET outcome = 'failure' WHERE run_id = (SELECT id FROM run WHERE name = 'spoilt')")
    folder = tmp_path / "public"
    assert main(["-o", str(folder)]) == 0
    for name in ("index.html", "ranking.html"):
        page = (folder / name).read_text()
        assert "A run of this store is damaged." in page
        assert "lab/sound" in page
    assert not [path for path in folder.rglob("*") if path.is_file() and b"lab/spoilt" in path.read_bytes()]


def test_the_next_export_replaces_the_last_one_and_nothing_else(store: Store, tmp_path: Path) -> None:
    folder = tmp_path / "public"
    write_run(store, "one", twice(QUIT, QUIT))
    assert main(["-o", str(folder)]) == 0
    before = set(json.loads((folder / MARKER).read_text())["files"])
    (folder / "CNAME").write_text("board.example.org")
    write_run(store, "two", twice(QUIT, QUIT), subset="ep-launch")
    assert main(["-o", str(folder)]) == 0
    after = set(json.loads((folder / MARKER).read_text())["files"])
    assert before < after
    assert {path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()} == after | {
        "CNAME",
        MARKER,
    }


def test_a_folder_that_holds_something_else_is_refused(
    store: Store, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write_run(store, "one", twice(QUIT, QUIT))
    folder = tmp_path / "thesis"
    folder.mkdir()
    (folder / "chapter.txt").write_text("years of work")
    assert main(["-o", str(folder)]) == 2
    assert capsys.readouterr().err == (
        f"assay: error: output {folder}: is not empty and holds no site: name another folder with -o\n"
    )
    assert [path.name for path in folder.iterdir()] == ["chapter.txt"]


def test_without_a_store_it_says_so_in_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("ASSAY_HOME", str(tmp_path / "none"))
    monkeypatch.delenv("ASSAY_STORE", raising=False)
    assert main(["-o", str(tmp_path / "public")]) != 0
    assert capsys.readouterr().err.count("\n") == 1
    assert not (tmp_path / "public").exists()


def test_what_a_stranger_wrote_is_shown_and_not_obeyed(store: Store, tmp_path: Path) -> None:
    attack = '</script><script>alert(1)</script><img src=x onerror="alert(1)">'
    write_run(store, "one", twice(RULE, RULE), model=attack)
    folder = tmp_path / "public"
    assert main(["-o", str(folder)]) == 0
    for path in folder.glob("*.html"):
        page = path.read_text()
        assert "<script>alert" not in page
        assert "<img src=x" not in page
        assert page.count("<script") == page.count('<script type="application/json"') == page.count("</script>")
