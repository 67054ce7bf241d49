"""A worker that is disconnected from the store lands nothing.

Two clones of one remote share a store.  The worker gets no heartbeat result here, so only its
query to the store right before the push can stop it.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, nullcontext
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest

from tests.acceptance.project import a_plan, writes
from tests.repositories import a_repository, git
from tests.trusted_folders import trust_folder
from yaoki.app.build import App
from yaoki.app.plan_input import read_plan
from yaoki.app.submit import submit_plan
from yaoki.core.model import Lease, Run, Stage, State, Task
from yaoki.core.model.stage_report import CommitLanded
from yaoki.engine.claim_context import ClaimSuperseded, StopReason, unclaimed_context
from yaoki.errors import LeaseLost

pytestmark = pytest.mark.spec("13.3", "11.2")
SETTINGS = """\
[store]
url = "{folder}/state.db"

[workspace]
root = "{home}/worktrees"
remote = "origin"
"""


class Cut(BaseException):
    """The worker is gone; no handler may catch this."""


class Machines:
    """Two machines, each with its own clone and name, and one task."""

    def __init__(self, folder: Path, stack: ExitStack) -> None:
        self.bare = folder / "remote.git"
        git(folder, "clone", "-q", "--bare", str(a_repository(folder)), str(self.bare))
        self.one, self.other = (
            stack.enter_context(closing(self._app(folder, name))) for name in ("one", "other")
        )
        plan = folder / "plan.json"
        held = a_plan(
            {"t": [writes("f")]},
            [{"id": "t", "checks": ["ok"]}],
            {"ok": {"run": ["test", "-s", "f"]}},
        )
        plan.write_text(json.dumps(held))
        self.run: Run = submit_plan(self.one, read_plan(self.one, plan))

    def _app(self, folder: Path, name: str) -> App:
        home = folder / name
        home.mkdir()
        git(home, "clone", "-q", f"file://{self.bare}", "repo")
        (home / "repo" / "yaoki.toml").write_text(SETTINGS.format(folder=folder, home=home))
        return App(home / "repo", create=True)

    @property
    def task(self) -> Task:
        return self.one.store.task(f"{self.run.id}-1")

    def carry(self, app: App, why: Callable[[], StopReason | None]) -> Task | None:
        (task,) = app.services.build_worker(1).claim(1, [self.run.id])
        return app.services.build_worker(1).run_task(task, why, nullcontext)

    def landing(self) -> Task:
        """The task, verified on the first machine, whose worker is gone before it lands."""

        def why() -> StopReason | None:
            if self.task.stage is Stage.LAND:
                raise Cut
            return None

        with pytest.raises(Cut):
            self.carry(self.one, why)
        return self.task

    def taken_over(self) -> Task:
        """The lease has expired, and the second machine has claimed the task."""
        self.one.store.expire_claims(lambda _: True, counted=True)
        (task,) = self.other.services.build_worker(1).claim(1, [self.run.id])
        return task

    def steps(self) -> list[str]:
        """The subjects of the landings at the remote."""
        form = "--format=%(trailers:key=Yaoki-Task,valueonly)"
        return git(self.bare, "log", "--first-parent", form, f"main..yaoki/{self.run.id}").split()

    def refused(self) -> list[tuple[str, int]]:
        entries = self.one.store.journal(run_id=self.run.id)
        told = [entry.data for entry in entries if entry.event == "RESULT_REFUSED"]
        return [(data["holder"], data["epoch"]) for data in told]


@pytest.fixture
def machines(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Machines]:
    monkeypatch.setenv("YAOKI_HOME", str(tmp_path / "home"))
    trust_folder(tmp_path / "home", tmp_path)
    with ExitStack() as stack:
        yield Machines(tmp_path, stack)


def lease_of(task: Task) -> Lease:
    assert task.lease is not None
    return task.lease


def test_a_worker_with_an_expired_lease_does_not_land(machines: Machines) -> None:
    """The worker has verified its work, knows nothing of the loss, and is about to push."""
    successors: list[Task] = []
    held: list[Lease] = []

    def hears_nothing() -> StopReason | None:
        if machines.task.stage is Stage.LAND and not successors:
            held.append(lease_of(machines.task))
            successors.append(machines.taken_over())
        return None

    late = machines.carry(machines.one, hears_nothing)

    assert late is None
    assert machines.steps() == []
    assert machines.task.epoch == lease_of(successors[0]).epoch
    assert machines.refused() == [(held[0].holder, held[0].epoch)]
    done = machines.other.services.build_worker(1).run_task(
        successors[0], lambda: None, nullcontext
    )
    assert done is not None
    assert done.state is State.DONE
    assert machines.steps() == [done.id]


def test_an_expired_unclaimed_lease_is_renewed_and_the_task_lands(machines: Machines) -> None:
    task = machines.landing()
    machines.one.store.heartbeat([lease_of(task)], timedelta(0))
    before = lease_of(machines.task).expires_at

    done = machines.one.services.build_worker(1).run_task(task, lambda: None, nullcontext)

    assert done is not None
    assert done.state is State.DONE
    assert before <= machines.one.store.clock.now()
    assert machines.refused() == []


@pytest.mark.full
@pytest.mark.spec("3.4", "0.3")
def test_a_landing_pushed_after_the_claim_was_lost_counts_once(machines: Machines) -> None:
    """The worker asked in time and pushed late: the successor finds the commit on the branch."""
    task = machines.landing()
    successors: list[Task] = []

    def between() -> None:
        successors.append(machines.taken_over())

    pushed = machines.one.services.stages.land(
        machines.run,
        task,
        replace(unclaimed_context(lambda _name, _data: None), confirm_claim=between),
    )
    done = machines.other.services.build_worker(1).run_task(
        successors[0], lambda: None, nullcontext
    )

    assert isinstance(pushed, CommitLanded)
    assert done is not None
    assert (done.state, done.landed_commit) == (State.DONE, pushed.commit)
    assert machines.steps() == [task.id]
    with pytest.raises(LeaseLost):
        machines.one.store.record(lease_of(task), lambda _: ())
    assert machines.refused() == [(lease_of(task).holder, lease_of(task).epoch)]
    landed = [
        e for e in machines.one.store.journal(run_id=machines.run.id) if e.event == "TASK_LANDED"
    ]
    assert len(landed) == 1


@pytest.mark.full
@pytest.mark.spec("3.4", "0.3")
def test_a_push_after_the_successors_push_is_refused(machines: Machines) -> None:
    task = machines.landing()

    def between() -> None:
        machines.other.services.build_worker(1).run_task(
            machines.taken_over(), lambda: None, nullcontext
        )

    machines.one.services.stages.land(
        machines.run,
        task,
        replace(unclaimed_context(lambda _name, _data: None), confirm_claim=between),
    )

    assert machines.task.state is State.DONE
    assert machines.steps() == [task.id]


@pytest.mark.spec("0.6")
def test_without_a_store_nothing_lands(machines: Machines) -> None:
    task = machines.landing()

    with pytest.raises(ClaimSuperseded):
        machines.one.services.stages.land(
            machines.run, task, unclaimed_context(lambda _name, _data: None)
        )

    assert machines.steps() == []
