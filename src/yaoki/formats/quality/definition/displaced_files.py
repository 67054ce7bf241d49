"""New files that older tests load in place of a file of the base, which nobody edited.

`tests/helpers/__init__.py` is found before `tests/helpers.py`, `test/helpers.js` before
`test/helpers/index.js`.  What the tests check then is not what they checked before, so such a file
is undecided: the check must also pass without it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import cached_property

from yaoki.formats.quality.definition import node_modules
from yaoki.formats.quality.definition.file_index import FileIndex
from yaoki.formats.quality.definition.python_modules import find_displacing_modules
from yaoki.formats.quality.definition.references import python_imports
from yaoki.formats.quality.definition.roles import is_in_test_folder, is_support
from yaoki.formats.quality.definition.scripts import plain_lines
from yaoki.formats.quality.suites import is_collected_path, is_test_path

SOURCES_MAX = 2_000


def find_displacing_files(
    base: FileIndex, candidate: FileIndex, reached: Iterable[str]
) -> Iterator[str]:
    """`reached`: files that the checks are known to use."""
    users = _Users(base, frozenset(reached))
    for path, displaced in find_displacing_modules(base, candidate):
        if any(_changes_tests(path, one, users, candidate) for one in displaced):
            yield path
    for path, one in node_modules.find_displacing_files(base, candidate):
        if one in candidate.paths or _is_rewritten(path, one, base, candidate):
            yield path


class _Users:
    """The files that the tests of the base use; slow to find, and mostly not needed."""

    def __init__(self, base: FileIndex, reached: frozenset[str]) -> None:
        self.base, self._reached = base, reached

    def use(self, path: str) -> bool:
        if is_test_path(path) or is_in_test_folder(path) or path in self._reached:
            return True
        return path in self._imported

    @cached_property
    def _imported(self) -> frozenset[str]:
        own = sorted(p for p in self.base.paths if p.endswith(".py") and is_support(p))
        return frozenset(
            found
            for path in own[:SOURCES_MAX]
            for found in python_imports(self.base.text(path), path, self.base)
        )


def _changes_tests(path: str, displaced: str, users: _Users, candidate: FileIndex) -> bool:
    if not users.use(displaced):
        return False
    return displaced in candidate.paths or _is_rewritten(path, displaced, users.base, candidate)


def _is_rewritten(path: str, gone: str, base: FileIndex, candidate: FileIndex) -> bool:
    """Does it have other content than the helper that it replaces?  Tests are judged one by one."""
    helper = is_in_test_folder(gone) or is_test_path(gone)
    if not helper or is_collected_path(gone):
        return False
    return plain_lines(base.text(gone)) != plain_lines(candidate.text(path))
