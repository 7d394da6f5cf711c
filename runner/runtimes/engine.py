"""The connection to the Docker Engine: where it is, what it can do, and one error for its loss.

Every call goes through :func:`calling`, so that a stopped daemon, a broken connection and a hanging socket all become
:class:`EngineGone`, and an answer that says no stays a ``docker.errors.APIError``.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import docker
import docker.errors
import requests.exceptions
import urllib3.exceptions

from runner.runtimes.base import EngineGone, RuntimeUnavailable

API_TIMEOUT_S = 60.0  # one call; starting a container on a loaded machine takes seconds
MAX_REASON = 120  # characters of an error that is none of the known ones
START = "start it (for example `systemctl start docker`)"
MINIMUM_API = (1, 41)  # Engine 20.10
# Without these the Engine accepts a limit and does not enforce it.
_SUPPORTS = {
    "MemoryLimit": "memory limits",
    "SwapLimit": "swap limits",
    "PidsLimit": "process limits",
    "CpuCfsQuota": "CPU quotas",
}
_LOST = (
    requests.exceptions.ConnectionError,
    requests.exceptions.Timeout,
    requests.exceptions.ChunkedEncodingError,
    urllib3.exceptions.HTTPError,
    ConnectionError,
    FileNotFoundError,
    TimeoutError,
)


@contextmanager
def calling(doing: str) -> Iterator[None]:
    """Raises EngineGone when the Engine cannot be reached while ``doing`` something."""
    try:
        yield
    except docker.errors.APIError:
        raise
    except (*_LOST, docker.errors.DockerException) as error:
        raise EngineGone(
            f"the Docker Engine stopped answering while {doing} ({_reason(error)}); "
            "start it (for example `systemctl start docker`) and run the same command again"
        ) from None


def connect(timeout_s: float = API_TIMEOUT_S) -> Any:
    """A ``docker.APIClient`` of the Engine that DOCKER_HOST or the current Docker context names.

    Raises RuntimeUnavailable when none answers or the user may not talk to it.
    """
    where = _address()
    settings: dict[str, Any] = {"timeout": timeout_s, "version": "auto", "num_pools": 16, "max_pool_size": 16}
    try:
        if "DOCKER_HOST" in os.environ:
            return docker.APIClient(**{**settings, **docker.utils.kwargs_from_env()})
        return docker.APIClient(base_url=where, **settings)
    except (*_LOST, docker.errors.DockerException, ValueError) as error:  # ValueError: an address that is none
        reason = _reason(error)
    raise RuntimeUnavailable(f"docker: no Engine answers at {where}: {reason}; {_fix(reason)}")


def _fix(reason: str) -> str:
    known = {
        "Permission denied": "add yourself to the group docker (`sudo usermod -aG docker $USER`, then log in again)",
        "No such file": "install and start Docker (Debian: apt-get install docker.io)",
        "Connection refused": START,
        "timed out": START,
    }
    found = [fix for part, fix in known.items() if part in reason]
    if "DOCKER_HOST" in os.environ:
        found.append(
            "give in DOCKER_HOST an address that answers, as unix:///var/run/docker.sock, or unset it (and "
            "DOCKER_TLS_VERIFY)"
        )
    return ", or ".join(found or [START])


def ping(api: Any) -> None:
    """Raises EngineGone when the Engine does not answer. An answer that says no is one."""
    with contextlib.suppress(docker.errors.APIError), calling("being asked whether it is there"):
        api.ping()


def check(api: Any) -> dict[str, Any]:
    """What the record says of the Engine. Raises RuntimeUnavailable when a limit or seccomp would not hold."""
    with calling("asking what it supports"):
        version, info = api.version(), api.info()
    number = version["ApiVersion"]
    if tuple(int(part) for part in number.split(".")) < MINIMUM_API:
        raise RuntimeUnavailable(f"docker: API {number} is older than 1.41; install Docker Engine 20.10 or newer")
    if info["OSType"] != "linux":
        raise RuntimeUnavailable(f"docker: the Engine runs {info['OSType']} containers; switch it to Linux containers")
    for key, text in _SUPPORTS.items():
        if not info.get(key):
            raise RuntimeUnavailable(
                f"docker: this Engine cannot enforce {text} ({key} is false); enable the cgroup controller "
                "(kernel parameters `cgroup_enable=memory swapaccount=1`) or use another Engine"
            )
    if not any("seccomp" in option for option in info["SecurityOptions"] or []):
        raise RuntimeUnavailable("docker: this Engine has no seccomp; use a kernel and an Engine built with it")
    return {
        "engine": version["Version"],
        "api": number,
        "kernel": info["KernelVersion"],
        "architecture": info["Architecture"],
        "cgroup": info.get("CgroupVersion"),
        "storage": info["Driver"],
        "cpus": info["NCPU"],
    }


def _address() -> str:
    if "DOCKER_HOST" in os.environ:
        return os.environ["DOCKER_HOST"]
    try:
        context = docker.ContextAPI.get_current_context()
        return str(context.Host) if context is not None else "unix:///var/run/docker.sock"
    except (docker.errors.DockerException, OSError, ValueError, AttributeError):
        return "unix:///var/run/docker.sock"


def _reason(error: BaseException) -> str:
    """The innermost cause as one short line: requests and urllib3 wrap it several times."""
    text = str(error)
    for part in (
        "Permission denied",
        "No such file or directory",
        "Connection refused",
        "Connection reset",
        "timed out",
    ):
        if part in text:
            return part
    if "NameResolutionError" in text:
        return "the name of its host is unknown"
    return " ".join(text.split())[:MAX_REASON] or type(error).__name__
