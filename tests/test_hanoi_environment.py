"""A Hanoi board behind the gateway's contract: controls, fields by level, cameras, pictures, determinism, refusals."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest

import images.mujoco as engine
from images.gateway.environment import LEVELS
from images.mujoco import gl
from images.mujoco.embodiments import EMBODIMENTS
from images.mujoco.hanoi import board as boards
from images.mujoco.hanoi import geometry as g
from images.mujoco.hanoi.environment import PREFIXES, Hanoi
from images.mujoco.hanoi.look import VIEWS
from images.mujoco.hanoi.workshop.episode import Episode, start
from images.mujoco.workshop.episode import MANIFESTS
from tests.test_hanoi_boards import NOMINAL

ROBOTS = list(PREFIXES.values())


def hanoi(case: str = "H01", robot: str = "panda", pictures: bool = False, **condition: Any) -> Hanoi:
    raw = start(f"{robot}/{case}", 0, parameters=NOMINAL | condition, pictures=pictures)
    environment = engine.create(raw)
    assert isinstance(environment, Hanoi)
    return environment


@pytest.mark.parametrize("robot", ROBOTS)
def test_controls_drive_the_actuators_in_order_and_the_rest_keeps_the_robot_where_it_starts(robot: str) -> None:
    env, made = hanoi(robot=robot), EMBODIMENTS[robot]()
    controls = env.controls()
    assert env.plant.model.nu == len(controls) == len(made.rest())
    assert all(control.low <= value <= control.high for control, value in zip(controls, made.rest(), strict=True))
    before = env.read("joint_positions")
    for _ in range(30):
        env.apply(made.rest())
    assert env.judge() is None
    assert env.read("joint_positions") == pytest.approx(before, abs=0.02)


@pytest.mark.parametrize("robot", ROBOTS)
def test_random_actions_break_a_limit(robot: str) -> None:
    env = hanoi(robot=robot)
    rng = np.random.default_rng(0)
    low, high = np.array([[control.low, control.high] for control in env.controls()]).T
    for _ in range(60):
        if env.judge() is None:
            env.apply(rng.uniform(low, high))
    result = env.judge()
    assert result is not None
    assert result.code in ("LIMIT", "COLL", "PEN")


@pytest.mark.parametrize("robot", ROBOTS)
@pytest.mark.parametrize("case", ["H01", "H32"])
def test_every_field_can_be_read_has_its_shape_and_is_a_copy(case: str, robot: str) -> None:
    env = hanoi(case, robot)
    before = env.digest()
    for field in env.fields():
        value = env.read(field.name)
        assert value.shape == field.shape, field.name
        assert value.dtype == np.float64
        assert np.isfinite(value).all()
        assert field.level in LEVELS
        env.read(field.name)[...] = 7.0
    assert env.digest() == before


@pytest.mark.parametrize("robot", ROBOTS)
def test_l0_fields_say_nothing_of_the_objects(robot: str) -> None:
    plain = hanoi("H01", robot)
    other = hanoi("H40", robot, board_offset=[0.012, 0.012], board_yaw=3.0)
    names = [field.name for field in plain.fields() if field.level == "L0"]
    assert "camera_pose/wrist" in names
    for env in (plain, other):
        for _ in range(10):
            env.apply(EMBODIMENTS[robot]().rest())
    for name in names:
        np.testing.assert_allclose(plain.read(name), other.read(name), atol=1e-9)


def test_events_of_rings_are_for_the_highest_level_only() -> None:
    client = Episode("panda/H01", 0)
    env = client.environment
    assert isinstance(env, Hanoi)
    env.plant.data.joint("ring_5").qpos[2] += 0.2
    assert [(event.kind, event.level) for event in env.apply(env.read("commanded"))] == [("raised", "L3")]


def test_public_parameters_hold_the_board_and_not_the_private_condition() -> None:
    hidden = {"board_offset": [0.01134, 0.00567], "board_yaw": 1.2345, "mass_factors": [1.111] * 5}
    public = hanoi("H40", **hidden).public()
    text = json.dumps(public)
    for value in (0.01134, 1.2345, 1.111, 0.51134):
        assert str(value) not in text
    parameters = public["parameters"]
    board = boards.load("H40")
    assert parameters["goal"] == board.goal
    assert [peg["length"] for peg in parameters["board_pegs"]] == [peg.length for peg in board.pegs]
    assert parameters["masses"] == list(board.masses)
    assert parameters["robot"]["servo_lag"] > 0
    assert board.title == public["title"]
    assert "Goal: ring 1 on C" in public["task"]


def test_the_task_says_by_how_much_an_episode_differs_from_the_board_that_is_told() -> None:
    rule = json.loads((MANIFESTS / "conditions.json").read_text(encoding="utf-8"))["families"]["hanoi"]["factors"]
    offset, yaw, handle = (rule[name]["high"] for name in ("board_offset", "board_yaw", "ring_azimuths"))
    share = {rule[name]["high"] for name in ("mass_factors", "friction_factor")}
    text = hanoi().public()["task"]
    assert f"up to {1000 * offset:g} mm aside in x and in y and be turned by up to {yaw:g} degrees" in text
    assert f"each handle by up to {handle:g} degrees" in text
    assert [f"differ by up to {100 * (high - 1):.0f} %" in text for high in share] == [True]


def test_the_realized_initialization_is_on_record() -> None:
    realized = hanoi(board_offset=[0.01, 0.0]).realized()
    assert set(NOMINAL) <= set(realized)
    assert realized["pegs"][1] == pytest.approx([0.51, 0.0])


def test_poses_and_seats_follow_the_board() -> None:
    env = hanoi("H03", board_offset=[0.01, -0.01])
    board = boards.load("H03")
    assert [g.PEGS[int(peg)] for peg in env.read("seated")] == list(board.start)  # before any action
    env.apply(env.read("commanded"))
    assert [g.PEGS[int(peg)] for peg in env.read("seated")] == list(board.start)
    assert env.read("pose/peg_B")[:3] == pytest.approx([0.51, -0.01, 0.02])
    for index, letter in enumerate(board.start):
        assert env.read(f"pose/ring_{index + 1}")[:2] == pytest.approx(env.read(f"pose/peg_{letter}")[:2], abs=1e-3)


@pytest.mark.parametrize("case", boards.cases())
def test_rings_lie_still_where_the_board_puts_them(case: str) -> None:
    env = hanoi(case)
    before = [env.read(f"pose/ring_{i + 1}") for i in range(g.RINGS)]
    for _ in range(15):
        env.apply(env.read("commanded"))
    assert env.judge() is None
    for index, pose in enumerate(before):
        assert env.read(f"pose/ring_{index + 1}") == pytest.approx(pose, abs=2e-4)
    assert [g.PEGS[int(peg)] for peg in env.read("seated")] == list(boards.load(case).start)


def test_the_same_actions_give_the_same_state_bit_for_bit() -> None:
    digests = []
    for _ in range(2):
        env = hanoi("H40", board_yaw=2.0)
        rest = env.read("commanded")
        for step in range(40):
            env.apply(rest + np.array([0.0, 0.004 * step, *([0.0] * 6)]))
        digests.append(env.digest())
    assert digests[0] == digests[1]
    assert hanoi("H40", board_yaw=2.1).digest() != hanoi("H40", board_yaw=2.0).digest()


# ---- pictures ------------------------------------------------------------------------------------------------------
needs_gl = pytest.mark.skipif(gl.working() is None, reason="no OpenGL backend here")


@needs_gl
def test_camera_calibration_projects_a_ring_to_where_it_is_drawn() -> None:
    env = hanoi("H01", pictures=True)
    (camera,) = [c for c in env.cameras() if c.name == "side"]
    pose = np.array(camera.pose)
    side = 0.99 * g.RADII[0] * np.array([np.cos(np.pi / 3), -np.sin(np.pi / 3), 0.0])  # the middle of a flat side
    point = env.read("pose/ring_1")[:3] + side
    x, y, z = pose[:3, :3].T @ (point - pose[:3, 3])
    fx, fy, cx, cy = camera.intrinsics
    picture = env.render("side", camera.width, camera.height)
    env.close()
    red, green, blue = (int(c) for c in picture[round(fy * y / z + cy), round(fx * x / z + cx)])
    assert blue > 1.5 * red
    assert blue > 1.2 * green


@needs_gl
def test_light_changes_pictures_and_nothing_else() -> None:
    dark, bright = (hanoi("H40", pictures=True, lighting=factor) for factor in (0.85, 1.15))
    assert dark.digest() == bright.digest()
    for name in (*VIEWS, "wrist"):
        assert dark.render(name, 96, 96).mean() < bright.render(name, 96, 96).mean(), name
    dark.close()
    bright.close()


@needs_gl
def test_a_recorded_state_is_drawn_as_it_was() -> None:
    env = hanoi("H04", pictures=True)
    env.plant.data.joint("ring_5").qpos[1] -= 0.1
    env.apply(env.read("commanded"))
    state, expected = env.state(), env.render("front", 96, 96)
    env.close()
    again = hanoi("H04", pictures=True)
    assert state.dtype == np.float32
    drawn = again.redraw(state, "front", 96, 96, shadows=True)
    again.close()
    assert np.abs(drawn.astype(int) - expected.astype(int)).mean() < 0.5


# ---- refusals ------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("changes", "text"),
    [
        ({"environment_id": "hanoi_panda/fr3-sharpa/H01"}, "is not hanoi_panda/panda/CASE or hanoi_sharpa/fr3-sharpa"),
        ({"environment_id": "hanoi_panda/panda/H77"}, "Hanoi case 'H77' has no board"),
        ({"mode": "loaded"}, "mode 'loaded' is not offered by a Hanoi board; use default"),
    ],
)
def test_a_specification_that_cannot_be_served_is_refused(changes: dict[str, Any], text: str) -> None:
    with pytest.raises(ValueError, match=text):
        engine.create(start("panda/H01", 0, parameters=NOMINAL) | changes)
