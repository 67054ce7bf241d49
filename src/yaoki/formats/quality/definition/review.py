"""Reviews what a change does to the definition of the checks: certainly weaker, or undecided.

A file is judged by its role: tests and helpers by their assertions, recipes by what their goals
run, settings by whether they check less, scripts by whether they can still fail, expected files by
whether everything expected still is.  An effect that cannot be read from the text is undecided: the
check must then also pass with the base's version of the file.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field

from yaoki.core.lazy_dataclass import dataclass
from yaoki.core.model import CheckSpec, FindingItem
from yaoki.core.model.change import Change
from yaoki.core.model.check_definition import DefinitionReview, TreeView
from yaoki.core.scope import is_in_scope
from yaoki.formats.quality import integrity, loosened_settings
from yaoki.formats.quality.definition import plugins, pytest_settings, recipes, settings
from yaoki.formats.quality.definition.c_macros import find_replaced_macros
from yaoki.formats.quality.definition.case_tables import CaseTables
from yaoki.formats.quality.definition.comparison import Judgement
from yaoki.formats.quality.definition.displaced_files import find_displacing_files
from yaoki.formats.quality.definition.examiner_settings import may_examine_less
from yaoki.formats.quality.definition.file_changes import FileChanges
from yaoki.formats.quality.definition.file_index import FileIndex
from yaoki.formats.quality.definition.import_hooks import find_hiding_files
from yaoki.formats.quality.definition.inner_tests import find_inner_tests
from yaoki.formats.quality.definition.listed_data import find_listed_data
from yaoki.formats.quality.definition.node_modules import find_new_packages
from yaoki.formats.quality.definition.node_names import find_redirecting_manifests
from yaoki.formats.quality.definition.optional_files import find_optional_files
from yaoki.formats.quality.definition.product import Product
from yaoki.formats.quality.definition.program_comparisons import judge_comparisons
from yaoki.formats.quality.definition.program_names import ProgramNames
from yaoki.formats.quality.definition.pytest_settings import find_equal_settings
from yaoki.formats.quality.definition.reach import find_reached_files
from yaoki.formats.quality.definition.reached_files import FileRole, ReachedFiles
from yaoki.formats.quality.definition.recipe_changes import find_recipe_changes
from yaoki.formats.quality.definition.removed_subjects import RemovedSubject
from yaoki.formats.quality.definition.renamed_names import with_asked_names
from yaoki.formats.quality.definition.roles import (
    is_data,
    is_expected,
    is_in_test_folder,
    is_product_data,
    is_support,
)
from yaoki.formats.quality.definition.search_path import find_redirecting_files
from yaoki.formats.quality.definition.shapes import compare_shapes, judge_new_file
from yaoki.formats.quality.definition.suite_changes import SuiteChanges
from yaoki.formats.quality.definition.tools import CONFIGURED, IGNORES
from yaoki.formats.quality.definition.unexamined_files import hides_files
from yaoki.formats.quality.definition.units import PythonSource, parse_source
from yaoki.formats.quality.inherited_tests import find_lost_inherited_tests
from yaoki.formats.quality.strictness import FEWER
from yaoki.formats.quality.suites import is_collected_path, is_test_path

ITEMS_MAX = 200


def review_definition(
    checks: Sequence[CheckSpec],
    changes: Sequence[Change],
    base: TreeView,
    candidate: TreeView,
    *,
    scope: Sequence[str],
    allow_weaker_tests: bool,
    goal: str = "",
) -> DefinitionReview:
    """`goal` is the text of the task: a program that it names is the subject of the task."""
    one = _Review(checks, base, candidate, tuple(scope), goal)
    one.judge(changes)
    allowed = tuple(scope) if allow_weaker_tests else ()
    return one.verdict(allowed)


def _may_serve(path: str) -> bool:
    if is_in_test_folder(path) or is_expected(path):
        return not path.endswith(".py") or not is_collected_path(path)
    return not is_product_data(path) and (
        is_data(path) or (is_support(path) and not is_test_path(path))
    )


def _filters(text: str) -> set[str]:
    """The filters and encodings in git attributes; the filter for large files only provides
    content.
    """
    return set(re.findall(r"\b(?:filter|working-tree-encoding)=(\S+)", text)) - {"lfs"}


def _find_loosening(change: Change, is_equal: bool) -> str:
    """`is_equal`: apart from the section for pytest, which is as strict as before."""
    if is_equal:
        return loosened_settings.find_loosening_beside(change, pytest_settings.SECTIONS)
    return loosened_settings.find_loosening(change)


@dataclass(slots=True)
class _Review:
    checks: Sequence[CheckSpec]
    base_tree: TreeView
    candidate_tree: TreeView
    scope: tuple[str, ...]
    goal: str
    base: FileIndex = field(init=False)
    candidate: FileIndex = field(init=False)
    before: ReachedFiles = field(init=False)
    after: ReachedFiles = field(init=False)
    product: Product = field(init=False)
    files: FileChanges = field(init=False)
    items: list[FindingItem] = field(default_factory=list)
    unsure: dict[str, None] = field(default_factory=dict)
    suites: SuiteChanges = field(default_factory=SuiteChanges)
    tables: CaseTables = field(default_factory=CaseTables)
    inner_suites: set[str] = field(default_factory=set)
    # Files whose section for pytest is compared with the one that pytest read before.
    equal_settings: frozenset[str] = frozenset()

    def __post_init__(self) -> None:
        self.base, self.candidate = FileIndex(self.base_tree), FileIndex(self.candidate_tree)
        self.after = find_reached_files(self.checks, self.candidate, tests=False)

    def verdict(self, allowed: tuple[str, ...]) -> DefinitionReview:
        def free(path: str) -> bool:
            return bool(allowed) and is_in_scope(path, allowed)

        weak = tuple(dict.fromkeys(item for item in self.items if not free(item.where)))
        named = {item.where for item in weak}
        unsure = (path for path in self.unsure if path not in named and not free(path))
        folding = self.tables.count_folded_tests(self.suites.count_folded_tests())
        return DefinitionReview(
            weak[:ITEMS_MAX], tuple(sorted(unsure)), folding, self.suites.replacements
        )

    def judge(self, listed: Sequence[Change]) -> None:
        # Data and helpers are found only through the tests, which are slow to read.
        changed = {change.path for change in listed} | self._differing()
        followed = any(path in self.base.paths and _may_serve(path) for path in changed)
        self.before = find_reached_files(self.checks, self.base, tests=followed)
        self.product = Product(self.base, self.before, self.scope, self.goal)
        self.files = FileChanges(self.before, self.after, self.product)
        changes = [*listed, *self._changes_left_out(listed)]
        self.equal_settings = find_equal_settings(changes, self.base, self.candidate)
        self._suites(changes)
        for one in find_recipe_changes(
            self.before, self.after, {change.path for change in changes}, self.candidate
        ):
            self.items += [one.item] if one.item is not None else []
            self.unsure[one.where] = None
        for change in changes:
            self._file(change, changes)
            self._mode(change)
        self._listed_data(changes)
        self._shadows(changes)
        for path in find_optional_files(changes, self.before, self.after, self.product):
            self.unsure[path] = None

    def _differing(self) -> set[str]:
        old, new = self.base_tree.blob_ids, self.candidate_tree.blob_ids
        return {path for path in {*old, *new} if old.get(path) != new.get(path)}

    def _changes_left_out(self, listed: Sequence[Change]) -> Iterator[Change]:
        """Changed files of the definition that `listed` lacks, because it is bounded."""
        known = {change.path for change in listed}
        for path in sorted(self._differing() - known):
            if path in self.base.paths and (is_test_path(path) or path in self.before.roles):
                text = self.candidate.read(path) if path in self.candidate.paths else None
                if text is None and path in self.candidate.paths:
                    words = "it became a link, binary, or too large to be judged"
                    self.items.append(FindingItem(path, words, path))
                    continue
                yield Change(path, self.base.text(path), text, ())

    def _listed_data(self, changes: Sequence[Change]) -> None:
        listed = find_listed_data((change.path for change in changes), self.product)
        for change in changes:
            before, after = change.before or "", change.after
            if change.path not in listed or before == after:
                continue
            asked = (
                self.product.asks_to_remove(change.path)
                if after is None
                else self.product.asks_for(change.path, before, after)
            )
            if not asked:
                self.unsure[change.path] = None

    # -------------------------------------------------------------- tests

    def _suites(self, changes: Sequence[Change]) -> None:
        """Tests are judged together, because a test may move from one file to another."""
        suites = self.suites
        names = ProgramNames(self.goal, self.candidate)
        names.read(changes)
        suites.renames = names.find_renames()
        suites.removed_subjects = [RemovedSubject(one, self.base) for one in names.find_removed()]
        others: list[Change] = []
        changes = [self._with_asked_names(change) for change in changes]
        for change in changes:
            if self._is_suite(change.path) and change.path.endswith(".py"):
                suites.add(change)
            elif is_test_path(change.path) and not is_data(change.path):
                others.append(change)
        inner = list(self._inner_tests(changes))
        for change in inner:
            suites.add(change)
        for path, judgement in self._judge_suites().items():
            judgement.is_unsure &= path not in self.inner_suites
            self._add_judgement(path, judgement)
        tests = [c for c in changes if is_test_path(c.path) and not is_data(c.path)] + inner
        for change in others:
            self.tables.add(change, suites.removed_subjects)
        self.items += [
            item
            for item in integrity.find_lost_tests(changes, others)
            if (item.where, item.name) not in self.tables.explained
        ]
        self.items += find_lost_inherited_tests(tests)
        self.items += integrity.find_emptied_tests(tests)
        self.items += integrity.find_skipped_tests(tests)
        self.items += integrity.find_collection_hooks(tests)
        self.items += integrity.find_unread_tests(tests)
        for change in others:
            if change.before is not None and change.after is not None:
                self._shape(self.tables.without_removed(change, suites.removed_subjects))
            elif change.after is not None:
                judgement = Judgement()
                judge_new_file(change.path, change.after, judgement, self.base)
                self._add_judgement(change.path, judgement)

    def _inner_tests(self, changes: Sequence[Change]) -> Iterator[Change]:
        """The tests in files of the program, apart from a file that the goal asks to remove."""
        for change in find_inner_tests(changes, self.base, self.before.commands):
            is_asked = change.path not in self.candidate.paths and self.product.asks_to_remove(
                change.path
            )
            if not is_asked and not self._is_suite(change.path):
                self.inner_suites.add(change.path)
                yield with_asked_names(change, self.suites.renames)

    def _with_asked_names(self, change: Change) -> Change:
        if not (self._is_suite(change.path) or is_test_path(change.path)):
            return change
        self.tables.follow_titles(change, self.suites.renames)
        return with_asked_names(change, self.suites.renames)

    def _judge_suites(self) -> Mapping[str, Judgement]:
        return self.suites.judge(self.candidate, self.before.commands, self.product)

    def _is_suite(self, path: str) -> bool:
        roles = (self.before.roles.get(path), self.after.roles.get(path))
        if is_test_path(path) or (FileRole.SUPPORT in roles and is_support(path)):
            return True
        # A file beside a script that imports it may be the program under test.
        return FileRole.SUPPORT in roles and not self.product.is_tested(path)

    def _shape(self, change: Change) -> None:
        judgement = Judgement()
        if change.path.endswith((".sh", ".bash", ".bats")):
            self.files.judge_script(change, judgement)
        elif not change.path.endswith(".rs") or "#[test]" in (change.before or ""):
            compare_shapes(
                change.path, change.before or "", change.after or "", judgement, self.base
            )
        # Rust has its tests beside the code, so other lines of the file are the work itself.
        judgement.is_unsure &= not change.path.endswith(".rs")
        self._add_judgement(change.path, judgement)

    # -------------------------------------------------------------- one file

    def _file(self, change: Change, changes: Sequence[Change]) -> None:
        judgement, path = Judgement(), change.path
        after = change.after or ""
        loaded = is_test_path(path) or self._is_plugin(path)
        if path.endswith(".py") and after and (loaded or plugins.may_patch(after)):
            old, new = self._sources(change)
            plugins.judge_replaced_names(path, old, new, self.base, judgement)
            if loaded:
                plugins.judge_plugin(path, old, new, self.base, judgement)
        judge_comparisons(change, self.base, self.goal, judgement)
        for name in find_replaced_macros(change, self.base):
            judgement.items.append(FindingItem(name, plugins.REPLACES, path))
        self._settings(change, judgement)
        judgement.is_unsure |= hides_files(change, self.base, self.candidate, self.before)
        judgement.is_unsure |= may_examine_less(change, self.before)
        if change.before is not None:
            self.files.judge(change, changes, judgement)
        self._add_judgement(path, judgement)

    def _sources(self, change: Change) -> tuple[PythonSource, PythonSource]:
        if change.path in self.suites.old and change.path not in self.inner_suites:
            return self.suites.old[change.path], self.suites.new[change.path]
        return parse_source(change.before or ""), parse_source(change.after or "")

    def _is_plugin(self, path: str) -> bool:
        """Does the runner load it, by the name of its module?"""
        stem = path.rsplit("/", 1)[-1].removesuffix(".py")
        named = rf"-p[ =]{{0,2}}[\w.]*\b{re.escape(stem)}\b"
        if any(stem in text and re.search(named, text) for text in self.before.commands):
            return True
        texts = map(self.base.text, self.base.find_named("conftest.py"))
        listed = rf"pytest_plugins[^\n]*[\"'.]{re.escape(stem)}[\"']"
        return any(stem in text and re.search(listed, text) for text in texts)

    def _settings(self, change: Change, judgement: Judgement) -> None:
        path, before, after = change.path, change.before or "", change.after or ""
        makes = path.rsplit("/", 1)[-1] in recipes.MAKEFILES
        followed = makes and self.before.roles.get(path) is FileRole.RECIPE
        is_equal = path in self.equal_settings
        words = "" if followed else _find_loosening(change, is_equal)
        if change.before is None:
            hidden, surely = settings.find_displaced_settings(
                path, after, self.base, but_pytest=is_equal
            )
            words = words or (settings.PLACE.format(hidden) if surely else "")
            judgement.is_unsure |= bool(hidden) or (
                loosened_settings.knows_settings(path) and settings.loads_code(after)
            )
        if not is_equal and settings.leaves_tests_out(path, before, after, self.base):
            words = settings.FEWER
        if settings.brings_plugin(path, before, after):
            words = settings.PLUGIN
        if IGNORES.search(path) and not set(after.split()) <= set(before.split()):
            words = FEWER
        if path.rsplit("/", 1)[-1] == ".gitattributes" and _filters(after) - _filters(before):
            words = "files are changed by a filter or an encoding when they are checked out"
        if words:
            judgement.items.append(FindingItem(path, words, path))
        elif CONFIGURED.search(path) and before != after:
            judgement.is_unsure |= bool(before) or "babel" in path

    # -------------------------------------------------------------- modes and shadows

    def _mode(self, change: Change) -> None:
        lost = change.mode_before.endswith("755") and change.mode_after.endswith("644")
        role = self.before.roles.get(change.path)
        if lost and (change.path in self.before.started_files or role is FileRole.SCRIPT):
            words = "it lost its execute bit, so it is not run"
            self.items.append(FindingItem(change.path, words, change.path))

    def _shadows(self, changes: Sequence[Change]) -> None:
        for path in plugins.find_idle_targets(self.before.targets, self.base, self.candidate):
            self.unsure[path] = None
        searched = {*self.before.searched_folders, *self.after.searched_folders}
        started_in = {*self.before.started_in, *self.after.started_in} - {"."}
        tools = self.before.tools | self.after.tools
        for path, name in plugins.find_shadowing_files(
            self.base, self.candidate, searched | started_in, tools
        ):
            if name:
                self.items.append(FindingItem(path, settings.PLACE.format(name), path))
            elif not self.product.is_named(path, literally=True):
                self.unsure[path] = None
        base, candidate = self.base, self.candidate
        for path in (
            *find_redirecting_files(changes, base, candidate, searched, self._is_loaded),
            *find_displacing_files(base, candidate, self.before.roles),
            *find_hiding_files(changes, base, candidate),
            *find_redirecting_manifests(base, candidate),
            *find_new_packages(base, candidate),
        ):
            self.unsure[path] = None

    def _is_loaded(self, path: str) -> bool:
        """May it be loaded before the tests, or with them?"""
        return is_support(path) or plugins.starts_with_python(path) or self._is_plugin(path)

    def _add_judgement(self, path: str, judgement: Judgement) -> None:
        self.items += judgement.items
        if judgement.is_unsure:
            self.unsure[path] = None
