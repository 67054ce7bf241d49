"""Q2: notes about unfinished work."""

from __future__ import annotations

import re
from collections.abc import Iterator

from yaoki.core.lazy_pattern import lazy_compile
from yaoki.formats.quality.changed_file import FileVersion
from yaoki.formats.quality.model import Violation
from yaoki.formats.quality.python import docstring_lines, parse_python

_WORD = "(?:TODO|FIXME|TBD|HACK|XXX)"
_NOT_A_NOTE = (
    r"(?!s?[`'\"\w-]|\.\w|\s{0,2}(?:->|→|=>|[,/|&+])\s{0,2}[A-Z]{3,}\b|\s{0,2}(?:[/|,&+]|or|and)\s{0,2}"
    + _WORD
    + r"|\s+(?:lists?|items?|apps?"
    r"|applications?|entry|entries|cards?|columns?|status|components?|page|model|ids?|title|table|store|state|count"
    r"|comments?|markers?|tags?|notes?|words?|keywords?)\b)"
)
# The first word of a comment, or anywhere with the colon that makes it a note.
_FIRST = lazy_compile(rf"[\s@\[(*•-]{{0,8}}({_WORD}){_NOT_A_NOTE}")
_NOTED = lazy_compile(rf"(?<![\w`'\"/.-])({_WORD})(?:\([^)\n]{{0,40}}\))?\s{{0,2}}[:!](?![`'\"])")
_UNDECIDED = lazy_compile(
    rf"(?<![\w`'\"/.,|-])(?<!no )(?<!/ )(?<!or )(?<!and )(?:FIXME|TBD)(?![`'\"/|,-]){_NOT_A_NOTE}"
)
# A note with two names, and a tag that is always a note.
_TWO_NAMES = lazy_compile(
    rf"[\s@\[(*•-]{{0,8}}{_WORD}(?:\s?/\s?{_WORD}){{1,4}}\s{{0,2}}:|\s{{0,8}}@todo\b"
)
_STRICT = lazy_compile(rf"\s{{0,80}}(?:[-*]\s)?({_WORD})(?:\([^)\n]{{0,40}}\))?(?::|\s{{0,4}}\Z)")
_ON_PAPER = lazy_compile(
    r"\s{0,8}(?:[-*]\s{1,4}(?=\S{3,12}:))?[*_]{0,2}(TODO|FIXME|TBD)[*_]{0,2}(?::|[.\s]{0,4}\Z)"
)
_IN_CODE = {
    "rust": lazy_compile(r"\b(?:todo|unimplemented)!\s{0,4}[(\[{]"),
    "kotlin": lazy_compile(r"(?<![\w.])TODO\s{0,4}\("),
}
_WORDS = lazy_compile(r"\w+")
_LEGEND = lazy_compile(r"\s{0,8}(?:[-*]\s)?[*_`]{0,2}(?:DONE|DOING|WIP|IN PROGRESS|BLOCKED)\b")
_FENCE = lazy_compile(r"\s{0,8}(?:```|~~~)")
_TODO_FILE = lazy_compile(r"todo|roadmap|backlog|changelog", re.IGNORECASE)


def find_todos(side: FileVersion) -> Iterator[Violation]:
    for note in side.comments:
        # `TODO, // TODO` in an enumeration names a member.
        if is_todo(note.text) and note.text.rstrip(".,") not in _WORDS.findall(note.code):
            yield _mark(side, note.line)
    if side.grammar.name == "python":
        yield from _in_docstrings(side)
    yield from _in_code(side)
    if side.grammar.is_prose and not _TODO_FILE.search(side.path):
        yield from _in_prose(side)


def is_todo(text: str) -> bool:
    """Upper case only: a program may be about todo lists."""
    shapes = (_FIRST.match, _NOTED.search, _UNDECIDED.search, _TWO_NAMES.match)
    return any(shape(text) for shape in shapes)


def _in_docstrings(side: FileVersion) -> Iterator[Violation]:
    tree = parse_python(side.text) if "TODO" in side.text or "FIXME" in side.text else None
    for line, text in docstring_lines(tree) if tree else ():
        if _STRICT.match(text) and line <= len(side.lines):
            yield _mark(side, line)


def _in_code(side: FileVersion) -> Iterator[Violation]:
    pattern = None if "test" in side.path.lower() else _IN_CODE.get(side.grammar.name)
    for n, line in enumerate(side.scanned.code.split("\n"), 1) if pattern else ():
        if pattern is not None and pattern.search(line):
            yield _mark(side, n)


def _in_prose(side: FileVersion) -> Iterator[Violation]:
    """A page that says TBD instead of its text."""
    fenced = False
    for n, line in enumerate(side.lines, 1):
        if _FENCE.match(line):
            fenced = not fenced
        elif not fenced and _ON_PAPER.match(line) and not _is_in_legend(side.lines, n):
            yield _mark(side, n)


def _is_in_legend(lines: list[str], n: int) -> bool:
    """Beside DONE and DOING the word names a state."""
    return any(_LEGEND.match(line) for line in lines[max(0, n - 3) : n + 2])


def _mark(side: FileVersion, line: int) -> Violation:
    return Violation(side.path, line, side.lines[line - 1].strip())
