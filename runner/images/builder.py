"""Builds the images that are out of date and says what every image is.

An image is up to date when it carries the label ``assay.context`` with the hash of everything that it is built from
(``contents.context_hash``). Attempts run an image by its Id, never by a tag. Its canonical identity (``content``) is
the hash over root layers and configuration: unlike the Id it is the same in every Engine's image store and does not
contain the time of the build.
"""

from __future__ import annotations

import hashlib
import io
import json
import tarfile
import tempfile
import zipfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path, PurePosixPath
from typing import IO, Any

import docker.errors

from manifests.images import BaseImage, load_images
from manifests.records import ImageIdentity
from runner.errors import AssayError
from runner.images import debian, lock
from runner.images.contents import COMPILE, ROOT, context_hash, source_files
from runner.runtimes.engine import calling

REPOSITORY = "assay"
CONTEXT_LABEL = "assay.context"
ROLE_LABEL = "assay.role"
_CONFIG = ("Env", "Cmd", "Entrypoint", "User", "WorkingDir", "Labels")
MACHINES = {"amd64": "x86_64", "arm64": "aarch64"}


class BuildFailed(AssayError):
    """An image could not be built. One line with the last thing that the build said."""


def identity(api: Any, role: str, reference: str) -> ImageIdentity:
    """The identity of a present image. Raises docker.errors.ImageNotFound."""
    with calling("reading an image"):
        attributes = api.inspect_image(reference)
    config = attributes["Config"]
    core = {
        "os": attributes["Os"],
        "architecture": attributes["Architecture"],
        "layers": attributes["RootFS"]["Layers"],
        "config": {key: config.get(key) for key in _CONFIG},
    }
    content = hashlib.sha256(json.dumps(core, sort_keys=True).encode()).hexdigest()
    return ImageIdentity(role=role, reference=reference, id=attributes["Id"], content=content)


def tag(role: str, context: str) -> str:
    return f"{REPOSITORY}/{role}:{context[:12]}"


def find(api: Any, role: str, root: Path = ROOT) -> ImageIdentity | None:
    """The image of ``role`` if one with the content of this checkout is present."""
    context = context_hash(role, root)
    try:
        with calling("looking for an image"):
            labels = api.inspect_image(tag(role, context))["Config"]["Labels"] or {}
    except docker.errors.ImageNotFound:
        return None
    return identity(api, role, tag(role, context)) if labels.get(CONTEXT_LABEL) == context else None


def with_content(api: Any, role: str, content: str) -> ImageIdentity | None:
    """The present image of ``role`` with this canonical identity, whatever it was built from and however it is tagged.

    Two machines that built one checkout have one content under two Ids.
    """
    with calling("looking for images"):
        listed = api.images(filters={"label": f"{ROLE_LABEL}={role}"})
    for item in listed:
        try:
            found = identity(api, role, item["Id"])
        except docker.errors.ImageNotFound:  # removed meanwhile
            continue
        if found.content == content:
            tags = [name for name in item["RepoTags"] or () if not name.startswith("<none>")]
            return found.model_copy(update={"reference": tags[0]}) if tags else found
    return None


def ensure(
    api: Any, roles: Sequence[str], say: Callable[[str], None], *, force: bool = False, root: Path = ROOT
) -> tuple[ImageIdentity, ...]:
    """The images of ``roles``, built where they are missing or out of date (all of them with ``force``).

    Prints nothing when there is nothing to do. Raises AssayError (one line) or EngineGone.
    """
    return tuple(
        (None if force else find(api, role, root)) or build(api, role, say, fresh=force, root=root) for role in roles
    )


def build(api: Any, name: str, say: Callable[[str], None], *, fresh: bool = False, root: Path = ROOT) -> ImageIdentity:
    """Build one image (``fresh``: without the layers of earlier builds) and return what it is.

    Raises AssayError or EngineGone.
    """
    images = load_images(root / "manifests")
    role, context = images.role(name), context_hash(name, root)
    base, pinned = _base(api, images.base, role.packages, say)
    with calling("asking for its architecture"):
        machine = api.version()["Arch"]
    machine = MACHINES.get(machine, machine)
    with tempfile.TemporaryFile() as stream:
        pack(name, machine, stream, say, root)
        stream.seek(0)
        say(f"images: building {name} ({role.text.split(':')[0].rstrip('.').lower()})")
        network = "default" if pinned and role.packages else "none"
        arguments = {"BASE_IMAGE": base, "PACKAGES": " ".join(role.packages)}
        labels = {CONTEXT_LABEL: context, ROLE_LABEL: name}
        _run(api, stream, tag(name, context), arguments, network, labels, fresh)
    built = identity(api, name, tag(name, context))
    say(f"images: {built.reference} is {built.id[7:19]}")
    return built


