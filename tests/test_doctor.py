"""`assay doctor`: what is there and what is missing, each with how to mend it; a key is never shown."""

from __future__ import annotations

import importlib.metadata
import json
import os
import sqlite3
import subprocess
from pathlib import Path
from typing import Any

import pytest
from model_server import Answer, ModelServer, fault, say
from test_cli import ASSAY, one_error

from runner.doctor import _disk, _python, _store, examine, failed
from runner.doctor_checks import Check, Subject
from runner.doctor_draw import draws
from runner.doctor_packages import EXTRAS, Extra, differences, extras, packages
from runner.errors import BadInput
from runner.images.contents import ROOT
from runner.runtimes.base import RuntimeUnavailable
from runner.store.store import Store

NAMES = ["python", "packages", "docker", "bubblewrap", "isolation", "rendering", "gpu", "disk", "store"]
SECRET = "sk-never-to-be-seen-0123456789"


def doctor(home: Path, *arguments: str, **variables: str) -> subprocess.CompletedProcess[str]:
    environment = {"ASSAY_HOME": str(home), "PATH": os.environ["PATH"], "OPENBLAS_NUM_THREADS": "1", **variables}
    return subprocess.run([*ASSAY, "doctor", *arguments], capture_output=True, text=True, timeout=200, env=environment)


def checks(done: subprocess.CompletedProcess[str]) -> dict[str, dict[str, Any]]:
    return {check["name"]: check for check in json.loads(done.stdout)["checks"]}


def subject(home: Path) -> Subject:
    return Subject(home, ROOT)


def test_every_part_is_looked_at_and_what_is_not_ok_says_how_to_mend_it(tmp_path: Path) -> None:
    home = tmp_path / "home"
    done = doctor(home, "--json")
    found = checks(done)
    assert [name for name in found if name != "images"] == NAMES[:2] + list(EXTRAS) + NAMES[2:]
    assert done.returncode == (1 if any(check["state"] == "fail" for check in found.values()) else 0)
    assert all(check["mend"] for check in found.values() if check["state"] != "ok")
    assert found["python"]["state"] == "ok"
    assert not home.exists()  # a doctor changes nothing


def test_without_an_engine_and_bubblewrap_nothing_isolates_and_it_fails(tmp_path: Path) -> None:
    done = doctor(tmp_path, DOCKER_HOST="unix:///nowhere.sock", PATH="/nowhere")
    assert done.returncode == 1
    assert "✗ isolation" in done.stdout
    assert "no Engine answers at unix:///nowhere.sock" in done.stdout
    assert "apt-get install bubblewrap" in done.stdout
    assert "Traceback" not in done.stderr


# ---- parts ----------------------------------------------------------------------------------------------------------
def test_a_lock_file_is_compared_with_what_is_installed() -> None:
    here = importlib.metadata.version("numpy")
    lock = f"""# a comment
numpy=={here} \\
    --hash=sha256:00
    # via assay
click==0.1
no-such-package==1
no-such-on-windows==1 ; sys_platform == 'win32'
"""
    found = list(differences(lock))
    assert found[0].startswith("click ")
    assert found[0].endswith("instead of ==0.1")
    assert found[1:] == ["no-such-package is missing"]


def test_a_copy_of_the_python_files_alone_fails_and_says_what_mends_it(tmp_path: Path) -> None:
    (found,) = packages(Subject(tmp_path, tmp_path))
    assert (found.state, found.mend) == ("fail", "make setup in the checkout")


def test_an_extra_is_as_its_lock_says_or_otherwise_or_says_how_to_install_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    here = importlib.metadata.version("numpy")
    locks = {"absent": "no-such-package==1", "same": f"numpy=={here}", "other": "numpy==0.1"}
    made = {}
    for name, lock in locks.items():
        (tmp_path / f"requirements-{name}.lock").write_text(f"{lock}\n")
        made[name] = Extra(lock.partition("==")[0], "a use", "make it")
    monkeypatch.setattr("runner.doctor_packages.EXTRAS", made)
    found = {check.name: check for check in extras(Subject(tmp_path, tmp_path))}
    assert (found["absent"].state, found["absent"].mend) == ("optional", "make it")
    assert found["same"].state == "ok"
    assert found["other"].state == "warn"
    assert f"numpy {here} instead of ==0.1" in found["other"].text


def test_every_extra_has_a_lock_and_a_target_that_installs_it() -> None:
    targets = (ROOT / "Makefile").read_text(encoding="utf-8")
    for name, extra in EXTRAS.items():
        assert f"{extra.package}==" in (ROOT / f"requirements-{name}.lock").read_text(encoding="utf-8")
        make, target, *_ = extra.install.split()
        assert make == "make"
        assert f"\n{target}: " in targets


def test_the_checkout_is_installed_as_its_lock_says_or_differs_by_name() -> None:
    assert all(" " in phrase for phrase in differences((ROOT / "requirements.lock").read_text(encoding="utf-8")))


