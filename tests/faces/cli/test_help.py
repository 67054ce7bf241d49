"""The help of every command is whole: no line is cut, and every option says what it does."""

from __future__ import annotations

from collections.abc import Iterator

import click
import pytest

from yaoki.faces.cli.group import group
from yaoki.faces.cli.table import COMMANDS

LINE_CHARS_MAX = 60


def every_command(context: click.Context) -> Iterator[click.Context]:
    """Each command and subcommand, with the context of its parents."""
    assert isinstance(context.command, click.Group)
    for name in context.command.list_commands(context):
        command = context.command.get_command(context, name)
        assert command is not None
        below = click.Context(command, context, info_name=name)
        yield below
        if isinstance(command, click.Group):
            yield from every_command(below)


ALL = list(every_command(click.Context(group, info_name="yaoki")))


@pytest.mark.spec("12.1")
@pytest.mark.parametrize("context", ALL, ids=lambda context: context.command_path)
def test_every_option_of_a_command_says_what_it_does(context: click.Context) -> None:
    options = [one for one in context.command.params if isinstance(one, click.Option)]

    assert [one.name for one in options if not one.hidden and not one.help] == []
    assert context.command.help


@pytest.mark.spec("12.1")
def test_no_one_line_help_is_cut() -> None:
    groups = [one.command for one in ALL if isinstance(one.command, click.Group)]
    short = [one.get_short_help_str(LINE_CHARS_MAX) for g in groups for one in g.commands.values()]

    assert short
    assert [words for words in short if words.endswith("...")] == []
    assert [entry.help for entry in COMMANDS.values() if len(entry.help) > LINE_CHARS_MAX] == []
