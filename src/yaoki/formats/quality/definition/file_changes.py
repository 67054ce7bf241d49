"""Judges one changed file of the base by its role: script, program, helper, data, settings."""

from __future__ import annotations

import ast
import json
import re
from collections import Counter
from collections.abc import Sequence
from typing import Any

from yaoki.core.lazy_dataclass import dataclass
from yaoki.core.model import FindingItem
from yaoki.core.model.change import Change
from yaoki.formats.quality import loosened_settings
from yaoki.formats.quality.definition import scripts
from yaoki.formats.quality.definition.comparison import Judgement
from yaoki.formats.quality.definition.product import Product
from yaoki.formats.quality.definition.reached_files import FileRole, ReachedFiles
from yaoki.formats.quality.definition.roles import (
    is_data,
    is_expected,
    is_in_test_folder,
    is_product_data,
    is_snapshot,
    names_expected_result,
    script_language,
)
from yaoki.formats.quality.definition.shapes import compare_shapes
from yaoki.formats.quality.definition.tools import CONFIGURED, PYTEST_SETTINGS
from yaoki.formats.quality.suites import is_test_path, read_file_tests

EXPECTED_CHANGED = (
    "expected results of the tests were changed, and the goal does not ask for it; change the"
    " program instead"
)
EXAMPLE_LOST = "an example of its documentation was removed or changed"
DOCTEST_MODULES = "--doctest-modules"


@dataclass(frozen=True, slots=True)
class FileChanges:
    before: ReachedFiles
    after: ReachedFiles
    product: Product

    def judge(self, change: Change, changes: Sequence[Change], judgement: Judgement) -> None:
        """Judge a file that the base has."""
        path, role = change.path, self.before.roles.get(change.path)
        if change.after is None:
            self._deleted(change, changes, judgement)
        elif role is FileRole.DECLARED:
            self._declared(change, judgement)
        elif is_data(path) and (role is not None or _is_compared(path)):
            if (
                not CONFIGURED.search(path)
                and role is not FileRole.SETTINGS
                and role is not FileRole.RECIPE
            ):
                self._data(change, judgement)
        elif is_test_path(path):
            return
        elif role in (FileRole.SCRIPT, FileRole.PROGRAM):
            self.judge_script(change, judgement)
        elif path.endswith(".py") and self._are_modules_doctested:
            self._examples(change, judgement)
        elif role is FileRole.SUPPORT and not path.endswith(".py"):
            compare_shapes(
                path, change.before or "", change.after or "", judgement, self.product.base
            )
            if scripts.has_lost_verdict(path, change.before or "", change.after):
                judgement.items.append(
                    FindingItem(path, "a helper of the check was loosened", path)
                )
        elif role is FileRole.SETTINGS and not loosened_settings.knows_settings(path):
            judgement.is_unsure |= change.before != change.after

    def _deleted(self, change: Change, changes: Sequence[Change], judgement: Judgement) -> None:
        """A moved file is no loss, as long as the check still reaches it."""
        path, role = change.path, self.before.roles.get(change.path)
        lines = scripts.plain_lines(change.before or "")
        for other in changes:
            is_same_text = other.before is None and scripts.plain_lines(other.after or "") == lines
            is_reached = other.path in self.after.roles or is_test_path(other.path)
            is_started = (
                path not in self.before.started_files or other.path in self.after.started_files
            )
            if is_same_text and is_reached and is_started:
                return
        # The tests themselves are judged one by one.
        if (
            role is None
            or not lines
            or (is_test_path(path) and read_file_tests(path, change.before).names)
        ):
            return
        if path.endswith(".rs"):
            return
        if role is FileRole.DATA and self.product.asks_to_remove(path):
            return
        if role in (FileRole.DECLARED, FileRole.DATA) or (is_test_path(path) and is_data(path)):
            judgement.items.append(FindingItem(path, "a file of the tests was deleted", path))
        elif role in (FileRole.SCRIPT, FileRole.PROGRAM) and not is_test_path(path):
            made_verdict = path in self.before.started_files or scripts.makes_verdict(
                path, change.before or ""
            )
            if made_verdict and not self.product.is_product(path, change.before or ""):
                judgement.items.append(
                    FindingItem(path, "the check's script was deleted or renamed", path)
                )
            judgement.is_unsure = True
        elif role is FileRole.SUPPORT or is_test_path(path):
            judgement.is_unsure = True

    def _declared(self, change: Change, judgement: Judgement) -> None:
        before, after = change.before or "", change.after or ""
        if _is_same_data(before, after) or is_test_path(change.path):
            return
        if _only_extends(before, after):
            judgement.is_unsure = True
        else:
            words = "the plan says that it defines a check, and it was changed"
            judgement.items.append(FindingItem(change.path, words, change.path))

    def _data(self, change: Change, judgement: Judgement) -> None:
        path, before, after = change.path, change.before or "", change.after or ""
        if _is_same_data(before, after):
            return
        own = is_expected(path) or is_in_test_folder(path)
        if not own and self.product.is_product_data(path):
            return
        if own and self.product.asks_for(path, before, after):
            return
        if is_expected(path) and not _only_extends(before, after):
            judgement.items.append(FindingItem(path, EXPECTED_CHANGED, path))
        judgement.is_unsure = True

    def _examples(self, change: Change, judgement: Judgement) -> None:
        if _has_lost_examples(change.before or "", change.after or ""):
            judgement.items.append(FindingItem(change.path, EXAMPLE_LOST, change.path))

    @property
    def _are_modules_doctested(self) -> bool:
        """Does pytest run the examples of every module, by a command or by its settings?"""
        base = self.product.base
        files = (base.text(path) for path in PYTEST_SETTINGS if path in base.paths)
        return any(DOCTEST_MODULES in text for text in (*self.before.commands, *files))

    def judge_script(self, change: Change, judgement: Judgement) -> None:
        path, before, after = change.path, change.before or "", change.after or ""
        if _runs_doctest(path, self.before.commands):
            self._examples(change, judgement)
            return
        old, new = scripts.plain_lines(before), scripts.plain_lines(after)
        if old == new or self.product.is_product(path, before):
            return
        judgement.is_unsure = True
        if not scripts.makes_verdict(path, before):
            return
        shell = script_language(path, before) in ("sh", "")
        changed = shell and not scripts.only_adds(old, new)
        lost = changed or scripts.has_lost_verdict(path, before, after)
        # A sourced script may make the same verdicts in other words.
        helper = path in self.before.sourced_files and scripts.holds_verdict(path, after)
        if lost and not helper:
            judgement.items.append(FindingItem(path, scripts.SCRIPT, path))


