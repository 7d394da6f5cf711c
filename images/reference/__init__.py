"""The reference agent: solves environments through the public operations only (design: 'Agents').

It runs in a sandbox image of its own with access level L3 and the recorded grant ``reference-kit``. Each task family
keeps its agent beside its environment; what the families share lives here.
"""

from images.reference.entry import NoReference, solve

__all__ = ["NoReference", "solve"]
