"""Scenes are strict data: what cannot be meant is refused with the path of the key and its value."""

from __future__ import annotations

import copy
import json
import math
import re
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from images.mujoco.launcher import scene as scenes
from images.mujoco.launcher.environment import Launcher
from images.mujoco.launcher.model import compile_scene, realize
from images.mujoco.launcher.scene import SceneError
from tests.launcher_stage import CONDITION, FAR_WALL, authored, board, launcher, scene_of, wait

GOOD = authored([board("one", 2.0), FAR_WALL], required=[{"element": "one"}])


def refused(change: Any) -> str:
    """The error of the good scene after ``change`` has edited it."""
    data = copy.deepcopy(GOOD)
    change(data)
    with pytest.raises(SceneError) as caught:
        scenes.parse(json.dumps(data), "A999.json")
    return str(caught.value)


@pytest.mark.parametrize("case", scenes.cases())
def test_every_authored_scene_loads_and_compiles(case: str) -> None:
    scene = scenes.load(case)
    assert scene.case == case
    assert compile_scene(scene, realize(CONDITION), "meadow").model.nq > 0


def test_an_unknown_field_is_named_with_its_path() -> None:
    text = refused(lambda d: d["elements"][0].update(colour="red"))
    assert text.startswith("A999.json: elements.0.target.colour")
    assert "'red'" in text


def test_a_missing_field_is_named_with_its_path() -> None:
    assert "elements.0.target.size" in refused(lambda d: d["elements"][0].pop("size"))


@pytest.mark.parametrize("value", [-0.1, 0.0])
def test_a_size_must_be_positive(value: float) -> None:
    text = refused(lambda d: d["elements"][0].update(size=[value, 0.1, 0.1]))
    assert "elements.0.target.size.0" in text
    assert str(value) in text


