"""The agent's requests, checked. What fails here has no effect on the environment."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from images.client.wire import Attachment
from images.gateway.environment import LEVELS, Camera, Field

VERSION = 1
MAX_PICTURES = 8  # of one observe, so that a stop of the host never waits long
MIN_PICTURE_SIDE = 8
KEYS = {
    "describe": frozenset(("v", "id", "op")),
    "observe": frozenset(("v", "id", "op", "fields", "pictures")),
    "step": frozenset(("v", "id", "op", "fields", "action")),
    "finish": frozenset(("v", "id", "op")),
}


class RequestError(ValueError):
    """A refused request. ``kind`` is one of the error kinds of docs/protocol.md; ``terminal`` goes with ``ended``."""

    def __init__(self, kind: str, text: str, terminal: dict[str, Any] | None = None) -> None:
        super().__init__(text)
        self.kind = kind
        self.terminal = terminal


@dataclass(frozen=True)
class Picture:
    camera: str
    width: int
    height: int


def check_envelope(header: Mapping[str, Any], attachments: Mapping[str, Attachment]) -> str:
    """The operation of a request whose version, keys and attachments are those of that operation."""
    version = header.get("v")
    if type(version) is not int or version != VERSION:  # 1.0 and true are equal to 1
        raise RequestError("bad_request", f"v must be the integer {VERSION}, the only version that this gateway speaks")
    op = header.get("op")
    keys = KEYS.get(op) if isinstance(op, str) else None
    if keys is None:
        raise RequestError("unknown_operation", f"op {_short(op)} is not one of {', '.join(KEYS)}")
    if not header.keys() <= keys:
        extra = min(header.keys() - keys)
        raise RequestError("bad_request", f"{op} has no field {_short(extra)}; it has {', '.join(sorted(keys))}")
    if attachments and (op != "step" or attachments.keys() != {"actions"}):
        raise RequestError("bad_request", "only step has an attachment, and its name is actions")
    return str(op)


class Permissions:
    """What one session may read: fields up to its level, and the cameras when pictures are enabled."""

    def __init__(self, level: str, fields: list[Field], cameras: list[Camera], pictures: bool) -> None:
        self._rank = LEVELS.index(level)
        self._level = level
        self._all = {field.name: field for field in fields}
        self._cameras = {camera.name: camera for camera in cameras}
        self._pictures = pictures
        self._checked: tuple[list[str], list[Field]] = ([], [])
        if len(self._all) != len(fields) or len(self._cameras) != len(cameras):
            raise ValueError("two fields or two cameras have the same name")

    def allows(self, level: str) -> bool:
        return LEVELS.index(level) <= self._rank

    def fields(self) -> list[Field]:
        return [field for field in self._all.values() if self.allows(field.level)]

    def cameras(self) -> list[Camera]:
        return list(self._cameras.values()) if self._pictures else []

    def check_fields(self, names: Any) -> list[Field]:
        """The permitted fields with these names; None stands for none."""
        if names is None:
            return []
        if names == self._checked[0]:  # most clients ask for the same ones with every step
            return self._checked[1]
        if not isinstance(names, list) or not all(type(name) is str for name in names):
            raise RequestError("bad_request", "fields must be a list of field names")
        if len(set(names)) != len(names):
            raise RequestError("bad_request", "fields names a field twice")
        found = []
        for name in names:
            field = self._all.get(name)
            if field is None:
                known = ", ".join(field.name for field in self.fields())
                raise RequestError("unknown_field", f"field {_short(name)} does not exist; readable are {known}")
            if not self.allows(field.level):
                raise RequestError(
                    "not_permitted", f"field {name} needs level {field.level}; this session has {self._level}"
                )
            found.append(field)
        self._checked = (names, found)
        return found

    def check_pictures(self, wanted: Any) -> list[Picture]:
        if wanted is None:
            return []
        if not isinstance(wanted, list) or len(wanted) > MAX_PICTURES:
            raise RequestError("bad_request", f"pictures must be a list of at most {MAX_PICTURES} objects")
        return [self._check_picture(item) for item in wanted]

    def _check_picture(self, item: Any) -> Picture:
        if not isinstance(item, dict) or type(item.get("camera")) is not str or item.keys() - _PICTURE_KEYS:
            raise RequestError("bad_request", 'a picture is {"camera": name, "width": pixels, "height": pixels}')
        camera = self._cameras.get(item["camera"])
        if camera is None:
            known = ", ".join(self._cameras) or "none"
            raise RequestError("unknown_camera", f"camera {_short(item['camera'])} does not exist; cameras: {known}")
        if not self._pictures:
            raise RequestError("not_permitted", "this session has no pictures; the run did not ask for them")
        ratio = camera.width / camera.height
        width = height = None
        if item.get("width") is not None:
            width = _side("width", item["width"], camera.width)
        if item.get("height") is not None:
            height = _side("height", item["height"], camera.height)
        if width is None:
            width = camera.width if height is None else max(1, round(height * ratio))
        if height is None:
            height = max(1, round(width / ratio))
        # Another shape would show another field of view than the published calibration says.
        if abs(width - height * ratio) > 1.0 and abs(height - width / ratio) > 1.0:
            raise RequestError(
                "bad_request",
                f"{width} x {height} has not the shape of camera {camera.name} ({camera.width} x {camera.height}); "
                "give only the width or only the height",
            )
        return Picture(camera.name, width, height)


_PICTURE_KEYS = frozenset(("camera", "width", "height"))


def _side(name: str, value: Any, limit: int) -> int:
    if type(value) is not int or not MIN_PICTURE_SIDE <= value <= limit:
        text = f"{name} {_short(value)} is not between {MIN_PICTURE_SIDE} and {limit} pixels"
        raise RequestError("bad_request", text)
    return value


class ActionFault(ValueError):
    """An action of a well-formed request breaks the schema: the attempt ends."""


def read_actions(header: Mapping[str, Any], attachments: Mapping[str, Attachment], dimension: int) -> np.ndarray:
    """float64 (n, dimension), n >= 1. Raises RequestError for a malformed request, ActionFault for a wrong action."""
    array = attachments.get("actions")
    if ("action" in header) == (array is not None):
        raise RequestError("bad_request", "step takes either action or the attachment actions")
    if array is None:
        return _from_list(header["action"], dimension)
    if not isinstance(array, np.ndarray) or array.dtype != np.float64 or array.ndim != 2 or not len(array):
        raise RequestError("bad_request", "the attachment actions must be a float64 array [n, dim] with n >= 1")
    if array.shape[1] != dimension:
        raise ActionFault(f"actions have {array.shape[1]} components, the controls are {dimension}")
    return array


def _from_list(action: Any, dimension: int) -> np.ndarray:
    if not isinstance(action, list):
        raise ActionFault(f"action is {type(action).__name__}, not a list of {dimension} numbers")
    if len(action) != dimension:
        raise ActionFault(f"action has {len(action)} components, the controls are {dimension}")
    if any(type(value) is not float and type(value) is not int for value in action):
        raise ActionFault("action has a component that is not a number")
    try:
        return np.array([action], dtype=np.float64)
    except OverflowError:
        raise ActionFault("action has a component beyond float64") from None


def _short(value: Any) -> str:
    """A value of the peer for an error text; only plain ones, because the repr of a deep nesting would raise."""
    return repr(value)[:80] if isinstance(value, str | int | float | None) else f"of type {type(value).__name__}"
