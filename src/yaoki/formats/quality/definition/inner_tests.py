"""Python tests inside files of the program, which a check runs by name or by `python_files`.

The rest of such a file is the work itself, so only its tests are compared, and only for what is
certain: the base's version of the file would undo the work.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Collection, Iterator, Sequence
from fnmatch import fnmatchcase
from posixpath import basename

from yaoki.core.lazy_dataclass import replace
from yaoki.core.model.change import Change
from yaoki.formats.quality.definition.file_index import FileIndex
from yaoki.formats.quality.definition.settings import pytest_options
from yaoki.formats.quality.definition.tools import PYTEST_SETTINGS
from yaoki.formats.quality.python import parse_python
from yaoki.formats.quality.python_suites import last_name
from yaoki.formats.quality.suites import is_test_path

_FUNCTION = (ast.FunctionDef, ast.AsyncFunctionDef)


def find_inner_tests(
    changes: Sequence[Change], base: FileIndex, commands: Collection[str]
) -> Iterator[Change]:
    """The changes of program files with tests that a check runs, without anything but the tests."""
    patterns: list[str] | None = None
    for change in changes:
        path, before = change.path, change.before or ""
        if not path.endswith(".py") or is_test_path(path) or "def test" not in before:
            continue
        if change.after is not None and parse_python(change.after) is None:
            continue
        if patterns is None:
            patterns = list(_patterns(base, commands))
        name = basename(path)
        if _is_named(path, before, commands) or any(fnmatchcase(name, one) for one in patterns):
            yield replace(change, before=_only_tests(before), after=_only_tests(change.after or ""))


def _is_named(path: str, text: str, commands: Collection[str]) -> bool:
    """Does a command run the tests of this file, or of the module that it is?"""
    stem = path.removesuffix(".py")
    names = (path, basename(path), stem.replace("/", "."), stem.removeprefix("src/"))
    words = "|".join(re.escape(name) for name in dict.fromkeys(names))
    runs = re.compile(rf"\b(?:unittest|pytest|nose2|green|ward)\b[^;&|]*(?<![\w.-])(?:{words})\b")
    starts = re.compile(rf"\bpython[\d.]*\s(?:-\w+\s)*(?:{words})(?![\w/])")
    runs_itself = re.search(r"\b(?:unittest|pytest)\.main\(", text) is not None
    return any(
        runs.search(one) or (runs_itself and starts.search(one) is not None) for one in commands
    )


def _patterns(base: FileIndex, commands: Collection[str]) -> Iterator[str]:
    """Names of the files in which a runner looks for tests."""
    for path in base.paths:
        if basename(path) in PYTEST_SETTINGS:
            value = pytest_options(path, base.text(path)).get("python_files") or ()
            yield from value.split() if isinstance(value, str) else map(str, value)
    for text in commands:
        yield from re.findall(r"\bdiscover\b[^;&|]*\s(?:-p|--pattern)[ =]['\"]?([^\s'\"]+)", text)
        yield from re.findall(r"\bpython_files=['\"]?([^\s'\"]+)", text)


def _only_tests(text: str) -> str:
    """Its test functions, and its classes of tests."""
    tree = parse_python(text)
    body = [node for node in tree.body if _is_test(node)] if tree is not None else []
    return ast.unparse(ast.Module(body, [])) if body else ""


def _is_test(node: ast.stmt) -> bool:
    if isinstance(node, ast.ClassDef):
        is_case = any(last_name(base).endswith("TestCase") for base in node.bases)
        return is_case or node.name.startswith("Test")
    return isinstance(node, _FUNCTION) and node.name.startswith("test")
