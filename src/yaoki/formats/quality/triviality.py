"""A change without meaning for a computer: blank lines, comments, empty files.

If the checks also pass without it, it is equivalent to no change.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence

from yaoki.formats.quality.language_parts import split_languages
from yaoki.formats.quality.languages import Grammar
from yaoki.formats.quality.lexer import scan_source
from yaoki.formats.quality.model import Change
from yaoki.formats.quality.python import parse_python


def is_trivial(changes: Sequence[Change]) -> bool:
    """True when every file means the same before and after; a deleted file is a change."""
    return bool(changes) and all(_is_trivial(change) for change in changes)


def _is_trivial(change: Change) -> bool:
    modes = {change.mode_before, change.mode_after} - {""}
    if change.after is None or change.was_skipped or len(modes) > 1:
        return False
    if change.path.endswith(".py"):
        return _python(change.before or "") == _python(change.after)
    return _strip_comments(change.path, change.before or "") == _strip_comments(
        change.path, change.after
    )


def _python(text: str) -> str:
    """The Python code without comments and layout; text that is not Python stays as it is."""
    tree = parse_python(text)
    return ast.dump(tree) if tree is not None else text


def _strip_comments(path: str, text: str) -> str:
    """The text without white space and, if the language is known, without comments."""
    part = next(split_languages(Change(path, None, text, ())), None)
    code = text if part is None or part.grammar.is_prose else _uncommented(text, part.grammar)
    return "".join(code.split())


def _uncommented(text: str, grammar: Grammar) -> str:
    for comment in reversed(scan_source(text, grammar).comments):
        text = text[: comment.start] + text[comment.start + len(comment.raw) :]
    return text
