"""Mutants: small faults put into the changed lines, which a test should notice (rule 17.3)."""

from __future__ import annotations

from datetime import timedelta

from yaoki.core.lazy_dataclass import dataclass


@dataclass(frozen=True, slots=True)
class MutantRules:
    """The demands of a task on its mutants.

    At most `count_max` run, zero switches them off; no further one starts after `timeout`.  More
    than the share `survivors_max` of survivors is reported, and a failure if `required`.
    """

    count_max: int = 0
    survivors_max: float = 0.3
    required: bool = False
    timeout: timedelta = timedelta(minutes=10)


@dataclass(frozen=True, slots=True)
class HiddenCode:
    """A place in a changed file whose code no mutant can reach, such as "exec of a name"."""

    path: str
    line: int
    words: str


@dataclass(frozen=True, slots=True)
class Mutant:
    """A changed file with one fault more: its whole text.

    `fault` follows "no test notices if", such as "it returns None".
    """

    path: str
    line: int
    fault: str
    text: str
