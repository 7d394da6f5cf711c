"""What an image role holds, as files of this checkout, and the hash that says whether an image is up to date."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from pathlib import Path

from manifests.images import ImageRole, Images, load_images
from runner.images.lock import subset

ROOT = Path(__file__).resolve().parents[2]
COMPILE = "images/base/compile.sh"
_SKIPPED = ("__pycache__", "Dockerfile", "node_modules")


def source_files(role: ImageRole, root: Path = ROOT) -> Iterator[str]:
    """The role's own files, sorted, relative to ``root``; bytecode, build files and hidden files are left out."""
    found: set[str] = set()
    for source in role.sources:
        path = root / source
        candidates = path.rglob("*") if path.is_dir() else [path]
        for file in candidates:
            relative = file.relative_to(root)
            if file.is_file() and not any(part in _SKIPPED or part.startswith(".") for part in relative.parts):
                found.add(relative.as_posix())
    for name in sorted(found):
        if not any(name == out or name.startswith(f"{out}/") for out in role.exclude) and not name.endswith(".pyc"):
            yield name


def context_hash(name: str, root: Path = ROOT) -> str:
    """SHA-256 over everything that decides what the image ``name`` holds: Dockerfile, base, lock subset, sources."""
    images = load_images(root / "manifests")
    role = images.role(name)
    digest = hashlib.sha256(_definition(images, role).encode())
    digest.update("\n".join(subset(root / "requirements.lock", role.requirements, images.base.python)).encode())
    for file in (role.dockerfile, COMPILE, *source_files(role, root)):
        content = (root / file).read_bytes()
        digest.update(f"\n{file} {len(content)}\n".encode())
        digest.update(content)
    return digest.hexdigest()


def _definition(images: Images, role: ImageRole) -> str:
    return json.dumps([images.base.model_dump(mode="json"), role.model_dump(mode="json")], sort_keys=True)
