"""Summaries of cargo, go, Ruby, PHP, Java, .NET, Elixir, Swift and C++ runners."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence

from yaoki.adapters.checks.readers.command_output import OutputLines
from yaoki.adapters.checks.readers.tally import (
    SuiteTally,
    add_tallies,
    match_lines,
    names_if_complete,
    parse_worded_summary,
)
from yaoki.core.lazy_pattern import lazy_compile

_CARGO = lazy_compile(
    r"test result: \w{1,10}\. (\d{1,9}) passed; (\d{1,9}) failed; (\d{1,9}) ignored;"
)
_CARGO_LINE = lazy_compile(r"test (\S.{0,400}) \.\.\. (ok|FAILED)$")
_NEXTEST = lazy_compile(r" *Summary \[.{1,20}\] +(?:\d{1,9}/)?\d{1,9} tests? run: (.{1,120})$")
_NEXTEST_WORDS = {"passed": "passed", "failed": "failed", "skipped": "skipped"}


def count_cargo(output: OutputLines) -> SuiteTally | None:
    tallies = [SuiteTally(int(h[1]), int(h[2]), int(h[3])) for h in match_lines(output, _CARGO)]
    tallies += [
        parse_worded_summary(hit[1], _NEXTEST_WORDS) for hit in match_lines(output, _NEXTEST)
    ]
    tests = [(hit[1], hit[2] == "ok") for hit in match_lines(output, _CARGO_LINE)]
    return add_tallies(
        tallies,
        (name for name, passed in tests if passed),
        (name for name, passed in tests if not passed),
    )


_GO_TEST = lazy_compile(r" *--- (PASS|FAIL|SKIP): (\S{1,400}) \(")
_GO_PACKAGE = lazy_compile(
    r"(ok  |FAIL|\?   |(?=\t\S{1,400}\t\tcoverage: ))\t(\S{1,400})(?:\t| )(.{0,200})$"
)
_GO_IDLE = ("[no test files]", "[no tests to run]", "coverage: 0.0% of statements")


def count_go(output: OutputLines) -> SuiteTally | None:
    """Count tests with -v or -json; otherwise a package with `ok` counts as one test."""
    events = [row for row in output.json_records if isinstance(row.get("Action"), str)]
    if events:
        return _go_json(events)
    tests = list(_go_tests(output))
    if tests:
        return _tally_of_ends((end.lower(), name) for end, name in tests)
    return _go_packages([*match_lines(output, _GO_PACKAGE)])


def _go_tests(output: OutputLines) -> Iterator[tuple[str, str]]:
    """The package is printed below its tests."""
    waiting: list[tuple[str, str]] = []
    for line in output.lines:
        if hit := _GO_TEST.match(line):
            waiting.append((hit[1], hit[2]))
        elif (hit := _GO_PACKAGE.match(line)) and hit[1].strip():
            yield from ((end, f"{hit[2]}::{test}") for end, test in waiting)
            waiting = []
    yield from waiting


def _go_packages(hits: Sequence[re.Match[str]]) -> SuiteTally | None:
    if not hits:
        return None
    busy = [hit for hit in hits if not any(word in hit[3] for word in _GO_IDLE)]
    names = [hit[2] for hit in busy if hit[1] == "ok  "]
    failed = sum(1 for hit in busy if hit[1] == "FAIL")
    return SuiteTally(len(names), failed, 0, names_if_complete(names, len(names)))


def _go_json(events: Sequence[Mapping[str, object]]) -> SuiteTally:
    ended = [row for row in events if isinstance(row.get("Test"), str)]
    return _tally_of_ends(
        (str(row.get("Action")), f"{row.get('Package')}::{row['Test']}") for row in ended
    )


def _tally_of_ends(ends: Iterable[tuple[str, str]]) -> SuiteTally:
    by_end: dict[str, list[str]] = {"pass": [], "fail": [], "skip": []}
    for end, name in ends:
        by_end.get(end, []).append(name)
    passed, failed, skipped = by_end.values()
    return SuiteTally(
        len(passed),
        len(failed),
        len(skipped),
        names_if_complete(passed, len(passed)),
        failed_names=names_if_complete(failed, len(failed)),
    )


# The group `ran` counts all tests, `passed` only those that passed.
_SHAPES = tuple(
    lazy_compile(shape)
    for shape in (
        # rspec; ExUnit and bats; minitest and test-unit
        r"(?P<ran>\d{1,9}) examples?, (?P<failed>\d{1,9}) failures?"
        r"(?:, (?P<skipped>\d{1,9}) pending)?",
        r"(?:\d{1,9} doctests?, )?(?P<ran>\d{1,9}) tests?, (?P<failed>\d{1,9}) failures?"
        r"(?:, \d{1,9} excluded)?(?:, (?P<skipped>\d{1,9}) skipped)?(?: in .{1,20})?$",
        r"(?P<ran>\d{1,9}) (?:runs|tests), \d{1,9} assertions, (?P<failed>\d{1,9}) failures,"
        r" (?P<errors>\d{1,9}) errors(?:, (?P<skipped>\d{1,9}) (?:skips|pendings))?",
        # phpunit
        r"OK \((?P<ran>\d{1,9}) tests?, \d{1,9} assertions?\)$",
        r"Tests: (?P<ran>\d{1,9}), Assertions: \d{1,9}(?:, Errors: (?P<errors>\d{1,9}))?"
        r"(?:, Failures: (?P<failed>\d{1,9}))?(?:, [A-Z][\w ]{1,30}: \d{1,9}){0,5}?"
        r"(?:, Skipped: (?P<skipped>\d{1,9}))?(?:, [A-Z][\w ]{1,30}: \d{1,9}){0,5}\.$",
        r"No tests executed!$",
        # maven's total; each class has a time besides
        r"(?:\[\w{4,7}\] )?Tests run: (?P<ran>\d{1,9}), Failures: (?P<failed>\d{1,9}),"
        r" Errors: (?P<errors>\d{1,9}), Skipped: (?P<skipped>\d{1,9})$",
        # dotnet
        r"\w{6,7}! +- Failed: +(?P<failed>\d{1,9}), Passed: +(?P<passed>\d{1,9}),"
        r" Skipped: +(?P<skipped>\d{1,9}), Total:",
        # ctest, googletest, swift-testing
        r"\d{1,3}% tests passed, (?P<failed>\d{1,9}) tests failed out of (?P<ran>\d{1,9})",
        r"No tests were found!!!",
        r"\[  PASSED  \] (?P<passed>\d{1,9}) tests?\.",
        r"\[  FAILED  \] (?P<failed>\d{1,9}) tests?, listed below",
        r". Test run with (?P<ran>\d{1,9}) tests?(?: in \d{1,9} suites?)? passed",
    )
)


def count_others(output: OutputLines) -> SuiteTally | None:
    hits = (hit for line in output.lines for shape in _SHAPES if (hit := shape.match(line)))
    return add_tallies([_tally(hit.groupdict()) for hit in hits])


def _tally(amounts: Mapping[str, str | None]) -> SuiteTally:
    ran, passed, failed, errors, skipped = (
        int(amounts.get(key) or 0) for key in ("ran", "passed", "failed", "errors", "skipped")
    )
    return SuiteTally(passed or max(0, ran - failed - errors - skipped), failed + errors, skipped)
