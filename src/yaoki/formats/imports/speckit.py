"""Reads spec-kit's tasks.md: `- [ ] T012 [P] [US1] text`, in phases.

Phases wait for each other, but user stories wait only for the phases before the first story.  In a
phase a task waits for those before it; neighbours marked `[P]` do not wait for each other.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import field

from yaoki.core.lazy_dataclass import dataclass, replace
from yaoki.core.lazy_pattern import lazy_compile
from yaoki.formats.imports.checkboxes import Checkbox, ChecklistDocument, flatten, read_checkboxes
from yaoki.formats.imports.model import (
    ImportedList,
    ImportedPhase,
    ImportedTask,
    ImportOptions,
    join_paragraphs,
    make_slug,
)

NAME = "spec-kit"
TASK = lazy_compile(r"\[?(T\d{1,6}[a-z]?)\]?[ \t]+(.*)")
_LABEL = lazy_compile(r"\[(P|US\d{1,4})\][ \t]*")
_DEPENDS = lazy_compile(
    r"\((?:depends|dependent) on ([^)]{1,300})\)"
    r"|\bdepends on:?[ \t]{1,4}((?:T\d{1,6}[a-z]?(?:,| and|)[ \t]{0,4}){1,50})",
    re.IGNORECASE,
)
_ID = lazy_compile(r"\bT\d{1,6}[a-z]?\b")
_RANGE = lazy_compile(r"\bT(\d{1,6})[ \t]*(?:-|–|\.\.|to|through)[ \t]*T(\d{1,6})\b")
_STORY = lazy_compile(r"user story|\bUS\d", re.IGNORECASE)
_SECTION_LINE = lazy_compile(
    r"\*\*(Goal|Purpose|Independent Test|Checkpoint|Acceptance[^*]{0,40})\*\*:?[ \t]*(.*)",
    re.IGNORECASE,
)
RANGE_MAX = 1_000


@dataclass(slots=True)
class _SpeckitPhase:
    """A phase: its tasks in order, each with its sub-heading."""

    title: str
    is_story: bool
    description: str
    tasks: list[tuple[ImportedTask, bool, str]] = field(default_factory=list)
    id: str = ""


def looks_like(text: str) -> bool:
    return bool(re.search(r"^[ \t]*[-*][ \t]+\[[ xX]\][ \t]+\[?T\d+\b", text, re.MULTILINE))


def read_speckit(text: str, result: ImportedList, _: ImportOptions) -> None:
    sheet = read_checkboxes(text, result)
    if sheet is None:
        return
    result.goal = re.sub(r"^tasks?[ \t]*:[ \t]*", "", sheet.title, flags=re.IGNORECASE)
    done: set[str] = set()
    parts = _parts(sheet, result, done)
    _order(parts, result, done)


def _parts(sheet: ChecklistDocument, result: ImportedList, done: set[str]) -> list[_SpeckitPhase]:
    parts: dict[tuple[tuple[int, str], ...], _SpeckitPhase] = {}
    lines_by_id: dict[str, int] = {}
    for box in _numbered(sheet.boxes, result):
        match = TASK.fullmatch(box.words)
        assert match
        if match[1] in lines_by_id:
            result.add_unreadable(
                box.line, f"{match[1]} is already in line {lines_by_id[match[1]]}"
            )
        else:
            lines_by_id[match[1]] = box.line
            _take(box, match, parts, result, sheet, done)
    return list(parts.values())


def _numbered(boxes: Sequence[Checkbox], result: ImportedList) -> Iterator[Checkbox]:
    """The boxes with a number; boxes without one below them are their steps."""
    for box in boxes:
        if TASK.fullmatch(box.words) is None:
            result.add_unreadable(box.line, f"a box without a number (T001): {box.words[:80]}")
            yield from _numbered(box.children, result)
            continue
        steps = [one for one in flatten(box.children) if TASK.fullmatch(one.words) is None]
        if box.done:
            for one in steps:
                result.add_skipped(
                    one.words[:120], one.line, f"a step of {box.words[:40]}, which is done"
                )
        box.lines_below += [f"- [{'x' if one.done else ' '}] {one.words}" for one in steps]
        yield box
        yield from (one for one in flatten(box.children) if one not in steps)


def _take(
    box: Checkbox,
    match: re.Match[str],
    parts: dict[tuple[tuple[int, str], ...], _SpeckitPhase],
    result: ImportedList,
    sheet: ChecklistDocument,
    done: set[str],
) -> None:
    labels, words = _labels(match[2])
    heads = tuple(head for head in box.headings if head[0] <= 2)
    title = heads[-1][1] if heads and heads[-1][0] == 2 else ""
    is_story = bool(_STORY.search(title)) or (not title and any(one != "P" for one in labels))
    part = parts.setdefault(heads, _SpeckitPhase(title, is_story, _describe_section(heads, sheet)))
    if box.done:
        done.add(match[1])
        result.add_skipped(f"{match[1]} {words}"[:120], box.line, "done")
        return
    head = box.headings[-1][1] if box.headings and box.headings[-1][0] > 2 else ""
    about = " — ".join(one for one in (part.title, head) if one)
    goal = join_paragraphs(
        words, box.details, f"Part of: {about}" if about else "", part.description
    )
    item = ImportedTask(match[1], goal, box.line, needs=tuple(_find_names(box.words, match[1])))
    part.tasks.append((item, "P" in labels, head))


def _labels(words: str) -> tuple[list[str], str]:
    """`[P] [US1] text`: the labels, and the text without them."""
    labels = []
    while match := _LABEL.match(words):
        labels.append(match[1])
        words = words[match.end() :]
    return labels, words.strip()


def _find_names(words: str, own: str) -> Iterator[str]:
    """The tasks that the text names as dependencies."""
    for match in _DEPENDS.finditer(words):
        names_text = match[1] or match[2]
        for first, last in _RANGE.findall(names_text):
            size = len(first)
            for number in range(int(first), min(int(last), int(first) + RANGE_MAX) + 1):
                yield f"T{number:0{size}d}"
        yield from (name for name in _ID.findall(names_text) if name != own)


def _describe_section(heads: tuple[tuple[int, str], ...], sheet: ChecklistDocument) -> str:
    """Goal, independent test and checkpoint of a phase."""
    below = (prose_lines for at, prose_lines in sheet.prose.items() if at[: len(heads)] == heads)
    lines = [line.text.strip() for prose_lines in below for line in prose_lines]
    matches = [_SECTION_LINE.fullmatch(line) for line in lines]
    return "\n".join(
        f"{match[1]}: {match[2].strip()}" for match in matches if match and match[2].strip()
    )


# ------------------------------------------------------------------ order


def _order(parts: Sequence[_SpeckitPhase], result: ImportedList, done: set[str]) -> None:
    open_ = [part for part in parts if part.tasks]
    used: set[str] = set()
    for number, part in enumerate(open_, start=1):
        part.id = make_slug(part.title, used, f"phase-{number}")
    phased = len(open_) > 1
    for at, part in enumerate(open_):
        if phased:
            result.phases.append(ImportedPhase(part.id, part.title, tuple(_before(open_, at))))
        result.items += _chained(part, part.id if phased else "")
    known = {item.id for item in result.items}
    result.items = [_known(item, known, done, result) for item in result.items]


def _before(parts: Sequence[_SpeckitPhase], at: int) -> Iterator[str]:
    """A story waits for the phase before the stories; any other phase waits for all phases since
    the last one that is no story.
    """
    for earlier in reversed(parts[:at]):
        if parts[at].is_story and earlier.is_story:
            continue
        yield earlier.id
        if not earlier.is_story:
            return


def _chained(part: _SpeckitPhase, phase: str) -> Iterator[ImportedTask]:
    """Neighbours marked [P] under one heading form a batch; each batch waits for the one before."""
    batches: list[tuple[bool, str, list[ImportedTask]]] = []
    for item, parallel, head in part.tasks:
        if parallel and batches and batches[-1][0] and batches[-1][1] == head:
            batches[-1][2].append(item)
        else:
            batches.append((parallel, head, [item]))
    before: tuple[str, ...] = ()
    for _, _, items in batches:
        for item in items:
            yield replace(item, needs=tuple(dict.fromkeys((*before, *item.needs))), phase=phase)
        before = tuple(item.id for item in items)


def _known(
    item: ImportedTask, known: set[str], done: set[str], result: ImportedList
) -> ImportedTask:
    """Drop needs that are done; report needs that are unknown."""
    for name in item.needs:
        if name not in known and name not in done:
            result.add_unreadable(item.line, f"{item.id} needs {name}, which is not in this list")
    return replace(item, needs=tuple(name for name in item.needs if name in known))