def pack(name: str, machine: str, stream: IO[bytes], say: Callable[[str], None], root: Path = ROOT) -> None:
    """Write what ``name`` is built from as a tar file: Dockerfile, tools, wheels, sources. The same bytes for the same
    checkout, wherever it lies, whoever may read its files and whatever the clock says. Raises LockError."""
    images = load_images(root / "manifests")
    role = images.role(name)
    lines = lock.subset(root / "requirements.lock", role.requirements, images.base.python)
    wheels = lock.wheels(lines, images.base.python, machine, root / ".cache", say)
    parts = {
        "tools.tar": [(f"opt/assay/{Path(COMPILE).name}", (root / COMPILE).read_bytes())],
        "site.tar": [(f"opt/assay/site/{path}", content) for path, content in _unpacked(wheels)],
        "src.tar": [(f"opt/assay/src/{path}", (root / path).read_bytes()) for path in source_files(role, root)],
    }
    with tarfile.open(fileobj=stream, mode="w", format=tarfile.PAX_FORMAT) as tar:
        _add(tar, "Dockerfile", (root / role.dockerfile).read_bytes())
        for part, files in parts.items():
            _add(tar, part, _packed(files))


def _base(api: Any, base: BaseImage, packages: Sequence[str], say: Callable[[str], None]) -> tuple[str, bool]:
    """What to build on, and whether it is the pinned image; the pin wins wherever it can be had."""
    own = sorted({*base.packages, *packages})
    reference = f"{REPOSITORY}/base:{base.suite}-{hashlib.sha256(' '.join(own).encode()).hexdigest()[:12]}"
    for candidate, pinned in ((base.image, True), (reference, False)):
        try:
            with calling("looking for the base image"):
                api.inspect_image(candidate)
            return candidate, pinned
        except docker.errors.ImageNotFound:
            pass
    say(f"images: pulling {base.image.split('@')[0]}")
    try:
        with calling("pulling the base image"):
            for line in api.pull(base.image, stream=True, decode=True):
                if "error" in line:
                    raise docker.errors.APIError(line["error"])
        return base.image, True
    except docker.errors.APIError as error:
        say(f"images: cannot pull it: {_short(error)}")
    try:
        with calling("importing the base image"):
            debian.bootstrap(api, base, packages, reference, say)
    except docker.errors.APIError as error:
        raise BuildFailed(f"images: the Engine refused the base image: {_short(error)}") from None
    return reference, False


def _run(
    api: Any,
    context: IO[bytes],
    name: str,
    arguments: dict[str, str],
    network: str,
    labels: dict[str, str],
    fresh: bool,
) -> None:
    said: list[str] = []
    try:
        with calling("building an image"):
            steps = api.build(
                fileobj=context,
                custom_context=True,
                tag=name,
                nocache=fresh,
                rm=True,
                forcerm=True,
                decode=True,
                buildargs=arguments,
                labels=labels,
                network_mode=network,
                timeout=1800,
            )
            for step in steps:
                if "error" in step:
                    last = " / ".join(said[-2:])
                    raise BuildFailed(f"images: building {name} failed: {step['error'].strip()}; it said: {last}")
                if text := step.get("stream", "").strip():
                    said.append(text)
    except docker.errors.APIError as error:
        raise BuildFailed(f"images: building {name} failed: {_short(error)}") from None


def _unpacked(wheels: Sequence[Path]) -> Iterator[tuple[str, bytes]]:
    """(path, content) of every file: a wheel is its own site-packages content, but for a ``.data`` folder."""
    for wheel in wheels:
        with zipfile.ZipFile(wheel) as content:
            for name in sorted(content.namelist()):
                parts = name.split("/")
                if parts[0].endswith(".data"):
                    if parts[1] not in ("purelib", "platlib"):
                        continue
                    parts = parts[2:]
                if not name.endswith("/"):
                    yield "/".join(parts), content.read(name)


def _packed(files: Iterable[tuple[str, bytes]]) -> bytes:
    """A tar file that gives the same layer at any time: ADD keeps its times, also those of folders; COPY does not."""
    contents = dict(files)
    folders = {str(parent) for name in contents for parent in PurePosixPath(name).parents} - {"."}
    stream = io.BytesIO()
    with tarfile.open(fileobj=stream, mode="w", format=tarfile.PAX_FORMAT) as tar:
        for name in sorted(folders):
            member = tarfile.TarInfo(name)
            member.type, member.mtime, member.mode = tarfile.DIRTYPE, debian.EPOCH, 0o755
            tar.addfile(member)
        for name in sorted(contents):
            _add(tar, name, contents[name])
    return stream.getvalue()


def _add(tar: tarfile.TarFile, name: str, content: bytes) -> None:
    member = tarfile.TarInfo(name)
    member.size, member.mtime, member.mode = len(content), debian.EPOCH, 0o644
    tar.addfile(member, io.BytesIO(content))


def _short(error: docker.errors.APIError) -> str:
    return " ".join(str(error.explanation or error).split())[:200]
