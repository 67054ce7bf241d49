"""JavaScript tests that became the cases of a table."""

from __future__ import annotations

from dataclasses import field

from yaoki.core.lazy_dataclass import dataclass
from yaoki.core.lazy_pattern import lazy_compile
from yaoki.core.model.change import Change
from yaoki.core.model.check_definition import ParametrizedTests
from yaoki.formats.quality.definition.shapes import folded_tests
from yaoki.formats.quality.suites import read_file_tests

_WORDS = lazy_compile(r"\w+")
# A title that is made for each case: the runner counts each of them.
_GENERATED = lazy_compile(r"\b(?:it|test|specify)(?:\.each\b|\s*\(\s*(?:`[^`]*\$\{|[A-Za-z_$]))")


@dataclass(slots=True)
class CaseTables:
    """`folded`: the tests, by file and title, whose every assertion is a case of a table now."""

    folded: set[tuple[str, str]] = field(default_factory=set)
    _titles: list[str] = field(default_factory=list)
    _new_tests: int = 0

    def add(self, change: Change) -> None:
        if change.before is None or change.after is None:
            return
        old = read_file_tests(change.path, change.before).names
        self._titles += list(old)
        gone = frozenset(old - read_file_tests(change.path, change.after).names)
        folded = folded_tests(change.before, change.after, gone)
        self.folded |= {(change.path, name) for name in folded}
        is_generated = _GENERATED.search(change.after) is not None
        self._new_tests += len(folded) if is_generated else bool(folded)

    def count_folded_tests(self, python: ParametrizedTests) -> ParametrizedTests:
        """A title is known by a word of its own: runners write titles in different ways."""
        words = frozenset(word for _, title in self.folded if (word := self._own_word(title)))
        count = python.new_test_count + self._new_tests
        return ParametrizedTests(python.names | words, count, python.removed)

    def _own_word(self, title: str) -> str:
        others = {word for one in self._titles if one != title for word in _WORDS.findall(one)}
        own = [word for word in _WORDS.findall(title) if word not in others]
        return max(own, key=len, default="")
