"""The agent's side of an attempt: a kernel that runs code in a worker and relays gateway requests.

Code that runs in the worker finds four names: ``env`` (a client of the episode, see :mod:`images.client`; it connects
with its first call), ``connect`` (for a second client), ``note(text)`` (a line for the progress display) and
``show(image)`` (a picture for the model).
"""

from images.sandbox.notes import note
from images.sandbox.pictures import show

__all__ = ["note", "show"]
