"""Test files that fail as a whole under node's runner: why their process ended.

node reports such a file as a failed test with the words `test failed`.  The error that nothing
caught is in the output of the process, which the runner prints above the line of the file.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from yaoki.adapters.checks.readers.entries import OutputEntry
from yaoki.core.decide.baseline import DOES_NOT_LOAD
from yaoki.core.lazy_dataclass import dataclass, replace
from yaoki.core.lazy_pattern import lazy_compile

# Node writes these words instead of a reason.
NO_REASON = "test failed"
LINES_MAX = 60
_VERSION = lazy_compile(r"Node\.js v\d")
_FILE = lazy_compile(r"(?:# Subtest: |✖ )(\S.{0,400}?)(?: \(\d[\d.]{0,20}m?s\))?$")
_CARET = lazy_compile(r"\s*\^+\s*$")
_PLACE = lazy_compile(r"(?:file://)?(/.{1,300}):(\d{1,7})$")
_ERROR = lazy_compile(r"(?:Uncaught )?(?:[A-Z]\w{0,80}(?:Error|Exception)|Error)\b")
# An error without a class of its own: its message says more than this word.
_PLAIN = lazy_compile(r"^Error(?: \[\w{1,60}\])?: ")
_LOAD = lazy_compile(
    r"SyntaxError\b|(?:\w{0,40}Error(?: \[\w{1,60}\])?: )?Cannot find (?:module|package)\b"
    r"|\w{0,40}Error \[ERR_(?:MODULE|REQUIRE|UNKNOWN_FILE|UNSUPPORTED|PACKAGE|INVALID_MODULE)\w*\]"
)


@dataclass(frozen=True, slots=True)
class UncaughtError:
    """`place`: the file and line that node prints above the error; empty for a file of node.

    `required_by`: the file that asked for a missing module.
    """

    text: str
    place: str = ""
    line: int | None = None
    required_by: str = ""


def explain_failed_files(
    entries: Iterable[OutputEntry], lines: Sequence[str]
) -> Iterator[OutputEntry]:
    """The entries; a file that failed as a whole has the error that ended its process."""
    errors: Mapping[str, UncaughtError] | None = None
    for entry in entries:
        if entry.message.strip("'") != NO_REASON:
            yield entry
            continue
        if errors is None:
            errors = dict(_find_errors(lines))
        error = errors.get(entry.name)
        yield entry if error is None else _explain(entry, error)


def _explain(entry: OutputEntry, error: UncaughtError) -> OutputEntry:
    own = _is_same_file(error.place, entry.name)
    line = error.line if own and error.line else entry.line
    if not _LOAD.match(error.text):
        return replace(entry, message=error.text, line=line)
    cause = _PLAIN.sub("", error.text)
    if error.place and not own:
        cause = f"{cause} ({error.place}:{error.line})"
    elif error.required_by and not _is_same_file(error.required_by, entry.name):
        cause = f"{cause} (required by {error.required_by})"
    # The trace is searched for a package that is not installed.
    return replace(entry, message=f"{DOES_NOT_LOAD}{cause}", line=line, trace=error.text)


def _is_same_file(path: str, name: str) -> bool:
    """node 20 names a file by its absolute path, later versions by the path of the command."""
    return bool(path) and (path == name or path.endswith(f"/{name}"))


def _find_errors(lines: Sequence[str]) -> Iterator[tuple[str, UncaughtError]]:
    """Each file with the error above it; the version of node ends the output of its process."""
    above: list[str] = []
    error: UncaughtError | None = None
    for line in lines:
        if hit := _FILE.match(line):
            if error is not None:
                yield hit[1], error
            above, error = [], None
        elif _VERSION.match(text := _plain_text(line)):
            error = _read_error(above)
            above = []
        else:
            above = [*above[1 - LINES_MAX :], text]


def _plain_text(line: str) -> str:
    """TAP writes the output of a process as comments, with a backslash before each `#`."""
    return line.removeprefix("# ").replace("\\#", "#") if line.startswith("# ") else line


def _read_error(lines: Sequence[str]) -> UncaughtError | None:
    """`file:line`, the source and a caret; below them the error and its frames."""
    caret = next((at for at, line in enumerate(lines) if _CARET.match(line)), -1)
    below = [line for line in lines[caret + 1 :] if line.strip()]
    start = next((at for at, line in enumerate(below) if _ERROR.match(line)), None)
    if start is None:
        return None
    places = [hit for line in lines[: max(caret, 0)] if (hit := _PLACE.match(line))]
    stack = [line[2:] for line in below[start + 1 : start + 3] if line.startswith("- ")]
    return UncaughtError(
        below[start],
        places[-1][1] if places else "",
        int(places[-1][2]) if places else None,
        stack[0] if stack else "",
    )
