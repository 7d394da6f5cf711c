"""What ``assay doctor`` looks at: this machine, the store and, when one is named, the model.

A check never changes anything. ``fail`` is what makes an evaluation impossible, ``warn`` what makes it less than it
could be (not official, slower, without pictures), ``optional`` what is only needed for more; each says how to mend it.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from runner.doctor_checks import Check, State, Subject
from runner.doctor_packages import extras, packages
from runner.errors import AssayError
from runner.words import count

PYTHONS = ((3, 11), (3, 13))
COMFORTABLE = 4 << 30  # bytes: images, records and videos of a larger run
GL_PACKAGES = {"egl": "libegl1 libgl1-mesa-dri libopengl0", "osmesa": "libosmesa6"}  # Debian
OFFICIAL = "results are official"

Examine = Callable[[Subject], Iterator[Check]]


def examine(subject: Subject) -> Iterator[Check]:
    """Every check, as it is done. Nothing is raised: a check that breaks is a failed check."""
    for name, look in CHECKS.items():
        try:
            yield from look(subject)
        except Exception as error:
            yield failed(name, "fail", error)


def failed(name: str, state: State, error: Exception) -> Check:
    """Our errors are one line that ends with the fix, after a semicolon."""
    text = " ".join(str(error).split()) or type(error).__name__
    if not isinstance(error, AssayError) and not _is_ours(error):
        return Check(name, state, f"{type(error).__name__}: {text}")
    said, _, mend = text.rpartition("; ")
    return Check(name, state, said or text, mend if said else "")


def _is_ours(error: Exception) -> bool:
    return type(error).__module__.startswith(("runner.", "manifests."))


# ---- the installation -----------------------------------------------------------------------------------------------
def _python(subject: Subject) -> Iterator[Check]:
    version = sys.version_info[:3]
    text = f"{'.'.join(map(str, version))} in {sys.prefix}"
    if PYTHONS[0] <= version[:2] <= PYTHONS[1]:
        yield Check("python", "ok", text)
    else:
        yield Check("python", "fail", text, "install Python 3.11, 3.12 or 3.13, remove .venv and run `make setup`")


# ---- isolation ------------------------------------------------------------------------------------------------------
def _isolation(subject: Subject) -> Iterator[Check]:
    docker = _docker()
    yield docker
    if docker.state == "ok":
        yield from _images()
    bubblewrap = _bubblewrap()
    yield bubblewrap
    if docker.state == "ok":
        yield Check("isolation", "ok", f"containers: {OFFICIAL}")
    elif bubblewrap.state == "ok":
        yield Check("isolation", "warn", "bubblewrap: results are not official", "start a Docker Engine")
    else:
        yield Check(
            "isolation", "fail", "none: only the baselines of assay can run", "start Docker or install bubblewrap"
        )


def _docker() -> Check:
    from runner.runtimes import engine
    from runner.runtimes.base import EngineGone, RuntimeUnavailable

    try:
        facts = engine.check(engine.connect())
    except (RuntimeUnavailable, EngineGone) as error:
        return failed("docker", "warn", error)
    text = f"Engine {facts['engine']}, cgroup {facts['cgroup'] or '1'}, {facts['cpus']} CPUs; limits and seccomp hold"
    return Check("docker", "ok", text)


def _images() -> Iterator[Check]:
    from manifests.images import load_images
    from runner.images import builder
    from runner.runtimes import engine

    api = engine.connect()
    missing = [role for role in load_images().roles if builder.find(api, role) is None]
    if missing:
        text = f"{', '.join(missing)}: not built from this checkout; the first evaluation builds what it needs"
        yield Check("images", "warn", text, "make images")
    else:
        yield Check("images", "ok", "every image is built from this checkout")


def _bubblewrap() -> Check:
    from runner.runtimes.base import RuntimeUnavailable
    from runner.runtimes.bubblewrap import BubblewrapLauncher

    try:
        facts = BubblewrapLauncher("doctor").facts
    except RuntimeUnavailable as error:
        return failed("bubblewrap", "warn", error)
    how = "as root, without user namespaces" if os.geteuid() == 0 else "user namespaces work"
    return Check("bubblewrap", "ok", f"{facts.details['bubblewrap']}, {how}")


# ---- pictures -------------------------------------------------------------------------------------------------------
def _rendering(subject: Subject) -> Iterator[Check]:
    from runner.doctor_draw import draws

    found: Mapping[str, str | None] = {backend: draws(backend) for backend in GL_PACKAGES}
    working = [backend for backend, why in found.items() if why is None]
    text = "; ".join(f"{name}: {'draws' if why is None else why}" for name, why in found.items())
    if working:
        yield Check("rendering", "ok", text)
    else:
        packages = " or ".join(GL_PACKAGES.values())
        mend = f"install {packages}, or use containers, which bring them"
        yield Check("rendering", "warn", text, mend)


def _gpu(subject: Subject) -> Iterator[Check]:
    program = shutil.which("nvidia-smi")
    if program is None:
        yield Check("gpu", "ok", "none; the embedded profile needs none")
        return
    done = subprocess.run([program, "-L"], capture_output=True, text=True, timeout=30, check=False)
    if done.returncode != 0:
        reason = " ".join((done.stdout + done.stderr).split())[:200]
        yield Check("gpu", "warn", f"nvidia-smi fails: {reason}", "mend the NVIDIA driver of the host")
        return
    yield Check("gpu", "ok", "; ".join(line.split(" (UUID")[0] for line in done.stdout.strip().splitlines()))


# ---- where records go -----------------------------------------------------------------------------------------------
def _disk(subject: Subject) -> Iterator[Check]:
    from runner.attempt import MIN_FREE

    folder = subject.home
    while not folder.exists():
        folder = folder.parent
    free = shutil.disk_usage(folder).free
    text = f"{free / 1e9:.1f} GB are free under {subject.home}"
    mend = "free some space, or set ASSAY_HOME to another disk"
    if not os.access(folder, os.W_OK):
        yield Check("disk", "fail", f"{folder} is not writable", "set ASSAY_HOME to a folder that is")
    elif free < MIN_FREE:
        yield Check("disk", "fail", f"{text}; an attempt needs {MIN_FREE >> 20} MB", mend)
    else:
        yield Check("disk", "ok", text) if free >= COMFORTABLE else Check("disk", "warn", text, mend)


def _store(subject: Subject) -> Iterator[Check]:
    from runner.store.database import StoreMissing, StoreOlder
    from runner.store.filesystem import DOUBTFUL, NETWORK, filesystem_magic
    from runner.store.store import Store

    kind = {**NETWORK, **DOUBTFUL}.get(filesystem_magic(subject.home))
    try:
        store = Store(subject.home, read_only=True)
    except StoreMissing:
        if kind is not None:
            mend = "set ASSAY_HOME to a local disk, or ASSAY_STORE to a PostgreSQL URL"
            yield Check("store", "warn", f"none yet, and {subject.home} is on {kind}", mend)
        else:
            yield Check("store", "ok", f"none yet; the first run makes it in {subject.home}")
        return
    except StoreOlder as error:
        yield failed("store", "warn", error)
        return
    lengths = store.lengths()
    store.close()
    runs, entries = count(len(lengths), "run"), count(sum(lengths.values()), "ledger entry")
    yield Check("store", "ok", f"{store.database.label}: readable, {runs}, {entries}")


# ---- the model ------------------------------------------------------------------------------------------------------
def _model(subject: Subject) -> Iterator[Check]:
    from runner.agents.registry import BASELINES, AgentRequest, Parameters, make_agent, preflight

    if subject.model is None:
        return
    parameters = Parameters(base_url=subject.base_url)
    try:
        agent = make_agent(AgentRequest(subject.model, parameters=parameters))
    except AssayError as error:
        yield failed("model", "fail", error)
        return
    if subject.model in BASELINES:
        yield Check("model", "ok", f"{subject.model} is a baseline: it needs no key and no network")
        return
    yield (key := _key(subject))
    if key.state == "fail":
        return
    try:
        yield Check("model", "ok", str(preflight(agent)))
    except AssayError as error:
        said, _, mend = str(error).rpartition(": ")
        yield Check("model", "fail", said or str(error), mend if said else "")


def _key(subject: Subject) -> Check:
    """Names of variables only; a value is never read."""
    from runner.models.library import library

    assert subject.model is not None
    try:
        _, provider = library().provider(subject.model)
        missing = library().missing_keys(subject.model)
    except AssayError as error:
        return failed("key", "fail", error)
    if not missing:
        usual = f"{provider.upper()}_API_KEY"
        return Check("key", "ok", f"{usual} is set" if usual in os.environ else f"no variable of {provider} is missing")
    names = " or ".join(missing)
    if subject.base_url is not None:
        return Check("key", "ok", f"{names} is not set; {subject.base_url} is asked without a key")
    return Check("key", "fail", f"no key for {provider}", f"set {names} in the environment")


CHECKS: Mapping[str, Examine] = {
    "python": _python,
    "packages": packages,
    "extras": extras,
    "isolation": _isolation,
    "rendering": _rendering,
    "gpu": _gpu,
    "disk": _disk,
    "store": _store,
    "model": _model,
}


def plain(check: Check) -> dict[str, Any]:
    """JSON."""
    return {"name": check.name, "state": check.state, "text": check.text, "mend": check.mend or None}
