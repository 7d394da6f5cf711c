"""``assay images``."""

from __future__ import annotations

import click


@click.group("images")
def command() -> None:
    """Build or list the container images."""


@command.command("build")
@click.option("--force", is_flag=True, help="Build them again even if they are up to date.")
@click.argument("roles", nargs=-1)
def build(force: bool, roles: tuple[str, ...]) -> None:
    """Build the images that are out of date; all roles when none is named."""
    from manifests.images import load_images
    from runner.images import builder
    from runner.runtimes.engine import connect

    images = load_images()
    for role in roles:
        images.role(role)
    for image in builder.ensure(connect(), roles or list(images.roles), click.echo, force=force):
        click.echo(f"{image.reference}  id {image.id[7:19]}  content {image.content[:12]}")


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
        click.echo(f"{role:<12} {state}")
