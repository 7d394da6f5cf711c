"""Pictures after the fact: what `replay` and `draw` answer, and that they show what the episode's own camera showed."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from gateway_harness import Gateway, make_spec

from images.mujoco import gl
from images.mujoco.launcher.environment import create
from manifests.load import load
from manifests.lookup import conditions

GLASS = "marble/dual-panda/A025"


@pytest.fixture
def process() -> Iterator[Gateway]:
    with tempfile.TemporaryDirectory(prefix="assay-") as folder:
        gateway = Gateway(Path(folder), start=False)
        yield gateway
        gateway.kill()


def replay(process: Gateway, **spec: Any) -> dict[str, Any]:
    process.send("replay", spec=make_spec(**spec))
    return process.expect("ready")[0]


def draw(process: Gateway, states: np.ndarray, **changes: Any) -> None:
    header = {"views": [{"camera": "side", "width": 64, "height": 48}], "shadows": False, **changes}
    process.send("draw", {"states": states.astype(np.float32)}, **header)


def mass(picture: np.ndarray) -> float:
    """Mean column of the red mass."""
    return float(np.nonzero(picture[:, :, 0] == 255)[1].mean())


def test_every_state_gives_its_picture_in_order_and_in_any_order_of_time(process: Gateway) -> None:
    ready = replay(process)
    assert ready["realized"] == {"x": 0.0, "parameters": {}}
    assert [camera["name"] for camera in ready["cameras"]] == ["side"]
    assert ready["pictures"] == "pillow"
    places = [1.0, -1.0, 0.0, 1.5]
    draw(process, np.array([[x, 0.0] for x in places]))
    seen = []
    for index in range(4):
        header, parts = process.expect("drawn")
        assert header["index"] == index
        picture = parts["picture/0"]
        assert isinstance(picture, np.ndarray)
        assert picture.dtype == np.uint8
        assert picture.shape == (48, 64, 3)
        seen.append(mass(picture))
    assert np.argsort(seen).tolist() == np.argsort(places).tolist()
    assert process.end() == 0


def test_several_views_of_a_state_come_together_in_their_order(process: Gateway) -> None:
    replay(process)
    views = [{"camera": "side", "width": width, "height": 48} for width in (64, 128)]
    draw(process, np.zeros((3, 2)), views=views)
    for _ in range(3):
        _, parts = process.expect("drawn")
        assert [np.shape(parts[f"picture/{number}"]) for number in (0, 1)] == [(48, 64, 3), (48, 128, 3)]


def test_pictures_are_drawn_even_of_an_episode_that_had_none(process: Gateway) -> None:
    assert replay(process, pictures=False)["pictures"] == "pillow"


@pytest.mark.parametrize(
    ("states", "changes", "words"),
    [
        (np.zeros((1, 3)), {}, ("3 numbers", "scene's 2")),
        (np.zeros(2), {}, ("not an array of one row",)),
        (np.zeros((1, 2)), {"views": [{"camera": "side", "width": "wide", "height": 48}]}, ("'wide'", "pixels")),
        (np.zeros((1, 2)), {"views": []}, ("views",)),
    ],
)
def test_a_request_that_does_not_fit_ends_in_a_fault_that_says_why(
    process: Gateway, states: np.ndarray, changes: dict[str, Any], words: tuple[str, ...]
) -> None:
    replay(process)
    draw(process, states, **changes)
    fault, _ = process.expect("fault")
    assert all(word in fault["text"] for word in words)
    assert process.child.wait(30) == 3


@pytest.mark.parametrize("parameters", [{"fault": "create"}, {"fault": "black"}])
def test_a_scene_that_cannot_be_made_or_drawn_is_a_fault_and_no_picture(
    process: Gateway, parameters: dict[str, Any]
) -> None:
    process.send("replay", spec=make_spec(parameters=parameters))
    fault, _ = process.expect("fault")
    assert fault["cause"] == "initialization_error"
    assert process.child.wait(30) == 3


def test_an_agent_that_connects_to_a_replay_gets_no_answer(process: Gateway) -> None:
    replay(process)
    peer = process.dial()
    peer.socket.settimeout(0.5)
    with pytest.raises(TimeoutError):
        peer.ask("step", action=[0.0, 0.0])
    peer.close()


# ---- the launcher ---------------------------------------------------------------------------------------------------
def launcher() -> Any:
    if gl.working() is None:
        pytest.skip("no OpenGL backend here")
    parameters = conditions(load(), GLASS)[0].parameters
    return create(
        {"environment_id": GLASS, "mode": "loaded", "condition": {"parameters": parameters}, "pictures": True}
    )


def test_a_recorded_state_of_the_launcher_is_drawn_as_its_own_camera_saw_it() -> None:
    env = launcher()
    hold = env.plant.data.ctrl.copy()
    for _ in range(5):
        hold[0] += 0.02
        env.apply(hold)
    state, seen = env.state(), env.render("wide", 160, 160)
    env.close()
    again = launcher()
    before = again.render("wide", 160, 160)
    drawn = again.redraw(state, "wide", 160, 160, shadows=True)
    again.close()
    assert (before != seen).any()  # the arm has moved
    assert (np.abs(drawn.astype(int) - seen).max(axis=2) > 8).mean() < 0.002  # float32 moves an edge by a pixel


def test_glass_is_whole_or_broken_as_the_state_says_in_any_order_of_time() -> None:
    env = launcher()
    whole = env.state()
    broken = whole.copy()
    broken[-len(env.plant.flight.panes) :] = 1
    first, other, again = (
        env.redraw(state, "range", 128, 128, shadows=False).astype(int) for state in (whole, broken, whole)
    )
    env.close()
    assert np.abs(first - other).max() > 20
    assert np.abs(first - again).max() <= 2  # a driver's first picture may round otherwise


def test_shadows_can_be_left_out() -> None:
    env = launcher()
    with_, without = (env.redraw(env.state(), "wide", 128, 128, shadows=wanted) for wanted in (True, False))
    env.close()
    assert (with_ != without).any()
