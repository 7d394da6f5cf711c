"""What a process sees of the host under bubblewrap: a list of read-only binds and nothing else.

Shared libraries and basic tools of the system, the interpreter with its standard library (never its site-packages), and
what ``manifests/images.json`` says of the role: its distributions and its sources, at the places where the images have
them.
"""

from __future__ import annotations

import functools
import hashlib
import importlib.metadata
import json
import os
import platform
import sys
from collections.abc import Iterator
from pathlib import Path

from manifests.images import load_images
from manifests.records import ImageIdentity
from runner.images.contents import ROOT, source_files
from runner.runtimes.base import RuntimeUnavailable

SITE, SOURCES, CONFINE = "/opt/assay/site", "/opt/assay/src", "/opt/assay/confine.py"
_SYSTEM = ("/usr/lib", "/usr/lib64", "/usr/bin")
_LINKS = ("/lib", "/lib64", "/bin")
_FILES = ("/etc/ld.so.cache", "/etc/alternatives")
_RENDERING = ("/usr/share/glvnd", "/usr/share/drirc.d", "/etc/glvnd", "/usr/share/libdrm")


def interpreter() -> str:
    """The real executable, not the virtual environment's link to it."""
    return os.path.realpath(getattr(sys, "_base_executable", sys.executable))


@functools.cache
def arguments(role: str) -> tuple[str, ...]:
    """bubblewrap's mount arguments for an image role. Raises RuntimeUnavailable when a distribution is missing."""
    result: list[str] = []
    for path in _SYSTEM:
        result += ["--ro-bind-try", path, path]
    for path in _LINKS:
        if os.path.islink(path):
            result += ["--symlink", os.readlink(path), path]
        else:
            result += ["--ro-bind-try", path, path]
    for path in (*_FILES, *(_RENDERING if load_images().role(role).packages else ())):
        result += ["--ro-bind-try", path, path]
    result += _interpreter()
    for folder in _site_folders():
        result += ["--tmpfs", folder, "--remount-ro", folder]
    for name, path in _distributions(role):
        result += ["--ro-bind", path, f"{SITE}/{name}"]
    result += _sources(role)
    result += ["--ro-bind", str(Path(__file__).with_name("confine.py")), CONFINE]
    return (*_parents(result), *result)


@functools.cache
def identity(runtime: str, role: str) -> ImageIdentity:
    """What stands in for an image's identity where there is none: sources, distributions and interpreter."""
    digest = hashlib.sha256()
    for file in source_files(load_images().role(role)):
        content = (ROOT / file).read_bytes()
        digest.update(f"{file} {len(content)}\n".encode())
        digest.update(content)
    versions = {name: importlib.metadata.version(name) for name in load_images().role(role).requirements}
    digest.update(json.dumps([versions, sys.version, platform.machine()], sort_keys=True).encode())
    content_hash = digest.hexdigest()
    return ImageIdentity(role=role, reference=f"{runtime}:{role}", id=content_hash, content=content_hash)


def _interpreter() -> Iterator[str]:
    """The executable, the standard library, and shared libraries that the installation brings itself."""
    base, version = Path(sys.base_prefix), f"python{sys.version_info.major}.{sys.version_info.minor}"
    paths = [Path(interpreter())]
    for library in (base / "lib", base / "lib64"):
        if (library / version).is_dir() and not library.is_symlink():
            paths += [library / version, *library.glob("*.so*")]
    for path in paths:
        if not str(path).startswith(tuple(f"{folder}/" for folder in _SYSTEM)):
            yield from ("--ro-bind", str(path), str(path))


def _parents(mounts: list[str]) -> Iterator[str]:
    """Folders on the way to each bind, readable for everybody: bubblewrap would make them like their source's, and a
    home folder lets nobody else pass."""
    targets = [mounts[i + 2] for i, word in enumerate(mounts) if word in ("--ro-bind", "--ro-bind-try")]
    parents = {str(parent) for target in targets for parent in Path(target).parents}
    for folder in sorted(parents - {"/"}):
        if not f"{folder}/".startswith(("/usr/lib/", "/usr/bin/", "/dev/")):
            yield from ("--perms", "0755", "--dir", folder)


def _site_folders() -> list[str]:
    """Folders with third-party packages inside what was bound: the role's own are bound elsewhere."""
    roots = {Path("/usr/lib"), Path("/usr/lib64"), Path(sys.base_prefix, "lib"), Path(sys.base_prefix, "lib64")}
    found = {
        str(folder)
        for root in roots
        for pattern in ("python3*/site-packages", "python3*/dist-packages")
        for folder in root.glob(pattern)
        if not any(part.is_symlink() for part in (folder, *folder.parents))
    }
    version = f"python{sys.version_info.major}.{sys.version_info.minor}"
    own = os.path.join(sys.base_prefix, "")
    return sorted(f for f in found if f.startswith(_SYSTEM) or (f.startswith(own) and f"/{version}/" in f))


def _distributions(role: str) -> Iterator[tuple[str, str]]:
    """(name under ``SITE``, path on the host) of every top-level file or folder of the role's distributions."""
    for requirement in load_images().role(role).requirements:
        try:
            distribution = importlib.metadata.distribution(requirement)
        except importlib.metadata.PackageNotFoundError:
            raise RuntimeUnavailable(f"{requirement} is not installed; run `make setup`") from None
        tops = {file.parts[0] for file in distribution.files or ()} - {"..", "__pycache__"}
        for top in sorted(tops):
            yield top, str(Path(str(distribution.locate_file(top))).resolve())


def _sources(role: str) -> list[str]:
    result: list[str] = []
    for source in load_images().role(role).sources:
        result += ["--ro-bind", str(ROOT / source), f"{SOURCES}/{source}"]
    for hidden in load_images().role(role).exclude:
        if (ROOT / hidden).is_dir():
            result += ["--tmpfs", f"{SOURCES}/{hidden}", "--remount-ro", f"{SOURCES}/{hidden}"]
        elif (ROOT / hidden).exists():
            result += ["--ro-bind", "/dev/null", f"{SOURCES}/{hidden}"]
    return result


def variables() -> dict[str, str]:
    """The environment variables of the images."""
    return {
        "PATH": "/usr/bin:/bin",
        "PYTHONPATH": f"{SOURCES}:{SITE}",
        "PYTHONDONTWRITEBYTECODE": "1",
        "OPENBLAS_NUM_THREADS": "1",
        "HOME": "/tmp",
        "LANG": "C.UTF-8",
    }
