"""One file that the base has, judged by its role: script, program, helper, data, settings."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from yaoki.core.model import Item
from yaoki.core.model.change import Change
from yaoki.formats.quality import loosened_settings
from yaoki.formats.quality.definition import data, examples, scripts
from yaoki.formats.quality.definition.comparison import Judgement
from yaoki.formats.quality.definition.product import Product
from yaoki.formats.quality.definition.reached_files import Reach, Role
from yaoki.formats.quality.definition.roles import (
    in_test_folder,
    is_data,
    is_expected,
    is_snapshot,
    language,
)
from yaoki.formats.quality.definition.shapes import compare_shapes
from yaoki.formats.quality.definition.tools import CONFIGURED
from yaoki.formats.quality.suites import is_test, suite_of


@dataclass(frozen=True, slots=True)
class FileChanges:
    before: Reach
    after: Reach
    product: Product

    def judge(self, change: Change, changes: Sequence[Change], judged: Judgement) -> None:
        """Judge a file that the base has."""
        path, role = change.path, self.before.roles.get(change.path)
        if change.after is None:
            self._deleted(change, changes, judged)
        elif role is Role.DECLARED:
            self._declared(change, judged)
        elif is_data(path) and (role is not None or in_test_folder(path) or is_snapshot(path)):
            if (
                not CONFIGURED.search(path)
                and role is not Role.SETTINGS
                and role is not Role.RECIPE
            ):
                self._data(change, judged)
        elif is_test(path):
            return
        elif role in (Role.SCRIPT, Role.PROGRAM):
            self.script(change, judged)
        elif role is Role.SUPPORT and not path.endswith(".py"):
            compare_shapes(path, change.before or "", change.after or "", judged)
            if scripts.lost_verdict(path, change.before or "", change.after):
                judged.items.append(Item(path, "a helper of the check was loosened", path))
        elif role is Role.SETTINGS and not loosened_settings.judges(path):
            judged.unsure |= change.before != change.after

    def _serves(self, path: str) -> bool:
        """Is this data that tests compare with, or may?"""
        found = path in self.before.roles or in_test_folder(path) or is_snapshot(path)
        return found and not CONFIGURED.search(path) and not loosened_settings.judges(path)

    def _deleted(self, change: Change, changes: Sequence[Change], judged: Judgement) -> None:
        """A file that moved is no loss, as long as the check still reaches it."""
        path, role = change.path, self.before.roles.get(change.path)
        lines = scripts.plain_lines(change.before or "")
        for other in changes:
            moved = other.before is None and scripts.plain_lines(other.after or "") == lines
            found = other.path in self.after.roles or is_test(other.path)
            run = path not in self.before.started or other.path in self.after.started
            if moved and found and run:
                return
        # What became of the tests themselves is judged test by test.
        if role is None or not lines or (is_test(path) and suite_of(path, change.before).names):
            return
        if path.endswith(".rs"):
            return
        if role in (Role.DECLARED, Role.DATA) or (is_test(path) and is_data(path)):
            judged.items.append(Item(path, "a file of the tests was deleted", path))
        elif role in (Role.SCRIPT, Role.PROGRAM) and not is_test(path):
            made = path in self.before.started or scripts.makes_verdict(path, change.before or "")
            if made and not self.product.holds(path, change.before or ""):
                judged.items.append(Item(path, "the check's script was deleted or renamed", path))
            judged.unsure = True
        elif role is Role.SUPPORT or is_test(path):
            judged.unsure = True

    def _declared(self, change: Change, judged: Judgement) -> None:
        before, after = change.before or "", change.after or ""
        if data.same(before, after) or is_test(change.path):
            return
        if data.only_more(before, after):
            judged.unsure = True
        else:
            words = "the plan says that it defines a check, and it was changed"
            judged.items.append(Item(change.path, words, change.path))

    def _data(self, change: Change, judged: Judgement) -> None:
        path, before, after = change.path, change.before or "", change.after or ""
        if data.same(before, after):
            return
        own = is_expected(path) or in_test_folder(path)
        if not own and self.product.holds_data(path):
            return
        if is_expected(path) and not data.only_more(before, after):
            judged.items.append(Item(path, data.EDITED, path))
        judged.unsure = True

    def script(self, change: Change, judged: Judgement) -> None:
        path, before, after = change.path, change.before or "", change.after or ""
        if examples.is_documented(path, self.before.commands):
            lost = examples.lost_examples(before, after)
            judged.items += [Item(path, examples.LOST, path)] if lost else []
            return
        old, new = scripts.plain_lines(before), scripts.plain_lines(after)
        if old == new or self.product.holds(path, before):
            return
        judged.unsure = True
        if not scripts.makes_verdict(path, before):
            return
        shell = language(path, before) in ("sh", "")
        changed = shell and not scripts.only_adds(old, new)
        lost = changed or scripts.lost_verdict(path, before, after)
        # What a script sources may make the same verdicts in other words.
        helper = path in self.before.sourced and scripts.holds_verdict(path, after)
        if lost and not helper:
            judged.items.append(Item(path, scripts.SCRIPT, path))
