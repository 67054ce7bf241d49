"""Mutants that no test can kill, each with its reason: `tests/core/mutants-explained.toml`."""

from __future__ import annotations

import tomllib
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from tests.mutants.mutations import Mutant


@dataclass(frozen=True)
class Explanation:
    module: str
    function: str
    change: str
    reason: str

    def covers(self, mutant: Mutant) -> bool:
        same_place = (self.module, self.function) == (mutant.module, mutant.function)
        return same_place and self.change == mutant.change


def read(file: Path) -> list[Explanation]:
    """A table without one of the four words, or with another one, is a `TypeError`."""
    tables = tomllib.loads(file.read_text())["mutant"]
    return [Explanation(**table) for table in tables]


def unneeded(
    explanations: Iterable[Explanation], survivors: Iterable[Mutant], modules: Iterable[str]
) -> list[Explanation]:
    """Explanations of mutants that are gone or killed, in modules that were mutated."""
    alive, mutated = list(survivors), set(modules)
    return [
        each
        for each in explanations
        if each.module in mutated and not any(each.covers(mutant) for mutant in alive)
    ]
