"""The blind judge of a race: when it is asked, what its answer decides, and how it ends (18.4)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from tests.builders import MINUTE, NOW, a_failure, a_spec, a_task, an_agent, an_exit
from tests.core.test_race import (
    IDS,
    MOMENT,
    a_candidate,
    a_racing_task,
    events_of,
    failed,
    follow,
    proven,
    unreleased,
)
from yaoki.core.decide.candidate import candidate_specs
from yaoki.core.decide.race import follow_race
from yaoki.core.decide.race_comparison import choose_winner
from yaoki.core.decide.race_judge import call_judge, decide_judge, end_judge, judge_spec
from yaoki.core.machine.events import (
    AgentFinished,
    AgentRunLost,
    Claimed,
    EscalationDecided,
    RetryDecided,
    Submitted,
    event_name,
)
from yaoki.core.machine.evolution import create_task, evolve, fold_events
from yaoki.core.machine.legality import legal
from yaoki.core.machine.race_events import JudgeCalled, JudgeEnded, JudgeSettled, RaceDecided
from yaoki.core.machine.request_events import CancelRequested
from yaoki.core.model import (
    GIT_CONFIG_CHECK,
    AccountClosure,
    AccountProblem,
    AgentLimit,
    ClosedAccount,
    ComparedWork,
    FailureKind,
    JudgingBrief,
    Lease,
    PendingRequest,
    RaceCriterion,
    RaceEnd,
    RaceJudgment,
    RaceRules,
    RaceStart,
    RunId,
    Spend,
    Stage,
    State,
    Task,
    TaskId,
    TaskKind,
    WaitReason,
    Work,
)
from yaoki.core.model.stage_report import (
    AgentLost,
    JudgeAnswered,
    StageFaulted,
    StageReport,
    WorkCommitted,
    WorkInterrupted,
)

pytestmark = pytest.mark.spec("18.4")

JUDGE = TaskId("run-5")
CAREFUL = an_agent("careful")


def a_judged_task(**rules: Any) -> Task:
    return a_racing_task(**{"until": RaceEnd.ALL, "judge": "careful", **rules})


def equals(*sizes: int) -> list[Task]:
    """Proven candidates that differ only in the size of their diffs."""
    made = [proven(n, changed_lines=size) for n, size in enumerate(sizes or (9, 5, 7), start=1)]
    return [
        replace(each, work=replace(each.work, base=f"base{n}"))
        for n, each in enumerate(made, start=1)
    ]


def called(task: Task, candidates: Sequence[Task]) -> JudgeCalled:
    found = events_of(task.id, follow_race(task, candidates, candidates[-1], MOMENT))
    (event,) = (event for event in found if isinstance(event, JudgeCalled))
    return event


def a_judge(candidates: Sequence[Task] = (), **fields: Any) -> Task:
    """One whose agent has ended well, and whose answer is to be read."""
    task = a_judged_task()
    spec = judge_spec(task, call_judge(task, "careful", candidates or equals()), (CAREFUL,))
    made = create_task(JUDGE, RunId("run"), Submitted(5, spec, race_task=task.id))
    active = {
        "state": State.ACTIVE,
        "stage": Stage.VERIFY,
        "epoch": 1,
        "attempt": 1,
        "lease": Lease(JUDGE, "host:1", 1, NOW + MINUTE),
        "work": Work(base="ba5e", head="ba5e", tree="tree", exit=an_exit(code=0)),
    }
    return replace(made, **{**active, **fields})


def ended(candidates: Sequence[Task], event: JudgeEnded, **fields: Any) -> Task:
    return evolve(a_judge(candidates, **fields), event)


def letter_of(candidates: Sequence[Task], winner: Task) -> str:
    works = call_judge(a_judged_task(), "careful", candidates).works
    return "ABC"[[work.candidate for work in works].index(winner.id)]


def judged(task: Task, candidates: Sequence[Task], judge: Task) -> tuple[JudgeSettled, RaceDecided]:
    waiting = evolve(task, replace(call_judge(task, "careful", candidates), judge=JUDGE))
    found = events_of(task.id, follow_race(waiting, candidates, judge, MOMENT))
    settled, decided = found
    assert isinstance(settled, JudgeSettled)
    assert isinstance(decided, RaceDecided)
    return settled, decided


# ------------------------------------------------------------------ when it is asked


def test_equal_candidates_are_shown_to_the_judge_once_all_have_ended() -> None:
    task, candidates = a_judged_task(), [*equals(9, 5), failed(3)]

    event = called(task, candidates)

    assert event.agent == "careful"
    assert set(event.works) == {
        ComparedWork(IDS[0], "login~1.1", "base1", "head1"),
        ComparedWork(IDS[1], "login~1.2", "base2", "head2"),
    }
    assert follow(task, candidates, candidates[-1]) == {
        task.id: ["CANDIDATE_SETTLED", "JUDGE_CALLED"]
    }


def test_no_judge_is_asked_while_a_candidate_works() -> None:
    first, second = equals(9, 5)

    assert follow(a_judged_task(), [first, second, a_candidate(3)], second) == {
        a_judged_task().id: ["CANDIDATE_SETTLED"]
    }


NOT_ASKED: dict[str, tuple[dict[str, Any], list[dict[str, Any]], RaceCriterion]] = {
    "no-judge": ({"judge": ""}, [{"cost": 2}, {"cost": 1}], RaceCriterion.COST),
    "first": ({"until": RaceEnd.FIRST}, [{}, {}], RaceCriterion.FIRST),
    "only": ({}, [{}], RaceCriterion.ONLY),
    "hidden": ({}, [{"hidden_failures": 1}, {"hidden_failures": 0}], RaceCriterion.HIDDEN_CHECKS),
    "mutants": ({}, [{"surviving_mutants": 2}, {"surviving_mutants": 1}], RaceCriterion.MUTANTS),
}


@pytest.mark.parametrize("case", NOT_ASKED)
def test_a_race_with_a_difference_before_the_judge_asks_none(case: str) -> None:
    rules, values, criterion = NOT_ASKED[case]
    candidates = [proven(n, **each) for n, each in enumerate(values, start=1)]
    task = a_judged_task(**rules)

    changes = follow_race(task, candidates, candidates[-1], MOMENT)

    names = [event_name(event) for event in events_of(task.id, changes)]
    assert not any(name.startswith("JUDGE") for name in names)
    decided = events_of(task.id, changes)[-1]
    assert isinstance(decided, RaceDecided)
    assert decided.criterion is criterion
    assert "judge" not in decided.why["inputs"]


def test_the_judge_sees_only_the_best_candidates() -> None:
    worse = proven(1, hidden_failures=1)
    first, second = (proven(n, hidden_failures=0) for n in (2, 3))

    works = called(a_judged_task(), [worse, first, second]).works

    assert {work.candidate for work in works} == {IDS[1], IDS[2]}


def test_a_race_after_failures_asks_about_those_that_started() -> None:
    """Without a failure only one candidate is proven, so none is asked."""
    task, first = a_judged_task(start=RaceStart.AFTER_FAILURE), proven(1)

    assert follow(task, [first, unreleased(2), unreleased(3)], first)[task.id][-1] == "RACE_DECIDED"


def test_the_order_of_the_letters_depends_on_the_race_and_not_on_the_numbers() -> None:
    candidates = equals()
    orders = set()
    for n in range(60):
        task = replace(a_judged_task(), id=TaskId(f"run-{n}"))
        works = call_judge(task, "careful", candidates).works
        assert works == call_judge(task, "careful", list(reversed(candidates))).works
        orders.add(tuple(work.candidate for work in works))
    assert len(orders) == 6


def test_the_letters_of_another_round_are_others() -> None:
    orders = {
        call_judge(replace(a_judged_task(), attempt=n), "careful", equals()).works
        for n in range(1, 20)
    }

    assert len(orders) > 1


# ------------------------------------------------------------------ what follows from its answer


@pytest.mark.parametrize("number", [1, 2, 3])
def test_the_choice_of_the_judge_decides_before_the_size_of_the_diff(number: int) -> None:
    candidates = equals()
    chosen = candidates[number - 1]
    choice = RaceJudgment(letter_of(candidates, chosen), "it is simple")

    settled, decided = judged(a_judged_task(), candidates, ended(candidates, JudgeEnded(choice)))

    assert settled == JudgeSettled(JUDGE, "careful", choice, chosen.id)
    assert (decided.winner, decided.criterion) == (chosen.id, RaceCriterion.JUDGE)
    assert decided.work.head == chosen.work.head
    told = {"judge": "careful", "choice": choice.choice, "reason": "it is simple"}
    assert told.items() <= decided.why["inputs"].items()
    assert decided.why["otherwise"] == ["another choice of the judge"]


def test_the_winner_and_the_others_end_with_the_answer() -> None:
    candidates = [*equals(9, 5), failed(3)]
    task = evolve(a_judged_task(), replace(called(a_judged_task(), candidates), judge=JUDGE))
    judge = ended(candidates[:2], JudgeEnded(RaceJudgment("A", "it is simple")))

    assert follow(task, candidates, judge) == {
        task.id: ["JUDGE_SETTLED", "RACE_DECIDED"],
        IDS[0]: ["CANDIDATE_RETIRED"],
        IDS[1]: ["CANDIDATE_RETIRED"],
    }


def test_a_judge_without_an_answer_leaves_the_decision_to_the_diff() -> None:
    candidates = equals()
    failure = a_failure(message="there is no JSON object in its answer")

    settled, decided = judged(
        a_judged_task(), candidates, ended(candidates, JudgeEnded(failure=failure))
    )

    assert (settled.candidate, settled.message) == ("", failure.message)
    assert (decided.winner, decided.criterion) == (IDS[1], RaceCriterion.DIFF)
    told = {"judge": "careful", "judge_decided_nothing": failure.message}
    assert told.items() <= decided.why["inputs"].items()


def test_a_letter_that_no_work_has_decides_nothing() -> None:
    candidates = equals()

    settled, decided = judged(
        a_judged_task(), candidates, ended(candidates, JudgeEnded(RaceJudgment("Z", "no")))
    )

    assert settled.candidate == ""
    assert decided.criterion is RaceCriterion.DIFF


def test_a_choice_among_worse_candidates_decides_nothing() -> None:
    worse, best = proven(1, surviving_mutants=2), proven(2, surviving_mutants=1)

    assert choose_winner([worse, best], worse.id) == (best, RaceCriterion.MUTANTS)


def test_what_the_judge_used_is_added_to_the_racing_task() -> None:
    candidates, used = equals(), Spend(money=0.5, tokens=7, seconds=2.0, attempts=1)
    judge = replace(ended(candidates, JudgeEnded()), spend=used)

    settled, _ = judged(a_judged_task(), candidates, judge)

    assert evolve(replace(a_judged_task(), spend=Spend(money=1.0)), settled).spend.money == 1.5


def test_a_judge_that_works_changes_nothing_in_its_race() -> None:
    assert follow(a_judged_task(), equals(), a_judge()) == {}


@pytest.mark.parametrize(
    "changes",
    [
        {"request": PendingRequest.CANCEL},
        {"waiting_for": WaitReason.CLAIM},
        {"judge": TaskId("run-9")},
    ],
    ids=["cancelled", "decided", "another-round"],
)
def test_a_judge_that_ends_too_late_is_only_settled(changes: dict[str, Any]) -> None:
    candidates = equals()
    task = replace(a_judged_task(), **{"judge": JUDGE, **changes})

    assert follow(task, candidates, ended(candidates, JudgeEnded())) == {task.id: ["JUDGE_SETTLED"]}


def test_a_judge_that_changed_git_configuration_ends_the_race_with_a_question() -> None:
    candidates = equals()
    failure = replace(
        a_failure(check=GIT_CONFIG_CHECK), kind=FailureKind.ESCALATE_REQUIRED, pattern=""
    )
    task = replace(a_judged_task(), judge=JUDGE)
    judge = ended(candidates, JudgeEnded(failure=failure))

    changes = follow_race(task, candidates, judge, MOMENT)

    own = events_of(task.id, changes)
    assert any(isinstance(event, EscalationDecided) for event in own)
    (decided,) = (event for event in own if isinstance(event, RaceDecided))
    assert (decided.winner, decided.best, decided.work.head) == ("", IDS[1], "head2")


# ------------------------------------------------------------------ why it cannot be asked


def test_a_judge_that_cannot_be_asked_is_not_waited_for() -> None:
    task, candidates = replace(a_judged_task(), judge_obstacle="its account is closed"), equals()

    *_, settled, decided = events_of(task.id, follow_race(task, candidates, candidates[-1], MOMENT))

    assert settled == JudgeSettled(TaskId(""), "careful", message="its account is closed")
    assert isinstance(decided, RaceDecided)
    assert decided.criterion is RaceCriterion.DIFF


def test_no_judge_is_asked_when_the_candidates_used_up_the_budget() -> None:
    """The last candidate's use counts, although it is settled in the same transaction."""
    task = a_judged_task()
    task = replace(task, spec=replace(task.spec, budget={"money": 3.0}), spend=Spend(money=2.0))
    *others, last = equals()
    last = replace(last, spend=Spend(money=1.0))

    found = events_of(task.id, follow_race(task, [*others, last], last, MOMENT))

    (settled,) = (event for event in found if isinstance(event, JudgeSettled))
    assert settled.message == "the budget of the task is used up"