# ------------------------------------------------------------------ expected files and lists


def _is_compared(path: str) -> bool:
    """Is it among the tests, or does its name say that a result is compared with it?"""
    named = names_expected_result(path) and not is_product_data(path)
    return named or is_in_test_folder(path) or is_snapshot(path)


def _only_extends(before: str, after: str) -> bool:
    """Is everything that was expected still expected, possibly with additions?"""
    old, new = _json_of(before), _json_of(after)
    if old is not None and new is not None:
        return _contains_all(old, new)
    lines = [Counter(line.rstrip() for line in text.splitlines()) for text in (before, after)]
    return not lines[0] - lines[1]


def _is_same_data(before: str, after: str) -> bool:
    old, new = _json_of(before), _json_of(after)
    return (old is not None and old == new) or before.split() == after.split()


def _json_of(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def _contains_all(old: Any, new: Any) -> bool:
    if isinstance(old, dict) and isinstance(new, dict):
        return all(key in new and _contains_all(value, new[key]) for key, value in old.items())
    if isinstance(old, list) and isinstance(new, list):
        rest = list(new)
        for one in old:
            if one not in rest:
                return False
            rest.remove(one)
        return True
    return bool(old == new)


# ------------------------------------------------------------------ examples in docstrings


def _runs_doctest(path: str, commands: Sequence[str]) -> bool:
    """Does a check run doctest on this file?"""
    named = re.compile(rf"-m doctest\b[^;&|]*(?<![\w/.-]){re.escape(path)}(?![\w/])")
    return any(named.search(text) for text in commands)


def _has_lost_examples(before: str, after: str) -> bool:
    """Is an example gone, or its expected result changed?  Unreadable examples count as lost."""
    texts = [_strings_of_module(text) for text in (before, after)]
    if None in texts:
        texts = [[before], [after]]
    try:
        old, new = (_examples(strings or []) for strings in texts)
    except ValueError:
        return True
    return bool(old - new)


def _strings_of_module(text: str) -> list[str] | None:
    """The strings of a Python module, docstrings included; None if it cannot be parsed.

    In its source the code below a docstring would count as a part of the last expected result.
    """
    try:
        nodes = ast.walk(ast.parse(text))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
    constants = (node.value for node in nodes if isinstance(node, ast.Constant))
    return [value for value in constants if isinstance(value, str)]


def _examples(texts: Sequence[str]) -> Counter[tuple[str, str]]:
    from doctest import DocTestParser  # slow to import

    found = (one for text in texts for one in DocTestParser().get_examples(text))
    return Counter((one.source, one.want) for one in found)
