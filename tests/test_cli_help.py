"""Every command says in one whole line what it does, and every option what it is."""

from __future__ import annotations

from collections.abc import Iterator

import click
import pytest

from runner.cli.program import COMMANDS, assay

ROOM = 64  # characters that `--help` has for the line of a command, on 80 columns


def commands(group: click.Group, *path: str) -> Iterator[tuple[str, click.Command]]:
    context = click.Context(group)
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        assert command is not None
        yield " ".join((*path, name)), command
        if isinstance(command, click.Group):
            yield from commands(command, *path, name)


EVERY = dict(commands(assay))


@pytest.mark.parametrize("name", EVERY)
def test_a_command_is_described_by_one_sentence_that_is_not_cut(name: str) -> None:
    line = EVERY[name].get_short_help_str(ROOM)
    assert line.endswith(".")
    assert not line.endswith("...")
    assert line[0].isupper()
    assert len(line) <= ROOM
    if name in COMMANDS:
        assert COMMANDS[name][1] == line  # `assay --help`, which imports no command


@pytest.mark.parametrize("name", EVERY)
def test_every_option_says_what_it_is(name: str) -> None:
    for option in EVERY[name].params:
        if isinstance(option, click.Option):
            assert option.help, option.opts
            assert option.help.endswith((".", "]")), option.opts
