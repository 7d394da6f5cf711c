"""Elements with real mechanics: what a physicist would check of friction, toppling, relays, arches and glass."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import mujoco
import numpy as np
import pytest

from images.mujoco.launcher.environment import Launcher
from images.mujoco.launcher.kinds import MATERIALS
from images.mujoco.launcher.model import compile_scene, realize
from images.mujoco.launcher.plant import Plant
from images.mujoco.launcher.rules import clauses, interlocks
from images.mujoco.launcher.workshop.proxy import Aim, Proxy
from tests.launcher_stage import CONDITION, FAR_WALL, authored, board, launcher, scene_of, shoot, wait

TARGET = board("one", 4.0, -1.5)


def plant_of(*elements: dict[str, Any], **task: Any) -> Plant:
    """The physics of a scene with these elements, awake and without arms that move."""
    scene = scene_of(authored([TARGET, *elements], required=[{"element": "one"}], **task))
    return Plant(compile_scene(scene, realize(CONDITION), "courtyard"), interlocks(clauses(scene)))


def speed(plant: Plant, name: str) -> np.ndarray:
    """View of a body's velocity (degrees of freedom of its joint)."""
    body = plant.model.body(name)
    return plant.data.qvel[int(body.dofadr[0]) : int(body.dofadr[0]) + int(body.dofnum[0])]


def place(plant: Plant, name: str) -> np.ndarray:
    return plant.data.xpos[plant.model.body(name).id].copy()


def run(plant: Plant, seconds: float) -> None:
    for _ in range(round(seconds / 0.02)):
        plant.advance()


# ---- friction ------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("material", ["timber", "stone", "glass"])
@pytest.mark.parametrize(("share", "slides"), [(0.9, False), (1.1, True)])
def test_a_block_on_an_incline_slides_outside_the_friction_cone_only(material: str, share: float, slides: bool) -> None:
    """On a ramp of the same material at 0.9 and at 1.1 times the tangent of the friction angle."""
    angle = math.atan(share * MATERIALS[material].friction)
    ramp = {
        "kind": "bank", "name": "ramp", "size": [1.0, 0.3, 0.02], "pitch": math.degrees(angle), "at": [2.0, 0, 0.2],
        "material": material,
    }  # fmt: skip
    block = {"kind": "beam", "name": "block", "size": [0.1, 0.1, 0.04], "pitch": math.degrees(angle), "at": [2, 0, 2],
             "material": material}  # fmt: skip
    plant = plant_of(ramp, block)
    top = place(plant, "ramp") + (0.01 + 0.02) * np.array([math.sin(angle), 0, math.cos(angle)])
    address = int(plant.model.joint("block").qposadr[0])
    plant.data.qpos[address : address + 3] = top
    speed(plant, "block")[:] = -0.0
    run(plant, 1.0)
    down = float(np.linalg.norm(place(plant, "block") - top))
    if not slides:
        assert down < 0.002
        return
    pull = 9.81 * (math.sin(angle) - MATERIALS[material].friction * math.cos(angle))
    assert down == pytest.approx(0.5 * pull * 1.0**2, rel=0.1)


# ---- toppling ------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(("factor", "falls"), [(0.93, False), (1.1, True)])
def test_a_domino_topples_from_the_speed_that_lifts_its_centre_over_its_edge(factor: float, falls: bool) -> None:
    """Energy: half the inertia about the edge times the squared angular speed against the rise of the centre."""
    depth, height = 0.04, 0.2
    plant = plant_of({"kind": "block", "name": "domino", "size": [depth, 0.1, height], "at": [2.0, 0, 0]})
    radius = math.hypot(depth, height) / 2
    inertia = (depth**2 + height**2) / 3  # about the edge, per mass
    need = math.sqrt(2 * 9.81 * (radius - height / 2) / inertia)
    turn = factor * need
    speed(plant, "domino")[:] = [turn * height / 2, 0, turn * depth / 2, 0, turn, 0]  # about the far lower edge
    run(plant, 3.0)
    tilt = math.degrees(math.acos(plant.data.xmat[plant.model.body("domino").id][8]))
    assert (tilt > 80) == falls
    assert falls or tilt < 1


