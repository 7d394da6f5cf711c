"""The structure of a scene as a graph, and how far two structures are apart.

Nodes are the elements that matter: those of the task, all that can move or break, and what touches, carries, holds or
shields one of these. Bodies of a row or an arch are one node. A node's label is kind, material and role; edges are
support, contact, hinge, order, damage path, and what stands in the straight line from the muzzle to a target. Moving,
turning or scaling elements within that changes nothing, so a distance of 0 means the same problem again. ``distance``
is a lower bound of the graph edit distance (each label change, node or edge costs 1).
"""

from __future__ import annotations

import itertools
from collections import Counter
from dataclasses import dataclass
from typing import Any

import mujoco
import numpy as np

from images.mujoco.launcher import geometry as g
from images.mujoco.launcher.kinds import (
    MOVING,
    Arch,
    Bank,
    Dominoes,
    Fixed,
    Flap,
    Pane,
    Pendulum,
    Roller,
    Seesaw,
    Target,
    Well,
)
from images.mujoco.launcher.model import Compiled, compile_scene, realize
from images.mujoco.launcher.scene import Scene
from images.mujoco.launcher.workshop.episode import NOMINAL

TOUCH = 0.0005  # m: nearer than this is contact
FLOOR = "floor"
MUZZLE = np.add(g.PIVOT, (g.REST + g.BARREL_MUZZLE + 0.03, 0, 0.03))
GEOMS = np.array([1, 0, 0, 0, 0, 0], dtype=np.uint8)


@dataclass(frozen=True)
class Graph:
    """``labels`` of the nodes by name, and ``edges`` as (kind, name, name)."""

    labels: dict[str, str]
    edges: frozenset[tuple[str, str, str]]


def structure(scene: Scene) -> Graph:
    """The graph of ``scene``. Decoration, what is joined to nothing that matters, is left out."""
    edges = {*_touching(scene), *_task_edges(scene)}
    task = scene.task
    kept = {item.element for item in task.required} | set(task.protected) | set(task.shard_free)
    kept |= {step.element for item in task.required for step in item.after}
    kept |= {element.name for element in scene.elements if isinstance(element, (*MOVING, Pane))}
    while True:
        more = {name for _, a, b in edges for name, other in ((a, b), (b, a)) if other in kept and other != FLOOR}
        if more <= kept | {FLOOR}:
            break
        kept |= more - {FLOOR}
    labels = {element.name: _label(scene, element.name) for element in scene.elements if element.name in kept}
    labels[FLOOR] = FLOOR
    return Graph(labels, frozenset(edge for edge in edges if edge[1] in labels and edge[2] in labels))


def distance(one: Graph, two: Graph) -> int:
    """A lower bound of the edit distance: nodes by label, and edges by kind and the labels at their ends."""
    nodes = _cost(Counter(one.labels.values()), Counter(two.labels.values()))
    kinds = _cost(Counter(kind for kind, _, _ in one.edges), Counter(kind for kind, _, _ in two.edges))
    return nodes + kinds


def _cost(one: Counter[str], two: Counter[str]) -> int:
    """Least number of additions, removals and changes that make one multiset the other."""
    common = sum((one & two).values())
    return max(sum(one.values()), sum(two.values())) - common


def _label(scene: Scene, name: str) -> str:
    element, task = scene.element(name), scene.task
    parts = [element.kind, element.material]
    for item in task.required:
        if item.element == name:
            parts.append(item.goal)
    if name in task.protected:
        parts.append("protected")
    if name in task.shard_free:
        parts.append("shard free")
    if isinstance(element, Target | Roller | Pendulum):
        parts.append(element.shape)
    if isinstance(element, Flap):
        parts.append(element.hinge)
    if isinstance(element, Dominoes):
        parts.append("bent" if element.bend else "straight")
    if isinstance(element, Arch):
        parts.append(element.part)
    return " ".join(parts)


def _task_edges(scene: Scene) -> set[tuple[str, str, str]]:
    task, edges = scene.task, set()
    edges |= {("order", a, b) for a, b in zip(task.order, task.order[1:], strict=False)}
    edges |= {("path " + step.event, step.element, item.element) for item in task.required for step in item.after}
    for element in scene.elements:
        if isinstance(element, Pane):
            edges |= {("breaks", name, element.name) for name in element.breakers}
        if isinstance(element, Flap | Seesaw | Pendulum):
            edges.add(("hinge", FLOOR, element.name))
    return edges


def _touching(scene: Scene) -> set[tuple[str, str, str]]:
    """Pairs of elements that touch at the start; ``support`` when the upper one would fall without."""
    compiled = compile_scene(scene, realize(NOMINAL), NOMINAL["background"], scene.case)
    model = compiled.model
    model.opt.enableflags &= ~int(mujoco.mjtEnableBit.mjENBL_SLEEP)
    model.geom_margin[:] = TOUCH
    owner = {model.geom(name).id: built.name for built in compiled.built.values() for name in built.geoms}
    owner[model.geom(FLOOR).id] = FLOOR
    data = mujoco.MjData(model)
    mujoco.mj_kinematics(model, data)
    mujoco.mj_comPos(model, data)
    mujoco.mj_collision(model, data)
    edges = set()
    for (first, second), frame in zip(data.contact.geom.tolist(), data.contact.frame, strict=True):
        a, b = owner.get(first), owner.get(second)
        if a is None or b is None or a == b:
            continue
        upright = abs(float(np.asarray(frame)[2])) > 0.5
        heights = data.geom_xpos[first][2], data.geom_xpos[second][2]
        low, high = (a, b) if a == FLOOR or (b != FLOOR and heights[0] <= heights[1]) else (b, a)
        edges.add(("support", low, high) if upright else ("contact", min(a, b), max(a, b)))
    return edges | _joined(scene, compiled, data) | _shields(scene, compiled, data, owner)


def _joined(scene: Scene, compiled: Compiled, data: Any) -> set[tuple[str, str, str]]:
    """Fixed elements that touch: the engine looks for no contact between two parts of the world."""
    names = [element.name for element in scene.elements if isinstance(element, Bank | Fixed | Well)]
    edges, ends = set(), np.zeros(6)
    for one, two in itertools.combinations(names, 2):
        pairs = itertools.product(compiled.built[one].geoms, compiled.built[two].geoms)
        geoms = [(compiled.model.geom(a).id, compiled.model.geom(b).id) for a, b in pairs]
        if any(mujoco.mj_geomDistance(compiled.model, data, a, b, 2 * TOUCH, ends) <= TOUCH for a, b in geoms):
            edges.add(("contact", min(one, two), max(one, two)))
    return edges


def _shields(scene: Scene, compiled: Compiled, data: Any, owner: dict[int, str]) -> set[tuple[str, str, str]]:
    """Elements that the straight line from the muzzle to the centre of a required target crosses."""
    model, edges = compiled.model, set()
    for item in scene.task.required:
        goal = data.geom_xpos[model.geom(compiled.built[item.element].geoms[0]).id]
        place, way = MUZZLE, goal - MUZZLE
        length, hit = float(np.linalg.norm(way)), np.full(1, -1, dtype=np.int32)
        while True:
            ahead = mujoco.mj_ray(model, data, place, way / length, GEOMS, 1, -1, hit)
            name = owner.get(int(hit[0]))
            if ahead < 0 or name == item.element or np.linalg.norm(place - MUZZLE) + ahead > length:
                break
            if name not in (None, FLOOR):
                edges.add(("shields", str(name), item.element))
            place = place + way / length * (ahead + TOUCH)
    return edges
