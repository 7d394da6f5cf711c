"""What every plant does with MuJoCo: hear its warnings, and prove its state."""

from __future__ import annotations

import hashlib
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
