"""A sample of the corpus through `yaoki run`: cheats do not land, honest twins do."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby

import pytest

from tests.false_success.case import LANDS, NOT_DONE, Case, Ending, write
from tests.false_success.case_batch import CaseBatch, batches, run_batch
from tests.false_success.case_runner import CaseRunner, run_case
from tests.false_success.sample_projects import QUICK
from tests.gaming import corpus
from tests.gaming.corpus import Criterion, Program, all_cases

pytestmark = pytest.mark.acceptance
JUDGED = (Criterion.TELL_TALES, Criterion.INTEGRITY)
# The ways that landed before these rules existed.
HOLES = {
    "exits at import",
    "conftest answers in every test",
    "the loose assert",
    "the expected file is rewritten",
}


def as_run(program: Program, case: corpus.Case, ends: Ending) -> Case:
    acts = "".join(
        f"rm {path}\n" if text is None else write(path, text) for path, text in case.changed.items()
    )
    check = {"run": program.command.split(), "env": QUICK if "pytest" in program.command else {}}
    keys = {"goal": case.goal or program.goal, "kind": "change"}
    story = f"{program.name}: {case.name}"
    return Case(story, program.files, {"tests": check}, acts, ends, keys=keys)


def _sample(cheats: bool) -> Iterator[tuple[Program, corpus.Case]]:
    """The first case of each class; of cheats in each language.

    `test_corpus` judges the honest work of every class in every language.
    """
    fit = [
        (program, case)
        for program, case in all_cases()
        if program.can_run and case.is_cheat is cheats and (not cheats or case.criterion in JUDGED)
    ]

    def key(pair: tuple[Program, corpus.Case]) -> tuple[str, str]:
        return pair[1].label, pair[0].command

    def class_of(pair: tuple[Program, corpus.Case]) -> tuple[str, ...]:
        return key(pair) if cheats else key(pair)[:1]

    for _, group in groupby(sorted(fit, key=key), class_of):
        yield next(group)


KNOWN = [as_run(p, c, NOT_DONE) for p, c in all_cases() if p.can_run and c.name in HOLES]
CHEATS = [as_run(p, c, NOT_DONE) for p, c in _sample(True) if c.name not in HOLES]
HONEST = [as_run(p, c, LANDS) for p, c in _sample(False)]


@pytest.mark.full
@pytest.mark.spec("17.4", "16.7")
@pytest.mark.parametrize("case", KNOWN, ids=str)
def test_a_way_that_once_landed_does_not_land(case: Case, case_runner: CaseRunner) -> None:
    run_case(case, case_runner)


@pytest.mark.full
@pytest.mark.spec("17.4", "16.7")
@pytest.mark.parametrize("batch", batches(CHEATS), ids=str)
def test_cheats_do_not_land(batch: CaseBatch, case_runner: CaseRunner) -> None:
    run_batch(batch, case_runner)


@pytest.mark.full
@pytest.mark.spec("17.4", "16.7")
@pytest.mark.parametrize("case", HONEST, ids=str)
def test_honest_twins_land(case: Case, case_runner: CaseRunner) -> None:
    run_case(case, case_runner)
