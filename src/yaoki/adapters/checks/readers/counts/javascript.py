"""Summaries of node's own runner, tape, jest, vitest, mocha, ava, bun and deno; TAP points."""

from __future__ import annotations

import re
from collections.abc import Iterator

from yaoki.adapters.checks.readers.command_output import Output
from yaoki.adapters.checks.readers.locations import relative, stands
from yaoki.adapters.checks.readers.tally import Tally, added, matches, whole_names, worded
from yaoki.adapters.checks.readers.tap import points

BLANK_BYTES_MAX = 4096
_NODE = re.compile(r"(?:#|ℹ) (tests|pass|fail|cancelled|skipped|todo|ok) {1,4}(\d{1,9})$")
_SPAN = re.compile(r" \(\d[\d.]{0,20}m?s\)$")
_PROVE = re.compile(r"Files=\d{1,9}, Tests=(\d{1,9}),")
_JEST = re.compile(r"Tests: {1,12}((?:\d{1,9} [a-z]{1,12}(?:, )?){1,6})$")
_VITEST = re.compile(
    r" {4,8}Tests {2}(?:((?:\d{1,9} [a-z]{1,12}(?: [a-z]{1,12})?(?: \| )?){1,6}) ?\(\d+\)"
    r"|no tests)$"
)
_NO_FILES = re.compile(r"No tests? (?:files? )?found, exiting with code \d")
_WORDS = {
    "passed": "passed",
    "failed": "failed",
    **dict.fromkeys(("skipped", "todo", "pending", "ignored"), "skipped"),
}
_MOCHA = re.compile(r" {2}(\d{1,9}) (passing|failing|pending)(?: \([\w.]{1,20}\))?$")
_AVA = re.compile(r" {2}(\d{1,9}) tests? (passed|failed|skipped|todo)$")
_DENO = re.compile(
    r"(?:ok|FAILED) \| ((?:\d{1,9} [a-z]{1,12}(?: \([^)]{1,40}\))?(?: \| )?){1,5}) \("
)
_BUN = re.compile(r" (\d{1,9}) (pass|fail|skip|todo)$")


def count_node(output: Output) -> Tally | None:
    """By the numbers below, else by prove's, else by the points themselves."""
    sums: dict[str, int] = {}
    for hit in matches(output, _NODE):
        sums[hit[1]] = sums.get(hit[1], 0) + int(hit[2])
    if "tests" not in sums:
        return _prove(output) or _tap(output)
    # node takes a file without any test for one that passed.
    passed = max(0, sums.get("pass", 0) - sum(1 for _ in _blank_files(output)))
    failed = sums.get("fail", 0) + sums.get("cancelled", 0)
    skipped = sums.get("skipped", 0) + sums.get("todo", 0)
    names = [point.name for point in points(output.out) if point.passed and not point.group]
    return Tally(passed, failed, skipped, whole_names(names, passed))


def _blank_files(output: Output) -> Iterator[str]:
    for line in output.out:
        ok, name = line.startswith("ok "), line.partition(" - ")[2]
        if not ok and not line.startswith("✔ "):
            continue
        path = relative(name if ok else _SPAN.sub("", line[2:]), output.seen)
        if not stands(path, output.seen):
            continue
        file = output.seen.worktree / path
        if file.stat().st_size <= BLANK_BYTES_MAX and not file.read_bytes().strip():
            yield path


def _prove(output: Output) -> Tally | None:
    """It counts what ran; what failed it names elsewhere."""
    return added([Tally(int(hit[1])) for hit in matches(output, _PROVE)])


def _tap(output: Output) -> Tally | None:
    """`1..0` is a plan of no tests."""
    if not any(line.startswith(("TAP version", "1..")) for line in output.out):
        return None
    found = [point for point in points(output.out) if not point.group]
    names = [point.name for point in found if point.passed]
    skipped = sum(1 for point in found if point.skipped)
    failed = len(found) - len(names) - skipped
    return Tally(len(names), failed, skipped, whole_names(names, len(names)))


def count_jest(output: Output) -> Tally | None:
    """jest and vitest; both say in one sentence that there was nothing."""
    hits = (*matches(output, _JEST), *matches(output, _VITEST))
    found = [worded(hit[1] or "", _WORDS) for hit in hits]
    return added([*found, *(Tally() for _ in matches(output, _NO_FILES))])


def count_mocha(output: Output) -> Tally | None:
    sums = {hit[2]: int(hit[1]) for hit in matches(output, _MOCHA)}
    if "passing" not in sums:
        return None
    return Tally(sums["passing"], sums.get("failing", 0), sums.get("pending", 0))


def count_ava(output: Output) -> Tally | None:
    return added([worded(f"{hit[1]} {hit[2]}", _WORDS) for hit in matches(output, _AVA)])


def count_deno(output: Output) -> Tally | None:
    return added([worded(hit[1], _WORDS) for hit in matches(output, _DENO)])


def count_bun(output: Output) -> Tally | None:
    sums = {hit[2]: int(hit[1]) for hit in matches(output, _BUN)}
    if not {"pass", "fail"} <= sums.keys():
        return None
    return Tally(sums["pass"], sums["fail"], sums.get("skip", 0) + sums.get("todo", 0))
