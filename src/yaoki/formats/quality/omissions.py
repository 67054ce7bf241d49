"""Q3: marks that stand for code which was not written."""

from __future__ import annotations

import re
from collections.abc import Iterator

from yaoki.formats.quality.changed_file import Side
from yaoki.formats.quality.model import Mark
from yaoki.formats.quality.notes import Note, nearest
from yaoki.formats.quality.phrases import (
    bracketed_dots,
    dotted_on_both_sides,
    ends_open,
    only_dots,
    only_state,
    says_omitted,
    unmistakable,
)
from yaoki.formats.quality.python import hollows, parsed

# `...` is an ordinary word of these: the end of a document, all arguments.
_DOTS_ARE_CODE = frozenset({"yaml", "lua", "prose", "markup", "python", "hash", "notebook"})
# Outside strings these hold plain words.
_WORDS_ARE_DATA = frozenset({"markup", "yaml", "toml", "hash"})
_HOLLOW_BRACES = re.compile(r"\{\s{0,8}(?:\.\.\.|…)\s{0,8}\}")
STORY_LINES = 15
# Another value that is taken over: what stands beside it may well be unchanged.
_SPREAD = re.compile(r"\.\.\.?[A-Za-z_$(\[]")
_LEAVES = re.compile(r"(?:return|break|continue|pass|raise|throw|yield|next|exit)\b")
_ASKS = re.compile(r"(?:\}\s*)?(?:if|elif|else|elsif|case|default|when|unless|switch|match)\b")
_FENCE = re.compile(r"\s{0,8}(?:```|~~~)")


def omissions_in(side: Side) -> Iterator[Mark]:
    if side.grammar.prose:
        yield from _in_prose(side)
        return
    yield from _in_comments(side)
    yield from _in_code(side)
    if side.grammar.name in {"python", "notebook"}:
        yield from _hollow(side)


def _in_comments(side: Side) -> Iterator[Mark]:
    open_ = -STORY_LINES
    for note in side.notes:
        # `// first this...` and some lines on `// ...then that` tell one story.
        told = note.line - open_ < STORY_LINES and not dotted_on_both_sides(note.text)
        if _stands_in(note) and not told:
            yield Mark(side.path, note.line, side.lines[note.line - 1].strip())
        if ends_open(note.text):
            open_ = note.line


def _stands_in(note: Note) -> bool:
    if note.doc and not note.single:
        return False  # an example inside documentation
    if only_dots(note.text) or bracketed_dots(note.text):
        return (note.single and not _in_a_list(note)) or note.wrapped
    if only_state(note.text):
        return (note.single or note.wrapped) and not _explained(note)
    if _SPREAD.search(f"{note.code} {note.below}") and not dotted_on_both_sides(note.text):
        return False
    return says_omitted(note.text, alone=note.single or note.wrapped)


def _in_a_list(note: Note) -> bool:
    """`1, 2, ..., 99`: a row that everybody can go on with."""
    return note.above.endswith(",") and note.below.endswith((",", "]", ")", "],", "),"))


def _explained(note: Note) -> bool:
    """`if old == new:  # unchanged` says why, and what follows does it."""
    return bool(_LEAVES.match(note.below) or _ASKS.match(note.above))


def _in_code(side: Side) -> Iterator[Mark]:
    """Lines that are nothing but a mark, and bodies that are nothing but dots."""
    code = side.reading.code.split("\n")
    around = zip(nearest(code), nearest(code[::-1])[::-1], strict=True)
    for n, (line, (above, below)) in enumerate(zip(code, around, strict=True), 1):
        bare = line.strip()
        if bare and _is_mark(side, bare, above) and not _in_tags(side, above, below):
            yield Mark(side.path, n, side.lines[n - 1].strip())


def _in_tags(side: Side, above: str, below: str) -> bool:
    """Between tags any line is text that people read."""
    tags = above.endswith(">") and not above.endswith("=>") and below.startswith("<")
    return tags and side.grammar.name == "javascript"


def _is_mark(side: Side, bare: str, before: str) -> bool:
    if side.grammar.name not in _DOTS_ARE_CODE:
        if only_dots(bare):
            # `int printf(const char *fmt,` goes on with `...`
            return side.grammar.name != "c" or not before.endswith((",", "("))
        if _HOLLOW_BRACES.search(bare):
            return True
    if side.grammar.name in _WORDS_ARE_DATA:
        return False
    return bare == "etc." or says_omitted(bare, alone=not bare.isascii())


def _hollow(side: Side) -> Iterator[Mark]:
    tree = parsed(side.text)
    for hollow in hollows(tree, side.path) if tree else ():
        yield Mark(side.path, hollow.line, side.lines[hollow.line - 1].strip(), hollow.owner)


def _in_prose(side: Side) -> Iterator[Mark]:
    """Code in fences is an example; prose may speak of omission, but not consist of it."""
    fenced = False
    for n, line in enumerate(side.lines, 1):
        if _FENCE.match(line):
            fenced = not fenced
        elif (
            not fenced and not line.startswith(("    ", "\t")) and unmistakable(_uncommented(line))
        ):
            yield Mark(side.path, n, line.strip())


def _uncommented(line: str) -> str:
    text = line.strip()
    if text.startswith("<!--") and text.endswith("-->"):
        return f"[{text[4:-3].strip()}]"
    return text
