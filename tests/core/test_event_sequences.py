"""Whatever legal sequence of events happens to a task, some facts about it exclude each other."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.builders import NOW, a_failure, a_spec, a_task, an_active_task
from tests.core.event_makers import ESCALATED, EVENT_MAKERS, QUESTION
from yaoki.core.machine.events import (
    AwaitingRerun,
    Claimed,
    EscalationDecided,
    Event,
    Landed,
    RetryDecided,
    RowRefused,
)
from yaoki.core.machine.evolution import evolve, fold_events, replay
from yaoki.core.machine.legality import legal
from yaoki.core.machine.request_events import (
    Answered,
    Cancelled,
    CancelRequested,
    ChecksRevised,
    Recalled,
    RecallRequested,
    UndoCompleted,
    UndoRequested,
)
from yaoki.core.model import (
    CheckRevision,
    CheckSpec,
    Choice,
    PendingRequest,
    Question,
    Stage,
    State,
    Task,
    WaitReason,
)

LIVE = {State.WAITING, State.ACTIVE}
STATES_OF_REQUEST = {
    PendingRequest.NONE: frozenset(State),
    PendingRequest.RECALL: LIVE,
    PendingRequest.CANCEL: LIVE | {State.ESCALATED, State.CANCELLED},
    PendingRequest.UNDO: {State.DONE},
}


def ignores_request(task: Task, event: Event) -> bool:
    """`decide` ends a task with a pending request at the end of its stage, unless it landed."""
    pending = task.request in {PendingRequest.CANCEL, PendingRequest.RECALL}
    return pending and isinstance(event, RetryDecided | EscalationDecided | AwaitingRerun)


@pytest.mark.spec("1.1", "0.3")
@given(st.lists(st.integers(0, 2**16), min_size=20, max_size=40))
def test_a_request_or_wait_exists_only_in_states_that_can_fulfil_it(
    choices: list[int],
) -> None:
    """The columns of a row allow more: a task that is done and to be cancelled, for example."""
    task = a_task()
    for choice in choices:
        events = [make(task) for make in EVENT_MAKERS]
        possible = [e for e in events if legal(task, e) and not ignores_request(task, e)]
        task = evolve(task, possible[choice % len(possible)])
        assert task.waiting_for is WaitReason.CLAIM or task.state is State.WAITING
        assert task.state in STATES_OF_REQUEST[task.request]


@pytest.mark.spec("9.5", "9.6", "10.4")
@pytest.mark.parametrize("requested", [CancelRequested("enough"), RecallRequested("its base")])
def test_a_request_ends_when_the_task_lands(requested: Event) -> None:
    """The request came too late.  Kept, it cancelled the task after an undo and a `retry`."""
    done = fold_events(an_active_task(Stage.LAND), (requested, Landed("c0ffee")))

    undone = fold_events(done, (UndoRequested("c0ffee"), UndoCompleted("c0ffee", QUESTION)))
    again = evolve(undone, Answered(Choice.RETRY, "once more"))

    assert done.request is undone.request is again.request is PendingRequest.NONE
    assert again.state is State.WAITING


@pytest.mark.spec("2.6", "0.1")
@pytest.mark.parametrize(
    ("state", "stage", "verified"),
    [(State.WAITING, Stage.VERIFY, ""), (State.ACTIVE, Stage.LAND, "c0ffee")],
)
def test_a_verdict_of_earlier_checks_lands_only_while_a_worker_lands_it(
    state: State, stage: Stage, verified: str
) -> None:
    revision = CheckRevision(2, (CheckSpec("lint"),), (("make",),), ("deps.txt",))
    task = an_active_task(Stage.LAND)
    landing = replace(task, state=state, lease=task.lease if state is State.ACTIVE else None)

    revised = evolve(landing, ChecksRevised(revision))

    assert (revised.stage, revised.work.verified_commit) == (stage, verified)
    assert [check.name for check in revised.spec.checks] == ["lint"]
    assert (revised.spec.setup, revised.spec.setup_inputs) == ((("make",),), ("deps.txt",))
    assert revised.check_revision_number == 2
    assert revised.proof_spec.checks == (landing if verified else revised).spec.checks
    assert landing.check_revision_number == 0


@pytest.mark.spec("10.4", "2.6")
@pytest.mark.parametrize(
    ("check", "choice", "checks", "note"),
    [
        (
            "tests",
            Choice.DONE,
            (CheckSpec("lint"),),
            "Its checks were changed after that (revision 2): yaoki answer run00001-1 done "
            "verifies the work as it is, without an agent.",
        ),
        (
            "tests",
            Choice.RETRY,
            (),
            "Its set-up was changed after that (revision 2): yaoki answer run00001-1 retry runs "
            "its checks again.",
        ),
        ("", Choice.DONE, (CheckSpec("lint"),), ""),
    ],
)
def test_an_open_question_about_a_check_says_that_its_checks_were_changed(
    check: str, choice: Choice, checks: tuple[CheckSpec, ...], note: str
) -> None:
    task = an_active_task(Stage.VERIFY, spec=a_spec(checks=()))
    asked = Question("Try again?", (choice, Choice.ABORT), "Its checks were changed before.")
    asking = replace(
        task,
        state=State.ESCALATED,
        lease=None,
        question=asked,
        failure=a_failure(check=check),
    )

    revised = evolve(asking, ChecksRevised(CheckRevision(2, checks, (("make",),))))

    assert revised.question == replace(asked, note=note or asked.note)
    assert evolve(replace(asking, question=None), ChecksRevised(CheckRevision(2))).question is None


@pytest.mark.spec("10.4", "9.5")
def test_an_answer_is_newer_than_a_request() -> None:
    """Its row was refused while its cancellation was pending; the person answers `go`."""
    refused = fold_events(
        an_active_task(Stage.WORK, request=PendingRequest.CANCEL),
        (RowRefused("not proven"), ESCALATED),
    )

    assert evolve(refused, Answered(Choice.RETRY)).request is PendingRequest.NONE


@pytest.mark.spec("10.2", "9.5")
@pytest.mark.parametrize(
    ("requested", "ended", "state", "request_after"),
    [
        (CancelRequested("enough"), Cancelled("enough"), State.CANCELLED, PendingRequest.CANCEL),
        (RecallRequested("base"), Recalled("base"), State.WAITING, PendingRequest.NONE),
    ],
)
def test_a_journal_in_which_a_request_outlived_the_landing_still_folds(
    requested: Event, ended: Event, state: State, request_after: PendingRequest
) -> None:
    """An earlier version wrote such journals; only `replay` accepts them."""
    landed = fold_events(an_active_task(Stage.LAND), (requested, Landed("c0ffee")))
    undone = (UndoRequested("c0ffee"), UndoCompleted("c0ffee", QUESTION))
    again = fold_events(landed, (*undone, Answered(Choice.RETRY), Claimed("host:1", 2, NOW)))

    assert not legal(again, ended)
    after = replay(again, ended)

    assert (after.state, after.request) == (state, request_after)
