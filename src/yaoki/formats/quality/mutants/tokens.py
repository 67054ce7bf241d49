"""Faults in JavaScript, TypeScript and Go: operators and literals outside strings and comments.

Only operators between spaces count: without spaces, `<` may begin a type or a tag.  A mutant that
does not compile is not judged, so a rare wrong guess costs one run and no wrong finding.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping

from yaoki.core.lazy_pattern import lazy_compile
from yaoki.formats.quality.languages import GRAMMARS
from yaoki.formats.quality.lexer import scan_source, strip_comments
from yaoki.formats.quality.mutants.edit import Edit, Rank, becomes, is_removed

_NEGATED: Mapping[str, str] = {
    "===": "!==",
    "!==": "===",
    "==": "!=",
    "!=": "==",
    "<": ">=",
    ">": "<=",
    "<=": ">",
    ">=": "<",
    "&&": "||",
    "||": "&&",
    "+": "-",
    "-": "+",
    "*": "/",
    "/": "*",
    "%": "*",
    "+=": "-=",
    "-=": "+=",
    "*=": "/=",
}
_BOUNDARY: Mapping[str, str] = {"<": "<=", "<=": "<", ">": ">=", ">=": ">"}
_OPERATOR = lazy_compile(
    r"(?<=[\w)\]'\"`] )(?:[!=]==?|[<>]=?|&&|\|\||[+*-]=?|[/%])(?=\s)"
    r"|(?<=\s)(?:[!=]==?|<=|>=|&&|\|\|)(?=\s)"
)
_NUMBER = lazy_compile(r"(?<![\w.$#])\d{1,15}(?![\w.])")
_FLAG = lazy_compile(r"(?<![\w.$])(?:true|false)(?![\w$:])")
_RETURN = lazy_compile(r"^(?:.*[{;)]|)\s*return\s+(?P<value>\S.*?)\s*;?\s*(?:\}\s*)?$")
_IF = lazy_compile(r"\b(?:if|while)\s*\(")
_GO_IF = lazy_compile(r"\bif\s+(?P<test>[^;{}]+?)\s*\{\s*$")
# A call whose result is not used, or an error, on a line of its own.
_STATEMENT = lazy_compile(r"^\s*(?:(?:await\s+)?[\w$]+(?:\.[\w$]+)*\(.*\)|throw\b[^;]*);?\s*$")
_NOTHING = frozenset({"undefined", "null"})
_LOG = lazy_compile(r"^\s*(?:await\s+)?(?:console|log\w*|debug|fmt|warn)\b", re.IGNORECASE)
# Lines for the compiler, and names of parts.
_DECLARATION = lazy_compile(
    r"^\s*(?:import\b|export\s+(?:type|interface|\*|\{)|interface\b|type\s+\w+|declare\b|enum\b"
    r"|package\b|@|case\b|default\b|super\(|require\()"
)

# The start of a line that continues the statement of the line before.
_CONTINUATION = lazy_compile(r"\s*[.?:+*/%&|,)\]=<>(\[`-]")

LineEdits = Callable[[str, str, bool], Iterator[tuple[Rank, int, int, str, str]]]


def javascript_edits(text: str, lines: frozenset[int]) -> Iterator[Edit]:
    return _edits(text, lines, "javascript", _javascript_line)


def go_edits(text: str, lines: frozenset[int]) -> Iterator[Edit]:
    return _edits(text, lines, "go", _go_line)


def _edits(text: str, lines: frozenset[int], language: str, of_line: LineEdits) -> Iterator[Edit]:
    start = 0
    code = _mark_strings(text, language).split("\n")
    for number, (line, following) in enumerate(zip(code, [*code[1:], ""], strict=True), start=1):
        written = text[start : start + len(line)]
        # A text in backquotes may go on in the next line.
        ends = written.count("`") % 2 == 0 and not _CONTINUATION.match(following)
        if number in lines and line.strip() and not _is_left_alone(line):
            for rank, at, end, new, fault in of_line(line, written, ends):
                yield Edit(number, rank, start + at, start + end, new, fault)
        start += len(line) + 1


def _mark_strings(text: str, language: str) -> str:
    """The code, as long as the text: comments are blank, and strings look like a name."""
    scanned = scan_source(text, GRAMMARS[language])
    uncommented = strip_comments(scanned)
    pairs = zip(uncommented, scanned.code, strict=True)
    return "".join(shown if shown == written else "_" for written, shown in pairs)


def _is_left_alone(line: str) -> bool:
    return bool(_DECLARATION.match(line) or _LOG.match(line))


def _common(line: str, written: str) -> Iterator[tuple[Rank, int, int, str, str]]:
    for table, rank in ((_NEGATED, Rank.OPERATOR), (_BOUNDARY, Rank.BOUNDARY)):
        for hit in _OPERATOR.finditer(line):
            other = "" if table is _BOUNDARY and _is_clamp(line, hit.end()) else table.get(hit[0])
            if other:
                whole = written.strip()
                new = f"{written[: hit.start()]}{other}{written[hit.end() :]}".strip()
                yield rank, *hit.span(), other, becomes(whole, new)
    for hit in _NUMBER.finditer(line):
        new = str(int(hit[0]) + 1)
        yield Rank.CONSTANT, *hit.span(), new, becomes(hit[0], new)
    for hit in _FLAG.finditer(line):
        new = "false" if hit[0] == "true" else "true"
        yield Rank.BOUNDARY, *hit.span(), new, becomes(hit[0], new)


def _is_clamp(line: str, end: int) -> bool:
    """`if (rate > top) rate = top;`: at the boundary both ways give the same."""
    operand = re.match(r"\s*([\w$.]+)", line[end:])
    if operand is None:
        return False
    again = rf"(?<![\w$.]){re.escape(operand[1])}(?![\w$.])"
    return re.search(again, line[end + operand.end() :]) is not None


def _javascript_line(
    line: str, written: str, ends: bool
) -> Iterator[tuple[Rank, int, int, str, str]]:
    """`ends`: the statement of the line ends with it."""
    yield from _common(line, written)
    for hit in _IF.finditer(line):
        end = _closing(line, hit.end())
        if end and not _OPERATOR.search(line, hit.end(), end):
            test = written[hit.end() : end]
            yield Rank.OPERATOR, hit.end(), end, f"!({test})", becomes(test, f"!({test})")
    if not ends:
        return
    returned = _RETURN.match(line)
    if returned and _is_balanced(returned["value"]) and returned["value"] not in _NOTHING:
        yield Rank.STATEMENT, *returned.span("value"), "undefined", "it returns undefined"
    if _STATEMENT.match(line) and _is_balanced(line):
        at, end = len(line) - len(line.lstrip()), len(line.rstrip())
        yield Rank.STATEMENT, at, end, ";", is_removed(written.strip())


def _go_line(line: str, written: str, _: bool) -> Iterator[tuple[Rank, int, int, str, str]]:
    """Only what compiles for every type; an unused variable or import would not."""
    yield from _common(line, written)
    if (hit := _GO_IF.search(line)) and not _OPERATOR.search(line, *hit.span("test")):
        at, end = hit.span("test")
        test = written[at:end]
        yield Rank.OPERATOR, at, end, f"!({test})", becomes(test, f"!({test})")


def _closing(line: str, start: int) -> int:
    """Where the bracket before `start` is closed in this line; zero if it is not."""
    depth = 1
    for at in range(start, len(line)):
        depth += (line[at] in "([{") - (line[at] in ")]}")
        if depth == 0:
            return at
    return 0


def _is_balanced(code: str) -> bool:
    return all(code.count(one) == code.count(other) for one, other in ("()", "[]", "{}"))
