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

# What each means to whoever called, and what to do about it.
MEANING: Mapping[int, tuple[str, str]] = {
    0: ("all done; or, of a command that looks or changes something: it worked", "nothing"),
    1: (
        "something is broken: the store, git, our own code (`internal error`), or what `doctor`, "
        "`verify`, `prune` or `notify test` looked at",
        "read the hint; `yaoki doctor`",
    ),
    2: (
        "bad plan, settings, place or arguments; nothing was started",
        "mend what is named, with its line",
    ),
    3: ("the run ended without being done: something required was cancelled", "`yaoki status`"),
    4: ("a person is needed; all else is proven", "`yaoki answer`, then `yaoki resume`"),
    5: (
        "the run is not at its end: at work elsewhere, or it waits for a limit or a budget",
        "`yaoki resume` later",
    ),
    6: ("refused: there is no such thing, or not now; nothing was changed", "what the hint says"),
    61: ("`yaoki result`, STALE: the attempt was given to another worker", "stop the work"),
    62: ("`yaoki result`, UNKNOWN: there is no such task here", "stop the work"),
    63: ("`yaoki result`, REPLACED: another task took its place", "stop the work"),
    64: ("`yaoki result`, CANCELLED: the task was cancelled", "stop the work"),
    65: ("`yaoki result`, LATE: the attempt is over", "stop the work"),
    66: ("`yaoki result`, DUPLICATE: the same was said before", "nothing"),
    130: ("interrupted by Ctrl-C or SIGTERM; nothing is lost", "`yaoki resume`"),
    141: ("whoever read the output went away", "nothing"),
}
HEAD = """\
# Exit codes

Made from the code by `python -m tests.reference`; a test insists that it is so. How to use them
in a job: [on a build server](../guides/ci.md).

| code | meaning | what to do |
|---|---|---|
"""
RUNS = """
## Of a run

`run`, `resume` and `watch` end with the code of the run; `status` does so with `--exit-code`, and
`status --json` has it as `exit_code`.

| how the run stands | code |
|---|---|
"""
ERRORS = """
A run that is `PAUSED` ends with 5 when a budget is used up; any other pause waits for a person and
ends with 4.

## Of a refusal

Errors stand on standard error, with `--json` also as a document with `exit_code`. In Python they
are exceptions of `yaoki.errors`.

| error | code | what it says |
|---|---|---|
"""


def codes() -> dict[int, list[str]]:
    """Every code that the program ends with, and who says so."""
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
        words = inspect.cleandoc(error.__doc__ or "").partition("\n")[0]
        yield f"| `{error.__name__}` | {error.exit_code} | {words} |\n"


def _errors(top: type[YaokiError]) -> Iterator[type[YaokiError]]:
    """The tree as it is drawn in the code."""
    yield top
    for below in top.__subclasses__():
        if below.__module__ == "yaoki.errors":
            yield from _errors(below)
