"""Whether figures agree with each other: suites with the headline, attempts with rates, counts with rates, parts with
the whole. Where no count gives a rate, what it can be is taken as within one unit of what is printed, so that one
impossible figure is not reported again for every sum that it stands in."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from fractions import Fraction

from manifests.claims import ALL, MEAN, ClaimRow, LabelRow, Partition

from . import counts
from .findings import Finding, span
from .rounding import ROUNDINGS, Printed, Rate, Span, sum_of_counts
from .sums import TooMany, means
from .table import OPPORTUNITIES, Board, K, place, printed_rate

Boards = Mapping[tuple[str, str], Board]


def board(board: Board) -> Iterator[Finding]:
    """The figures of one agent on one subset."""
    for row in board.of(MEAN):
        for k in OPPORTUNITIES:
            yield from _average(row, k, board)
    for row in board.rows:
        yield from _attempts(row, board)
    yield from _tables(board)
    yield from counts.board(board)
    yield from _pooled_suites(board)


def _tables(board: Board) -> Iterator[Finding]:
    """Tables that print the same figure print the same number, as far as their decimals go."""
    yield from _tables_of_headlines(board)
    for (_, k), entries in board.printed.items():
        first, rate = entries[0]
        for row, other in entries[1:]:
            text = f"{row.table} prints {other.printed.text}, {first.table} prints {rate.printed.text}"
            yield Finding("agreement", place(row, k), _overlap(rate.bounds, other.bounds), text)
    for field in ("attempts", "successes", "failures"):
        seen: dict[str, ClaimRow] = {}
        for row in board.rows:
            number = getattr(row, field)
            if number is None:
                continue
            before = seen.setdefault(ALL if row.suite == MEAN else row.suite, row)  # both count all conditions
            if before is not row:
                wanted = getattr(before, field)
                text = f"{row.table} prints {number} {field}, {before.table} prints {wanted}"
                yield Finding("agreement", place(row), number == wanted, text)


def _tables_of_headlines(board: Board) -> Iterator[Finding]:
    for k in OPPORTUNITIES:
        headlines = [(row, Printed.of(text)) for row in board.of(MEAN) if (text := printed_rate(row, k)) is not None]
        for row, printed in headlines[1:]:
            before, other = headlines[0]
            shown = f"{row.table} prints {printed.text}, {before.table} prints {other.text}"
            yield Finding("agreement", place(row, k), _overlap(other.about, printed.about), shown)


def _overlap(first: tuple[Fraction, Fraction], second: tuple[Fraction, Fraction]) -> bool:
    return first[0] <= second[1] and second[0] <= first[1]


def _average(row: ClaimRow, k: K, board: Board) -> Iterator[Finding]:
    """The suite rows average to the headline."""
    text, rates = printed_rate(row, k), board.suite_rates(k)
    if text is None or rates is None:
        return
    low, high = (sum(ends, Fraction()) / len(rates) for ends in zip(*(r.bounds for r in rates.values()), strict=True))
    holds = any(Printed.of(text).contains(low, high, name) for name in ROUNDINGS)
    yield Finding("average", place(row, k), holds, f"the suite rows average to {span(low, high)}, printed {text}")


def _pooled_suites(board: Board) -> Iterator[Finding]:
    """A rate over all conditions alike is what the suites' rates pool to."""
    for k in OPPORTUNITIES:
        rates = board.suite_rates(k)
        for row, rate in board.printed.get((ALL, k), []) if rates else []:
            pooled = _pooled(list((rates or {}).values()))
            text = f"the rates of the suites pool to {span(*pooled)}, printed {rate.printed.text}"
            yield Finding("agreement", place(row, k), _overlap(pooled, rate.bounds), text)


def _attempts(row: ClaimRow, board: Board) -> Iterator[Finding]:
    """Attempts = conditions + first-attempt failures, where there is a second attempt; else attempts = conditions. What
    the first attempts solve is solved in the end."""
    if row.attempts is None:
        return
    if not board.second_attempts:
        text = f"{row.attempts} attempts for {row.conditions} conditions with one attempt each"
        yield Finding("attempts", place(row), row.attempts == row.conditions, text)
        return
    first = 2 * row.conditions - row.attempts
    text = f"{row.attempts} attempts for {row.conditions} conditions: {first} solved by the first"
    if not 0 <= first <= row.conditions:
        yield Finding("attempts", place(row), False, f"{text}, which is not from 0 to {row.conditions}")
        return
    most = counts.most_solved(row, board)
    if most is not None and first > most:
        yield Finding("attempts", place(row), False, f"{text}, and in the end {most} at most are solved")
        return
    found = _first_successes(row, board)
    if found is not None:
        shown = found[0] if found[0] == found[1] else f"{found[0]} to {found[1]}"
        yield Finding("attempts", place(row), found[0] <= first <= found[1], f"{text}; the rates give {shown}")
    elif row.suite == MEAN and row.pass_at_1 is not None:
        yield _attempts_and_headline(row, first, text, tuple(board.planned.values()))


