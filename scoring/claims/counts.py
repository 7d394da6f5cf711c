"""Whether printed numbers of conditions agree with the printed rates, and those of the suites with their sum."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from typing import Literal

from manifests.claims import ALL, MEAN, ClaimRow

from .findings import Finding, span
from .rounding import ROUNDINGS, Printed, sum_of_counts
from .table import Board, place

COLUMNS: tuple[Literal["attempts", "successes", "failures"], ...] = ("attempts", "successes", "failures")


def board(board: Board) -> Iterator[Finding]:
    """The numbers of one agent on one subset."""
    for row in board.rows:
        number = solved(row)
        if number is not None and 0 <= number <= row.conditions:
            yield from _rates(row, number, board)
    yield from _solved_and_not_solved(board)
    yield from _headline(board)
    yield from _sums(board)


def solved(row: ClaimRow) -> int | None:
    """Conditions that a row prints to be solved in the end, or leaves when those that were not are taken off."""
    if row.successes is not None or row.failures is None:
        return row.successes
    return row.conditions - row.failures


def most_solved(row: ClaimRow, board: Board) -> int | None:
    """How many conditions of a row are solved in the end at most, by what its own line prints, or else by what any
    other line prints of the same conditions; None where nothing is."""
    wholes = {MEAN, ALL}
    alike = [other for other in board.rows if other.suite == row.suite or {other.suite, row.suite} == wholes]
    for lines in ([row], alike):
        ends = [number for line in lines if (number := solved(line)) is not None]
        printed = [
            rate.counts
            for suite in (row.suite, ALL)
            for line, rate in board.printed.get((suite, 2), [])
            if line in lines
        ]
        ends += [counts[1] for counts in printed if counts is not None]
        if ends:
            return min(ends)
    rates = board.suite_rates(2) if row.suite in wholes else None
    counts = sum_of_counts(rates.values()) if rates is not None else None
    return counts[1] if counts is not None else None


def _rates(row: ClaimRow, number: int, board: Board) -> Iterator[Finding]:
    """What is solved in the end is Pass@2, in each table that prints it; without a second attempt it is Pass@1, and
    never below it."""
    shown = "" if row.successes is not None else f"{row.failures} failures leave "
    second = board.printed.get((row.suite, 2), [])
    for other, rate in second:
        holds = rate.counts is not None and rate.counts[0] <= number <= rate.counts[1]
        text = f"{shown}{rate.printed.spelled(number, row.conditions)}, {other.table} prints {rate.printed.text}"
        yield Finding("agreement", place(row, 2), holds, text)
    once = not board.second_attempts and _attempted_once(row, board)
    for other, rate in board.printed.get((row.suite, 1), []) if not second else []:
        if rate.counts is None:
            continue
        low, high = rate.counts
        holds = low <= number and (number <= high or not once)
        text = f"{shown}{rate.printed.spelled(number, row.conditions)}, {other.table} prints Pass@1 {rate.printed.text}"
        yield Finding("agreement", place(row, 1), holds, text + (" of one attempt each" if once else ""))
    if row.suite in (MEAN, ALL) and (rates := board.suite_rates(2)) is not None:
        span_ = sum_of_counts(rates.values())
        if span_ is not None:
            low, high = span_
            text = f"{shown}{number} solved, the rates of the suites give {low if low == high else f'{low} to {high}'}"
            yield Finding("agreement", place(row, 2), low <= number <= high, text)


def _attempted_once(row: ClaimRow, board: Board) -> bool:
    """Whether as many attempts are printed as there are conditions."""
    return any(other.suite == row.suite and other.attempts == row.conditions for other in board.rows)


def _solved_and_not_solved(board: Board) -> Iterator[Finding]:
    """A table that prints only what was solved and one that prints only what was not agree."""
    for row, successes in board.numbers("successes").values():
        for other in board.of(row.suite):
            if other.failures is not None and other.successes is None and row.failures is None:
                sum_ = successes + other.failures
                text = (
                    f"{successes} successes in {row.table} + {other.failures} failures in {other.table} = {sum_}, "
                    f"of {row.conditions} conditions"
                )
                yield Finding("agreement", place(other), sum_ == row.conditions, text)


def _headline(board: Board) -> Iterator[Finding]:
    """The printed counts of all suites have the printed mean."""
    if not board.planned or not board.successes.keys() >= board.planned.keys():
        return
    rates = [Fraction(board.successes[suite][1], planned) for suite, planned in board.planned.items()]
    mean = sum(rates, Fraction()) / len(rates)
    for row in board.of(MEAN):
        if row.pass_at_2 is not None and mean <= 1:
            holds = any(Printed.of(row.pass_at_2).contains(mean, mean, name) for name in ROUNDINGS)
            table = board.successes[next(iter(board.planned))][0].table
            text = f"the counts of {table} average to {span(mean, mean)}, printed {row.pass_at_2}"
            yield Finding("agreement", place(row, 2), holds, text)


def _sums(board: Board) -> Iterator[Finding]:
    """The printed numbers of all suites add up to that of all conditions."""
    for field in COLUMNS:
        numbers = board.numbers(field)
        if not board.planned or not numbers.keys() >= board.planned.keys():
            continue
        sum_ = sum(numbers[suite][1] for suite in board.planned)
        verb = {"attempts": "have {} attempts", "successes": "solve {} conditions", "failures": "leave {} unsolved"}
        for whole in (ALL, MEAN):
            if whole in numbers:
                row, total = numbers[whole]
                text = f"the suites {verb[field].format(sum_)}, printed {total}"
                yield Finding("agreement", place(row), sum_ == total, text)
