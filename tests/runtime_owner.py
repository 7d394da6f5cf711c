"""A runner that is killed: ``python runtime_owner.py RUNTIME HOME`` opens a pair, starts one ahead, prints, waits."""

from __future__ import annotations

import sys
import time
from pathlib import Path

from runtime_pairs import begin, request, runtime

if __name__ == "__main__":
    started = runtime(sys.argv[1], Path(sys.argv[2]), jobs=1)
    pair = started.open(request())
    begin(pair)
    print("open", flush=True)
    time.sleep(600)
