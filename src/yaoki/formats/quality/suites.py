"""The tests of a file, those that check nothing, and what keeps them from running."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import field
from functools import lru_cache

from yaoki.core.lazy_dataclass import dataclass
from yaoki.core.lazy_pattern import lazy_compile
from yaoki.formats.quality.language_parts import FILE_CHARS_MAX
from yaoki.formats.quality.languages import language_of
from yaoki.formats.quality.lexer import ScannedSource, scan_source
from yaoki.formats.quality.python import parse_python
from yaoki.formats.quality.python_suites import read_python_suite

_TEST_FILE = lazy_compile(
    r"(?:^|/)(?:tests?|__tests__|spec)/|(?:^|/)(?:test_[^/]*|[^/]*_(?:test|spec)|tests?)\.\w+$"
    r"|\.(?:test|spec)\.\w+$"
    r"|(?:^|/)[A-Z]\w*(?:Tests?|Spec)\.(?:java|kt|cs|php|swift|scala|groovy)$"
)
# A runner finds files with these names by itself.
_COLLECTED = lazy_compile(
    r"(?:^|/)(?:test[^/]*|[^/]*_(?:test|spec|tests)|tests?)\.\w+$|\.(?:test|spec|cy|e2e)\.\w+$"
    r"|(?:^|/)__tests__/|(?:^|/)[A-Z]\w*(?:Tests?|Spec|IT)\.(?:java|kt|cs|php|swift|scala|groovy)$"
)
# A pattern for the name of a test in a language: the first group that is not empty.
_TESTS = lazy_compile(
    r"^[ \t]{0,40}(?:async )?def (test\w{0,200})\("
    r"|^[ \t]{0,40}class (Test\w{0,200})\b"
    r"|^func (Test\w{0,200})\("
    r"|^[ \t]{0,40}(?:it|test|specify)(?:\.\w{1,20})?\(\s{0,20}['\"`]([^'\"`\n]{1,200})['\"`]"
    r"|^[ \t]{0,40}(?:it|specify|scenario|test) ['\"]([^'\"\n]{1,200})['\"][^\n]{0,100}(?:do|\{)"
    r"|#\[(?:tokio::)?test\]\s{0,80}(?:#\[[^\]\n]{0,80}\]\s{0,80})?(?:async )?fn (\w{1,200})"
    r"|@Test\b[^;{]{0,200}?\b(?:void|fun) (\w{1,200})\(",
    re.MULTILINE,
)
_SKIPS = lazy_compile(
    r"@?\bpytest\.mark\.(?:skip|skipif|xfail)\b|\bpytest\.(?:skip|xfail|importorskip)\("
    r"|@unittest\.(?:skip|expected)"
    r"|\bself\.skipTest\(|\b(?:it|test|describe|context)\.(?:skip|todo|only|failing)\b"
    r"|\b\w{1,40}\.(?:skip|todo)\(\s{0,20}['\"`]|\{[^{}\n]{0,80}\b(?:skip|todo)\s?:\s?(?:true\b|['\"`])"
    r"|^\s{0,40}[xf](?:it|describe|context|test|specify)[ (]"
    r"|\bt\.Skip(?:Now|f)?\(|#\[ignore\b|@(?:Disabled|Ignore)\b"
)
_CONDITION = lazy_compile(r"\s{0,80}(?:\}\s{0,4}else\s)?if\b")
_BODY = lazy_compile(r"\{|\bdo\b(?:\s{0,4}\|[^|\n]{0,80}\|)?")
_NOTHING = lazy_compile(
    r"\s*(?:return\s{0,4}(?:true|null|nil|undefined)?\s{0,4};?|pass|true|;"
    r"|expect\(\s?(?:true|1)\s?\)\.(?:to\.|not_)?\w{1,20}(?:[. (]{0,2}(?:true|1)\s?\)?|\(\))?;?"
    r"|assert(?:True|_true|!|\.ok|\.isTrue|\.True)?\(\s?true\s?\);?|Assert\.(?:That|True|IsTrue)\(true\);?"
    r")?\s*"
)
BODY_CHARS_MAX = 20_000


@dataclass(frozen=True, slots=True)
class Skip:
    """A mark that keeps a test from running.  `owner`: the test, the class, or empty for the file.

    `perhaps`: only under a condition.
    """

    owner: str
    word: str
    is_conditional: bool = False


@dataclass(frozen=True, slots=True)
class FileTests:
    """`hollow`: tests that check nothing.  `asks`: those that assert something, if known, and
    `called` what each test calls.  `skips` with their lines.
    """

    names: Counter[str] = field(default_factory=Counter)
    hollow_tests: frozenset[str] = frozenset()
    asserting_tests: frozenset[str] = frozenset()
    called_names: Mapping[str, frozenset[str]] = field(default_factory=dict)
    skips: tuple[tuple[Skip, int], ...] = ()


def is_test_path(path: str) -> bool:
    return _TEST_FILE.search(path) is not None or path.endswith((".rs", "conftest.py"))


def is_collected_path(path: str) -> bool:
    """Would a runner find tests in it by its name alone?"""
    return _COLLECTED.search(path) is not None


@lru_cache(maxsize=512)
def read_file_tests(path: str, text: str | None) -> FileTests:
    """Through Python's own parser if it can read the file; else by the shapes of its lines."""
    if not text or len(text) > FILE_CHARS_MAX:
        return FileTests()
    tree = parse_python(text) if path.endswith((".py", ".pyi")) else None
    if tree is not None:
        suite = read_python_suite(tree)
        skips = tuple((Skip(s.owner, s.word, s.is_conditional), s.line) for s in suite.skips)
        return FileTests(
            suite.names, suite.hollow_tests, suite.asserting_tests, suite.called_names, skips
        )
    return _by_shape(path, text)


