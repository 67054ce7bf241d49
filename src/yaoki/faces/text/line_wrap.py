"""Long lines on a terminal: broken between words, with paths and commands left whole."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterator, Sequence
from typing import TextIO

from yaoki.core.lazy_pattern import lazy_compile

# On narrower terminals breaking lines gains nothing.
CELLS_MIN = 20
STEP = 4
_STYLE = lazy_compile(r"\x1b\[[0-9;]*m")
# Latin letters and the punctuation of messages take one column each.
_NARROW = lazy_compile("[ -~\u00a1-\u02ff\u2010-\u2027]*")
# Text that is typed again: in backticks, or a command up to the end of its clause.
_UNBREAKABLE = lazy_compile(
    r"`[^`]*`|\b(?:(?:yaoki|git) (?:-C |[a-z]{2,})|(?:npm|pip|uv|brew|apt) install )[^;,()]*"
)
# A character of a script without blanks, with the brackets and marks that stay on its line.
_CJK = lazy_compile(
    "[「『（［｛【〈《〔]*[\u3041-\u30ff\u3400-\u9fff\uac00-\ud7a3\uf900-\ufaff\uff10-\uff9f]"
    "[\u3099\u309a゛゜ぁぃぅぇぉっゃゅょァィゥェォッャュョー々、。，．・：；？！」』）］｝】〉》〕…]*"
)
_LEAD = lazy_compile(r"(?: |\x1b\[[0-9;]*m)*")
_GAP = lazy_compile(r"\S( {2,})(?=\S)")


def cell_width(text: str) -> int:
    """Columns on a terminal: wide characters take two, combining marks and colours none."""
    shown = _STYLE.sub("", text)
    if _NARROW.fullmatch(shown):
        return len(shown)
    # Imported here: most lines are narrow, and `yaoki status` then starts without rich.
    from rich.cells import cell_len

    return cell_len(shown)


def terminal_width(stream: TextIO | None = None) -> int:
    """The width of the terminal; 0 for a pipe, and for a terminal that does not report it."""
    stream = stream or sys.stdout
    try:
        return os.get_terminal_size(stream.fileno()).columns if stream.isatty() else 0
    except (OSError, ValueError):
        return 0


def wrap_line(text: str, width: int) -> list[str]:
    """Break a line into several: the further ones are indented to its last column or by a step."""
    if width < CELLS_MIN or cell_width(text) <= width:
        return [text]
    lines, last = list[str](), _lead(text)
    begin, hang = cell_width(last), _hang(text, width)
    words = list(_words(text[len(last) :], width - hang))
    for place, (gap, word) in enumerate(words):
        size, there = cell_width(word), cell_width(last) + len(gap)
        at = next((n for n in (hang, begin + STEP, begin) if n + size <= width), 0)
        # A column that begins far to the right continues below as a whole.
        needed = _column(words[place:]) if len(gap) > 1 and there > width // 2 else size
        # A word that fits on no line is cut by the terminal, wherever it begins.
        if (gap or _CJK.match(word)) and there + needed > width >= at + size:
            lines.append(last)
            last, gap = " " * at, ""
        last += gap + word
    return [*lines, last]


def _column(words: Sequence[tuple[str, str]]) -> int:
    """Cells up to the next column."""
    size = cell_width(words[0][1])
    for gap, word in words[1:]:
        if len(gap) > 1:
            break
        size += len(gap) + cell_width(word)
    return size


def _lead(text: str) -> str:
    """The blanks before the first word, and its colour."""
    match = _LEAD.match(text)
    assert match is not None, "it matches nothing as well"
    return match.group()


def _hang(text: str, width: int) -> int:
    """Below the last column where that leaves at least half of the width."""
    shown = _STYLE.sub("", text)
    gaps = (cell_width(shown[: match.end(1)]) for match in _GAP.finditer(shown))
    return max((at for at in gaps if at <= width // 2), default=cell_width(_lead(text)) + STEP)


def _words(text: str, room: int) -> Iterator[tuple[str, str]]:
    """Each word with the blanks before it; a command that fits on one line is one word."""
    gap = ""
    for part in _parts(text, room):
        if part.strip(" "):
            yield gap, part
            gap = ""
        else:
            gap = part


def _parts(text: str, room: int) -> Iterator[str]:
    at = 0
    for match in _UNBREAKABLE.finditer(text):
        unbroken = match.group().rstrip(" ").partition("   ")[0]
        if cell_width(unbroken) > room:
            continue
        yield from _split(text[at : match.start()], room)
        yield unbroken
        at = match.start() + len(unbroken)
    yield from _split(text[at:], room)


def _split(text: str, room: int) -> Iterator[str]:
    """Words and blanks; a sentence without blanks that fits on no line is one of characters."""
    for part in filter(None, re.split(r"( +)", text)):
        if cell_width(part) > room and _CJK.search(part):
            yield from filter(None, re.split(f"({_CJK.pattern})", part))
        else:
            yield part
