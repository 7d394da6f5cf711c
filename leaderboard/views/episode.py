"""One attempt: the verdict with its clause, what the protocol makes of it, and the fields of its record."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from leaderboard.blocks import Block, Page, data_of, page
from leaderboard.markup import Safe, code, facts, join, link, moment, notice, seconds, table, tag, whole
from leaderboard.public import inline, public_value
from leaderboard.source import Attempt, Entry, ordinals
from leaderboard.views import parts
from leaderboard.words import CLAUSE_TEXT, ELSEWHERE, INCIDENTS
from manifests.load import load
from manifests.records import AttemptRecord
from manifests.words import count
from runner.store.decisions import Decision


def verdict(entry: Entry, attempt: Attempt, replay: dict[str, Any] | None) -> Page:
    """The top of the page: what it was, how it ended, and why."""
    row, record = attempt.row, attempt.record
    catalog = load().environments.get(row.environment_id)
    title = catalog.title if catalog and catalog.title else row.environment_id
    number = parts.attempt_name(attempt.ordinal, row.sequence)
    where = link(row.environment_id, task=row.environment_id, setting=entry.setting.id)
    blocks: list[Block | Safe] = [
        parts.head(link(entry.run.name, run=entry.run.name), tag("span", f"attempt {number}", aria_current="page")),
        tag("h1", title),
        tag(
            "p",
            where,
            f" · condition {row.condition} · {_nth(attempt.ordinal)}ledger sequence {row.sequence} · ",
            parts.agent_name(entry),
            class_="quiet",
        ),
        _around(entry, attempt),
    ]
    name = f"Attempt {number} of {entry.run.name}"
    if record is None and row.state == "closed":
        why = notice("This attempt was made elsewhere.", tag("p", "There is no record of it, only what its file says."))
        judged = attempt.judged
        outcome = " ".join(filter(None, (judged["outcome"], judged["code"])))
        protocol = join((tag("strong", judged["status"]), ": ", judged["reason"]))
        pairs = [("Outcome", outcome), ("Protocol", protocol), ("Incident", INCIDENTS[judged["incident"]])]
        return page(name, *blocks, why, facts(pairs))
    if record is None:
        words = "It began and has not ended." if row.state == "began" else "It was opened and has not begun."
        said = notice("This attempt has no record yet.", tag("p", f"{words} Opened {moment(row.opened_at)}."))
        return page(name, *blocks, said)
    return page(name, *blocks, tag("h2", "Verdict"), _verdict(attempt, record, replay))


def _around(entry: Entry, attempt: Attempt) -> Safe:
    """To the other attempts at the condition, and to those before and after it in the ledger."""
    rows = entry.report["attempts"]
    numbers, here = ordinals(rows), attempt.row.sequence
    if here not in numbers:
        return Safe("")
    place = attempt.row.environment_id, attempt.row.condition
    found = [row for row in rows if (row["environment_id"], row["condition"]) == place]
    items = [
        tag("span", parts.attempt_name(numbers[here], here), aria_current="true")
        if row["sequence"] == here
        else parts.mark(entry.run.name, row, numbers[row["sequence"]])
        for row in found
    ]
    order = [row["sequence"] for row in rows]
    at = order.index(here)
    steps = {"previous in the ledger": order[at - 1 : at], "next in the ledger": order[at + 1 : at + 2]}
    items += [link(label, run=entry.run.name, attempt=to) for label, sequences in steps.items() for to in sequences]
    listed = tag("ol", *(tag("li", item) for item in items))
    return tag("nav", tag("span", "Attempts at this condition:"), listed, class_="choice", aria_label="Other attempts")


def _nth(ordinal: int | None) -> str:
    return "" if ordinal is None else f"attempt {ordinal} at it · "


def record_of(record: AttemptRecord) -> Page:
    """The rest of the page: the fields of the record."""
    blocks: list[Block | Safe] = [
        tag("h2", "Course and usage"),
        _course(record),
        tag("h2", "Where it ran"),
        _place(record),
    ]
    if record.realized:
        blocks += [tag("h2", "Initial state as realized"), facts(sorted(record.realized.items()))]
    whole_record = public_value(record.model_dump(mode="json"))
    fields = data_of(f"record-{record.sequence}", ("field", "value"), _leaves(whole_record))
    blocks.append(Block(tag("p", "All fields of the record, to download:", class_="quiet"), fields))
    return page("", *blocks, *_evidence(record), _artifacts(record))


def _leaves(value: Mapping[str, Any], path: str = "") -> Iterator[tuple[str, str | None]]:
    """Dotted path and value of every field; a list is one value."""
    for name, item in value.items():
        where = f"{path}.{name}" if path else name
        if isinstance(item, Mapping) and item:
            yield from _leaves(item, where)
        else:
            yield where, None if item is None else inline(item)


def _evidence(record: AttemptRecord) -> list[Safe]:
    """What the runner kept of how the attempt ended: exit codes, logs, tracebacks, the provider's answers."""
    kept = {name: value for name, value in sorted(record.evidence.items()) if name not in ELSEWHERE}
    pairs = [(name.replace("_", " "), tag("pre", code(value))) for name, value in kept.items()]
    return [tag("h2", "Evidence"), facts(pairs) if pairs else tag("p", "The runner noted nothing besides.")]