def objects(node: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Paths of all objects of a scene file."""
    if isinstance(node, dict):
        yield path
    for key, value in node.items() if isinstance(node, dict) else enumerate(node) if isinstance(node, list) else ():
        yield from objects(value, (*path, key))


@given(data=st.data(), case=st.sampled_from(scenes.cases()), key=st.from_regex(r"[a-z_]{3,12}", fullmatch=True))
def test_an_unknown_key_anywhere_in_any_scene_is_refused(data: st.DataObject, case: str, key: str) -> None:
    content = json.loads((scenes.SCENES / f"{case}.json").read_text(encoding="utf-8"))
    path = data.draw(st.sampled_from(list(objects(content))))
    node = content
    for part in path:
        node = node[part]
    model = {"order", "protected", "cells", "frame", "yaw", "shape", "thickness", "goal", "after", "pitch"}
    assume(key not in node and key not in model)
    node[key] = 1
    with pytest.raises(SceneError, match=key):
        scenes.parse(json.dumps(content), f"{case}.json")


@pytest.mark.parametrize(("number", "value"), [("NaN", "nan"), ("Infinity", "inf"), ("-1e999", "-inf")])
def test_a_number_that_is_not_finite_is_refused(number: str, value: str) -> None:
    text = rf"^A999.json: elements.0.target.at.0: Input should be a finite number \(value {value}\)$"
    with pytest.raises(SceneError, match=text):
        scenes.parse(json.dumps(GOOD).replace("2.0", number), "A999.json")


def numbers(node: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Paths of all numbers of a scene file."""
    if isinstance(node, int | float):
        yield path
    for key, value in node.items() if isinstance(node, dict) else enumerate(node) if isinstance(node, list) else ():
        yield from numbers(value, (*path, key))


@given(data=st.data(), case=st.sampled_from(scenes.cases()))
def test_nan_in_place_of_any_number_of_any_scene_is_refused(data: st.DataObject, case: str) -> None:
    content = json.loads((scenes.SCENES / f"{case}.json").read_text(encoding="utf-8"))
    *path, last = data.draw(st.sampled_from(list(numbers(content))))
    node = content
    for part in path:
        node = node[part]
    node[last] = math.nan
    with pytest.raises(SceneError, match=rf"^{case}.json: {path[0] if path else last}.*nan"):
        scenes.parse(json.dumps(content), f"{case}.json")


def test_a_negative_mass_is_refused() -> None:
    """Masses follow from material and size: there is no key for them, and no size can make them negative."""
    assert refused(lambda d: d["elements"][0].update(mass=-1.0)).startswith("A999.json: elements.0.target.mass: ")
    assert "(value -0.2)" in refused(lambda d: d["elements"][0].update(size=[0.03, -0.2, 0.26]))
    with pytest.raises(ValueError, match=r"^condition\.parameters\.mass_factor: -1\.0 is not a number from 0\.5 to 2$"):
        realize(CONDITION | {"mass_factor": -1.0})


def test_a_key_that_stands_twice_is_refused() -> None:
    with pytest.raises(SceneError, match=r"^A999.json: not JSON: the key 'elements' stands twice in one object$"):
        scenes.parse(json.dumps(GOOD).replace("{", '{"elements": [], ', 1), "A999.json")


def test_an_element_within_reach_of_the_arms_is_refused() -> None:
    assert "elements.0.at: [0.6, 0.0, 0.0] is outside" in refused(lambda d: d["elements"][0].update(at=[0.6, 0, 0]))


def test_a_target_beyond_the_range_of_the_launcher_is_refused() -> None:
    text = refused(lambda d: d["elements"][0].update(at=[5.2, 1.5, 0]))
    assert "task.required.0.element: 'one' is 4.89 m from the pivot; no shot flies beyond 4.5 m" in text


def test_two_elements_may_not_share_a_name() -> None:
    assert "name 'one' is used 2 times" in refused(lambda d: d["elements"].append(board("one", 3.0)))


@pytest.mark.parametrize(
    ("task", "text"),
    [
        ({"required": [{"element": "ghost"}]}, "task.required.0.element: no element is named 'ghost'"),
        ({"required": [{"element": "wall"}]}, "task.required.0.element: a fixed cannot be a target"),
        ({"required": [{"element": "one", "goal": "fractured"}]}, "task.required.0.goal: 'fractured' does not fit"),
        ({"required": [{"element": "one"}], "order": ["wall"]}, "task.order.0: 'wall' is not a required target"),
        ({"required": [{"element": "one"}], "protected": ["one"]}, "task.protected.0: 'one' is required"),
        (
            {"required": [{"element": "one", "after": [{"element": "wall", "event": "fractured"}]}]},
            "task.required.0.after.0.event: 'fractured' cannot happen to a fixed",
        ),
    ],
)
def test_a_task_must_fit_its_elements(task: dict[str, Any], text: str) -> None:
    assert text in refused(lambda d: d.update(task=task))


BALL = {"kind": "target", "name": "two", "shape": "ball", "size": [0.1, 0.1, 0.1], "at": [2.0, 0.5, 0]}
FLAP = {"kind": "flap", "name": "two", "size": [0.02, 0.2, 0.2], "hinge": "bottom", "range": [-1, 1], "at": [2, 0.5, 0]}
SEESAW = {"kind": "seesaw", "name": "two", "size": [0.4, 0.1, 0.02], "pivot_height": 0.1, "at": [2, 0.5, 0]}
WINDOW = {
    "kind": "pane",
    "material": "glass",
    "name": "two",
    "width": 0.3,
    "height": 0.3,
    "thickness": 0.004,
    "at": [2, 0.8, 0],
}
ONE, TWO = {"element": "one"}, {"element": "two"}


def after(name: str, event: str = "cleared") -> dict[str, Any]:
    return {"after": [{"element": name, "event": event}]}


@pytest.mark.parametrize(
    ("element", "task", "text"),
    [
        (BALL, {"required": [TWO | {"goal": "toppled"}]}, "task.required.0.goal: 'two' is round"),
        (FLAP, {"required": [TWO | {"goal": "toppled"}]}, "goal: 'two' turns [-1.0, 1.0] deg, and is never toppled"),
        (FLAP, {"required": [TWO]}, "goal: 'two' turns [-1.0, 1.0] deg, and is never cleared"),
        (FLAP | {"hinge": "middle", "range": [-90, 90]}, {"required": [TWO]}, "and is never cleared"),
        (SEESAW | {"range": [-5, 5]}, {"required": [TWO]}, "goal: 'two' turns [-5.0, 5.0] deg, and is never cleared"),
        (BALL | {"at": [2, 0.5, 3.9]}, {"required": [TWO]}, "'two' is 3.9 m high; no shot there rises above 2.2"),
        (
            WINDOW | {"threshold": 1000},
            {"required": [TWO | {"goal": "fractured"}]},
            "threshold: 1000.0 N s is more than",
        ),
        (WINDOW | {"threshold": 1000}, {"required": [ONE | after("two", "fractured")]}, "threshold: 1000.0 N s is"),
        (BALL, {"required": [ONE | after("two"), TWO | after("one")]}, "go in a circle: "),
        (BALL, {"required": [ONE | after("two"), TWO], "order": ["one", "two"]}, "go in a circle: "),
        (BALL, {"required": [ONE | after("one")]}, "after.0.element: 'one' cannot come after itself"),
        (BALL, {"required": [ONE | after("two", "toppled")]}, "after.0.event: 'two' is round"),
        (BALL, {"required": [ONE | after("two")], "protected": ["two"]}, "'two' is protected and must not be cleared"),
        (BALL, {"required": [ONE, TWO], "order": ["one", "one"]}, "task.order: ['one', 'one'] names an element twice"),
        (BALL, {"required": [ONE], "protected": ["two", "two"]}, "task.protected: ['two', 'two'] names"),
        (BALL, {"required": [ONE], "shard_free": ["two"]}, "task.shard_free: ['two'], but the scene has no pane"),
    ],
)
def test_a_task_that_no_play_can_solve_is_refused(element: dict[str, Any], task: dict[str, Any], text: str) -> None:
    def change(data: dict[str, Any]) -> None:
        data["elements"].append(element)
        data["task"] = task

    assert text in refused(change)


def test_json_that_is_nested_too_deeply_is_refused_by_name() -> None:
    with pytest.raises(SceneError, match=r"^A999.json: not JSON: "):
        scenes.parse("[" * 100_000, "A999.json")


def test_a_scene_has_the_name_of_its_file(tmp_path, monkeypatch) -> None:
    monkeypatch.setattr(scenes, "SCENES", tmp_path)
    (tmp_path / "A007.json").write_text(json.dumps(GOOD | {"case": "A999"}))
    with pytest.raises(SceneError, match=r"^A007.json: case: 'A999' is not the name of its file"):
        scenes.load("A007")


def test_elements_that_overlap_at_the_start_are_refused() -> None:
    scene = scene_of(authored([board("one", 2.0), board("two", 2.02)], required=[{"element": "one"}]))
    with pytest.raises(SceneError, match=r"^A999.json: elements: (one and two|two and one) overlap by 10\.0 mm"):
        Launcher(scene, CONDITION, pictures=False)


FRAMED = WINDOW | {"threshold": 0.03}


@pytest.mark.parametrize(
    ("extra", "text"),
    [
        (
            [{"kind": "fixed", "name": "shelf", "size": [1.5, 0.1, 0.1], "at": [1.2, 0.8, 0]}],
            "elements: shelf begins at x 0.450 m; the arms reach to 1.15 m",
        ),
        (
            [FRAMED, {"kind": "fixed", "name": "thick", "size": [0.1, 0.5, 0.5], "at": [2, 0.8, 0]}],
            "elements: two and thick overlap by ",
        ),
        ([FRAMED, FRAMED | {"name": "three", "at": [2.001, 0.8, 0]}], "elements: two and three overlap by "),
        (
            [{"kind": "fixed", "name": "barrel", "size": [0.1, 0.1, 0.1], "at": [2, 0.8, 0]}],
            "elements: a part of barrel would be named 'barrel', as another part is; give barrel another name",
        ),
        (
            [
                {"kind": "dominoes", "name": "row", "size": [0.02, 0.08, 0.16], "count": 4, "spacing": 0.08,
                 "at": [3.0, -0.5, 0]},
                board("row_2", 2.0, 0.8),
            ],
            "elements: a part of row_2 would be named 'row_2', as another part is; give row_2 another name",
        ),
    ],
    ids=["reach", "pane in a wall", "pane in a pane", "a name of the machine", "a name of a piece"],
)  # fmt: skip
def test_what_only_the_built_scene_shows_is_refused_too(extra: list[dict[str, Any]], text: str) -> None:
    scene = scene_of(authored([board("one", 2.0), *extra], required=[{"element": "one"}]))
    with pytest.raises(SceneError, match=rf"^A999.json: {re.escape(text)}"):
        Launcher(scene, CONDITION, pictures=False)


def test_fixed_elements_may_be_joined() -> None:
    parts = [
        {"kind": "fixed", "name": f"part_{i}", "size": [0.3, 0.1, 0.1], "at": [2 + i / 10, 0.8, 0]} for i in range(2)
    ]
    Launcher(scene_of(authored([board("one", 2.0), *parts], required=[{"element": "one"}])), CONDITION, pictures=False)


@pytest.mark.parametrize(
    ("change", "text"),
    [({"version": True}, "version: "), ({"tier": "3"}, "tier: "), ({"projectiles": "light"}, "projectiles: ")],
)
def test_a_value_has_exactly_its_type(change: dict[str, Any], text: str) -> None:
    assert refused(lambda d: d.update(change)).startswith(f"A999.json: {text}")


@pytest.mark.parametrize(
    ("change", "text"),
    [
        ({"stiffness": "soft"}, "condition.parameters.stiffness: 'soft'"),
        ({"stiffness": math.nan}, "condition.parameters.stiffness: nan"),
        ({"pivot_offset": [0, 0]}, "condition.parameters.pivot_offset: [0, 0] is not 3 lengths"),
        ({"tray_offset": [0.5, 0]}, "condition.parameters.tray_offset: [0.5, 0] is not 2 lengths"),
        ({"background": "moon"}, "condition.parameters.background: 'moon' is not one of courtyard"),
        ({"wind": 3}, "condition.parameters.wind is unknown"),
    ],
)
def test_a_condition_that_cannot_be_realized_is_refused(change: dict[str, Any], text: str) -> None:
    with pytest.raises(ValueError, match=text.replace("[", r"\[").replace(".", r"\.")):
        realize(CONDITION | change)


def test_a_missing_condition_parameter_is_named() -> None:
    with pytest.raises(ValueError, match=r"condition\.parameters\.stiffness is missing"):
        realize({key: value for key, value in CONDITION.items() if key != "stiffness"})


EVERY_KIND: list[dict[str, Any]] = [
    board("one", 1.5, -1.0),
    {"kind": "target", "name": "pin", "shape": "pin", "size": [0.06, 0.06, 0.2], "at": [1.5, -0.5, 0]},
    {"kind": "target", "name": "ball", "shape": "ball", "size": [0.08, 0.08, 0.08], "at": [1.5, 0, 0]},
    {"kind": "block", "name": "left_post", "size": [0.06, 0.06, 0.2], "at": [2.2, 0.2, 0], "material": "stone"},
    {"kind": "block", "name": "right_post", "size": [0.06, 0.06, 0.2], "at": [2.2, -0.2, 0], "material": "stone"},
    {"kind": "beam", "name": "lintel", "size": [0.06, 0.5, 0.04], "at": [2.2, 0, 0.2]},
    {"kind": "roller", "name": "log", "shape": "cylinder", "radius": 0.04, "length": 0.2, "at": [2.6, 0.6, 0]},
    {"kind": "roller", "name": "stone", "shape": "sphere", "radius": 0.05, "at": [2.6, -0.6, 0], "material": "stone"},
    {"kind": "dominoes", "name": "row", "size": [0.02, 0.08, 0.16], "count": 4, "spacing": 0.08, "at": [3.0, -0.5, 0]},
    {"kind": "pane", "name": "window", "width": 0.3, "height": 0.3, "threshold": 0.03, "at": [3.0, 0.5, 0],
     "material": "glass", "yaw": 20},
    {"kind": "bank", "name": "bank", "size": [0.03, 0.5, 0.4], "pitch": -20, "at": [3.8, 0.8, 0], "material": "rubber"},
    {"kind": "fixed", "name": "plinth", "size": [0.3, 0.3, 0.1], "at": [3.8, 0, 0], "material": "stone"},
    {"kind": "flap", "name": "flap", "size": [0.02, 0.2, 0.2], "hinge": "top", "range": [-80, 80],
     "at": [3.8, 0, 0.15]},
    {"kind": "seesaw", "name": "seesaw", "size": [0.6, 0.1, 0.02], "pivot_height": 0.1, "range": [-15, 15],
     "at": [3.8, -0.8, 0]},
    {"kind": "arch", "name": "ring", "stones": 7, "radius": 0.15, "thickness": 0.06, "depth": 0.08, "part": "ring",
     "at": [2.2, 1.0, 0], "material": "stone"},
    {"kind": "arch", "name": "crown", "stones": 7, "radius": 0.15, "thickness": 0.06, "depth": 0.08, "part": "crown",
     "at": [2.2, 1.0, 0], "material": "stone"},
    {"kind": "well", "name": "well", "radius": 0.1, "height": 0.12, "at": [1.5, 0.6, 0], "material": "stone"},
    {"kind": "roller", "name": "rubber_ball", "shape": "sphere", "radius": 0.03, "at": [1.5, 0.6, 0],
     "material": "rubber"},
    {"kind": "pendulum", "name": "bob", "size": [0.08, 0.08, 0.08], "length": 0.3, "clearance": 0.1,
     "at": [4.4, 0, 0]},
    {"kind": "dominoes", "name": "curve", "size": [0.02, 0.06, 0.12], "count": 5, "spacing": 0.06, "bend": 9,
     "at": [4.4, 0.5, 0]},
    {"kind": "flap", "name": "door", "size": [0.02, 0.2, 0.2], "hinge": "middle", "range": [-90, 90],
     "at": [4.4, -0.6, 0.02]},
    {"kind": "pane", "name": "shelf", "width": 0.2, "height": 0.16, "threshold": 0.03, "frame": False,
     "at": [2.2, -1.0, 0], "material": "glass", "breakers": ["stone"]},
    {"kind": "beam", "name": "load", "size": [0.1, 0.3, 0.03], "at": [2.2, -0.97, 0.16]},
    {"kind": "block", "name": "prop", "size": [0.1, 0.03, 0.16], "at": [2.2, -0.87, 0]},
]  # fmt: skip


def test_every_kind_of_element_stands_still_until_it_is_touched() -> None:
    env = launcher(authored(EVERY_KIND, required=[{"element": "one"}]))
    names = [name for built in env.plant.compiled.built.values() for name in built.bodies]
    ids = [env.plant.model.body(name).id for name in names]
    start = env.plant.data.xpos[ids].copy()
    _wake(env)
    wait(env, 2.0)
    drift = np.linalg.norm(env.plant.data.xpos[ids] - start, axis=1)
    assert {name: float(d) for name, d in zip(names, drift, strict=True) if d > 1e-3} == {}
    assert env.judge() is None


def _wake(env: Any) -> None:
    """Touch the speed of every body of the scene, so that nothing only seems to stand because it sleeps."""
    model, data = env.plant.model, env.plant.data
    shards = {name for built in env.plant.compiled.built.values() for name in built.shards}
    for index in range(model.njnt):
        joint = model.joint(index)
        if joint.name not in shards:
            first, count = int(joint.dofadr[0]), 6 if joint.type[0] == 0 else 1
            speeds = data.qvel[first : first + count]
            speeds[speeds == 0] = -0.0
