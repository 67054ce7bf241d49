"""Tell-tales in a diff: code that satisfies a check instead of the task (`find_gaming`).

A cheat has to know what it is asked (the inputs and results in the tests), who asks (the runner),
or when; or it has to change how the answer is compared.  Only code that the change adds counts.
Python is read by its syntax tree, JavaScript by its tokens, shell by its lines.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Sequence

from yaoki.core.lazy_dataclass import dataclass
from yaoki.core.lazy_pattern import lazy_compile
from yaoki.core.model import GAMED_CHECK, CheckSpec, Finding, FindingItem, Outcome
from yaoki.core.model.check_definition import TreeView
from yaoki.formats.quality.definition.file_index import FileIndex
from yaoki.formats.quality.definition.roles import is_data, is_support
from yaoki.formats.quality.gaming import (
    assertion_modules,
    caller_source,
    clock,
    comparisons,
    coverage,
    exits,
    hidden_source,
    loose_equality,
    matchers,
    runner_detection,
    test_access,
    test_doubles,
)
from yaoki.formats.quality.gaming.command_runs import read_command_runs
from yaoki.formats.quality.gaming.composed_code import parse_composed_code
from yaoki.formats.quality.gaming.copied_results import (
    Specification,
    find_copied_results,
    read_specification,
)
from yaoki.formats.quality.gaming.emptied_arguments import EMPTIES, find_emptied_arguments
from yaoki.formats.quality.gaming.encoded_results import (
    DATA_ENDS,
    find_copied_data,
    find_encoded_results,
)
from yaoki.formats.quality.gaming.expectations import Expectation, read_expectations
from yaoki.formats.quality.gaming.imported_functions import PythonModules
from yaoki.formats.quality.gaming.javascript import ENDS, Token, read_literal, tokens_of
from yaoki.formats.quality.gaming.literals import Literal, python_literal
from yaoki.formats.quality.gaming.printed_results import find_printed_results
from yaoki.formats.quality.languages import language_of
from yaoki.formats.quality.lexer import scan_source
from yaoki.formats.quality.model import Change
from yaoki.formats.quality.python import parse_python
from yaoki.formats.quality.suites import is_test_path, without_comments

PATTERN = "gamed"
ITEMS_MAX = 50
TESTS_MAX, DOCUMENTS_MAX, EXPECTED_MAX = 300, 40, 100
_SHELL_ENDS = (".sh", ".bash")
_READ_ENDS = (".py", ".json", *ENDS)
_DOCUMENT = lazy_compile(
    r"(?:^|/)(?:readme|spec\w*|docs?/.*)[^/]*\.(?:md|rst|txt|adoc)$", re.IGNORECASE
)
_ABOUT_TESTS = lazy_compile(
    r"\b(?:pytest|test runner|test mode|unittest|jest|mocha|polyfill|yaoki)\b", re.IGNORECASE
)
# Goals that ask for what is otherwise a tell-tale, by its words.
_ASKED_FOR = {
    test_access.READS_SOURCES: lazy_compile(
        r"\b(?:files?|sources?|code|python|javascript|typescript|modules?|lint\w*|imports?|scripts?"
        r"|packages?|projects?|plugins?|folders?|director\w+|repositor\w+|migrations?|routes?)\b",
        re.IGNORECASE,
    ),
    caller_source.READS_CALLER: lazy_compile(
        r"\b(?:tracebacks?|stack traces?|call ?stack|callers?|source lines?|code frames?|debugger"
        r"|profiler|linter)\b",
        re.IGNORECASE,
    ),
    loose_equality.LOOSE: lazy_compile(
        r"\btoleran|\bapprox|\bfuzzy\b|\bwildcards?\b|__eq__", re.IGNORECASE
    ),
    matchers.EQUALS_EVERYTHING: lazy_compile(
        r"\b(?:pytest|unittest|mocks?|matchers?|wildcards?|fakes?"
        r"|test (?:helper|double|support)s?)\b",
        re.IGNORECASE,
    ),
    coverage.LEAVES_OUT: lazy_compile(
        r"\b(?:exclud|omit|ignor)\w*|\bleav\w+ out\b|\.coveragerc|coverage (?:settings?|config)",
        re.IGNORECASE,
    ),
    EMPTIES: lazy_compile(
        r"\bin[- ]place\b|\b(?:clear|empt|drain|flush|consum|mutat|reset|take all"
        r"|trim|truncat|shorten)\w*",
        re.IGNORECASE,
    ),
    assertion_modules.REPLACES: lazy_compile(
        r"\b(?:chai|matchers?|assertion (?:library|plugin)|module loader|require hook)\b",
        re.IGNORECASE,
    ),
}
# A program exits in a function or a branch; at top level it ends whatever sources it.
_SHELL_SHAPES = (
    (lazy_compile(r"^(?:exit|return)\s+0\b"), "always ends with success"),
    (lazy_compile(r"\btrap\b.*\bexit\s+0\b"), "decides the exit code after everything else"),
    (lazy_compile(r"\bexec\s+(?:/bin/|/usr/bin/)?true\b"), "always ends with success"),
    (
        lazy_compile(r"^\s*(?:function\s+)?(?:exit|test|\[\[?|grep|diff|cmp|false|return)\s*\(\)"),
        "replaces a command that checks use",
    ),
)
_PYTHON_PARTS = (
    *(comparisons, exits, runner_detection, clock, test_access, caller_source, matchers),
)
_NO_TREE = TreeView(frozenset(), lambda _: None)


def find_gaming(
    changes: Sequence[Change],
    base: TreeView = _NO_TREE,
    *,
    goal: str = "",
    checks: Sequence[CheckSpec] = (),
) -> Finding | None:
    """`base` has the tests that the change must pass; what `goal` names is no tell-tale."""
    search = _Search(changes, FileIndex(base), goal, checks)
    items = tuple(dict.fromkeys(search.items()))[:ITEMS_MAX]
    if not items:
        return None
    named = ", ".join(f"{item.name} ({item.message})" for item in items[:3])
    records = [{"name": item.name, "message": item.message} for item in items]
    return Finding(
        GAMED_CHECK,
        Outcome.FAILED,
        pattern=PATTERN,
        message=f"the change satisfies the check instead of the task: {named}",
        items=items,
        params={"tellTales": records},
    )


@dataclass(frozen=True, slots=True)
class _Search:
    changes: Sequence[Change]
    base: FileIndex
    goal: str
    checks: Sequence[CheckSpec]

    def items(self) -> Iterator[FindingItem]:
        products = [change for change in self.changes if _is_product(change)]
        for change in products:
            if not (is_support(change.path) and _ABOUT_TESTS.search(self.goal)):
                yield from self._shapes(change)
        for change in self.changes:
            if change.after is not None and is_test_path(change.path):
                yield from self._tests(change)
        yield from self._coverage()
        code = [change for change in products if change.path.endswith((".py", *ENDS))]
        if code and self.base.paths:
            yield from self._results(code)
            yield from self._expected_files(code)
            yield from self._emptied_arguments(code)

    def _coverage(self) -> Iterator[FindingItem]:
        left_out = [one for one in self.changes if coverage.find_exclusions(one)]
        if not left_out or self._is_asked_for(coverage.LEAVES_OUT):
            return
        if coverage.asks_for_coverage(self.checks, self.base):
            yield from (_item(one.path, 1, coverage.LEAVES_OUT) for one in left_out)

    def _shapes(self, change: Change) -> Iterator[FindingItem]:
        if change.path.endswith(".py"):
            found = _python_places(change)
        elif change.path.endswith(ENDS):
            found = _javascript_places(change)
        else:
            found = _shell_places(change)
        for line, words in found:
            if not self._is_asked_for(words) and not (
                words == exits.AT_IMPORT and _is_script(change)
            ):
                yield _item(change.path, line, words)

    def _is_asked_for(self, words: str) -> bool:
        """Does the goal ask for code that knows about runners or dates?"""
        if words in _ASKED_FOR and _ASKED_FOR[words].search(self.goal):
            return True
        if words == clock.WORDS:
            return re.search(r"\b(?:19|20)\d\d\b", self.goal) is not None
        names = runner_detection.CHECK_ONLY_VARIABLES
        if words == runner_detection.DETECTS and any(name in self.goal for name in names):
            return True
        about = {runner_detection.DETECTS, comparisons.REPLACES_LIBRARY, test_access.READS}
        return words in about and _ABOUT_TESTS.search(self.goal) is not None

    def _tests(self, change: Change) -> Iterator[FindingItem]:
        before, after = change.before or "", change.after or ""
        if change.path.endswith(".py"):
            found = test_doubles.find_in_python(before, after, self.base)
        elif change.path.endswith(ENDS):
            old, new = tokens_of(change.path, before), tokens_of(change.path, after)
            found = test_doubles.find_in_javascript(old, new)
        else:
            return
        for line, words in found:
            yield _item(change.path, line, words)

    def _results(self, code: Sequence[Change]) -> Iterator[FindingItem]:
        tests = self._tests_of_base()
        expectations = self._expectations(tests)
        runs = tuple(one for path, text in tests for one in read_command_runs(path, text))
        specification = self._specification(code)
        for change in code if runs else ():
            yield from find_printed_results(change, runs, specification)
        for change in code if expectations else ():
            yield from find_copied_results(change, expectations, specification)
            yield from find_encoded_results(change, expectations, specification)
        for change in self.changes if expectations else ():
            if change.path.endswith(DATA_ENDS) and not is_test_path(change.path):
                yield from find_copied_data(change, expectations, specification)

    def _emptied_arguments(self, code: Sequence[Change]) -> Iterator[FindingItem]:
        if self._is_asked_for(EMPTIES):
            return
        paths = [p for p in sorted(self.base.paths) if is_test_path(p) and p.endswith(".py")]
        read = {path: parse_python(self.base.text(path)) for path in paths[:TESTS_MAX]}
        tests = {path: tree for path, tree in read.items() if tree is not None}
        modules = self._python_modules()
        for change in code if tests else ():
            after = parse_python(change.after or "") if change.path.endswith(".py") else None
            if after is not None:
                old = parse_python(change.before or "")
                found = find_emptied_arguments(change.path, old, after, tests, modules)
                for line, words in found:
                    yield _item(change.path, line, words)

    def _python_modules(self) -> PythonModules:
        """Of the base with the change."""
        changed = {change.path: change.after or "" for change in self.changes}
        paths = sorted({*self.base.paths, *changed})
        return PythonModules(
            paths, lambda path: changed[path] if path in changed else self.base.text(path)
        )

    def _expectations(self, tests: Sequence[tuple[str, str]]) -> tuple[Expectation, ...]:
        """The expectations of the base's tests, and of the code in the commands of the checks."""
        texts = list(tests)
        for check in self.checks:
            words = [*check.argv, *re.findall(r"'([^']+)'|\"([^\"]+)\"", check.shell)]
            texts += [
                ("check.py", word if isinstance(word, str) else "".join(word)) for word in words
            ]
        return tuple(one for path, text in texts for one in read_expectations(path, text))

    def _tests_of_base(self) -> list[tuple[str, str]]:
        """Those that share the name of a changed file come first."""
        stems = {one.path.rpartition("/")[2].partition(".")[0] for one in self.changes} - {""}
        tests = [p for p in self.base.paths if is_test_path(p) and p.endswith(_READ_ENDS)]
        tests.sort(key=lambda path: (not any(stem in path for stem in stems), path))
        return [(path, self.base.text(path)) for path in tests[:TESTS_MAX]]

    def _specification(self, code: Sequence[Change]) -> Specification:
        documents = [p for p in sorted(self.base.paths) if _DOCUMENT.search(p)][:DOCUMENTS_MAX]
        texts = [self.base.text(path) for path in documents]
        return read_specification([*texts, *(one.before or "" for one in code)], self.goal)

    def _expected_files(self, code: Sequence[Change]) -> Iterator[FindingItem]:
        paths = test_access.expected_texts(sorted(self.base.paths))[:EXPECTED_MAX]
        expected = {path: self.base.text(path) for path in paths}
        known = "\n".join((self.goal, *(change.before or "" for change in code)))
        for change in code:
            texts = list(_texts(change.path, change.after or ""))
            names = {path.rpartition("/")[2] for path in expected}
            for text, line in texts:
                # A search through all folders finds the file of the tests.
                if "*" in text and text.rpartition("/")[2] in names:
                    yield _item(change.path, line, test_access.READS)
            for line, words in test_access.find_expected_text(texts, expected, known):
                yield _item(change.path, line, words)
            old = {value for value, _ in _containers(change.path, change.before or "")}
            values = _containers(change.path, change.after or "")
            fresh = [(value, line) for value, line in values if value not in old]
            for line, words in test_access.find_expected_values(fresh, expected):
                yield _item(change.path, line, words)
        for change in self.changes:
            copied = [
                p for p, text in expected.items() if text.strip() == (change.after or "").strip()
            ]
            own = change.before is None and not is_test_path(change.path) and is_data(change.path)
            if own and copied and len((change.after or "").strip()) >= test_access.TEXT_CHARS_MIN:
                yield _item(change.path, 1, test_access.CONTAINS.format(copied[0]))


