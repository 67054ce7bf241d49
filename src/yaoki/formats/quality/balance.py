"""Finds unbalanced brackets in code whose strings are already blanked."""

from __future__ import annotations

from yaoki.core.lazy_dataclass import dataclass
from yaoki.core.lazy_pattern import lazy_compile
from yaoki.formats.quality.languages import Grammar
from yaoki.formats.quality.lexer import ScannedSource

_OPENER = {")": "(", "]": "[", "}": "{"}
_BRACKET = lazy_compile(r"[()\[\]{}]")
_DIRECTIVE = lazy_compile(r"\s*#\s*(\w+)(.*)")
_CONDITIONS = frozenset(
    {"if", "ifdef", "ifndef", "elif", "elifdef", "elifndef", "elseif", "else", "endif"}
)
_PREPROCESSED = frozenset({"c", "csharp", "swift"})
# Text between tags may contain round and square brackets that are not code.
_TAGS = lazy_compile(r"</\w|/>|</>")


@dataclass(frozen=True, slots=True)
class SyntaxProblem:
    """A syntax problem and its place.  `truncated`: the file ends in the middle."""

    line: int
    message: str
    is_truncated: bool = False


def find_imbalance(reading: ScannedSource, grammar: Grammar) -> SyntaxProblem | None:
    """The first unbalanced bracket; None when all are closed, or when it is unclear."""
    if not grammar.pairs:
        return None
    if reading.unfinished_at >= 0:
        line = reading.line_at(reading.unfinished_at)
        return SyntaxProblem(
            line, f"what line {line} opens (a string or a comment) never ends", True
        )
    if grammar.name in _PREPROCESSED:
        return _in_branches(reading, grammar)
    jsx = grammar.name == "javascript" and _TAGS.search(reading.code)
    return _walk(reading.code, "{}" if jsx else grammar.pairs)


def _in_branches(reading: ScannedSource, grammar: Grammar) -> SyntaxProblem | None:
    """Conditionals may open in one branch what another closes, so no pair can be named."""
    chosen = _one_branch(reading, every=grammar.name != "swift")
    problem = _walk(chosen.code, grammar.pairs)
    return None if problem and any(_walk(part, grammar.pairs) for part in chosen.parts) else problem


def _walk(code: str, pairs: str) -> SyntaxProblem | None:
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
            return SyntaxProblem(line, f"{mark!r} closes nothing")
        elif opened.pop()[0] != _OPENER[mark]:
            return SyntaxProblem(line, f"{mark!r} does not close what was opened last")
    if not opened:
        return None
    mark, line = opened[-1]
    return SyntaxProblem(line, f"the file ends in the middle: {mark!r} is never closed", True)


@dataclass(frozen=True, slots=True)
class ChosenBranches:
    """The code of the chosen branches, and each branch of a finished conditional by itself."""

    code: str
    parts: tuple[str, ...]


@dataclass(slots=True)
class _Branch:
    off: bool
    taken: bool
    guard: str
    lines: list[str]


def _one_branch(reading: ScannedSource, *, every: bool) -> ChosenBranches:
    """Code without its directives: of every conditional only the first branch is kept.

    `every`: drop any directive, because in C a `#define` may contain anything.
    """
    lines: list[str] = []
    open_: list[_Branch] = []
    parts: list[str] = []
    continued = False
    for line, raw_line in zip(reading.code.split("\n"), reading.text.split("\n"), strict=True):
        directive = None if continued else _DIRECTIVE.match(line)
        if directive and not every and directive[1] not in _CONDITIONS:
            directive = None
        hidden = continued or directive is not None or any(branch.off for branch in open_)
        continued = (
            every and (continued or directive is not None) and raw_line.rstrip().endswith("\\")
        )
        if directive is not None:
            parts += _change_branch(open_, directive[1], directive[2].strip())
        elif open_ and not hidden:
            open_[-1].lines.append(line)
        lines.append("" if hidden else line)
    return ChosenBranches("\n".join(lines), tuple(parts))


def _change_branch(open_: list[_Branch], word: str, condition: str) -> list[str]:
    """Enter, change or leave a conditional; returns the branches that ended."""
    if word in {"if", "ifdef", "ifndef"}:
        off = condition in {"0", "false"}
        open_.append(_Branch(off, not off, condition if word == "ifndef" else "", []))
    elif word == "define" and open_ and open_[-1].guard == condition.split("(")[0].split(" ")[0]:
        open_[-1].guard = "#"
    elif word in _CONDITIONS - {"endif"} and open_:
        # After a branch that was kept, drop every other; after `#if 0` keep the next one.
        open_[-1].off = open_[-1].taken
        open_[-1].taken = True
    elif word == "endif" and open_:
        branch = open_.pop()
        # A guard around a whole header says nothing about its content.
        return [] if branch.guard == "#" else ["\n".join(branch.lines)]
    return []
