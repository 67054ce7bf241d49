"""Q3: placeholders for code that was not written."""

from __future__ import annotations

from collections.abc import Iterator

from yaoki.core.lazy_pattern import lazy_compile
from yaoki.formats.quality.changed_file import FileVersion
from yaoki.formats.quality.comment_lines import CommentLine, nearest_above
from yaoki.formats.quality.model import Violation
from yaoki.formats.quality.phrases import (
    ends_open,
    has_bracketed_dots,
    has_dots_on_both_sides,
    is_only_dots,
    is_only_state,
    is_unmistakable,
    says_omitted,
)
from yaoki.formats.quality.python import find_hollow_bodies, parse_python

# In these `...` has its own meaning: the end of a document, all arguments.
_DOTS_ARE_CODE = frozenset({"yaml", "lua", "prose", "markup", "python", "hash", "notebook"})
# Outside strings these contain plain words.
_WORDS_ARE_DATA = frozenset({"markup", "yaml", "toml", "hash"})
_HOLLOW_BRACES = lazy_compile(r"\{\s{0,8}(?:\.\.\.|…)\s{0,8}\}")
STORY_LINES = 15
# Another value is copied: what is beside it may well be unchanged.
_SPREAD = lazy_compile(r"\.\.\.?[A-Za-z_$(\[]")
_EXIT_STATEMENT = lazy_compile(r"(?:return|break|continue|pass|raise|throw|yield|next|exit)\b")
_CONDITION = lazy_compile(
    r"(?:\}\s*)?(?:if|elif|else|elsif|case|default|when|unless|switch|match)\b"
)
_FENCE = lazy_compile(r"\s{0,8}(?:```|~~~)")


def find_omissions(side: FileVersion) -> Iterator[Violation]:
    if side.grammar.is_prose:
        yield from _in_prose(side)
        return
    yield from _in_comments(side)
    yield from _in_code(side)
    if side.grammar.name in {"python", "notebook"}:
        yield from _hollow(side)


def _in_comments(side: FileVersion) -> Iterator[Violation]:
    open_ = -STORY_LINES
    for note in side.comments:
        # `// first this...` and, lines later, `// ...then that` belong together.
        is_story = note.line - open_ < STORY_LINES and not has_dots_on_both_sides(note.text)
        if _is_placeholder(note) and not is_story:
            yield Violation(side.path, note.line, side.lines[note.line - 1].strip())
        if ends_open(note.text):
            open_ = note.line


def _is_placeholder(note: CommentLine) -> bool:
    if note.is_doc and not note.is_single:
        return False  # an example inside documentation
    if is_only_dots(note.text) or has_bracketed_dots(note.text):
        return (note.is_single and not _in_a_list(note)) or note.is_wrapped
    if is_only_state(note.text):
        return (note.is_single or note.is_wrapped) and not _explained(note)
    if _SPREAD.search(f"{note.code} {note.below}") and not has_dots_on_both_sides(note.text):
        return False
    return says_omitted(note.text, alone=note.is_single or note.is_wrapped)


def _in_a_list(note: CommentLine) -> bool:
    """`1, 2, ..., 99`: an obvious sequence."""
    return note.above.endswith(",") and note.below.endswith((",", "]", ")", "],", "),"))


def _explained(note: CommentLine) -> bool:
    """`if old == new:  # unchanged` gives a reason, and the code follows."""
    return bool(_EXIT_STATEMENT.match(note.below) or _CONDITION.match(note.above))


def _in_code(side: FileVersion) -> Iterator[Violation]:
    """Lines that are only a mark, and bodies that are only dots."""
    code = side.scanned.code.split("\n")
    around = zip(nearest_above(code), nearest_above(code[::-1])[::-1], strict=True)
    for n, (line, (above, below)) in enumerate(zip(code, around, strict=True), 1):
        bare = line.strip()
        if bare and _is_mark(side, bare, above) and not _in_tags(side, above, below):
            yield Violation(side.path, n, side.lines[n - 1].strip())


def _in_tags(side: FileVersion, above: str, below: str) -> bool:
    """Between tags any line is text for people."""
    tags = above.endswith(">") and not above.endswith("=>") and below.startswith("<")
    return tags and side.grammar.name == "javascript"


def _is_mark(side: FileVersion, bare: str, before: str) -> bool:
    if side.grammar.name not in _DOTS_ARE_CODE:
        if is_only_dots(bare):
            # `int printf(const char *fmt,` continues with `...`
            return side.grammar.name != "c" or not before.endswith((",", "("))
        if _HOLLOW_BRACES.search(bare):
            return True
    if side.grammar.name in _WORDS_ARE_DATA:
        return False
    return bare == "etc." or says_omitted(bare, alone=not bare.isascii())


def _hollow(side: FileVersion) -> Iterator[Violation]:
    tree = parse_python(side.text)
    for hollow in find_hollow_bodies(tree, side.path) if tree else ():
        yield Violation(side.path, hollow.line, side.lines[hollow.line - 1].strip(), hollow.owner)


def _in_prose(side: FileVersion) -> Iterator[Violation]:
    """Code in fences is an example; prose may mention omission, but not consist of it."""
    fenced = False
    for n, line in enumerate(side.lines, 1):
        if _FENCE.match(line):
            fenced = not fenced
        elif (
            not fenced
            and not line.startswith(("    ", "\t"))
            and is_unmistakable(_uncommented(line))
        ):
            yield Violation(side.path, n, line.strip())


def _uncommented(line: str) -> str:
    text = line.strip()
    if text.startswith("<!--") and text.endswith("-->"):
        return f"[{text[4:-3].strip()}]"
    return text
