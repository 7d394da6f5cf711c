"""The launcher behind the gateway's contract: a recorded success by the arms, levels, cameras, pictures."""

from __future__ import annotations

import gc
import json
import math
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import images.mujoco as engine
from images.gateway.environment import LEVELS
from images.mujoco import gl
from images.mujoco.launcher import geometry as g
from images.mujoco.launcher import look
from images.mujoco.launcher import scene as scenes
from tests.launcher_stage import CONDITION, HOME, launcher, put, shoot

RECORDED = Path(__file__).parent / "data" / "launcher_a007_0.npz"
CONDITIONS = Path(__file__).parents[1] / "manifests" / "launcher_conditions.json"


def spec(case: str, index: int = 0, **changes: Any) -> dict[str, Any]:
    identifier = f"marble/dual-panda/{case}"
    parameters = json.loads(CONDITIONS.read_text())["environments"][identifier][index]
    base = {
        "environment_id": identifier,
        "mode": "loaded",
        "condition": {"index": index, "parameters": parameters},
        "pictures": False,
    }
    return base | changes


def recorded() -> np.ndarray:
    """Joint targets of the arms that solve A007 in condition 0 by contact alone, float64 (n, 16)."""
    return np.load(RECORDED)["actions"].astype(np.float64)


def test_the_arms_work_the_whole_mechanism_by_contact() -> None:
    env = engine.create(spec("A007"))
    kinds = []
    for action in recorded():
        assert env.judge() is None
        kinds += [event.kind for event in env.apply(action)]
    result = env.judge()
    assert result is not None
    assert result.success
    assert kinds == ["brake_released", "brake_set", "launch", "left_the_muzzle", "struck"]


def test_the_same_arm_motion_fails_with_another_spring() -> None:
    parameters = spec("A007")["condition"]["parameters"] | {"stiffness": 40.0}
    env = engine.create(spec("A007", condition={"index": 0, "parameters": parameters}))
    for action in recorded():
        if env.judge() is None:
            env.apply(action)
    assert env.finish().success is False


@pytest.mark.parametrize("case", scenes.cases())
def test_random_actions_do_not_succeed(case: str) -> None:
    env = engine.create(spec(case))
    rng = np.random.default_rng(0)
    low, high = np.array([[control.low, control.high] for control in env.controls()]).T
    for _ in range(50):
        if env.judge() is None:
            env.apply(rng.uniform(low, high))
    result = env.judge()
    assert result is not None
    assert result.code == "LIMIT"


def test_controls_are_the_joint_limits_and_the_gripper_range() -> None:
    controls = launcher("A007").controls()
    assert len(controls) == 16
    assert [(c.low, c.high) for c in controls[:7]] == list(g.JOINT_LIMITS)
    assert all(c.low <= value <= c.high for c, value in zip(controls, HOME, strict=True))


@pytest.mark.parametrize("case", scenes.cases())
def test_every_field_can_be_read_and_has_its_shape(case: str) -> None:
    env = launcher(case)
    for field in env.fields():
        value = env.read(field.name)
        assert value.shape == field.shape, field.name
        assert value.dtype == np.float64
        assert np.isfinite(value).all()
        assert field.level in LEVELS


def test_reading_gives_a_copy() -> None:
    env = launcher("A007")
    for field in env.fields():
        before = env.digest()
        env.read(field.name)[...] = 7.0
        assert env.digest() == before, field.name


def test_l0_fields_say_nothing_of_the_objects() -> None:
    """Two worlds that differ in every object and in the mechanism give the same L0 observation."""
    plain = launcher("A007")
    other = launcher("A026", azimuth_offset=2.0, pivot_offset=[0.005, 0.005, 0.005], tray_offset=[0.005, -0.005])
    put(other, draw=-0.1)
    names = [field.name for field in plain.fields() if field.level == "L0"]
    assert names == [
        "joint_positions",
        "joint_velocities",
        "joint_torques",
        "gripper_openings",
        "gripper_forces",
        "camera_pose/left_wrist",
        "camera_pose/right_wrist",
        "commanded",
    ]
    for env in (plain, other):
        for _ in range(10):
            env.apply(HOME)
    for name in names:
        np.testing.assert_allclose(plain.read(name), other.read(name), atol=1e-9)


def test_l0_events_say_nothing_of_the_objects() -> None:
    env = launcher("A007")
    shoot(env, 5.7, 20, 0.16, after=0.0)
    events = [event for _ in range(40) for event in env.apply(HOME)]
    assert events
    assert all(event.level == "L3" for event in events)


def test_public_parameters_do_not_hold_the_private_offsets() -> None:
    hidden = {"azimuth_offset": 1.234, "pivot_offset": [0.00123, 0.00234, 0.00345], "tray_offset": [0.00456, 0.00321]}
    text = json.dumps(launcher("A007", **hidden).public())
    assert "25.0" in text
    for value in (1.234, 0.00123, 0.55123, 0.00456, math.radians(1.234)):
        assert str(value) not in text


def test_the_realized_initialization_is_on_record() -> None:
    realized = launcher("A007", azimuth_offset=1.0).realized()
    assert realized["azimuth"] == pytest.approx(math.radians(1.0))
    assert set(CONDITION) <= set(realized)