def test_a_bent_row_of_dominoes_falls_to_its_end() -> None:
    row = {"kind": "dominoes", "name": "row", "size": [0.015, 0.05, 0.1], "count": 9, "spacing": 0.05, "bend": 9,
           "at": [2.0, 0, 0]}  # fmt: skip
    plant = plant_of(row)
    speed(plant, "row_1")[:] = [0.15, 0, 0, 0, 3.0, 0]
    run(plant, 3.0)
    tilts = [plant.data.xmat[plant.model.body(f"row_{i + 1}").id][8] for i in range(9)]
    assert max(tilts) < 0.6


# ---- impact --------------------------------------------------------------------------------------------------------
def test_momentum_is_kept_in_a_relay_of_two_balls() -> None:
    """A steel ball strikes an equal one, in free fall so that no floor takes part: what it brought is shared."""
    balls = [
        {"kind": "roller", "name": name, "shape": "sphere", "radius": 0.04, "at": [x, 0, 1.0], "material": "steel"}
        for name, x in (("first", 2.0), ("second", 2.2))
    ]
    plant = plant_of(*balls)
    speed(plant, "first")[:] = [1.0, 0, 0, 0, 0, 0]
    speed(plant, "second")[:] = -0.0
    first, second = speed(plant, "first"), speed(plant, "second")
    brought = 0.0
    for _ in range(1000):
        before = float(first[0])
        mujoco.mj_step(plant.model, plant.data)
        if float(second[0]) > 1e-3 and not brought:
            brought, parting = before, plant.time + 0.012  # a bounce lasts half a swing of 500 rad/s, 6 ms
        if brought and plant.time > parting:
            break
    assert brought == pytest.approx(1.0)
    assert float(first[0] + second[0]) == pytest.approx(brought, rel=0.001)
    assert MATERIALS["steel"].restitution * brought < float(second[0] - first[0]) < 0.5 * brought


def test_rubber_bounces_to_the_height_of_its_restitution() -> None:
    ball = {
        "kind": "roller",
        "name": "ball",
        "shape": "sphere",
        "radius": 0.05,
        "at": [2.0, 0, 0.5],
        "material": "rubber",
    }
    plant = plant_of(ball)
    speed(plant, "ball")[:] = -0.0
    heights = []
    for _ in range(600):
        mujoco.mj_step(plant.model, plant.data)
        heights.append(float(place(plant, "ball")[2]) - 0.05)
    low = int(np.argmin(heights))
    assert max(heights[low:]) == pytest.approx(0.5 * MATERIALS["rubber"].restitution ** 2, rel=0.2)


def test_a_pendulum_swings_with_its_closed_form_period() -> None:
    bob = {"kind": "pendulum", "name": "bob", "size": [0.06, 0.06, 0.06], "length": 0.4, "clearance": 0.1,
           "at": [2, 0, 0], "material": "steel"}  # fmt: skip
    plant = plant_of(bob)
    address = int(plant.model.joint("bob").qposadr[0])
    plant.data.qpos[address] = 0.1
    speed(plant, "bob")[:] = -0.0
    signs, times = [], []
    for _ in range(200):
        plant.advance()
        signs.append(plant.data.qpos[address] > 0)
        times.append(plant.time)
    crossings = [t for t, a, b in zip(times[1:], signs, signs[1:], strict=False) if a != b]
    period = 2 * float(np.mean(np.diff(crossings)))
    inertia = 1 + 0.4 * 0.03**2 / 0.4**2  # of a ball about the pivot, per m l^2
    assert period == pytest.approx(2 * math.pi * math.sqrt(0.4 / 9.81 * inertia), rel=0.02)


# ---- arches --------------------------------------------------------------------------------------------------------
def arch(part: str, name: str) -> dict[str, Any]:
    return {"kind": "arch", "name": name, "stones": 9, "radius": 0.15, "thickness": 0.05, "depth": 0.08, "part": part,
            "at": [2.0, 0, 0], "material": "stone"}  # fmt: skip


def test_an_arch_stands_on_friction_alone_and_falls_without_its_crown() -> None:
    plant = plant_of(arch("ring", "ring"), arch("crown", "crown"))
    for name in ["crown_5", *(f"ring_{i}" for i in (1, 2, 3, 4, 6, 7, 8, 9))]:
        speed(plant, name)[:] = -0.0
    start = place(plant, "ring_4")
    run(plant, 2.0)
    assert np.linalg.norm(place(plant, "ring_4") - start) < 2e-4
    address = int(plant.model.joint("crown_5").qposadr[0])
    plant.data.qpos[address : address + 3] += [0.5, 0, 0.2]
    for name in ("ring_4", "ring_6", "crown_5"):
        speed(plant, name)[:] = -0.0
    run(plant, 2.0)
    assert np.linalg.norm(place(plant, "ring_4") - start) > 0.05


