"""Views: blocked tasks and their cause, waits, and the words for entries."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta
from itertools import pairwise
from typing import Any

import pytest

from tests.builders import NOW, a_spec, an_agent
from yaoki.core.bound import worst_case
from yaoki.core.model import (
    AccountProblem,
    CheckSpec,
    Choice,
    Pause,
    PauseCause,
    Question,
    RaceEnd,
    RaceRules,
    Run,
    RunId,
    State,
    TaskId,
)
from yaoki.core.model.names import CRITERIA_NAMES
from yaoki.core.run_status import RunStatus
from yaoki.faces.text.render import story_line
from yaoki.ports import AccountRow, JournalEntry, TaskRow, WorkerInfo, WorkerSeen
from yaoki.views import (
    build_run_view,
    describe_entry,
    describe_wait,
    failure_words,
    why_not_taken,
)
from yaoki.views.moments import describe_moment, describe_wait_end
from yaoki.views.plans import TaskBound
from yaoki.views.tasks import MergeObstacle, UnmergedRevert
from yaoki.views.wait_text import (
    describe_closed_account,
    describe_refused_account,
    end_wait_command,
)

RUN = Run(RunId("run00001"), "goal", "/repo", "main", "b" * 40, NOW)


def a_row(n: int, state: State = State.WAITING, **more: Any) -> TaskRow:
    base = TaskRow(
        id=TaskId(f"run00001-{n}"), run_id=RUN.id, n=n, name=f"t{n}", kind="change", state=state,
        stage="PREPARE", attempt=0, epoch=0, holder="", due_at=None, lease_until=None, open_needs=0,
        required=True, reason="", agent="a", cancel_requested=False, landed_commit="", question="",
    )  # fmt: skip
    return replace(base, **more)


def chain(*rows: TaskRow) -> dict[TaskId, tuple[TaskId, ...]]:
    """Each needs the one before it."""
    ids = [row.id for row in rows]
    return {ids[0]: (), **{mine: (before,) for before, mine in pairwise(ids)}}


@pytest.mark.spec("1.1", "1.3")
def test_dependents_of_all_levels_are_blocked_by_the_failed_task() -> None:
    rows = [
        a_row(1, State.ESCALATED, reason="MAX_RETRIES", question="?"),
        a_row(2, open_needs=1),
        a_row(3, open_needs=1),
        a_row(4),
    ]
    needs = {**chain(*rows[:3]), rows[3].id: ()}
    asked = {rows[0].id: Question("?", (Choice.RETRY, Choice.ABORT))}

    view = build_run_view(RUN, rows, needs, is_idle=True, questions=asked)

    assert view.status is RunStatus.ESCALATED
    first, second, third, free = view.tasks
    assert (first.reason, first.choices) == ("MAX_RETRIES", ("retry", "abort"))
    for blocked in (second, third):
        assert (blocked.reason, blocked.blocked_by) == ("DEPENDENCY_FAILED", rows[0].id)
        assert blocked.next_command == f"yaoki answer {rows[0].id}"
    assert not free.blocked
    assert view.next_command == f"yaoki answer {rows[0].id}"


@pytest.mark.spec("1.3", "12.4")
@pytest.mark.parametrize(
    ("seconds", "is_carried", "words"),
    [
        (7, False, "no worker is running this run"),
        (7200, False, "next try "),
        (0.3, True, "waits for a free slot"),
    ],
)
def test_a_countdown_that_is_over_or_that_no_worker_awaits_is_not_shown(
    seconds: float, is_carried: bool, words: str
) -> None:
    row = a_row(1, due_at=NOW + timedelta(seconds=seconds))
    view = build_run_view(RUN, [row], {}, is_idle=False, is_carried=is_carried)

    assert describe_wait(view.tasks[0], NOW, {}).startswith(words)


@pytest.mark.spec("1.3", "12.4")
@pytest.mark.parametrize(
    ("row", "words"),
    [
        (a_row(2), "waits for a free slot"),
        (a_row(2, due_at=NOW + timedelta(seconds=7)), "next try in 7 s"),
        (a_row(2, State.ACTIVE), ""),
    ],
    ids=["slot", "date", "active"],
)
def test_a_waiting_task_names_its_cause(row: TaskRow, words: str) -> None:
    view = build_run_view(RUN, [a_row(1), row], {}, is_idle=False, is_carried=True)

    assert describe_wait(view.tasks[1], NOW, {}) == words


@pytest.mark.spec("1.3", "12.4")
@pytest.mark.parametrize(
    ("run", "words"),
    [
        (RUN, "no worker is running this run"),
        (replace(RUN, pause=Pause(PauseCause.BUDGET, "used up")), "the run is paused"),
    ],
    ids=["left", "paused"],
)
def test_each_task_of_a_stopped_run_names_the_reason(run: Run, words: str) -> None:
    view = build_run_view(run, [a_row(1), a_row(2, State.ACTIVE)], {}, is_idle=False)

    assert [describe_wait(task, NOW, {}) for task in view.tasks] == [words, words]


@pytest.mark.spec("1.3", "12.2")
def test_every_need_that_blocks_a_task_is_named() -> None:
    """Only the first one was: after it had been answered, another one appeared."""
    states = (State.ESCALATED, State.DONE, State.WAITING, State.ESCALATED, State.WAITING)
    rows = [a_row(n, state) for n, state in enumerate(states, 1)]
    needs = {rows[4].id: tuple(row.id for row in rows[:4])}

    view = build_run_view(RUN, rows, needs, is_idle=True)

    names = {str(row.id): row.name for row in rows}
    assert describe_wait(view.tasks[4], NOW, names) == "blocked by t1, t4"


@pytest.mark.spec("1.3")
def test_only_open_needs_are_named() -> None:
    rows = [a_row(1, State.DONE), a_row(2), a_row(3, open_needs=1)]
    needs = {rows[2].id: (rows[0].id, rows[1].id)}

    view = build_run_view(RUN, rows, needs, is_idle=False)

    names = {str(row.id): row.name for row in rows}
    assert describe_wait(view.tasks[2], NOW, names) == "needs t2"


@pytest.mark.spec("1.3", "8.3", "8.4")
@pytest.mark.parametrize(
    ("more", "words"),
    [
        (
            {},
            "one re-run follows when no other task can run, "
            "if other work has landed or another agent is left",
        ),
        (
            {"reason": "MAX_RETRIES_INTEGRATION"},
            "waits until no other task can run; its re-run from the run branch is used up",
        ),
        (
            {"parent": TaskId("run00001-2")},
            "waits until no other task can run; then its group is recovered",
        ),
    ],
    ids=["first", "used", "subtask"],
)
def test_a_task_that_awaits_its_rerun_names_the_next_step(more: dict[str, Any], words: str) -> None:
    view = build_run_view(
        RUN, [a_row(1, awaiting_rerun=True, **more)], {}, is_idle=False, is_carried=True
    )

    assert describe_wait(view.tasks[0], NOW, {}) == words


@pytest.mark.spec("5.5", "12.4")
@pytest.mark.parametrize(
    ("seconds", "words"),
    [
        (7, "waits for its account bot: its limit is reached; one task tries in 7 s"),
        (-1, "waits for its account bot: one task is trying it first"),
    ],
)
def test_a_task_that_waits_for_an_account_names_the_time(seconds: int, words: str) -> None:
    closed = AccountRow("bot", NOW + timedelta(seconds=seconds), "slower")
    view = build_run_view(
        RUN, [a_row(1, account="bot")], {}, is_idle=False, is_carried=True, closed_accounts=[closed]
    )

    assert describe_wait(view.tasks[0], NOW, {}) == words


@pytest.mark.spec("18.6", "12.4")
@pytest.mark.parametrize(
    ("due", "words"),
    [
        (1, "waits for its account bot: its limit is reached; one task tries in 2 min"),
        (120, "next try in 2 min"),
        (180, "next try in 3 min"),
    ],
)
def test_the_later_of_a_delay_and_a_closed_account_is_told(due: int, words: str) -> None:
    closed = AccountRow("bot", NOW + timedelta(minutes=2), "slower")
    row = a_row(1, account="bot", due_at=NOW + timedelta(seconds=due))
    view = build_run_view(RUN, [row], {}, is_idle=False, is_carried=True, closed_accounts=[closed])

    assert describe_wait(view.tasks[0], NOW, {}) == words


@pytest.mark.spec("18.6", "12.4")
@pytest.mark.parametrize(
    ("given", "minutes", "command"),
    [
        ({"due_at": NOW + timedelta(hours=3)}, None, "yaoki retry run00001-1"),
        ({"due_at": NOW + timedelta(seconds=59)}, None, ""),
        ({"due_at": NOW - timedelta(hours=3)}, None, ""),
        ({"due_at": NOW - timedelta(hours=3)}, 5, "yaoki retry run00001-1"),
        ({}, 5, "yaoki retry run00001-1"),
        ({}, -1, ""),
        ({"stage": "VERIFY"}, 5, ""),
        ({"awaiting_rerun": True}, 5, ""),
        ({"state": State.ACTIVE}, 5, ""),
    ],
)
def test_a_long_wait_for_an_account_or_a_delay_names_the_command_that_ends_it(
    given: dict[str, Any], minutes: int | None, command: str
) -> None:
    until = NOW + timedelta(minutes=minutes or 0)
    closed = [AccountRow("bot", until, "slower")] if minutes is not None else []
    row = a_row(1, account="bot", **given)
    (task,) = build_run_view(RUN, [row], {}, is_idle=False, closed_accounts=closed).tasks

    assert end_wait_command(task, NOW) == command


@pytest.mark.spec("18.6")
@pytest.mark.parametrize(
    ("problem", "reason", "words"),
    [
        (
            AccountProblem.KEY_MISSING,
            "agent 'bot': its variable KEY is not set (remedy: set KEY in yaoki's environment)",
            "agent 'bot': its variable KEY is not set (remedy: set KEY in yaoki's environment); "
            "a new run tries it again, and one task tries it in 5 min",
        ),
        (
            AccountProblem.KEY_REFUSED,
            "401",
            "its key was refused; give its agent a valid key, or log in again; "
            "a new run tries it again, and one task tries it in 5 min",
        ),
        (AccountProblem.RATE_LIMIT, "429", "its limit is reached; one task tries it in 5 min"),
        (AccountProblem.OUTAGE, "503", "its service does not answer; one task tries it in 5 min"),
    ],
)
def test_a_closed_account_says_why_and_when_it_is_tried(
    problem: AccountProblem, reason: str, words: str
) -> None:
    account = AccountRow("bot", NOW + timedelta(minutes=5), reason, problem=problem)

    assert describe_closed_account(account, NOW) == f"account bot is closed: {words}"
    assert bool(describe_refused_account(account, NOW)) is problem.needs_person
    assert describe_closed_account(replace(account, asking_task="run00001-2"), NOW) == ""


@pytest.mark.spec("18.6")
@pytest.mark.parametrize(
    ("problem", "words"),
    [
        (AccountProblem.KEY_REFUSED, "its key was refused; lexer asks a person"),
        (AccountProblem.NO_CREDIT, "its credit is used up; lexer asks a person"),
    ],
)
def test_a_task_whose_account_a_person_is_asked_about_names_the_question(
    problem: AccountProblem, words: str
) -> None:
    closed = AccountRow("bot", NOW, "401", "", problem, "run00001-2")
    view = build_run_view(
        RUN, [a_row(1, account="bot")], {}, is_idle=False, closed_accounts=[closed]
    )

    told = describe_wait(view.tasks[0], NOW, {"run00001-2": "lexer"})
    assert told == f"waits for its account bot: {words}"


@pytest.mark.spec("18.6")
@pytest.mark.parametrize(
    ("wait", "words"),
    [
        (timedelta(minutes=3, seconds=5), "in 3 min 5 s"),
        (timedelta(hours=11, minutes=56), "at 20:56, in 11 h 56 min"),
        (timedelta(hours=20), "at 05:00 tomorrow, in 20 h"),
        (timedelta(days=3), "at 09:00 on 2026-01-08, in 3 d"),
    ],
)
def test_a_moment_is_told_as_people_tell_it(wait: timedelta, words: str) -> None:
    now = datetime(2026, 1, 5, 9).astimezone()

    assert describe_moment(now + wait, now) == words


@pytest.mark.spec("18.6")
@pytest.mark.parametrize(
    ("wait", "words"),
    [
        (timedelta(minutes=3, seconds=5), "for 3 min 5 s"),
        (timedelta(hours=11, minutes=56), "until 20:56, in 11 h 56 min"),
    ],
)
def test_the_end_of_a_wait_is_a_time_of_day_or_a_span(wait: timedelta, words: str) -> None:
    now = datetime(2026, 1, 5, 9).astimezone()

    assert describe_wait_end(now + wait, now) == words


@pytest.mark.spec("9.6", "0.6")
def test_a_run_that_ended_incomplete_recommends_a_partial_merge() -> None:
    run = replace(RUN, cancel_requested=True)
    rows = [a_row(1, State.DONE, landed_commit="a" * 40), a_row(2, State.CANCELLED)]

    cut = build_run_view(run, rows, {}, is_idle=True)
    whole = build_run_view(run, rows[:1], {}, is_idle=True)

    assert cut.partial_merge_note == "not all tasks are done: the next command merges 1 of 2 tasks"
    assert whole.partial_merge_note == ""
    verified = build_run_view(replace(run, done_when=("tests",)), rows, {}, is_idle=True)
    assert verified.partial_merge_note == (
        "not all tasks are done: the next command verifies done_when and merges 1 of 2 tasks"
    )


@pytest.mark.spec("9.6", "0.6")
def test_only_the_proven_head_of_a_done_run_is_merged_with_git() -> None:
    """`git merge` runs no check: for a cancelled run it took in work that `yaoki merge` refuses."""
    rows = [a_row(1, State.DONE, landed_commit="a" * 40), a_row(2, State.CANCELLED)]
    cut = replace(RUN, cancel_requested=True)
    dirty = MergeObstacle("commit or stash it first", "git merge --ff-only yaoki/run00001")
    moved = MergeObstacle("commit or stash it first")
    revert = UnmergedRevert("main", ("run00001-1",), "yaoki merge run00001 --partial")
    merged = replace(RUN, merged_commit="b" * 40)

    def told(
        run: Run, rows: list[TaskRow], found: MergeObstacle, *reverts: UnmergedRevert
    ) -> tuple[str, str]:
        view = build_run_view(
            run, rows, {}, is_idle=True, merge_obstacle=lambda: found, reverts=reverts
        )
        return view.next_command, view.merge_obstacle

    assert told(RUN, rows[:1], dirty) == (dirty.by_hand, "")
    assert told(RUN, rows[:1], moved) == ("yaoki merge run00001", moved.words)
    assert told(cut, rows, dirty) == ("yaoki merge run00001 --partial", dirty.words)
    assert told(merged, rows[:1], dirty, revert) == (revert.next_command, dirty.words)


@pytest.mark.spec("9.4")
def test_a_required_task_is_answered_before_an_optional_one() -> None:
    rows = [a_row(1, State.ESCALATED, required=False), a_row(2, State.ESCALATED)]

    view = build_run_view(RUN, rows, {}, is_idle=True)

    assert view.next_command == f"yaoki answer {rows[1].id}"
    assert [note.row.n for note in view.unlanded_optional_tasks] == [1]


@pytest.mark.spec("12.4")
def test_a_failure_names_its_first_item() -> None:
    items: list[dict[str, Any]] = [{"name": "test_x", "message": "1 != 2"}, {"name": "test_y"}]
    failure = {"kind": "QUALITY_FAILURE", "pattern": "test-failed", "message": "m", "items": items}

    assert failure_words(failure) == "test_x: 1 != 2 and 1 more (tests failed)"
    items += [{"name": "and 1,230 more", "more": 1230}]
    assert failure_words(failure) == "test_x: 1 != 2 and 1,231 more (tests failed)"
    del items[2]
    end = {"agent_end": "the agent ended with exit code 2: bad option"}
    ended = "test_x: 1 != 2 and 1 more; the agent ended with exit code 2: bad option (tests failed)"
    assert failure_words({**failure, **end}) == ended
    assert failure_words({"kind": "LOST", "message": "cut off", **end}) == "cut off"
    unrecognised = {"check": "build", "message": "exit code 1", "pattern": "check-failed"}
    assert failure_words(unrecognised) == "build: exit code 1 (a check failed)"


@pytest.mark.spec("8.4", "12.4")
@pytest.mark.parametrize(
    ("blocked", "rule", "words"),
    [
        ("MAX_RETRIES", "8.4", "out of retries; nothing landed, so there is no re-run"),
        ("MAX_RETRIES", "5.1", "out of retries"),
        (
            "MAX_RETRIES_INTEGRATION",
            "8.4",
            "out of retries, including the re-run",
        ),
        (
            "CONFLICT",
            "5.1",
            "in conflict with other work; a conflict gets no re-run from the run branch",
        ),
    ],
)
def test_the_line_that_ends_the_retries_says_why_no_last_try_follows(
    blocked: str, rule: str, words: str
) -> None:
    data = {
        "failure": {"message": "1 != 2"},
        "blocked": blocked,
        "reason": {"description": "nothing landed, so there is no re-run"},
        "why": {"rule": rule},
    }

    line = describe_entry(JournalEntry(1, NOW, "run00001", "", 0, "ESCALATE_DECISION", data))

    assert line == f"needs you: 1 != 2 ({words})"


@pytest.mark.spec("4.6", "8.4", "12.4")
def test_the_line_of_a_question_names_the_futile_attempts_that_ended_the_retries() -> None:
    data = {
        "failure": {"message": "1 != 2"},
        "blocked": "MAX_RETRIES",
        "reason": {"description": "nothing landed"},
        "why": {"rule": "8.4", "inputs": {"retries_ended": "the same failure 3 times"}},
    }

    line = describe_entry(JournalEntry(1, NOW, "run00001", "", 0, "ESCALATE_DECISION", data))

    assert line == "needs you: 1 != 2 (the same failure 3 times; nothing landed)"


@pytest.mark.spec("4.6", "8.4", "12.4")
@pytest.mark.parametrize(
    ("blocked", "rule", "words"),
    [
        ("MAX_RETRIES", "5.1", "out of retries; one re-run follows when "),
        ("MAX_RETRIES", "4.6", "the same failure 3 times in a row; one re-run follows when "),
        ("MAX_RETRIES_INTEGRATION", "8.4", "out of retries; its re-run from the run branch is"),
    ],
)
def test_the_line_before_a_last_try_names_what_ended_the_retries(
    blocked: str, rule: str, words: str
) -> None:
    data = {
        "failure": {"message": "1 != 2"},
        "blocked": blocked,
        "why": {"rule": rule, "inputs": {"reasoning": "the same failure 3 times in a row"}},
    }

    line = describe_entry(JournalEntry(1, NOW, "run00001", "", 0, "RERUN_HELD", data))

    assert line.startswith(f"failed: 1 != 2; {words}")


@pytest.mark.spec("12.4", "10.4")
@pytest.mark.parametrize(("reason", "shown"), [("MAX_RETRIES", ""), ("MANUAL", "MANUAL")])
def test_a_task_that_was_given_up_loses_the_reason_of_its_question(reason: str, shown: str) -> None:
    rows = [a_row(1, State.CANCELLED, reason=reason), a_row(2, State.ESCALATED, reason=reason)]

    view = build_run_view(RUN, rows, {}, is_idle=True)

    assert [task.reason for task in view.tasks] == [shown, reason]


@pytest.mark.spec("12.4", "4.4")
@pytest.mark.parametrize(
    ("event", "data", "words"),
    [
        (
            "CHECK_FINISHED",
            {"check": "Q2", "outcome": "FAILED", "seconds": 0, "message": "TODO"},
            "check Q2 (notes of work to do) FAILED: TODO",
        ),
        (
            "ESCALATE_DECISION",
            {"failure": {"check": "Q5", "message": "nothing"}, "blocked": "NEEDS_HUMAN"},
            "needs you: Q5 (no evidence): nothing",
        ),
        (
            "ESCALATION_ANSWERED",
            {"choice": "waive", "check": "Q4"},
            "answered: waive Q4 (broken syntax)",
        ),
    ],
)
def test_a_quality_criterion_is_named_in_words(
    event: str, data: dict[str, Any], words: str
) -> None:
    assert describe_entry(JournalEntry(1, NOW, "run00001", "", 0, event, data)) == words
    assert {*CRITERIA_NAMES} == {*a_spec().quality}


@pytest.mark.spec("12.4", "4.2")
@pytest.mark.parametrize(
    ("failure", "words"),
    [
        ({"kind": "TRANSIENT_ERROR"}, "it ended"),
        ({"kind": "TIMEOUT"}, "it ended"),
        ({"kind": "TRANSIENT_ERROR", "ours": True}, "tests: it ended"),
        ({"kind": "QUALITY_FAILURE"}, "tests: it ended"),
    ],
)
def test_the_end_of_an_agent_is_not_told_as_the_failure_of_a_check(
    failure: dict[str, Any], words: str
) -> None:
    """The check is red because the agent did not finish."""
    assert failure_words({"check": "tests", "message": "it ended", **failure}) == words


@pytest.mark.spec("12.1", "11.8")
@pytest.mark.parametrize(
    ("place", "hosts", "told"),
    [
        ("desk", (), False),
        ("desk", ("desk",), False),
        ("desk", ("other",), True),
        ("other", (), True),
        ("desk:clone1", (), True),
        ("desk:clone1", ("desk:clone1",), False),
    ],
)
def test_a_task_waits_for_a_certain_machine_only_if_there_are_several(
    place: str, hosts: tuple[str, ...], told: bool
) -> None:
    """On a single machine no worker runs at all, as for any other task."""
    live = [WorkerSeen(WorkerInfo(f"{host}:1", host, host, 1), NOW, NOW) for host in hosts]

    words = why_not_taken(a_row(1, worktree_host=place), live, here=lambda: "desk")

    where = f"waits for a worker on {place}, where its worktree is; none runs there"
    assert words == (where if told else "")


@pytest.mark.spec("12.4")
def test_an_unknown_event_has_no_description() -> None:
    assert describe_entry(JournalEntry(1, NOW, "run00001", "", 0, "SOMETHING_NEW", {"x": 1})) == ""


@pytest.mark.spec("12.1")
@pytest.mark.parametrize(
    ("event", "key"), [("RUN_PAUSED", "why"), ("WARNING", "message")], ids=["pause", "warning"]
)
def test_a_command_in_a_journal_line_is_not_shortened(event: str, key: str) -> None:
    command = f"git update-ref refs/heads/yaoki/run00001 {'1234567890' * 4}"
    words = f"branch: {'somebody else moved it ' * 20}; put it back: {command}"

    shown = story_line(JournalEntry(1, NOW, "run00001", "", 0, event, {key: words}), "run")

    assert shown.endswith(command)


@pytest.mark.spec("18.4", "0.4")
@pytest.mark.parametrize(
    ("checks", "words"),
    [
        ((), " by the judge of its race, if each round is a tie and the judge is interrupted"),
        (
            (CheckSpec("review", agent=an_agent(), ask="Is it good?"),),
            " by judges, if every answer is invalid and the branch moves",
        ),
    ],
    ids=["race", "check"],
)
def test_the_worst_case_names_the_judges(checks: tuple[CheckSpec, ...], words: str) -> None:
    rules = RaceRules(2, until=RaceEnd.ALL, judge="careful")
    spec = a_spec(agents=(an_agent(),), checks=checks, race=rules)

    told = TaskBound(1, spec, worst_case(spec)).bound_words

    assert told.endswith(words)
