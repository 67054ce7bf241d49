"""JUnit XML in every dialect: counts test cases at any depth, and checks the totals of suites.

The file is read as a stream: only failing cases are kept in memory, and a document type, which
could define entity bombs, is refused.
"""

from __future__ import annotations

import codecs
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field
from pathlib import Path
from xml.parsers import expat

from yaoki.adapters.checks.readers.command_output import CommandOutput
from yaoki.adapters.checks.readers.doctests import describe_doctest
from yaoki.adapters.checks.readers.entries import (
    ENTRIES_MAX,
    TEST_FAILED,
    OutputEntry,
    ParsedOutput,
    ReportUnreadable,
    number_or_none,
)
from yaoki.adapters.checks.readers.locations import is_worktree_file, relative_to_worktree
from yaoki.adapters.checks.readers.node_files import NO_REASON
from yaoki.adapters.checks.readers.tally import NAMES_MAX, SuiteTally, names_if_complete
from yaoki.core.lazy_dataclass import dataclass, replace
from yaoki.core.lazy_pattern import lazy_compile
from yaoki.core.text import strip_terminal_codes

REPORT_BYTES_MAX = 32 << 20
PIECE = 64 << 10
# The parser buffers a whole tag with its attributes.
TAG_BYTES_MAX = 1 << 20
DEPTH_MAX = 100
TEXT_CHARS_MAX, END_CHARS_MAX = 4000, 1000
NAME_CHARS_MAX = 300

_SUITES = {"testsuite", "testsuites"}
# A test that passed when it was run again has flakyFailure or flakyError instead.
_FAULTS = {"failure", "error", "rerunFailure", "rerunError"}
# Values of `status` or `result` that googletest, ctest and others write.
_BAD = {"fail", "failed", "failure", "error", "errored", "broken"}
_NOT_RUN = {"notrun", "suppressed", "skipped", "disabled", "ignored", "pending"}
# The runner of node gives every case this class.
_NO_CLASS = {"", "test"}
# gotestsum writes this for every failure, with the output of go below.
_NO_GIST = {"Failed"}
# pytest writes this for a file that it cannot load, with the reason in lines with an E.
_NOT_LOADED = "collection failure"
# The type of a test that was not skipped but failed, as its marker expects.
_XFAILED = "pytest.xfail"
_NODE_EXIT = lazy_compile(r"exitCode: (\d{1,3})\b")
_ASIDE = ("failed on setup with ", "failed on teardown with ")
_E_LINE = lazy_compile(r"^E {2,}\S", re.MULTILINE)
_E_BLOCK = lazy_compile(r"(?:^E {2,}\S.*\n?)+", re.MULTILINE)
_FRAMES = ("=== RUN", "=== PAUSE", "=== CONT", "--- FAIL", "at ")
_FOREIGN: Mapping[str, str] = {
    "TestRun": "TRX of Visual Studio",
    "test-run": "NUnit",
    "test-results": "NUnit",
    "assemblies": "xUnit.net",
    "html": "HTML",
    "checkstyle": "Checkstyle",
    "coverage": "a coverage report",
}
_ENCODING = lazy_compile(rb"""<\?xml[^>]{0,100}encoding=["']([\w.-]{1,40})["']""")
# Encodings that the parser does not support are decoded first; no other encoding is read.
_DECODED = lazy_compile(
    r"shift[_-]?jis|sjis|windows-31j|cp932|euc-(?:jp|kr)|iso-2022-jp|gb2312|gbk|gb18030|big5"
    r"|(?:windows-|cp)125\d|iso-8859-\d{1,2}|koi8-[ru]"
)


def read_junit(file: Path, command: CommandOutput) -> ParsedOutput:
    """Raises `ReportUnreadable` for anything but JUnit XML."""
    target = JUnitTarget()
    try:
        _feed(file, target)
    except expat.ExpatError as error:
        raise ReportUnreadable(_describe_xml_error(error)) from None
    except UnicodeError as error:
        raise ReportUnreadable(f"is not in the encoding it names ({error.args[0]})") from None
    if not target.has_junit_root:
        raise ReportUnreadable(_describe_other_format(target.root))
    entries = tuple(_with_file(entry, command) for entry in target.entries)
    more = target.failures - len(entries)
    return ParsedOutput(TEST_FAILED, entries, more, _tally(target, entries, command))


def _tally(
    target: JUnitTarget, entries: Sequence[OutputEntry], command: CommandOutput
) -> SuiteTally:
    """Names in the same form as failing tests; the file of a class is searched once."""
    files: dict[str, str] = {}
    names = []
    for class_, name in target.passing:
        if class_ not in files:
            files[class_] = _test_id(class_, class_, command)
        shown = files[class_] + name.removeprefix(class_) if class_ else name
        names.append(_shown_name(shown))
    failed = target.cases - target.passed - target.skipped
    return SuiteTally(
        target.passed,
        failed,
        target.skipped,
        names_if_complete(names, target.passed),
        target.xfailed,
        names_if_complete([_shown_name(entry.name) for entry in entries], failed),
    )


