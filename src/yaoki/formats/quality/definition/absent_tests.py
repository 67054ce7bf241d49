"""Tests that ran before a change and do not run with it, for no reason that the change gives.

A test whose code is still in its place has to run, in as many cases as before: no setting, marker
file or list of cases may take it out of the collection.  One that was moved, renamed or merged is
replaced by the test that has its assertions, and this one has to run.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import field

from yaoki.core.decide.integrity import vanished_tests
from yaoki.core.decide.test_names import count_cases
from yaoki.core.lazy_dataclass import dataclass
from yaoki.core.lazy_pattern import lazy_compile
from yaoki.core.model.check_definition import (
    DefinitionReview,
    TestPlace,
    TestsOfTwoRuns,
    TreeView,
    format_test_id,
)
from yaoki.formats.quality.definition.assertions import AssertionKind
from yaoki.formats.quality.definition.equivalence import form_of_text, loop_forms, table_forms
from yaoki.formats.quality.definition.test_places import TestPlaces, is_template
from yaoki.formats.quality.definition.units import CodeUnit

_WORDS = lazy_compile(r"\w+")


def find_absent_tests(
    tests: TestsOfTwoRuns,
    review: DefinitionReview,
    base: TreeView,
    candidate: TreeView,
    *,
    folder: str = ".",
) -> Mapping[str, int]:
    """The tests of the base that do not run any more, without their parameters, and how many cases
    of each.  `folder`: in which the check runs, as paths in its output are relative to it.
    """
    before, now = count_cases(tests.before), count_cases(tests.now)
    if not before - now:
        return {}
    old, new = TestPlaces(base, folder), TestPlaces(candidate, folder)
    return _AbsentTests(tests, review, old, new, before, now).find()


@dataclass(slots=True)
class _AbsentTests:
    tests: TestsOfTwoRuns
    review: DefinitionReview
    old: TestPlaces
    new: TestPlaces
    before: Counter[str]
    now: Counter[str]
    # How many more cases of a test run now, at its place.
    gained: Counter[TestPlace] = field(default_factory=Counter)
    running: set[TestPlace] = field(default_factory=set)
    # Tests whose place is unknown: other new tests may replace them.
    unknown: Counter[str] = field(default_factory=Counter)
    fresh: Counter[str] = field(default_factory=Counter)

    def find(self) -> Mapping[str, int]:
        self.fresh = self.now - self.before
        for name in self.now:
            if place := self.new.find(name):
                self.running.add(place)
                self.gained[place] += self.fresh[name]
        absent: dict[str, int] = {}
        for name, times in (self.before - self.now).items():
            if missing := self._count_missing(name, times):
                absent[name] = missing
        absent.update(self._unreplaced())
        return absent

    def _count_missing(self, name: str, times: int) -> int:
        place = self.old.find(name)
        if place is None:
            return self._count_other(name, times)
        path, inner = place
        if not inner:
            return 0 if self._runs_file(path) else times
        unit = self.old.units(path).get(inner)
        if unit is None:
            return self._count_inherited(name, times, place)
        if inner in self.new.units(path):
            kept = (path, inner) in self.running and _runs_as_one(unit, self.new.units(path)[inner])
            return 0 if kept else times
        if self._is_asked(place):
            return 0
        places = self.review.replacements.get(place, ())
        if not places:
            self.unknown[name] += times
            return 0
        return self._count_unreplaced(unit, places, times)

    def _is_asked(self, place: TestPlace) -> bool:
        """Does the goal ask for the removal of what it tests?"""
        return format_test_id(*place) in self.review.parametrized.removed

    # -------------------------------------------------------------- tests with a place

    def _count_unreplaced(self, unit: CodeUnit, places: Collection[TestPlace], times: int) -> int:
        for place in places:
            other = self.new.units(place[0]).get(place[1])
            runs = [*self._running_as(place)]
            if runs and other is not None and _runs_as_one(unit, other):
                return 0
            for one in runs:
                taken = min(times, self.gained[one])
                self.gained[one] -= taken
                times -= taken
        return times

    def _running_as(self, place: TestPlace) -> Iterator[TestPlace]:
        """The test itself, or those that subclasses inherit from its class."""
        if place in self.running:
            yield place
            return
        bare = place[1].rpartition(".")[2]
        for path, inner in self.running:
            inherits = "." in inner and inner not in self.new.units(path)
            if inherits and inner.rpartition(".")[2] == bare and self.gained[path, inner]:
                yield path, inner

    def _runs_file(self, path: str) -> bool:
        """Does a test of this file run, which did not load before, or one that replaces it?"""
        files, tests = {path}, [*self.old.units(path), *self.new.units(path)]
        tests = [name for name in tests if name.rpartition(".")[2].startswith("test")]
        for (old, _), places in self.review.replacements.items():
            files |= {place for place, _ in places} if old == path else set()
        if not tests or any(file in files for file, _ in self.running):
            return True
        are_asked = (self._is_asked((path, name)) for name in tests)
        return path not in self.new.files.paths and all(are_asked)

    def _count_inherited(self, name: str, times: int, place: TestPlace) -> int:
        """The code of the test is in another file, or it is made when its file is loaded."""
        if self._is_asked(place):
            return 0
        path = place[0]
        if self._is_unchanged(path) and not self.tests.is_guard:
            for one in self.running:
                taken = min(times, self.gained[one]) if one[0] == path else 0
                self.gained[one] -= taken
                times -= taken
            return times
        self.unknown[name] += times
        return 0

    def _is_unchanged(self, path: str) -> bool:
        return path in self.new.files.paths and self.old.files.text(path) == self.new.files.text(
            path
        )

    # -------------------------------------------------------------- tests without a place

    def _count_other(self, name: str, times: int) -> int:
        """A title that its file still declares has to run; a new title there may replace it."""
        if self.review.parametrized.names & set(_WORDS.findall(name)):
            return 0
        declared = self.old.declarations(name)
        if not declared:
            return self._count_undeclared(name, times)
        if followed := self._follow(declared):
            return self._take_fresh(times, lambda one: followed & self.new.declarations(one))
        kept = declared & self.new.declarations(name)
        if kept and all(is_template(title) for _, title in kept):
            return self._take_fresh(times, lambda one: kept & self.new.declarations(one))
        # Without its file a name may mean several tests.
        missing = min(times, max(0, len(kept) - self.now[name]))
        if missing and self._has_no_new_namesake(kept):
            title = _last_title(name)
            times = self._take_fresh(
                times, lambda one: _last_title(one) == title and kept & self.new.declarations(one)
            )
            missing = min(times, missing)
        files = {path for path, _ in declared}
        left = self._take_fresh(
            times - missing, lambda one: any(p in files for p, _ in self.new.declarations(one))
        )
        self.unknown[name] += left
        return missing

    def _has_no_new_namesake(self, places: Collection[TestPlace]) -> bool:
        """May a test of this title be nothing but the old one, in another group?"""
        return all(
            self.new.count_declarations(place) <= self.old.count_declarations(place)
            for place in places
        )

    def _follow(self, declared: Collection[TestPlace]) -> frozenset[TestPlace]:
        """The titles that these have now, by a rename that the goal asks for."""
        now = self.review.parametrized.followed
        ids = (now.get("::".join(place), "") for place in declared)
        return frozenset((path, title) for path, _, title in (i.partition("::") for i in ids if i))

    def _count_undeclared(self, name: str, times: int) -> int:
        """A title that failed and that no file declares may be a file that did not load, or contain
        what the program returned: then only the number of tests tells something.
        """
        if name in self.old.files.paths and name in self.new.files.paths:
            runs = (place for one in self.now for place in self.new.declarations(one))
            return 0 if any(path == name for path, _ in runs) else times
        if name not in self.tests.failed_before:
            self.unknown[name] += times
        return 0

    def _take_fresh(self, times: int, fits: Callable[[str], object]) -> int:
        """How many cases are left when new tests replace the others; each counts once."""
        for one in [*self.fresh] if times else ():
            if self.fresh[one] and fits(one):
                taken = min(times, self.fresh[one])
                self.fresh[one] -= taken
                times -= taken
        return times

    def _unreplaced(self) -> Mapping[str, int]:
        names, new = [*self.unknown.elements()], [*self.fresh.elements()]
        return Counter(vanished_tests(new, names, strict=self.tests.is_guard))


def _last_title(name: str) -> str:
    """The title of a test without its groups."""
    return name.rpartition(" > ")[2]


def _runs_as_one(old: CodeUnit, new: CodeUnit) -> bool:
    """Does the new test make all assertions of the old one whenever it runs?"""
    is_table = any(one.kind is AssertionKind.ROW for one in old.assertions)
    wanted = table_forms(old) if is_table else _forms(old)
    if is_table:
        return bool(wanted) and wanted <= loop_forms(new)
    return bool(wanted) and wanted <= _forms(new) | loop_forms(new)


def _forms(unit: CodeUnit) -> frozenset[object]:
    if any("parametrize" in one for one in unit.decorators):
        return frozenset()
    kinds = (AssertionKind.ROW,)
    return frozenset(form_of_text(one.text) for one in unit.assertions if one.kind not in kinds)
