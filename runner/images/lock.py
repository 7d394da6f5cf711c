"""The part of ``requirements.lock`` that an image needs, and its wheels, each checked against the lock's hashes."""

from __future__ import annotations

import hashlib
import os
import re
import subprocess
import sys
from collections.abc import Callable, Iterable
from pathlib import Path

from runner.errors import AssayError

_NAME = re.compile(r"^([A-Za-z0-9][A-Za-z0-9._-]*)==(\S+)")
_HASH = re.compile(r"--hash=sha256:([0-9a-f]{64})")
# What the C library of Debian bookworm (2.36) can load, newest first; pip takes the platform tags literally.
_GLIBC = range(36, 16, -1)


class LockError(AssayError):
    """The lock file lacks what an image needs, or its wheels cannot be had. One line with the fix."""


def subset(lock: Path, names: Iterable[str], python: str) -> list[str]:
    """One line ``name==version --hash=sha256:... ...`` for each name, for ``python`` (major.minor) on Linux.

    Markers are evaluated here: pip evaluates them for the interpreter that runs it, not for the image's.
    """
    from packaging.markers import Marker

    environment = {
        "python_version": python,
        "python_full_version": f"{python}.0",
        "sys_platform": "linux",
        "platform_system": "Linux",
        "os_name": "posix",
        "implementation_name": "cpython",
        "platform_python_implementation": "CPython",
    }
    wanted = {_canonical(name) for name in names}
    found: dict[str, str] = {}
    text = re.sub(r"\\\n", " ", lock.read_text(encoding="utf-8"))
    for line in text.splitlines():
        match = _NAME.match(line)
        if match is None or _canonical(match[1]) not in wanted:
            continue
        marker = re.search(r";(.*?)(?=\s--hash|$)", line)
        if marker is None or Marker(marker[1].strip()).evaluate(environment):
            hashes = " ".join(f"--hash=sha256:{digest}" for digest in _HASH.findall(line))
            found[_canonical(match[1])] = f"{match[1]}=={match[2]} {hashes}"
    if missing := sorted(wanted - set(found)):
        raise LockError(
            f"requirements.lock: no entry for {', '.join(missing)} with Python {python}; "
            "add it to pyproject.toml and lock again"
        )
    return [found[name] for name in sorted(found)]


def wheels(lines: list[str], python: str, machine: str, cache: Path, say: Callable[[str], None]) -> list[Path]:
    """The wheels of a lock subset for ``machine`` (x86_64 or aarch64), downloaded into ``cache`` when they are missing.

    A file whose SHA-256 is not in the lock is never returned. Raises LockError.
    """
    folder = cache / "wheels" / f"cp{python.replace('.', '')}-{machine}"
    folder.mkdir(parents=True, exist_ok=True)
    found = _matching(lines, folder)
    if len(found) < len(lines):
        say(f"images: downloading {len(lines) - len(found)} wheels for Python {python} on {machine}")
        _download(lines, python, machine, folder)
        found = _matching(lines, folder)
    if len(found) < len(lines):
        raise LockError(f"images: {folder} lacks a wheel after the download; remove the folder and build again")
    return found


def sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _matching(lines: list[str], folder: Path) -> list[Path]:
    by_hash = {sha256(path): path for path in sorted(folder.glob("*.whl"))}
    return [by_hash[h] for line in lines for h in _HASH.findall(line) if h in by_hash]


def _download(lines: list[str], python: str, machine: str, folder: Path) -> None:
    wanted = folder / f"wanted-{os.getpid()}.txt"
    wanted.write_text("\n".join(lines) + "\n", encoding="utf-8")
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--disable-pip-version-check", "--no-deps"]
    command += ["--only-binary", ":all:", "--require-hashes", "--requirement", str(wanted), "--dest", str(folder)]
    command += ["--implementation", "cp", "--python-version", python]
    for tag in (f"cp{python.replace('.', '')}", "abi3", "none"):
        command += ["--abi", tag]
    for minor in _GLIBC:
        command += ["--platform", f"manylinux_2_{minor}_{machine}"]
    command += ["--platform", f"manylinux2014_{machine}", "--platform", "any"]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=1800, check=False)
    except subprocess.TimeoutExpired:
        raise LockError("images: pip download took over 30 minutes; check the network and build again") from None
    finally:
        wanted.unlink(missing_ok=True)
    if done.returncode != 0:
        reason = (done.stderr.strip().splitlines() or ["no output"])[-1]
        fix = "run `make setup`" if "No module named pip" in reason else "check the network and build again"
        raise LockError(f"images: pip download failed: {reason}; {fix}")


def _canonical(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()
