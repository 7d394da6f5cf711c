"""What is inside an image: every file with a hash, read from an export of a container that never runs."""

from __future__ import annotations

import hashlib
import io
import re
import tarfile
from collections.abc import Iterator, Mapping
from typing import Any

from runner.runtimes.engine import calling

SOURCES, SITE = "opt/assay/src/", "opt/assay/site/"
BYTECODE = "bytecode of "
DPKG = "var/lib/dpkg/status"
# The Engine puts these into every container.
_ENGINE = (".dockerenv", "dev/", "proc/", "sys/", "etc/hosts", "etc/hostname", "etc/resolv.conf", "etc/mtab")
_PACKAGE = re.compile(r"^Package: (\S+)$.*?^Version: (\S+)$", re.MULTILINE | re.DOTALL)

Listing = dict[str, str]  # path -> SHA-256 over kind, mode, owner and content


def listing(api: Any, image: str) -> tuple[Listing, dict[str, str]]:
    """Every file, link and folder of an image, and its Debian packages with their versions.

    Times are left out: they are in the layers' hashes. Raises EngineGone and docker.errors.APIError.
    """
    with calling("reading an image"):
        container = api.create_container(image, ["true"])["Id"]
        try:
            return _read(_Stream(api.export(container)))
        finally:
            api.remove_container(container, force=True, v=True)


def part_of(path: str) -> str:
    """The part of the tree that a path is hashed into: a source file by itself, a package of the site folder, two
    levels of folders anywhere else. Small enough for a lock file, and it says where to look."""
    if path.startswith(SOURCES):
        return f"{BYTECODE}{SOURCES}" if "__pycache__" in path else path
    if path.startswith(SITE):
        return SITE + path.removeprefix(SITE).split("/")[0]
    return "/".join(path.split("/")[:2])


def tree(found: Listing) -> dict[str, str]:
    """One hash for each part, over the sorted paths and hashes of its files."""
    parts: dict[str, Any] = {}
    for path in sorted(found):
        parts.setdefault(part_of(path), hashlib.sha256()).update(f"{path} {found[path]}\n".encode())
    return {name: digest.hexdigest() for name, digest in sorted(parts.items())}


def differences(was: Mapping[str, str], now: Mapping[str, str]) -> Iterator[str]:
    """``path: only here``, ``path: missing here``, ``path: differs``, sorted by path."""
    for path in sorted({*was, *now}):
        if path not in was:
            yield f"{path}: only here"
        elif path not in now:
            yield f"{path}: missing here"
        elif was[path] != now[path]:
            yield f"{path}: differs"


def _read(stream: _Stream) -> tuple[Listing, dict[str, str]]:
    found: Listing = {}
    packages: dict[str, str] = {}
    with tarfile.open(fileobj=stream, mode="r|") as tar:
        for member in tar:
            name = member.name.removeprefix("./").rstrip("/")
            if not name or f"{name}/".startswith(_ENGINE) or name in _ENGINE:
                continue
            head = f"{member.type.decode('latin-1')} {member.mode:o} {member.uid}:{member.gid} {member.linkname}\n"
            digest = hashlib.sha256(head.encode("utf-8", "surrogateescape"))
            if member.isreg():
                content = tar.extractfile(member)
                assert content is not None
                raw = content.read()
                digest.update(raw)
                if name == DPKG:
                    packages = dict(_PACKAGE.findall(raw.decode("utf-8", "replace")))
            found[name] = digest.hexdigest()
    return found, packages


class _Stream(io.RawIOBase):
    """An iterator of chunks as a file that can be read forward once."""

    def __init__(self, chunks: Iterator[bytes]) -> None:
        self._chunks, self._rest = chunks, b""

    def readable(self) -> bool:
        return True

    def read(self, size: int = -1) -> bytes:
        parts = [self._rest]
        have = len(self._rest)
        while size < 0 or have < size:
            chunk = next(self._chunks, b"")
            if not chunk:
                break
            parts.append(chunk)
            have += len(chunk)
        data = b"".join(parts)
        cut = len(data) if size < 0 else size
        self._rest = data[cut:]
        return data[:cut]
