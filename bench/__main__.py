"""``python -m bench [NAME ...] [--quick] [--json]``: every figure, or those of the named benches."""

from __future__ import annotations

import argparse
import json
import os
import sys
from importlib import import_module

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # as in the images, before anything imports NumPy

BENCHES = (
    "stepping",
    "physics",
    "overhead",
    "episode",
    "command",
    "parallel",
    "scoring",
    "rendering",
    "replay",
    "agents",
    "submission",
    "leaderboard",
    "launcher",
    "hanoi",
    "kidgym",
)


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m bench", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"{', '.join(BENCHES)}; all when none is named")
    parser.add_argument("--quick", action="store_true", help="fewer repetitions: a check of the benches themselves")
    parser.add_argument("--json", action="store_true", help="facts and figures as JSON")
    options = parser.parse_args()
    for name in options.names:
        if name not in BENCHES:
            parser.error(f"bench {name!r} is unknown: choose from {', '.join(BENCHES)}")
    from bench.figures import table
    from bench.machine import facts, load
    from bench.tools import say

    stated, figures = facts(), []
    for name in options.names or BENCHES:
        say(f"{name} ...")
        figures += import_module(f"bench.{name}").run(options.quick)
    stated["load at the end"] = load()
    if options.json:
        print(json.dumps({"machine": stated, "figures": [figure.plain() for figure in figures]}, indent=1))
    else:
        print("\n".join([*(f"{key}: {value}" for key, value in stated.items()), "", table(figures)]))
    return 0


if __name__ == "__main__":
    sys.exit(main())