def _verdict(attempt: Attempt, record: AttemptRecord, replay: dict[str, Any] | None) -> Safe:
    judged = attempt.judged
    manifests, name = load(), parts.outcome_state(judged["outcome"], judged["status"], judged["incident"])
    cause = manifests.causes.get(judged["cause"] or "")
    pairs: list[tuple[str, Any]] = [
        ("Outcome", parts.state(name, judged["outcome"] or "open")),
        ("Protocol", join((tag("strong", judged["status"]), ": ", judged["reason"]))),
        ("Cause", join((code(judged["cause"] or "not ruled"), " ", cause.text if cause else "no table has it"))),
    ]
    if judged["code"]:
        words = manifests.codes.get(judged["code"], "no table has this code")
        pairs.append(("Code", join((code(judged["code"]), " ", words))))
    if judged["incident"] != "none":
        pairs.append(("Incident", INCIDENTS[judged["incident"]]))
    state = attempt.state
    if state.ruled is not None:
        pairs.append(("Recorded before the ruling", f"{record.outcome}, {record.cause}, {record.code or 'no code'}"))
    if state.binding is not None:
        pairs.append(("Decision", _decision(state.binding)))
    pairs += [("Proposal, does not bind", _decision(proposal)) for proposal in state.proposals]
    if violation := record.violation:
        told = violation.data.get(CLAUSE_TEXT, "the record does not quote it")
        clause = join((code(violation.clause), " ", told)) if violation.clause else "none named"
        pairs += [("First violation", violation.text or "no text"), ("Clause", clause)]
        if violation.simulated_s is not None:
            pairs.append(("At", f"{violation.simulated_s:.2f} s of simulated time"))
        above = {CLAUSE_TEXT, "simulated_s"}
        pairs += [(name, _short(value)) for name, value in sorted(violation.data.items()) if name not in above]
    elif record.text:
        pairs.append(("Text", tag("pre", record.text)))
    pairs.append(("Replay", _replay(replay)))
    return facts(pairs)


def _replay(found: dict[str, Any] | None) -> str:
    """What the stored audit of the run found when it ran the actions again."""
    if found is None:
        return "not replayed in a stored audit"
    if found.get("status") == "failed":
        return f"could not be replayed: {found.get('why')}"
    words = {"same": "the same", "diverged": "diverged"}
    given = found.get("divergence")
    apart = given if isinstance(given, Mapping) else {}
    where = f", first in {apart.get('field')} by action {apart.get('by')}" if apart else ""
    actions = found.get("actions")
    number = count(actions, "action") if isinstance(actions, int) else "an unknown number of actions"
    return f"{words.get(str(found.get('status')), 'unknown')} over {number}{where}"


