"""Brackets that close nothing or are never closed, in code whose strings are already blanked."""

from __future__ import annotations

import re
from dataclasses import dataclass

from yaoki.quality.languages import Grammar
from yaoki.quality.lexer import Reading

_OPENER = {")": "(", "]": "[", "}": "{"}
_BRACKET = re.compile(r"[()\[\]{}]")
_DIRECTIVE = re.compile(r"\s*#\s*(\w+)(.*)")
# Text between tags may hold round and square brackets that are only words.
_TAGS = re.compile(r"</\w|/>|</>")


@dataclass(frozen=True, slots=True)
class Problem:
    """What is wrong with the syntax, and where.  `truncated`: the file ends in the middle."""

    line: int
    message: str
    truncated: bool = False


def unbalanced(reading: Reading, grammar: Grammar) -> Problem | None:
    """The first thing that cannot be; None when all is closed or nobody can say."""
    if not grammar.pairs:
        return None
    if reading.open_at >= 0:
        line = reading.line_at(reading.open_at)
        return Problem(line, f"what line {line} opens (a string or a comment) never ends", True)
    code = _one_branch(reading) if grammar.name == "c" else reading.code
    pairs = "{}" if grammar.regex and _TAGS.search(code) else grammar.pairs
    return _walk(code, pairs)


def _walk(code: str, pairs: str) -> Problem | None:
    opened: list[tuple[str, int]] = []
    line, at = 1, 0
    for hit in _BRACKET.finditer(code):
        mark = hit[0]
        if mark not in pairs:
            continue
        line, at = line + code.count("\n", at, hit.start()), hit.start()
        if mark in "([{":
            opened.append((mark, line))
        elif not opened:
            return Problem(line, f"{mark!r} closes nothing")
        elif opened.pop()[0] != _OPENER[mark]:
            return Problem(line, f"{mark!r} does not close what was opened last")
    if not opened:
        return None
    mark, line = opened[-1]
    return Problem(line, f"the file ends in the middle: {mark!r} is never closed", True)


def _one_branch(reading: Reading) -> str:
    """C without its directives: of every conditional only the first branch is kept."""
    kept: list[str] = []
    off: list[bool] = []
    continued = False
    for line, whole in zip(reading.code.split("\n"), reading.text.split("\n"), strict=True):
        directive = None if continued else _DIRECTIVE.match(line)
        hidden = continued or directive is not None or any(off)
        continued = (continued or directive is not None) and whole.rstrip().endswith("\\")
        if directive is not None:
            _turn(off, directive[1], directive[2].strip())
        kept.append("" if hidden else line)
    return "\n".join(kept)


def _turn(off: list[bool], word: str, condition: str) -> None:
    if word in {"if", "ifdef", "ifndef"}:
        off.append(condition == "0")
    elif word in {"else", "elif", "elifdef", "elifndef"} and off:
        # After a branch that was kept every other is left out; after `#if 0` the next one stands.
        off[-1] = not off[-1]
    elif word == "endif" and off:
        off.pop()
