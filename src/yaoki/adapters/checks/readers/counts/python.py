"""Summaries of pytest, unittest (nose2, Django) and doctest."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from yaoki.adapters.checks.readers.command_output import OutputLines
from yaoki.adapters.checks.readers.tally import (
    SuiteTally,
    add_tallies,
    match_lines,
    parse_worded_summary,
)
from yaoki.core.lazy_pattern import lazy_compile

_PYTEST = lazy_compile(
    r"(?:=+ )?((?:\d{1,9} (?:subtests )?[a-z]{1,20}(?:, )?){1,10}|no tests ran"
    r"|(?:no|\d{1,9}(?:/\d{1,9})?) tests? collected.{0,80}) in \d[\d.]*s(?: \([\d:]+\))?(?: =+)?$"
)
_PYTEST_WORDS = {
    **dict.fromkeys(("passed", "xpassed"), "passed"),
    **dict.fromkeys(("failed", "error", "errors"), "failed"),
    "skipped": "skipped",
    "xfailed": "xfailed",
}
_PYTEST_LINE = lazy_compile(
    r"(\S{1,300}\.py::.{1,400}?) (PASSED|XPASS|FAILED|ERROR)(?: +\[ *\d{1,3}%\])?$"
)
_PYTEST_PASSED = ("PASSED", "XPASS")
_RAN = lazy_compile(r"Ran (\d{1,9}) tests? in \d[\d.]*s$")
_ENDED = lazy_compile(r"(?:OK|FAILED|NO TESTS RAN)(?: \((.{1,200})\))?$")
_AMOUNT = lazy_compile(r"([a-z][a-z ]{1,30})=(\d{1,9})")
_UNITTEST_LINE = lazy_compile(r"(\w{1,200}) \(([\w.]{1,400})\)(?: .{0,400}?\.\.\..{0,400})?$")
# The end of a test is on the line of its name, below its documentation, or below what it wrote.
_UNITTEST_END = lazy_compile(r".*?(ok|FAIL|ERROR)$")
_UNITTEST_RULES = ("=" * 70, "-" * 70)
_DOCTEST = lazy_compile(r"(\d{1,9}) passed(?: and (\d{1,9}) failed)?\.$")


def count_pytest(output: OutputLines) -> SuiteTally | None:
    """`3 tests collected` is the summary of a run without tests."""
    tallies = [parse_worded_summary(hit[1], _PYTEST_WORDS) for hit in match_lines(output, _PYTEST)]
    tests = [(hit[1], hit[2] in _PYTEST_PASSED) for hit in match_lines(output, _PYTEST_LINE)]
    return add_tallies(
        tallies,
        (name for name, passed in tests if passed),
        (name for name, passed in tests if not passed),
    )


def count_unittest(output: OutputLines) -> SuiteTally | None:
    """`Ran 3 tests in 0.1s`, and below it `OK (skipped=1)` or `FAILED (failures=1)`."""
    tallies: list[SuiteTally] = []
    ran: int | None = None
    for line in output.lines:
        if hit := _RAN.match(line):
            tallies += [SuiteTally(ran)] if ran is not None else []
            ran = int(hit[1])
        elif ran is not None and (hit := _ENDED.match(line)):
            tallies.append(_unittest(ran, dict(_AMOUNT.findall(hit[1] or ""))))
            ran = None
    tallies += [SuiteTally(ran)] if ran is not None else []
    tests = [*_unittest_lines(output.lines)] if tallies else []
    return add_tallies(
        tallies,
        (name for name, end in tests if end == "ok"),
        (name for name, end in tests if end in ("FAIL", "ERROR")),
    )


def _unittest_lines(lines: Iterable[str]) -> Iterator[tuple[str, str]]:
    """Each test that `-v` names, with its end; empty for one that was skipped."""
    name = last = ""
    for line in (*lines, _UNITTEST_RULES[0]):
        hit = _UNITTEST_LINE.match(line)
        if name and (hit or line in _UNITTEST_RULES or _RAN.match(line)):
            end = _UNITTEST_END.match(last)
            yield name, end[1] if end else ""
            name = ""
        if hit:
            name = _dotted(hit[1], hit[2])
        last = line if line.strip() else last


def _dotted(test: str, place: str) -> str:
    return place if place.endswith(f".{test}") else f"{place}.{test}"


def _unittest(ran: int, amounts: Mapping[str, str]) -> SuiteTally:
    """The tally of unittest.  A test with subtests may fail more than once; then the number of
    passed tests is unknown.
    """
    bad = ("failures", "errors", "unexpected successes")
    failed = sum(int(amounts.get(key, 0)) for key in bad)
    xfailed = int(amounts.get("expected failures", 0))
    skipped = int(amounts.get("skipped", 0)) + xfailed
    return SuiteTally(max(0, ran - failed - skipped), failed, skipped, xfailed=xfailed)


def count_doctest(output: OutputLines) -> SuiteTally | None:
    """Printed only with `-v`."""
    return add_tallies(
        [SuiteTally(int(hit[1]), int(hit[2] or 0)) for hit in match_lines(output, _DOCTEST)]
    )
