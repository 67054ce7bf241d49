"""docs/reference/exit-codes.md: every exit code, and what of the code ends with it."""

from __future__ import annotations

import inspect
from collections import defaultdict
from collections.abc import Iterator, Mapping

from yaoki.core.run_status import EXIT_CODES
from yaoki.errors import YaokiError
from yaoki.faces.cli.main import INTERRUPTED, PIPE_CLOSED
from yaoki.faces.mcp.caller import CallRefusal
from yaoki.faces.text.errors import BAD_USAGE_EXIT, INTERNAL_EXIT

# The meaning of each code for the caller, and the next step.
MEANING: Mapping[int, tuple[str, str]] = {
    0: ("all done; for commands that do not run a plan: success", "nothing"),
    1: (
        "the store, git or yaoki itself (`internal error`) failed, or `doctor`, `verify`, `prune` "
        "or `notify test` found a problem",
        "read the hint; `yaoki doctor`",
    ),
    2: (
        "bad plan, settings, folder or arguments; nothing was started",
        "fix what the message names",
    ),
    3: ("the run ended without being done: a required task was cancelled", "`yaoki status`"),
    4: ("a person is needed; everything else is proven", "`yaoki answer`, then `yaoki resume`"),
    5: (
        "the run is not finished: active elsewhere, or waiting for a limit or a budget",
        "`yaoki resume` later",
    ),
    6: (
        "refused: the named thing does not exist, or the action is not possible now; nothing was "
        "changed",
        "follow the hint",
    ),
    61: ("`yaoki result`, STALE: another worker has the task now", "stop the work"),
    62: ("`yaoki result`, UNKNOWN: there is no such task here", "stop the work"),
    63: ("`yaoki result`, REPLACED: another task replaced it", "stop the work"),
    64: ("`yaoki result`, CANCELLED: the task was cancelled", "stop the work"),
    65: ("`yaoki result`, LATE: the attempt is over", "stop the work"),
    66: ("`yaoki result`, DUPLICATE: the same result is already recorded", "nothing"),
    130: ("interrupted by Ctrl-C or SIGTERM; nothing is lost", "`yaoki resume`"),
    141: ("the reader of the output closed it", "nothing"),
}
HEAD = """\
# Exit codes

This page is generated from the code by `python -m tests.reference`, and a test compares it. How to
use exit codes in a job: [on a build server](../guides/ci.md).

| code | meaning | what to do |
|---|---|---|
"""
RUNS = """
## The code of a run

`run`, `resume` and `watch` exit with the code of the run; `status` does so with `--exit-code`, and
`status --json` has it as `exit_code`.

| status of the run | code |
|---|---|
"""
ERRORS = """
The code of a `PAUSED` run is 5 if a budget is used up. Any other pause waits for a person: the code
is 4.

## The code of an error

Errors are printed on standard error. With `--json` they are also printed as a document with
`exit_code`. In Python they are exceptions of `yaoki.errors`.

| error | code | meaning |
|---|---|---|
"""


def codes() -> dict[int, list[str]]:
    """Every exit code of the program, and where it is defined."""
    found: dict[int, list[str]] = defaultdict(list)
    for status, code in EXIT_CODES.items():
        found[code].append(status.value)
    for error in _errors(YaokiError):
        found[error.exit_code].append(error.__name__)
    for refusal in CallRefusal:
        found[refusal.value].append(refusal.name)
    for name, code in {
        "INTERRUPTED": INTERRUPTED,
        "PIPE_CLOSED": PIPE_CLOSED,
        "BAD_USAGE": BAD_USAGE_EXIT,
        "INTERNAL": INTERNAL_EXIT,
    }.items():
        found[code].append(name)
    return dict(found)


def page() -> str:
    return "".join(_parts())


def _parts() -> Iterator[str]:
    yield HEAD
    yield from (f"| {code} | {says} | {do} |\n" for code, (says, do) in MEANING.items())
    yield RUNS
    yield from (f"| `{status.value}` | {code} |\n" for status, code in EXIT_CODES.items())
    yield ERRORS
    for error in _errors(YaokiError):
        words = inspect.cleandoc(error.__doc__ or "").partition("\n")[0].replace(".  ", ". ")
        yield f"| `{error.__name__}` | {error.exit_code} | {words} |\n"


def _errors(top: type[YaokiError]) -> Iterator[type[YaokiError]]:
    """The tree as it is drawn in the code."""
    yield top
    for below in top.__subclasses__():
        if below.__module__ == "yaoki.errors":
            yield from _errors(below)
