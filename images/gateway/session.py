"""One episode as the agent sees it: levels, metering, and the one verdict that ends it.

The session knows nothing of sockets. Its caller answers requests one after the other and turns exceptions of the
environment into a fault. The supervisor is asked before every action whether the host has stopped the episode, so that
a long batch ends within one control step.
"""

from __future__ import annotations

import contextlib
import importlib
import io
import json
import math
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from operator import le
from typing import Any, Protocol

import numpy as np

from images.client.wire import PROTOCOL, Attachment, Frame, Reply
from images.gateway.environment import Clause, Environment, Event, Field, Judgement, PhysicsSanityError
from images.gateway.plain import plain
from images.gateway.recorder import Recorder
from images.gateway.requests import ActionFault, Permissions, RequestError, check_envelope, read_actions
from images.gateway.spec import Spec

MAX_EVENTS = 1000  # of one reply; the rest is counted
ILLEGAL = "rejected_action"
ACTIONS_SPENT = "action_budget"
TIME_SPENT = "simulated_time"
NOTHING_ON_RECORD = "quit"  # what Environment.finish returns without a goal or a violation
FINISHED = "finished"
# The members of a step's reply in which nothing happened, which nearly every one is: written, not encoded.
PLAIN_STEP = (
    '"applied":%d,"simulated_s":%r,"actions":%d,"remaining":{"actions":%d,"simulated_s":%r},"events":[],"terminal":null'
)


Encode = Callable[[np.ndarray], bytes]


@dataclass
class Meter:
    """What the episode has used. ``steps`` counts step calls, ``image_reads`` rendered pictures."""

    actions: int = 0
    simulated_s: float = 0.0
    image_reads: int = 0
    steps: int = 0


class Supervisor(Protocol):
    """The host's side of an episode."""

    def acted(self) -> None:
        """The agent's first step has arrived."""

    def tick(self, meter: Meter) -> str | None:
        """Called before every action; returns the reason when the host has stopped the episode."""


