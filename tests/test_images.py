"""Images hold exactly what their role needs, from the lock and this checkout; nothing is built twice."""

from __future__ import annotations

import ast
import hashlib
import io
import json
import os
import shutil
import sys
import tarfile
import tempfile
import time
import uuid
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from manifests.errors import ManifestError
from manifests.images import load_images
from manifests.load import load
from runner.images import builder, contents, debian, lock
from runner.images.contents import ROOT, context_hash, source_files

ROLES = sorted(load_images().roles)
IMPORT_NAMES = {
    "mujoco-core": "mujoco",
    "pillow": "PIL",
    "pyopengl": "OpenGL",
}  # where they differ from the distribution


def imports(file: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and node.level == 0:
            yield node.module
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


@pytest.mark.parametrize("role", ROLES)
def test_an_image_holds_everything_that_its_sources_import(role: str) -> None:
    files = {file for file in source_files(load_images().role(role)) if file.endswith(".py")}
    requirements = {IMPORT_NAMES.get(name, name.replace("-", "_")) for name in load_images().role(role).requirements}
    held = {file.removesuffix("/__init__.py").removesuffix(".py") for file in files}
    missing = set()
    for file in files:
        for module in imports(ROOT / file):
            path = module.replace(".", "/")
            if module.split(".")[0] in requirements | sys.stdlib_module_names or path in held:
                continue
            exists = (ROOT / f"{path}.py").exists() or (ROOT / path / "__init__.py").exists()
            if exists or path.rpartition("/")[0] not in held:  # else it is a name inside a module that is held
                missing.add(f"{file}: {module}")
    assert not missing


@pytest.mark.parametrize("role", ["sandbox", "reference"])
def test_the_agents_side_holds_no_scene_evaluator_gateway_or_policy(role: str) -> None:
    files = set(source_files(load_images().role(role)))
    assert not {file for file in files if file.startswith(("manifests/", "images/gateway/", "runner/", "scoring/"))}
    private = {file for file in files if file.startswith("images/mujoco/") and "/reference/" not in file}
    assert private == set()
    if role == "sandbox":
        assert not {file for file in files if "reference" in file}


def test_the_environment_holds_no_reference_agent() -> None:
    assert not {file for file in source_files(load_images().role("mujoco")) if "reference" in file}


def test_every_engine_and_sandbox_of_the_manifests_has_an_image() -> None:
    wanted = {engine.role for engine in load().engines.values() if engine.module} | set(load().sandboxes)
    assert wanted == set(ROLES)


def test_dockerfiles_default_to_the_pinned_base() -> None:
    for name in ROLES:
        text = (ROOT / load_images().role(name).dockerfile).read_text()
        assert f"ARG BASE_IMAGE={load_images().base.image}\n" in text


def test_an_unknown_role_is_named_with_the_known_ones() -> None:
    with pytest.raises(ManifestError, match=rf"image role 'kitchen' is unknown; known: {', '.join(ROLES)}$"):
        load_images().role("kitchen")


@pytest.mark.parametrize(
    ("change", "text"),
    [
        ({"base": {"image": "python:3.11"}}, "base.image"),
        ({"roles": {"sandbox": {"surprise": 1}}}, "roles.sandbox.surprise: unknown field"),
        ({"roles": {"sandbox": {"sources": ["../secrets"]}}}, "must be relative and stay inside the repository"),
    ],
)
def test_a_wrong_manifest_is_one_line_with_its_field(tmp_path: Path, change: dict[str, Any], text: str) -> None:
    raw = load_images().model_dump(mode="json")

    def merge(into: dict[str, Any], other: dict[str, Any]) -> None:
        for key, value in other.items():
            if isinstance(value, dict) and key in into:
                merge(into[key], value)
            else:
                into[key] = value

    merge(raw, change)
    (tmp_path / "images.json").write_text(json.dumps(raw))
    with pytest.raises(ManifestError, match=r"^manifests/images\.json: ") as error:
        load_images(tmp_path)
    assert text in str(error.value)
    assert "\n" not in str(error.value)


# ---- what decides whether an image is up to date --------------------------------------------------------------------
@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """A copy of what the hash reads."""
    for folder in ("manifests", "images"):
        shutil.copytree(ROOT / folder, tmp_path / folder, ignore=shutil.ignore_patterns("__pycache__", "assets"))
    shutil.copy(ROOT / "requirements.lock", tmp_path)
    return tmp_path


def test_a_changed_source_makes_its_images_out_of_date_and_no_other(checkout: Path) -> None:
    before = {role: context_hash(role, checkout) for role in ROLES}
    load_images.cache_clear()
    (checkout / "images/sandbox/worker.py").write_text("changed = True\n")
    after = {role: context_hash(role, checkout) for role in ROLES}
    assert {role for role in ROLES if before[role] != after[role]} == {"sandbox", "reference"}


def test_what_no_image_holds_changes_none(checkout: Path) -> None:
    before = {role: context_hash(role, checkout) for role in ROLES}
    (checkout / "images/client/__pycache__").mkdir()
    (checkout / "images/client/__pycache__/sdk.cpython-311.pyc").write_bytes(b"x")
    (checkout / "images/client/.hidden").write_text("x")
    (checkout / "manifests/causes.json").write_text("{}")
    assert before == {role: context_hash(role, checkout) for role in ROLES}


def test_a_changed_lock_entry_counts_only_where_it_is_used(checkout: Path) -> None:
    before = {role: context_hash(role, checkout) for role in ROLES}
    text = (checkout / "requirements.lock").read_text()
    (checkout / "requirements.lock").write_text(text.replace("mujoco-core==4.0.1", "mujoco-core==4.0.2"))
    after = {role: context_hash(role, checkout) for role in ROLES}
    assert {role for role in ROLES if before[role] != after[role]} == {"mujoco", "reference"}


# ---- the lock -------------------------------------------------------------------------------------------------------
def test_the_lock_is_read_for_the_python_of_the_image_not_of_the_host() -> None:
    by_python = {python: lock.subset(ROOT / "requirements.lock", ["numpy"], python)[0] for python in ("3.11", "3.12")}
    assert by_python["3.11"] != by_python["3.12"]
    assert all("--hash=sha256:" in line and ";" not in line for line in by_python.values())


def test_a_distribution_outside_the_lock_is_named() -> None:
    with pytest.raises(lock.LockError, match=r"no entry for left-pad with Python 3\.11"):
        lock.subset(ROOT / "requirements.lock", ["left-pad", "numpy"], "3.11")


def test_a_wheel_with_another_hash_is_never_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "wheels" / "cp311-x86_64"
    folder.mkdir(parents=True)
    (folder / "numpy-2.4.6-cp311-cp311-manylinux_2_28_x86_64.whl").write_bytes(b"not numpy")
    monkeypatch.setattr(lock, "_download", lambda *_: None)
    with pytest.raises(lock.LockError, match="lacks a wheel"):
        lock.wheels([f"numpy==2.4.6 --hash=sha256:{'0' * 64}"], "3.11", "x86_64", tmp_path, lambda _: None)


# ---- the same on every machine ---------------------------------------------------------------------------------------
@pytest.fixture
def elsewhere(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """The same checkout as somebody else has it: in another folder, copied in another order with other times, readable
    for its owner alone, with bytecode and editor files lying about."""
    root = tmp_path_factory.mktemp("elsewhere") / "a folder of another length"
    before = os.umask(0o077)
    try:
        names = {ROOT / "requirements.lock", ROOT / "manifests" / "images.json"}
        for role in load_images().roles.values():
            names |= {ROOT / name for name in (role.dockerfile, contents.COMPILE, *source_files(role))}
        for number, path in enumerate(sorted(names, reverse=True)):
            copy = root / path.relative_to(ROOT)
            copy.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(path, copy)
            os.utime(copy, (number, 4102444800 - number))
        (root / "images/client/__pycache__").mkdir()
        (root / "images/client/__pycache__/sdk.cpython-311.pyc").write_bytes(b"x")
        (root / "images/client/.sdk.py.swp").write_bytes(b"x")
        (ROOT / ".cache").mkdir(exist_ok=True)  # wheels that were fetched before, if any were
        (root / ".cache").symlink_to(ROOT / ".cache")
        yield root
    finally:
        os.umask(before)


def another_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its clock, its time zone, its language, its home, the order in which its disk lists files."""
    monkeypatch.setattr(time, "time", lambda: 4102444800.0)
    for name, value in (("TZ", "Asia/Kathmandu"), ("LANG", "tr_TR.UTF-8"), ("HOME", "/nowhere"), ("USER", "another")):
        monkeypatch.setenv(name, value)
    listed = Path.rglob
    monkeypatch.setattr(Path, "rglob", lambda path, pattern: reversed(list(listed(path, pattern))))


def made_wheels(folder: Path, when: tuple[int, int, int, int, int, int], names: list[str]) -> list[Path]:
    """Two small wheels with these times, their files in this order."""
    found = []
    for wheel in ("one-1-py3-none-any.whl", "two-1-py3-none-any.whl"):
        folder.mkdir(exist_ok=True)
        with zipfile.ZipFile(folder / wheel, "w") as file:
            for name in names:
                file.writestr(zipfile.ZipInfo(f"{wheel[:3]}/{name}", when), f"{wheel} {name}")
        found.append(folder / wheel)
    return found


@pytest.mark.parametrize("role", ROLES)
def test_what_an_image_is_built_from_has_the_same_bytes_on_another_machine(
    role: str, elsewhere: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def digest(root: Path, wheels: list[Path]) -> tuple[str, str]:
        monkeypatch.setattr(lock, "wheels", lambda *_: wheels)
        stream = io.BytesIO()
        builder.pack(role, "x86_64", stream, lambda _: None, root)
        return hashlib.sha256(stream.getvalue()).hexdigest(), context_hash(role, root)

    here = digest(ROOT, made_wheels(tmp_path / "here", (2024, 1, 1, 0, 0, 0), ["a.py", "b/c.py"]))
    another_machine(monkeypatch)
    assert digest(elsewhere, made_wheels(tmp_path / "there", (2031, 5, 6, 7, 8, 8), ["b/c.py", "a.py"])) == here
    with (elsewhere / "images/client/wire.py").open("a") as file:
        file.write("\n")
    changed = digest(elsewhere, made_wheels(tmp_path / "there", (2031, 5, 6, 7, 8, 8), ["b/c.py", "a.py"]))
    assert not set(changed) & set(here)  # and it is the content that decides


def test_the_layer_of_a_debian_base_has_the_same_bytes_on_another_machine(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def layer(root: Path, names: list[str], when: float) -> str:
        (root / "usr" / "bin").mkdir(parents=True)
        for name in names:
            (root / "usr" / "bin" / name).write_text(name)
        os.link(root / "usr" / "bin" / "perl", root / "usr" / "bin" / "perl5")
        (root / "bin").symlink_to("usr/bin")
        for name in ("var/log", "etc", "run", "usr/lib/__pycache__"):
            (root / name).mkdir(parents=True)
        (root / "var/log/bootstrap.log").write_text(f"{when}")
        (root / "etc/hostname").write_text(root.name)
        (root / "usr/lib/__pycache__/x.pyc").write_text(f"{when}")
        for path in [*root.rglob("*"), root]:
            os.utime(path, (when, when), follow_symlinks=False)
        stream = io.BytesIO()
        with tarfile.open(fileobj=stream, mode="w", format=tarfile.PAX_FORMAT) as tar:
            debian._pack(root, tar)
        return hashlib.sha256(stream.getvalue()).hexdigest()

    here = layer(tmp_path / "root", ["perl", "sh"], 1e9)
    another_machine(monkeypatch)
    assert layer(tmp_path / "another place", ["sh", "perl"], 2e9) == here


@pytest.mark.docker
@pytest.mark.slow
@pytest.mark.timeout(1800)
def test_two_bootstraps_of_the_debian_base_give_the_same_layer(
    api: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    base = load_images().base
    layers = []
    for number in range(2):
        if number:
            another_machine(monkeypatch)
            monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
            os.umask(0o077)
        reference = f"assay/base:test-{uuid.uuid4().hex[:8]}"
        try:
            debian.bootstrap(api, base, [], reference, lambda _: None)
            layers.append(api.inspect_image(reference)["RootFS"]["Layers"])
        finally:
            os.umask(0o022)
            api.remove_image(reference, force=True)
    assert layers[0] == layers[1]


# ---- the base without a registry ------------------------------------------------------------------------------------
def test_without_registry_and_root_the_user_is_told_what_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(debian.shutil, "which", lambda *_, **__: "/usr/sbin/debootstrap")
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    with pytest.raises(debian.NoBase, match="needs root: `sudo make images` once, or load python:3"):
        debian.bootstrap(None, load_images().base, [], "assay/base:x", lambda _: None)


def test_without_registry_and_debootstrap_the_user_is_told_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(debian.shutil, "which", lambda *_, **__: None)
    with pytest.raises(debian.NoBase, match="apt-get install debootstrap"):
        debian.bootstrap(None, load_images().base, [], "assay/base:x", lambda _: None)


# ---- real builds ----------------------------------------------------------------------------------------------------
@pytest.fixture
def api() -> Iterator[Any]:
    from runner.runtimes.engine import connect

    client = connect()
    yield client
    client.close()


@pytest.mark.docker
def test_an_image_that_is_up_to_date_is_not_built_again(api: Any) -> None:
    said: list[str] = []
    first = builder.ensure(api, ["sandbox"], said.append)
    said.clear()
    assert builder.ensure(api, ["sandbox"], said.append) == first
    assert said == []


@pytest.mark.docker
def test_building_the_same_checkout_on_another_machine_gives_the_same_content(
    api: Any, elsewhere: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """``elsewhere`` stands for that machine; a runner's own clock cannot be set for its Engine, whose builds are some
    time apart anyway."""
    first = builder.ensure(api, ["sandbox"], lambda _: None)[0]
    another_machine(monkeypatch)
    again = builder.build(api, "sandbox", lambda _: None, fresh=True, root=elsewhere)
    assert again.id != first.id  # it really was built again
    assert again.content == first.content
    config = api.inspect_image(again.id)["Config"]
    assert config["Labels"][builder.ROLE_LABEL] == "sandbox"
    assert config["Labels"][builder.CONTEXT_LABEL] == context_hash("sandbox")
    assert config["User"] == "65534:65534"
    assert "OPENBLAS_NUM_THREADS=1" in config["Env"]
