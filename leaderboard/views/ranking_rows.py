"""The lines of a ranking: as a table to read, and as data to download."""

from __future__ import annotations

from typing import Any

from leaderboard import ranking
from leaderboard.blocks import Data, data_of
from leaderboard.markup import Safe, badge, join, link, moment, small, table, tag
from leaderboard.ranking import Row, Standing
from leaderboard.source import Entry
from leaderboard.views import parts
from manifests.words import count
from runner.store.status import EVALUATED

ASIDE = ("excluded", "extra", "candidate", "invalid", "pending")  # attempts that are not scored


def table_of(title: str, rows: tuple[Row, ...]) -> Safe:
    keys = ranking.pass_keys(rows[0].entry.report)
    names = rows[0].entry.report["names"]
    fours = [key for key in names if key.startswith("all_four")][-1]
    head = ["Rank", "Agent", *(names[key] for key in keys), names[fours], "Coverage", "Effort", "Made", "Last attempt"]
    return table(title, head, [_line(row, keys, fours) for row in rows], kind="cards ranking")


def _line(row: Row, keys: list[str], fours: str) -> list[Any]:
    entry, total = row.entry, row.entry.report["total"]
    names = entry.report["names"]
    agent = [tag("strong", link(parts.agent_name(entry), run=entry.run.name)), *parts.marks(entry)]
    agent += [tag("br"), small(entry.run.name)]
    if row.reasons:
        agent += [tag("br"), small("no rank: ", "; ".join(row.reasons))]
    return [
        tag("span", row.rank if row.rank is not None else "–", class_="rank"),
        join(agent),
        *(parts.rate(total["metrics"][key], names[key], parts.unit_of(key)) for key in keys),
        _all_four(total["metrics"][fours]),
        _coverage(entry),
        _effort(entry),
        _made(entry),
        moment(entry.updated_at),
    ]


def _all_four(metric: dict[str, Any]) -> Safe:
    return join((f"{parts.percent_cell(metric)} %", tag("br"), small(f"{metric['successes']} of {metric['planned']}")))


def _coverage(entry: Entry) -> Safe:
    total, counts = entry.report["total"], entry.report["ledger"]
    others = [f"{counts[name]} {name}" for name in ASIDE if counts[name]]
    groups = f"{total['groups_complete']} of {count(total['groups'], 'group')}"
    return join(
        (groups, tag("br"), f"{counts['scored']} scored", *(join((tag("br"), small(other))) for other in others))
    )


def _effort(entry: Entry) -> Safe:
    """Time@S, Tok@S and the money, each with what it is a mean or sum of."""
    total = entry.report["total"]
    time, tokens = total["time_at_success_s"], total["tokens_at_success"]
    cost = "unknown" if entry.cost_usd is None else f"${entry.cost_usd:,.2f}"
    priced = f" {entry.unpriced} unknown" if entry.unpriced and entry.cost_usd is not None else ""
    mean = tokens["mean"]
    return join(
        (
            join((small("Time@S "), parts.mean_cell(time, parts.duration(time["mean"])))),
            join((small("Tok@S "), parts.mean_cell(tokens, "" if mean is None else f"{mean:,.0f}"))),
            join((small("Cost "), cost, small(priced))),
        ),
        "<br>",
    )


def _made(entry: Entry) -> Safe:
    """Where it ran and who vouches for it."""
    runtime: list[Any] = [", ".join(entry.runtimes)]
    if entry.official is False or entry.run.kind != EVALUATED:
        runtime += [" ", badge("not official", "warn")]
    if entry.signer is not None:
        who = f"signed by {entry.signer.name or 'key'} {entry.signer.key[:12]}"
    else:
        who = "recorded here" if entry.run.kind == EVALUATED else "unsigned"
    return join((*runtime, tag("br"), small(who)))


def data(standing: Standing) -> Data:
    """A line for each run with every number that the table shows."""
    report = standing.rows[0].entry.report
    names: dict[str, str] = report["names"]
    columns = ["rank", "run", "agent", "kind", "state"]
    for key in names:
        columns += [f"{key}_{name}" for name in ("percent", *parts.BOUNDS, "successes", "planned")]
    columns += ["groups_complete", "groups", "scored_attempts", *ASIDE, "time_at_success_s", "tokens_at_success"]
    columns += ["successes", "cost_usd", "attempts_without_price", "runtime", "official", "signer", "last_attempt"]
    return data_of(f"ranking-{standing.setting.id}", columns, [_numbers(row, list(names)) for row in standing.rows])


def _numbers(row: Row, keys: list[str]) -> list[Any]:
    entry, total, counts = row.entry, row.entry.report["total"], row.entry.report["ledger"]
    found: list[Any] = [row.rank, entry.run.name, parts.agent_name(entry), entry.run.kind]
    found.append("ranked" if row.rank else "; ".join(row.reasons))
    for key in keys:
        metric = total["metrics"][key]
        rate = metric["balanced"]
        percent = None if rate["percent"] is None else float(rate["percent"])
        found += [percent, *parts.bounds(rate), metric["successes"], metric["planned"]]
    found += [total["groups_complete"], total["groups"], counts["scored"], *(counts[name] for name in ASIDE)]
    found += [total["time_at_success_s"]["mean"], total["tokens_at_success"]["mean"], total["successes"]]
    found += [entry.cost_usd, entry.unpriced, ", ".join(entry.runtimes), entry.official]
    return [
        *found,
        entry.signer.key if entry.signer else None,
        entry.updated_at.isoformat() if entry.updated_at else None,
    ]
