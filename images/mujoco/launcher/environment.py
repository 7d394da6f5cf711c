"""The launcher as the gateway sees it (``images/gateway/environment.py``): one episode of one authored scene."""

from __future__ import annotations

from typing import Any

import numpy as np

from images.gateway.environment import Camera, Clause, Control, Event, Field, Judgement
from images.mujoco import panda
from images.mujoco.launcher import geometry as g
from images.mujoco.launcher import kinds, look, scene
from images.mujoco.launcher.evaluator import Evaluator
from images.mujoco.launcher.model import compile_scene, realize
from images.mujoco.launcher.observation import Observation
from images.mujoco.launcher.plant import Plant
from images.mujoco.launcher.rules import clauses, interlocks
from images.mujoco.render import Pictured

MODES = ("loaded", "ground")
EMBODIMENT = "dual-panda"


def create(spec: dict[str, Any]) -> Launcher:
    """The environment of a ``start`` frame. Raises ValueError or SceneError naming field and value."""
    parts = str(spec["environment_id"]).split("/")
    if len(parts) != 3 or parts[1] != EMBODIMENT:
        raise ValueError(f"environment_id {spec['environment_id']!r} is not marble/{EMBODIMENT}/CASE")
    if spec["mode"] not in MODES:
        raise ValueError(f"mode {spec['mode']!r} is not offered by this launcher; use {' or '.join(MODES)}")
    authored = scene.load(parts[2])
    return Launcher(authored, dict(spec["condition"]["parameters"]), bool(spec["pictures"]), spec["mode"])


