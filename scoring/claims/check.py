"""The claims check: each figure by itself, then figures against each other (:mod:`scoring.claims.agree`)."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from typing import Any

from manifests.claims import ALL, MEAN, ClaimRow, Claims, LabelRow, Share, Total
from manifests.words import count

from . import agree
from .findings import Finding, result
from .rounding import ROUNDINGS, Printed, Rate
from .sums import TooMany, means
from .table import OPPORTUNITIES, Board, boards, place, printed_rate


def check(claims: Claims) -> dict[str, Any]:
    """Every finding on a file of claims, as plain data (:func:`scoring.claims.findings.result`)."""
    return result(claims.title, findings(claims))


def findings(claims: Claims) -> Iterator[Finding]:
    """In the order: rates and headlines row by row, rows against rows, totals, shares, labels."""
    found = boards(claims)
    for row in claims.rows:
        yield from _row(row, found[row.agent, row.subset])
    for board in found.values():
        yield from agree.board(board)
    for partition in claims.partitions:
        yield from agree.partition(partition, found)
    for total in claims.totals:
        yield _total(total)
    for share in claims.shares:
        yield from _share(share)
    for labels in claims.labels:
        yield _labels(labels)
    yield from agree.failed_attempts(claims.labels, found)


def _row(row: ClaimRow, board: Board) -> Iterator[Finding]:
    for k in OPPORTUNITIES:
        text = printed_rate(row, k)
        if text is None:
            continue
        if row.suite == MEAN:
            yield _headline(place(row, k), text, tuple(board.planned.values()))
        else:
            yield _rate(place(row, k), Rate.of(text, row.conditions))
    if row.pass_at_1 is not None and row.pass_at_2 is not None:
        first, second = Printed.of(row.pass_at_1).value, Printed.of(row.pass_at_2).value
        text = f"Pass@1 {row.pass_at_1} is {'not ' if first <= second else ''}above Pass@2 {row.pass_at_2}"
        yield Finding("order", place(row), first <= second, text)
    if row.successes is not None and row.failures is not None:
        sum_ = row.successes + row.failures
        text = f"{row.successes} successes + {row.failures} failures = {sum_}, of {row.conditions} conditions"
        yield Finding("counts", place(row), sum_ == row.conditions, text)
    elif row.successes is not None or row.failures is not None:
        count, name = (row.successes, "successes") if row.successes is not None else (row.failures, "failures")
        holds = (count or 0) <= row.conditions
        yield Finding("counts", place(row), holds, f"{count} {name} of {row.conditions} conditions")
    wanted = sum(board.planned.values()) if row.suite in (MEAN, ALL) else board.planned[row.suite]
    if wanted and row.conditions != wanted:
        text = f"{row.conditions} conditions declared, other rows of {row.subset} have {wanted}"
        yield Finding("conditions", place(row), False, text)


def _rate(where: str, rate: Rate) -> Finding:
    printed, planned = rate.printed.text, rate.planned
    data: dict[str, Any] = {"printed": printed, "outcomes": planned, "roundings": list(rate.roundings)}
    if not rate.counts:
        near = [rate.spelled(count) for count in rate.nearest]
        text = f"{printed} cannot come from {planned} binary outcomes; nearest: {' and '.join(near)}"
        return Finding("rate", where, False, text, data={**data, "counts": None, "nearest": near})
    first, last = rate.counts
    text = f"{printed} is {first if first == last else f'{first} to {last}'} of {planned}"
    return Finding(
        "rate",
        where,
        True,
        text + _remark(rate.roundings),
        remark=ROUNDINGS[0] not in rate.roundings,
        data={**data, "counts": [first, last], "nearest": []},
    )


def _headline(where: str, text: str, planned: tuple[int, ...]) -> Finding:
    """A mean in which every suite weighs the same: whether some count in each suite gives it."""
    printed, data = Printed.of(text), {"printed": text, "outcomes_by_suite": list(planned)}
    try:
        sums = means(planned)
    except TooMany as error:
        return Finding("headline", where, None, f"{text} was not decided: {error}", data=data)
    found = {name: sums.near(*printed.numerators(sums.denominator, name)) for name in ROUNDINGS}
    roundings = tuple(name for name, near in found.items() if near.inside is not None)
    data = {**data, "roundings": list(roundings), "nearest": []}
    suites = f"{count(len(planned), 'suite')} of {', '.join(map(str, planned))} binary outcomes"
    if roundings:
        return Finding(
            "headline",
            where,
            True,
            f"{text} is the mean of some counts in {suites}" + _remark(roundings),
            remark=ROUNDINGS[0] not in roundings,
            data=data,
        )
    ends = (found[ROUNDINGS[0]].below, found[ROUNDINGS[0]].above)
    near = [printed.like(Fraction(end, sums.denominator)) for end in ends if end is not None]
    text = f"{text} cannot be the mean of {suites}; nearest: {' and '.join(near)}"
    return Finding("headline", where, False, text, data={**data, "nearest": near})


def _remark(roundings: tuple[str, ...]) -> str:
    return "" if ROUNDINGS[0] in roundings else f", only when rounded {' or '.join(roundings)}"


def _total(total: Total) -> Finding:
    sum_ = sum(total.parts.values())
    parts = " + ".join(f"{count} {name}" for name, count in total.parts.items())
    text = f"{parts} = {sum_}, printed {total.total}"
    return Finding("total", total.name, sum_ == total.total, text, data={"sum": sum_, "printed": total.total})


def _share(share: Share) -> Iterator[Finding]:
    rate = Rate.of(share.percent, share.of)
    if share.count is None:
        yield _rate(share.name, rate)
        return
    value = Fraction(share.count, share.of)
    roundings = tuple(name for name in ROUNDINGS if rate.printed.contains(value, value, name))
    holds = share.count <= share.of and bool(roundings)
    text = f"{rate.spelled(share.count)}, printed {share.percent}" + (_remark(roundings) if holds else "")
    yield Finding("share", share.name, holds, text, remark=holds and ROUNDINGS[0] not in roundings)


def _labels(row: LabelRow) -> Finding:
    """An attempt has one label, so labels are no more than failed attempts."""
    sum_ = sum(row.labels.values())
    parts = " + ".join(f"{count} {name}" for name, count in row.labels.items())
    text = f"{parts} = {sum_} labels for {row.failed_attempts} failed attempts"
    where = f"{row.table}: {row.agent}, {row.subset}, {row.suite}"
    data = {"labels": sum_, "failed_attempts": row.failed_attempts}
    return Finding("labels", where, sum_ <= row.failed_attempts, text, data=data)
