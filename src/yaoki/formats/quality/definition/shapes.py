"""Finds assertions of tests in languages other than Python by their shapes."""

from __future__ import annotations

import re
from collections.abc import Iterator

from yaoki.core.lazy_dataclass import dataclass
from yaoki.core.lazy_pattern import lazy_compile
from yaoki.core.model import FindingItem
from yaoki.formats.quality.definition.comparison import (
    CHANGED,
    LOOSENED,
    Coverage,
    Judgement,
    differences,
)
from yaoki.formats.quality.definition.file_index import FileIndex
from yaoki.formats.quality.definition.js_bindings import without_kept_imports
from yaoki.formats.quality.definition.runner_names import count_replaced_names
from yaoki.formats.quality.definition.skip_marks import without_skip_marks
from yaoki.formats.quality.language_parts import FILE_CHARS_MAX
from yaoki.formats.quality.languages import language_of
from yaoki.formats.quality.lexer import scan_source
from yaoki.formats.quality.suites import without_comments

SPAN_CHARS_MAX = 2_000
_START = lazy_compile(
    r"\bexpect\s*\(|\bassert\w*!?\s*\(|\bassert(?:\.\w+)+\s*\(|\b(?:t|require|suite|chai|should|Assert)"
    r"\.(?!(?:test|run|Run)\b)\w+\s*\(|\bshould\.|\bXCTAssert\w*\s*\(|\b(?:eq|ne|ok|is|isnt|like|is_deeply)\s*\("
    r"|\b(?:deep)?(?:strict|Strict)?Equal\s*\(|\b(?:strictEqual|deepEqual|rejects|throws)\s*\("
    r"|\bassert_\w+[ (]|\bverify\w*\s*\(|\bcheck\w*\s*\("
)
_GO = lazy_compile(r"if\s+([^{}\n]{1,300})\{\s*(?:t|b|tb)\.(?:Error|Fatal|Fail)\w*\s*\(")
_LITERAL = lazy_compile(
    r"\"(?:[^\"\\\n]|\\.)*\"|'(?:[^'\\\n]|\\.)*'|`[^`]*`|\b\d[\w.]*\b|\b(?:true|false|null|nil)\b"
)
_NAME = lazy_compile(r"[A-Za-z_$]\w*")
_LOOSE = lazy_compile(
    r"toBeTruthy|toBeDefined|toBeFalsy|anything\(\)|expect\.any|not\.toBeNull|not\.toBe\b|toBeInstanceOf"
    r"|assert\.ok|assert\(|assert!\(|assertTrue|assertNotNull|notEqual|be_truthy|not_to|to be_a"
    # A part, a type, or any error.
    r"|toMatchObject|toContain\w*\(|\w+Containing\("
    r"|\.(?:to|not|have|deep)\.(?:exist|(?:be\.)?an?\(|(?:include|contain)\w*\()|toThrow\w*\(\s*\)|\.throws?\(\s*\)"
    r"|\bassert\.(?:throws|rejects)\(\s*(?:async\s*)?\(\)\s*=>\s*[^,]*\)\s*\Z"
)
# Tape and others hand the assertions to the test, under any name: `st.ok(x)`.
_RECEIVER = lazy_compile(
    r"\b(?:test|it|tape|specify)(?:\.\w{1,20})?\s*\(\s*(?:(['\"`])[^\n]{0,300}?\1\s*,\s*)?"
    r"(?:\{[^{}\n]{0,200}\}\s*,\s*)?(?:async\s*)?(?:function\b\s*\w{0,80}\s*)?"
    r"(?:\(\s*([A-Za-z_$][\w$]{0,80})\s*\)\s*(?:=>|\{)|([A-Za-z_$][\w$]{0,80})\s*=>)"
)
_VERB = (
    r"(?:\w*(?:[eE]qual|[sS]ame|[tT]hrows|[rR]ejects|[mM]atch|[lL]ike)\w*|ok|notOk|true|false|truthy"
    r"|falsy|pass|fail|assert|is|not|is[A-Z]\w*|has\w*|regex|notRegex|snapshot|resolves|error)"
)
_TRUTH = lazy_compile(r"(?:[\w$]+\.){1,3}(?:ok|pass|truthy|assert|true|notOk|falsy|false)\s*\(")
_COMPARED = lazy_compile(r"[=!]==?|[<>]=?|\b(?:eq|ne|is)\b")
_EQUALITY = lazy_compile(r"\btoBe\(|[eE]qual\w*\(|\bassert_eq|\bis\(|[=!]=")
_BRACKET = lazy_compile(rf"{_LITERAL.pattern}|[\[\]{{}}]")
_CODE = lazy_compile(r"=>|;|\breturn\b|\bfunction\b")
_VERBS = frozenset(
    {"assert", "strictEqual", "equal", "deepEqual", "deepStrictEqual", "expect", "toBe", "toEqual"}
    | {"toStrictEqual", "is", "same", "t", "await"}
)
_MUTES = (
    (
        lazy_compile(r"\bfor\s*\([^)]*\bof\s*\[\s*\]\s*\)|\[\s*\]\s*\.\s*(?:forEach|map|each)\b"),
        "loops over nothing",
    ),
    (
        lazy_compile(r"\bif\s*\(?\s*(?:false|0)\s*\)?\s*[{:]?\s*$", re.MULTILINE),
        "is under a false condition",
    ),
    (
        lazy_compile(
            r"\bcatch\s*(?:\([^)]*\))?\s*\{\s*\}|\brescue\b[^\n]*\n\s*(?:nil\s*\n\s*)?end"
        ),
        "swallows errors",
    ),
    (
        lazy_compile(
            r"\.catch\s*\(\s*(?:\(\s*\w*\s*\)|\w+)\s*=>\s*(?:\{\s*\}|null|undefined)\s*\)"
        ),
        "swallows errors",
    ),
    (
        lazy_compile(r"\bprocess\.exit\(\s*0?\s*\)|\bos\.Exit\(0\)|\bexit!?\s*\(?\s*0\s*\)?"),
        "exits early",
    ),
    (lazy_compile(r"\brecover\(\)"), "swallows errors"),
)
_REPLACES = "a test replaces the runner's own function"
_TEST_MAIN = lazy_compile(r"func TestMain\(")


