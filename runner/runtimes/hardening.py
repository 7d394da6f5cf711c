"""How the containers of an attempt are confined: the one place with every setting and the attack that it answers."""

from __future__ import annotations

import functools
import hashlib
from pathlib import Path
from typing import Any

import docker.types

from runner.runtimes.base import Limits, Role

IO_FOLDER = "/io"
SOCKET = "/io/s"
ENVIRONMENT_UID, SOCKET_GID, SANDBOX_UID = 10001, 10000, 65534
# Sizes in bytes. The volume holds one socket; shared memory serves POSIX semaphores and software rendering.
VOLUME_SIZE, SHM_SIZE = 1 << 20, 64 << 20
OPEN_FILES = 1024
DEADMAN_KILL_S = 2
_PROFILE = Path(__file__).resolve().parents[2] / "images" / "sandbox" / "seccomp.json"


@functools.cache
def seccomp_profile() -> str:
    """The profile as the Engine takes it: inline JSON."""
    return _PROFILE.read_text(encoding="utf-8")


def seccomp_digest() -> str:
    return hashlib.sha256(seccomp_profile().encode()).hexdigest()


def volume_options() -> dict[str, str]:
    """A tmpfs that only the environment may write to; members of its group may enter it."""
    options = f"size={VOLUME_SIZE},uid={ENVIRONMENT_UID},gid={SOCKET_GID},mode=0750"
    return {"type": "tmpfs", "device": "tmpfs", "o": options}


def identity(role: Role) -> dict[str, Any]:
    """Numeric users that exist nowhere else. The sandbox reaches the socket by its extra group only."""
    if role == "environment":
        return {"user": f"{ENVIRONMENT_UID}:{SOCKET_GID}", "group_add": []}
    return {"user": f"{SANDBOX_UID}:{SANDBOX_UID}", "group_add": [str(SOCKET_GID)]}


def host_config(role: Role, limits: Limits, volume: str, cpus: int, gpus: bool) -> dict[str, Any]:
    """Arguments of ``APIClient.create_host_config``. ``cpus`` is what the Engine has: it refuses to grant more."""
    settings: dict[str, Any] = {
        "network_mode": "none",
        "read_only": True,
        "tmpfs": {"/tmp": f"rw,noexec,nosuid,nodev,size={limits.tmp},mode=1777"},
        "binds": {volume: {"bind": IO_FOLDER, "mode": "rw,nocopy" if role == "environment" else "ro,nocopy"}},
        "group_add": identity(role)["group_add"],
        "cap_drop": ["ALL"],
        "security_opt": ["no-new-privileges", f"seccomp={seccomp_profile()}"],
        "pids_limit": limits.pids,  # fork bomb
        "mem_limit": limits.memory,
        "memswap_limit": limits.memory,  # the same value: no swap
        "nano_cpus": int(min(limits.cpus, cpus) * 1e9),
        "ipc_mode": "private",
        "shm_size": SHM_SIZE,
        "ulimits": [
            docker.types.Ulimit(name="nofile", soft=OPEN_FILES, hard=OPEN_FILES),
            docker.types.Ulimit(name="core", soft=0, hard=0),
            docker.types.Ulimit(name="fsize", soft=limits.tmp, hard=limits.tmp),
        ],
        # Frames pass through standard output: a log of them would be a second copy of every artifact on the host's
        # disk. The end of standard error is kept by the channel instead.
        "log_config": docker.types.LogConfig(type="none"),
    }
    if gpus:
        settings["device_requests"] = [gpu_request()]
    return settings


def gpu_request() -> Any:
    return docker.types.DeviceRequest(
        driver="nvidia", count=-1, capabilities=[["gpu", "compute", "utility", "graphics"]]
    )


def command(arguments: list[str], deadman_s: float) -> list[str]:
    """The entry point behind a dead-man switch: it ends by itself even when nobody is left to end it.

    There is no init process: its standard output, which is the host's frame stream, would be open to agent code through
    ``/proc/1/fd/1``. The sandbox adopts and ends what agent code leaves behind itself.
    """
    return ["/opt/assay/deadman", "-k", str(DEADMAN_KILL_S), str(int(deadman_s)), "python3", *arguments]
