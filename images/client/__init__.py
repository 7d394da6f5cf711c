"""The client SDK of Assay: ``from images.client import connect`` (see :mod:`images.client.sdk`).

It is loaded when a name of it is asked for: the gateway and the runner need the frames of this package alone.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from images.client.sdk import ActionError, Client, ConnectionLost, EpisodeEnded, GatewayError, connect

__all__ = ["ActionError", "Client", "ConnectionLost", "EpisodeEnded", "GatewayError", "connect"]


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from images.client import sdk

    return getattr(sdk, name)