@dataclass(frozen=True, slots=True)
class AssertionShape:
    text: str
    literals: frozenset[str]
    names: frozenset[str]
    is_loose: bool


@dataclass(frozen=True, slots=True)
class TableRow:
    literals: frozenset[str]
    names: frozenset[str]


def compare_shapes(
    path: str, before: str, after: str, judgement: Judgement, base: FileIndex
) -> None:
    """Assertions that are gone or changed, and what newly keeps the others from failing."""
    if max(len(before), len(after)) > FILE_CHARS_MAX:
        judgement.is_unsure = True
        return
    old, new = _strip_comments(path, before), _strip_comments(path, after)
    _add_mutes(path, old, new, judgement)
    replaced = [count_replaced_names(path, text, base) for text in (before, after)]
    if replaced[1] > replaced[0]:
        judgement.items.append(FindingItem(path, _REPLACES, path))
    receivers = _receivers(old, new)
    lost, gained = differences(list(_shapes(old, receivers)), list(_shapes(new, receivers)))
    rows = _new_rows(old, new)
    for one in lost:
        verdict = _match_state(one, gained)
        if verdict is Coverage.LOST and _is_table_case(one, gained, rows):
            verdict = Coverage.UNSURE
        if verdict is Coverage.LOST:
            words = CHANGED if _has_other_value(one, gained) else LOOSENED
            judgement.items.append(FindingItem(path, f"{words}: {one.text[:120]}", path))
        judgement.is_unsure |= verdict is Coverage.UNSURE
    if old != new and not lost:
        judgement.is_unsure |= not _only_adds(*without_kept_imports(path, old, new, base))