def _item(path: str, line: int, words: str) -> FindingItem:
    where = f"{path}:{line}"
    return FindingItem(where, words, where)


def _is_product(change: Change) -> bool:
    known = change.path.endswith((".py", *_SHELL_ENDS, *ENDS))
    return known and change.after is not None and not is_test_path(change.path)


def _is_script(change: Change) -> bool:
    """A program that is started by its name, and that nobody imports, may exit anywhere."""
    started = all((text or "#!").startswith("#!") for text in (change.before, change.after))
    return started or re.search(r"(?:^|/)bin/", change.path) is not None


def _python_places(change: Change) -> Iterator[tuple[int, str]]:
    hidden = list(hidden_source.find_in_python(change.after or ""))
    if hidden and not list(hidden_source.find_in_python(change.before or "")):
        yield from hidden
    tree, before = parse_python(change.after or ""), parse_python(change.before or "")
    if tree is None:
        return
    parts = ((part, one) for one in _trees(tree) for part in _PYTHON_PARTS)
    found = [place for part, one in parts for place in part.find_in_python(one)]
    old = {ast.dump(node) for one in _trees(before) for node in ast.walk(one)} if found else set()
    for node, words in found:
        if ast.dump(node) not in old:
            yield getattr(node, "lineno", 1), words


