"""Cameras of a scene: as MJCF, and their public calibration."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from images.gateway.environment import Camera
from images.mujoco.embodiment import Mount

SIZE = 512  # pixels: native width and height of every camera
UP = (0.0, 0.0, 1.0)
Vector = tuple[float, float, float]


@dataclass(frozen=True)
class View:
    """A camera that stands still: position and look-at point (m), vertical field of view (degrees)."""

    position: Vector
    target: Vector
    fovy: float
    text: str


def rotation(position: Vector, target: Vector, upwards: Vector) -> np.ndarray:
    """Parent from camera, columns right, down, forward."""
    forward = np.subtract(target, position)
    forward = forward / np.linalg.norm(forward)
    right = np.cross(forward, upwards)
    right = right / np.linalg.norm(right)
    return np.stack([right, np.cross(forward, right), forward], axis=1)


def mounted(name: str, mount: Mount) -> str:
    """The camera on a body as MJCF, to be put into that body."""
    return _element(name, mount.position, rotation(mount.position, mount.target, mount.upwards), mount.fovy)


def standing(views: dict[str, View]) -> str:
    """Cameras that stand still as MJCF."""
    return "".join(
        _element(name, view.position, rotation(view.position, view.target, UP), view.fovy)
        for name, view in views.items()
    )


def _element(name: str, position: Vector, turned: np.ndarray, fovy: float) -> str:
    axes = " ".join(f"{v:.9g}" for v in (*turned[:, 0], *-turned[:, 1]))
    return f'<camera name="{name}" pos="{" ".join(map(str, position))}" xyaxes="{axes}" fovy="{fovy}"/>'


def calibrated(name: str, view: View) -> Camera:
    """Intrinsics and pose of a camera that stands still, at its native size."""
    pose = np.eye(4)
    pose[:3, :3], pose[:3, 3] = rotation(view.position, view.target, UP), view.position
    return _camera(name, pose, view.fovy, view.text)


def calibrated_mount(name: str, mount: Mount, pose: np.ndarray, place: str) -> Camera:
    """The same of a camera on ``place`` (``left hand``) whose pose (4, 4) is now ``pose``."""
    text = f"on the {place}; this is its pose at the start, camera_pose/{name} has the present one"
    return _camera(name, pose, mount.fovy, text)


def _camera(name: str, pose: np.ndarray, fovy: float, text: str) -> Camera:
    focal = SIZE / 2 / math.tan(math.radians(fovy) / 2)
    rows = tuple((float(a), float(b), float(c), float(d)) for a, b, c, d in pose)
    return Camera(name, SIZE, SIZE, (focal, focal, SIZE / 2, SIZE / 2), rows, text)


def present_pose(data: Any, camera: int) -> np.ndarray:
    """World from camera (4, 4), x right, y down, z forward; MuJoCo's cameras look along -z with y up."""
    pose = np.eye(4)
    pose[:3, :3] = data.cam_xmat[camera].reshape(3, 3) * [1, -1, -1]
    pose[:3, 3] = data.cam_xpos[camera]
    return pose
