"""The reference agent: everything that it knows is in its own sandbox image (grant reference-kit)."""

from images.reference import solve
from images.sandbox.notes import note

solve(report=note)
