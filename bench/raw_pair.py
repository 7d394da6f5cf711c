"""Two containers by a plain script: created, started, waited for and removed, and nothing supervised.

The yardstick of an attempt's overhead. Same images, limits, flags, dead-man switch and tmpfs volume, same imports and
scene, both containers at once; there are no frames, no socket, no verdict and no handling of any fault.
"""

from __future__ import annotations

import json
import time
import uuid
from concurrent.futures import ThreadPoolExecutor, wait
from dataclasses import dataclass
from typing import Any

from bench.tools import program
from runner.runtimes import hardening
from runner.runtimes.base import PairRequest, Role

DEADMAN_S = 600.0


@dataclass
class RawScript:
    """``images``: what environment and sandbox run. Times in seconds of wall clock."""

    api: Any
    images: dict[Role, str]
    request: PairRequest
    engine_module: str
    cpus: int

    def __post_init__(self) -> None:
        self._threads = ThreadPoolExecutor(2)

    def pair(self, spec: dict[str, Any]) -> float:
        """Both containers, with imports and scene."""
        began = time.perf_counter()
        volume = self._volume()
        environment = ["python3", "-c", program("raw_environment"), self.engine_module, json.dumps(spec)]
        sandbox = ["python3", "-c", program("raw_sandbox")]
        both = [
            self._threads.submit(self._container, "environment", environment, volume),
            self._threads.submit(self._container, "sandbox", sandbox, volume),
        ]
        wait(both)
        self.api.remove_volume(volume)
        for one in both:
            one.result()
        return time.perf_counter() - began

    def environment(self, spec: dict[str, Any]) -> float:
        """One container with the environment's imports and scene."""
        return self._single(
            "environment", ["python3", "-c", program("raw_environment"), self.engine_module, json.dumps(spec)]
        )

    def sandbox(self) -> float:
        """One container with the sandbox's imports."""
        return self._single("sandbox", ["python3", "-c", program("raw_sandbox")])

    def empty(self) -> float:
        """One container that does nothing."""
        return self._single("sandbox", ["true"])

    def close(self) -> None:
        self._threads.shutdown()
        self.api.close()

    def _single(self, role: Role, command: list[str]) -> float:
        began = time.perf_counter()
        volume = self._volume()
        try:
            self._container(role, command, volume)
        finally:
            self.api.remove_volume(volume)
        return time.perf_counter() - began

    def _volume(self) -> str:
        name = f"assay-bench-{uuid.uuid4().hex[:12]}"
        self.api.create_volume(name=name, driver_opts=hardening.volume_options())
        return name

    def _container(self, role: Role, command: list[str], volume: str) -> None:
        limits = self.request.environment_limits if role == "environment" else self.request.sandbox_limits
        settings = hardening.host_config(role, limits, volume, self.cpus, False)
        switch = hardening.command([], DEADMAN_S)[:-1]
        created = self.api.create_container(
            self.images[role],
            [*switch, *command],
            user=hardening.identity(role)["user"],
            hostname=role,
            host_config=self.api.create_host_config(**settings),
        )["Id"]
        try:
            self.api.start(created)
            code = self.api.wait(created)["StatusCode"]
            if code != 0:
                raise RuntimeError(f"the raw {role} ended with code {code}")
        finally:
            self.api.remove_container(created, force=True, v=True)
