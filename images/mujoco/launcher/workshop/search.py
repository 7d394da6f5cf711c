"""The search for solutions: aims through points of elements, tried on a fork of the proxy, one shot after the other."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from images.mujoco.launcher.reference.aiming import Limits, NoAim
from images.mujoco.launcher.reference.ballistics import Projectile
from images.mujoco.launcher.reference.plan import Stage
from images.mujoco.launcher.scene import projectile
from images.mujoco.launcher.workshop.proxy import Aim, Outcome, Proxy, branch

LIMITS = Limits(
    (-float(np.radians(23)), float(np.radians(23))), (float(np.radians(7)), float(np.radians(43))), (0.052, 0.306)
)
ARCS = np.radians([9.0, 15.0, 22.0, 30.0, 38.0])
ACROSS, ABOVE = (0.0, -0.6, 0.6), (0.1, 0.7, -0.5)  # of an element's half sizes
# What the arms may be off by: azimuth and elevation (rad), and the draw (m) for the speed.
OFF = (
    (0.0, 0.0, 0.0),
    (0.004, 0.0, 0.0),
    (-0.004, 0.0, 0.0),
    (0.0, 0.009, 0.0),
    (0.0, -0.009, 0.0),
    (0.0, 0.0, 0.002),
    (0.0, 0.0, -0.002),
)
FINALISTS = 6


@dataclass(frozen=True)
class Found:
    """A stage, the aim that it means here, what it did, and the share of disturbed shots that did the same."""

    stage: Stage
    aim: Aim
    outcome: Outcome
    share: float


def value(outcome: Outcome) -> float:
    """How good a shot was: below 0 for a broken rule; goals weigh more than glass, glass more than movement."""
    if outcome.broke is not None:
        return -1.0
    if outcome.won:
        return 100.0
    if outcome.judgement is not None:
        return 0.0
    return 10 * len(outcome.reached) + 4 * len(outcome.fractured) + outcome.moved


def next_projectile(proxy: Proxy) -> Projectile:
    """The one that the next shot uses, at its nominal mass: an agent knows no other."""
    index = len(proxy.plant.shots)
    kind = projectile(proxy.scene, index)
    return Projectile(proxy.scene.projectiles[index], kind["mass"], kind["radius"])


def aim_of(proxy: Proxy, stage: Stage) -> Aim:
    """What ``stage`` means in the present state. Raises NoAim."""
    found = stage.aim(proxy.ballistics, next_projectile(proxy), proxy.position(stage.hit), LIMITS)
    return Aim(found.azimuth, found.elevation, found.draw)


def attempt(proxy: Proxy, aim: Aim) -> Outcome:
    """Shoot in a fork: the proxy itself stays as it is."""
    return branch(lambda: proxy.fire(aim))


def share(proxy: Proxy, aim: Aim, wanted: Outcome) -> float:
    """Share of the disturbed shots that are worth as much as ``wanted``."""
    outcomes = [attempt(proxy, Aim(aim.azimuth + a, aim.elevation + e, aim.draw + d)) for a, e, d in OFF[1:]]
    same = [set(o.reached) >= set(wanted.reached) and set(o.fractured) >= set(wanted.fractured) for o in outcomes]
    fits = [good and o.broke is None and o.won >= wanted.won for good, o in zip(same, outcomes, strict=True)]
    return (1 + sum(fits)) / len(OFF)


def worth_hitting(proxy: Proxy) -> list[str]:
    """Elements at which a shot may aim: the pending targets and their paths first, then all that is not protected."""
    task, fields = proxy.scene.task, proxy.fields()
    names: list[str] = []
    for item in task.required:
        if not fields[f"reached/{item.element}"]:
            names += [item.element, *(step.element for step in item.after)]
    names += [element.name for element in proxy.scene.elements if element.name not in task.protected]
    return [name for name in dict.fromkeys(names) if not fields.get(f"fractured/{name}")]


def stages(proxy: Proxy, names: Sequence[str]) -> list[Stage]:
    """Stages through points on the near face of each element, in every arc."""
    model, out = proxy.plant.model, []
    for name in names:
        geom = model.geom(proxy.plant.compiled.built[name].geoms[0]).id
        turn = proxy.plant.data.geom_xmat[geom].reshape(3, 3)
        half = np.abs(turn) @ np.array(model.geom_aabb[geom, 3:])
        for across in ACROSS:
            for above in ABOVE:
                offset = np.array([-half[0], across * half[1], above * half[2]])
                out += [Stage(name, np.round(offset, 4), float(arc)) for arc in ARCS]
    return out


def shot(proxy: Proxy, names: Sequence[str] | None = None) -> Found | None:
    """The best next shot: the most robust of the most valuable ones. None when nothing legal does anything."""
    tried: list[tuple[float, Stage, Aim, Outcome]] = []
    for stage in stages(proxy, names or worth_hitting(proxy)):
        try:
            aim = aim_of(proxy, stage)
        except NoAim:
            continue
        outcome = attempt(proxy, aim)
        if value(outcome) > 0.003:
            tried.append((value(outcome), stage, aim, outcome))
    tried.sort(key=lambda item: -item[0])
    if not tried:
        return None
    best = [item for item in tried if item[0] >= tried[0][0] - 0.5][:FINALISTS]
    found = [Found(stage, aim, outcome, share(proxy, aim, outcome)) for _, stage, aim, outcome in best]
    return max(found, key=lambda item: item.share)


def settle_stage(found: Found) -> Stage:
    """The stage with what it must achieve."""
    until = [f"reached/{name}" for name in found.outcome.reached]
    until += [f"fractured/{name}" for name in found.outcome.fractured]
    return replace(found.stage, until=tuple(until))


def sequence(proxy: Proxy, names: Sequence[str] | None = None) -> list[Found]:
    """Greedy: shot after shot until the episode ends or nothing helps any more. The proxy is used up."""
    out: list[Found] = []
    while proxy.judgement is None and proxy.plant.shots_left and proxy.pending:
        found = shot(proxy, names)
        if found is None:
            break
        out.append(found)
        proxy.fire(found.aim)
    return out


def follow(proxy: Proxy, plan: Sequence[Stage], disturb: tuple[float, float, float] = OFF[0]) -> list[Outcome]:
    """Play a plan as the reference agent does: the first stage that is not done. The proxy is used up."""
    left, out = list(plan), []
    while proxy.judgement is None and proxy.plant.shots_left and proxy.pending:
        fields = proxy.fields()
        while left and left[0].until and all(fields[name] for name in left[0].until):
            del left[0]
        if not left:
            break
        stage = left[0] if left[0].until else left.pop(0)
        aim = aim_of(proxy, stage)
        azimuth, elevation, draw = disturb
        out.append(proxy.fire(Aim(aim.azimuth + azimuth, aim.elevation + elevation, aim.draw + draw)))
    proxy.advance(8.0)
    return out


def as_json(plan: Sequence[Stage]) -> dict[str, Any]:
    """The content of a plan file."""
    return {
        "shots": [
            {
                "hit": stage.hit,
                "offset": [round(float(v), 4) for v in stage.offset],
                "elevation": round(float(np.degrees(stage.elevation)), 2),
                "until": list(stage.until),
            }
            for stage in plan
        ]
    }
