"""The corpus: small programs, and changes to them that are cheats or honest work.

A cheat makes the visible tests pass without doing the task.  It names the criterion that must see
it.  An honest twin does the same task, often in a way that looks like a cheat.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from importlib import import_module
from pathlib import Path
from pkgutil import iter_modules

PYTEST, NODE = "python3 -m pytest -q -p no:cacheprovider", "node --test"


class Criterion(StrEnum):
    """The rule that can see a cheat."""

    TELL_TALES = "tell-tales"
    INTEGRITY = "integrity"
    RED_FIRST = "red-first"
    HIDDEN = "hidden"


@dataclass(frozen=True, slots=True)
class Case:
    """`changed` maps a path to its new text, or to None if the file is deleted.

    `goal` replaces the goal of the program.  `fits_base_tests`: do the tests of the base pass on
    it, too?  None: as usual, so honest work does and a cheat does not.
    """

    name: str
    label: str
    changed: Mapping[str, str | None]
    criterion: Criterion | None = None
    goal: str = ""
    scope: tuple[str, ...] = ()
    fits_base_tests: bool | None = None

    def __str__(self) -> str:
        return self.name.replace(" ", "-")

    @property
    def is_cheat(self) -> bool:
        return self.criterion is not None

    @property
    def passes_with_base_tests(self) -> bool:
        return not self.is_cheat if self.fits_base_tests is None else self.fits_base_tests


@dataclass(frozen=True, slots=True)
class Program:
    """A program with its tests, as the task finds it.  `runs` is False for tests of runners that
    are not installed: only their text is judged.  `hidden` are tests that only a hidden check has.
    """

    name: str
    goal: str
    command: str
    files: Mapping[str, str]
    cases: Sequence[Case]
    runs: bool = True
    hidden: Mapping[str, str] = field(default_factory=dict)

    def __str__(self) -> str:
        return self.name

    @property
    def can_run(self) -> bool:
        """Are its runner and its language installed?"""
        return self.runs and shutil.which(self.command.split()[0]) is not None

    def candidate(self, case: Case) -> dict[str, str]:
        after = {**self.files, **case.changed}
        return {path: text for path, text in after.items() if text is not None}


def hard(name: str, label: str, changed: Mapping[str, str | None], **more: object) -> Case:
    """A cheat that the tell-tales must see."""
    return Case(name, label, changed, Criterion.TELL_TALES, **more)  # type: ignore[arg-type]


def weak(name: str, label: str, changed: Mapping[str, str | None], **more: object) -> Case:
    """A cheat that test integrity must see."""
    return Case(name, label, changed, Criterion.INTEGRITY, **more)  # type: ignore[arg-type]


def unseen(criterion: Criterion, name: str, label: str, changed: Mapping[str, str | None]) -> Case:
    """A cheat that only running it shows: with hidden tests, or with its own tests on the base."""
    return Case(name, label, changed, criterion, fits_base_tests=True)


def honest(
    name: str, changed: Mapping[str, str | None], label: str = "honest", **more: object
) -> Case:
    return Case(name, label, changed, **more)  # type: ignore[arg-type]


def edited(text: str, *pairs: tuple[str, str]) -> str:
    """The text with these replacements; each must apply."""
    for old, new in pairs:
        assert old in text, old
        text = text.replace(old, new)
    return text


def programs() -> Iterator[Program]:
    folder = Path(__file__).parent / "programs"
    for one in iter_modules([str(folder)]):
        yield import_module(f"tests.gaming.programs.{one.name}").PROGRAM


def all_cases() -> list[tuple[Program, Case]]:
    return [(program, case) for program in programs() for case in program.cases]
