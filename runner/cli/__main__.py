"""``python -m runner.cli``: the same as ``assay``."""

from runner.cli import main

main()
