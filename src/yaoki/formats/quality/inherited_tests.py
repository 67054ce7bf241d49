"""Tests that a Python class inherits: lost when the class goes, or the test in its base class.

Neither is a test function in a collected file, so no comparison of test functions finds it.
"""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Callable, Iterator, Sequence

from yaoki.core.lazy_pattern import lazy_compile
from yaoki.core.model import FindingItem
from yaoki.formats.quality.integrity import TEST_LOST
from yaoki.formats.quality.model import Change
from yaoki.formats.quality.python import parse_python
from yaoki.formats.quality.suites import is_collected_path

# The names of classes that runners collect.
_COLLECTED = lazy_compile(r"^Test|Tests?$|TestCase$")
# A class with these bases alone inherits no test.
_PLAIN_BASES = frozenset({"object", "TestCase", "IsolatedAsyncioTestCase", "ABC", "Protocol"})
# A name, and what a new one must share with a lost one to replace it.
_Key = tuple[str, str]


def find_lost_inherited_tests(tests: Sequence[Change]) -> Iterator[FindingItem]:
    """`tests`: the changed files of tests and their helpers."""
    files = [change for change in tests if change.path.endswith(".py")]
    collected = [change for change in files if is_collected_path(change.path)]
    yield from _find_lost(collected, _inheriting_classes)
    moved = {name for change in collected for name, _ in _test_methods(change.after)}
    helpers = [change for change in files if not is_collected_path(change.path)]
    yield from (item for item in _find_lost(helpers, _test_methods) if item.name not in moved)


def _find_lost(
    files: Sequence[Change], read: Callable[[str | None], list[_Key]]
) -> Iterator[FindingItem]:
    """The keys that no file has any more, unless a new one replaces them."""
    after = {key for change in files for key in read(change.after)}
    before = {key for change in files for key in read(change.before)}
    new = Counter(kind for _, kind in after - before)
    for change in files:
        for name, kind in read(change.before):
            if (name, kind) in after:
                continue
            new[kind] -= 1
            if new[kind] < 0:
                yield FindingItem(name, TEST_LOST, change.path)


def _classes(text: str | None) -> Iterator[ast.ClassDef]:
    tree = parse_python(text or "")
    return (node for node in tree.body if isinstance(node, ast.ClassDef)) if tree else iter(())


def _inheriting_classes(text: str | None) -> list[_Key]:
    """The collected classes with a base that may have tests, and their bases."""
    found = []
    for node in _classes(text):
        bases = [ast.unparse(base) for base in node.bases]
        inherits = any(base.rpartition(".")[2] not in _PLAIN_BASES for base in bases)
        if inherits and _COLLECTED.search(node.name):
            found.append((node.name, ", ".join(bases)))
    return found


def _test_methods(text: str | None) -> list[_Key]:
    """The test methods, and their classes."""
    kinds = (ast.FunctionDef, ast.AsyncFunctionDef)
    return [
        (method.name, node.name)
        for node in _classes(text)
        for method in node.body
        if isinstance(method, kinds) and method.name.startswith("test")
    ]
