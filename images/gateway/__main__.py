"""``python -m images.gateway --engine images.mujoco --socket PATH``: the environment's process of one attempt."""

from __future__ import annotations

import argparse
import importlib
import os
import signal
import sys
from typing import cast

from images.gateway.engine import Engine
from images.gateway.episode import Episode
from images.gateway.host import Host, claim_stdout
from images.gateway.server import bind


def main() -> int:
    parser = argparse.ArgumentParser(prog="images.gateway", description=__doc__)
    parser.add_argument("--engine", required=True, help="module with NAME, fingerprint() and create(spec)")
    parser.add_argument("--socket", required=True, help="path of the Unix socket that the sandbox connects to")
    arguments = parser.parse_args()
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the host, which then says what it wants
    stdout = claim_stdout()
    try:
        listener = bind(arguments.socket)
    except OSError as error:
        print(f"gateway: cannot listen at {arguments.socket}: {error.strerror or error}", file=sys.stderr)
        return 2
    try:
        return Episode(cast(Engine, importlib.import_module(arguments.engine)), Host(0, stdout), listener).run()
    finally:
        os.unlink(arguments.socket)


if __name__ == "__main__":
    code = main()
    sys.stderr.flush()
    os._exit(code)  # native libraries have nothing to say at the end, and the watching thread is still blocked
