"""Where a test that the output of a check names is declared in the files of a commit."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from functools import cached_property
from itertools import islice
from posixpath import basename, dirname, join, normpath

from yaoki.core.lazy_pattern import lazy_compile
from yaoki.core.model.check_definition import TestPlace, TreeView
from yaoki.formats.quality.definition.file_index import FileIndex
from yaoki.formats.quality.definition.units import CodeUnit, parse_source
from yaoki.formats.quality.suites import is_test_path, read_file_tests

FILES_READ_MAX = 5_000
LITERAL_CHARS_MIN = 3
_DOTTED = lazy_compile(r"[\w.]+(?:::\w+)*")
# unittest names a file that it could not load by this class.
_NOT_LOADED = "unittest.loader._FailedTest."
# What a runner of JavaScript fills in: `adds ${a}`, `adds %i`, `adds $a`.
_FILLED_IN = lazy_compile(r"\$\{[^}]*\}|%[a-zA-Z#]|\$[\w.]+")


class TestPlaces:
    """The tests of one commit.  `folder`: paths in the output are relative to it."""

    __test__ = False

    def __init__(self, view: TreeView, folder: str) -> None:
        self.files, self._folder = FileIndex(view), folder
        self._units: dict[str, Mapping[str, CodeUnit]] = {}

    def units(self, path: str) -> Mapping[str, CodeUnit]:
        if path not in self._units:
            self._units[path] = parse_source(self.files.text(path)).units
        return self._units[path]

    # -------------------------------------------------------------- Python

    def find(self, name: str) -> TestPlace | None:
        """The Python file of a test and its name there; the name is empty for a whole file."""
        name = name.removeprefix(_NOT_LOADED)
        head, mark, rest = name.partition(".py::")
        if mark or name.endswith(".py"):
            path = self.path(f"{head}.py" if mark else name)
            return (path, rest.replace("::", ".")) if path else None
        if not _DOTTED.fullmatch(name):
            return None
        parts = name.replace("::", ".").split(".")
        for length in range(len(parts), 0, -1):
            if path := self.path("/".join(parts[:length]) + ".py"):
                return path, ".".join(parts[length:])
        return None

    def path(self, path: str) -> str:
        """The file itself, or the only one that ends so: a runner has a root of its own."""
        at = normpath(join(self._folder, path))
        if at in self.files.paths:
            return at
        unique = self.files.find_unique(path)
        return unique if unique and f"/{unique}".endswith(f"/{path}") else ""

    # -------------------------------------------------------------- other languages

    def declarations(self, name: str) -> frozenset[TestPlace]:
        """The files that declare a test of another language with this title, and the title."""
        head, _, end = name.rpartition("::")
        titles = {name, end, end.partition("/")[0], name.rpartition(" > ")[2]}
        found = {(path, t) for t in titles for path in self._titles.get(t, ())}
        if not found:
            found = {
                (path, title)
                for title, paths in self._titles.items()
                if _fits(name, title)
                for path in paths
            }
        exact = {place for place in found if _is_file_of(place[0], head)}
        return frozenset(exact or found)

    def count_declarations(self, place: TestPlace) -> int:
        """How many tests with this title does the file declare?"""
        path, title = place
        return read_file_tests(path, self.files.text(path)).names[title]

    @cached_property
    def _titles(self) -> Mapping[str, Iterable[str]]:
        titles: dict[str, set[str]] = {}
        paths = (p for p in sorted(self.files.paths) if is_test_path(p) and not p.endswith(".py"))
        for path in islice(paths, FILES_READ_MAX):
            for title in read_file_tests(path, self.files.text(path)).names:
                titles.setdefault(title, set()).add(path)
        return titles


def is_template(title: str) -> bool:
    return _FILLED_IN.search(title) is not None


def _fits(name: str, title: str) -> bool:
    """Does a name end with this title, with anything in the places that are filled in?"""
    parts = _FILLED_IN.split(title)
    if len(parts) == 1:
        return name.endswith(f" {title}")
    if len("".join(parts).strip()) < LITERAL_CHARS_MIN:
        return False
    return re.search(rf"(?:^|[ :]){'.*'.join(map(re.escape, parts))}$", name) is not None


def _is_file_of(path: str, head: str) -> bool:
    """Is it the file, the class or the package that stands before the title?"""
    if not head:
        return False
    stem, folder = basename(path).partition(".")[0], dirname(path)
    return (
        f"/{path}".endswith(f"/{head}")
        or stem == head.rpartition(".")[2]
        or bool(folder and f"/{head}".endswith(f"/{folder}"))
    )
