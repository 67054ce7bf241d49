"""Splits a Markdown text into lines and sections: drops comments, marks fenced code."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from yaoki.core.lazy_dataclass import dataclass
from yaoki.core.lazy_pattern import lazy_compile
from yaoki.formats.plan.defects import Defects

BYTES_MAX = 1 << 20
LINES_MAX = 20_000
LINE_CHARS_MAX = 20_000

_FORBIDDEN = lazy_compile("[^\t\n\r\x20-\x7e\x85\xa0-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_FENCE = lazy_compile(r"[ \t]*(`{3,}|~{3,})(.*)")
_HEADING = lazy_compile(r"(#{1,6})[ \t]+(.*)")
_RULE = lazy_compile(r"[ \t]*(?:-[ \t]*){3,}|[ \t]*(?:\*[ \t]*){3,}")


@dataclass(frozen=True, slots=True)
class MarkdownLine:
    """A line of Markdown.  `fence` is `mark` for the two lines around code, `code` for those
    between.
    """

    number: int
    text: str
    fence: str = ""

    @property
    def indent(self) -> int:
        return len(self.text[: self.column - 1].expandtabs(4))

    @property
    def column(self) -> int:
        """The column of the first character."""
        return len(self.text) - len(self.text.lstrip()) + 1

    @property
    def heading(self) -> tuple[int, str]:
        """Level and text of a heading; level 0 for any other line."""
        match = None if self.fence else _HEADING.fullmatch(self.text)
        return (len(match[1]), match[2].strip(" \t#")) if match else (0, "")

    @property
    def is_decoration(self) -> bool:
        """Blank lines, rules between sections, and quotes, which are for people only."""
        bare = not self.text.strip() or _RULE.fullmatch(self.text) is not None
        return not self.fence and (bare or self.text.lstrip().startswith(">"))


@dataclass(frozen=True, slots=True)
class MarkdownSection:
    """The lines below a heading, up to the next heading of its level."""

    name: str
    head: MarkdownLine
    lines: tuple[MarkdownLine, ...]


def split_lines(text: str, defects: Defects) -> list[MarkdownLine] | None:
    """Every line that is not a comment; None when the text is too large or cannot be split."""
    if (size := len(text.encode(errors="replace"))) > BYTES_MAX:
        defects.add_at((), f"{size} bytes are over the limit of {BYTES_MAX} for a playbook", (1, 1))
        return None
    if odd := _FORBIDDEN.search(text):
        before = text[: odd.start()]
        at = (before.count("\n") + 1, odd.start() - before.rfind("\n"))
        defects.add_at((), f"character U+{ord(odd[0]):04X} is not allowed", at)
        return None
    if (number := text.count("\n") + 1) > LINES_MAX:
        defects.add_at((), f"{number} lines are over the limit of {LINES_MAX}", (LINES_MAX, 1))
        return None
    lines = list(_without_comments(_fenced(text, defects), defects))
    if defects.entries:
        # After an unclosed fence or comment, the meaning of the rest is unknown.
        return None
    for line in lines:
        if (length := len(line.text)) > LINE_CHARS_MAX:
            reason = f"a line of {length} characters is over the limit of {LINE_CHARS_MAX}"
            defects.add_at((), reason, (line.number, 1))
            return None
    return lines


def _fenced(text: str, defects: Defects) -> Iterator[MarkdownLine]:
    """Code ends with a fence of the same character, at least as long as the opening one."""
    bar, opened = "", 0
    for number, raw in enumerate(text.split("\n"), start=1):
        line = raw.rstrip("\r \t")
        match = _FENCE.fullmatch(line)
        if match and not bar:
            bar, opened = match[1], number
        elif match and match[1].startswith(bar) and not match[2].strip():
            bar = ""
        else:
            yield MarkdownLine(number, line, "code" if bar else "")
            continue
        yield MarkdownLine(number, line, "mark")
    if bar:
        defects.add_at((), f"the code that begins here with {bar} does not end", (opened, 1))


def _without_comments(lines: Iterator[MarkdownLine], defects: Defects) -> Iterator[MarkdownLine]:
    """Drops `<!-- … -->` when it begins a line."""
    opened = 0
    for line in lines:
        if not opened and not line.fence and line.text.lstrip().startswith("<!--"):
            opened = line.number
        if not opened:
            yield line
        elif "-->" in line.text:
            opened = 0
    if opened:
        defects.add_at((), "the comment that begins here does not end", (opened, 1))


def split_sections(
    lines: Sequence[MarkdownLine], level: int
) -> tuple[tuple[MarkdownLine, ...], list[MarkdownSection]]:
    """The lines before the first heading of this level, and one section for each heading."""
    starts = [n for n, line in enumerate(lines) if line.heading[0] == level]
    ends = (*starts[1:], len(lines))
    sections = [
        MarkdownSection(lines[start].heading[1], lines[start], tuple(lines[start + 1 : end]))
        for start, end in zip(starts, ends, strict=False)
    ]
    return tuple(lines[: starts[0]] if starts else lines), sections
