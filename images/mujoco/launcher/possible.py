"""Tasks that no play could solve, refused when a scene is read: goals that an element cannot reach, targets beyond
every shot, orders and damage paths that contradict each other."""

from __future__ import annotations

import math
from graphlib import CycleError, TopologicalSorter
from typing import TYPE_CHECKING, Any

from images.mujoco.launcher import geometry
from images.mujoco.launcher.kinds import FREE, GROUPS, MOVING, Flap, Pane, Seesaw
from images.mujoco.launcher.mechanism import GRAVITY

if TYPE_CHECKING:
    from images.mujoco.launcher.scene import Required, Scene, Step

RANGE = 4.5  # m from the pivot: how far the lightest projectile flies with the weakest spring of the four conditions
TOPPLED, CLEARED, DROPPED = 60.0, 45.0, 0.05  # deg, deg, m: the values of L-05, L-04 and L-03


def check_task(scene: Scene) -> None:
    """Raises ValueError that names the path and the value."""
    known = {element.name: element for element in scene.elements}
    for index, item in enumerate(scene.task.required):
        where = f"task.required.{index}"
        _check_goal(where, item, known[item.element])
        _check_reach(f"{where}.element", known[item.element])
        for number, step in enumerate(item.after):
            _check_step(f"{where}.after.{number}", step, known[step.element], item, scene)
            if step.event == "fractured":
                _check_threshold(scene, known[step.element])
        _check_threshold(scene, known[item.element])
    _check_lists(scene)
    _check_sequence(scene)


def _check_goal(where: str, item: Required, element: Any) -> None:
    if (item.goal == "fractured") != isinstance(element, Pane):
        raise ValueError(f"{where}.goal: {item.goal!r} does not fit a {element.kind}")
    if not isinstance(element, (*MOVING, Pane)):
        raise ValueError(f"{where}.element: a {element.kind} cannot be a target")
    if item.goal == "toppled" and is_round(element):
        raise ValueError(f"{where}.goal: {element.name!r} is round, and what is round never counts as toppled")
    if isinstance(element, Flap | Seesaw) and not _turns_enough(item.goal, element):
        raise ValueError(f"{where}.goal: {element.name!r} turns {list(element.range)} deg, and is never {item.goal}")
    if item.share < 1 and not isinstance(element, GROUPS):
        raise ValueError(f"{where}.share: {item.share} needs an element of several bodies")


def is_round(element: Any) -> bool:
    """Whether the tilt of an element says nothing: balls and cylinders that lie or roll."""
    return getattr(element, "shape", "") in ("ball", "sphere", "cylinder")


def _turns_enough(goal: str, element: Flap | Seesaw) -> bool:
    """A plate that turns about a level axis tilts by its angle; about an upright one it only moves sideways."""
    most = max(abs(value) for value in element.range)
    level = isinstance(element, Seesaw) or element.hinge in ("top", "bottom")
    if goal == "toppled":
        return level and most >= TOPPLED
    if level and most >= CLEARED:
        return True
    if isinstance(element, Seesaw) or element.hinge == "middle":
        return False  # its centre stays
    arm = (element.size[1] if element.hinge == "left" else element.size[2]) / 2
    return 2 * arm * math.sin(math.radians(min(most, 180.0)) / 2) >= DROPPED


def _check_reach(where: str, element: Any) -> None:
    """Within the parabola that bounds all flights of the weakest shot at any elevation."""
    x, y, z = element.at
    distance = math.hypot(x - geometry.PIVOT[0], y - geometry.PIVOT[1])
    if distance > RANGE:
        raise ValueError(
            f"{where}: {element.name!r} is {distance:.2f} m from the pivot; no shot flies beyond {RANGE} m"
        )
    highest = geometry.PIVOT[2] + (RANGE**2 - distance**2) / (2 * RANGE)
    if z > highest:
        raise ValueError(f"{where}: {element.name!r} is {z} m high; no shot there rises above {highest:.2f} m")


def _check_threshold(scene: Scene, pane: Any) -> None:
    """Twice the momentum that the heaviest projectile would have at the speed of the lightest."""
    if not isinstance(pane, Pane) or pane.breakers:
        return
    heaviest = max(geometry.PROJECTILES[kind]["mass"] for kind in scene.projectiles)
    most = 2 * heaviest * math.sqrt(GRAVITY * RANGE)
    if pane.threshold > most:
        where = f"elements.{scene.elements.index(pane)}.threshold"
        raise ValueError(f"{where}: {pane.threshold} N s is more than any of its projectiles gives ({most:.2f})")


def _check_step(where: str, step: Step, element: Any, item: Required, scene: Scene) -> None:
    if step.element == item.element:
        raise ValueError(f"{where}.element: {step.element!r} cannot come after itself")
    if (step.event == "fractured") != isinstance(element, Pane) and step.event != "struck":
        raise ValueError(f"{where}.event: {step.event!r} cannot happen to a {element.kind}")
    if step.event in ("toppled", "cleared") and not isinstance(element, FREE):
        raise ValueError(f"{where}.event: a {element.kind} cannot be {step.event}")
    if step.event == "toppled" and is_round(element):
        raise ValueError(f"{where}.event: {element.name!r} is round, and what is round never counts as toppled")
    if step.element in scene.task.protected:
        raise ValueError(f"{where}.element: {step.element!r} is protected and must not be {step.event}")


def _check_lists(scene: Scene) -> None:
    task = scene.task
    required = [item.element for item in task.required]
    lists = {"required": required, "order": task.order, "protected": task.protected, "shard_free": task.shard_free}
    for name, listed in lists.items():
        if len(set(listed)) != len(listed):
            raise ValueError(f"task.{name}: {list(listed)} names an element twice")
    for index, name in enumerate(task.order):
        if name not in required:
            raise ValueError(f"task.order.{index}: {name!r} is not a required target")
    for index, name in enumerate(task.protected):
        if name in required:
            raise ValueError(f"task.protected.{index}: {name!r} is required and cannot be protected too")
    if task.shard_free and not any(isinstance(element, Pane) for element in scene.elements):
        raise ValueError(f"task.shard_free: {list(task.shard_free)}, but the scene has no pane that could break")


def _check_sequence(scene: Scene) -> None:
    """Order and damage paths together leave a sequence in which everything can happen."""
    before: dict[str, set[str]] = {item.element: {step.element for step in item.after} for item in scene.task.required}
    for earlier, later in zip(scene.task.order, scene.task.order[1:], strict=False):
        before[later].add(earlier)
    try:
        TopologicalSorter(before).prepare()
    except CycleError as error:
        raise ValueError(f"task: order and damage paths go in a circle: {', then '.join(error.args[1])}") from None
