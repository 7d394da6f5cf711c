"""The rules in plain words, from the same manifests that the scoring reads."""

from __future__ import annotations

from leaderboard.blocks import Block, Page, data_of, page
from leaderboard.markup import Safe, code, facts, join, table, tag
from leaderboard.words import LEVELS
from manifests.load import load

WORDS = (
    ("Environment", "one scene with a robot and a goal, such as marble/dual-panda/A007; 'task' in the texts"),
    ("Condition", "a prescribed start of an environment, by number from 0: one of four; in KidGym an episode"),
    ("Attempt", "one episode at one condition: success, failure, or invalid"),
    ("Group", "an environment under one setting: seed, mode, access level, tools, budgets, versions"),
    ("Run", "one agent setting over one subset"),
    ("Incident", "an infrastructure fault claimed for an attempt, with evidence"),
    ("Setting", "everything a score depends on besides the agent; two settings never share a table"),
)
RULES = (
    "Success means that every condition of the goal held for its prescribed time. It is decided by the simulator's own "
    "evaluator, which the agent cannot reach; the first violation or success binds.",
    "Every rule and threshold that can end an episode is told to the agent beforehand, as a numbered clause.",
    "An attempt starts in fresh containers without a network; nothing of an earlier attempt is left.",
    "The order of attempts is that of the ledger, a hash chain that only grows. Nothing is edited or dropped.",
    "Killing a run draws no second chance: an attempt that had begun is closed as interrupted and stays visible.",
    "Only the board's keys confirm an incident. An undecided one leaves its condition open.",
    "A run of which more than 10 % of the attempts are excluded has no rank.",
    "A run with an open condition is partial: it has bounds, never a rate.",
    "Scores of a changed evaluator are stale; withdrawn runs keep their records and have no rank.",
)
LIMITS = (
    "The embedded profile runs families of other simulators as ports on a CPU engine. Its scores are of another "
    "setting than those of the native profile, and never mix.",
    "Conditions are four per environment. The intervals resample tasks and say nothing of other conditions. In "
    "KidGym they resample the episodes of each task, since its tasks are all that there are.",
    "A code names the event that ended an attempt, not who is to blame for it.",
    "Published and reconstructed figures stand beside runs for comparison. Nobody ran them here: no rank.",
    "Token counts come from the model's provider; where it reports none they are unknown, never zero.",
    "Times depend on the machine and the provider's load.",
)


def build() -> Page:
    manifests = load()
    protocols = [
        [
            tag("strong", protocol.title),
            code(name),
            protocol.text,
            protocol.opportunities,
            "none is replaced"
            if protocol.exclusion is None
            else f"confirmed incidents, up to {protocol.exclusion.max_fraction:.0%} of the attempts",
        ]
        for name, protocol in manifests.protocols.items()
    ]
    subsets = [
        [tag("strong", subset.title), code(name), subset.text, "yes" if subset.rankable else "no"]
        for name, subset in manifests.subsets.items()
    ]
    blocks: list[Block | Safe] = [
        tag("h1", "Protocol"),
        tag("p", "What is measured, how an attempt counts, and what the numbers do not say.", class_="lead"),
        tag("h2", "Words"),
        facts(WORDS),
        tag("h2", "The two protocols"),
        table("Protocols", ("Protocol", "Name", "Rule", "Opportunities", "Excluded"), protocols, kind="cards"),
        tag("h2", "Scores"),
        tag(
            "p",
            "Pass@k: a condition is passed when one of its first k valid attempts succeeds. Conditions are averaged "
            "within tasks, tasks within suites, suites equally. All-four: every condition of a task is passed. "
            "Time@S and Tok@S are means over scored successes. Intervals are 95 %, by resampling whole tasks within "
            "their suites. Where all tasks agree that shows no spread, and an exact one-sided bound stands instead: "
            "the least (or most) chance of success with which such a result still comes about once in twenty times. "
            "Percentages round half up to two decimals.",
        ),
        tag("h2", "Rules"),
        tag("ul", *(tag("li", rule) for rule in RULES)),
        _causes(),
        tag("h2", "Subsets"),
        table("Subsets", ("Subset", "Name", "What it is", "Ranked"), subsets, kind="cards"),
        tag(
            "p",
            "EP-20 is a diagnostic selection, partly chosen by what pilot runs could solve: quick to run, and no "
            "unbiased estimate of EP-100.",
        ),
        tag("h2", "Access levels"),
        facts((name, text) for name, text in LEVELS.items()),
        tag("h2", "Known limitations"),
        tag("ul", *(tag("li", limit) for limit in LIMITS)),
    ]
    return page("Protocol", *blocks)


def _causes() -> Block:
    """What the end of an attempt means, per protocol: the table that the scoring uses."""
    manifests = load()
    names = list(manifests.protocols)
    rows, plain = [], []
    for name, cause in manifests.causes.items():
        means = [" ".join(filter(None, (cause.outcomes[p].outcome, cause.outcomes[p].code))) for p in names]
        rows.append([code(name), cause.text, *means])
        plain.append([name, cause.text, *means])
    head = ("Cause", "Meaning", *(f"Under {name}" for name in names))
    html = join(
        (
            tag("h2", "What the end of an attempt means"),
            tag("details", tag("summary", f"All {len(rows)} causes"), table("Causes", head, rows, kind="cards")),
        )
    )
    return Block(html, data_of("causes", ("cause", "meaning", *names), plain))