class Session:
    """Answers the agent's operations on one environment. Raises PhysicsSanityError when it is over before it began."""

    def __init__(self, environment: Environment, spec: Spec, supervisor: Supervisor) -> None:
        self._environment = environment
        self._spec = spec
        self._supervisor = supervisor
        self._dt = float(environment.control_dt)  # a NumPy number would be written as one
        self._controls = environment.controls()
        self._low = np.array([control.low for control in self._controls])
        self._high = np.array([control.high for control in self._controls])
        self._lowest, self._highest = self._low.tolist(), self._high.tolist()
        self._time_actions = math.floor(spec.max_simulated_s / self._dt + 1e-6)
        self._encode: Encode = getattr(environment, "encode", photograph)
        self._permissions = Permissions(spec.level, environment.fields(), environment.cameras(), spec.pictures)
        if spec.pictures:
            importlib.import_module("PIL.Image")  # now: the time of the first picture is the agent's
        self.meter = Meter()
        self.judgement: Judgement | None = None
        self._terminal: dict[str, Any] | None = None
        early = environment.judge()
        if early is not None:
            raise PhysicsSanityError(f"judged {early.cause} before the first action: {early.text}")
        self._recorder = Recorder(environment, spec.state_hz)
        self.description = self._describe()
        self._operations: dict[str, Callable[[Mapping[str, Any], Mapping[str, Attachment]], Reply]] = {
            "describe": lambda header, attachments: ({"describe": self.description}, {}),
            "observe": self._observe,
            "step": self._step,
            "finish": self._finish,
        }

    # ---- the agent's operations -------------------------------------------------------------------------------------
    def answer(self, header: Mapping[str, Any], attachments: Mapping[str, Attachment]) -> Reply:
        """The reply without its envelope. Raises RequestError (no effect) and whatever the environment raises."""
        return self._operations[check_envelope(header, attachments)](header, attachments)

    def _observe(self, header: Mapping[str, Any], attachments: Mapping[str, Attachment]) -> Frame:
        fields = self._permissions.check_fields(header.get("fields"))
        pictures = self._permissions.check_pictures(header.get("pictures"))
        reply = self._read(fields)
        for index, picture in enumerate(pictures):
            frame = self._environment.render(picture.camera, picture.width, picture.height)
            self.meter.image_reads += 1
            reply[f"picture/{index}"] = png(frame, picture.width, picture.height, self._encode)
        meter = self.meter
        return {"simulated_s": meter.simulated_s, "actions": meter.actions, "terminal": self._terminal}, reply

    def _step(self, header: Mapping[str, Any], attachments: Mapping[str, Attachment]) -> Reply:
        self._refuse_when_ended()
        fields = self._permissions.check_fields(header.get("fields"))
        fault = None
        try:
            actions = read_actions(header, attachments, len(self._controls))
        except ActionFault as error:
            actions, fault = np.zeros((0, len(self._controls))), str(error)
        events: list[dict[str, Any]] = []
        before = self.meter.actions
        self.meter.steps += 1
        if self.meter.steps == 1:
            self._supervisor.acted()
        actions.setflags(write=False)
        try:
            fault = self._apply_all(actions, events) or fault
        finally:
            self._recorder.keep(actions[: self.meter.actions - before])
        if fault is not None and self.judgement is None:
            self._end(Judgement(ILLEGAL, clause="G-01", text=fault))
        meter, spec = self.meter, self._spec
        applied, simulated_s = meter.actions - before, meter.simulated_s
        actions_left, time_left = spec.max_actions - meter.actions, max(0.0, spec.max_simulated_s - simulated_s)
        if self._terminal is None and not events and not fields:
            return PLAIN_STEP % (applied, simulated_s, meter.actions, actions_left, time_left), {}
        reply = {
            "applied": applied,
            "simulated_s": simulated_s,
            "actions": meter.actions,
            "remaining": {"actions": actions_left, "simulated_s": time_left},
            "events": events,
            "terminal": self._terminal,
        }
        if len(events) > MAX_EVENTS:
            reply["events_omitted"] = len(events) - MAX_EVENTS
            del events[MAX_EVENTS:]
        return reply, self._read(fields)

    def _finish(self, header: Mapping[str, Any], attachments: Mapping[str, Attachment]) -> Frame:
        self._refuse_when_ended()
        self._end(self._environment.finish())
        return {"terminal": self._terminal}, {}

    def settle(self) -> None:
        """What may wait until the reply is out: the recording of the last action. Once more changes nothing."""
        if self.judgement is None:
            self._recorder.catch_up(self.meter.actions)

    # ---- the host ---------------------------------------------------------------------------------------------------
    def stop(self, reason: str) -> None:
        """End from outside; a success or violation on record binds, and an ended episode stays as it is."""
        if self.judgement is None:
            self._end(self._binding(reason, f"the host stopped the episode: {reason}"))

    def artifacts(self) -> dict[str, Attachment]:
        """Recording and the evaluator's log, for the host only."""
        self._recorder.complete(self.meter.actions)
        return {**self._recorder.artifacts(), "scorer_log": self._scorer_log()}

    def evidence(self) -> dict[str, Attachment]:
        """What an environment that has failed can still give."""
        artifacts = self._recorder.artifacts()
        with contextlib.suppress(Exception):
            artifacts["scorer_log"] = self._scorer_log()
        return artifacts

    def _scorer_log(self) -> bytes:
        lines = [json.dumps(plain(entry), allow_nan=False) for entry in self._environment.scorer_log()]
        return "".join(line + "\n" for line in lines).encode()

    def realized(self) -> dict[str, Any]:
        return dict(plain(self._environment.realized()))

    def digest(self) -> str:
        return self._environment.digest()

    def close(self) -> None:
        self._environment.close()

    # ---- inside -----------------------------------------------------------------------------------------------------
    def _apply_all(self, actions: np.ndarray, events: list[dict[str, Any]]) -> str | None:
        """Apply one action after the other up to the first terminal event; a batch is exactly its actions one by one.
        Returns the fault of the first illegal action when the episode came to it."""
        environment, meter, recorder = self._environment, self.meter, self._recorder
        tick = self._supervisor.tick
        count = self._count_legal(actions)
        for index in range(count):
            recorder.catch_up(meter.actions)
            reason = tick(meter)
            if reason is not None:
                self.stop(reason)
                return None
            happened = environment.apply(actions[index])
            meter.actions += 1
            meter.simulated_s = meter.actions * self._dt
            if happened:
                events += [_public(index, event) for event in happened if self._permissions.allows(event.level)]
            judgement = environment.judge() or self._spent()
            if judgement is not None:
                self._end(judgement)
                return None
        return None if count == len(actions) else self._explain(count, actions[count])

    def _count_legal(self, actions: np.ndarray) -> int:
        """How many actions are legal before the first illegal one; NaN is illegal."""
        if len(actions) == 1:  # lists of 16 numbers touch less memory than four ufuncs do
            row = actions[0].tolist()
            return int(all(map(le, self._lowest, row)) and all(map(le, row, self._highest)))
        legal = np.logical_and.reduce((actions >= self._low) & (actions <= self._high), axis=1)
        return len(actions) if np.logical_and.reduce(legal) else int(legal.argmin())

    def _spent(self) -> Judgement | None:
        actions = self.meter.actions
        if actions >= self._time_actions:
            return self._binding(TIME_SPENT, f"{self._spec.max_simulated_s:g} s of simulated time are used up", "G-03")
        if actions >= self._spec.max_actions:
            return self._binding(ACTIONS_SPENT, f"{self._spec.max_actions} actions are used up", "G-02")
        return None

    def _binding(self, cause: str, text: str, clause: str | None = None) -> Judgement:
        """What is on record if it is a success or a violation, else an end for ``cause``."""
        judgement = self._environment.finish()
        if judgement.cause != NOTHING_ON_RECORD or cause == FINISHED:
            return judgement
        return Judgement(cause, clause=clause, text=text, data=judgement.data)

    def _end(self, judgement: Judgement) -> None:
        self.judgement = judgement
        self._terminal = {
            "cause": judgement.cause,
            "code": judgement.code,
            "clause": judgement.clause,
            "text": judgement.text,
        }

    def _refuse_when_ended(self) -> None:
        if self._terminal is not None:
            raise RequestError("ended", f"the episode has ended: {self._terminal['cause']}", self._terminal)

    def _explain(self, index: int, action: np.ndarray) -> str:
        component = int(((action >= self._low) & (action <= self._high)).argmin())
        control, value = self._controls[component], action[component]
        what = "is not finite" if not np.isfinite(value) else f"is outside [{control.low:g}, {control.high:g}]"
        return f"action {index}, component {component} ({control.name}): {value:g} {control.unit} {what}"

    def _read(self, fields: list[Field]) -> dict[str, Attachment]:
        values: dict[str, Attachment] = {}
        for field in fields:
            value = np.asarray(self._environment.read(field.name), dtype=field.dtype)
            if value.shape != field.shape:
                raise ValueError(f"field {field.name} has shape {value.shape}, declared {field.shape}")
            values[field.name] = value
        return values

    def _describe(self) -> dict[str, Any]:
        spec, public = self._spec, self._environment.public()
        document = {
            "protocol": PROTOCOL,
            "environment_id": spec.environment_id,
            "title": public["title"],
            "task": public["task"],
            "mode": spec.mode,
            "embodiment": public.get("embodiment") or _embodiment(spec.environment_id),
            "control_hz": 1 / self._dt,
            "controls": [asdict(control) for control in self._controls],
            "fields": [asdict(field) for field in self._permissions.fields()],
            "cameras": [asdict(camera) for camera in self._permissions.cameras()],
            "clauses": [asdict(clause) for clause in [*self._environment.clauses(), *gateway_clauses(spec)]],
            "budgets": spec.budgets,
            "access": {"level": spec.level, "grants": list(spec.grants)},
            "parameters": public.get("parameters", {}),
        }
        return dict(plain(document))


