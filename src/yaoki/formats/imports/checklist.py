"""Plain markdown checklists: each open box a task, in the order of the list.

A box with open boxes below it is their frame and no work of its own.  What stands later waits for
what stands before it, unless the person says that the list has no order.
"""

from __future__ import annotations

import re

from yaoki.formats.imports.boxes import Box, Sheet, read_sheet
from yaoki.formats.imports.model import Asked, Imported, Item, paragraphs, slug

NAME = "checklist"
_PLAYBOOK = re.compile(r"^## (?:meta|goal|phases)[ \t]*$", re.MULTILINE)
_BOX = re.compile(r"^[ \t]*(?:[-*+]|\d{1,6}[.)])[ \t]+\[[ xX]\]", re.MULTILINE)


def looks_like(text: str) -> bool:
    return bool(_BOX.search(text))


def is_playbook(text: str) -> bool:
    return len(set(_PLAYBOOK.findall(text))) >= 2


def read_checklist(text: str, made: Imported, asked: Asked) -> None:
    if is_playbook(text):
        made.lost(1, "this is a playbook, which needs no import: yaoki run takes it as it is")
        return
    sheet = read_sheet(text, made)
    if sheet is not None:
        made.goal = sheet.title
        _Taking(made, asked, sheet).take(sheet.boxes, ())


class _Taking:
    """Goes through the boxes once, in the order of the text."""

    def __init__(self, made: Imported, asked: Asked, sheet: Sheet) -> None:
        self._made, self._asked, self._sheet = made, asked, sheet
        self._taken: set[str] = set()

    def take(self, boxes: list[Box], frames: tuple[Box, ...]) -> None:
        for box in boxes:
            if box.done:
                self._made.leave(box.words[:120], box.line, "done")
                self.take(box.inside, (*frames, box))
            elif any(self._open(one) for one in box.inside):
                self.take(box.inside, (*frames, box))
            else:
                self._item(box, frames)
                self.take(box.inside, (*frames, box))

    def _open(self, box: Box) -> bool:
        return not box.done or any(self._open(one) for one in box.inside)

    def _item(self, box: Box, frames: tuple[Box, ...]) -> None:
        before = self._made.items[-1:] if not self._asked.parallel else []
        heads = [words for level, words in box.heads if level > 1]
        above = " — ".join((*heads, *(frame.words for frame in frames)))
        told = paragraphs(*(frame.details for frame in frames))
        goal = paragraphs(box.words, box.details, f"Part of: {above}" if above else "", told)
        name = slug(_plain(box.words), self._taken, f"item-{box.line}")
        self._made.items.append(Item(name, goal, box.line, tuple(one.id for one in before)))


def _plain(words: str) -> str:
    """Words of a link or in bold, without their signs."""
    return re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", words).replace("*", "").replace("`", "")
