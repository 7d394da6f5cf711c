"""Robots by the name that an environment's id has in the middle."""

from __future__ import annotations

from images.mujoco.embodiment import Embodiment
from images.mujoco.floating_sharpa import FloatingSharpa
from images.mujoco.fr3_sharpa import Fr3Sharpa
from images.mujoco.single_panda import SinglePanda

EMBODIMENTS: dict[str, type[Embodiment]] = {
    "panda": SinglePanda,
    "fr3-sharpa": Fr3Sharpa,
    "floating-sharpa": FloatingSharpa,
}


def embodiment(name: str) -> Embodiment:
    """The robot of that name. Raises ValueError."""
    if name not in EMBODIMENTS:
        raise ValueError(f"embodiment {name!r} is unknown; there are: {', '.join(EMBODIMENTS)}")
    return EMBODIMENTS[name]()