def _strip_comments(path: str, text: str) -> str:
    grammar = language_of(path)
    return without_comments(scan_source(text, grammar)) if grammar else text


def judge_new_file(path: str, text: str, judgement: Judgement, base: FileIndex) -> None:
    """A new test file can harm others only by changing the runner."""
    if count_replaced_names(path, text, base):
        judgement.items.append(FindingItem(path, _REPLACES, path))
    _main(path, "", _strip_comments(path, text), judgement)


def _main(path: str, old: str, new: str, judgement: Judgement) -> None:
    """`TestMain` of Go decides whether any test runs."""
    if len(_TEST_MAIN.findall(new)) > len(_TEST_MAIN.findall(old)):
        if ".Run()" not in new:
            judgement.items.append(FindingItem("TestMain", "it runs no test", path))
        judgement.is_unsure = True


def _add_mutes(path: str, old: str, new: str, judgement: Judgement) -> None:
    for shape, words in _MUTES:
        if len(shape.findall(new)) > len(shape.findall(old)):
            judgement.items.append(FindingItem(path, f"a test {words}", path))
    _main(path, old, new, judgement)


def _receivers(*texts: str) -> frozenset[str]:
    """The names under which tests get their assertions."""
    hits = (hit for text in texts for hit in _RECEIVER.finditer(text))
    return frozenset(hit[2] or hit[3] for hit in hits)


def _shapes(text: str, receivers: frozenset[str] = frozenset()) -> Iterator[AssertionShape]:
    at, start = 0, _START
    for match in _GO.finditer(text):
        yield _shape(match[1])
    if receivers:
        names = "|".join(map(re.escape, sorted(receivers)))
        own = rf"(?<![\w$.])(?:{names})\.{_VERB}\s*\("
        start = re.compile(f"{own}|{_START.pattern}")
    while hit := start.search(text, at):
        end = _end(text, hit.end())
        yield _shape(text[hit.start() : end])
        at = max(end, hit.end())


def _shape(span: str) -> AssertionShape:
    text = re.sub(r"\s+", "", span).rstrip(";,")
    bare = _LITERAL.sub(" ", span)
    names = frozenset(_NAME.findall(bare))
    is_truth = _TRUTH.match(span) is not None and not _COMPARED.search(bare)
    is_loose = is_truth or _LOOSE.search(span) is not None
    return AssertionShape(text, frozenset(_LITERAL.findall(span)), names, is_loose)


def _end(text: str, at: int) -> int:
    """Past the brackets, and past every chained `.matcher(…)`."""
    depth, limit = 1, min(len(text), at + SPAN_CHARS_MAX)
    while at < limit:
        depth += {"(": 1, ")": -1}.get(text[at], 0)
        at += 1
        if depth == 0:
            more = re.compile(r"\s*(?:\.\s*\w+|[ ]to(?:_not)?[ ]\w+)*\s*\(?").match(text, at)
            if more is None or not more[0].strip():
                return _line_rest(text, at)
            at = more.end()
            if not more[0].rstrip().endswith("("):
                return _line_rest(text, at)
            depth = 1
    return limit


def _line_rest(text: str, at: int) -> int:
    """`expect(x).to eq 1`: the rest of the line belongs to it."""
    end = text.find("\n", at)
    rest = text[at : len(text) if end < 0 else end]
    return at + len(rest) if re.match(r"\s+[\w:\"'\[{]", rest) else at


def _match_state(one: AssertionShape, gained: list[AssertionShape]) -> Coverage:
    """Is the assertion still there?  Its values may have moved to other places, or
    gained a sign.
    """
    if any(_quoted_alike(one.text) == _quoted_alike(other.text) for other in gained):
        return Coverage.KEPT
    alike = (g for g in gained if one.literals <= g.literals and (one.is_loose or not g.is_loose))
    return Coverage.UNSURE if any(alike) else Coverage.LOST


def _has_other_value(one: AssertionShape, gained: list[AssertionShape]) -> bool:
    """Is it still asserted, as an equality with another value?"""
    form = _mask_expected_values(one.text)
    return bool(form) and any(_mask_expected_values(other.text) == form for other in gained)


