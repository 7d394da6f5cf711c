"""The agent's side of an attempt: a kernel that runs code in a worker and relays gateway requests.

Code that runs in the worker finds three names: ``env`` (a client of the episode, see :mod:`images.client`; it connects
with its first call), ``connect`` (for a second client) and ``note(text)`` (a line for the progress display).
"""

from images.sandbox.notes import note

__all__ = ["note"]
