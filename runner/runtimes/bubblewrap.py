"""Both processes of an attempt under bubblewrap: for machines without a Docker Engine. Not official.

Like the containers: no network, no view of other processes, no capability, read-only binds of exactly what each side
needs, a socket folder that the sandbox cannot write to. Unlike them: memory is limited per process
(RLIMIT_AS) and not in total, nobody says that memory ran out, and CPU time is shared freely.
"""

from __future__ import annotations

import functools
import itertools
import json
import os
import platform
import secrets
import shutil
import subprocess
from pathlib import Path

from manifests.records import ImageIdentity
from runner.runtimes import bpf, view
from runner.runtimes.base import Limits, PairRequest, Role, RuntimeFacts, RuntimeUnavailable
from runner.runtimes.children import Command
from runner.runtimes.commands import entry_points, refuse_gpus

SOCKET = "/io/s"
SHM_SIZE = 64 << 20
OPEN_FILES = 1024
INSTALL = "install it (Debian: apt-get install bubblewrap)"
_TRY = "import numpy, PIL.Image"
_PROBE_LIMITS = Limits(memory=2 << 30, cpus=1.0, pids=64, tmp=1 << 20, wall_s=60.0)
# As root: users that exist nowhere else, fresh ones for every pair: RLIMIT_NPROC counts all processes of a user.
_FIRST_UID, _UIDS = 0x60000000, 1 << 24


class BubblewrapLauncher:
    """Raises RuntimeUnavailable (one line with the fix) when bubblewrap cannot confine anything here."""

    def __init__(self, why: str) -> None:
        self._program = _program()
        self._root = os.geteuid() == 0
        self._users = itertools.count(_FIRST_UID + 2 * secrets.randbelow(_UIDS), 2)
        self._try()
        version = subprocess.run([self._program, "--version"], capture_output=True, text=True, check=False)
        details = {
            "bubblewrap": version.stdout.strip(),
            "kernel": platform.release(),
            "seccomp": bpf.program(platform.machine()) is not None,
            "limits": "memory per process, no total, no CPU share",
        }
        self.facts = RuntimeFacts("bubblewrap", False, why, details)

    def prepare(self, request: PairRequest) -> tuple[ImageIdentity, ...]:
        refuse_gpus("bubblewrap", request)
        roles = entry_points(request).images
        for role in roles:
            view.arguments(role)
        return tuple(view.identity("bubblewrap", role) for role in roles)

    def commands(self, request: PairRequest, io: Path) -> dict[Role, Command]:
        points = entry_points(request)
        user = next(self._users)
        if self._root:  # the environment owns the folder; the sandbox gets its group and a read-only mount
            os.chown(io, user, user)
            io.chmod(0o750)
        environment = self._command(
            points.environment_role,
            points.environment(SOCKET),
            request.environment_limits,
            ["--bind", str(io), "/io"],
            (user, user, []),
        )
        commands: dict[Role, Command] = {"environment": environment}
        if points.sandbox_role is not None and request.sandbox_limits is not None:
            commands["sandbox"] = self._command(
                points.sandbox_role,
                points.sandbox(SOCKET),
                request.sandbox_limits,
                ["--ro-bind", str(io), "/io"],
                (user + 1, user + 1, [user]),
            )
        return commands

    def _command(
        self, role: str, arguments: list[str], limits: Limits, binds: list[str], user: tuple[int, int, list[int]]
    ) -> Command:
        seccomp = bpf.descriptor()
        options = [*self._isolation(), *view.arguments(role), "--proc", "/proc", "--dev", "/dev"]
        options += [*_tmpfs("/tmp", limits.tmp), *_tmpfs("/dev/shm", SHM_SIZE), *binds]
        options += ["--remount-ro", "/dev", "--remount-ro", "/", "--chdir", "/tmp", "--clearenv"]
        for name, value in view.variables().items():
            options += ["--setenv", name, value]
        if seccomp is not None:
            options += ["--seccomp", str(seccomp)]
        # By a descriptor: a command line can be read inside, and it would tell the host's folders.
        hidden = os.memfd_create("arguments", 0)
        os.write(hidden, b"".join(option.encode() + b"\0" for option in options))
        os.lseek(hidden, 0, os.SEEK_SET)
        settings = {
            "limits": {
                "RLIMIT_AS": limits.memory,
                "RLIMIT_NPROC": limits.pids,
                "RLIMIT_FSIZE": limits.tmp,
                "RLIMIT_NOFILE": OPEN_FILES,
                "RLIMIT_CORE": 0,
            },
            **dict(zip(("uid", "gid", "groups"), user if self._root else (None, None, []), strict=True)),
        }
        python = view.interpreter()
        entry = [python, "-I", "-S", view.CONFINE, json.dumps(settings), python, *arguments]
        descriptors = (hidden,) if seccomp is None else (hidden, seccomp)
        return Command([self._program, "--args", str(hidden), "--", *entry], {}, Path("/"), descriptors)

    def _isolation(self) -> list[str]:
        command = ["--unshare-ipc", "--unshare-pid", "--unshare-net", "--unshare-uts", "--unshare-cgroup-try"]
        command += ["--die-with-parent", "--new-session", "--cap-drop", "ALL", "--hostname", "assay"]
        if self._root:
            # No user namespace: the entry point gets a real user without rights, after the mounts.
            return [*command, "--cap-add", "CAP_SETUID", "--cap-add", "CAP_SETGID"]
        # As process 1, because bubblewrap's own would have the agent's user, and its standard output, which is the
        # host's frame stream, would be open to agent code through /proc/1/fd/1.
        command += ["--unshare-user", "--uid", "65534", "--gid", "65534", "--as-pid-1"]
        return [*command, "--disable-userns"] if "--disable-userns" in _options(self._program) else command

    def _try(self) -> None:
        """Confine the interpreter for once, with everything that an attempt uses."""
        command = self._command("sandbox", ["-c", _TRY], _PROBE_LIMITS, [], (_FIRST_UID, _FIRST_UID, []))
        try:
            done = subprocess.run(
                command.arguments, env={}, pass_fds=command.descriptors, capture_output=True, text=True, timeout=60
            )
        except subprocess.TimeoutExpired:
            raise RuntimeUnavailable("bubblewrap: a confined interpreter did not end within 60 s") from None
        finally:
            for descriptor in command.descriptors:
                os.close(descriptor)
        if done.returncode != 0:
            reason = (done.stderr.strip().splitlines() or [f"exit status {done.returncode}"])[-1]
            fix = "use Docker instead"
            if "namespace" in reason or "uid map" in reason:
                fix = (
                    "allow unprivileged user namespaces (see `sysctl -a | grep userns` and AppArmor's profile of bwrap)"
                )
            raise RuntimeUnavailable(f"bubblewrap: {reason}; {fix}")


def _program() -> str:
    found = shutil.which("bwrap")
    if found is None:
        raise RuntimeUnavailable(f"bubblewrap: bwrap is not installed; {INSTALL}")
    if "--size" not in _options(found) or "--clearenv" not in _options(found):
        raise RuntimeUnavailable(f"bubblewrap: {found} is older than 0.8; {INSTALL}")
    return found


@functools.cache
def _options(program: str) -> frozenset[str]:
    done = subprocess.run([program, "--help"], capture_output=True, text=True, check=False)
    return frozenset(word for word in (done.stdout + done.stderr).split() if word.startswith("--"))


def _tmpfs(folder: str, size: int) -> list[str]:
    return ["--perms", "1777", "--size", str(size), "--tmpfs", folder]
