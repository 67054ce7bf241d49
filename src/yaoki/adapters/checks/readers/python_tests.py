"""Text output of pytest and unittest."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from yaoki.adapters.checks.readers.command_output import OutputLines
from yaoki.adapters.checks.readers.entries import (
    TEST_FAILED,
    OutputEntry,
    ParsedOutput,
    collect_entries,
)
from yaoki.core.lazy_dataclass import replace
from yaoki.core.lazy_pattern import lazy_compile

_ASIDE = lazy_compile(r"ERROR (?:at \w{1,20} of|collecting) ")
_PLACE = lazy_compile(r"([^\s:][^:]{0,300}\.\w{1,8}):(\d{1,7}): ")
_UNITTEST = lazy_compile(r"(?:FAIL|ERROR): (\w{1,200}) \(([\w.]{1,400})\)")
_RULES = ("=" * 70, "-" * 70)


def pytest_text(output: OutputLines) -> ParsedOutput | None:
    """The short summary completed by the sections above it; the sections alone if it is off."""
    sections = {entry.name: entry for entry in _sections(output.lines)}
    summary = list(_summary(output.lines))
    if not summary:
        return collect_entries(TEST_FAILED, sections.values())
    return collect_entries(TEST_FAILED, (_complete(entry, sections) for entry in summary))


def _summary(lines: Iterable[str]) -> Iterator[OutputEntry]:
    """`FAILED path::test - message`; the message may be missing."""
    for line in lines:
        if line.startswith(("FAILED ", "ERROR ")):
            name, message = _split(line.partition(" ")[2])
            file = name.partition("::")[0]
            if "::" in name or name.endswith(".py"):
                yield OutputEntry(name, message, file)


def _split(text: str) -> tuple[str, str]:
    """Splits at the first ` - ` outside the brackets of a parameter."""
    at = -1
    for _ in range(10):
        at = text.find(" - ", at + 1)
        if at < 0:
            return text.strip(), ""
        if text.count("[", 0, at) <= text.count("]", 0, at):
            return text[:at].strip(), text[at + 3 :]
    return text.strip(), ""


def _sections(lines: Iterable[str]) -> Iterator[OutputEntry]:
    """Each failure has a title in underscores, `E` lines, and a place."""
    current: OutputEntry | None = None
    for line in lines:
        title = _title(line)
        if title or line.startswith("======"):
            if current is not None and current.message:
                yield current
            current = OutputEntry(title) if title else None
        elif current is not None:
            current = _add_line(current, line)


def _title(line: str) -> str:
    """`____ ERROR at setup of test_x ____` is about test_x."""
    if not line.startswith("___") or not line.endswith("___"):
        return ""
    text = line.strip("_")
    return _ASIDE.sub("", text.strip(), count=1) if text[:1] == text[-1:] == " " else ""


def _add_line(entry: OutputEntry, line: str) -> OutputEntry:
    if line.startswith("E  ") and entry.message.count("\n") < 3:
        return replace(entry, message=f"{entry.message}\n{line[1:].strip()}".lstrip())
    place = _PLACE.match(line)
    # The last place is the innermost, which raised.
    return replace(entry, file=place[1], line=int(place[2])) if place else entry


def _complete(entry: OutputEntry, sections: dict[str, OutputEntry]) -> OutputEntry:
    file, _, path = entry.name.partition("::")
    section = sections.get(path.replace("::", ".") or file)
    if section is None:
        return entry
    # The summary is cut at the terminal width.
    message = entry.message if entry.message and not entry.message.endswith("...") else ""
    line = section.line if section.file == file else None
    return replace(entry, message=message or section.message, line=line)


def unittest_text(output: OutputLines) -> ParsedOutput | None:
    """`FAIL: test_x (module.Class.test_x)`, a traceback, and the next ruled line."""
    return collect_entries(TEST_FAILED, _unittest(output.lines))


def _unittest(lines: Iterable[str]) -> Iterator[OutputEntry]:
    name, trace = "", list[str]()
    for line in (*lines, _RULES[0]):
        if hit := _UNITTEST.match(line):
            name = hit[2] if hit[2].endswith(f".{hit[1]}") else f"{hit[2]}.{hit[1]}"
        elif line not in _RULES:
            trace.append(line)
        elif name and any(part.strip() for part in trace):
            yield OutputEntry(name, _exception(trace), trace="\n".join(trace))
            name = ""
        if hit or line in _RULES:
            trace = []


def _exception(trace: list[str]) -> str:
    """The line below the frames; the output of the test may follow it."""
    start = next((i for i, line in enumerate(trace) if line.startswith("Traceback ")), None)
    unindented = (line for line in trace[(start or 0) + 1 :] if line and not line[0].isspace())
    exception = next(unindented, "") if start is not None else ""
    return exception or next((line for line in reversed(trace) if line.strip()), "")
