"""The result of an import: tasks, phases, and notes about the rest."""

from __future__ import annotations

import re
from dataclasses import field

from yaoki.core.lazy_dataclass import dataclass

ITEMS_MAX = 10_000
BYTES_MAX = 8 << 20
NAME_CHARS_MAX = 48


@dataclass(frozen=True, slots=True)
class ImportOptions:
    """Options of the import: the list to read, and whether the order of tasks matters."""

    tag: str = ""
    parallel: bool = False
    text_bytes_max: int = 65_536


@dataclass(frozen=True, slots=True)
class ImportedTask:
    """A task of the list; `line` is its line there."""

    id: str
    goal: str
    line: int
    needs: tuple[str, ...] = ()
    priority: int = 0
    phase: str = ""


@dataclass(frozen=True, slots=True)
class SkippedEntry:
    """An entry that does not become a task, and the reason."""

    name: str
    line: int
    reason: str


@dataclass(frozen=True, slots=True)
class ImportedPhase:
    """A phase of tasks that waits for other phases."""

    id: str
    title: str
    needs: tuple[str, ...] = ()


@dataclass(slots=True)
class ImportedList:
    """An imported list.  `unreadable` was not understood, `notes` are for the person."""

    form: str
    name: str
    goal: str = ""
    items: list[ImportedTask] = field(default_factory=list)
    phases: list[ImportedPhase] = field(default_factory=list)
    skipped: list[SkippedEntry] = field(default_factory=list)
    unreadable: list[tuple[int, str]] = field(default_factory=list)
    notes: list[tuple[int, str]] = field(default_factory=list)

    def add_unreadable(self, line: int, why: str) -> None:
        self.unreadable.append((line, why))

    def add_note(self, line: int, words: str) -> None:
        self.notes.append((line, words))

    def add_skipped(self, name: str, line: int, why: str) -> None:
        self.skipped.append(SkippedEntry(name, line, why))

    def format_lines(self, lines: list[tuple[int, str]]) -> list[str]:
        return [f"{self.name}:{line}: {words}" for line, words in sorted(lines)]


def make_slug(text: str, taken_names: set[str], fallback: str) -> str:
    """A unique task name made from a text."""
    plain = re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-")
    stem = plain[:NAME_CHARS_MAX].rstrip("-")
    if not re.search(r"[a-z]", stem):
        stem = fallback
    name, number = stem, 1
    while name in taken_names:
        number += 1
        name = f"{stem}-{number}"
    taken_names.add(name)
    return name


def join_paragraphs(*parts: str) -> str:
    """The parts that are not empty, separated by blank lines."""
    return "\n\n".join(part.strip() for part in parts if part.strip())