def test_a_judge_is_asked_while_anything_is_left_of_the_budget() -> None:
    task = a_judged_task()
    task = replace(task, spec=replace(task.spec, budget={"money": 3.0}), spend=Spend(money=2.5))

    assert called(task, equals()).agent == "careful"


def test_a_share_of_the_budget_is_kept_for_the_judge() -> None:
    task = a_judged_task()
    task = replace(task, spec=replace(task.spec, budget={"money": 8.0, "attempts": 2.0}))

    share = {"money": 2.0, "attempts": 2.0}
    assert [spec.budget for spec in candidate_specs(task)] == [share] * 3
    used = replace(task, spend=Spend(money=6.0))
    assert judge_spec(used, called(task, equals()), (CAREFUL,)).budget == {"money": 2.0}


# ------------------------------------------------------------------ its own task


def test_the_judges_task_is_an_optional_one_that_can_start_at_once() -> None:
    task = a_judged_task()
    task = replace(
        task,
        spec=replace(
            task.spec, needs=("a",), phase="p", group="g", setup=(("make",),), scope=("src",)
        ),
    )
    event = called(task, equals())

    spec = judge_spec(task, event, (CAREFUL,))

    assert (spec.name, spec.kind, spec.goal) == ("login~1.judge", TaskKind.JUDGE, task.spec.goal)
    assert (spec.needs, spec.required, spec.race, spec.phase, spec.group) == (
        (),
        False,
        None,
        "",
        "",
    )
    assert (spec.agents, spec.setup, spec.scope) == ((CAREFUL,), (), ())
    assert spec.judging_brief == JudgingBrief(event.works)
    lost = task.spec.policy.rules[FailureKind.LOST]
    assert lost.retries_max > 1
    assert spec.policy.rules == {FailureKind.LOST: replace(lost, retries_max=1)}
    assert spec.policy.faults_max == 1
    made = create_task(JUDGE, RunId("run"), Submitted(5, spec, race_task=task.id))
    assert legal(made, Claimed("host:1", 1, NOW))


