"""A small real environment for the gateway's tests: a mass on a rail, pushed by a force (a 1-D double integrator).

Goal: stand within 0.05 m of x = 1 m, slower than 0.05 m/s, for 5 control steps. Rule: never behind x = -1 m. The
condition's parameters select what a test needs: ``components`` of the action, ``work`` (matrix products per step),
``pause_s`` (waiting per step), and ``fault`` with ``fault_at``.
"""

from __future__ import annotations

import hashlib
import os
import time
from typing import Any

import numpy as np
from PIL import Image, ImageDraw

from images.gateway.environment import Camera, Clause, Control, Event, Field, Judgement, PhysicsSanityError

NAME = "slider"
TARGET, WIDTH, SLOW, DWELL, WALL = 1.0, 0.05, 0.05, 5, -1.0


def fingerprint() -> dict[str, Any]:
    return {"slider": "1.0", "gl": "pillow"}


def create(spec: dict[str, Any]) -> Slider:
    return Slider(spec["condition"]["parameters"])


class Slider:
    control_dt = 0.02

    def __init__(self, parameters: dict[str, Any]) -> None:
        self.parameters = parameters
        self.components = parameters.get("components", 2)
        self.fault, self.fault_at = parameters.get("fault"), parameters.get("fault_at", 0)
        self.work, self.matrix = parameters.get("work", 0), np.ones((64, 64))
        self.pause_s = parameters.get("pause_s")
        self.x, self.v, self.steps, self.held = 0.0, 0.0, 0, 0
        self.verdict: Judgement | None = None
        self.log: list[dict[str, Any]] = []
        if self.fault == "create":
            raise ValueError("no such rail")

    def controls(self) -> list[Control]:
        extra = [Control(f"spare_{i}", "1", -0.5, 0.5) for i in range(self.components - 1)]
        return [Control("force", "N", -1.0, 1.0, "along the rail"), *extra]

    def fields(self) -> list[Field]:
        return [
            Field("speed", "m/s", (1,), "L0", "of the mass"),
            Field("encoder", "1", (30,), "L0", "thirty readings", "float32"),
            Field("position", "m", (1,), "L3", "true position"),
            Field("grasp", "1", (1,), "L2", "a model"),
        ]

    def cameras(self) -> list[Camera]:
        pose = tuple(tuple(float(i == j) for j in range(4)) for i in range(4))
        return [Camera("side", 320, 240, (300.0, 300.0, 160.0, 120.0), pose)]  # type: ignore[arg-type]

    def clauses(self) -> list[Clause]:
        return [
            Clause("S-01", "Stand at the target.", TARGET, "m", WIDTH, None),
            Clause("S-02", "Never go behind the wall.", WALL, "m", 0.0, "LIMIT"),
        ]

    def public(self) -> dict[str, Any]:
        return {"title": "Slider", "task": "Bring the mass to x = 1 m.", "parameters": {"mass_kg": np.float32(1.0)}}

    def apply(self, action: np.ndarray) -> list[Event]:
        if self.fault and self.steps >= self.fault_at:
            self._fail()
        for _ in range(self.work):
            self.matrix @ self.matrix
        if self.pause_s is not None:
            time.sleep(self.pause_s)
        self.v += float(action[0]) * self.control_dt * 10
        self.x += self.v * self.control_dt
        self.steps += 1
        inside = abs(self.x - TARGET) < WIDTH
        self.held = self.held + 1 if inside and abs(self.v) < SLOW else 0
        if self.verdict is None and self.x < WALL:
            self.verdict = Judgement("violation", "LIMIT", "S-02", "behind the wall", {"x": np.float64(self.x)})
            self.log.append({"t": self.steps * self.control_dt, "kind": "wall"})
        elif self.verdict is None and self.held >= DWELL:
            self.verdict = Judgement("goal_met", None, "S-01", "held", {})
        events = []
        if self.steps % 10 == 0:
            events.append(Event("tenth", "every tenth step", {"step": np.int64(self.steps)}))
            events.append(Event("secret", "private to L3", {"x": self.x}, "L3"))
        return events

    def _fail(self) -> None:
        if self.fault == "sanity":
            raise PhysicsSanityError("NaN in qpos")
        if self.fault == "error":
            raise KeyError("evaluator lost its table")
        if self.fault == "print":
            print('{"op": "verdict"}', flush=True)
            os.write(1, b"\x00\x00\x00\x02{}")
        if self.fault == "hang":
            time.sleep(3600)
        if self.fault == "exit":
            os._exit(9)

    def judge(self) -> Judgement | None:
        if self.fault == "early" and self.steps == 0:
            return Judgement("goal_met", text="solved by itself")
        return self.verdict

    def finish(self) -> Judgement:
        return self.verdict or Judgement("quit", text="the agent finished")

    def read(self, name: str) -> np.ndarray:
        if self.fault == "read":
            raise RuntimeError("no reading")
        if name == "encoder":
            return np.full(30, self.x + 0.5, dtype=np.float32)
        return np.array([{"speed": self.v, "position": self.x, "grasp": 7.0}[name]])

    def render(self, camera: str, width: int, height: int) -> np.ndarray:
        image = Image.new("RGB", (width, height), (40, 60, 80))
        if self.fault == "black":
            image = Image.new("RGB", (width, height))
        else:
            centre = width * (0.5 + self.x / 4)
            ImageDraw.Draw(image).rectangle((centre - 4, height * 0.4, centre + 4, height * 0.6), fill=(255, 0, 0))
        return np.asarray(image)

    def state(self) -> np.ndarray:
        return np.array([self.x, self.v])

    def redraw(self, state: np.ndarray, camera: str, width: int, height: int, *, shadows: bool) -> np.ndarray:
        self.x, self.v = (float(value) for value in state)
        return self.render(camera, width, height)

    def digest(self) -> str:
        return hashlib.sha256(np.array([self.x, self.v, self.steps]).tobytes()).hexdigest()

    def realized(self) -> dict[str, Any]:
        return {"x": self.x, "parameters": self.parameters}

    def scorer_log(self) -> list[dict[str, Any]]:
        return self.log

    def close(self) -> None: ...
