"""Drives the launcher's mechanism without the arms, so that a test can stage one shot in a moment.

Only inputs of the physics are written (brake lever, wheels, a pull on the carriage, the trigger's paddle); latch,
brake, sear, flight and every judgement are those of the environment."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from typing import Any

import numpy as np

from images.mujoco.launcher import geometry as g
from images.mujoco.launcher import scene as scenes
from images.mujoco.launcher.environment import Launcher
from images.mujoco.launcher.mechanism import barrel_rotation
from images.mujoco.launcher.workshop.episode import NOMINAL

CONDITION = NOMINAL  # no offsets
HOME = np.array([*g.HOME["left"], g.GRIPPER_OPEN, *g.HOME["right"], g.GRIPPER_OPEN])
FAR_WALL = {"kind": "fixed", "name": "wall", "size": [0.06, 3.0, 1.5], "at": [5.0, 0, 0], "material": "stone"}


def board(name: str, x: float, y: float = 0.0, z: float = 0.0, **more: Any) -> dict[str, Any]:
    """A balsa board that one ball knocks over."""
    base = {"kind": "target", "name": name, "size": [0.03, 0.22, 0.26], "at": [x, y, z], "material": "balsa"}
    return base | more


def authored(elements: list[dict[str, Any]], **task: Any) -> dict[str, Any]:
    """A scene file with these elements; ``task`` as in the file, ``projectiles`` beside it."""
    projectiles = task.pop("projectiles", ["standard", "standard"])
    return {
        "version": 1,
        "case": "A999",
        "title": "Test scene",
        "brief": "A scene that only tests use.",
        "tier": 1,
        "d_level": 1,
        "projectiles": projectiles,
        "elements": elements,
        "task": task,
    }


def scene_of(source: dict[str, Any]) -> scenes.Scene:
    """The scene in a scene file's content. Raises SceneError."""
    return scenes.parse(json.dumps(source), "A999.json")


def launcher(source: dict[str, Any] | str, pictures: bool = False, **condition: Any) -> Launcher:
    """An episode of a scene file's content, or of an authored case by name."""
    scene = scenes.load(source) if isinstance(source, str) else scene_of(source)
    return Launcher(scene, CONDITION | condition, pictures)


def wait(env: Launcher, seconds: float) -> None:
    """Hold the arms at home, at most until the episode is judged."""
    for _ in range(round(seconds / g.CONTROL_DT)):
        if env.judge() is not None:
            return
        env.apply(HOME)


def wait_for(env: Launcher, happened: Callable[[], Any], seconds: float = 3.0) -> None:
    """Hold the arms at home until ``happened()``, or the episode is judged. Raises AssertionError after ``seconds``."""
    for _ in range(round(seconds / g.CONTROL_DT)):
        if happened() or env.judge() is not None:
            return
        env.apply(HOME)
    raise AssertionError(f"nothing happened within {seconds} s")


def put(env: Launcher, **joints: float) -> None:
    """Write joint positions of the mechanism (rad, m) and stop them."""
    plant = env.plant
    for name, value in joints.items():
        q, v = plant.addresses([name])
        plant.data.qpos[q], plant.data.qvel[v] = value, 0.0


def aim(env: Launcher, azimuth: float, elevation: float) -> None:
    """Release the brake, turn both wheels (degrees of the barrel), let them rest, set the brake. A projectile in the
    groove is carried along, as a slow turn would do."""
    put(env, brake=-0.5)
    wait(env, 0.04)
    a, e = math.radians(azimuth), math.radians(elevation)
    index = env.plant.seated()
    put(env, azimuth=a, azimuth_wheel=a / g.GEAR, elevation=e, elevation_wheel=e / g.GEAR)
    if index is not None:
        _lay(env, index, barrel_rotation(a, e))
    wait(env, 0.3)
    put(env, brake=0.5)
    wait(env, 0.04)


def pull(env: Launcher, draw: float) -> None:
    """Draw the carriage to ``draw`` (m), projectile and all, and let it go: either a tooth holds it or none does."""
    index = env.plant.seated()
    put(env, draw=-draw - 3e-4)
    if index is not None:
        _lay(env, index, env.plant.data.xmat[env.plant.model.body("barrel").id].reshape(3, 3))
    wait(env, 0.3)


def press(env: Launcher) -> None:
    """Press the trigger's paddle and let it come back."""
    put(env, trigger=0.3)
    wait(env, 0.04)


def load(env: Launcher, index: int) -> None:
    """Lay a projectile of the tray into the groove before the pusher."""
    plant = env.plant
    barrel = plant.model.body("barrel").id
    _lay(env, index, plant.data.xmat[barrel].reshape(3, 3))
    wait(env, 0.3)


def _lay(env: Launcher, index: int, rotation: np.ndarray) -> None:
    plant, item = env.plant, env.plant.projectiles[index]
    s = -plant.draw + g.PUSHER_FRONT + item.radius + 0.001
    local = np.array([g.REST + s, 0, (item.radius - g.REFERENCE_RADIUS) * math.sqrt(2) + 2e-4])
    item.position[:3] = plant.data.xpos[plant.model.body("barrel").id] + rotation @ local
    item.velocity[:] = 0.0


def shoot(env: Launcher, azimuth: float, elevation: float, draw: float, after: float = 3.0) -> None:
    """One whole aiming cycle and launch; a projectile is loaded from the tray when none is seated."""
    aim(env, azimuth, elevation)
    pull(env, draw)
    if env.judge() is None and env.plant.seated() is None:
        load(env, len(env.plant.shots))
    press(env)
    wait(env, after)


def muzzle_speed(stiffness: float, draw: float, elevation: float, mass: float, radius: float) -> float:
    """Closed form (m/s) for a draw (m) and an elevation (deg): spring work less gravity and friction; 0 if stuck."""
    moving, e = mass + g.CARRIAGE_MASS, math.radians(elevation)
    friction = g.BORE_FRICTION * math.sqrt(2) * math.cos(e)
    square = stiffness * draw**2 / moving - 2 * 9.81 * draw * (math.sin(e) + friction * mass / moving)
    run = g.BARREL_MUZZLE - g.PUSHER_FRONT - radius
    return math.sqrt(max(0.0, square - 2 * 9.81 * run * (math.sin(e) + friction)))


def draw_for(env: Launcher, x: float, z: float, elevation: float, index: int = 0) -> float:
    """The draw (m) with which projectile ``index`` passes height ``z`` at ``x`` in the barrel's plane."""
    public = env.public()["parameters"]["projectiles"][index]
    e = math.radians(elevation)
    length = g.REST + g.BARREL_MUZZLE
    h = (public["radius"] - g.REFERENCE_RADIUS) * math.sqrt(2)
    run = x - g.PIVOT[0] - length * math.cos(e) + h * math.sin(e)
    rise = z - g.PIVOT[2] - length * math.sin(e) - h * math.cos(e)
    speed = math.sqrt(9.81 * run**2 / (2 * math.cos(e) ** 2 * (run * math.tan(e) - rise)))
    draws = np.arange(0.05, 0.3, g.RATCHET_PITCH)
    stiffness = env.realized()["stiffness"]
    reached = [muzzle_speed(stiffness, float(d), elevation, public["mass"], public["radius"]) for d in draws]
    return float(draws[np.argmin(np.abs(np.array(reached) - speed))])


def judged(env: Launcher) -> tuple[str, str | None, str | None]:
    """Cause, code and clause of the judgement now."""
    result = env.judge() or env.finish()
    return result.cause, result.code, result.clause
