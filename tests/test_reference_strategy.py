"""How the reference agent chooses its next shot from what stands down range."""

from __future__ import annotations

import numpy as np
import pytest

from images.client.results import Event
from images.mujoco.launcher import geometry
from images.mujoco.launcher.reference.aiming import Limits, NoAim
from images.mujoco.launcher.reference.ballistics import Ballistics, Projectile
from images.mujoco.launcher.reference.mechanism import Mechanism
from images.mujoco.launcher.reference.plan import Stage
from images.mujoco.launcher.reference.range import Range
from images.mujoco.launcher.reference.strategy import BREAKING, Strategy

HEAVY = Projectile("heavy", 0.030, 0.020)
LIMITS = Limits(azimuth=(-0.4, 0.4), elevation=(0.12, 0.75), draw=(0.052, 0.30))
BOARD = {"kind": "target", "shape": "board", "size": [0.03, 0.16, 0.24]}
PANE = {"kind": "pane", "width": 0.36, "height": 0.36, "thickness": 0.004, "threshold": 0.03, "frame": True}
FIXED = {"kind": "fixed"}


def pose(x: float, y: float, z: float) -> np.ndarray:
    return np.array([x, y, z, 1.0, 0.0, 0.0, 0.0])


class Scene:
    """A range from (element, pose) pairs and the task; ``fields`` may be changed as the episode goes on."""

    def __init__(self, elements, required, order=(), protected=(), stages=()):
        self.parameters = {
            "elements": [{"name": name, **element} for name, (element, _) in elements.items()],
            "required": [
                {"element": name, "goal": "cleared", "after": list(after)} for name, after in required.items()
            ],
            "order": list(order),
            "protected": list(protected),
        }
        self.fields = {f"pose/{name}": place for name, (_, place) in elements.items()}
        self.fields |= {f"fractured/{name}": np.array(0.0) for name, (item, _) in elements.items() if item is PANE}
        self.fields |= {f"reached/{name}": np.array(0.0) for name in required}
        mechanism = Mechanism.from_parameters(geometry.parameters())
        ballistics = Ballistics(mechanism, 25.0, np.array([0.55, 0.0, 0.30]))
        self.strategy = Strategy(ballistics, LIMITS, self.parameters, stages)

    def next(self, drawn: float = 0.0, events=()):
        field = Range(self.parameters)
        assert set(field.fields) == set(self.fields)
        field.refresh(self.fields, events)
        return self.strategy.next(field, HEAVY, (0.0, 0.26), drawn)


def test_ordered_targets_come_first_and_nothing_is_left_when_all_are_reached():
    near, far = (BOARD, pose(1.7, 0.0, 0.12)), (BOARD, pose(2.7, 0.3, 0.12))
    scene = Scene({"near": near, "far": far}, {"near": (), "far": ()}, order=["far", "near"])
    assert scene.next().purpose == "hit far"
    scene.fields["reached/far"] = np.array(1.0)
    assert scene.next().purpose == "hit near"
    scene.fields["reached/near"] = np.array(1.0)
    assert scene.next() is None


def test_panes_in_the_way_are_broken_from_the_nearest_on_hard_enough():
    roof = ({**FIXED, "size": [0.9, 0.6, 0.02]}, pose(2.1, 0.0, 0.41))
    scene = Scene(
        {
            "front": (PANE, pose(1.7, 0.0, 0.0)),
            "back": (PANE, pose(2.0, 0.0, 0.0)),
            "board": (BOARD, pose(2.3, 0, 0.12)),
            "roof": roof,
        },
        {"board": ()},
    )
    plan = scene.next()
    assert plan.purpose == "break front before board"
    assert plan.aim.impact_speed * HEAVY.mass >= BREAKING * PANE["threshold"]
    scene.fields["fractured/front"] = np.array(1.0)
    assert scene.next().purpose == "break back before board"
    scene.fields["fractured/back"] = np.array(1.0)
    assert scene.next().purpose == "hit board"


def test_a_damage_path_is_followed_even_where_the_target_could_be_hit_directly():
    scene = Scene(
        {"pane": (PANE, pose(2.0, -0.5, 0.0)), "board": (BOARD, pose(2.0, 0.3, 0.12))},
        {"board": [{"element": "pane", "event": "fractured"}]},
    )
    assert scene.next().purpose == "hit pane"
    scene.fields["fractured/pane"] = np.array(1.0)
    assert scene.next().purpose == "hit board"


def test_a_protected_pane_is_never_broken():
    roof = ({**FIXED, "size": [0.9, 0.6, 0.02]}, pose(2.1, 0.0, 0.41))
    scene = Scene(
        {"pane": (PANE, pose(1.7, 0.0, 0.0)), "board": (BOARD, pose(2.0, 0.0, 0.12)), "roof": roof},
        {"board": ()},
        protected=["pane"],
    )
    with pytest.raises(NoAim, match="board"):
        scene.next()


def test_a_planned_shot_passes_its_point_in_its_arc_until_it_has_done_what_it_is_for():
    elements = {"board": (BOARD, pose(2.2, 0.1, 0.12)), "other": (BOARD, pose(2.2, -0.4, 0.12))}
    stages = [
        Stage("other", np.array([0.0, 0.0, 0.05]), np.radians(30)),
        Stage("board", np.array([-0.015, 0.0, 0.05]), np.radians(38), ("reached/board",)),
    ]
    scene = Scene(elements, {"board": (), "other": ()}, stages=stages)
    assert scene.next().purpose == "hit other as planned"  # for nothing in particular, so it is shot once
    for _ in range(2):
        planned = scene.next()
        assert planned.purpose == "hit board as planned"
        assert abs(np.degrees(planned.aim.elevation) - 38) < 1
        ballistics = scene.strategy.ballistics
        angles = np.array(planned.aim.azimuth), np.array(planned.aim.elevation)
        place, direction = ballistics.release(HEAVY, *angles)
        velocity = direction * ballistics.muzzle_speed(HEAVY, np.array(planned.aim.draw), angles[1])
        path = ballistics.fly(place[None], velocity[None], 1.5)[0]
        assert np.linalg.norm(path - [2.185, 0.1, 0.17], axis=1).min() < 0.012  # half of what it flies in a sample
    scene.fields["reached/board"] = np.array(1.0)
    assert scene.next().purpose == "hit other"


def test_a_spring_that_is_drawn_already_is_never_aimed_with_less():
    scene = Scene({"board": (BOARD, pose(2.3, 0.0, 0.12))}, {"board": ()})
    freely = scene.next().aim.draw
    assert scene.next(drawn=freely + 0.01).aim.draw >= freely + 0.01


def test_events_tell_which_elements_a_shot_struck():
    field = Range({"elements": [{"name": "board", **BOARD}], "required": []})
    field.refresh({}, [Event(0, "struck", "struck", {"shot": 2, "element": "board"})])
    assert field.struck(2) == {"board"}
    assert field.struck(1) == set()