def _by_shape(path: str, text: str) -> FileTests:
    grammar = language_of(path)
    reading = scan_source(text, grammar) if grammar else ScannedSource(text, text, ())
    bare = without_comments(reading)
    tests = [(next(g for g in hit.groups() if g), hit) for hit in _TESTS.finditer(bare)]
    hollow = frozenset(name for name, hit in tests if _is_hollow(bare, reading.code, hit))
    places = [(hit.start(), name) for name, hit in tests]
    names = Counter(name for name, _ in tests)
    return FileTests(names, hollow, skips=tuple(_skips(bare, places)))


def without_comments(reading: ScannedSource) -> str:
    """The text, with the same length, without its comments."""
    text = reading.text
    for comment in reversed(reading.comments):
        end = comment.start + len(comment.raw)
        text = text[: comment.start] + re.sub(r"[^\n]", " ", comment.raw) + text[end:]
    return text


def _skips(bare: str, places: list[tuple[int, str]]) -> Iterator[tuple[Skip, int]]:
    at, before = 0, ""
    for n, line in enumerate(bare.split("\n"), 1):
        if match := _SKIPS.search(line):
            above = [name for start, name in places if start <= at + len(line)]
            perhaps = bool(_CONDITION.match(before) or _CONDITION.match(line))
            yield Skip(above[-1] if above else "", match[0].strip(), perhaps), n
        at += len(line) + 1
        before = line if line.strip() else before


def _is_hollow(bare: str, code: str, hit: re.Match[str]) -> bool:
    """Is there nothing between the brackets, or nothing that could ever fail?"""
    opened = _BODY.search(code, hit.end(), min(len(code), hit.end() + 400))
    if opened is None or ";" in code[hit.end() : opened.start()]:
        return False
    if opened[0] != "{":
        return re.compile(r"\s*end\b").match(bare, opened.end()) is not None
    end = _closing(code, opened.start())
    return end > 0 and _NOTHING.fullmatch(bare, opened.end(), end) is not None


def _closing(code: str, start: int) -> int:
    depth = 0
    for at in range(start, min(len(code), start + BODY_CHARS_MAX)):
        depth += {"{": 1, "}": -1}.get(code[at], 0)
        if depth == 0:
            return at
    return -1
