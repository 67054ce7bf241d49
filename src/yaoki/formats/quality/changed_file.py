"""A changed file as the criteria read it: both versions scanned once, with the added lines."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

from yaoki.core.lazy_dataclass import dataclass
from yaoki.core.model.change import CHANGED_BYTES_MAX, CHANGED_FILES_MAX
from yaoki.core.text import one_line, strip_terminal_codes
from yaoki.formats.quality.comment_lines import CommentLine, comment_lines
from yaoki.formats.quality.language_parts import FILE_CHARS_MAX, LanguagePart, split_languages
from yaoki.formats.quality.languages import Grammar, is_foreign, may_be_judged
from yaoki.formats.quality.lexer import ScannedSource, scan_source
from yaoki.formats.quality.model import Change

# A larger file is data or generated, and is not judged.
LINE_CHARS_MAX = 5_000
PATH_CHARS_MAX = 100


@dataclass(frozen=True)
class FileVersion:
    """A version of a file.  Read lazily, because most criteria need only one version."""

    path: str
    text: str
    grammar: Grammar

    @cached_property
    def scanned(self) -> ScannedSource:
        return scan_source(self.text, self.grammar)

    @cached_property
    def comments(self) -> list[CommentLine]:
        return comment_lines(self.scanned)

    @cached_property
    def lines(self) -> list[str]:
        return self.text.split("\n")


@dataclass(frozen=True, slots=True)
class ChangedFile:
    """A file before and after the change."""

    path: str
    before: FileVersion | None
    after: FileVersion | None
    added_lines: frozenset[int]


def unread_words(changes: Sequence[Change], files: str = "changed files") -> str:
    """The part of the change that was not read, in words; empty when every source in it was."""
    missed = [change for change in changes if change.was_skipped and may_be_judged(change.path)]
    if not missed:
        return ""
    return (
        f"{len(missed)} of {len(changes)} {files} were not read, first"
        f" {one_line(strip_terminal_codes(missed[0].path), PATH_CHARS_MAX)}: at most "
        f"{CHANGED_FILES_MAX} files and"
        f" {CHANGED_BYTES_MAX >> 20} MiB of one change are read"
    )


def changed_files_of(change: Change) -> list[ChangedFile]:
    """A changed file for every language in it; none for a file that cannot be judged."""
    pairs = (_pair(part) for part in split_languages(change))
    return [pair for pair in pairs if pair is not None]


def _pair(part: LanguagePart) -> ChangedFile | None:
    """Both versions of a part; None for files that are foreign or too large."""
    change, grammar = part.change, part.grammar
    if is_foreign(change.path):
        return None
    before, after = (_side(change.path, text, grammar) for text in (change.before, change.after))
    if (before is None) != (change.before is None) or (after is None) != (change.after is None):
        return None
    return ChangedFile(change.path, before, after, frozenset(line for line, _ in change.added))


def _side(path: str, text: str | None, grammar: Grammar) -> FileVersion | None:
    if text is None or len(text) > FILE_CHARS_MAX:
        return None
    clean = text.removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n")
    if any(len(line) > LINE_CHARS_MAX for line in clean.split("\n")):
        return None
    return FileVersion(path, clean, grammar)
