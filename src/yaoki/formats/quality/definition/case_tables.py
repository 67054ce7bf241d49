"""JavaScript tests that became the cases of a table, or whose subject the goal asks to remove."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field

from yaoki.core.lazy_dataclass import dataclass, replace
from yaoki.core.lazy_pattern import lazy_compile
from yaoki.core.model.change import Change
from yaoki.core.model.check_definition import ParametrizedTests
from yaoki.formats.quality.definition.program_names import AskedRename, is_javascript
from yaoki.formats.quality.definition.removed_subjects import RemovedSubject, without_tests
from yaoki.formats.quality.definition.renamed_names import renamed_titles
from yaoki.formats.quality.definition.shapes import folded_tests
from yaoki.formats.quality.suites import read_file_tests

_WORDS = lazy_compile(r"\w+")
# A title that is made for each case: the runner counts each of them.
_GENERATED = lazy_compile(r"\b(?:it|test|specify)(?:\.each\b|\s*\(\s*(?:`[^`]*\$\{|[A-Za-z_$]))")


@dataclass(slots=True)
class CaseTables:
    """`folded`: the tests, by file and title, whose every assertion is a case of a table now.

    `removed`: those of nothing but what the goal asks to remove.  `followed`: the new titles of
    tests that have the name of something that the goal asks to rename.
    """

    folded: set[tuple[str, str]] = field(default_factory=set)
    removed: set[tuple[str, str]] = field(default_factory=set)
    followed: dict[str, str] = field(default_factory=dict)
    _titles: list[str] = field(default_factory=list)
    _new_tests: int = 0

    @property
    def explained(self) -> set[tuple[str, str]]:
        return self.folded | self.removed

    def add(self, change: Change, removed_subjects: Sequence[RemovedSubject] = ()) -> None:
        if change.before is None:
            return
        path, before = change.path, change.before
        old = read_file_tests(path, before).names
        self._titles += list(old)
        gone = frozenset(old - read_file_tests(path, change.after).names)
        self.removed |= {
            (path, title)
            for title in gone
            if any(one.covers_javascript(path, title, before) for one in removed_subjects)
        }
        if change.after is None:
            return
        folded = folded_tests(change.before, change.after, gone)
        self.folded |= {(change.path, name) for name in folded}
        is_generated = _GENERATED.search(change.after) is not None
        self._new_tests += len(folded) if is_generated else bool(folded)

    def without_removed(self, change: Change, removed_subjects: Sequence[RemovedSubject]) -> Change:
        """The change as if its base did not have the tests that the goal asks to remove."""
        titles = [title for path, title in sorted(self.removed) if path == change.path]
        if not titles or change.before is None:
            return change
        return replace(change, before=without_tests(change.before, titles, removed_subjects))

    def follow_titles(self, change: Change, renames: Sequence[AskedRename]) -> None:
        """`change` as it was, before any name of its base was replaced."""
        if renames and is_javascript(change.path):
            titles = renamed_titles(change, renames)
            self.followed |= {
                f"{change.path}::{old}": f"{change.path}::{now}" for old, now in titles.items()
            }

    def count_folded_tests(self, python: ParametrizedTests) -> ParametrizedTests:
        """A title is known by a word of its own: runners write titles in different ways."""
        words = frozenset(word for _, title in self.explained if (word := self._own_word(title)))
        return replace(
            python,
            names=python.names | words,
            followed={**python.followed, **self.followed},
            new_test_count=python.new_test_count + self._new_tests,
            removed=python.removed | {"::".join(one) for one in self.removed},
        )

    def _own_word(self, title: str) -> str:
        others = {word for one in self._titles if one != title for word in _WORDS.findall(one)}
        own = [word for word in _WORDS.findall(title) if word not in others]
        return max(own, key=len, default="")
