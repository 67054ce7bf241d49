"""Comments line by line, with what distinguishes a placeholder from an explanation."""

from __future__ import annotations

from collections.abc import Iterator

from yaoki.core.lazy_dataclass import dataclass
from yaoki.core.lazy_pattern import lazy_compile
from yaoki.formats.quality.lexer import ScannedSource

_MARKS = "/*#;!<>-–— \t\r"
_DOC = ("/**", "///", "//!", "/*!", "##")
_HOLLOW = ("{}", "()", "[]", "{})", "{};", "();", "{},")
# A comment inside a comment belongs to an example.
_EXAMPLE = lazy_compile(r"(?:#|//|\*|--|;)\s{1,40}(?:#|//|--|;)\s")


@dataclass(frozen=True, slots=True)
class CommentLine:
    """A line of a comment without its marks.

    `alone`: no code on this line.  `single`: no comment line above or below.  `doc`: a line of
    documentation, where examples are shown.  `wrapped`: in brackets.  `code` is on the same line,
    `above` and `below` are the nearest lines of code.
    """

    line: int
    text: str
    stands_alone: bool
    is_single: bool
    is_doc: bool
    is_wrapped: bool
    code: str = ""
    above: str = ""
    below: str = ""


def comment_lines(reading: ScannedSource) -> list[CommentLine]:
    code = reading.code.split("\n")
    lines = list(_lines(reading))
    full = {line for line, _, _ in lines if not code[line - 1].strip()}
    commented = {line for line, _, _ in lines}
    hollow = {line for line in commented if code[line - 1].replace(" ", "").endswith(_HOLLOW)}
    above, below = nearest_above(code), nearest_above(code[::-1])[::-1]
    comments = []
    for line, text, doc in lines:
        alone = line in full
        single = not ({line - 1, line + 1} & full) and alone
        wrapped = line in hollow and not alone
        around = (code[line - 1].strip(), above[line - 1], below[line - 1])
        comments.append(CommentLine(line, text.strip(_MARKS), alone, single, doc, wrapped, *around))
    return comments


def nearest_above(code: list[str]) -> list[str]:
    """The last line before each line that is not blank."""
    lines_above, last = [], ""
    for line in code:
        lines_above.append(last)
        last = line.strip() or last
    return lines_above


def _lines(reading: ScannedSource) -> Iterator[tuple[int, str, bool]]:
    at, line = 0, 1
    for comment in reading.comments:
        line += reading.text.count("\n", at, comment.start)
        at = comment.start
        several = "\n" in comment.raw
        for offset, text in enumerate(comment.raw.split("\n")):
            shown = text.lstrip()
            doc = several or shown.startswith(_DOC) or bool(_EXAMPLE.match(shown))
            yield line + offset, text, doc
