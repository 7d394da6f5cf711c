"""The client SDK of Assay: ``from images.client import connect`` (see :mod:`images.client.sdk`)."""

from images.client.sdk import ActionError, Client, ConnectionLost, EpisodeEnded, GatewayError, connect

__all__ = ["ActionError", "Client", "ConnectionLost", "EpisodeEnded", "GatewayError", "connect"]
