"""How to evaluate and submit, what a submission holds, and the result of checking a dropped bundle."""

from __future__ import annotations

from typing import Any

from leaderboard.blocks import Block, Page, data_of, page
from leaderboard.markup import Safe, badge, code, join, link, notice, small, table, tag
from leaderboard.words import EVALUATE
from manifests.words import count

STEPS = (
    ("Try it", (EVALUATE,), "Three scenes with our own baseline; no key, no GPU. It says what it installs."),
    (
        "Evaluate a model",
        (
            "make doctor MODEL=provider/model",
            "make evaluate MODEL=provider/model SUBSET=ep-launch DRY_RUN=1",
            "make evaluate MODEL=provider/model SUBSET=ep-launch",
        ),
        "Any model that litellm knows. The dry run says what it would take. The same command goes on after a crash.",
    ),
    (
        "See the numbers",
        ("assay score RUN", "make leaderboard"),
        "Each with its denominator; open conditions are named.",
    ),
    (
        "Submit",
        ("assay keys new", 'assay submit RUN -o bundle.zip --name "Our Lab"', "assay verify bundle.zip"),
        "One signed file with the whole ledger and every artifact. Send it to the board.",
    ),
    (
        "What the board does",
        ("assay verify bundle.zip", "assay import bundle.zip", "assay audit NAME --replay all"),
        "It verifies offline, replays the stored actions, decides on incidents, and publishes.",
    ),
)
FIELDS = (
    ("submitter", "the public key that signs, and the name that they give themselves"),
    ("run", "id, name, time of its first entry"),
    ("board, subset, tasks, environments, mode, protocol, profile, seed", "what was evaluated"),
    ("model, agent, level, grants", "who acted, with a digest of its code and prompts"),
    ("budgets, conditions", "limits by family, and the hash of every prescribed condition"),
    ("runtime, official, gpus, images, fingerprints, versions", "where it ran"),
    ("attempts, usage, artifacts, ledger", "counts by outcome, tokens and cost, files and bytes, the last hash"),
    ("schema_version", "the form of this statement; one of the future is refused"),
)


def build() -> Page:
    blocks: list[Block | Safe] = [
        tag("h1", "Submit"),
        tag(
            "p",
            "From nothing to a line on the ranking. The rules are on the ",
            link("protocol page", view="protocol"),
            ".",
            class_="lead",
        ),
    ]
    for number, (title, commands, text) in enumerate(STEPS, 1):
        lines = Safe("\n".join(commands))
        blocks.append(join((tag("h2", f"{number}. {title}"), tag("p", text), tag("pre", code(lines)))))
    rows = [[code(name), text] for name, text in FIELDS]
    html = join(
        (tag("h2", "What a submission states"), table("Fields of the signed statement", ("Field", "Content"), rows))
    )
    blocks.append(Block(html, data_of("submission-fields", ("field", "content"), FIELDS)))
    blocks.append(
        tag(
            "p",
            "Verification works all of it out again from the ledger and refuses any field that does not follow. A "
            "signature says who vouches for these bytes, not that they tell the truth: that is what replay is for.",
        )
    )
    return page("Submit", *blocks)


def result(name: str, found: dict[str, Any]) -> Page:
    """What ``assay verify --json`` says of a bundle."""
    problems, notes = found.get("problems") or [], found.get("notes") or []
    run, submitter = found.get("run") or {}, found.get("submitter") or {}
    said = "nothing refuses it" if found.get("good") else f"refused: {count(len(problems), 'problem')}"
    about = []
    if run:
        about.append(
            tag(
                "p",
                "Run ",
                code(run.get("name")),
                ", key ",
                code(submitter.get("key")),
                ", ",
                submitter.get("name") or "no name given",
            )
        )
    word = badge("✓ good" if found.get("good") else "✕ refused", "" if found.get("good") else "warn")
    rows = [
        [kind, item.get("path"), item.get("text")]
        for kind, items in (("problem", problems), ("note", notes))
        for item in items
    ]
    listed = table("Findings", ("Level", "Where", "What"), rows[:200], kind="cards") if rows else Safe("")
    more = tag("p", small(f"{count(len(rows) - 200, 'more finding')} in the download")) if len(rows) > 200 else Safe("")
    plain = data_of("findings", ("level", "path", "text"), rows)
    shown = notice(join((name, ": ", said)), " ", word, *about, kind="" if found.get("good") else "bad")
    return page("Submit", Block(join((shown, listed, more)), plain))