@pytest.mark.parametrize(("task_m", "judge_m"), [(60, 10), (3, 3)])
def test_a_judge_has_ten_minutes_at_most(task_m: int, judge_m: int) -> None:
    task = a_judged_task()
    spec = replace(task.spec, timeout=task_m * MINUTE, hang=20 * MINUTE)

    made = judge_spec(replace(task, spec=spec), called(task, equals()), (CAREFUL,))

    assert (made.timeout, made.hang) == (judge_m * MINUTE, judge_m * MINUTE)


def test_a_valid_answer_of_an_agent_that_ended_well_counts() -> None:
    answer = RaceJudgment("B", "it is simple")

    assert decide_judge(a_judge(), JudgeAnswered(answer), MOMENT) == (JudgeEnded(answer),)


UNUSABLE = {
    "defect": (an_exit(code=0), "it gave several answers", "it gave several answers"),
    "exit-code": (an_exit(code=3), "", "its agent failed: exit code 3"),
    "reported": (an_exit(code=0, reports_failure=True), "", "its agent failed"),
    "not-started": (None, "the account careful is closed", "the account careful is closed"),
}


@pytest.mark.parametrize("case", UNUSABLE)
def test_any_other_end_decides_nothing(case: str) -> None:
    exit_, defect, words = UNUSABLE[case]
    report = JudgeAnswered(RaceJudgment("A", "because") if not defect else RaceJudgment(), defect)

    (event,) = decide_judge(a_judge(work=Work(exit=exit_)), report, MOMENT)

    assert isinstance(event, JudgeEnded)
    assert event.judgment == RaceJudgment()
    assert event.failure is not None
    assert event.failure.message == words


