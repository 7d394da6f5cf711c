"""``python -m images.sandbox --socket PATH``: the agent's process of one attempt."""

from __future__ import annotations

import argparse
import os
import signal
import sys
import tempfile


def import_ahead() -> None:
    """NumPy and Pillow, once, so that no worker and no first picture has to wait for them."""
    for variable in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS"):
        os.environ.setdefault(variable, "1")  # a thread per processor would use up the process limit
    import numpy
    import PIL.Image

    PIL.Image.preinit()
    numpy.random.default_rng()


def take_stdio() -> tuple[int, int]:
    """Private descriptors of the host's two streams; 0 becomes empty and 1 becomes stderr."""
    stdin, stdout = os.dup(0), os.dup(1)
    null = os.open(os.devnull, os.O_RDONLY)
    os.dup2(null, 0)
    os.dup2(2, 1)
    os.close(null)
    return stdin, stdout


def main() -> int:
    parser = argparse.ArgumentParser(prog="images.sandbox", description=__doc__)
    parser.add_argument("--socket", required=True, help="path of the gateway's Unix socket")
    arguments = parser.parse_args()
    gateway = os.path.abspath(arguments.socket)
    import_ahead()
    from images.sandbox import processes  # after the limits on threads are set
    from images.sandbox.kernel import Kernel

    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the host
    stdin, stdout = take_stdio()
    processes.hide()
    processes.adopt_orphans()
    os.chdir(tempfile.gettempdir())
    Kernel(stdin, stdout, gateway).run()
    return 0


if __name__ == "__main__":
    code = main()
    sys.stderr.flush()
    os._exit(code)
