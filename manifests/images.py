"""What each container image holds, as data: ``load_images().roles["sandbox"].requirements``.

Both isolated runtimes derive from it: the image builder copies these sources and wheels, bubblewrap binds them.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path

from pydantic import Field, field_validator

from manifests.errors import ManifestError
from manifests.load import FOLDER, parse
from manifests.records import Strict


class BaseImage(Strict):
    """The pinned base, and what replaces it where no registry can be reached: Debian packages of ``suite``.

    ``python`` is the interpreter of both (major.minor): wheels are chosen for it.
    """

    image: str = Field(pattern=r"^[^@\s]+@sha256:[0-9a-f]{64}$")
    python: str = Field(pattern=r"^3\.[0-9]+$")
    suite: str
    packages: tuple[str, ...]


class ImageRole(Strict):
    """One image. ``requirements`` are distributions of ``requirements.lock``, ``packages`` Debian packages;
    ``sources`` and ``exclude`` are files or folders relative to the repository."""

    text: str
    dockerfile: str
    requirements: tuple[str, ...]
    packages: tuple[str, ...]
    sources: tuple[str, ...]
    exclude: tuple[str, ...]

    @field_validator("sources", "exclude")
    @classmethod
    def _inside(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        for path in value:
            if path.startswith("/") or ".." in path.split("/"):
                raise ValueError(f"path {path!r} must be relative and stay inside the repository")
        return value


class Images(Strict):
    base: BaseImage
    roles: dict[str, ImageRole]

    def role(self, name: str) -> ImageRole:
        """The role ``name``. Raises ManifestError naming those that exist."""
        if name not in self.roles:
            raise ManifestError(f"image role {name!r} is unknown; known: {', '.join(sorted(self.roles))}")
        return self.roles[name]


@cache
def load_images(folder: Path = FOLDER) -> Images:
    """``images.json`` of ``folder``, checked. Raises ManifestError."""
    try:
        text = (folder / "images.json").read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise ManifestError(f"manifests/images.json: cannot be read: {error}") from None
    return parse("manifests/images.json", text, Images)