def finished(**fields: Any) -> WorkCommitted:
    return WorkCommitted(an_exit(**fields), "ba5e", "tree")


def at_work(**fields: Any) -> Task:
    work = Work(base="ba5e", tree="tree", prompt_sent=True, spend_counted=True)
    return a_judge(stage=Stage.WORK, **{"work": work, **fields})


def test_an_interrupted_judge_is_asked_once_more_and_not_twice() -> None:
    lost = AgentLost("its machine is gone")

    run, again = decide_judge(at_work(), lost, MOMENT)
    assert isinstance(run, AgentRunLost), "its use counts in the budget of the race"
    assert isinstance(again, RetryDecided)
    second = replace(at_work(), counts=replace(evolve(at_work(), again).counts), attempt=2)
    _, last = decide_judge(second, lost, MOMENT)

    assert isinstance(last, JudgeEnded)
    assert last.failure is not None
    assert last.failure.kind is FailureKind.LOST


def test_a_fault_of_ours_is_repeated_once() -> None:
    fault = StageFaulted("git is locked", transient=True)
    judge = a_judge(stage=Stage.PREPARE)

    (again,) = decide_judge(judge, fault, MOMENT)
    assert isinstance(again, RetryDecided)
    (last,) = decide_judge(replace(judge, counts=evolve(judge, again).counts), fault, MOMENT)

    assert isinstance(last, JudgeEnded)


