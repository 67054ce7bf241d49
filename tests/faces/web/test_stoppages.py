"""Why no task started: a pause, an account's limit, no free worker; and what a task waits for."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import closing
from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from tests.acceptance.project import Project
from tests.adapters.store.store_actions import claim_one, lease_of, open_test_store
from tests.builders import NOW, HandClock, a_run, a_spec
from tests.faces.web.test_charts import at
from tests.report.test_report import a_branch, a_story, entry, landed, report_of
from tests.views.test_views import RUN, a_row
from yaoki.adapters.store import SqlStore
from yaoki.core.decide.failure_response import ClockAndChance
from yaoki.core.decide.rules import decide
from yaoki.core.machine.events import AgentFinished, AttemptStarted
from yaoki.core.model import (
    AgentExit,
    AgentLimit,
    AgentSpec,
    Catalogue,
    FailureKind,
    Finding,
    Outcome,
    Pause,
    RetryPolicy,
    RetryRule,
    State,
    Verdict,
)
from yaoki.core.model.stage_report import CandidateVerified
from yaoki.faces.web.graph import dropped_parts, proof_layers, proof_needs
from yaoki.faces.web.parameters import PageRequest
from yaoki.faces.web.request_context import RequestContext
from yaoki.faces.web.runs import get_timeline
from yaoki.faces.web.timeline import build_timeline, timeline_document
from yaoki.faces.web.waits import TaskWaitCause, waits_document
from yaoki.ports import AccountRow, JournalEntry, TaskRow
from yaoki.report import render_page
from yaoki.views import build_run_view
from yaoki.views.dependency_graph import DependencyGraph
from yaoki.views.history.progress import Burndown
from yaoki.views.history.stoppages import Stoppages

pytestmark = pytest.mark.spec("12.5")


def line(seq: int, event: str, seconds: float, task: int = 0, **data: Any) -> JournalEntry:
    task_id = f"r-{task}" if task else ""
    return JournalEntry(seq, at(seconds), "r", task_id, data.get("attempt", 0), event, data)


def limited(seq: int, seconds: float, task: int, for_s: float) -> JournalEntry:
    failure = {"kind": "RATE_LIMIT", "message": "slower"}
    due = at(seconds + for_s).isoformat()
    told = {"failure": failure, "stage": "PREPARE", "due_at": due, "delay_ms": for_s * 1000}
    return line(seq, "RETRY_DECISION", seconds, task, **told)


def waits_of(
    lines: Sequence[JournalEntry], task: int, account: str = ""
) -> list[tuple[str, float]]:
    """Cause and length of each wait of one task, drawn a minute after the start."""
    stops = Stoppages()
    for one in lines:
        if one.event in Stoppages.EVENTS:
            stops.add(one)
    life = build_timeline([one for one in lines if one.task_id == f"r-{task}"], at(60))
    limits = stops.limits_of(account, {"small": "shared"})
    waits = timeline_document(life.explain_waits(stops.pauses, limits, at(60)))["waits"]
    return [(w["cause"], _seconds(w["from"], w["until"] or at(60).isoformat())) for w in waits]


def _seconds(first: str, last: str) -> float:
    return (datetime.fromisoformat(last) - datetime.fromisoformat(first)).total_seconds()


PAUSED = (
    line(1, "TASK_SUBMITTED", 0, 1),
    line(2, "RUN_PAUSED", 4, why="budget: 6 of 6 attempts are used"),
    line(3, "RUN_RESUMED", 9, was="budget"),
    line(4, "TASK_CLAIMED", 11, 1),
    line(5, "ATTEMPT_STARTED", 11, 1, attempt=1, agent="small"),
)


def test_a_pause_is_shown_as_a_pause_and_not_as_a_missing_slot() -> None:
    assert waits_of(PAUSED, 1) == [("SLOT", 4), ("PAUSED", 5), ("SLOT", 2)]
    assert waits_of(PAUSED[:2], 1) == [("SLOT", 4), ("PAUSED", 56)], "and it goes on"


LIMITED = (
    line(1, "TASK_SUBMITTED", 0, 1),
    line(2, "TASK_SUBMITTED", 0, 2),
    line(3, "TASK_CLAIMED", 1, 1),
    line(4, "ATTEMPT_STARTED", 2, 1, attempt=1, agent="small"),
    line(5, "AGENT_FINISHED", 3, 1, exit={"limit": "rate"}),
    limited(6, 5, 1, 10),
    line(7, "TASK_CLAIMED", 17, 1),
    line(8, "ATTEMPT_STARTED", 18, 1, attempt=2, agent="small"),
    line(9, "AGENT_FINISHED", 25, 1, exit={"limit": ""}),
    line(10, "TASK_CLAIMED", 28, 2),
    line(11, "ATTEMPT_STARTED", 29, 2, attempt=1, agent="small"),
)


def test_a_task_waits_for_its_limited_account_and_then_for_the_probe() -> None:
    """Between the end of the limit and the claim of the probe only a worker was missing."""
    assert waits_of(LIMITED, 2, "shared") == [
        *(("SLOT", 5), ("LIMIT", 10), ("SLOT", 2), ("LIMIT", 8), ("SLOT", 3))
    ]
    assert waits_of(LIMITED, 2, "another") == [("SLOT", 28)]


@pytest.mark.spec("18.4", "18.6")
def test_the_limit_of_a_judge_stops_other_tasks_of_its_account() -> None:
    """The judge itself is over, and waits for nothing."""
    failure, until = {"kind": "RATE_LIMIT", "message": "slower"}, at(15).isoformat()
    ended = line(6, "JUDGE_ENDED", 5, 1, failure=failure, account_until=until)

    assert waits_of((*LIMITED[:5], ended, *LIMITED[9:]), 2, "shared") == [
        *(("SLOT", 5), ("LIMIT", 10), ("SLOT", 13))
    ]


def asked_about_key(seq: int, seconds: float, task: int) -> JournalEntry:
    failure = {
        "kind": "FATAL_ERROR",
        "message": "401",
        "closure": {"since": at(seconds).isoformat()},
    }
    return line(seq, "ESCALATE_DECISION", seconds, task, failure=failure, blocked="NEEDS_HUMAN")


@pytest.mark.spec("18.6")
def test_a_question_about_an_account_stops_its_other_tasks_until_the_answer() -> None:
    lines = (
        *LIMITED[:4],
        line(5, "AGENT_FINISHED", 3, 1, exit={"limit": "auth"}),
        asked_about_key(6, 5, 1),
        line(7, "ESCALATION_ANSWERED", 25, 1, choice="retry"),
    )

    assert waits_of(lines[:6], 2, "shared") == [("SLOT", 5), ("LIMIT", 55)]
    assert waits_of(lines, 2, "shared") == [("SLOT", 5), ("LIMIT", 20), ("SLOT", 35)]


@pytest.mark.spec("18.6")
@pytest.mark.parametrize("account", ["shared", ""], ids=["of the account", "of the task alone"])
def test_the_limit_of_an_account_lasts_until_a_person_ends_the_wait(account: str) -> None:
    lines = (*LIMITED[:6], line(7, "WAIT_ENDED", 9, 1, account=account, how="terminal"))

    limit = 4 if account else 10
    assert waits_of(lines, 2, "shared")[:2] == [("SLOT", 5), ("LIMIT", limit)]


def test_a_later_rate_limit_replaces_the_earlier_one() -> None:
    stops = Stoppages()
    for one in (*LIMITED[:6], limited(7, 8, 1, 2)):
        if one.event in Stoppages.EVENTS:
            stops.add(one)

    told = [(stop.start, stop.until) for stop in stops.limits_of("small", {})]
    assert told == [(at(5), at(8)), (at(8), at(10))]


def test_a_probe_whose_worker_died_blocks_no_other_task() -> None:
    lines = (*LIMITED[:8], line(9, "LEASE_EXPIRED", 20, 1, holder="h", why="dead"))

    causes = waits_of(lines, 2, "shared")

    assert causes == [("SLOT", 5), ("LIMIT", 10), ("SLOT", 2), ("LIMIT", 3), ("SLOT", 40)]


PATIENT = RetryPolicy(
    {FailureKind.RATE_LIMIT: RetryRule(5)}, rate_limit_wait_max=timedelta(hours=1)
)


def hit_by(store: SqlStore, clock: HandClock, agent: AgentSpec, wait: timedelta) -> None:
    """The agent of the next task gets a 429."""
    task = claim_one(store)
    began = AttemptStarted(1, agent.name, "c0", "/w", "h", fresh=True)
    left = AgentFinished(AgentExit(code=1, limit=AgentLimit.RATE, retry_after=wait), "c0", "t")
    store.record(lease_of(task), lambda _: (began, left))
    report = CandidateVerified(Verdict((Finding("c", Outcome.FAILED),)), "c1", "c0")
    store.record(
        lease_of(task), lambda seen: decide(seen, report, ClockAndChance(clock.now(), chance=0.5))
    )


@pytest.mark.spec("5.4")
def test_a_rate_limit_of_another_run_is_shown_as_a_limit(tmp_path: Path, pycache: Path) -> None:
    """Its agent has another name there, but the same account."""
    project, clock = Project(tmp_path, pycache), HandClock()
    file = project.repo / ".yaoki" / "state.db"
    file.parent.mkdir(exist_ok=True)
    with closing(open_test_store(file, clock)) as store:
        for run, agent in (("first000", "paid"), ("second00", "also")):
            spec = AgentSpec(agent, account="shared")
            held = Catalogue(agents={agent: spec}, policies={"default": PATIENT})
            made = a_run(run, catalogue=held, created_at=clock.now(), repo=str(project.repo))
            store.submit(made, [a_spec("one", agents=(spec,), policy=PATIENT)], {})
            if run == "first000":
                hit_by(store, clock, spec, timedelta(seconds=30))
                clock.advance(timedelta(seconds=10))

    with closing(RequestContext(project.repo)) as desk:
        query = {"state": (), "text": "", "ids": (), "cursor": "", "limit": 10}
        (row,) = get_timeline(desk, PageRequest({"run": "second00"}, query))["rows"]

    limit, rest = row["waits"]
    assert (limit["cause"], limit["words"]) == ("LIMIT", "shared")
    assert _seconds(limit["from"], limit["until"]) == 20
    assert rest["cause"] == "SLOT", "since then only a worker is missing"


# ------------------------------------------------------------------ what a task waits for


def the_wait(*rows: TaskRow, needs: dict[Any, Any] | None = None, **more: Any) -> dict[str, Any]:
    wanted = needs or {row.id: () for row in rows}
    view = build_run_view(
        replace(RUN, pause=Pause.parse(more.pop("paused", ""))), rows, wanted, is_idle=False, **more
    )
    names = {str(row.id): row.name for row in rows}
    told = waits_document(view.tasks[-1], NOW, names)
    assert told is not None
    assert told["cause"] in tuple(TaskWaitCause)
    return told


def test_every_wait_has_a_translated_name() -> None:
    soon, last = NOW + timedelta(minutes=2), a_row(2, open_needs=1)
    stuck, open_ = a_row(1, State.ESCALATED, question="?"), a_row(1, State.ACTIVE)
    needs = {stuck.id: (), last.id: (stuck.id,)}
    account = a_row(2, account="bot")

    assert the_wait(stuck, last, needs=needs)["names"] == ["t1"]
    assert the_wait(stuck, last, needs=needs)["cause"] == "BLOCKED"
    assert the_wait(open_, last, needs=needs)["cause"] == "NEEDS"
    assert the_wait(a_row(2, due_at=soon))["seconds"] == 120
    closed = AccountRow("bot", soon, "slower")
    asked = replace(closed, asking_task="run00001-9")
    assert the_wait(account, closed_accounts=[closed], is_carried=True)["cause"] == "ACCOUNT"
    assert the_wait(account, closed_accounts=[asked], is_carried=True)["cause"] == "ACCOUNT_ASKED"
    over = replace(closed, until=NOW)
    assert the_wait(account, closed_accounts=[over], is_carried=True)["cause"] == "PROBE"
    assert the_wait(a_row(2, awaiting_rerun=True))["cause"] == "HELD"
    assert the_wait(a_row(2, awaiting_rerun=True, parent="run00001-1"))["cause"] == "HELD_GROUP"
    assert the_wait(a_row(2), paused="budget")["cause"] == "PAUSED"
    assert the_wait(a_row(2))["cause"] == "NOBODY"
    assert the_wait(a_row(2), is_carried=True)["cause"] == "SLOT"
    told = the_wait(
        a_row(2),
        is_carried=True,
        not_taken_because=lambda _: "waits for a worker with the tags gpu",
    )
    assert (told["cause"], told["words"]) == ("SAID", "waits for a worker with the tags gpu")


# ------------------------------------------------------------------ what is counted


def test_a_replacement_does_not_add_to_the_burndown() -> None:
    """Both are written in one transaction, some milliseconds apart."""
    fold = Burndown()
    for one in (
        line(1, "TASK_SUBMITTED", 0, 1),
        line(2, "TASK_SUBMITTED", 0, 2),
        line(3, "ESCALATE_DECISION", 5, 1),
        line(4, "TASK_SUBMITTED", 9, 3, lineage="r-1"),
        line(5, "TASK_REPLACED", 9.003, 1, by="r-3"),
        line(6, "TASK_SUBMITTED", 12, 4),
    ):
        fold.add(one)

    assert [(point.total, point.open) for point in fold.points] == [(2, 2), (2, 2), (2, 2), (3, 3)]


def test_the_final_check_is_not_counted_in_the_burndown() -> None:
    fold, spec = Burndown(), {"name": "done_when", "kind": "check"}
    for one in (
        line(1, "TASK_SUBMITTED", 0, 1, spec={"name": "one"}),
        line(2, "TASK_LANDED", 3, 1),
        line(3, "TASK_SUBMITTED", 4, 2, spec=spec),
        line(4, "TASK_LANDED", 5, 2),
    ):
        fold.add(one)

    assert [(point.total, point.done, point.open) for point in fold.points] == [
        (1, 0, 1),
        (1, 1, 0),
    ]
    assert fold.last_at == at(5), "a timeline ends after it all the same"


def test_the_final_check_comes_after_all_tasks() -> None:
    """A second final check also comes after the first, and after tasks added in between."""
    rows = [a_row(n, State.DONE) for n in (1, 2, 3)]
    first = a_row(4, State.DONE, kind="check", name="done_when")
    later, second = a_row(5, State.DONE), a_row(6, kind="check", name="done_when-2")
    gone = a_row(7, State.REPLACED)
    all_ = [*rows, first, later, second, gone]
    needs = {row.id: () for row in all_} | {rows[1].id: (rows[0].id,)}
    view, shape = build_run_view(RUN, all_, needs, is_idle=False), DependencyGraph(needs)

    found = proof_needs(view, shape)

    assert found[first.id] == (rows[1].id, rows[2].id)
    assert found[second.id] == (rows[1].id, rows[2].id, later.id, first.id)
    assert proof_layers(found, shape) == {first.id: 2, second.id: 3}


def test_a_subtask_left_out_of_its_group_is_drawn_in_the_group() -> None:
    part, failed = (a_row(n, State.DONE, parent="run00001-3") for n in (1, 2))
    failed = replace(failed, state=State.CANCELLED)
    group, alone = a_row(3, State.DONE, kind="group"), a_row(4, State.CANCELLED)
    needs = {row.id: () for row in (part, failed, alone)} | {group.id: (part.id,)}
    view = build_run_view(RUN, [part, failed, group, alone], needs, is_idle=False)

    assert list(dropped_parts(view, DependencyGraph(needs))) == [(group.id, (failed.id,))]


# ------------------------------------------------------------------ the report


@pytest.mark.spec("12.2")
def test_claims_of_one_dead_worker_are_not_counted_as_workers() -> None:
    gone = [entry(9, "LEASE_EXPIRED", n, holder="one") for n in (1, 2)]
    made, _ = report_of(landed(2), [*a_story(1, 1), *a_story(2, 2), *gone], a_branch(2))

    html = render_page(made)

    assert "2 workers lost" not in html
    assert "work of lost workers continued 2 times" in html
    assert "2 claims of lost workers taken over" in html
