"""Two workers carry out the same undo: whatever one decides, the record equals the branch."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.simulation.invariants import check_invariants, journal
from tests.simulation.scenarios import row, story, task
from tests.simulation.worker_lives import WorkerLife
from tests.simulation.world import Accesses, Killed
from yaoki.core.machine.request_events import UndoDropped
from yaoki.core.model import State
from yaoki.engine.branch_guard import BranchGuard
from yaoki.errors import NotNow

TWO = story(50, (task("one"), task("two")))
CHAIN = story(51, (task("one"), task("two", "one"), task("three")))


class Interruption(Accesses):
    """Calls a function at the first access of this name."""

    def __init__(self, name: str) -> None:
        super().__init__()
        self._name = name
        self.act: Callable[[], None] | None = None

    def __call__(self, name: str) -> None:
        super().__call__(name)
        if name == self._name and self.act is not None:
            act, self.act = self.act, None
            act()


def undo_two(life: WorkerLife, touch: Interruption, other: Callable[[], None]) -> None:
    life.submit(TWO)
    life.live()
    touch.act = other
    found = row(life, "two")
    assert found is not None
    life.control.undo(found.id, cascade=True)


@pytest.mark.spec("9.6", "0.1")
@pytest.mark.parametrize("moment", ["undo", "undone"])
def test_a_request_that_another_worker_drops_meanwhile_is_still_recorded(moment: str) -> None:
    touch = Interruption(moment)
    with TWO.begin() as scene:
        life = WorkerLife(scene, "host:0", touch)
        try:

            def drop() -> None:
                found = row(life, "two")
                assert found is not None
                life.real.amend(found.id, lambda _: (UndoDropped("the rest fails"),))

            undo_two(life, touch, drop)
            after = row(life, "two")

            assert after is not None
            assert after.state is State.ESCALATED
            assert "two" not in life.world.tree(life.world.refs[life.world.branch])
            check_invariants(life)
        finally:
            life.close()


@pytest.mark.spec("9.6", "0.1")
def test_a_refusal_after_another_worker_has_reverted_it_drops_nothing() -> None:
    touch = Interruption("undone")
    with TWO.begin() as scene:
        life = WorkerLife(scene, "host:0", touch)
        try:

            def refuse() -> None:
                raise NotNow("the check was ended")

            undo_two(life, touch, refuse)
            after = row(life, "two")

            assert after is not None
            assert after.state is State.ESCALATED
            assert "UNDO_DROPPED" not in [entry.event for entry in journal(life.real)]
            check_invariants(life)
        finally:
            life.close()


@pytest.mark.spec("9.6", "0.1", "0.3")
@pytest.mark.parametrize("moment", ["undo", "check", "approved", "undone"])
def test_a_cascade_that_another_worker_carries_out_meanwhile_is_done_once(moment: str) -> None:
    """The second worker finds the request and finishes it, at each step of the first one."""
    touch = Interruption(moment)
    with CHAIN.begin() as scene:
        life = WorkerLife(scene, "host:0", touch)
        try:
            life.submit(CHAIN)
            life.live()
            found = row(life, "one")
            assert found is not None
            landed = {_landed(life, name) for name in ("one", "two")}

            seen: list[str] = []

            def finish() -> None:
                seen.append(moment)
                other = WorkerLife(scene, "host:1", Accesses())
                other.closing.complete(other.run().id)
                other.close()

            touch.act = finish
            life.control.undo(found.id, cascade=True)

            events = [entry.event for entry in journal(life.real)]
            assert seen == [moment], "the second worker was there"
            assert (events.count("TASK_UNDONE"), events.count("TASK_UNLANDED")) == (1, 1)
            steps = life.workspace.list_landings(life.run())
            undone = [step for step in steps if step.undoes]
            assert len({step.commit for step in undone}) == 1, "one commit reverts both"
            assert {step.undoes for step in undone} == landed
            assert undone[0].commit in life.world.proven
            assert {*life.world.tree(undone[0].commit)} == {"README", "three"}
            check_invariants(life)
        finally:
            life.close()


def _landed(life: WorkerLife, name: str) -> str:
    found = row(life, name)
    assert found is not None
    return found.landed_commit


@pytest.mark.spec("9.6", "0.1", "0.2")
def test_work_that_was_reverted_without_a_record_is_not_merged_as_landed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The one moment left: the request is dropped elsewhere, and the worker that has moved the
    branch is killed before it records that.
    """
    touch = Interruption("undone")
    with TWO.begin() as scene:
        life = WorkerLife(scene, "host:0", touch)

        def drop_and_die() -> None:
            found = row(life, "two")
            assert found is not None
            life.real.amend(found.id, lambda _: (UndoDropped("the rest fails"),))
            raise Killed("undone")

        try:
            with pytest.raises(Killed):
                undo_two(life, touch, drop_and_die)
            monkeypatch.setattr(life.workspace, "way_back", lambda *_: "git update-ref")
            with pytest.raises(NotNow, match="which no task of the run landed"):
                life.control.merge(life.run())
            # Where the journal names the commit, the rows still say that the work is there.
            monkeypatch.setattr(BranchGuard, "refuse_drift", lambda *_: None)
            with pytest.raises(NotNow, match="no longer contains what landed: two"):
                life.control.merge(life.run())
        finally:
            life.close()
