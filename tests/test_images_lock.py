"""``manifests/images.lock``: which images are known, and where another one differs."""

from __future__ import annotations

import io
import json
import os
import shutil
import tarfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from manifests.errors import ManifestError
from manifests.image_lock import ImageLock, load_image_lock
from manifests.images import load_images
from runner.audit.rescore import unknown_images
from runner.images import builder, files, identities
from runner.images.contents import ROOT, context_hash

LOCK = ".venv/bin/assay images lock"


def test_the_lock_is_of_this_checkout() -> None:
    """A checkout between two releases is an unreleased build, which is said and is no error; a release must be one."""
    states = [identities.locked_state(role) for role in load_images().roles]
    changed = [text for state, text in states if state != "released"]
    if not changed:
        return
    text = f"unreleased build: {'; '.join(changed)}. For a release run: {LOCK} && git add manifests/images.lock"
    if "release" in os.environ.get("ASSAY_REQUIRE", "").split(","):
        pytest.fail(text)
    pytest.skip(text)


def test_the_lock_is_what_the_command_writes() -> None:
    path = ROOT / "manifests" / "images.lock"
    assert path.read_text() == json.dumps(load_image_lock().model_dump(mode="json"), indent=1) + "\n"


def sample() -> dict[str, Any]:
    one = {
        "base": "debian",
        "architecture": "amd64",
        "content": "a" * 64,
        "layers": ["sha256:1"],
        "packages": {"libc6": "2.36-9"},
        "tree": {"usr/lib": "b" * 64},
    }
    role = {"context": "c" * 64, "wheels": {"numpy.whl": "d" * 64}, "identities": [one]}
    release = {"base_image": "python@sha256:0", "suite": "bookworm", "roles": {"sandbox": role}}
    return {"text": "for a test", "releases": {"1.0.0": release}}


def test_an_identity_is_known_by_role_and_content() -> None:
    lock = ImageLock.model_validate_json(json.dumps(sample()))
    assert lock.release_of("sandbox", "a" * 64) == "1.0.0"
    assert lock.release_of("mujoco", "a" * 64) is None
    assert lock.release_of("sandbox", "e" * 64) is None
    found = lock.with_context("sandbox", "c" * 64)
    assert found is not None
    assert found[0] == "1.0.0"
    assert lock.with_context("sandbox", "e" * 64) is None


def test_an_audit_says_which_images_of_a_run_are_of_no_release() -> None:
    lock = ImageLock.model_validate_json(json.dumps(sample()))
    found = unknown_images({"mujoco": {"sandbox": "a" * 64, "mujoco": "e" * 64}}, lock)
    assert [str(one) for one in found] == ["image mujoco: eeeeeeeeeeee is of no release: an unreleased build"]


def test_a_wrong_lock_is_one_line_with_its_field(tmp_path: Path) -> None:
    raw = sample()
    raw["releases"]["1.0.0"]["roles"]["sandbox"]["identities"][0]["content"] = "abc"
    (tmp_path / "images.lock").write_text(json.dumps(raw))
    with pytest.raises(ManifestError, match=r"^manifests/images\.lock: releases\..*content.*'abc'$"):
        load_image_lock(tmp_path)
    with pytest.raises(ManifestError, match=r"^manifests/images\.lock: cannot be read"):
        load_image_lock(tmp_path / "nowhere")


paths = st.sampled_from(
    [
        "opt/assay/src/images/client/sdk.py",
        "opt/assay/src/images/client/__pycache__/sdk.cpython-311.pyc",
        "opt/assay/site/numpy/core/a.so",
        "opt/assay/site/PIL/Image.py",
        "usr/lib/x86_64-linux-gnu/libc.so.6",
        "usr/bin/python3",
        "etc/passwd",
        "bin",
    ]
)


@given(st.dictionaries(paths, st.text("ab", min_size=1, max_size=2)), paths, st.text("xy", min_size=1, max_size=2))
def test_a_changed_file_changes_the_hash_of_its_part_and_of_no_other(
    found: dict[str, str], path: str, content: str
) -> None:
    before, after = files.tree(found), files.tree({**found, path: content})
    assert {line.split(": ")[0] for line in files.differences(before, after)} == {files.part_of(path)}


