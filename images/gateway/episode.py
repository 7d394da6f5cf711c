"""One attempt in the environment's process: hello, start, the episode, verdict or fault, and the wait for the end."""

from __future__ import annotations

import contextlib
import gc
import os
import platform
import socket
import sys
import traceback
from collections.abc import Mapping
from dataclasses import asdict
from functools import partial
from typing import Any, Protocol

from images.client.wire import Attachment, Frame
from images.gateway.environment import Environment, PhysicsSanityError
from images.gateway.host import Host
from images.gateway.plain import plain
from images.gateway.requests import MIN_PICTURE_SIDE, RequestError
from images.gateway.server import Server
from images.gateway.session import Session
from images.gateway.spec import Spec, parse_spec

EXIT_FAULT = 3
BROKEN = {"ok": False, "error": {"kind": "ended", "text": "the environment failed; the attempt is over"}}
CPU_FLAGS = ("sse4_2", "avx", "avx2", "fma", "avx512f", "avx512dq", "avx512bw", "avx512vl", "asimd", "sve")


class Engine(Protocol):
    """What an engine's module offers."""

    NAME: str

    def fingerprint(self) -> dict[str, Any]:
        """Engine version and GL backend (``gl``, None without one)."""

    def create(self, spec: dict[str, Any]) -> Environment:
        """The environment of a ``start`` frame's specification, initialized."""


class Episode:
    """Runs one attempt. ``run`` returns the exit code."""

    def __init__(self, engine: Engine, host: Host, listener: socket.socket) -> None:
        self._engine, self._host, self._listener = engine, host, listener
        self._fingerprint = platform_fingerprint() | engine.fingerprint()
        self._session: Session | None = None
        self._reported = False  # the verdict was sent
        self._failed = False

    def run(self) -> int:
        self._host.send({"op": "hello", "engine": self._engine.NAME, "fingerprint": plain(self._fingerprint)})
        raw = self._host.start()
        if self._host.gone:
            return 0
        try:
            self._session = session = self._create(parse_spec(raw))
        except Exception as error:
            self._fault("physics_sanity" if isinstance(error, PhysicsSanityError) else "initialization_error", error)
            return EXIT_FAULT
        gc.freeze()  # what is there now stays: no pause for looking through it again during the episode
        if self._go_on():
            answer = partial(self._answer, session)
            try:
                Server(self._listener, answer, self._host.wake, self._go_on).run()
            except Exception as error:
                self._failure(session, error)
        with contextlib.suppress(Exception):  # verdict or fault is out; a bad end of the engine changes neither
            session.close()
        return EXIT_FAULT if self._failed else 0

    def _create(self, spec: Spec) -> Session:
        environment = self._engine.create(spec.raw)
        pictures = self._probe_pictures(environment) if spec.pictures else None
        session = Session(environment, spec, self._host)
        self._host.send(
            {
                "op": "ready",
                "describe": session.description,
                "realized": session.realized(),
                "digest": session.digest(),
                "pictures": pictures,
            }
        )
        return session

    def _probe_pictures(self, environment: Environment) -> str:
        """The name of the picture backend, after one picture that is not all black: many drivers fail like that."""
        for camera in environment.cameras()[:1]:
            height = max(MIN_PICTURE_SIDE, round(64 * camera.height / camera.width))
            if not environment.render(camera.name, 64, height).any():
                raise RuntimeError(f"camera {camera.name} shows only black: the GL backend does not draw")
        return str(self._fingerprint.get("gl") or "unnamed")

    # ---- what the server calls --------------------------------------------------------------------------------------
    def _answer(self, session: Session, header: Mapping[str, Any], attachments: Mapping[str, Attachment]) -> Frame:
        """The whole reply. The host has the verdict, or the fault, before the agent has the reply."""
        try:
            reply, parts = session.answer(header, attachments)
        except RequestError as error:
            details: dict[str, Any] = {"kind": error.kind, "text": str(error)}
            if error.terminal is not None:
                details["terminal"] = error.terminal
            return {"ok": False, "error": details}, {}
        except Exception as error:
            self._failure(session, error)
            return BROKEN, {}
        if not self._report_verdict(session):
            return BROKEN, {}
        return {"ok": True, **reply}, parts

    def _go_on(self) -> bool:
        """Obey a stop of the host; False when the process has to end."""
        session, reason = self._session, self._host.stop_reason
        if reason is not None and not self._reported and not self._failed and session is not None:
            try:
                session.stop(reason)
            except Exception as error:
                self._failure(session, error)
            self._report_verdict(session)
        return not (self._host.gone or self._failed)

    # ---- frames of the end ------------------------------------------------------------------------------------------
    def _report_verdict(self, session: Session) -> bool:
        """Send the verdict once, as soon as there is one. False when that failed."""
        if session.judgement is None or self._reported or self._failed:
            return not self._failed
        try:
            header = {
                "op": "verdict",
                "judgement": plain(asdict(session.judgement)),
                "meter": asdict(session.meter),
                "digest": session.digest(),
                "event_simulated_s": session.meter.simulated_s,
            }
            self._host.send(header, session.artifacts())
        except Exception as error:
            self._fault(cause_of(error), error)
            return False
        self._reported = True
        return True

    def _failure(self, session: Session, error: Exception) -> None:
        """An exception of the environment: a verdict that is latched already stands, otherwise it is a fault."""
        if session.judgement is None:
            self._fault(cause_of(error), error)
        else:
            traceback.print_exception(error)
            self._report_verdict(session)

    def _fault(self, cause: str, error: BaseException) -> None:
        self._failed = True
        trace = "".join(traceback.format_exception(error))
        sys.stderr.write(trace)
        header: dict[str, Any] = {
            "op": "fault",
            "cause": cause,
            "text": f"{type(error).__name__}: {error}"[:2000],
            "traceback": trace[-20000:],
        }
        artifacts: dict[str, Attachment] = {}
        if self._session is not None:
            header["meter"] = asdict(self._session.meter)
            artifacts = self._session.evidence()
        self._host.send(header, artifacts)


def cause_of(error: BaseException) -> str:
    """The cause of a fault after the start."""
    return "physics_sanity" if isinstance(error, PhysicsSanityError) else "evaluator_error"


def platform_fingerprint() -> dict[str, Any]:
    """What decides floating-point results besides the engine."""
    flags: list[str] = []
    with contextlib.suppress(OSError), open("/proc/cpuinfo", encoding="utf-8", errors="replace") as file:
        for line in file:
            if line.startswith(("flags", "Features")):
                present = set(line.split(":", 1)[1].split())
                flags = [flag for flag in CPU_FLAGS if flag in present]
                break
    return {"python": platform.python_version(), "cpu": os.uname().machine, "cpu_flags": flags}