def _mask_expected_values(text: str) -> str:
    """The assertion without the values that it compares with; empty if it is no equality.

    The values in further brackets are inputs: `expect(f(1)).toBe(2)`, `f(1) != 2`.
    """
    if not _EQUALITY.search(text):
        return ""
    outermost = 1 if _START.match(text) else 0
    parts: list[str] = []
    depth, at = 0, 0
    for hit in _LITERAL.finditer(text):
        between = text[at : hit.start()]
        depth += between.count("(") - between.count(")")
        parts += (between, "…" if depth <= outermost else hit[0])
        at = hit.end()
    return "".join((*parts, text[at:]))


def _new_rows(old: str, new: str) -> list[TableRow]:
    """A row that was there before is the case of another test."""
    if old == new:
        return []
    before = frozenset(_table_rows(old))
    return [row for row in _table_rows(new) if row not in before]


def _table_rows(text: str) -> list[TableRow]:
    """The rows of tables: `['a', 1]` or `{ input: 'a', expected: 1 }`."""
    rows: list[TableRow] = []
    opened: list[int] = []
    for hit in _BRACKET.finditer(text):
        if hit[0] in "[{":
            opened.append(hit.start())
        elif hit[0] in "]}" and opened:
            inside = text[opened.pop() : hit.end()]
            if len(inside) < SPAN_CHARS_MAX and "," in inside and not _CODE.search(inside):
                names = frozenset(_NAME.findall(_LITERAL.sub(" ", inside)))
                rows.append(TableRow(_literals(inside), names))
    return rows


def _literals(text: str) -> frozenset[str]:
    return frozenset(_quoted_alike(one) for one in _LITERAL.findall(text))


def _is_table_case(one: AssertionShape, gained: list[AssertionShape], rows: list[TableRow]) -> bool:
    """Is it one case of a test that takes its values from a table?"""
    values = frozenset(map(_quoted_alike, one.literals))
    bodies = [g for g in gained if one.is_loose or not g.is_loose]
    return any(
        values <= row.literals | frozenset(map(_quoted_alike, body.literals))
        and one.names <= row.names | body.names | _VERBS
        for row in rows
        for body in bodies
    )


def folded_tests(before: str, after: str, names: frozenset[str]) -> frozenset[str]:
    """The tests of a JavaScript file whose every assertion is a case of a table now."""
    rows, gained = _new_rows(before, after), list(_shapes(after))
    folded: set[str] = set()
    for name in names if rows else ():
        body = body_of_test(before, name)
        asked = list(_shapes(body))
        if asked and all(_is_table_case(one, gained, rows) for one in asked):
            folded.add(name)
    return frozenset(folded)


def assertions_of_test(body: str) -> list[frozenset[str]]:
    """The names in each assertion of a test."""
    return [one.names for one in _shapes(body)]


def body_of_test(text: str, title: str) -> str:
    """What follows the title."""
    span = span_of_test(text, title)
    return span[span.index(title) + len(title) + 1 :] if span else ""


def span_of_test(text: str, title: str) -> str:
    """The call of `test` up to the next test; empty if there is none of this title."""
    hit = re.search(rf"\b(?:it|test|specify)\(\s*(['\"`]){re.escape(title)}\1", text)
    if hit is None:
        return ""
    following = re.compile(r"^[ \t]{0,40}(?:it|test|specify|describe)\(", re.MULTILINE)
    end = following.search(text, hit.end())
    return text[hit.start() : end.start() if end else len(text)]


def _quoted_alike(text: str) -> str:
    return text.replace("'", '"').replace("`", '"')


def _only_adds(old: str, new: str) -> bool:
    """Are all lines still there, in order?  A mark that kept a test from running may go."""
    rest = iter(line.strip() for line in new.splitlines() if line.strip())
    lines = (line.strip() for line in old.splitlines() if line.strip())
    return all(any(other in (line, without_skip_marks(line)) for other in rest) for line in lines)