ENDED_BY: dict[str, StageReport] = {
    "limit": finished(code=1, limit=AgentLimit.RATE, retry_after=timedelta(hours=3)),
    "key": finished(code=1, limit=AgentLimit.AUTH),
    "question": finished(code=0, question="Which one?"),
    "undelivered": StageFaulted("claimed 5 times", transient=False),
}


@pytest.mark.parametrize("case", ENDED_BY)
def test_a_judge_asks_nobody_and_waits_for_no_account(case: str) -> None:
    events = decide_judge(at_work(), ENDED_BY[case], MOMENT)

    assert isinstance(events[-1], JudgeEnded)
    assert events[-1].failure is not None
    assert all(isinstance(event, AgentFinished | JudgeEnded) for event in events)
    after = fold_events(at_work(), events)
    assert (after.state, after.lease, after.question) == (State.REPLACED, None, None)


def test_the_account_of_a_judge_at_its_limit_is_closed_for_others() -> None:
    *_, event = decide_judge(at_work(), ENDED_BY["limit"], MOMENT)

    assert isinstance(event, JudgeEnded)
    assert event.account_until is not None
    assert event.account_until >= NOW + timedelta(hours=3)
    assert event.failure is not None
    assert event.failure.account_problem


def test_a_judge_continues_at_once_with_another_account() -> None:
    """Its agent has two accounts, and only the first one is at its limit."""
    accounts = tuple(replace(CAREFUL, account=f"careful/{n}") for n in (1, 2))
    judge = at_work()
    judge = replace(judge, spec=replace(judge.spec, agents=accounts))

    *_, event = decide_judge(judge, ENDED_BY["limit"], MOMENT)

    assert isinstance(event, RetryDecided)
    assert event.agent_index == 1


