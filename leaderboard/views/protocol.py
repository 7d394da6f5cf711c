"""The rules in plain words, from the same manifests that the scoring reads."""

from __future__ import annotations

from leaderboard.blocks import Block, Page, data_of, page
from leaderboard.markup import Safe, code, facts, join, table, tag
from leaderboard.words import LEVELS
from manifests.load import Manifests, load
from manifests.lookup import engine_name, select, why_not
from manifests.words import count

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
    "A fault before the agent could act is confirmed by the policy, a few times for each condition; any other incident "
    "only by the board's keys. An undecided one leaves its condition open.",
    "A run of which more than 10 % of the attempts are excluded has no rank.",
    "A run with an open condition is partial: it has bounds, never a rate.",
    "Scores of a changed evaluator are stale; withdrawn runs keep their records and have no rank.",
)
PROFILE = "embedded"  # the only one that can be run today
LIMITS = (
    "Not every environment of the catalog can be run yet: the table of subsets says how many. What cannot be run stays "
    "missing, so that a larger subset is partial for every agent: it has bounds and no rank.",
    "The embedded profile runs families of other simulators as ports on a CPU engine. Its scores are of another "
    "setting than those of the native profile, and never mix. No engine that needs a GPU exists yet.",
    "Conditions are four per environment. The intervals resample tasks and say nothing of other conditions. In "
    "KidGym they resample the episodes of each task, since its tasks are all that there are.",
    "A code names the event that ended an attempt, not who is to blame for it. The audit of the published run found "
    "that 574 of its 645 failures involved a rule or threshold of which the agent had not been told. Here it is told "
    "all of them, so that the rates of the two are not of the same task.",
    "Scenes, conditions and evaluators are open. A model may have been trained on them; nothing here would show it.",
    "A signature says who vouches for a run, not that it happened. A replay shows that the actions lead to the "
    "verdict, not which model chose them.",
    "Published and reconstructed figures stand beside runs for comparison. Nobody ran them here: no rank.",
    "Token counts come from the model's provider; where it reports none they are unknown, never zero.",
    "Times depend on the machine and the provider's load.",
)


def build() -> Page:
    manifests = load()
    blocks: list[Block | Safe] = [
        tag("h1", "Protocol"),
        tag("p", "What is measured, how an attempt counts, and what the numbers do not say.", class_="lead"),
        tag("h2", "Words"),
        facts(WORDS),
        _protocols(manifests),
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
        _budgets(manifests),
        _subsets(manifests),
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


def _protocols(manifests: Manifests) -> Block:
    """How many attempts count, and which leave the count."""
    rows = [
        [
            protocol.title,
            name,
            protocol.text,
            protocol.opportunities,
            "none is replaced"
            if protocol.exclusion is None
            else f"confirmed incidents, up to {protocol.exclusion.max_fraction:.0%} of the attempts",
        ]
        for name, protocol in manifests.protocols.items()
    ]
    shown = [[tag("strong", title), code(name), *rest] for title, name, *rest in rows]
    head = ("Protocol", "Name", "Rule", "Opportunities", "Excluded")
    usual = join((join((board.title, " ", code(board.protocols[0]))) for board in manifests.boards.values()), ", ")
    said = tag("p", "Without another choice: ", usual, ". Scores of two protocols never mix.")
    html = join((tag("h2", "Protocols"), said, table("Protocols", head, shown, kind="cards")))
    return Block(html, data_of("protocols", ("title", "protocol", "rule", "opportunities", "excluded"), rows))


def _budgets(manifests: Manifests) -> Block:
    """What an attempt may use, by family, and by level where it depends on it."""
    rows: list[list[str | int | float]] = []
    for family, limits in manifests.budgets.families.items():
        own = {None: limits} if limits.levels is None else limits.levels
        for level, part in own.items():
            assert part.actions is not None
            assert part.simulated_s is not None
            name = " ".join(filter(None, (family.replace("_", " "), level)))
            rows.append([name, part.actions, part.simulated_s, limits.wall_s, limits.control_hz])
    model = manifests.budgets.model
    cached = "with" if model.cached_tokens_count else "without"
    allowance = f"{count(model.tokens, 'token')} ({cached} cached input) and {count(model.images, 'picture')}"
    said = tag("p", f"A model may use {allowance} in an attempt. Each family limits actions and time:")
    head = ("Family", "Actions", "Simulated time", "Wall time", "Control steps")
    shown = [
        [name, f"{actions:,}", f"{simulated:,g} s", f"{wall:,g} s", f"{rate} a second"]
        for name, actions, simulated, wall, rate in rows
    ]
    told = table("Limits", head, shown, kind="cards")
    listed = tag("details", tag("summary", f"All {len(rows)} limits"), told)
    columns = ("family", "actions", "simulated_s", "wall_s", "control_hz")
    return Block(join((tag("h2", "What an attempt may use"), said, listed)), data_of("budgets", columns, rows))


def _subsets(manifests: Manifests) -> Block:
    """What a run is over, and how much of it can be run today."""
    rows, shown = [], []
    for name, subset in manifests.subsets.items():
        tasks = [entry.id for entry in select(manifests, name, None)]
        here = sum(why_not(manifests, task, engine_name(manifests, task, PROFILE)) is None for task in tasks)
        ranked = "yes" if subset.rankable else "no"
        rows.append([subset.title, name, subset.text, ranked, here, len(tasks)])
        shown.append([tag("strong", subset.title), code(name), subset.text, ranked, f"{here} of {len(tasks)}"])
    head = ("Subset", "Name", "What it is", "Ranked", "Tasks that can be run")
    html = join((tag("h2", "Subsets"), table("Subsets", head, shown, kind="cards")))
    return Block(html, data_of("subsets", ("title", "subset", "text", "ranked", "can_run", "tasks"), rows))


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