def gateway_clauses(spec: Spec) -> list[Clause]:
    """The ends that the gateway itself brings about, disclosed like every other rule. Their codes are the protocol's
    (``manifests/causes.json``), not the gateway's."""
    return [
        Clause(
            "G-01",
            "An action of another length, not finite or outside its limits ends the attempt.",
            None,
            "",
            None,
            None,
        ),
        Clause("G-02", "The attempt ends after so many actions.", spec.max_actions, "actions", None, None),
        Clause("G-03", "The attempt ends after so much simulated time.", spec.max_simulated_s, "s", None, None),
    ]


def png(frame: np.ndarray, width: int, height: int, encode: Encode) -> bytes:
    """PNG of uint8 (height, width, 3)."""
    if frame.dtype != np.uint8 or frame.shape != (height, width, 3):
        raise ValueError(f"render returned {frame.dtype} {frame.shape}, expected uint8 {(height, width, 3)}")
    return encode(np.ascontiguousarray(frame))


def photograph(frame: np.ndarray) -> bytes:
    """Level 1: pictures cross one socket, time matters more than size."""
    from PIL import Image

    out = io.BytesIO()
    Image.fromarray(frame).save(out, "PNG", compress_level=1)
    return out.getvalue()


def _public(index: int, event: Event) -> dict[str, Any]:
    return {"index": index, "kind": event.kind, "text": event.text, "data": plain(event.data)}


def _embodiment(environment_id: str) -> str | None:
    """The middle of ``family/embodiment/case``."""
    parts = environment_id.split("/")
    return parts[1] if len(parts) == 3 else None
