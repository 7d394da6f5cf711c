"""One attempt in the environment's process: hello, start, the episode, verdict or fault, and the wait for the end."""

from __future__ import annotations

import contextlib
import gc
import json
import socket
import sys
import traceback
from collections.abc import Mapping
from dataclasses import asdict
from functools import partial
from typing import Any

from images.client.wire import Attachment, Reply
from images.gateway.engine import EXIT_FAULT, Engine, fault_header, platform_fingerprint, probe_pictures
from images.gateway.environment import PhysicsSanityError
from images.gateway.host import Host
from images.gateway.plain import plain
from images.gateway.replay import Replay
from images.gateway.requests import RequestError
from images.gateway.server import Server
from images.gateway.session import Session
from images.gateway.spec import Spec, parse_spec

BROKEN = {"ok": False, "error": {"kind": "ended", "text": "the environment failed; the attempt is over"}}


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
        first = self._host.start()
        if first is None or self._host.gone:
            return 0
        if first["op"] == "replay":
            return Replay(self._engine, self._host, self._fingerprint.get("gl")).run(first.get("spec"))
        try:
            self._session = session = self._create(parse_spec(first.get("spec")))
        except Exception as error:
            self._fault("physics_sanity" if isinstance(error, PhysicsSanityError) else "initialization_error", error)
            return EXIT_FAULT
        gc.freeze()  # what is there now stays: no pause for looking through it again during the episode
        if self._go_on():
            answer = partial(self._answer, session)
            try:
                Server(self._listener, answer, session.settle, self._host.wake, self._go_on).run()
            except Exception as error:
                self._failure(session, error)
        with contextlib.suppress(Exception):  # verdict or fault is out; a bad end of the engine changes neither
            session.close()
        return EXIT_FAULT if self._failed else 0

    def _create(self, spec: Spec) -> Session:
        environment = self._engine.create(spec.raw)
        pictures = probe_pictures(environment, self._fingerprint.get("gl")) if spec.pictures else None
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

    # ---- what the server calls --------------------------------------------------------------------------------------
    def _answer(self, session: Session, header: Mapping[str, Any], attachments: Mapping[str, Attachment]) -> Reply:
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
        return f'"ok":true,{reply}' if isinstance(reply, str) else {"ok": True, **reply}, parts

    def _go_on(self) -> bool:
        """Obey a stop of the host; False when the process has to end."""
        session, reason = self._session, self._host.stop_reason
        if reason is not None and not self._reported and not self._failed and session is not None:
            try:
                session.stop(reason)
            except Exception as error:
                self._failure(session, error)
            self._report_verdict(session)
        if session is not None:
            self._answer_host(session)
        return not (self._host.gone or self._failed)

    def _answer_host(self, session: Session) -> None:
        """Requests of an agent without a sandbox, which come by the host's stdio instead of the socket."""
        while not self._failed and (call := self._host.next_call()) is not None:
            header, attachments = call
            members, parts = self._answer(session, header["request"], attachments)
            answered = json.loads(f"{{{members}}}") if isinstance(members, str) else members
            self._host.send({"op": "reply", "id": header.get("id"), "header": answered}, parts)
            session.settle()

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
        header = fault_header(cause, error)
        sys.stderr.write(header["traceback"])
        artifacts: dict[str, Attachment] = {}
        if self._session is not None:
            header["meter"] = asdict(self._session.meter)
            artifacts = self._session.evidence()
        self._host.send(header, artifacts)


def cause_of(error: BaseException) -> str:
    """The cause of a fault after the start."""
    return "physics_sanity" if isinstance(error, PhysicsSanityError) else "evaluator_error"
