"""Words and signs of the pages. A state never shows by colour alone: it has a sign and a word."""

from __future__ import annotations

SIGNS = {
    "success": "✓",
    "failure": "✕",
    "invalid": "!",
    "candidate": "?",
    "missing": "–",
    "open": "…",
    "excluded": "⊘",
}

STATES = {
    "success": "solved within the scored attempts",
    "failure": "not solved; the code says why",
    "candidate": "an infrastructure fault is claimed and not decided",
    "invalid": "neither success nor failure counts",
    "missing": "no scored attempt yet",
    "excluded": "confirmed infrastructure fault, takes no opportunity",
}

LEVELS = {
    "L0": "pictures, proprioception, camera calibration, public parameters",
    "L1": "L0 and granted perception or planning tools",
    "L2": "L1 and granted grasp or contact models",
    "L3": "L2 and declared read-only simulator fields",
}

INCIDENTS = {
    "none": "none claimed",
    "candidate": "infrastructure fault claimed, not decided",
    "confirmed": "infrastructure fault, confirmed",
    "rejected": "infrastructure fault claimed and rejected",
}

CLAUSE_TEXT = "clause_text"  # key of a violation's data: the clause as the agent was told it

ELSEWHERE = ("choices",)  # fields of evidence that the page of an attempt shows as its steps

EVALUATE = "make evaluate MODEL=reference SUBSET=smoke"