def _decision(decision: Decision) -> str:
    who = f"{decision.reviewer} (ledger entry {decision.sequence})"
    return f"{decision.decision} by {who}: {decision.payload.get('reason')}"


def _course(record: AttemptRecord) -> Safe:
    budgets, usage = record.settings.budgets, record.usage
    tokens = None
    if usage.tokens_input is not None and usage.tokens_output is not None:
        tokens = usage.tokens_input + usage.tokens_output
    note = " (estimated)" if usage.estimated else ""
    cached_part = "unknown" if usage.tokens_cached is None else f"{usage.tokens_cached:,}"
    split = f"; input {whole(usage.tokens_input)}, of it cached {cached_part}, output {whole(usage.tokens_output)}"
    return facts(
        [
            ("Opened", moment(record.opened_at)),
            ("Agent began", moment(record.began_at)),
            ("Closed", moment(record.closed_at)),
            ("Wall time", f"{seconds(record.wall_s)} of {seconds(budgets.wall_s)}"),
            ("Time to success", seconds(record.success_wall_s) if record.success_wall_s is not None else "–"),
            ("Simulated time", f"{seconds(record.simulated_s)} of {seconds(budgets.simulated_s)}"),
            ("Actions", f"{record.actions:,} of {budgets.actions:,}"),
            ("Pictures read", whole(record.image_reads)),
            ("Pictures sent to the model", _of(usage.images_sent, budgets.images)),
            ("Model calls", whole(usage.model_calls)),
            ("Tokens", f"{_of(tokens, budgets.tokens)}{note}{split}"),
            ("Cost", "unknown" if usage.cost_usd is None else f"${usage.cost_usd:.4f}"),
        ]
    )


def _of(used: int | None, limit: int | None) -> str:
    return f"{whole(used)}, no limit" if limit is None else f"{whole(used)} of {limit:,}"


def _place(record: AttemptRecord) -> Safe:
    agent, settings = record.agent, record.settings
    images = [f"{image.role}: {image.content}" for image in record.images]
    return facts(
        [
            ("Runtime", f"{record.runtime}, {'official' if record.official else 'not official'}"),
            ("Engine", f"{settings.engine}, profile {settings.profile}, mode {settings.mode}"),
            ("Fingerprint", _named(record.fingerprint) if record.fingerprint else "unknown"),
            ("Images", join((code(image) for image in images), "<br>") if images else "none: no containers"),
            ("Agent", f"{agent.get('name')} {agent.get('version')}"),
            ("Agent digest", code(agent.get("digest"))),
            ("Model", agent.get("model") or "none"),
            ("Parameters", _named(agent.get("parameters")) if agent.get("parameters") else "none"),
            ("Access", f"{settings.level}, grants: {', '.join(settings.grants) or 'none'}"),
            ("Versions", _named(settings.versions)),
            ("Final state digest", code(record.final_digest or "unknown")),
            ("Attempt id", code(record.attempt)),
        ]
    )


def _named(value: Any) -> str:
    """Names with their values, instead of braces and quotes."""
    if not isinstance(value, Mapping):
        return inline(value)
    shown = public_value(value)
    return "; ".join(f"{name.replace('_', ' ')} {_listed(item)}" for name, item in shown.items())


def _short(value: Any) -> Any:
    """A measured number to six digits; the record, to download, has all of them."""
    return f"{value:.6g}" if isinstance(value, float) else value


def _listed(value: Any) -> str:
    return ", ".join(map(inline, value)) if isinstance(value, list) else inline(value)


def _artifacts(record: AttemptRecord) -> Block | Safe:
    if not record.artifacts:
        return tag("p", "This attempt has no stored files.")
    rows = [[item.name, item.media_type, count(item.size, "byte"), code(item.sha256)] for item in record.artifacts]
    plain = [[item.name, item.media_type, item.size, item.sha256] for item in record.artifacts]
    shown = table("Stored files", ("File", "Type", "Size", "SHA-256"), rows, kind="cards")
    return Block(shown, data_of(f"files-{record.sequence}", ("file", "type", "bytes", "sha256"), plain))
