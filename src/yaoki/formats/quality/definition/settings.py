"""Settings that replace others, leave tests out, or load plugins."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from posixpath import dirname, join
from typing import Any

from yaoki.core.lazy_pattern import lazy_compile
from yaoki.core.scope import matches_name
from yaoki.formats.quality.definition.file_index import FileIndex
from yaoki.formats.quality.suites import is_collected_path

PLACE = "it replaces {}"
FEWER = "it excludes tests"
PLUGIN = "it loads a plugin into the test runner"
# Only the first existing file of a family is read.  After a `|`: the marker by which a file
# that serves many tools belongs to the family.
_FAMILIES = (
    (
        *("pytest.toml", ".pytest.toml", "pytest.ini", ".pytest.ini"),
        *("pyproject.toml|[tool.pytest", "tox.ini|[pytest]", "setup.cfg|[tool:pytest]"),
    ),
    ("mypy.ini", ".mypy.ini", "pyproject.toml|[tool.mypy", "setup.cfg|[mypy"),
    (".ruff.toml", "ruff.toml", "pyproject.toml|[tool.ruff"),
    (".coveragerc", "setup.cfg|[coverage", "tox.ini|[coverage", "pyproject.toml|[tool.coverage"),
    (".flake8", "setup.cfg|[flake8", "tox.ini|[flake8"),
    ("eslint.config.*", ".eslintrc*", 'package.json|"eslintConfig"'),
    (".prettierrc*", "prettier.config.*", 'package.json|"prettier"'),
    (".pylintrc*", "pylintrc*", "pyproject.toml|[tool.pylint", "setup.cfg|[pylint"),
    (".isort.cfg", "pyproject.toml|[tool.isort", "setup.cfg|[isort", "tox.ini|[isort"),
    ("jest.config.*", 'package.json|"jest"'),
    (".mocharc*", 'package.json|"mocha"'),
    ("vitest.config.*", "vite.config.*"),
    ("pyrightconfig.json", "pyproject.toml|[tool.pyright"),
)
_LOADS = lazy_compile(
    r"\b(?:setupFiles\w*|globalSetup|moduleNameMapper|testRunner|testResultsProcessor|runner|transform)\b"
)


def find_displaced_settings(
    path: str, text: str, base: FileIndex, *, but_pytest: bool = False
) -> tuple[str, bool]:
    """The settings that a new file hides, and whether certainly; empty when it hides none."""
    name, folder = path.rsplit("/", 1)[-1], dirname(path)
    for family in _FAMILIES[1 if but_pytest else 0 :]:
        places = [at for at, one in enumerate(family) if _belongs(name, text, one)]
        if not places:
            continue
        for at, one in enumerate(family):
            other, _, mark = one.partition("|")
            for other_path in _matching_files(base, folder, other):
                if other_path != path and (not mark or mark in base.text(other_path)):
                    if dirname(other_path) == folder and places[0] < at:
                        return other_path, True
                    # Of two files of one kind, the tool knows which one it reads.
                    if dirname(other_path) != folder or places[0] == at:
                        return other_path, False
    return "", False


def _belongs(name: str, text: str, one: str) -> bool:
    pattern, _, mark = one.partition("|")
    return matches_name(name, pattern) and (not mark or mark in text)


def _matching_files(base: FileIndex, folder: str, pattern: str) -> Iterator[str]:
    """The matching files in the folder, and in those above it."""
    while True:
        yield from (p for p in base.files_in(folder) if matches_name(p.rsplit("/", 1)[-1], pattern))
        if not folder:
            return
        folder = dirname(folder)


def leaves_tests_out(path: str, before: str, after: str, base: FileIndex) -> bool:
    """Do new `testpaths` skip existing tests?"""
    old, new = (_testpaths(path, text) for text in (before, after))
    return new is not None and new != old and skips_tests(dirname(path), new, base.paths)


def skips_tests(folder: str, testpaths: Iterable[str], paths: Iterable[str]) -> bool:
    """Is one of these files a test that none of the `testpaths` contains?"""
    tops = [join(folder, one).strip("/").removeprefix("./") for one in testpaths]
    tests = [p for p in paths if p.endswith(".py") and is_collected_path(p)]
    return any(not any(_is_below(test, top) for top in tops) for test in tests)


def _is_below(path: str, top: str) -> bool:
    return (
        not top
        or top == "."
        or path == top
        or path.startswith(f"{top}/")
        or matches_name(path, top)
    )


def _testpaths(path: str, text: str) -> tuple[str, ...] | None:
    value = pytest_options(path, text).get("testpaths")
    if value in (None, ""):
        return None
    return tuple(value.split() if isinstance(value, str) else map(str, value))


def pytest_options(path: str, text: str) -> Mapping[str, Any]:
    """The settings of pytest in this file; those of other tools may be among them."""
    if path.endswith((".ini", ".cfg")):
        first_wins = reversed([values for _, values in read_ini_sections(text)])
        return {key: value for section in first_wins for key, value in section.items()}
    table = _toml(text) if path.endswith(".toml") else {}
    tools = table.get("tool")
    tool = tools.get("pytest", {}) if isinstance(tools, dict) else {}
    options = tool.get("ini_options", tool) if isinstance(tool, dict) else {}
    found = options or table.get("pytest", {})
    return found if isinstance(found, dict) else {}


def loads_code(text: str) -> bool:
    """Does it name code that a Node runner loads, or substitutes for modules?"""
    return _LOADS.search(text) is not None


def brings_plugin(path: str, before: str, after: str) -> bool:
    """Entry points by which pytest loads a module, declared in the repository itself."""
    name = path.rsplit("/", 1)[-1]
    if name not in ("pyproject.toml", "setup.cfg", "setup.py", "entry_points.txt"):
        return False
    return _entries(after) != _entries(before) and bool(_entries(after))


def _entries(text: str) -> tuple[str, ...]:
    """The lines of the section for pytest plugins, in any file."""
    section = re.search(r"pytest11[^\n]*\n?((?:\s*[\w.\-\"']+\s*=\s*[^\n]+\n?)*)", text)
    return (
        tuple(line.strip() for line in section[0].splitlines() if line.strip()) if section else ()
    )


def _toml(text: str) -> dict[str, Any]:
    try:
        return tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError, ValueError):
        return {}


def read_ini_sections(text: str) -> Iterator[tuple[str, dict[str, str]]]:
    """The sections with their names; none of a file that cannot be parsed."""
    import configparser  # few changes have such a file

    parser = configparser.RawConfigParser(strict=False)
    try:
        parser.read_string(text)
    except configparser.Error:
        return
    for name in parser.sections():
        yield name, dict(parser.items(name))