def _shown_name(name: str) -> str:
    return strip_terminal_codes(name)[:NAME_CHARS_MAX]


def _feed(file: Path, target: JUnitTarget) -> None:
    with file.open("rb") as stream:
        pieces = iter(lambda: stream.read(PIECE), b"")
        first = next(pieces, b"")
        named = _ENCODING.match(first.lstrip(b"\xef\xbb\xbf \t\r\n"))
        name = named[1].decode("ascii").lower() if named else ""
        name = name if _DECODED.fullmatch(name) else ""
        parser = expat.ParserCreate("utf-8" if name else None)
        parser.StartElementHandler = target.start
        parser.EndElementHandler = target.end
        parser.CharacterDataHandler = target.data
        parser.StartDoctypeDeclHandler = target.doctype
        fed = 0
        for piece in _decode(first, pieces, name):
            parser.Parse(piece, False)
            fed += len(piece)
            if fed - parser.CurrentByteIndex > TAG_BYTES_MAX:
                raise ReportUnreadable(f"has a tag over {TAG_BYTES_MAX} bytes")
        parser.Parse(b"", True)


def _decode(first: bytes, rest: Iterator[bytes], name: str) -> Iterator[bytes]:
    if not name:
        yield first
        yield from rest
        return
    decoder = codecs.getincrementaldecoder(name)()
    for piece in (first, *rest):
        yield decoder.decode(piece).encode("utf-8")
    yield decoder.decode(b"", True).encode("utf-8")


def _describe_xml_error(error: expat.ExpatError) -> str:
    """Describe a syntax error for a person who has to inspect the file."""
    message, at = expat.errors.messages.get(error.code, str(error)), f"line {error.lineno}"
    truncations = (
        "no element found",
        "unclosed token",
        "unclosed CDATA section",
        "partial character",
    )
    if message in truncations:
        return f"ends in the middle, at {at}"
    return f"is not valid XML: {message}, {at}"


def _describe_other_format(root: str) -> str:
    name = _FOREIGN.get(root)
    return (
        f"is {name}, not JUnit XML" if name else f"is not JUnit XML: it begins with <{root[:40]}>"
    )


def _with_file(entry: OutputEntry, command: CommandOutput) -> OutputEntry:
    """vitest and deno write the file instead of the class; `code` holds the class here."""
    class_, file = entry.code, entry.file
    if not file and class_ and is_worktree_file(relative_to_worktree(class_, command), command):
        file = class_
    return replace(entry, name=_test_id(entry.name, class_, command), file=file, code="")


def _test_id(name: str, class_: str, command: CommandOutput) -> str:
    """pytest writes `a.b.C::test`, but runs a test by `a/b.py::C::test`."""
    module = name if class_ in _NO_CLASS else class_
    parts = module.split(".", DEPTH_MAX)
    for length in range(len(parts), 0, -1):
        file = "/".join(parts[:length]) + ".py"
        if is_worktree_file(relative_to_worktree(file, command), command):
            inner = "".join(f"::{part}" for part in parts[length:])
            return file + inner + name.removeprefix(module)
    return name


@dataclass(slots=True)
class _Suite:
    name: str
    declared: int
    failures_before: int


