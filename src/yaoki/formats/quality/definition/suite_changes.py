"""Python tests and helpers before and after a change: gone, moved, muted, or not collected."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field
from functools import cache

from yaoki.core.lazy_dataclass import dataclass, replace
from yaoki.core.lazy_pattern import lazy_compile
from yaoki.core.model import FindingItem
from yaoki.core.model.change import Change
from yaoki.core.model.check_definition import ParametrizedTests, TestPlace, format_test_id
from yaoki.formats.quality.definition.comparison import (
    Coverage,
    Judgement,
    compare_modules,
    compare_units,
    compare_values,
    coverage_of,
    find_swapped_imports,
)
from yaoki.formats.quality.definition.equivalence import form_of_text, loop_forms
from yaoki.formats.quality.definition.file_index import FileIndex
from yaoki.formats.quality.definition.product import Product
from yaoki.formats.quality.definition.program_names import AskedRename
from yaoki.formats.quality.definition.references import module_paths
from yaoki.formats.quality.definition.removed_subjects import RemovedSubject
from yaoki.formats.quality.definition.renamed_names import renamed_title
from yaoki.formats.quality.definition.roles import is_support
from yaoki.formats.quality.definition.units import MODULE, CodeUnit, PythonSource, parse_source
from yaoki.formats.quality.integrity import TEST_LOST
from yaoki.formats.quality.suites import is_collected_path

UNCOLLECTED = "no runner collects it any more"
# Test cases override these as a matter of course.
_OVERRIDDEN = frozenset(
    {
        *("setUp", "tearDown", "setUpClass", "tearDownClass", "id", "shortDescription", "maxDiff"),
        *("longMessage", "failureException"),
    }
)
_CASE = lazy_compile(r"(?:^|\.)\w*TestCase$|Tests?$|TestSuite$")


@dataclass(slots=True)
class SuiteChanges:
    """All changed Python test files together, because a test may move from one to another.

    `explained_tests`: tests that are gone because the goal asks to remove what they test.
    `replacements`: the tests that have the assertions of one that is gone from its place.
    `followed_tests`: tests under another name or in another file, and `removed_tests`, each by its
    file and name.
    """

    old: dict[str, PythonSource] = field(default_factory=dict)
    new: dict[str, PythonSource] = field(default_factory=dict)
    judgements: dict[str, Judgement] = field(default_factory=dict)
    folded_tests: dict[str, tuple[str, str]] = field(default_factory=dict)
    explained_tests: set[str] = field(default_factory=set)
    replacements: dict[TestPlace, tuple[TestPlace, ...]] = field(default_factory=dict)
    followed_tests: dict[TestPlace, TestPlace] = field(default_factory=dict)
    removed_tests: set[TestPlace] = field(default_factory=set)
    renames: Sequence[AskedRename] = ()
    removed_subjects: Sequence[RemovedSubject] = ()
    goal: str = ""
    _product: Product | None = None
    _candidate: FileIndex | None = None
    _helpers: Mapping[str, CodeUnit] = field(default_factory=dict)
    _taken: set[TestPlace] = field(default_factory=set)
    _moves: set[tuple[str, str]] = field(default_factory=set)

    def add(self, change: Change) -> None:
        self.old[change.path] = parse_source(change.before or "")
        self.new[change.path] = parse_source(change.after or "")
        self.judgements[change.path] = Judgement()

    def judge(
        self,
        candidate: FileIndex,
        commands: Sequence[str],
        product: Product | None = None,
    ) -> Mapping[str, Judgement]:
        """`product`: knows the goal of the task."""
        if product is not None:
            self.goal = product.goal
        self._product, self._candidate = product, candidate
        self._helpers = dict(self._new_helpers())
        for path, source in self.old.items():
            judgement, now = self.judgements[path], self.new[path]
            for name, unit in source.units.items():
                self._unit(path, name, unit, commands)
            compare_values(self._without_removed(path), now, path, judgement)
            if now.units:
                compare_modules(source, now, judgement)
            self._classes(path, judgement)
        for path, source in self.new.items():
            added = source.units.keys() - self.old[path].units.keys()
            self.judgements[path].is_unsure |= any(map(_takes_over, added))
        for path, place in sorted({*self._moves, *((path, path) for path in self.old)}):
            for _, before, after in find_swapped_imports(self.old[path], self.new[place]):
                self.judgements[place].is_unsure |= not _is_renamed(before, after, place, candidate)
        return self.judgements

    def _unit(self, path: str, name: str, unit: CodeUnit, commands: Sequence[str]) -> None:
        judgement, bare = self.judgements[path], name.rpartition(".")[2]
        test = bare.startswith("test") and self._is_collected(self.old, path, name)
        now = self._find_renamed(path, unit) or self.new[path].units.get(name)
        place = path
        if now is None and name != MODULE:
            place, now = self._find_moved(path, name, unit)
            if now is not None:
                self.replacements[path, name] = ((place, now.name),)
        if now is not None:
            is_collected = self._is_collected(self.new, place, now.name) and _in_reach(
                path, place, commands
            )
            if test and not is_collected:
                judgement.items.append(FindingItem(bare, UNCOLLECTED, path))
            elif test and (place, now.name) != (path, name):
                self.followed_tests[path, name] = (place, now.name)
            compare_units(unit, now, path, judgement, self.goal, self._helpers)
        elif test:
            self._judge_removed(path, unit)
        elif name != MODULE and not test:
            judgement.is_unsure |= self._is_still_used(path, bare, unit)

    def _new_helpers(self) -> Iterator[tuple[str, CodeUnit]]:
        for path, source in self.new.items():
            for name, unit in source.units.items():
                bare = name.rpartition(".")[2]
                if name not in self.old[path].units and not bare.startswith("test"):
                    yield bare, unit

    def _find_renamed(self, path: str, unit: CodeUnit) -> CodeUnit | None:
        """The same test under a new name, while another one of the file has its old name.

        Of two tests with one name only the second runs, until it gets a name of its own.
        """
        now = self.new[path].units.get(unit.name)
        if now is None or unit.name == MODULE or now.shape == unit.shape or not unit.assertions:
            return None
        owner, _, bare = unit.name.rpartition(".")
        for name, other in self.new[path].units.items():
            is_test = name.rpartition(".")[2].startswith("test") and bare.startswith("test")
            is_new = name not in self.old[path].units and name.rpartition(".")[0] == owner
            if is_test and is_new and other.shape == unit.shape:
                return other
        return None

    def _find_moved(self, path: str, name: str, unit: CodeUnit) -> tuple[str, CodeUnit | None]:
        """The unit of that name that is new: in this file first, then in others."""
        bare = name.rpartition(".")[2]
        names = {bare, renamed_title(bare, self.renames)}
        candidates = [
            (place, other)
            for place in (path, *(p for p in self.new if p != path))
            for other in self.new[place].units.values()
            if other.name.rpartition(".")[2] in names
            and other.name not in self.old[place].units
            and (place, other.name) not in self._taken
        ]
        texts = {a.text for a in unit.assertions}
        candidates.sort(key=lambda pair: -len(texts & {a.text for a in pair[1].assertions}))
        for place, other in candidates[:1]:
            self._taken.add((place, other.name))
            self._moves.add((path, place))
            return place, other
        return path, None

    def _judge_removed(self, path: str, unit: CodeUnit) -> None:
        """A test of that name is gone: does another test assert everything that it did?"""
        name = unit.name.rpartition(".")[2]
        covering = {one: coverage_of(unit, other) for one, other in self._new_or_changed()}
        verdicts = {verdict: one for one, verdict in covering.items()}
        self.replacements[path, unit.name] = tuple(
            one for one, verdict in covering.items() if verdict is not Coverage.LOST
        )
        if Coverage.KEPT in verdicts:
            self.followed_tests[path, unit.name] = verdicts[Coverage.KEPT]
            self._record_folded(name, unit)
        elif self._is_removal_asked(path) or self._is_about_removed(path, unit):
            self.explained_tests.add(name)
            self.removed_tests.add((path, unit.name))
        elif Coverage.UNSURE in verdicts:
            self.judgements[path].is_unsure = True
        else:
            self.judgements[path].items.append(FindingItem(name, TEST_LOST, path))

    def _is_about_removed(self, path: str, unit: CodeUnit) -> bool:
        source = self.old[path]
        return any(one.covers(path, unit, source) for one in self.removed_subjects)

    def _without_removed(self, path: str) -> PythonSource:
        """The tests of the base that are still needed: tables of removed ones may go with them."""
        source = self.old[path]
        gone = {name for place, name in self.removed_tests if place == path}
        units = {name: unit for name, unit in source.units.items() if name not in gone}
        return replace(source, units=units) if gone else source

    def _is_removal_asked(self, path: str) -> bool:
        if self._product is None or self._candidate is None:
            return False
        return self._product.asks_to_remove_subject(path, self._candidate)

    def _record_folded(self, name: str, unit: CodeUnit) -> None:
        """A runner counts the cases of a loop as one test, although all of them are checked."""
        forms = {form_of_text(a.text) for a in unit.assertions}
        for one, other in self._new_or_changed():
            if forms <= loop_forms(other):
                self.folded_tests[name] = one
                return

    def _new_or_changed(self) -> Iterator[tuple[tuple[str, str], CodeUnit]]:
        """The tests that are new or changed, each with its file and name."""
        for place, source in self.new.items():
            for other in source.units.values():
                known = self.old[place].units.get(other.name)
                is_changed = known is None or known.text != other.text
                test = other.name.rpartition(".")[2].startswith("test")
                if is_changed and test and self._is_collected(self.new, place, other.name):
                    yield (place, other.name), other

    def count_folded_tests(self) -> ParametrizedTests:
        """The tests that are gone for a reason, and how many new tests contain them."""
        new = {
            (place, name)
            for place, name in self.folded_tests.values()
            if name not in self.old[place].units
        }
        names = frozenset(self.folded_tests) | self.explained_tests
        followed = {
            format_test_id(*old): format_test_id(*now)
            for old, now in sorted(self.followed_tests.items())
        }
        removed = frozenset(format_test_id(*one) for one in self.removed_tests)
        return ParametrizedTests(names, len(new), followed, removed)

    def _is_still_used(self, path: str, name: str, unit: CodeUnit) -> bool:
        """Is a helper gone whose name is still used?"""
        if not unit.assertions:
            return False
        used = re.compile(rf"\b{re.escape(name)}\b")
        return any(used.search(u.text) for s in self.new.values() for u in s.units.values())

    # -------------------------------------------------------------- collection

    def _is_collected(self, sources: Mapping[str, PythonSource], path: str, name: str) -> bool:
        """Does a runner find it: a function, or a method of a test case or its base?"""
        owner, _, _ = name.rpartition(".")
        if not owner:
            return True
        return any(self._is_case(sources, one) for one in _subclasses(sources, path, owner))

    @staticmethod
    def _is_case(sources: Mapping[str, PythonSource], pair: tuple[str, str]) -> bool:
        path, name = pair
        bare = name.rpartition(".")[2]
        named = bare.startswith("Test") and f"{name}.__init__" not in sources[path].units
        return named or any(_CASE.search(base) for base in _ancestors(sources, path, name))

    def _classes(self, path: str, judgement: Judgement) -> None:
        """`__test__ = False` and similar exclude a whole class or file."""
        now, before = self.new[path].values, self.old[path].values
        for name, value in now.items():
            bare = name.rpartition(".")[2]
            off = bare in ("__test__", "__unittest_skip__") and value != before.get(name)
            if off and value and value[0].text in ("False", "True"):
                judgement.items.append(FindingItem(name, UNCOLLECTED, path))


def _takes_over(name: str) -> bool:
    """A method with a name of unittest itself: the tests depend on it."""
    owner, _, bare = name.rpartition(".")
    return bool(owner) and bare in _test_case_methods()


@cache
def _test_case_methods() -> frozenset[str]:
    """Methods that a test case inherits, and that an override can disable."""
    import unittest  # slow to import

    names = (name for name in dir(unittest.TestCase) if not name.startswith("__"))
    return frozenset(names) - _OVERRIDDEN


def _subclasses(
    sources: Mapping[str, PythonSource], path: str, name: str
) -> Iterator[tuple[str, str]]:
    """The class itself and every class that inherits from it, by the last part of their names."""
    todo, seen = [(path, name)], set()  # type: list[tuple[str, str]], set[tuple[str, str]]
    while todo and len(seen) < 200:
        one = todo.pop()
        if one in seen:
            continue
        seen.add(one)
        yield one
        bare = one[1].rpartition(".")[2]
        for place, source in sources.items():
            todo += [(place, subclass) for subclass, bases in source.bases.items() if bare in bases]


def _ancestors(sources: Mapping[str, PythonSource], path: str, name: str) -> Iterator[str]:
    todo, seen = list(sources[path].bases.get(name, ())), set()  # type: list[str], set[str]
    while todo and len(seen) < 200:
        base = todo.pop()
        if base not in seen:
            seen.add(base)
            yield base
            todo += sources[path].bases.get(base, ())


def _in_reach(before: str, after: str, commands: Sequence[str]) -> bool:
    """May a runner that found the one file find the other?"""
    stem = after.removesuffix(".py")
    is_named = any(after in text or stem.replace("/", ".") in text for text in commands)
    return before == after or is_named or is_collected_path(after) or not is_collected_path(before)


def _is_renamed(before: str, after: str, path: str, candidate: FileIndex) -> bool:
    """Is this the same thing under a new name, rather than a replacement?"""
    is_removed = not any(_files_of(before, path, candidate))
    files = list(_files_of(after, path, candidate))
    return is_removed and bool(files) and not any(is_support(one) for one in files)


def _files_of(name: str, path: str, files: FileIndex) -> Iterator[str]:
    bare = name.lstrip(".")
    for way in (bare, bare.rpartition(".")[0]):
        if way:
            yield from module_paths(way, path, files)
