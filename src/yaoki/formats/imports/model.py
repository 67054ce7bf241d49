"""What an import makes of a list, and what it tells about the rest."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

ITEMS_MAX = 10_000
BYTES_MAX = 8 << 20
NAME_CHARS_MAX = 48
TITLE_CHARS_MAX = 200


@dataclass(frozen=True, slots=True)
class Asked:
    """What the person says besides the file: which list in it, and whether order is a need."""

    tag: str = ""
    parallel: bool = False
    text_bytes_max: int = 65_536


@dataclass(frozen=True, slots=True)
class Item:
    """One task to be; `line` is where it stands in the list."""

    id: str
    goal: str
    line: int
    needs: tuple[str, ...] = ()
    priority: int = 0
    phase: str = ""


@dataclass(frozen=True, slots=True)
class LeftOut:
    """What does not become a task, and why."""

    name: str
    line: int
    why: str


@dataclass(frozen=True, slots=True)
class Phase:
    """A group of tasks that waits for other groups."""

    id: str
    title: str
    needs: tuple[str, ...] = ()


@dataclass(slots=True)
class Imported:
    """A list, read.  `unread` is what nobody understood, `notes` what is good to know."""

    form: str
    name: str
    goal: str = ""
    items: list[Item] = field(default_factory=list)
    phases: list[Phase] = field(default_factory=list)
    left_out: list[LeftOut] = field(default_factory=list)
    unread: list[tuple[int, str]] = field(default_factory=list)
    notes: list[tuple[int, str]] = field(default_factory=list)

    def lost(self, line: int, why: str) -> None:
        self.unread.append((line, why))

    def note(self, line: int, words: str) -> None:
        self.notes.append((line, words))

    def leave(self, name: str, line: int, why: str) -> None:
        self.left_out.append(LeftOut(name, line, why))

    def told(self, lines: list[tuple[int, str]]) -> list[str]:
        return [f"{self.name}:{line}: {words}" for line, words in sorted(lines)]


def slug(text: str, taken: set[str], fallback: str) -> str:
    """A name that a task may have, made of its words; each only once."""
    plain = re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-")
    stem = plain[:NAME_CHARS_MAX].rstrip("-")
    if not re.search(r"[a-z]", stem):
        stem = fallback
    name, number = stem, 1
    while name in taken:
        number += 1
        name = f"{stem}-{number}"
    taken.add(name)
    return name


def paragraphs(*parts: str) -> str:
    """The parts that say something, a blank line between them."""
    return "\n\n".join(part.strip() for part in parts if part.strip())
