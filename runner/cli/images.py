"""``assay images``."""

from __future__ import annotations

from typing import Any

import click

from runner.terminal import echo
from runner.words import count


@click.group("images")
def command() -> None:
    """Build, list, verify or lock the container images."""


@command.command("build")
@click.option("--force", is_flag=True, help="Build them again even if they are up to date.")
@click.argument("roles", nargs=-1)
def build(force: bool, roles: tuple[str, ...]) -> None:
    """Build the images that are out of date. All roles when none is named."""
    from manifests.images import load_images
    from runner.images import builder
    from runner.runtimes.engine import connect

    images = load_images()
    for role in roles:
        images.role(role)
    for image in builder.ensure(connect(), roles or list(images.roles), echo, force=force):
        echo(f"{image.reference}  id {image.id[7:19]}  content {image.content[:12]}")


@command.command("list")
def list_images() -> None:
    """The image of every role: up to date, or to be built."""
    from manifests.images import load_images
    from runner.images import builder
    from runner.runtimes.engine import connect

    api = connect()
    for role in load_images().roles:
        image = builder.find(api, role)
        state = f"{image.reference}  id {image.id[7:19]}  content {image.content[:12]}" if image else "out of date"
        echo(f"{role:<12} {state}")


@command.command("verify")
@click.option("--with", "other", metavar="IMAGE", help="List the files in which it differs from another image here.")
@click.argument("roles", nargs=-1)
def verify(roles: tuple[str, ...], other: str | None) -> int:
    """Say whether the images are those of a release.

    And where the images of this checkout differ. Exit status 1: altered.
    """
    from manifests.images import load_images
    from runner.images import identities
    from runner.runtimes.engine import connect

    images, api = load_images(), connect()
    for role in roles:
        images.role(role)
    if other is not None:
        return _compare(api, roles, other)
    altered = False
    for role in roles or tuple(images.roles):
        found = identities.verify(api, role)
        altered = altered or found.state == "altered"
        content = f"  content {found.image.content[:12]}" if found.image else ""
        echo(f"{role:<12} {found.state:<10} {found.text}{content}")
        for line in found.differences[: identities.SHOWN]:
            echo(f"  {line}")
        if (more := len(found.differences) - identities.SHOWN) > 0:
            echo(f"  and {more} more")
    return 1 if altered else 0


@command.command("lock")
@click.option("--release", help="Version that the images are released as [default: that of this checkout].")
def lock(release: str | None) -> None:
    """Record the images of this checkout in manifests/images.lock."""
    from importlib.metadata import version

    from runner.images import identities
    from runner.runtimes.engine import connect

    made = identities.write_lock(connect(), release or version("assay"), echo)
    for name, found in made.releases.items():
        for role, locked in found.roles.items():
            contents = ", ".join(
                f"{item.content[:12]} ({item.base}, {item.architecture})" for item in locked.identities
            )
            echo(f"{name}  {role:<12} {contents}")


def _compare(api: Any, roles: tuple[str, ...], other: str) -> int:
    import docker.errors

    from runner.errors import BadInput
    from runner.images import builder, identities

    if len(roles) != 1:
        raise BadInput(f"--with {other}: name the one role that is compared with it")
    image = builder.find(api, roles[0])
    if image is None:
        raise BadInput(f"role {roles[0]}: not built from this checkout; run `make images`")
    try:
        found = identities.compare(api, image.id, other)
    except docker.errors.ImageNotFound:
        raise BadInput(f"--with {other}: there is no such image here; `docker images` lists them") from None
    for line in found:
        echo(line)
    verb = "differs" if len(found) == 1 else "differ"
    echo(f"{count(len(found), 'file')} {verb} between {image.reference} and {other}")
    return 1 if found else 0
