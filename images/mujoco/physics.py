"""What every plant does with MuJoCo: hear its warnings, and prove its state."""

from __future__ import annotations

import hashlib
import itertools
import re
from collections.abc import Collection
from typing import Any

import mujoco
import numpy as np

from images.gateway.environment import PhysicsSanityError

# ``check`` turns the warning counters into a fault; MuJoCo's own handler would write a log into the working folder.
mujoco.set_mju_user_warning(lambda text: None)


def check(numbers: np.ndarray, time: float) -> None:
    """``numbers`` is ``data.warning.number``. Raises PhysicsSanityError when one of them has gone up."""
    if np.count_nonzero(numbers):
        kinds = [mujoco.mjtWarning(int(i)).name for i in np.nonzero(numbers)[0]]
        raise PhysicsSanityError(f"MuJoCo warned by {time:.3f} s: {', '.join(kinds)}")


def state_digest(model: Any, data: Any) -> Any:
    """A SHA-256 that has taken the exact state of integration; what else belongs to the state may be added."""
    spec = mujoco.mjtState.mjSTATE_INTEGRATION
    state = np.empty(mujoco.mj_stateSize(model, spec))
    mujoco.mj_getState(model, data, state, spec)
    return hashlib.sha256(state.tobytes())


def overlaps(model: Any, data: Any, least: float, fixed: Collection[int] = ()) -> list[tuple[int, int, float]]:
    """Geoms that overlap by more than ``least`` (m) in the pose of ``data``, and by how much, asleep or not: what
    sleeps hides its contacts. Fixed geoms never collide with each other; of their pairs those are looked at that have
    one of ``fixed``."""
    sleep = int(mujoco.mjtEnableBit.mjENBL_SLEEP)
    asleep = model.opt.enableflags & sleep
    model.opt.enableflags &= ~sleep
    mujoco.mj_kinematics(model, data)
    mujoco.mj_comPos(model, data)
    mujoco.mj_collision(model, data)
    model.opt.enableflags |= asleep
    contacts = zip(data.contact.geom.tolist(), data.contact.dist.tolist(), strict=True)
    found = [(first, second, -distance) for (first, second), distance in contacts if distance < -least]
    for first, second in _fixed_pairs(model, fixed):
        depth = -mujoco.mj_geomDistance(model, data, first, second, 2 * least, None)
        if depth > least:
            found.append((first, second, depth))
    return found


def _fixed_pairs(model: Any, chosen: Collection[int]) -> list[tuple[int, int]]:
    """Pairs of solid fixed geoms of two bodies, with at least one of ``chosen``; the floor is below all of them."""
    if not chosen:
        return []
    solid = (model.geom_contype | model.geom_conaffinity) != 0
    still = model.body_weldid[model.geom_bodyid] == 0
    plane = model.geom_type == int(mujoco.mjtGeom.mjGEOM_PLANE)
    geoms, body = np.nonzero(solid & still & ~plane)[0].tolist(), model.geom_bodyid
    return [
        (first, second)
        for first, second in itertools.combinations(geoms, 2)
        if (first in chosen or second in chosen) and body[first] != body[second]
    ]


def repeated_name(refusal: Exception) -> str | None:
    """The name that MuJoCo refuses because it stands twice in a model, if that is why."""
    found = re.search(r"repeated name '([^']+)'", str(refusal))
    return found[1] if found else None
