"""Reads plain Markdown checklists: each open box is a task, in the order of the list.

A box with open boxes below it is only their parent, not a task.  Each task waits for the one before
it, unless the person says that the list has no order.
"""

from __future__ import annotations

import re

from yaoki.core.lazy_pattern import lazy_compile
from yaoki.formats.imports.checkboxes import Checkbox, read_checkboxes
from yaoki.formats.imports.model import (
    ImportedList,
    ImportedTask,
    ImportOptions,
    join_paragraphs,
    make_slug,
)

NAME = "checklist"
_PLAYBOOK = lazy_compile(r"^## (?:meta|goal|phases)[ \t]*$", re.MULTILINE)
_BOX = lazy_compile(r"^[ \t]*(?:[-*+]|\d{1,6}[.)])[ \t]+\[[ xX]\]", re.MULTILINE)


def looks_like(text: str) -> bool:
    return bool(_BOX.search(text))


def is_playbook(text: str) -> bool:
    return len(set(_PLAYBOOK.findall(text))) >= 2


def read_checklist(text: str, result: ImportedList, options: ImportOptions) -> None:
    if is_playbook(text):
        result.add_unreadable(
            1, "this is a playbook, which needs no import: yaoki run takes it as it is"
        )
        return
    sheet = read_checkboxes(text, result)
    if sheet is not None:
        result.goal = sheet.title
        _ChecklistImport(result, options).take(sheet.boxes, ())


class _ChecklistImport:
    """Takes the boxes in the order of the text."""

    def __init__(self, result: ImportedList, options: ImportOptions) -> None:
        self._result, self._options = result, options
        self._taken: set[str] = set()

    def take(self, boxes: list[Checkbox], frames: tuple[Checkbox, ...]) -> None:
        for box in boxes:
            if box.done:
                self._result.add_skipped(box.words[:120], box.line, "done")
                self.take(box.children, (*frames, box))
            elif any(self._open(one) for one in box.children):
                self.take(box.children, (*frames, box))
            else:
                self._item(box, frames)
                self.take(box.children, (*frames, box))

    def _open(self, box: Checkbox) -> bool:
        return not box.done or any(self._open(one) for one in box.children)

    def _item(self, box: Checkbox, frames: tuple[Checkbox, ...]) -> None:
        before = self._result.items[-1:] if not self._options.parallel else []
        heads = [words for level, words in box.headings if level > 1]
        above = " — ".join((*heads, *(frame.words for frame in frames)))
        details = join_paragraphs(*(frame.details for frame in frames))
        part_of = f"Part of: {above}" if above else ""
        goal = join_paragraphs(box.words, box.details, part_of, details)
        name = make_slug(_strip_markup(box.words), self._taken, f"item-{box.line}")
        self._result.items.append(
            ImportedTask(name, goal, box.line, tuple(one.id for one in before))
        )


def _strip_markup(words: str) -> str:
    """The text of links and bold words, without their markup."""
    return re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", words).replace("*", "").replace("`", "")