def test_an_arch_without_a_crown_stone_or_too_thin_is_refused() -> None:
    for change, text in (({"stones": 8}, "8 is even"), ({"thickness": 0.02}, "would not stand")):
        source = authored([TARGET, arch("whole", "a") | change], required=[{"element": "one"}])
        with pytest.raises(ValueError, match=text):
            scene_of(source)


# ---- glass ---------------------------------------------------------------------------------------------------------
SHELF = {"kind": "pane", "name": "shelf", "width": 0.24, "height": 0.16, "threshold": 0.03, "frame": False,
         "at": [1.8, 0, 0], "material": "glass"}  # fmt: skip
ROOF = {"kind": "block", "name": "roof", "size": [0.1, 0.24, 0.03], "at": [1.8, 0, 0.16]}


def test_a_pane_carries_a_roof_until_it_breaks() -> None:
    source = authored([SHELF, ROOF | {"name": "roof"}, FAR_WALL], required=[{"element": "roof"}], projectiles=["heavy"])
    env = launcher(source)
    wait(env, 1.0)
    assert env.judge() is None  # it rests on an edge of 4 mm
    shoot(env, 0, 8, 0.2)
    judgement = env.judge()
    assert judgement is not None
    assert judgement.cause == "goal_met"
    assert "shelf" in env.plant.shots[0].struck


def beside_a_shelf(protected: Sequence[str] = (), **pane: Any) -> Launcher:
    """A stone ball before a pane that watches what strikes it, as it does from the first launch on."""
    stone = {
        "kind": "roller",
        "name": "stone",
        "shape": "sphere",
        "radius": 0.04,
        "at": [1.6, 0, 0],
        "material": "stone",
    }
    shelf = SHELF | {"breakers": ["stone"]} | pane
    task = {"required": [{"element": "one"}], "protected": protected, "projectiles": ["heavy"] * 2}
    env = launcher(authored([TARGET, shelf, stone], **task))
    shoot(env, 20, 10, 0.12, after=0.2)
    return env


def broken(env: Launcher) -> bool:
    return env.plant.flight.panes[0].broken is not None


@pytest.mark.parametrize(("breakers", "breaks"), [(["stone"], True), ([], False)])
def test_a_stone_breaks_a_pane_that_lists_it_as_a_breaker(breakers: list[str], breaks: bool) -> None:
    env = beside_a_shelf(breakers=breakers)
    speed(env.plant, "stone")[:] = [1.2, 0, 0, 0, 30, 0]
    wait(env, 1.0)
    assert broken(env) == breaks


def test_a_breaker_breaks_its_pane_also_when_no_projectile_flies_any_more() -> None:
    env = beside_a_shelf()
    env.plant.projectiles[0].position[0] = 7.0  # out of the area
    wait(env, 0.1)
    assert not env.plant.flight.flying
    speed(env.plant, "stone")[:] = [1.2, 0, 0, 0, 30, 0]
    wait(env, 1.0)
    assert broken(env)


@pytest.mark.parametrize(
    ("yaw", "start", "velocity"),
    [(0, (1.7, 0, 0.04), (1.2, 0, 0)), (90, (1.8, 0.1, 0.04), (0, -1.2, 0)), (0, (1.8, 0, 0.30), (0, 0, 0))],
    ids=["its face", "the face of one that is turned", "its upper edge, from above"],
)
def test_a_blow_breaks_a_pane_wherever_it_strikes(yaw: float, start: Any, velocity: Any) -> None:
    env = beside_a_shelf(yaw=yaw)
    env.plant.data.joint("stone").qpos[:3] = start
    speed(env.plant, "stone")[:] = [*velocity, 0, 0, 0]
    wait(env, 0.4)
    assert broken(env)


