"""`yaoki stats flaky` and `yaoki plan flaky`: flaky tests, and a plan that repairs one."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from yaoki.core.text import format_count
from yaoki.faces.cli.context import json_option, open_app, repo_option
from yaoki.faces.text.render import (
    align_columns,
    clean_line,
    print_document,
    print_line,
    print_next_command,
    print_wrapped,
)
from yaoki.views import SCHEMA
from yaoki.views.flaky_tests import SHA_CHARS, flaky_test_document

if TYPE_CHECKING:
    from yaoki.views.flaky_tests import FlakyTestView

TIMES = 50
TIMES_MAX = 1_000
SETTINGS = "yaoki.toml"
COMMITS_SHOWN = 3


@click.command("flaky")
@json_option
@repo_option
def flaky_stats(as_json: bool, repo: Path) -> int:
    """Show tests that pass and fail on the same commit."""
    from yaoki.app.flaky_tests import list_flaky_tests

    with open_app(repo) as app:
        tests = list_flaky_tests(app)
    if as_json:
        print_document({"schema": SCHEMA, "tests": [flaky_test_document(one) for one in tests]})
        return 0
    if not tests:
        print_wrapped("no test has failed and passed on the same commit yet")
        print_next_command("yaoki run PLAN")
        return 0
    heads = ("rate (95 %)", "failed", "runs", "first seen", "last seen", "commits", "test")
    for words in align_columns([heads, *map(_row, tests)]):
        print_wrapped(words)
    for one in tests:
        _print_state(one)
    print_next_command(f"yaoki plan flaky {shlex.quote(clean_line(tests[0].test.test))}")
    return 0


def _row(one: FlakyTestView) -> tuple[str, ...]:
    test = one.test
    commits = [sighting.commit[:SHA_CHARS] for sighting in test.sightings]
    more = f" +{len(commits) - COMMITS_SHOWN}" if len(commits) > COMMITS_SHOWN else ""
    return (
        one.rate_words,
        str(test.failed),
        str(test.runs),
        f"{test.first_at:%Y-%m-%d}",
        f"{test.last_at:%Y-%m-%d}",
        " ".join(commits[:COMMITS_SHOWN]) + more,
        clean_line(test.test),
    )


def _print_state(one: FlakyTestView) -> None:
    """Print the state of one test, and a proposal that can be pasted as it is."""
    print_line()
    print_wrapped(f"{clean_line(one.test.test)}: {clean_line(one.state_words)}")
    if one.test.always_failed:
        verifications = format_count(one.test.always_failed, "verification")
        print_wrapped(f"  it also failed in every run of {verifications}")
    if one.proposal:
        print_wrapped(f"to quarantine it until a date, add this to {SETTINGS} with an owner:")
        for line in one.proposal.split("\n"):
            print_line(clean_line(line))


@click.command("flaky")
@click.argument("test", metavar="TEST")
@click.argument("command", metavar="[-- COMMAND...]", nargs=-1, type=click.UNPROCESSED)
@click.option(
    "-o",
    "--output",
    metavar="PLAN",
    type=click.Path(path_type=Path),
    help="Write the plan to this file.",
)
@click.option(
    "--times",
    type=click.IntRange(1, TIMES_MAX),
    default=TIMES,
    show_default=True,
    help="How often the test must pass in a row.",
)
@repo_option
def flaky_plan(
    test: str, command: Sequence[str], output: Path | None, times: int, repo: Path
) -> int:
    """Make a plan in which an agent repairs a flaky test.

    TEST is a name from `yaoki stats flaky`.  Its check runs many times, and every run must pass.
    COMMAND runs a test that yaoki has not seen.  Without -o the plan is printed.
    """
    from yaoki.app.build import App
    from yaoki.app.flaky_tests import write_repair_plan
    from yaoki.faces.cli.commands.imports import write_plan_file

    text = write_repair_plan(App(repo.absolute()), test, command, times)
    if output is None:
        print_line(text.rstrip("\n"))
        return 0
    write_plan_file(output, text)
    print_line(f"{clean_line(str(output))}: repairs {clean_line(test)}")
    print_next_command(f"yaoki run {clean_line(shlex.quote(str(output)))}")
    return 0