def _first_successes(row: ClaimRow, board: Board) -> Span | None:
    """How many conditions the first attempts solve, by the row's own rate, by another table's, or by those of the
    suites; None where a rate is not printed or no count gives it."""
    if row.suite != MEAN:
        entries = board.printed.get((row.suite, 1), [])
        rates = [rate for other, rate in entries if other is row] or [rate for _, rate in entries[:1]] or None
    else:
        found = board.suite_rates(1)
        rates = list(found.values()) if found else None
    return sum_of_counts(rates) if rates else None


def _attempts_and_headline(row: ClaimRow, first: int, text: str, planned: tuple[int, ...]) -> Finding:
    """Whether counts exist that add up to ``first`` and whose mean is the headline."""
    printed = Printed.of(str(row.pass_at_1))
    try:
        free, counted = means(planned), means(planned, counted=True)
    except TooMany as error:
        return Finding("attempts", place(row), None, f"{text}; not decided: {error}")
    spans = [printed.numerators(free.denominator, name) for name in ROUNDINGS]
    if all(free.near(*ends).inside is None for ends in spans):
        return Finding("attempts", place(row), None, f"{text}; not decided: no counts have the mean {printed.text}")
    holds = any(counted.near(*ends, first).inside is not None for ends in spans)
    return Finding(
        "attempts", place(row), holds, f"{text}; {'some' if holds else 'no'} such counts have the mean {printed.text}"
    )


def partition(partition: Partition, found: Boards) -> Iterator[Finding]:
    """Conditions, attempts and successes of the parts add up to the whole's, for each agent that has them all."""
    for (agent, subset), whole in found.items():
        parts = [found.get((agent, part)) for part in partition.parts]
        if subset == partition.whole and None not in parts:
            present = [part for part in parts if part is not None]
            yield from _partition(whole, present)


def _partition(whole: Board, parts: list[Board]) -> Iterator[Finding]:
    names = " + ".join(part.subset for part in parts)
    for row in whole.rows:
        rows = [next((other for other in part.of(row.suite) if other.table == row.table), None) for part in parts]
        given = [other for other in rows if other is not None]
        if len(given) < len(rows):
            continue
        for field in ("conditions", "attempts", "successes", "failures"):
            numbers = [getattr(other, field) for other in given]
            total = getattr(row, field)
            if total is not None and None not in numbers:
                text = f"{names}: {' + '.join(map(str, numbers))} = {sum(numbers)} {field}, printed {total}"
                yield Finding("partition", place(row), sum(numbers) == total, text)
    for (suite, k), (row, rate) in whole.rates.items():
        if all((suite, k) in part.rates for part in parts):
            pooled = _pooled([part.rates[suite, k][1] for part in parts])
            low, high = rate.bounds
            text = f"{names}: the rates pool to {span(*pooled)}, printed {rate.printed.text}"
            yield Finding("partition", place(row, k), pooled[0] <= high and low <= pooled[1], text)


def _pooled(rates: list[Rate]) -> tuple[Fraction, Fraction]:
    planned = sum(rate.planned for rate in rates)
    low, high = (sum(rate.bounds[end] * rate.planned for rate in rates) / planned for end in (0, 1))
    return Fraction(low), Fraction(high)


def failed_attempts(labels: tuple[LabelRow, ...], found: Boards) -> Iterator[Finding]:
    """Failed attempts of a suite are its attempts less its successes; those of all suites likewise."""
    sums: dict[tuple[str, str], int] = {}
    for row in labels:
        sums[row.agent, row.subset] = sums.get((row.agent, row.subset), 0) + row.failed_attempts
        board = found.get((row.agent, row.subset))
        rates = [board.rates.get((row.suite, k)) for k in OPPORTUNITIES] if board else [None]
        given = [entry[1].counts for entry in rates if entry is not None and entry[1].counts is not None]
        if len(given) < len(OPPORTUNITIES):
            continue
        planned = next(entry[1].planned for entry in rates if entry is not None)
        low, high = (2 * planned - sum(count[end] for count in given) for end in (1, 0))
        where = f"{row.table}: {row.agent}, {row.subset}, {row.suite}"
        shown = low if low == high else f"{low} to {high}"
        text = f"{row.failed_attempts} failed attempts, the rates give {shown}"
        yield Finding("failed attempts", where, low <= row.failed_attempts <= high, text)
    for (agent, subset), failed in sums.items():
        yield from _all_failed_attempts(labels, failed, found.get((agent, subset)))


def _all_failed_attempts(labels: tuple[LabelRow, ...], failed: int, board: Board | None) -> Iterator[Finding]:
    if board is None:
        return
    suites = {row.suite for row in labels if (row.agent, row.subset) == (board.agent, board.subset)}
    attempts = [row for row in board.rows if row.attempts is not None and row.suite in (MEAN, ALL)]
    if not attempts or suites != board.planned.keys() or not board.successes.keys() >= suites:
        return
    row, solved = attempts[0], sum(board.successes[suite][1] for suite in suites)
    text = f"{failed} failed attempts in all suites, {row.attempts} attempts - {solved} successes"
    holds = failed == (row.attempts or 0) - solved
    yield Finding("failed attempts", place(row), holds, text)