@dataclass(slots=True)
class JUnitTarget:
    """The target of the parser: gets each tag once and keeps only failures."""

    cases: int = 0
    passed: int = 0
    skipped: int = 0
    xfailed: int = 0
    failures: int = 0
    has_junit_root: bool = False
    root: str = ""
    entries: list[OutputEntry] = field(default_factory=list)
    # Class and name of each test that passed, up to the bound.
    passing: list[tuple[str, str]] = field(default_factory=list)
    _path: list[str] = field(default_factory=list)
    _suites: list[_Suite] = field(default_factory=list)
    _case: Mapping[str, str] | None = None
    _fault: str | None = None
    _text_parts: list[str] = field(default_factory=list)
    _chars_left: int = 0
    _tail: str = ""
    _skipped: bool = False
    _xfailed: bool = False

    def doctype(self, *_: object) -> None:
        raise ReportUnreadable("has a document type, which could define entities without bound")

    def start(self, tag: str, attributes: Mapping[str, str]) -> None:
        tag = tag.rpartition(":")[2]
        self.root = self.root or tag
        self.has_junit_root = self.has_junit_root or tag in _SUITES or tag == "testcase"
        self._path.append(tag)
        if len(self._path) > DEPTH_MAX:
            raise ReportUnreadable(f"is nested deeper than {DEPTH_MAX} tags")
        if tag in _SUITES:
            declared = sum(number_or_none(attributes.get(k)) or 0 for k in ("failures", "errors"))
            self._suites.append(_Suite(attributes.get("name", tag), declared, self.failures))
        elif tag == "testcase":
            self.cases += 1
            self._case, self._fault, self._text_parts = attributes, None, []
            self._skipped = bool(_states(attributes) & _NOT_RUN)
            self._xfailed = False
        elif tag == "skipped" and self._case is not None:
            self._skipped = True
            self._xfailed = attributes.get("type") == _XFAILED
        elif tag in _FAULTS and self._fault is None:
            self._fault, self._text_parts = attributes.get("message", ""), []
            self._chars_left, self._tail = TEXT_CHARS_MAX, ""

    def data(self, text: str) -> None:
        if self._fault is not None and self._chars_left > 0 and self._path[-1] in _FAULTS:
            self._text_parts.append(text[: self._chars_left])
            self._chars_left -= len(text)
        elif self._fault is not None and self._path[-1] in _FAULTS:
            self._tail = (self._tail + text)[-END_CHARS_MAX:]

    def end(self, tag: str) -> None:
        tag = self._path.pop()
        if tag == "testcase":
            case = self._case or {}
            if self._fault is not None or _states(case) & _BAD:
                load = self._fault == _NOT_LOADED
                self._add(replace(_entry(case, *self._describe_xml_error()), is_load_error=load))
            elif self._skipped:
                self.skipped += 1
                self.xfailed += self._xfailed
            else:
                self._count_passed(case)
            self._case = self._fault = None
        elif tag in _FAULTS and self._case is None and self._fault is not None:
            suite = self._suites[-1].name if self._suites else ""
            message, trace = self._describe_xml_error()
            self._add(OutputEntry(suite or "the report", message, trace=trace))
            self._fault = None
        elif tag in _SUITES:
            self._check_total(self._suites.pop())

    def _describe_xml_error(self) -> tuple[str, str]:
        """The message, and the trace that may contain the location."""
        trace = strip_terminal_codes("".join(self._text_parts))
        if self._fault and (self._fault == _NOT_LOADED or self._fault.startswith(_ASIDE)):
            fault = strip_terminal_codes(self._fault)
            full = trace + strip_terminal_codes(self._tail)
            return _quoted_exception(fault) or _last_exception(full) or fault, trace
        if self._fault == NO_REASON and (hit := _NODE_EXIT.search(trace)):
            why = "the junit reporter of node leaves out why"
            return f"its process ended with exit code {hit[1]}; {why}", trace
        if self._fault and self._fault not in _NO_GIST:
            fault = strip_terminal_codes(self._fault)
            return describe_doctest(fault) or fault, trace
        name = f"::{self._case.get('name')}" if self._case else ""
        lines = (line for line in trace.splitlines() if _is_message(line.strip(), name))
        return "\n".join(lines) or self._fault or "", trace

    def _count_passed(self, case: Mapping[str, str]) -> None:
        self.passed += 1
        if self.passed <= NAMES_MAX:
            class_, name = case.get("classname", ""), case.get("name", "")
            alone = class_ in _NO_CLASS or class_ == name
            self.passing.append(("", name) if alone else (class_, f"{class_}::{name}"))

    def _check_total(self, suite: _Suite) -> None:
        """jest-junit counts a file that did not load, but writes no case for it."""
        if suite.declared and self.failures == suite.failures_before:
            self._add(OutputEntry(suite.name, f"counts {suite.declared} failures and names none"))

    def _add(self, entry: OutputEntry) -> None:
        self.failures += 1
        if len(self.entries) < ENTRIES_MAX:
            self.entries.append(entry)


def _quoted_exception(fault: str) -> str:
    """The exception in `failed on setup with "…"`; empty if pytest quotes its own report there,
    or source lines before the exception.
    """
    text = fault.partition(' with "')[2].removesuffix('"')
    return "" if text[:1].isspace() or _E_LINE.search(text) else _without_explanation(text)


def _last_exception(trace: str) -> str:
    """The last exception that pytest marks with E, from its least indented line on: the source
    lines of a syntax error are above it, explanations of an assertion below it.
    """
    blocks = _E_BLOCK.findall(trace)
    if not blocks:
        return next((line for line in reversed(trace.splitlines()) if line.strip()), "")
    lines = [line[1:] for line in blocks[-1].splitlines()]
    indents = [len(line) - len(line.lstrip()) for line in lines]
    return _without_explanation("\n".join(lines[indents.index(min(indents)) :]).strip())


def _without_explanation(text: str) -> str:
    """An assertion with its own message needs no `assert False` and `+ where False = …`."""
    lines = [line.strip() for line in text.splitlines()]
    own = text.startswith("AssertionError: ") and not text.startswith("AssertionError: assert ")
    end = (i for i, line in enumerate(lines) if own and line.startswith("assert "))
    return "\n".join(lines[: next(end, None)])


def _states(case: Mapping[str, str]) -> set[str]:
    """A case may report only by an attribute that it failed or was not run."""
    return {case.get(key, "").lower() for key in ("status", "result")}


def _is_message(line: str, name: str) -> bool:
    """False for the test name, with which phpunit begins, and for stack lines."""
    return not line.startswith(_FRAMES) and not (name and line.endswith(name))


def _entry(case: Mapping[str, str], message: str, trace: str) -> OutputEntry:
    class_, name = case.get("classname", ""), case.get("name", "")
    parts = (name,) if class_ in _NO_CLASS or class_ == name else (class_, name)
    return OutputEntry(
        "::".join(filter(None, parts)) or "a test without a name",
        message,
        case.get("file", ""),
        number_or_none(case.get("line")),
        code=class_,
        trace=trace,
    )
