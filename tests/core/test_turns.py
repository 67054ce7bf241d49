"""Whose proof is worth making when several tasks land on the same line."""

from __future__ import annotations

import pytest

from tests.builders import an_active_task
from yaoki.core.model import Stage, Task, Work
from yaoki.core.turns import PATIENCE, Contender, gives_way, waits


def at(stage: Stage, refused: int, n: int = 5, proven: str = "c", onto: str = "b") -> Task:
    return an_active_task(stage, n=n, work=Work(refused=refused, proven=proven, onto=onto))


@pytest.mark.spec("8.2", "13.1")
def test_a_first_proof_is_made_beside_the_others() -> None:
    assert not waits(at(Stage.VERIFY, 0), [Contender(1, 0), Contender(2, 3)])


@pytest.mark.spec("8.2", "13.1")
@pytest.mark.parametrize(
    ("other", "expected"),
    [
        (Contender(1, 0), False),
        (Contender(1, 1), True),
        (Contender(9, 1), False),
        (Contender(9, 2), True),
    ],
)
def test_after_a_refusal_proofs_take_turns(other: Contender, expected: bool) -> None:
    assert waits(at(Stage.VERIFY, 1), [other]) is expected


@pytest.mark.spec("8.2", "13.1")
def test_of_two_that_wait_exactly_one_goes_on() -> None:
    for mine, its in [((3, 1), (4, 1)), ((3, 2), (4, 1)), ((4, 1), (3, 1)), ((7, 4), (2, 4))]:
        one = waits(at(Stage.VERIFY, mine[1], mine[0]), [Contender(*its)])
        other = waits(at(Stage.VERIFY, its[1], its[0]), [Contender(*mine)])
        assert one != other


@pytest.mark.spec("8.2", "13.1")
def test_who_was_never_refused_lands_unless_anothers_patience_is_at_its_end() -> None:
    fresh = at(Stage.LAND, 0)

    assert not gives_way(fresh, [Contender(1, PATIENCE - 1)])
    assert gives_way(fresh, [Contender(1, PATIENCE)])
    assert not gives_way(at(Stage.LAND, 1), [Contender(1, PATIENCE)])
    assert not gives_way(at(Stage.LAND, 0, proven="b"), [Contender(1, PATIENCE)]), "moves nothing"
