"""Summaries of the runner of node, tape, jest, vitest, mocha, ava, bun and deno; TAP points."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from yaoki.adapters.checks.readers.command_output import OutputLines
from yaoki.adapters.checks.readers.locations import is_worktree_file, relative_to_worktree
from yaoki.adapters.checks.readers.tally import (
    SuiteTally,
    add_tallies,
    match_lines,
    names_if_complete,
    parse_worded_summary,
)
from yaoki.adapters.checks.readers.tap import TapPoint, parse_tap_points
from yaoki.core.lazy_pattern import lazy_compile

TEST_FILE_BYTES_MAX = 1 << 20
_NODE_TEST = lazy_compile(rb"""["']node:test["']""")
_NODE_CALL = lazy_compile(
    rb"^[ \t]*(?:await )?(?:test|it|describe|suite)(?:\.\w+)?\(", re.MULTILINE
)
_NODE = lazy_compile(r"(?:#|ℹ) (tests|pass|fail|cancelled|skipped|todo|ok) {1,4}(\d{1,9})$")
_SPAN = lazy_compile(r" \(\d[\d.]{0,20}m?s\)$")
_PROVE = lazy_compile(r"Files=\d{1,9}, Tests=(\d{1,9}),")
_JEST = lazy_compile(r"Tests: {1,12}((?:\d{1,9} [a-z]{1,12}(?:, )?){1,6})$")
_VITEST = lazy_compile(
    r" {4,8}Tests {2}(?:((?:\d{1,9} [a-z]{1,12}(?: [a-z]{1,12})?(?: \| )?){1,6}) ?\(\d+\)"
    r"|no tests)$"
)
_NO_FILES = lazy_compile(r"No tests? (?:files? )?found, exiting with code \d")
_WORDS = {
    "passed": "passed",
    "failed": "failed",
    **dict.fromkeys(("skipped", "todo", "pending", "ignored"), "skipped"),
}
_MOCHA = lazy_compile(r" {2}(\d{1,9}) (passing|failing|pending)(?: \([\w.]{1,20}\))?$")
_AVA = lazy_compile(r" {2}(\d{1,9}) tests? (passed|failed|skipped|todo)$")
_DENO = lazy_compile(
    r"(?:ok|FAILED) \| ((?:\d{1,9} [a-z]{1,12}(?: \([^)]{1,40}\))?(?: \| )?){1,5}) \("
)
_BUN = lazy_compile(r" (\d{1,9}) (pass|fail|skip|todo)$")


def count_node(output: OutputLines) -> SuiteTally | None:
    """Count by the summary of node, otherwise of prove, otherwise by TAP points."""
    sums: dict[str, int] = {}
    for hit in match_lines(output, _NODE):
        sums[hit[1]] = sums.get(hit[1], 0) + int(hit[2])
    if "tests" not in sums:
        return _prove(output) or _tap(output)
    # node counts a file in which no test ran as one that passed.
    passed = max(0, sums.get("pass", 0) - sum(1 for _ in _idle_files(output)))
    failed = sums.get("fail", 0) + sums.get("cancelled", 0)
    skipped = sums.get("skipped", 0) + sums.get("todo", 0)
    points = [point for point in parse_tap_points(output.stdout_lines) if not point.is_group]
    names = [point.name for point in points if point.passed]
    return SuiteTally(
        passed,
        failed,
        skipped,
        names_if_complete(names, passed),
        failed_names=names_if_complete(_failed_names(points), failed),
    )


def _failed_names(points: Sequence[TapPoint]) -> list[str]:
    return [point.name for point in points if not point.passed and not point.skipped]


def _idle_files(output: OutputLines) -> Iterator[str]:
    """Files that passed as a whole: empty, or ended before the first of their tests.

    A file of plain assertions without any test is a test itself.
    """
    points = parse_tap_points(output.stdout_lines)
    names = [point.name for point in points if point.passed and not point.is_group]
    names += [_SPAN.sub("", line[2:]) for line in output.stdout_lines if line.startswith("✔ ")]
    for name in names:
        path = relative_to_worktree(name, output.source)
        if not is_worktree_file(path, output.source):
            continue
        with (output.source.worktree / path).open("rb") as file:
            text = file.read(TEST_FILE_BYTES_MAX)
        if not text.strip() or (_NODE_TEST.search(text) and _NODE_CALL.search(text)):
            yield path


def _prove(output: OutputLines) -> SuiteTally | None:
    """The summary of prove has only the number of tests that ran."""
    return add_tallies([SuiteTally(int(hit[1])) for hit in match_lines(output, _PROVE)])


def _tap(output: OutputLines) -> SuiteTally | None:
    """`1..0` is a plan of no tests."""
    if not any(line.startswith(("TAP version", "1..")) for line in output.stdout_lines):
        return None
    points = [point for point in parse_tap_points(output.stdout_lines) if not point.is_group]
    names = [point.name for point in points if point.passed]
    skipped = sum(1 for point in points if point.skipped)
    lost = _failed_names(points)
    return SuiteTally(
        len(names),
        len(lost),
        skipped,
        names_if_complete(names, len(names)),
        failed_names=names_if_complete(lost, len(lost)),
    )


def count_jest(output: OutputLines) -> SuiteTally | None:
    """jest and vitest; both print one sentence if there are no tests."""
    hits = (*match_lines(output, _JEST), *match_lines(output, _VITEST))
    tallies = [parse_worded_summary(hit[1] or "", _WORDS) for hit in hits]
    return add_tallies([*tallies, *(SuiteTally() for _ in match_lines(output, _NO_FILES))])


def count_mocha(output: OutputLines) -> SuiteTally | None:
    sums = {hit[2]: int(hit[1]) for hit in match_lines(output, _MOCHA)}
    if "passing" not in sums:
        return None
    return SuiteTally(sums["passing"], sums.get("failing", 0), sums.get("pending", 0))


def count_ava(output: OutputLines) -> SuiteTally | None:
    return add_tallies(
        [parse_worded_summary(f"{hit[1]} {hit[2]}", _WORDS) for hit in match_lines(output, _AVA)]
    )


def count_deno(output: OutputLines) -> SuiteTally | None:
    return add_tallies([parse_worded_summary(hit[1], _WORDS) for hit in match_lines(output, _DENO)])


def count_bun(output: OutputLines) -> SuiteTally | None:
    sums = {hit[2]: int(hit[1]) for hit in match_lines(output, _BUN)}
    if not {"pass", "fail"} <= sums.keys():
        return None
    return SuiteTally(sums["pass"], sums["fail"], sums.get("skip", 0) + sums.get("todo", 0))
