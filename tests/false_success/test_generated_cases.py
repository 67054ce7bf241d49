"""Generated cases: every DONE task passes its checks in a fresh clone.

Every act of an agent meets every kind of check and every base.  Each run has up to ten tasks that
do not touch one another.
"""

from __future__ import annotations

from itertools import combinations
from math import prod
from pathlib import Path

import pytest

from tests.false_success.case import Case
from tests.false_success.case_parts import ACTS, BASES, PROOFS, CasePart, every_piece
from tests.false_success.case_runner import CaseResult, CaseRunner
from tests.false_success.oracle import FreshCloner

pytestmark = pytest.mark.acceptance
PIECES, TOGETHER = every_piece(), 10
RUNS = -(-len(PIECES) // TOGETHER)


@pytest.mark.full
@pytest.mark.spec("0.1", "16.1", "16.7", "16.8", "3.5", "6.5")
@pytest.mark.parametrize("run", range(RUNS))
def test_no_generated_case_is_a_false_success(run: int, tmp_path: Path, pycache: Path) -> None:
    # Far apart in the list, so that a run holds different acts, checks and bases.
    _hold({f"p{n}": piece for n, piece in enumerate(PIECES[run::RUNS])}, tmp_path, pycache)


def test_any_two_parts_of_a_case_meet() -> None:
    rows = [(p.act.name, p.proof.name, p.base, p.retries, p.scoped, p.looks_again) for p in PIECES]
    kinds = [len(set(column)) for column in zip(*rows, strict=True)]

    assert kinds == [len(ACTS), len(PROOFS), len(BASES), 2, 2, 2]
    for two in combinations(range(len(kinds)), 2):
        met = {tuple(row[n] for n in two) for row in rows}
        assert len(met) == prod(kinds[n] for n in two), two


def _hold(pieces: dict[str, CasePart], folder: Path, pycache: Path) -> None:
    case = Case(
        "made from parts",
        {path: text for at, piece in pieces.items() for path, text in piece.files(at).items()},
        {at: piece.check(at) for at, piece in pieces.items()},
        tasks=[piece.task(at) for at, piece in pieces.items()],
    )
    case_runner = CaseRunner(folder, pycache)

    ended = case_runner.run(case)
    case_runner.check_oracle(case)

    done = {at: piece for at, piece in pieces.items() if ended.state(at) == "DONE"}
    false = [at for at, piece in done.items() if not _true(case_runner, ended, at, piece)]
    assert not false, [(pieces[at], ended.describe(at)) for at in false]
    bold = [at for at, piece in done.items() if piece.act.never]
    assert not bold, [(pieces[at], ended.describe(at)) for at in bold]
    lost = [at for at, piece in pieces.items() if piece.act.honest and at not in done]
    assert not lost, [(pieces[at], ended.describe(at)) for at in lost]


def _true(case_runner: CaseRunner, ended: CaseResult, at: str, piece: CasePart) -> bool:
    """At the commit that landed it, in a clone of a stranger."""
    (commit,) = (task["landed"] for task in ended.status["tasks"] if task["name"] == at)
    stranger = FreshCloner(case_runner.folder, case_runner.env["PATH"])
    return not stranger.fault(case_runner.repo, commit, {"name": "truth", "shell": piece.truth(at)})
