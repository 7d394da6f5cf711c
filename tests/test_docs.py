"""What README and docs tell people to type exists, what they point to is there, and their examples do what is said."""

from __future__ import annotations

import re
from pathlib import Path

import click
import pytest
from test_cli import assay

from runner.cli.program import COMMANDS
from runner.cli.program import assay as program
from runner.images.contents import ROOT

PAGES = sorted([ROOT / "README.md", *(ROOT / "docs").glob("*.md"), ROOT / "bench" / "README.md"])
BLOCK = re.compile(r"^```(?:sh)?\n(.*?)^```", re.MULTILINE | re.DOTALL)
INLINE = re.compile(r"`((?:assay|make) [^`]+)`")
MAKEFILE = (ROOT / "Makefile").read_text(encoding="utf-8")


def commands(page: Path) -> list[str]:
    """Every command of a page, in blocks and within lines, without comments and with continued lines joined."""
    text = page.read_text(encoding="utf-8").replace("\\\n", " ")
    lines = [line for block in BLOCK.findall(text) for line in block.splitlines()]
    found = [line.partition("  #")[0].strip() for line in lines if re.match(r"(assay|make)\b", line)]
    return [part.strip() for line in found + INLINE.findall(text) for part in line.split("&&")]


def command_of(words: list[str]) -> tuple[click.Command, list[str]]:
    """The command that the words name, and the words after it."""
    context = click.Context(program)
    found: click.Command = program
    while isinstance(found, click.Group) and words and (inner := found.get_command(context, words[0])) is not None:
        found, words = inner, words[1:]
    return found, words


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_command_of_a_page_exists_with_its_options(page: Path) -> None:
    for line in commands(page):
        words = re.sub(r"[\[\]]", " ", line).split()
        if words[0] == "make":
            for word in words[1:]:
                name, equals, _ = word.partition("=")
                assert (f"{name}=" in MAKEFILE or f"$${{{name}" in MAKEFILE) if equals else f"\n{name}:" in MAKEFILE, (
                    line
                )
            continue
        command, rest = command_of(words[1:])
        assert command is not program or set(words[1:]) <= {"--help", "...", *COMMANDS}, line
        options = {name for parameter in command.params for name in (*parameter.opts, *parameter.secondary_opts)}
        for option in (word.partition("=")[0] for word in rest if re.match(r"--?[a-z]", word)):
            assert option in options | {"--help"}, f"{page.name}: {line}: {option}"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_link_of_a_page_leads_to_a_file_or_heading(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    headings = {re.sub(r"[^\w\- ]", "", line.lstrip("# ").lower()).replace(" ", "-") for line in text.splitlines()}
    for target in re.findall(r"\]\(([^)\s]+)\)", text):
        if target.startswith("#"):
            assert target[1:] in headings, target
        elif "://" not in target:
            assert (page.parent / target.partition("#")[0]).exists(), target


def test_the_csv_of_the_claims_page_is_consistent_and_without_a_row_it_is_not(tmp_path: Path) -> None:
    text = (ROOT / "docs" / "claims.md").read_text(encoding="utf-8")
    (table,) = re.findall(r"```\n(table,agent.*?)```", text, re.DOTALL)
    file = tmp_path / "paper.csv"
    file.write_text(table)
    assert "\nconsistent" in assay(tmp_path, "claims", "check", str(file), check=0).stdout
    file.write_text("".join(table.splitlines(keepends=True)[:-1]))
    assert "headline" in assay(tmp_path, "claims", "check", str(file), check=1).stdout
