"""Ordinary calls are parsed without click, and as click parses them."""

from __future__ import annotations

from importlib import import_module
from itertools import product
from pathlib import Path
from typing import Any

import click
import pytest

from yaoki.faces.cli.quick_command import QUICK_NAMES, QuickCommand, find_quick_call

WORDS = ("t0", "", "-", "--", "--json", "--repo", "--repo=x", "--run", "--run=r", "--all")
MORE = ("--agent", "--agent=a", "--unknown", "--json=1", "-h", "--help", "--run=")


def command_of(name: str) -> QuickCommand:
    command: QuickCommand = getattr(import_module(f"yaoki.faces.cli.commands.{name}"), name)
    return command


def by_click(command: QuickCommand, words: tuple[str, ...]) -> dict[str, Any] | None:
    try:
        context = command.make_click().make_context("it", list(words), obj=None)
    except (click.ClickException, click.exceptions.Exit):
        return None
    return context.params


@pytest.mark.parametrize("name", QUICK_NAMES)
def test_calls_are_parsed_as_click_parses_them(
    name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    command = command_of(name)
    calls = [words for size in range(4) for words in product((*WORDS, *MORE), repeat=size)]
    parsed = {words: values for words in calls if (values := command.parse(words)) is not None}

    for words, values in parsed.items():
        values["repo"] = Path(values["repo"] or ".")
        assert by_click(command, words) == values, words
    capsys.readouterr()
    assert len(parsed) > 30


@pytest.mark.parametrize(
    "words",
    [[], ["run"], ["status", "--help"], ["why"], ["status", "a", "b"], ["--repo", ".", "status"]],
)
def test_other_calls_are_left_to_click(words: list[str]) -> None:
    assert find_quick_call(words) is None


def test_completion_is_left_to_click() -> None:
    assert find_quick_call(["status"], {"_YAOKI_COMPLETE": "bash_complete"}) is None
    assert find_quick_call(["status"], {}) is not None