@pytest.mark.parametrize(("fast", "clause"), [(0.35, None), (0.5, "L-15")])
def test_a_protected_pane_may_be_touched_by_what_is_no_projectile_but_not_broken(
    fast: float, clause: str | None
) -> None:
    env = beside_a_shelf(protected=["shelf"], threshold=0.3)
    speed(env.plant, "stone")[:] = [fast, 0, 0, 0, fast / 0.04, 0]
    env.plant.data.joint("stone").qpos[0] = 1.7578  # just before it
    wait(env, 0.6)
    assert env.plant.flight.panes[0].peak > 0
    assert (env.judge().clause if env.judge() else None) == clause


def test_what_leans_on_a_pane_does_not_break_it() -> None:
    """A push of 0.5 N for a second has 10 times the impulse of the threshold, but is no blow."""
    env = beside_a_shelf(threshold=0.05)
    env.plant.data.joint("stone").qpos[:3] = [1.8 - 0.002 - 0.04 - 1e-5, 0, 0.04]
    speed(env.plant, "stone")[:] = 0.0
    body = env.plant.model.body("stone").id
    env.plant.data.xfrc_applied[body, 0] = 0.5
    wait(env, 1.0)
    assert env.plant.data.xpos[body, 0] > 1.75  # it is still there
    assert not broken(env)
    assert env.plant.flight.panes[0].impulse[-1] == pytest.approx(0.5 * 0.02, rel=0.01)


@pytest.mark.parametrize(("velocity", "along"), [((1.2, 0, 0), 1), ((-1.2, 0, 0), -1)])
def test_shards_burst_along_the_blow(velocity: tuple[float, float, float], along: int) -> None:
    """A stone comes from the launcher's side, or from behind. 60 ms later nearly all shards are on its far side, also
    those that it did not touch."""
    env = beside_a_shelf()
    env.plant.data.joint("stone").qpos[:3] = [1.8 - 0.05 * along, 0, 0.08]
    speed(env.plant, "stone")[:] = [*velocity, 0, 0, 0]
    wait(env, 0.06)
    assert broken(env)
    shards = [env.plant.model.body(name).id for name in env.plant.compiled.built["shelf"].shards]
    assert (along * (env.plant.data.xpos[shards, 0] - 1.8) > 0).mean() > 0.9


@pytest.mark.parametrize(("x", "clause"), [(2.0, "L-22"), (2.9, None)])
def test_no_shard_may_touch_what_is_shard_free(x: float, clause: str | None) -> None:
    plate = {"kind": "fixed", "name": "bed", "size": [0.3, 0.5, 0.01], "at": [x, 0, 0]}
    source = authored(
        [TARGET, SHELF, plate], required=[{"element": "one"}], shard_free=["bed"], projectiles=["heavy"] * 2
    )
    env = launcher(source)
    shoot(env, 0, 8, 0.2, after=1.5)
    assert env.plant.flight.panes[0].broken is not None
    judgement = env.judge()
    assert (judgement.clause if judgement else None) == clause


# ---- groups --------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(("share", "expected"), [(0.5, "goal_met"), (1.0, None)])
def test_of_a_row_the_demanded_share_must_fall(share: float, expected: str | None) -> None:
    row = {"kind": "dominoes", "name": "row", "size": [0.02, 0.06, 0.14], "count": 4, "spacing": 0.5,
           "at": [1.6, 0.9, 0], "material": "balsa", "yaw": -90}  # fmt: skip
    env = launcher(authored([row], required=[{"element": "row", "share": share}], projectiles=["standard"] * 3))
    shoot(env, 20, 10, 0.12, after=0.3)
    for name in ("row_1", "row_2"):
        speed(env.plant, name)[:] = [0.6, 0, 0, 0, 12.0, 0]
    wait(env, 1.5)
    judgement = env.judge()
    assert (judgement.cause if judgement else None) == expected


def test_the_proxy_without_arms_flies_as_the_environment_does() -> None:
    """The same aim, staged in the environment with awake arms and in the designer's proxy."""
    source = authored([board("one", 2.2, 0.1), FAR_WALL], required=[{"element": "one"}], projectiles=["standard"] * 2)
    env = launcher(source)
    shoot(env, 3.0, 14.0, 0.2)
    outcome = Proxy(scene_of(source), CONDITION).fire(Aim(math.radians(3), math.radians(14), 0.2))
    shot = env.plant.shots[0]
    assert outcome.muzzle_speed == pytest.approx(shot.muzzle_speed, rel=0.01)
    assert outcome.struck[0] == shot.struck[0]
