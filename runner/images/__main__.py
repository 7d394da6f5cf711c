"""``python -m runner.images build [--force] [ROLE ...]``: what `make images` does, without the rest of the CLI."""

from __future__ import annotations

import argparse
import sys

from manifests.errors import ManifestError
from manifests.images import load_images
from runner.errors import AssayError
from runner.images import builder
from runner.runtimes.base import EngineGone, RuntimeUnavailable
from runner.runtimes.engine import connect


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m runner.images")
    commands = parser.add_subparsers(dest="command", required=True)
    build = commands.add_parser("build", help="build the images that are out of date")
    build.add_argument("--force", action="store_true", help="build them again even if they are up to date")
    build.add_argument("roles", nargs="*", metavar="ROLE", help="all roles when none is named")
    options = parser.parse_args(arguments)
    try:
        images = load_images()
        roles = options.roles or list(images.roles)
        for role in roles:
            images.role(role)
        built = builder.ensure(connect(), roles, print, force=options.force)
    except (AssayError, ManifestError, RuntimeUnavailable, EngineGone) as error:
        print(f"assay: error: {error}", file=sys.stderr)
        return getattr(error, "exit_code", 1)
    for image in built:
        print(f"{image.reference}  id {image.id[7:19]}  content {image.content[:12]}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