class Launcher(Pictured):
    """One episode; the arms stand at ``geometry.HOME``. The first projectile is preloaded, or lies on the floor in
    ``ground`` mode."""

    control_dt = g.CONTROL_DT

    def __init__(self, authored: scene.Scene, parameters: dict[str, Any], pictures: bool, mode: str = "loaded") -> None:
        self._scene, self._parameters = authored, parameters
        self._realized = realize(parameters, ground=mode == "ground")
        compiled = compile_scene(authored, self._realized, parameters["background"], f"{authored.case}.json")
        self._clauses = clauses(authored)
        self.plant = Plant(compiled, interlocks(self._clauses))
        self.evaluator = Evaluator(self.plant, self._clauses)
        self._observation = Observation(self.plant, self.evaluator)
        super().__init__(compiled.model, self.plant.data, pictures)
        self._told = 0

    # ---- disclosure ------------------------------------------------------------------------------------------------
    def controls(self) -> list[Control]:
        """float64[16]: left joints 1..7, left gripper, right joints 1..7, right gripper."""
        out = []
        for arm in g.ARMS:
            for index, (low, high) in enumerate(g.JOINT_LIMITS, 1):
                out.append(
                    Control(f"{arm}_joint{index}", "rad", low, high, "target angle of the joint's position servo")
                )
            out.append(Control(f"{arm}_gripper", "m", g.GRIPPER_SQUEEZE, g.GRIPPER_OPEN, panda.GRIP_TEXT))
        return out

    def fields(self) -> list[Field]:
        return list(self._observation.fields)

    def cameras(self) -> list[Camera]:
        return look.calibration({name: self._observation.read(f"camera_pose/{name}") for name in look.WRISTS})

    def clauses(self) -> list[Clause]:
        return list(self._clauses)

    def public(self) -> dict[str, Any]:
        task = self._scene.task
        projectiles = [
            {"name": name, "kind": kind, **g.PROJECTILES[kind]}
            for name, kind in zip(self.plant.compiled.projectiles, self._scene.projectiles, strict=True)
        ]
        elements = [
            element.model_dump(mode="json", exclude={"at", "yaw", "pattern"}) for element in self._scene.elements
        ]
        parameters = {
            **g.parameters(),
            "stiffness": self._realized.stiffness,
            "shots": len(projectiles),
            "projectiles": projectiles,
            "elements": elements,
            "materials": {name: material.model_dump() for name, material in kinds.MATERIALS.items()},
            "required": [item.model_dump(mode="json") for item in task.required],
            "order": list(task.order),
            "protected": list(task.protected),
            "tier": self._scene.tier,
        }
        return {
            "title": self._scene.title,
            "task": _statement(self._scene, self._realized.floor_pick is None),
            "parameters": parameters,
        }

    # ---- the episode -----------------------------------------------------------------------------------------------
    def apply(self, action: np.ndarray) -> list[Event]:
        """Advance 20 physics steps with these targets. Raises PhysicsSanityError."""
        plant, evaluator = self.plant, self.evaluator
        plant.data.ctrl[:] = action
        plant.advance()
        evaluator.tick()
        notes = plant.notes[self._told :]
        self._told = len(plant.notes)
        return [Event(text.replace(" ", "_"), text, {"simulated_s": time, **data}, "L3") for time, text, data in notes]

    def judge(self) -> Judgement | None:
        return self.evaluator.judgement

    def finish(self) -> Judgement:
        if self.evaluator.judgement is not None:
            return self.evaluator.judgement
        left = self.evaluator.open_goals()
        return Judgement("quit", text=f"ended before {', '.join(left)} counted" if left else "ended during observation")

    def read(self, name: str) -> np.ndarray:
        return self._observation.read(name)

    def state(self) -> np.ndarray:
        """float32: positions of the whole model, then 1 per fractured pane."""
        count, panes = self.plant.model.nq, self.plant.flight.panes
        state = np.empty(count + len(panes), np.float32)
        state[:count] = self.plant.data.qpos
        for index, pane in enumerate(panes, count):
            state[index] = pane.broken is not None
        return state

    def redraw(self, state: np.ndarray, camera: str, width: int, height: int, *, shadows: bool) -> np.ndarray:
        count, painter = self.plant.model.nq, self.painter
        painter.pose(state[:count])
        for pane, broken in zip(self.plant.flight.panes, state[count:], strict=True):
            pane.look(self.plant.model, broken=bool(broken))
        return painter.picture(camera, width, height, shadows=shadows)

    def digest(self) -> str:
        return self.plant.digest()

    def realized(self) -> dict[str, Any]:
        r = self._realized
        return {
            **self._parameters,
            "case": self._scene.case,
            "azimuth": r.azimuth,
            "elevation": r.elevation,
            "pivot": list(r.pivot),
            "pick": list(r.pick),
        }

    def scorer_log(self) -> list[dict[str, Any]]:
        return list(self.evaluator.log)


def _statement(authored: scene.Scene, loaded: bool) -> str:
    """The task in words: the brief, then targets, order, damage paths, protection and ammunition."""
    task = authored.task
    goals = ", ".join(f"{item.element} ({item.goal})" for item in task.required)
    lines = [authored.brief, f"Required: {goals}."]
    if task.order:
        lines.append(f"Order: {', then '.join(task.order)}.")
    for item in task.required:
        if item.after:
            events = ", ".join(f"{step.element} {step.event}" for step in item.after)
            lines.append(f"The episode is lost if {item.element} reaches its goal before this: {events}.")
    if task.protected:
        lines.append(f"Protected, not to be struck, moved or broken: {', '.join(task.protected)}.")
    if task.shard_free:
        lines.append(f"No shard of glass may touch: {', '.join(task.shard_free)}.")
    ammunition = ", ".join(authored.projectiles)
    first = "is loaded" if loaded else "lies on the floor"
    lines.append(
        f"You have {len(authored.projectiles)} projectiles in this order: {ammunition}; the first {first}. "
        "For every shot: release the brake, turn the wheels to aim and let them rest, set the brake, draw the spring "
        "until it latches, load a projectile unless one is seated, press the trigger. "
        "Only the arms' fingers may touch things."
    )
    return " ".join(lines)
