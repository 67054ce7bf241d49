"""Judges a case of the corpus by the functions that the engine calls, without any process."""

from __future__ import annotations

from dataclasses import dataclass

from tests.formats.quality.definition.cases import a_change, view
from tests.gaming.corpus import Case, Program
from yaoki.core.model import CheckSpec
from yaoki.formats.quality import find_gaming, review_definition


@dataclass(frozen=True, slots=True)
class Judgement:
    """Why a case would not land, by criterion; `undecided` files decide by a run with the base's
    tests.
    """

    tell_tales: tuple[str, ...]
    weakened: tuple[str, ...]
    undecided: tuple[str, ...]
    fits_base_tests: bool

    @property
    def is_refused(self) -> bool:
        asks = bool(self.undecided) and not self.fits_base_tests
        return bool(self.tell_tales or self.weakened or asks)

    def __str__(self) -> str:
        return "; ".join((*self.tell_tales, *self.weakened, *(f"{p}?" for p in self.undecided)))


def judge(program: Program, case: Case) -> Judgement:
    candidate = program.candidate(case)
    changes = [
        a_change(path, program.files.get(path), candidate.get(path), ("", ""))
        for path in case.changed
    ]
    checks = [CheckSpec("tests", argv=tuple(program.command.split()))]
    base, goal = view(program.files), case.goal or program.goal
    review = review_definition(
        checks,
        changes,
        base,
        view(candidate),
        scope=case.scope,
        allow_weaker_tests=False,
        goal=goal,
    )
    gaming = find_gaming(changes, base, goal=goal, checks=checks)
    return Judgement(
        tuple(f"{one.name} {one.message}" for one in (gaming.items if gaming else ())),
        tuple(f"{one.name} {one.message}" for one in review.weakened),
        review.undecided,
        case.passes_with_base_tests,
    )
