"""The exact random baseline over the public seeds, beside the published one: ``python -m images.kidgym.baseline``."""

from __future__ import annotations

from fractions import Fraction

from images.kidgym.catalog import LEVELS, NAMES
from images.kidgym.generate import generate
from images.kidgym.solve import chance
from manifests.figures import figures

PUBLIC_SEEDS = range(100)
"""Seeds of the public list, the same for every task and level."""


def baseline(code: str, level: int) -> Fraction:
    """The mean chance of a random player over the public seeds."""
    return sum((chance(generate(code, level, seed)) for seed in PUBLIC_SEEDS), Fraction(0)) / len(PUBLIC_SEEDS)


def table() -> str:
    """Markdown: exact and published success of random play, one row for each task."""
    tables = [table for table in figures("kidgym") if table.origin == "published"]
    (published,) = [row.rates for table in tables for row in table.rows if row.kind == "chance"]
    lines = ["| task | exact, level 1 | 2 | 3 | published, level 1 | 2 | 3 |", "| --- |" + " --- |" * 6]
    for code, name in NAMES.items():
        exact = [f"{float(baseline(code, level)):.4f}" for level in LEVELS]
        lines.append(f"| {code} {name} | {' | '.join(exact)} | {' | '.join(published[code])} |")
    return "\n".join(lines)


if __name__ == "__main__":
    print(table())
