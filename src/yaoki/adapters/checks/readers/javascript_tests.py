"""Text output of jest, vitest, and the runners of node and deno."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from yaoki.adapters.checks.readers.command_output import OutputLines
from yaoki.adapters.checks.readers.entries import (
    TEST_FAILED,
    OutputEntry,
    ParsedOutput,
    collect_entries,
)
from yaoki.adapters.checks.readers.locations import parse_frame
from yaoki.adapters.checks.readers.node_files import explain_failed_files
from yaoki.core.lazy_dataclass import replace
from yaoki.core.lazy_pattern import lazy_compile

_DENO_PLACE = lazy_compile(r"(\S.{0,400}) => (\./[^:]{1,300}|file:[^:]{1,300}):(\d{1,7}):\d{1,7}$")
_SPAN = lazy_compile(r" \(\d[\d.]{0,20}m?s\)$")
_NO_TEST = ("Console", "Cannot log after tests")
_SUITE = "Test suite failed to run"
BODY_LINES_MAX = 40


def jest_text(output: OutputLines) -> ParsedOutput | None:
    """`FAIL file`, then `● group › test`, the message, and frames."""
    by_test = {(entry.file, entry.name): entry for entry in _jest(output.lines)}
    entries = [entry for entry in by_test.values() if entry.file]
    return collect_entries(TEST_FAILED, entries or _jest_coverage(output.lines))


def _jest(lines: Iterable[str]) -> Iterator[OutputEntry]:
    file, current = "", None
    for line in lines:
        head = line.startswith(("FAIL ", "PASS ", "Test Suites:", "Summary of all"))
        if head or line.startswith("  ● "):
            if current is not None:
                yield current
            current = None
        if head:
            file = _jest_file(line) if line.startswith("FAIL ") else ""
        elif line.startswith("  ● ") and file:
            current = _jest_title(line[4:].strip(), file)
        elif current is not None:
            current = _add_jest_line(current, line)
    if current is not None:
        yield current


def _jest_file(line: str) -> str:
    """`FAIL project ./file (5.1 s)`: the word that looks like a path."""
    words = [word for word in line.split()[1:] if "." in word and not word.startswith("(")]
    return words[0].removeprefix("./") if words else ""


def _jest_title(title: str, file: str) -> OutputEntry | None:
    if title.startswith(_NO_TEST):
        return None
    return OutputEntry(file if title == _SUITE else f"{file} › {title}", file=file)


def _add_jest_line(entry: OutputEntry, line: str) -> OutputEntry:
    text = line.strip()
    if text.startswith("at ") and entry.line is None:
        path, at = parse_frame(text.rpartition(" ")[2])
        return replace(entry, line=at) if _is_same_file(path, entry.file) else entry
    if text == "Details:":  # for an unreadable file: advice above, the reason below
        return replace(entry, message="")
    is_message = text and not text.startswith(("at ", "|", "> ")) and not text[0].isdigit()
    if is_message and entry.message.count("\n") < 3:
        return replace(entry, message=f"{entry.message}\n{text}".lstrip())
    return entry


def _is_same_file(path: str, file: str) -> bool:
    return bool(path) and path.endswith(file.removeprefix("./"))


def _jest_coverage(lines: Iterable[str]) -> Iterator[OutputEntry]:
    for line in lines:
        if line.startswith("Jest: ") and " threshold " in line and " not met" in line:
            yield OutputEntry("coverage threshold", line.removeprefix("Jest: "))


def vitest_text(output: OutputLines) -> ParsedOutput | None:
    """` FAIL  file > group > test`; tests with the same failure share one message."""
    by_name = {entry.name: entry for entry in _vitest(output.lines)}
    return collect_entries(TEST_FAILED, by_name.values())


def _vitest(lines: Iterable[str]) -> Iterator[OutputEntry]:
    titles: list[str] = []
    body: list[str] = []
    for line in lines:
        ruled, title = line.startswith("⎯⎯"), line.startswith(" FAIL  ")
        if ruled or (title and body):
            yield from _vitest_group(titles, body)
            titles, body = [], []
        if title:
            titles.append(line[7:].strip())
        elif titles and line.strip() and not ruled and len(body) < BODY_LINES_MAX:
            body.append(line)
    yield from _vitest_group(titles, body)


def _vitest_group(titles: Iterable[str], body: Iterable[str]) -> Iterator[OutputEntry]:
    """Every title of the group has the group's message."""
    for title in titles:
        entry = _vitest_title(title)
        for line in body:
            entry = _add_vitest_line(entry, line)
        yield entry


def _vitest_title(title: str) -> OutputEntry:
    """A project name may precede the file, `[ file ]` may follow it."""
    title = title.rpartition("|")[2].strip() if title.startswith("|") else title
    name = title.partition(" [ ")[0]
    return OutputEntry(name, file=name.partition(" > ")[0])


def _add_vitest_line(entry: OutputEntry, line: str) -> OutputEntry:
    if line.startswith(" ❯ ") and entry.line is None:
        path, at = parse_frame(line.strip().rpartition(" ")[2])
        return replace(entry, line=at) if _is_same_file(path, entry.file) else entry
    if not entry.message and line.strip():
        return replace(entry, message=line.strip())
    return entry


def node_text(output: OutputLines) -> ParsedOutput | None:
    """The last part of the `spec` reporter: `test at file:1:2`, `✖ name`, then the error."""
    return collect_entries(
        TEST_FAILED, explain_failed_files(_node(output.lines), output.stdout_lines)
    )


def _node(lines: Iterable[str]) -> Iterator[OutputEntry]:
    place: tuple[str, int | None] = ("", None)
    current: OutputEntry | None = None
    for line in lines:
        if line.startswith("test at "):
            if current is not None:
                yield current
            place, current = parse_frame(line.removeprefix("test at ")), None
        elif place[0] and current is None and line.startswith("✖ "):
            current = OutputEntry(_SPAN.sub("", line[2:]), file=place[0], line=place[1])
        elif current is not None and line.strip().startswith("at "):
            yield current
            current, place = None, ("", None)
        elif current is not None and line.strip():
            current = replace(current, message=f"{current.message}\n{line.strip()}"[:2000].lstrip())
    if current is not None:
        yield current


def deno_text(output: OutputLines) -> ParsedOutput | None:
    """Below ` ERRORS `: `name => ./file:1:2`, then `error: message`."""
    if " ERRORS " not in output.lines:
        return None
    return collect_entries(TEST_FAILED, _deno(output.lines[output.lines.index(" ERRORS ") :]))


def _deno(lines: Iterable[str]) -> Iterator[OutputEntry]:
    current: OutputEntry | None = None
    for line in lines:
        if line == " FAILURES ":
            return
        if hit := _DENO_PLACE.match(line):
            current = OutputEntry(hit[1].replace(" ... ", " > "), file=hit[2], line=int(hit[3]))
        elif current is not None and line.startswith("error: "):
            yield replace(current, message=line.removeprefix("error: "))
            current = None