@pytest.mark.parametrize(("version", "state"), [((3, 10, 1), "fail"), ((3, 12, 0), "ok"), ((3, 14, 0), "fail")])
def test_only_some_pythons_will_do(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, version: tuple[int, int, int], state: str
) -> None:
    monkeypatch.setattr("sys.version_info", version)
    assert next(_python(subject(tmp_path))).state == state


def test_a_store_is_read_and_a_broken_one_fails(tmp_path: Path) -> None:
    assert next(_store(subject(tmp_path))).text.startswith("none yet")
    store = Store(tmp_path)
    store.create_run("r", {"board": "ep"})
    store.close()
    assert "1 run, 1 ledger entry" in next(_store(subject(tmp_path))).text
    with sqlite3.connect(tmp_path / "assay.sqlite") as connection:
        connection.execute("UPDATE alembic_version SET version_num = '0001'")
    connection.close()
    older = next(_store(subject(tmp_path)))  # no failure: the next command that may write mends it
    assert older.state == "warn"
    assert "`assay runs`" in older.mend
    (tmp_path / "assay.sqlite").write_bytes(b"no database at all" * 100)
    for extra in tmp_path.glob("assay.sqlite-*"):
        extra.unlink()
    found = {check.name: check for check in examine(subject(tmp_path))}["store"]
    assert found.state == "fail"
    assert "not a usable database" in found.text


def test_a_disk_that_is_nearly_full_fails_with_the_need(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    usage = type("Usage", (), {"free": 10 << 20})
    monkeypatch.setattr("shutil.disk_usage", lambda path: usage)
    found = next(_disk(subject(tmp_path / "not" / "yet")))
    assert found.state == "fail"
    assert "an attempt needs 64 MB" in found.text
    assert "ASSAY_HOME" in found.mend


def test_a_check_that_breaks_is_a_failed_check(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(subject: Subject) -> Any:
        raise ZeroDivisionError("division by zero")

    monkeypatch.setattr("runner.doctor.CHECKS", {"gpu": broken})
    assert list(examine(subject(tmp_path))) == [Check("gpu", "fail", "ZeroDivisionError: division by zero")]


def test_our_own_errors_are_split_into_what_and_how_to_mend() -> None:
    found = failed("docker", "warn", RuntimeUnavailable("docker: no Engine answers: refused; start it"))
    assert (found.text, found.mend) == ("docker: no Engine answers: refused", "start it")
    assert failed("model", "fail", BadInput("no semicolon")).text == "no semicolon"


def test_a_backend_that_does_not_exist_draws_nothing_and_says_what_to_install() -> None:
    why = draws("none")
    assert why is not None
    assert "libosmesa6" in why


# ---- the model ------------------------------------------------------------------------------------------------------
def test_a_base_url_without_a_model_is_refused(tmp_path: Path) -> None:
    assert "name the model" in one_error(doctor(tmp_path, "--base-url", "http://127.0.0.1:1"))


def look(monkeypatch: pytest.MonkeyPatch, model: str, base_url: str | None = None) -> dict[str, Check]:
    """The checks of a model alone."""
    from runner import doctor as module

    monkeypatch.setattr(module, "CHECKS", {"model": module.CHECKS["model"]})
    return {check.name: check for check in examine(Subject(Path("."), ROOT, model, base_url))}


def test_a_baseline_needs_no_key(monkeypatch: pytest.MonkeyPatch) -> None:
    assert look(monkeypatch, "reference")["model"].state == "ok"


def test_a_missing_key_is_named_and_nothing_is_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("litellm", reason="litellm is not installed: `make test` installs it")
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    found = look(monkeypatch, "openai/gpt-4o")
    assert list(found) == ["key"]
    assert found["key"].state == "fail"
    assert found["key"].mend == "set OPENAI_API_KEY in the environment"


@pytest.mark.parametrize(
    ("answer", "state"), [(say("OK"), "ok"), (fault(401, "that key is wrong"), "fail")], ids=["answers", "refuses"]
)
def test_a_model_is_asked_once_and_its_key_is_never_shown(
    monkeypatch: pytest.MonkeyPatch, answer: Answer, state: str
) -> None:
    pytest.importorskip("litellm", reason="litellm is not installed: `make test` installs it")
    monkeypatch.setenv("OPENAI_API_KEY", SECRET)
    with ModelServer([answer]) as server:
        found = look(monkeypatch, "openai/test-model", server.url)
        assert len(server.requests) == 1
    assert found["key"].text == "OPENAI_API_KEY is set"
    assert found["model"].state == state
    assert not [check for check in found.values() if SECRET in str(check)]


def test_a_model_that_does_not_answer_fails_with_its_address(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("litellm", reason="litellm is not installed: `make test` installs it")
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    found = look(monkeypatch, "openai/test-model", "http://127.0.0.1:9/v1")
    assert found["key"].state == "ok"
    assert found["model"].state == "fail"
    assert "127.0.0.1:9" in found["model"].text