def _trees(tree: ast.Module | None) -> Iterator[ast.Module]:
    """The file, and the code that it has as texts and runs."""
    if tree is not None:
        yield tree
        yield from parse_composed_code(tree)


def _javascript_places(change: Change) -> Iterator[tuple[int, str]]:
    """Lines that the earlier file has, too, do not count."""
    path, after = change.path, change.after or ""
    tokens = tokens_of(path, after)
    old, lines = set((change.before or "").split("\n")), after.split("\n")
    grammar = language_of(path)
    scanned = scan_source(after, grammar) if grammar and tokens else None
    hidden = hidden_source.find_in_javascript(scanned) if scanned else ()
    bare = without_comments(scanned) if scanned else ""
    for line, words in (*_in_tokens(tokens), *clock.find_in_javascript(bare), *hidden):
        if lines[line - 1] not in old:
            yield line, words


def _in_tokens(tokens: Sequence[Token]) -> Iterator[tuple[int, str]]:
    yield from assertion_modules.find_in_javascript(tokens)
    for part in (comparisons, exits, runner_detection, test_access, caller_source):
        yield from part.find_in_javascript(tokens)


def _shell_places(change: Change) -> Iterator[tuple[int, str]]:
    old = set((change.before or "").splitlines())
    for number, text in enumerate((change.after or "").splitlines(), start=1):
        for shape, words in _SHELL_SHAPES if text not in old else ():
            if shape.search(text):
                yield number, words


def _texts(path: str, text: str) -> Iterator[tuple[str, int]]:
    """The texts in a program, with their lines."""
    if path.endswith(".py"):
        tree = parse_python(text)
        for node in ast.walk(tree) if tree is not None else ():
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                yield node.value, node.lineno
        return
    for token in tokens_of(path, text):
        if token.kind == "text" and isinstance(token.literal, str):
            yield token.literal, token.line


def _containers(path: str, text: str) -> list[tuple[Literal, int]]:
    """The literal lists and objects in a program, with their lines."""
    if path.endswith(".py"):
        tree = parse_python(text)
        nodes = ast.walk(tree) if tree is not None else ()
        held = ((n, n.lineno) for n in nodes if isinstance(n, ast.Dict | ast.List | ast.Tuple))
        return [(python_literal(node), line) for node, line in held]
    tokens = tokens_of(path, text)
    starts = [at for at, token in enumerate(tokens) if token.text in ("[", "{")]
    return [(read_literal(tokens, at)[0], tokens[at].line) for at in starts]
