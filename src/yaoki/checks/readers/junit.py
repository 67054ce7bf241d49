"""JUnit XML in every dialect: test cases count wherever they stand, totals must be accounted for.

Read as a stream: nothing but the failing cases is kept, and a document type, where entity bombs
live, is refused.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from xml.etree import ElementTree

from yaoki.checks.readers.entries import ENTRIES_MAX, TEST, Entry, Parsed, number
from yaoki.checks.readers.places import relative, stands
from yaoki.checks.readers.seen import Seen

REPORT_BYTES_MAX = 32 << 20
PIECE = 64 << 10
DEPTH_MAX = 100
TEXT_CHARS_MAX = 4000

_SUITES = {"testsuite", "testsuites"}
# A test that failed and passed when it was run again has a flakyFailure or flakyError instead.
_FAULTS = {"failure", "error", "rerunFailure", "rerunError"}
# node's runner gives every case this class.
_NO_CLASS = {"", "test"}
# gotestsum says this of every failure, and what go printed below.
_NO_GIST = {"Failed"}
_FRAMES = ("=== RUN", "=== PAUSE", "=== CONT", "--- FAIL", "at ")


def read_junit(file: Path, seen: Seen) -> Parsed | None:
    """None when there is no report that can be read."""
    target = Cases()
    parser = ElementTree.XMLParser(target=target)
    try:
        with file.open("rb") as stream:
            while piece := stream.read(PIECE):
                parser.feed(piece)
        parser.close()
    except (ElementTree.ParseError, ValueError, LookupError, AssertionError):
        return None
    if not target.rooted:
        return None
    entries = tuple(_with_file(entry, seen) for entry in target.entries)
    return Parsed(
        TEST, entries, target.failures - len(entries), target.cases, skipped=target.skipped
    )


def _with_file(entry: Entry, seen: Seen) -> Entry:
    """vitest and deno name the file where others name the class; `code` holds the class here."""
    class_, file = entry.code, entry.file
    if not file and class_ and stands(relative(class_, seen), seen):
        file = class_
    return replace(entry, file=file, code="")


@dataclass(slots=True)
class _Suite:
    name: str
    declared: int
    failures_before: int


@dataclass(slots=True)
class Cases:
    """The target of the parser: sees each tag once and remembers only what failed."""

    cases: int = 0
    skipped: int = 0
    failures: int = 0
    rooted: bool = False
    entries: list[Entry] = field(default_factory=list)
    _path: list[str] = field(default_factory=list)
    _suites: list[_Suite] = field(default_factory=list)
    _case: Mapping[str, str] | None = None
    _fault: str | None = None
    _words: list[str] = field(default_factory=list)
    _room: int = 0

    def doctype(self, name: str, pubid: str | None, system: str | None) -> None:
        raise ValueError("a report needs no document type")

    def start(self, tag: str, attributes: Mapping[str, str]) -> None:
        tag = tag.rpartition("}")[2]
        self.rooted = self.rooted or tag in _SUITES or tag == "testcase"
        self._path.append(tag)
        if len(self._path) > DEPTH_MAX:
            raise ValueError("nested too deep")
        if tag in _SUITES:
            declared = sum(number(attributes.get(k)) or 0 for k in ("failures", "errors"))
            self._suites.append(_Suite(attributes.get("name", tag), declared, self.failures))
        elif tag == "testcase":
            self.cases += 1
            self._case, self._fault = attributes, None
        elif tag == "skipped" and self._case is not None:
            self.skipped += 1
        elif tag in _FAULTS and self._fault is None:
            self._fault, self._words = attributes.get("message", ""), []
            self._room = TEXT_CHARS_MAX

    def data(self, words: str) -> None:
        if self._fault is not None and self._room > 0 and self._path[-1] in _FAULTS:
            self._words.append(words[: self._room])
            self._room -= len(words)

    def end(self, tag: str) -> None:
        tag = self._path.pop()
        if tag == "testcase":
            if self._fault is not None and self._case is not None:
                self._add(_entry(self._case, *self._told()))
            self._case = self._fault = None
        elif tag in _FAULTS and self._case is None and self._fault is not None:
            suite = self._suites[-1].name if self._suites else ""
            message, trace = self._told()
            self._add(Entry(suite or "the report", message, trace=trace))
            self._fault = None
        elif tag in _SUITES:
            self._account(self._suites.pop())

    def close(self) -> None:
        """Nothing is left to do when the document ends."""

    def _told(self) -> tuple[str, str]:
        """The gist, and the trace that may tell the place."""
        trace = "".join(self._words)
        if self._fault and self._fault not in _NO_GIST:
            return self._fault, trace
        name = f"::{self._case.get('name')}" if self._case else ""
        lines = (line for line in trace.splitlines() if _telling(line.strip(), name))
        return "\n".join(lines) or self._fault or "", trace

    def _account(self, suite: _Suite) -> None:
        """jest-junit counts a file that did not load and names no case for it."""
        if suite.declared and self.failures == suite.failures_before:
            self._add(Entry(suite.name, f"counts {suite.declared} failures and names none"))

    def _add(self, entry: Entry) -> None:
        self.failures += 1
        if len(self.entries) < ENTRIES_MAX:
            self.entries.append(entry)


def _telling(line: str, name: str) -> bool:
    """phpunit begins with the name of the test, others go on with their stack."""
    return not line.startswith(_FRAMES) and not (name and line.endswith(name))


def _entry(case: Mapping[str, str], message: str, trace: str) -> Entry:
    class_, name = case.get("classname", ""), case.get("name", "")
    parts = (name,) if class_ in _NO_CLASS or class_ == name else (class_, name)
    return Entry(
        "::".join(filter(None, parts)) or "a test without a name",
        message,
        case.get("file", ""),
        number(case.get("line")),
        code=class_,
        trace=trace,
    )
