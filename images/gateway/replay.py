"""Pictures of recorded states, drawn for the host after the episode, in a process of its own.

The environment is made from the specification of the attempt and never steps. No agent is connected and nothing is
judged; the host sends states and gets raw pictures, one frame each, so that it can compress while the next is drawn.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

import numpy as np

from images.client.wire import Attachment
from images.gateway.engine import EXIT_FAULT, Engine, fault_header, probe_pictures
from images.gateway.environment import Environment
from images.gateway.host import Host
from images.gateway.plain import plain
from images.gateway.spec import parse_spec


class Replay:
    """``run`` returns the exit code."""

    def __init__(self, engine: Engine, host: Host, backend: str | None) -> None:
        self._engine, self._host, self._backend = engine, host, backend

    def run(self, raw: Any) -> int:
        """Answer the ``draw`` frames of the host until it has gone."""
        try:
            spec = parse_spec(raw)
            environment = self._engine.create({**spec.raw, "pictures": True})
            ready = {
                "op": "ready",
                "realized": plain(environment.realized()),
                "cameras": [plain(asdict(camera)) for camera in environment.cameras()],
                "pictures": probe_pictures(environment, self._backend),
            }
            self._host.send(ready)
            while (frame := self._host.receive()) is not None:
                self._draw(environment, *frame)
        except Exception as error:
            header = fault_header("initialization_error", error)
            sys.stderr.write(header["traceback"])
            self._host.send(header)
            return EXIT_FAULT
        return 0

    def _draw(self, environment: Environment, header: Mapping[str, Any], parts: Mapping[str, Attachment]) -> None:
        """One ``drawn`` frame for each state, with a picture of each view. Raises ValueError for what does not fit."""
        states, views = parts.get("states"), _views(header.get("views"))
        if not isinstance(states, np.ndarray) or states.ndim != 2:
            raise ValueError("draw: states is not an array of one row for each picture")
        expected = environment.state().shape
        if states.shape[1:] != expected:
            raise ValueError(f"draw: the recorded states have {states.shape[1]} numbers, this scene's {expected[0]}")
        shadows = header.get("shadows") is True
        for index, state in enumerate(states):
            pictures: dict[str, Attachment] = {}
            for number, (camera, width, height) in enumerate(views):
                picture = environment.redraw(state, camera, width, height, shadows=shadows)
                pictures[f"picture/{number}"] = np.ascontiguousarray(picture)
            self._host.send({"op": "drawn", "index": index}, pictures)


def _views(raw: Any) -> list[tuple[str, int, int]]:
    """(camera, width, height) of each. Raises ValueError."""
    found = []
    for view in raw if isinstance(raw, list) else ():
        camera, width, height = (view.get(key) for key in ("camera", "width", "height"))
        if not isinstance(camera, str) or type(width) is not int or type(height) is not int:
            raise ValueError(f"draw: the view {view!r} is not a camera, a width and a height in pixels")
        found.append((camera, width, height))
    if not found:
        raise ValueError("draw: views is not a list of cameras with their sizes")
    return found