def test_a_source_file_is_named_by_itself_and_the_rest_by_its_part() -> None:
    assert files.part_of("opt/assay/src/images/client/sdk.py") == "opt/assay/src/images/client/sdk.py"
    assert files.part_of("opt/assay/src/images/__pycache__/x.pyc") == "bytecode of opt/assay/src/"
    assert files.part_of("opt/assay/site/numpy/core/a.so") == "opt/assay/site/numpy"
    assert files.part_of("usr/lib/x86_64-linux-gnu/libc.so.6") == "usr/lib"


# ---- real images -----------------------------------------------------------------------------------------------------
@pytest.fixture
def api() -> Iterator[Any]:
    from runner.runtimes.engine import connect

    client = connect()
    yield client
    client.close()


@pytest.fixture
def checkout(tmp_path: Path, api: Any) -> Iterator[Path]:
    """A checkout with one role, a source file of its own and an empty lock; what is built of it goes afterwards."""
    for folder in ("images/client", "images/sandbox", "images/base"):
        shutil.copytree(ROOT / folder, tmp_path / folder, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "images" / "__init__.py", tmp_path / "images")
    shutil.copy(ROOT / "requirements.lock", tmp_path)
    (tmp_path / "images/client/own.py").write_text(f"PATH = {str(tmp_path)!r}\n")
    (ROOT / ".cache").mkdir(exist_ok=True)
    (tmp_path / ".cache").symlink_to(ROOT / ".cache")
    (tmp_path / "manifests").mkdir()
    raw = load_images().model_dump(mode="json")
    raw["roles"] = {"sandbox": raw["roles"]["sandbox"]}
    (tmp_path / "manifests/images.json").write_text(json.dumps(raw))
    (tmp_path / "manifests/images.lock").write_text('{"text": "", "releases": {}}')
    made = builder.tag("sandbox", context_hash("sandbox", tmp_path))
    yield tmp_path
    if api.images(name=made):
        api.remove_image(made, force=True)


@pytest.mark.docker
@pytest.mark.timeout(600)
def test_a_locked_image_is_known_and_an_altered_one_is_named_by_its_file(api: Any, checkout: Path) -> None:
    assert identities.verify(api, "sandbox", checkout).state == "missing"
    lock = identities.write_lock(api, "9.9.9", lambda text: None, checkout)
    found = identities.verify(api, "sandbox", checkout)
    assert (found.state, found.text) == ("released", "known: the image of release 9.9.9")
    assert found.image is not None
    (locked,) = lock.releases["9.9.9"].roles["sandbox"].identities
    assert locked.content == found.image.content
    assert "libc6" in locked.packages
    assert "opt/assay/src/images/client/own.py" in locked.tree

    container = api.create_container(found.image.id, ["true"])["Id"]
    try:
        stream = io.BytesIO()
        with tarfile.open(fileobj=stream, mode="w") as tar:
            member = tarfile.TarInfo("own.py")
            member.size = 11
            tar.addfile(member, io.BytesIO(b"changed = 1"))
        api.put_archive(container, "/opt/assay/src/images/client", stream.getvalue())
        repository, tag = found.image.reference.split(":")
        api.commit(container, repository=repository, tag=tag)
    finally:
        api.remove_container(container, force=True)
    altered = identities.verify(api, "sandbox", checkout)
    assert altered.state == "altered"
    assert "opt/assay/src/images/client/own.py: differs" in altered.differences
    assert not any(line.startswith(("package", "opt/assay/site")) for line in altered.differences)
    files_only = identities.compare(api, altered.image.reference, found.image.id)  # type: ignore[union-attr]
    assert files_only == ["opt/assay/src/images/client/own.py: differs"]

    (checkout / "images/client/own.py").write_text("another = 1\n")
    assert identities.locked_state("sandbox", checkout)[0] == "unreleased"