def test_l3_poses_follow_the_private_offsets() -> None:
    env = launcher("A007", pivot_offset=[0.004, 0.0, -0.003], tray_offset=[0.0, 0.005])
    assert env.read("pose/barrel")[:3] == pytest.approx([0.554, 0.0, 0.297])
    assert env.read("pose/projectile_2")[:2] == pytest.approx([0.30, -0.615], abs=1e-3)


def test_camera_calibration_projects_a_point_to_where_it_is_drawn() -> None:
    if gl.working() is None:
        pytest.skip("no OpenGL backend here")
    env = launcher("A007", pictures=True)
    (camera,) = [c for c in env.cameras() if c.name == "range"]
    pose = np.array(camera.pose)
    board = env.read("pose/board")[:3]
    x, y, z = pose[:3, :3].T @ (board - pose[:3, 3])
    fx, fy, cx, cy = camera.intrinsics
    u, v = round(fx * x / z + cx), round(fy * y / z + cy)
    picture = env.render("range", camera.width, camera.height)
    red, green, blue = (int(c) for c in picture[v, u])
    env.close()
    assert picture.shape == (512, 512, 3)
    assert red > 120 > green > blue


@pytest.mark.parametrize("arm", ["left", "right"])
def test_a_wrist_camera_moves_with_its_hand_and_tells_its_pose_at_l0(arm: str) -> None:
    env = launcher("A007")
    (field,) = [item for item in env.fields() if item.name == f"camera_pose/{arm}_wrist"]
    assert field.level == "L0"
    (camera,) = [item for item in env.cameras() if item.name == f"{arm}_wrist"]
    assert np.array(camera.pose) == pytest.approx(env.read(field.name))
    grip = np.array([*g.PARK[arm], 1.0])  # below the hand at the start
    x, y, z, _ = np.linalg.inv(np.array(camera.pose)) @ grip
    assert 0.05 < z < 0.2
    fx, fy, _, cy = camera.intrinsics
    assert abs(fx * x / z) < 5
    assert 0 < fy * y / z + cy < camera.height
    turned = HOME.copy()
    turned[6 if arm == "left" else 14] += 0.3
    for _ in range(60):
        env.apply(turned)
    before, after = np.array(camera.pose)[:3, :3], env.read(field.name)[:3, :3]
    assert np.degrees(np.arccos((np.trace(before.T @ after) - 1) / 2)) == pytest.approx(np.degrees(0.3), abs=0.5)


@pytest.mark.parametrize("background", look.BACKGROUNDS)
def test_backgrounds_differ_and_are_drawn(background: str) -> None:
    if gl.working() is None:
        pytest.skip("no OpenGL backend here")
    env = launcher("A026", pictures=True, background=background)
    frames = {camera.name: env.render(camera.name, 96, 96) for camera in env.cameras()}
    env.close()
    assert all(frame.std() > 10 for frame in frames.values())


def test_pictures_change_nothing() -> None:
    if gl.working() is None:
        pytest.skip("no OpenGL backend here")
    digests = []
    for pictures in (False, True):
        env = launcher("A007", pictures=pictures)
        for _ in range(20):
            env.apply(HOME)
            if pictures:
                env.render("wide", 32, 32)
        digests.append(env.digest())
        env.close()
    assert digests[0] == digests[1]


def test_a_forgotten_environment_does_not_spoil_the_pictures_of_another() -> None:
    if gl.working() is None:
        pytest.skip("no OpenGL backend here")
    alone = launcher("A026", pictures=True)
    expected = alone.render("wide", 64, 64)
    alone.close()
    first, second = launcher("A007", pictures=True), launcher("A026", pictures=True)
    other = first.render("wide", 64, 64)
    assert np.array_equal(second.render("wide", 64, 64), expected)
    assert np.array_equal(first.render("wide", 64, 64), other)
    del first  # dropped, not closed
    gc.collect()
    assert np.array_equal(second.render("wide", 64, 64), expected)
    second.close()
    second.close()


def test_a_missing_backend_names_the_packages_that_mend_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gl, "_library", lambda name: None)
    monkeypatch.setattr(gl, "FORCED", "")
    with pytest.raises(gl.NoBackend, match="libegl1 libgl1-mesa-dri or libosmesa6"):
        launcher("A007", pictures=True)


@pytest.mark.parametrize(
    ("changes", "text"),
    [
        ({"environment_id": "chess/board/1"}, "environment_id 'chess/board/1': the MuJoCo engine has marble"),
        ({"environment_id": "marble/one-arm/A007"}, "is not marble/dual-panda/CASE"),
        ({"environment_id": "marble/dual-panda/A777"}, "launcher case 'A777' has no scene"),
        ({"mode": "orbit"}, "mode 'orbit' is not offered"),
    ],
)
def test_a_specification_that_cannot_be_served_is_refused(changes: dict[str, Any], text: str) -> None:
    with pytest.raises(ValueError, match=text):
        engine.create(spec("A007", **changes))


def test_importing_the_package_needs_no_simulator() -> None:
    """A sandbox holds the reference agent but no MuJoCo."""
    block = "import sys; sys.modules['mujoco'] = None; "
    code = block + "import images.mujoco.launcher.geometry as g; print(len(g.parameters()))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True)
    assert int(done.stdout) > 50
