"""The letters at the pegs: in sight of the cameras that look at the board, and no part of the physics."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import mujoco
import numpy as np
import pytest

from images.mujoco import gl
from images.mujoco.cameras import calibrated
from images.mujoco.embodiment import Mjcf, Mount, Part
from images.mujoco.hanoi import board as boards
from images.mujoco.hanoi import geometry as g
from images.mujoco.hanoi import letters
from images.mujoco.hanoi.look import VIEWS
from images.mujoco.hanoi.model import compile_board, realize
from tests.test_hanoi_boards import NOMINAL
from tests.test_hanoi_environment import hanoi

NEAREST = {"board_offset": [0.012, -0.012], "board_yaw": 3.0}  # to the cameras: C comes to the edge of `front`
CAMERAS = ("front", "top", "wide")


class Nobody:
    """An empty place for the robot."""

    name, impratio, wrist = "nobody", 1.0, Mount("", (0, 0, 0), (0, 0, 1), (1, 0, 0), 45.0)

    parts: Mapping[str, Part] = {}

    def mjcf(self, camera: str) -> Mjcf:
        return Mjcf(*[""] * 7)

    def start(self) -> dict[str, float]:
        return {}


def strokes(model: Any, data: Any, letter: str) -> np.ndarray:
    """Points (n, 3) along the strokes of a letter as they are drawn."""
    body = model.body(f"support_{letter}").id
    sites = [site for site in range(model.nsite) if model.site_bodyid[site] == body]
    along = np.linspace(-1, 1, 5)[:, None]
    points = [data.site_xpos[i] + along * model.site_size[i, 0] * data.site_xmat[i, ::3] for i in sites]
    above = np.array([0.0, 0.0, 2 * letters.THICK])
    return np.concatenate(points) + above


def seen(name: str, points: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Pixels (n, 2) of points in a camera's picture, and where the camera is (3,)."""
    camera = calibrated(name, VIEWS[name])
    pose, (fx, fy, cx, cy) = np.array(camera.pose), camera.intrinsics
    x, y, z = pose[:3, :3].T @ (points - pose[:3, 3]).T
    return np.stack([fx * x / z + cx, fy * y / z + cy], axis=1), pose[:3, 3]


@pytest.mark.parametrize("condition", [{}, NEAREST], ids=["as authored", "nearest"])
@pytest.mark.parametrize("case", boards.cases())
def test_nothing_of_a_board_hides_a_letter(case: str, condition: dict[str, Any]) -> None:
    board = boards.load(case)
    nobody: Any = Nobody()
    model = compile_board(board, realize(board, NOMINAL | condition), nobody).model
    data = mujoco.MjData(model)
    mujoco.mj_kinematics(model, data)
    for letter in g.PEGS:
        points = strokes(model, data, letter)
        for name in CAMERAS:
            pixels, eye = seen(name, points)
            assert ((pixels > 2) & (pixels < 510)).all(), f"{letter} leaves the picture {name}"
            geom = np.zeros(1, dtype=np.int32)
            free = [mujoco.mj_ray(model, data, point, eye - point, None, 1, -1, geom) < 0 for point in points]
            assert np.mean(free) > 0.9, f"{letter} in {name}"


@pytest.mark.skipif(gl.working() is None, reason="no OpenGL backend here")
@pytest.mark.parametrize("name", CAMERAS)
def test_letters_are_drawn_bright_on_the_floor(name: str) -> None:
    env = hanoi("H08", "floating-sharpa", pictures=True)
    picture = env.render(name, 512, 512)
    env.close()
    for letter in g.PEGS:
        pixels, _ = seen(name, strokes(env.plant.model, env.plant.data, letter))
        colours = [int(picture[round(y), round(x)].min()) for x, y in pixels.tolist()]
        assert np.median(colours) > 190, letter


def test_letters_change_no_state(monkeypatch: pytest.MonkeyPatch) -> None:
    lettered = hanoi("H40", "floating-sharpa")
    monkeypatch.setattr(letters, "sites", lambda letter: "")
    plain = hanoi("H40", "floating-sharpa")
    for env in (lettered, plain):
        for _ in range(20):
            env.apply(env.read("commanded") + 0.003)
    assert lettered.plant.model.nsite > plain.plant.model.nsite
    assert lettered.digest() == plain.digest()
