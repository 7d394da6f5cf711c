"""The exact random baseline over the public seeds, beside the published one: ``python -m images.kidgym.baseline``.

Published figures were read off the text's chart; it gives none for six tasks.
"""

from __future__ import annotations

from fractions import Fraction

from images.kidgym.catalog import LEVELS, NAMES
from images.kidgym.generate import generate
from images.kidgym.solve import chance

PUBLIC_SEEDS = range(100)
"""Seeds of the public list, the same for every task and level."""

PUBLISHED: dict[str, tuple[float, float, float]] = {
    "CL": (0.24, 0.04, 0.02),
    "SE": (0.25, 0.07, 0.02),
    "SO": (0.50, 0.08, 0.04),
    "MA": (0.38, 0.16, 0.12),
    "CO": (0.15, 0.05, 0.03),
    "MMA": (0.05, 0.0, 0.0),
}


def baseline(code: str, level: int) -> Fraction:
    """The mean chance of a random player over the public seeds."""
    return sum((chance(generate(code, level, seed)) for seed in PUBLIC_SEEDS), Fraction(0)) / len(PUBLIC_SEEDS)


def table() -> str:
    """Markdown: exact and published success of random play, one row for each task."""
    lines = ["| task | exact, level 1 | 2 | 3 | published, level 1 | 2 | 3 |", "| --- |" + " --- |" * 6]
    for code, name in NAMES.items():
        exact = [f"{float(baseline(code, level)):.4f}" for level in LEVELS]
        published = [f"{rate:.2f}" for rate in PUBLISHED[code]] if code in PUBLISHED else ["-"] * 3
        lines.append(f"| {code} {name} | {' | '.join(exact)} | {' | '.join(published)} |")
    return "\n".join(lines)


if __name__ == "__main__":
    print(table())
