"""One fold of the journal: attempts, stages, waits and answers, for every screen."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.views.test_views import a_row
from yaoki.core.model import PERSON_AGENT, RefusalCause, Stage, State
from yaoki.ports import JournalEntry
from yaoki.views.decisions import DecisionKind
from yaoki.views.entry_text import describe_entry
from yaoki.views.history import (
    AgentUsage,
    AttemptEnd,
    AttemptSpan,
    StageSpan,
    WaitCause,
    build_history,
    build_run_history,
)
from yaoki.views.history.check_runs import describe_check_runs, sum_check_runs
from yaoki.views.history.races import describe_candidate, name_open_candidates
from yaoki.views.plain_words import REFUSALS

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)
FAILURE = {"kind": "QUALITY_FAILURE", "message": "no", "pattern": "test-failed"}


def at(seconds: float) -> datetime:
    return NOON + timedelta(seconds=seconds)


def entry(seq: int, event: str, number: int = 0, /, **data: Any) -> JournalEntry:
    """One second after the entry before."""
    return JournalEntry(seq, at(seq), "r", "r-1", number, event, data)


def retry(seq: int, attempt: int, stage: str = "PREPARE") -> JournalEntry:
    why = {"rule": "5.1", "inputs": {"count": 1}, "otherwise": ["escalate"]}
    due = at(seq + 2).isoformat()
    told = {"failure": FAILURE, "stage": stage, "due_at": due, "delay_ms": 2000, "why": why}
    return entry(seq, "RETRY_DECISION", attempt, reasoning="try again", **told)


def ran(seq: int, purpose: str, seconds: float, check: str = "tests") -> JournalEntry:
    runs = [{"check": check, "purpose": purpose, "count": 1, "seconds": seconds}]
    return entry(seq, "CHECKS_RAN", 1, runs=runs)


@pytest.mark.spec("12.1")
@pytest.mark.parametrize(
    "given_up",
    [
        entry(3, "LEASE_RELEASED", 1, why="its predecessor did not land"),
        entry(3, "JOINT_PROOF_FAILED", 1, commit="c", tasks=["x"], why="no"),
        entry(3, "WARNING", 1, message="its checks were changed while they ran"),
    ],
)
def test_executions_of_a_verification_without_a_verdict_are_void(given_up: JournalEntry) -> None:
    story = [
        entry(1, "TASK_CLAIMED"),
        ran(2, "candidate", 1.0),
        given_up,
        entry(4, "TASK_CLAIMED"),
        ran(5, "candidate", 2.0),
        ran(6, "bisection", 4.0),
        entry(7, "QUALITY_JUDGMENT", 1, passed=False),
    ]
    if given_up.event == "WARNING":
        del story[3]

    runs = build_history(story).check_runs

    assert [(run.seconds, run.is_void) for run in runs] == [(1, True), (2, False), (4, False)]
    words = (
        "3 executions, of which 1 to find the landing that broke it (4 s),"
        " 1 that do not count, because other work landed or failed first (1 s)"
    )
    assert describe_check_runs(runs) == words


@pytest.mark.spec("12.1")
def test_executions_for_a_commit_that_could_not_land_are_void() -> None:
    story = [
        entry(1, "TASK_CLAIMED"),
        ran(2, "candidate", 1.0),
        entry(3, "QUALITY_JUDGMENT", 1, passed=True, commit="c1"),
        entry(4, "LAND_REFUSED", 1, head="h"),
        ran(5, "candidate", 2.0),
        entry(6, "QUALITY_JUDGMENT", 1, passed=True, commit="c2"),
        entry(7, "TASK_LANDED", 1, commit="c2"),
    ]

    assert [run.is_void for run in build_history(story).check_runs] == [True, False]


@pytest.mark.spec("12.3")
@pytest.mark.parametrize(
    ("data", "words"),
    [
        ({}, "the run branch moved to 0123456789"),
        (
            {"cause": "predecessor"},
            "the work of another task, on top of which its checks had run, did not land",
        ),
        (
            {"cause": "waited"},
            "it enters the merge queue behind tasks that have not landed yet",
        ),
        (
            {"why": "of an older journal"},
            "a task whose work was checked together with its own was withdrawn",
        ),
    ],
)
def test_a_refused_landing_says_its_cause(data: dict[str, str], words: str) -> None:
    refused = entry(1, "LAND_REFUSED", 1, head="0123456789abcdef", **data)

    assert describe_entry(refused) == f"{words}; its checks run again"


@pytest.mark.spec("12.1")
def test_an_agent_that_could_not_be_started_has_no_exit_code_and_no_duration() -> None:
    ended = entry(1, "AGENT_FINISHED", 1, exit={"start_fault": "no such program"})

    assert describe_entry(ended) == "the agent could not be started"


@pytest.mark.spec("12.3")
def test_every_cause_of_a_refused_landing_has_words() -> None:
    assert set(REFUSALS) == set(RefusalCause)


@pytest.mark.spec("12.1")
def test_a_journal_without_executions_counts_the_results_and_their_reruns() -> None:
    told = {"check": "tests", "outcome": "FAILED", "commit": "c", "seconds": 1.5}
    story = [
        entry(1, "TASK_CLAIMED"),
        entry(2, "CHECK_FINISHED", 1, **told, rerun_seconds=[1.0, 2.0]),
    ]

    assert sum_check_runs(build_history(story).check_runs) == (3, 4.5)


STORY = (
    entry(1, "TASK_SUBMITTED", spec={"name": "t", "needs": ["other"]}),
    entry(2, "TASK_CLAIMED"),
    entry(3, "ATTEMPT_STARTED", 1, attempt=1, agent="small", base="b0", fresh=True),
    entry(4, "PROMPT_SENT", 1),
    entry(5, "AGENT_FINISHED", 1, exit={"seconds": 1.5, "cost": 0.25, "session": "s1"}),
    entry(6, "CHECK_FINISHED", 1, check="tests", outcome="FAILED", commit="c1", seconds=0.5),
    retry(7, 1),
    entry(8, "TASK_CLAIMED", 1),
    entry(9, "ATTEMPT_STARTED", 2, attempt=2, agent="big", base="b0", fresh=True),
    entry(10, "AGENT_FINISHED", 2, exit={"seconds": 2.0, "signal": 11}),
    entry(11, "CHECK_FINISHED", 2, check="tests", outcome="PASSED", commit="c2", tests=3),
    entry(12, "ESCALATE_DECISION", 2, failure=FAILURE, blocked="MAX_RETRIES", stage="VERIFY"),
    entry(13, "ESCALATE_EXECUTED", 2, user_message="May it pass?"),
    entry(14, "ESCALATION_ANSWERED", 2, choice="waive", check="tests", how="page"),
    entry(15, "TASK_CLAIMED", 2),
    entry(16, "QUALITY_JUDGMENT", 2, passed=True, commit="c2", onto="b0"),
    entry(17, "TASK_LANDED", 2, commit="c2"),
)


def test_attempts_have_their_agent_stages_checks_and_end() -> None:
    first, second = build_history(STORY).attempts

    assert (first.number, first.agent, first.start, first.started_at) == (1, "small", at(2), at(3))
    assert (first.end, first.until, first.landed) == (AttemptEnd.RETRY, at(7), False)
    assert [(span.stage, span.start, span.until) for span in first.stages] == [
        ("PREPARE", at(2), at(3)),
        ("WORK", at(3), at(5)),
        ("VERIFY", at(5), at(7)),
    ]
    assert [(run.cost, run.session) for run in first.agent_runs] == [(0.25, "s1")]
    assert [(check.check, check.words) for check in second.checks] == [("tests", "PASSED, 3 tests")]
    assert [run.abnormal_end for run in second.agent_runs] == ["signal 11"]
    assert (second.end, second.landed) == (AttemptEnd.LANDED, True)
    assert second.end_words == "landed c2"


def test_waits_have_their_cause_and_end_with_the_claim() -> None:
    history = build_history(STORY)

    assert [(wait.cause, wait.start, wait.until) for wait in history.waits] == [
        (WaitCause.NEEDS, at(1), at(2)),
        (WaitCause.BACKOFF, at(7), at(8)),
        (WaitCause.PERSON, at(12), at(14)),
        (WaitCause.SLOT, at(14), at(15)),
    ]
    assert history.current_wait is None
    assert [wait.after_failure for wait in history.waits] == [False, True, False, False]
    assert [wait.starts_attempt for wait in history.waits] == [True, True, False, False]


def test_decisions_questions_and_answers_are_recorded() -> None:
    history = build_history(STORY)

    retried, escalated = history.decisions
    assert (retried.decision, retried.rule, retried.reasoning) == (
        DecisionKind.RETRY,
        "5.1",
        "try again",
    )
    assert (escalated.decision, escalated.failure_kind) == (
        DecisionKind.ESCALATE,
        "QUALITY_FAILURE",
    )
    (wait,) = history.person_waits
    assert (wait.attempt, wait.at, wait.until, wait.choice) == (2, at(12), at(14), "waive")
    (answer,) = history.answers
    assert (answer.choice, answer.check, answer.channel) == ("waive", "tests", "page")
    assert history.question == "May it pass?"


def test_a_judgment_has_the_checks_of_exactly_its_commit() -> None:
    (judgment,) = build_history(STORY).judgments

    assert (judgment.commit, [check.outcome for check in judgment.checks]) == ("c2", ["PASSED"])


@given(st.integers(0, len(STORY)))
def test_a_history_that_is_continued_equals_one_that_is_built_at_once(cut: int) -> None:
    history = build_history(STORY[:cut])
    for line in STORY[cut:]:
        history.add(line)

    assert history == build_history(STORY)


@pytest.mark.parametrize(
    ("event", "data", "end", "cause"),
    [
        ("LEASE_EXPIRED", {"why": "its holder is dead"}, AttemptEnd.EXPIRED, WaitCause.LEASE),
        ("LEASE_RELEASED", {"why": "no port is free"}, AttemptEnd.RELEASED, WaitCause.SLOT),
        # No account is limited: the page said so of a task that was to be verified again.
        ("LEASE_RELEASED", {"due_at": at(3).isoformat()}, AttemptEnd.RELEASED, WaitCause.SLOT),
        ("LEASE_RELEASED", {"due_at": at(90).isoformat()}, AttemptEnd.RELEASED, WaitCause.BACKOFF),
    ],
)
def test_an_attempt_continues_with_the_next_worker(
    event: str, data: dict[str, Any], end: AttemptEnd, cause: WaitCause
) -> None:
    history = build_history([*STORY[:4], entry(5, event, 1, **data)])
    (attempt,) = history.attempts
    assert (attempt.end, attempt.end.is_conclusion) == (end, False)
    assert history.current_wait is not None
    assert history.current_wait.cause is cause

    history.add(entry(6, "TASK_CLAIMED", 1))

    (attempt,) = history.attempts
    assert (attempt.end, attempt.until) == (AttemptEnd.OTHER, None)
    assert attempt.stages[-1].stage == "WORK"


def test_a_returned_task_has_its_reason_until_it_is_claimed() -> None:
    history = build_history([*STORY[:2], entry(3, "LEASE_RELEASED", why="no port is free")])
    assert history.return_reason == "no port is free"

    history.add(entry(4, "TASK_CLAIMED"))

    assert history.return_reason == ""


def test_a_failure_before_the_worktree_is_ready_does_not_change_the_attempt_before() -> None:
    """Until an attempt has started, the journal still gives the number of the one before."""
    history = build_history([*STORY[:7], entry(8, "TASK_CLAIMED", 1), retry(9, 1)])

    first, claim = history.attempts
    assert (first.number, first.until) == (1, at(7))
    assert (claim.number, claim.end) == (0, AttemptEnd.RETRY)
    assert list(history.numbered_attempts) == [1]


@pytest.mark.parametrize(
    ("event", "data", "words"),
    [
        ("TASK_CANCELLED", {"why": "cancelled by ann"}, "CANCELLED by ann"),
        ("TASK_CANCELLED", {}, "CANCELLED"),
        ("TASK_REPLACED", {"by": "r-9"}, "REPLACED by r-9"),
        ("TASK_REPLACED", {"by": "", "why": "work was undone"}, "REPLACED: work was undone"),
        ("ESCALATION_ANSWERED", {"choice": "abort"}, "CANCELLED: a person answered abort"),
    ],
)
def test_a_removed_task_has_its_reason(event: str, data: dict[str, Any], words: str) -> None:
    history = build_history([*STORY[:3], entry(4, event, 1, **data)])

    assert history.removal is not None
    assert (history.removal.at, history.removal.words) == (at(4), words)
    assert history.current_wait is None


@pytest.mark.parametrize(
    ("event", "data", "words"),
    [
        (
            "ESCALATION_ANSWERED",
            {"choice": "abort"},
            "CANCELLED: a person undid its landing and then gave it up",
        ),
        (
            "TASK_CANCELLED",
            {"why": "cancelled by ann"},
            "CANCELLED by ann; a person had undone its landing before",
        ),
    ],
)
def test_a_task_that_was_undone_and_given_up_says_both(
    event: str, data: dict[str, Any], words: str
) -> None:
    undone = entry(4, "TASK_UNDONE", 1, commit="c" * 40)
    retried = entry(5, "ESCALATION_ANSWERED", 1, choice="retry")
    ending = entry(6, event, 1, **data)

    history = build_history([*STORY[:3], undone, ending])
    after_retry = build_history([*STORY[:3], undone, retried, ending])

    assert history.removal is not None
    assert history.removal.words == words
    assert after_retry.removal is not None
    assert "undid" not in after_retry.removal.words
    assert "undone" not in after_retry.removal.words


def test_an_agent_run_counts_from_its_start_and_an_unreported_cost_is_unknown() -> None:
    usage = AgentUsage()
    for line in STORY:
        usage.add(line)

    assert (usage.runs, usage.known_cost, usage.cost_unknown_runs) == (2, 0.25, 1)
    assert (usage.known_tokens, usage.tokens_unknown_runs) == (None, 2)
    assert usage.seconds == 3.5


def test_the_work_of_a_person_is_not_counted_as_an_agent_run() -> None:
    usage = AgentUsage()
    usage.add(entry(1, "ATTEMPT_STARTED", 1, attempt=1, agent=PERSON_AGENT))
    usage.add(entry(2, "AGENT_FINISHED", 1, exit={"seconds": 60.0}))

    assert usage.runs == 0


def test_the_history_of_a_run_has_its_tasks_its_answers_and_its_usage() -> None:
    history = build_run_history(STORY)

    assert list(history.tasks) == ["r-1"]
    assert history.tasks["r-1"] == build_history(STORY)
    assert [answer.choice for answer in history.answers] == ["waive"]
    assert (history.usage.runs, history.last_at) == (2, at(17))


def test_an_entry_returns_the_intervals_that_it_ends() -> None:
    history = build_history(STORY[:6])

    stage, attempt = history.add(STORY[6])

    assert isinstance(stage.interval, StageSpan)
    assert isinstance(attempt.interval, AttemptSpan)
    assert (stage.interval.stage, stage.interval.seq) == ("VERIFY", 5)
    assert stage.interval.error == "QUALITY_FAILURE: no"
    assert (attempt.interval.number, attempt.interval.seq) == (1, 2)
    assert (attempt.interval.start, attempt.interval.until) == (at(2), at(7))
    assert attempt.interval.failure is not None
    assert attempt.interval.failure.pattern == "test-failed"


def test_a_lost_worker_does_not_conclude_an_attempt() -> None:
    history = build_history(STORY[:4])

    ended = history.add(entry(5, "LEASE_EXPIRED", 1, why="its holder is dead"))
    assert [type(one.interval) for one in ended] == [StageSpan]
    history.add(entry(6, "TASK_CLAIMED", 1))
    *_, concluded = history.add(entry(7, "TASK_CANCELLED", 1))

    assert isinstance(concluded.interval, AttemptSpan)
    assert (concluded.interval.start, concluded.interval.end) == (at(2), AttemptEnd.CANCELLED)
    assert not concluded.interval.is_continued


def test_an_answer_continues_an_attempt_in_a_span_of_its_own() -> None:
    history = build_history(STORY[:-1])

    *_, concluded = history.add(STORY[-1])

    assert isinstance(concluded.interval, AttemptSpan)
    assert (concluded.interval.number, concluded.interval.start) == (2, at(15))
    assert concluded.interval.is_continued
    assert concluded.interval.landed_commit == "c2"
    assert history.is_over


# ------------------------------------------------------------------ races


def settled(seq: int, candidate: str, outcome: str, **more: Any) -> JournalEntry:
    told = {"candidate": candidate, "name": f"a~1.{candidate[-1]}", "agent": "small"}
    return entry(seq, "CANDIDATE_SETTLED", 1, **told, outcome=outcome, **more)


RACE = (
    entry(1, "TASK_SUBMITTED", spec={"name": "a"}),
    entry(2, "TASK_CLAIMED"),
    entry(3, "ATTEMPT_STARTED", 1, attempt=1, agent="", base="b0", fresh=True),
    entry(4, "RACE_STARTED", 1, candidates=["r-2", "r-3"]),
    settled(5, "r-2", "failed", score={"failed_checks": 2, "cost": 0.5}, message="tests: no"),
)
DECIDED = (
    settled(6, "r-3", "proven", score={"failed_checks": 0, "changed_lines": 4}, head="h3"),
    entry(
        7,
        "RACE_DECIDED",
        1,
        winner="r-3",
        criterion="only",
        work={"base": "b1", "head": "h3"},
        why={"rule": "18.4", "inputs": {"winner": "a~1.3"}, "otherwise": ["another"]},
    ),
    entry(8, "TASK_CLAIMED", 1),
    entry(9, "TASK_LANDED", 1, commit="c"),
)


@pytest.mark.spec("18.4")
def test_a_race_has_its_candidates_with_their_values_and_what_decided() -> None:
    (race,) = build_history((*RACE, *DECIDED)).races.rounds

    assert race.words == "a~1.3 won: no other candidate passed its checks"
    assert [describe_candidate(one, race.winner) for one in race.candidates] == [
        "a~1.2 (small): failed; failed checks 2, cost $0.50; tests: no",
        "a~1.3 (small): proven, won; changed lines 4",
    ]
    assert (race.attempt, race.decided_at) == (1, at(7))


@pytest.mark.spec("18.4")
def test_a_candidate_that_never_began_is_not_started() -> None:
    last = settled(6, "r-3", "not-started")

    (race,) = build_history((*RACE, last)).races.rounds

    assert describe_candidate(race.candidates[1], "") == "a~1.3 (small): not started"


@pytest.mark.spec("18.4")
def test_an_open_race_says_how_many_candidates_have_ended() -> None:
    (race,) = build_history(RACE).races.rounds

    assert race.words == "1 of 2 candidates have ended"
    assert describe_candidate(race.candidates[1], race.winner) == "r-3: at work or waiting"


@pytest.mark.spec("18.4", "12.4")
@pytest.mark.parametrize(
    ("state", "stage", "words"),
    [
        (State.ACTIVE, Stage.WORK, "at work"),
        (State.ACTIVE, Stage.PREPARE, "at work or waiting"),
        (State.WAITING, Stage.PREPARE, "at work or waiting"),
    ],
)
def test_a_candidate_at_work_has_its_name_and_its_agent(
    state: State, stage: Stage, words: str
) -> None:
    """Only the end of a candidate names it in the journal of the racing task."""
    row = a_row(3, state, name="a~1.2", agent="small", stage=stage)
    (race,) = build_history(RACE).races.rounds

    named = name_open_candidates(race, {"r-3": row})

    assert [describe_candidate(one, "") for one in named.candidates] == [
        "a~1.2 (small): failed; failed checks 2, cost $0.50; tests: no",
        f"a~1.2 (small): {words}",
    ]
    assert named.candidates[1].has_agent is (words == "at work")


JUDGE_CALLED = entry(
    6,
    "JUDGE_CALLED",
    1,
    agent="careful",
    judge="r-4",
    works=[{"candidate": f"r-{n}", "name": f"a~1.{n}", "base": "b", "head": "h"} for n in (3, 2)],
)


@pytest.mark.spec("18.4")
@pytest.mark.parametrize(
    ("settled", "words"),
    [
        ((), "judge careful compares the candidates (A is a~1.3, B is a~1.2)"),
        (
            ({"judge": "r-4", "judgment": {"choice": "B", "reason": "it is simple"}},),
            "judge careful chose B (A is a~1.3, B is a~1.2): it is simple",
        ),
        (
            ({"judge": "r-4", "message": "its agent failed"},),
            "judge careful decided nothing (A is a~1.3, B is a~1.2): its agent failed",
        ),
        (
            ({"judge": "r-1", "message": "it was stopped"},),
            "judge careful compares the candidates (A is a~1.3, B is a~1.2)",
        ),
    ],
    ids=["asked", "chose", "nothing", "of-an-earlier-round"],
)
def test_the_judge_of_a_race_is_told_with_its_letters(
    settled: tuple[dict[str, Any], ...], words: str
) -> None:
    ends = (entry(7, "JUDGE_SETTLED", 1, agent="careful", **data) for data in settled)
    (race,) = build_history((*RACE, JUDGE_CALLED, *ends)).races.rounds

    assert race.judge is not None
    assert race.judge.words == words
    assert race.judge.letters["B"] == ("r-2", "a~1.2")


@pytest.mark.spec("18.4")
def test_a_judge_that_could_not_be_asked_is_told_with_the_reason() -> None:
    unasked = entry(6, "JUDGE_SETTLED", 1, judge="", agent="careful", message="it is closed")

    (race,) = build_history((*RACE, unasked)).races.rounds

    assert race.judge is not None
    assert race.judge.words == "judge careful decided nothing: it is closed"


@pytest.mark.spec("18.4")
@pytest.mark.parametrize(
    ("data", "end"),
    [
        ({"judgment": {"choice": "A", "reason": "it is simple"}}, AttemptEnd.ANSWERED),
        ({"failure": FAILURE}, AttemptEnd.FAILED),
        ({}, AttemptEnd.STOPPED),
    ],
)
def test_the_end_of_a_judge_is_told_with_its_race(data: dict[str, Any], end: AttemptEnd) -> None:
    history = build_history(
        (
            entry(
                1, "TASK_SUBMITTED", spec={"name": "a~1.judge", "kind": "judge"}, race_task="r-9"
            ),
            entry(2, "TASK_CLAIMED"),
            entry(3, "ATTEMPT_STARTED", 1, attempt=1, agent="x", base="b0", fresh=True),
            entry(4, "JUDGE_ENDED", 1, **data),
        )
    )

    assert history.waits[0].cause is WaitCause.SLOT
    assert history.attempts[-1].end is end
    assert history.removal is not None
    assert history.removal.words == "REPLACED: it has judged the race of r-9"
    assert history.is_over


@pytest.mark.spec("18.4", "12.1")
def test_a_race_is_one_attempt_with_a_wait_for_its_candidates() -> None:
    history = build_history((*RACE, *DECIDED))

    (attempt,) = history.attempts
    assert (attempt.number, attempt.base, attempt.head, attempt.landed) == (1, "b1", "h3", True)
    assert [(wait.cause, wait.until) for wait in history.waits] == [
        (WaitCause.SLOT, at(2)),
        (WaitCause.RACE, at(7)),
        (WaitCause.SLOT, at(8)),
    ]
    (decision,) = history.decisions
    assert (decision.decision, decision.rule) == (DecisionKind.RACE, "18.4")
    assert decision.reasoning == "candidate a~1.3 won: no other candidate passed its checks"


@pytest.mark.spec("18.4")
@pytest.mark.parametrize(
    ("ends", "end", "words"),
    [
        (
            (entry(4, "CANDIDATE_FAILED", 1, failure=FAILURE),),
            AttemptEnd.FAILED,
            "REPLACED: it failed: no (tests failed)",
        ),
        (
            (entry(4, "CANDIDATE_RETIRED", 1, why="its race is over"),),
            AttemptEnd.STOPPED,
            "REPLACED: the race of r-9 is over",
        ),
        (
            (
                entry(4, "CANDIDATE_PROVEN", 1, score={}),
                entry(5, "CANDIDATE_RETIRED", 1, why="it won its race", won=True),
            ),
            AttemptEnd.PROVEN,
            "REPLACED: it won the race of r-9",
        ),
    ],
)
def test_the_end_of_a_candidate_is_told_with_its_race(
    ends: tuple[JournalEntry, ...], end: AttemptEnd, words: str
) -> None:
    history = build_history(
        (
            entry(1, "TASK_SUBMITTED", spec={"name": "a~1.1"}, race_task="r-9"),
            entry(2, "CANDIDATE_RELEASED"),
            entry(2, "TASK_CLAIMED"),
            entry(3, "ATTEMPT_STARTED", 1, attempt=1, agent="x", base="b0", fresh=True),
            *ends,
        )
    )

    assert history.attempts[-1].end is end
    assert history.removal is not None
    assert history.removal.words == words
    assert history.is_over
