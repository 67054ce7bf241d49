"""The land stage: why a verified commit could not land."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from types import SimpleNamespace
from typing import cast

import pytest

from tests.builders import HandClock, a_run, an_active_task
from yaoki.core.decide.merge_queue import PassCounts, choose_queue_entry
from yaoki.core.model import (
    CompetingTask,
    QueueChoice,
    RefusalCause,
    Run,
    Stage,
    TaskId,
    Work,
)
from yaoki.core.model.stage_report import CommitLanded, CommitNotLanded
from yaoki.engine.claim_context import EmptyQueue, unclaimed_context
from yaoki.engine.stages.company_wait import CompanyWait
from yaoki.engine.stages.land import LandStage
from yaoki.engine.stages.plan_task import PlanTaskStages
from yaoki.engine.stages.predecessor_wait import PredecessorWait
from yaoki.engine.stages.processes import AttemptProcesses
from yaoki.ports import Workspace

DOUBTFUL = CompetingTask(
    TaskId("r-1"), Stage.VERIFY, True, False, 4, an_active_task(Stage.VERIFY).spec
)


class Branch:
    """A branch at `commits[-1]`; nobody is in its merge queue.  It takes a commit if `takes`."""

    def __init__(self, commits: list[str], *, takes: bool = False) -> None:
        self._commits, self._takes = commits, takes

    def head(self, run: Run) -> str:
        return self._commits[-1]

    def branch_contains(self, run: Run, commit: str) -> bool:
        return commit in self._commits

    def is_in_merge_queue(self, run: Run, commit: str, queue_members: object) -> bool:
        return False

    def read_joint(self, commit: str) -> None:
        return None

    def land(self, run: Run, commit: str, onto: str) -> str:
        if self._takes and onto == self._commits[-1]:
            self._commits.append(commit)
        return self._commits[-1]


class LeavingQueue(EmptyQueue):
    """A task is ahead when it is first asked, and none after that."""

    def __init__(self) -> None:
        self._ahead = iter([True, False])

    def must_yield(self) -> bool:
        return next(self._ahead)


class DoubtfulQueue(EmptyQueue):
    """Tasks that are likely to fail are queued."""

    def choose_entry(self) -> QueueChoice:
        return choose_queue_entry(1, [DOUBTFUL], PassCounts())


class PatientQueue(LeavingQueue):
    """Tasks that may come and take this one along are still at work."""

    def must_lead(self, waited: timedelta) -> bool:
        return waited > timedelta(minutes=10)


class BusyQueue(EmptyQueue):
    """A task is ahead, and stays there."""

    def must_yield(self) -> bool:
        return True


def land_stage(branch: Branch) -> LandStage:
    workspace = cast(Workspace, SimpleNamespace(branches=branch, landings=branch))
    company = SimpleNamespace(is_taken_along=lambda *_: False, wait=lambda *_: None)
    waits = SimpleNamespace(wait_for_predecessor=lambda *_: None)
    return LandStage(
        workspace,
        cast(AttemptProcesses, None),
        cast(PredecessorWait, waits),
        cast(CompanyWait, company),
        cast(PlanTaskStages, None),
    )


@pytest.mark.spec("17.7", "3.4")
@pytest.mark.parametrize(
    ("is_queued", "commits", "cause"),
    [
        (True, ["base", "below", "other"], RefusalCause.MOVED),
        (True, ["base"], RefusalCause.PREDECESSOR),
        (True, ["base", "other"], RefusalCause.PREDECESSOR),
        (True, ["base", "below"], RefusalCause.UNKNOWN),
        (False, ["base", "below", "other"], RefusalCause.MOVED),
        (False, ["base", "below"], RefusalCause.UNKNOWN),
    ],
)
def test_a_refused_landing_has_its_true_cause(
    is_queued: bool, commits: list[str], cause: RefusalCause
) -> None:
    """The work was verified on `below`, which is the branch or a candidate of the queue."""
    work = Work(verified_commit="verified", onto="below", landing_refusals=int(is_queued))
    task = an_active_task(Stage.LAND, work=work)
    claim = replace(unclaimed_context(lambda _n, _d: None), confirm_claim=lambda: None)

    report = land_stage(Branch(commits)).land(a_run(), task, claim)

    assert report == CommitNotLanded(commits[-1], cause)


@pytest.mark.spec("17.7")
@pytest.mark.parametrize(
    ("commits", "avoids_queue"), [(["base", "other"], True), (["base", "below", "other"], False)]
)
def test_work_that_was_verified_on_a_failed_task_is_not_queued_behind_its_next_failure(
    commits: list[str], avoids_queue: bool
) -> None:
    work = Work(verified_commit="verified", onto="below", landing_refusals=1)
    claim = replace(unclaimed_context(lambda _n, _d: None), confirm_claim=lambda: None)
    claim = replace(claim, queue=DoubtfulQueue())

    report = land_stage(Branch(commits)).land(a_run(), an_active_task(Stage.LAND, work=work), claim)

    assert isinstance(report, CommitNotLanded)
    assert report.avoids_queue is avoids_queue


@pytest.mark.spec("17.7")
def test_verified_work_lands_as_soon_as_those_ahead_of_it_have_failed() -> None:
    """Nobody has to come and take it along: the branch is as it was verified."""
    branch, clock = Branch(["base", "below"], takes=True), HandClock()
    task = an_active_task(Stage.LAND, work=Work(verified_commit="verified", onto="below"))
    workspace = cast(Workspace, SimpleNamespace(branches=branch, landings=branch))
    claim = replace(unclaimed_context(lambda _n, _d: None), queue=PatientQueue())
    started = clock.now()

    assert CompanyWait(workspace, clock).wait(a_run(), task, claim) is None

    assert clock.now() - started < timedelta(seconds=10)


@pytest.mark.spec("17.7", "3.4", "12.4")
@pytest.mark.parametrize(
    ("commits", "cause"),
    [(["base", "below"], RefusalCause.WAITED), (["base", "below", "other"], RefusalCause.MOVED)],
)
def test_a_task_that_others_need_enters_the_queue_behind_tasks_that_have_not_landed(
    commits: list[str], cause: RefusalCause
) -> None:
    """It does not wait for those ahead of it, which may land in a moment: none of them failed."""
    task = an_active_task(Stage.LAND, work=Work(verified_commit="verified", onto="below"))
    claim = replace(unclaimed_context(lambda _n, _d: None), queue=BusyQueue())

    report = land_stage(Branch(commits, takes=True)).land(a_run(), task, claim)

    assert report == CommitNotLanded(commits[-1], cause)


@pytest.mark.spec("17.7", "3.4")
def test_a_task_lands_without_another_proof_when_those_ahead_of_it_did_not_land() -> None:
    """It was verified beside the queue and waited to be taken along; the branch is as it was."""
    task = an_active_task(Stage.LAND, work=Work(verified_commit="verified", onto="below"))
    claim = replace(unclaimed_context(lambda _n, _d: None), confirm_claim=lambda: None)
    claim = replace(claim, queue=LeavingQueue())
    branch = Branch(["base", "below"], takes=True)

    report = land_stage(branch).land(a_run(), task, claim)

    assert report == CommitLanded("verified")
    assert branch.head(a_run()) == "verified"
