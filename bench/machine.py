"""What a figure depends on besides the code: stated with every result."""

from __future__ import annotations

import os
import platform
from datetime import UTC, datetime
from importlib.metadata import version

import docker
import docker.errors


def facts() -> dict[str, str]:
    """Date, processor, kernel, versions and the load of this moment."""
    return {
        "date": datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC"),
        "processor": f"{_processor()}, {len(os.sched_getaffinity(0))} cores",
        "kernel": platform.release(),
        "python": platform.python_version(),
        "versions": ", ".join(f"{name} {version(name)}" for name in ("assay", "mujoco-core", "numpy", "docker")),
        "engine": _engine(),
        "load": load(),
    }


def load() -> str:
    """Load averages over 1, 5 and 15 minutes: a ratio is worth as much as the machine was quiet."""
    return " ".join(f"{value:.2f}" for value in os.getloadavg())


def _processor() -> str:
    with open("/proc/cpuinfo", encoding="utf-8", errors="replace") as file:
        for line in file:
            if line.startswith("model name"):
                return line.split(":", 1)[1].strip()
    return platform.machine()


def _engine() -> str:
    try:
        found = docker.from_env(timeout=10).version()
    except docker.errors.DockerException:
        return "none answers"
    return f"Docker {found['Version']}"
