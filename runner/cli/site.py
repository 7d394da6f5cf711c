"""``assay site``: the leaderboard as static pages."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import click


@click.command("site")
@click.option(
    "-o", "--output", type=click.Path(path_type=Path), default=Path("public"), show_default=True, help="The folder."
)
def command(output: Path) -> int:
    """Write the leaderboard as static pages.

    Plain HTML with its data, for any file host.
    """
    # A program of its own: the runner imports nothing of the pages.
    return subprocess.run([sys.executable, "-m", "leaderboard.export", "-o", str(output)], check=False).returncode
