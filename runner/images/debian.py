"""A base image from Debian packages, for machines that reach no container registry (``debootstrap``, about a minute).

The pinned base of ``manifests/images.json`` is preferred wherever it can be had; this one holds the same Debian release
with Debian's own Python of the same minor version. Times, logs, caches and bytecode are left out, so that the same
packages give the same layer.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import tarfile
import tempfile
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from manifests.images import BaseImage
from runner.errors import AssayError

EPOCH = 1704067200  # 2024-01-01, the time of every file
MIRROR = os.environ.get("ASSAY_DEBIAN_MIRROR", "http://deb.debian.org/debian")
# Folders whose content differs from one bootstrap to the next and that nothing in an image reads.
_VOLATILE = ("dev/", "proc/", "sys/", "run/", "tmp/", "var/cache/", "var/log/", "var/lib/apt/lists/")
_HOSTS = ("etc/hostname", "etc/resolv.conf")  # copied from this machine


class NoBase(AssayError):
    """No base image can be had. One line with what to install or reach."""


def bootstrap(api: Any, base: BaseImage, packages: Iterable[str], reference: str, say: Callable[[str], None]) -> str:
    """Make, import and tag the base image; returns its Id. ``api`` is a ``docker.APIClient``. Raises NoBase."""
    tool = shutil.which("debootstrap", path=f"{os.environ.get('PATH', '')}:/usr/sbin:/sbin")
    if tool is None:
        raise NoBase("images: no registry and no debootstrap; install it (Debian: apt-get install debootstrap)")
    if os.geteuid() != 0:
        raise NoBase(
            "images: without a registry the base is made by debootstrap, which needs root: `sudo make images` once, "
            f"or load {base.image} by `docker load`"
        )
    include = ",".join(sorted({*base.packages, *packages}))
    say(f"images: making a base from Debian {base.suite} packages ({include}); about a minute")
    with tempfile.TemporaryDirectory(prefix="assay-base-") as folder:
        root, layer = Path(folder, "root"), Path(folder, "layer.tar")
        command = [tool, "--variant=minbase", f"--include={include}", base.suite, str(root), MIRROR]
        variables = {**os.environ, "SOURCE_DATE_EPOCH": str(EPOCH)}
        done = subprocess.run(command, capture_output=True, text=True, check=False, env=variables)
        if done.returncode != 0:
            reason = (done.stdout.strip().splitlines() or done.stderr.strip().splitlines() or ["no output"])[-1]
            raise NoBase(f"images: debootstrap failed: {reason}; check that {MIRROR} can be reached")
        with tarfile.open(layer, "w", format=tarfile.PAX_FORMAT) as tar:
            _pack(root, tar)
        repository, tag = reference.rsplit(":", 1)
        api.import_image(
            src=str(layer),
            repository=repository,
            tag=tag,
            changes=["ENV PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", 'CMD ["python3"]'],
        )
    return str(api.inspect_image(reference)["Id"])


def _pack(root: Path, tar: tarfile.TarFile) -> None:
    for path in sorted(root.rglob("*")):
        name = path.relative_to(root).as_posix()
        if name.startswith(_VOLATILE) or name in _HOSTS or "__pycache__" in name.split("/"):
            continue
        member = tar.gettarinfo(path, name)
        if member is None:  # a socket
            continue
        member.mtime = EPOCH
        member.uname = member.gname = ""
        if member.isreg():
            with path.open("rb") as content:
                tar.addfile(member, content)
        else:
            tar.addfile(member)