def test_a_judge_is_not_asked_again_after_a_limit_that_is_over() -> None:
    """Its account was closed by another task, and the wait has ended meanwhile."""
    closed = ClosedAccount(AccountProblem.RATE_LIMIT, AccountClosure(NOW - MINUTE), NOW, "run-8")
    judge = replace(at_work(), closed_account=closed)

    *_, event = decide_judge(judge, ENDED_BY["limit"], MOMENT)

    assert isinstance(event, JudgeEnded)


def test_a_judge_that_is_stopped_ends_without_a_failure() -> None:
    judge = evolve(at_work(), CancelRequested("its race was cancelled"))

    assert decide_judge(judge, WorkInterrupted("cancelled"), MOMENT) == (JudgeEnded(),)


def test_a_judge_is_ended_with_its_race_by_its_holder_or_at_once() -> None:
    waiting = a_judge(state=State.WAITING, stage=Stage.PREPARE, epoch=0, lease=None)
    over = evolve(waiting, JudgeEnded())

    assert end_judge(waiting, "enough") == (JudgeEnded(),)
    assert end_judge(a_judge(), "enough") == (CancelRequested("enough"),)
    assert end_judge(replace(a_judge(), request=PendingRequest.CANCEL), "enough") == ()
    assert end_judge(over, "enough") == ()


# ------------------------------------------------------------------ what may happen when


def test_a_race_calls_its_judge_once_and_the_next_round_calls_another() -> None:
    task, event = a_judged_task(), replace(called(a_judged_task(), equals()), judge=JUDGE)

    assert legal(task, event)
    assert not legal(evolve(task, event), event)
    assert not legal(a_racing_task(until=RaceEnd.ALL), event)
    assert not legal(a_task(), event)
    assert not legal(replace(task, waiting_for=WaitReason.CLAIM), event)
    from yaoki.core.machine.race_events import RaceStarted

    active = replace(evolve(task, event), state=State.ACTIVE, waiting_for=WaitReason.CLAIM)
    assert evolve(active, RaceStarted(IDS)).judge == ""


def test_only_a_judge_ends_as_one() -> None:
    assert legal(a_judge(), JudgeEnded())
    assert not legal(evolve(a_judge(), JudgeEnded()), JudgeEnded())
    assert not legal(a_candidate(1), JudgeEnded())


def test_the_end_of_a_judge_is_told_to_a_task_with_a_race_in_any_state() -> None:
    settled = JudgeSettled(JUDGE, "careful")

    assert legal(replace(a_judged_task(), state=State.DONE), settled)
    assert not legal(a_task(spec=a_spec()), settled)


def test_rules_without_a_judge_are_stored_as_before() -> None:
    from yaoki.core.machine.codec import to_data

    assert to_data(RaceRules(3)) == {"tries": 3}
