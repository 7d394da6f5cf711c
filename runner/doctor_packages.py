"""The installed packages beside the locks: those that every command needs, and those of the extras."""

from __future__ import annotations

import importlib.metadata
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from packaging.requirements import InvalidRequirement, Requirement

from runner.doctor_checks import Check, Subject

SETUP = "make setup"
SHOWN = 3  # differences in one line


@dataclass(frozen=True)
class Extra:
    """Packages that only some uses need. ``package`` is the one that they stand for."""

    package: str
    use: str
    install: str

    def lock(self, name: str) -> str:
        return f"requirements-{name}.lock"


EXTRAS: Mapping[str, Extra] = {
    "models": Extra("litellm", "calls of models", "make doctor MODEL=provider/model"),
    "video": Extra("av", "MP4 videos of episodes", "make video"),
    "leaderboard": Extra("streamlit", "the page", "make leaderboard"),
    "bench": Extra("polars", "the benches", "make bench"),
}


def packages(subject: Subject) -> Iterator[Check]:
    """What every command needs."""
    lock = subject.root / "requirements.lock"
    if not lock.is_file():
        text = (
            f"assay is a copy in {subject.root}, which lacks scenes and pictures, and not installed from its checkout"
        )
        yield Check("packages", "fail", text, f"{SETUP} in the checkout")
        return
    wrong = list(differences(lock.read_text(encoding="utf-8")))
    if wrong:
        yield Check("packages", "warn", f"not as in requirements.lock: {_listed(wrong)}", SETUP)
    else:
        yield Check("packages", "ok", "as in requirements.lock")


def extras(subject: Subject) -> Iterator[Check]:
    """What only some uses need: each is installed as its lock says, otherwise, or not at all."""
    for name, extra in EXTRAS.items():
        lock = subject.root / extra.lock(name)
        if not lock.is_file():
            continue
        try:
            importlib.metadata.version(extra.package)
        except importlib.metadata.PackageNotFoundError:
            yield Check(name, "optional", f"not installed; for {extra.use}", extra.install)
            continue
        wrong = list(differences(lock.read_text(encoding="utf-8")))
        if wrong:
            yield Check(name, "warn", f"not as in {lock.name}: {_listed(wrong)}", extra.install)
        else:
            yield Check(name, "ok", f"as in {lock.name}; for {extra.use}")


def differences(lock: str) -> Iterator[str]:
    """What is installed otherwise than a lock file says, one phrase each."""
    for line in lock.splitlines():
        if not line or line.startswith((" ", "#")):
            continue
        try:
            requirement = Requirement(line.rstrip(" \\"))
        except InvalidRequirement:
            continue
        if requirement.marker is not None and not requirement.marker.evaluate():
            continue
        try:
            found = importlib.metadata.version(requirement.name)
        except importlib.metadata.PackageNotFoundError:
            yield f"{requirement.name} is missing"
            continue
        if not requirement.specifier.contains(found, prereleases=True):
            yield f"{requirement.name} {found} instead of {requirement.specifier}"


def _listed(wrong: list[str]) -> str:
    more = f" and {len(wrong) - SHOWN} more" if len(wrong) > SHOWN else ""
    return f"{', '.join(wrong[:SHOWN])}{more}"
