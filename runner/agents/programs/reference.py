"""The reference agent: everything that it knows is in its own sandbox image (grant reference-kit)."""

from images.reference import solve

solve(report=globals()["note"])  # the sandbox's worker defines note(): a line for the progress display
