"""What a person reads when a task cannot continue: question, message, commands, groups, rounds."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from tests.builders import NOW, a_failure, a_policy, a_spec, a_task, an_active_task, an_exit
from yaoki.core.decide.escalation import build_escalation, retry_hint
from yaoki.core.decide.failures import make_fatal
from yaoki.core.decide.flakiness import RepeatedRuns
from yaoki.core.decide.iteration import (
    CommitOutcome,
    Iteration,
    IterationAction,
    IterationDecision,
    decide_iteration,
)
from yaoki.core.decide.recovery import RecoveryDecision, decide_recovery, subtasks_to_leave_out
from yaoki.core.decide.retry import decide_retry
from yaoki.core.model import (
    ContinuousMode,
    Counts,
    Failure,
    FailureKind,
    FindingItem,
    Reason,
    RecoveryStrategy,
    Spend,
    Stage,
    Task,
    TaskId,
    TaskKind,
)
from yaoki.errors import FatalCode

ID = "run00001-1"
K = FailureKind


def report(failure: Failure, task: Task | None = None, blocked: Reason = Reason.MAX_RETRIES) -> Any:
    task = task or an_active_task(Stage.VERIFY)
    decision = decide_retry(task, failure, 1, 0.5)
    return build_escalation(task, failure, blocked, decision, NOW, ("TIMEOUT", failure.kind.value))


def choices(failure: Failure, task: Task | None = None) -> str:
    return " ".join(choice.value for choice in report(failure, task).question.choices)


# ------------------------------------------------------------------ questions


@pytest.mark.spec("10.3", "10.4")
@pytest.mark.parametrize(
    ("failure", "text"),
    [
        (
            a_failure(message="2 failed", check="tests"),
            "login is not done: check tests: 2 failed. Try again, take over, waive or abort?",
        ),
        (
            a_failure(K.TIMEOUT, "too late\nsecond line"),
            "login is not done: too late. Try again, take over or abort?",
        ),
        (
            a_failure(message="x" * 400),
            f"login is not done: {'x' * 239}… Try again, take over or abort?",
        ),
        (
            a_failure(message="All tests pass."),
            "login is not done: All tests pass. Try again, take over or abort?",
        ),
        (
            a_failure(message="x" * 400, is_our_fault=True),
            f"login is not done: {'x' * 400}. Try again, take over or abort?",
        ),
        (
            a_failure(message="x" * 900, is_our_fault=True),
            f"login is not done: {'x' * 799}… Try again, take over or abort?",
        ),
        (
            a_failure(message="weaker", pattern="test-weakened", check="test-integrity"),
            "login is not done: check test-integrity: weaker."
            " The plan can allow this for a task: allow_weaker_tests: true and a scope,"
            " then: yaoki plan recheck run00001."
            " Try again, take over, waive or abort?",
        ),
        (
            a_failure(K.INCOMPLETE, "omitted", check="Q3", pattern="omission"),
            "login is not done: check Q3 (placeholders for code): omitted."
            " Try again, take over, waive or abort?",
        ),
        (a_failure(K.ESCALATE_REQUIRED, " Which?  \n  - a  \n  - b \n"), "Which?\n  - a\n  - b"),
        (
            a_failure(K.CONFLICT, "1 file conflicts"),
            "login is not done: 1 file conflicts. To take over, run `git merge yaoki/run00001` in"
            " its worktree and resolve the conflict. Try again, take over or abort?",
        ),
        (
            a_failure(K.CONFLICT, "1 file conflicts", params={"markedFiles": ["a", "b", "c", "d"]}),
            "login is not done: 1 file conflicts. The work has conflict markers in a, b, c and"
            " 1 more. To take over, run `git merge yaoki/run00001` in its worktree and resolve the"
            " conflict. Try again, take over or abort?",
        ),
        (
            a_failure(message="unresolved", check="conflict-markers", items=(FindingItem("a"),)),
            "login is not done: check conflict-markers: unresolved. The work has conflict"
            " markers in a. To take over, resolve them in its worktree."
            " Try again, take over, waive or abort?",
        ),
        (a_failure(K.ESCALATE_REQUIRED, "x" * 2100), f"{'x' * 1999}…"),
        (
            a_failure(K.INCOMPLETE, check="no-change"),
            "login: nothing was changed, and its checks pass without a change. The agent does not"
            " say why. Accept it as done (waive), try again, take over or abort?",
        ),
        (
            a_failure(K.INCOMPLETE, check="no-change", params={"waivedChecks": ["tests"]}),
            "login: nothing was changed, and its only check, tests, was waived. The agent does not"
            " say why. Accept it as done (waive), try again, take over or abort?",
        ),
        (
            a_failure(
                K.INCOMPLETE,
                check="no-change",
                params={"agentSaid": f"{'x' * 400}\nfine\n", "elsewhere": "branch x"},
            ),
            "login: nothing was changed, and its checks pass without a change. The agent worked in"
            ' another place: branch x. The agent says: "fine". Accept it as done (waive), try'
            " again, take over or abort?",
        ),
        (
            a_failure(
                K.INCOMPLETE,
                check="no-change",
                params={"agentSaid": "fine", "outsideFiles": ["f", "g"], "scope": ["lib/**", "m"]},
            ),
            "login: nothing was changed, and its checks pass without a change. New files outside"
            ' its scope (lib/**, m) were left out: f, g. The agent says: "fine". Accept it as'
            " done (waive), try again, take over or abort?",
        ),
        (
            a_failure(K.INCOMPLETE, check="no-change", params={"sameWork": "all landed with a"}),
            "login: all landed with a, and its checks pass without a change. The agent does not"
            " say why. Accept it as done (waive), try again, take over or abort?",
        ),
        (
            a_failure(K.INCOMPLETE, check="no-change", params={"agentSaid": "x" * 400}),
            'login: nothing was changed, and its checks pass without a change. The agent says: "'
            f'{"x" * 299}…" Accept it as done (waive), try again, take over or abort?',
        ),
    ],
)
def test_each_failure_has_its_question(failure: Failure, text: str) -> None:
    assert report(failure).question.text == text


@pytest.mark.spec("10.4")
@pytest.mark.parametrize(
    ("failure", "given", "possible"),
    [
        (a_failure(check="tests"), {}, "retry done waive abort"),
        (a_failure(check="scope"), {}, "retry done waive abort"),
        (a_failure(check="unknown"), {}, "retry done abort"),
        (a_failure(), {}, "retry done abort"),
        (a_failure(K.TIMEOUT, check="tests"), {}, "retry done abort"),
        (
            a_failure(K.TRANSIENT_ERROR, check="tests", is_our_fault=True),
            {},
            "retry done waive abort",
        ),
        (a_failure(K.RATE_LIMIT, check="tests", account="judge"), {}, "retry done waive abort"),
        (a_failure(K.ESCALATE_REQUIRED, check="tests"), {}, "retry done abort"),
        (
            a_failure(K.ESCALATE_REQUIRED, check="tests", pattern="lint-error"),
            {},
            "retry done waive abort",
        ),
        (a_failure(K.ESCALATE_REQUIRED, check="git-config"), {}, "retry done waive abort"),
        (a_failure(K.INCOMPLETE, check="tests", pattern="omission"), {}, "retry done waive abort"),
        (
            a_failure(K.INCOMPLETE, check="tests", pattern="no-change"),
            {"exit": an_exit(code=1)},
            "retry done abort",
        ),
        (
            a_failure(K.INCOMPLETE, check="tests", pattern="agent-failed"),
            {"exit": an_exit(reports_failure=True)},
            "retry done abort",
        ),
        (
            a_failure(K.INCOMPLETE, check="tests", pattern="no-change"),
            {"exit": an_exit()},
            "retry done waive abort",
        ),
        (
            a_failure(K.INCOMPLETE, check="tests", pattern="no-change"),
            {"exit": None},
            "retry done waive abort",
        ),
        (a_failure(check="tests"), {"head": ""}, "retry done abort"),
        (a_failure(check="tests"), {"worktree": ""}, "retry waive abort"),
    ],
)
def test_only_possible_answers_are_offered(
    failure: Failure, given: dict[str, Any], possible: str
) -> None:
    task = an_active_task(Stage.VERIFY)

    assert choices(failure, replace(task, work=replace(task.work, **given))) == possible


@pytest.mark.spec("10.4", "1.2")
@pytest.mark.parametrize("kind", [TaskKind.CHECK, TaskKind.GROUP, TaskKind.PLAN])
def test_a_task_without_an_agent_cannot_be_taken_over(kind: TaskKind) -> None:
    task = an_active_task(Stage.VERIFY, spec=a_spec(kind=kind))
    unbegun = replace(task, work=replace(task.work, head=""))

    assert choices(a_failure(check="tests"), task) == "retry waive abort"
    assert choices(a_failure(check="tests"), unbegun) == "retry waive abort"


# ------------------------------------------------------------------ commands and messages


@pytest.mark.spec("10.3", "4.7")
@pytest.mark.parametrize(
    ("failure", "kind", "actions"),
    [
        (
            a_failure(check="tests"),
            TaskKind.CHANGE,
            (
                f'yaoki answer {ID} retry "words for the agent"',
                f"work in /w/login, then: yaoki answer {ID} done",
                f"yaoki answer {ID} waive --check tests",
                f"yaoki answer {ID} abort",
            ),
        ),
        (
            a_failure(K.CONFLICT, params={"markedFiles": ["a"]}),
            TaskKind.CHANGE,
            (
                f'yaoki answer {ID} retry "words for the agent"',
                "work in /w/login (git merge yaoki/run00001; conflict markers are in a), "
                f"then: yaoki answer {ID} done",
                f"yaoki answer {ID} abort",
            ),
        ),
        (
            a_failure(check="conflict-markers", items=(FindingItem("a"),)),
            TaskKind.CHANGE,
            (
                f'yaoki answer {ID} retry "words for the agent"',
                f"work in /w/login (conflict markers are in a), then: yaoki answer {ID} done",
                f"yaoki answer {ID} waive --check conflict-markers",
                f"yaoki answer {ID} abort",
            ),
        ),
        (
            a_failure(K.CONFLICT),
            TaskKind.CHANGE,
            (
                f'yaoki answer {ID} retry "words for the agent"',
                f"work in /w/login (git merge yaoki/run00001), then: yaoki answer {ID} done",
                f"yaoki answer {ID} abort",
            ),
        ),
        (
            make_fatal(FatalCode.RESOURCE_NOT_FOUND, "no agent"),
            TaskKind.CHECK,
            (
                "check the name and the path",
                "install what is missing",
                f"yaoki answer {ID} retry",
                f"yaoki answer {ID} abort",
            ),
        ),
        (
            make_fatal(FatalCode.UNKNOWN, "odd"),
            TaskKind.PLAN,
            (f'yaoki answer {ID} retry "words for the agent"', f"yaoki answer {ID} abort"),
        ),
    ],
)
def test_each_choice_has_its_answer_command(
    failure: Failure, kind: TaskKind, actions: tuple[str, ...]
) -> None:
    task = an_active_task(Stage.VERIFY, spec=a_spec(kind=kind))

    assert report(failure, task).actions == actions


@pytest.mark.spec("10.3")
def test_a_person_who_takes_over_hears_that_the_work_is_committed() -> None:
    """Git shows a clean worktree, which looks as if the agent had done nothing."""
    task = an_active_task(Stage.VERIFY)
    task = replace(task, work=replace(task.work, attempt_file_count=2))

    take_over = report(a_failure(check="tests"), task).actions[1]

    committed = "(the agent's work is committed there)"
    assert take_over == f"work in /w/login {committed}, then: yaoki answer {ID} done"


@pytest.mark.spec("10.3")
def test_an_escalation_reports_its_failure_and_choices() -> None:
    failure = a_failure(message=f"2 failed\n{'x' * 400}")

    made = report(failure, an_active_task(Stage.VERIFY, attempt=4))

    assert made.summary == {
        "total_attempts": 4,
        "failure_types": ["TIMEOUT", "QUALITY_FAILURE"],
        "last_failure": {
            "type": "QUALITY_FAILURE",
            "message": "2 failed",
            "timestamp": NOW.isoformat(),
        },
    }
    long = report(a_failure(message="x" * 400)).summary["last_failure"]["message"]
    assert long == f"{'x' * 299}…"
    assert made.description.startswith("retry 1 of 3 for QUALITY_FAILURE")


@pytest.mark.spec("10.6", "10.3")
def test_a_used_up_budget_is_reported_before_the_failure() -> None:
    task = an_active_task(Stage.VERIFY, spec=a_spec(budget={"money": 2.0}), spend=Spend(money=3))

    made = report(a_failure(message="2 failed", check="tests"), task)

    assert made.question.text.startswith(
        "login is not done: the task used $3.00 of its $2.00; check tests: 2 failed."
    )


@pytest.mark.spec("10.3", "15")
@pytest.mark.parametrize(
    ("name", "words", "policy", "message"),
    [
        (
            "login",
            "2 failed",
            {},
            "login: not done after 1 attempt.\nMain problem: 2 failed\nWhat you can do:\n"
            f'- yaoki answer {ID} retry "words for the agent"\n'
            f"- work in /w/login, then: yaoki answer {ID} done\n"
            f"- yaoki answer {ID} abort\nDetails: yaoki why {ID}",
        ),
        (
            "login",
            "2 failed",
            {"trace_link": False, "message_max": 130},
            "login: not done after 1 attempt.\nMain problem: 2 failed\nWhat you can do:\n"
            f'- yaoki answer {ID} retry "words for the agent"',
        ),
        (
            "n" * 50,
            "x" * 400,
            {"trace_link": False},
            f"{'n' * 39}…: not done after 1 attempt.\nMain problem: {'x' * 159}…\n"
            f'What you can do:\n- yaoki answer {ID} retry "words for the agent"\n'
            f"- work in /w/login, then: yaoki answer {ID} done\n"
            f"- yaoki answer {ID} abort",
        ),
        ("n" * 50, "x" * 400, {"message_max": 80}, f"{'n' * 29}…: yaoki why {ID}"),
    ],
)
def test_a_shortened_message_keeps_its_next_command(
    name: str, words: str, policy: dict[str, Any], message: str
) -> None:
    task = an_active_task(Stage.VERIFY, spec=a_spec(name, policy=a_policy(**policy)))

    assert report(a_failure(message=words), task).message == message


@pytest.mark.spec("10.3", "15")
@pytest.mark.parametrize(
    ("language", "beginning"),
    [("en", "login: not done"), ("ja", "login: 1 回試行しました"), ("xx", "login: not done")],
)
def test_the_message_is_in_the_language_of_the_settings(language: str, beginning: str) -> None:
    task = an_active_task(Stage.VERIFY, spec=a_spec(language=language))

    assert report(a_failure(), task).message.startswith(beginning)


@pytest.mark.spec("10.3")
@pytest.mark.parametrize(
    ("most", "length", "issue", "actions"),
    [(500, 389, 160, 4), (388, 274, 100, 3), (273, 200, 80, 2), (199, 154, 60, 1)],
)
def test_a_message_drops_text_first_and_then_commands(
    most: int, length: int, issue: int, actions: int
) -> None:
    """Each step is taken only where the one before does not fit, to the very character."""
    failure = a_failure(message="x" * 400, code=FatalCode.RESOURCE_NOT_FOUND)

    def message(limit: int) -> str:
        policy = a_policy(message_max=limit, trace_link=False)
        return str(
            report(failure, an_active_task(Stage.VERIFY, spec=a_spec(policy=policy))).message
        )

    for limit in (most, length):
        found = message(limit)
        assert len(found) == length
        assert found.count("x") == issue - 1
        assert found.count("\n- ") == actions


@pytest.mark.spec("5.5", "5.6")
def test_each_failure_has_its_retry_hint() -> None:
    assert retry_hint(None) == ""
    assert retry_hint(a_failure(K.LOST)) == ""
    assert retry_hint(a_failure(K.LOST), {K.LOST: "own"}) == ""
    assert retry_hint(a_failure(K.TIMEOUT), {K.TIMEOUT: "own"}) == "own"
    assert retry_hint(a_failure(K.TIMEOUT), {K.CONFLICT: "own"}).startswith("The last attempt ran")


# ------------------------------------------------------------------ groups


NEEDS = {
    TaskId("g"): [TaskId("a"), TaskId("b"), TaskId("c")],
    TaskId("b"): [TaskId("a")],
    TaskId("outside"): [TaskId("a")],
}


def a_group(reruns: int = 0, **given: Any) -> Task:
    task = a_task(spec=a_spec(kind=TaskKind.GROUP, **given), counts=Counts(reruns=reruns))
    return replace(task, id=TaskId("g"))


@pytest.mark.spec("8.3", "0.5", "16.9")
@pytest.mark.parametrize(
    ("group", "failed", "succeeded", "required", "expected"),
    [
        (
            a_group(atomic=True),
            "a",
            "c",
            "",
            (
                RecoveryStrategy.ROLLBACK_AND_RETRY,
                "the group is atomic: all of it or nothing",
                "atomic: false",
            ),
        ),
        (
            a_group(),
            "a",
            "b c",
            "",
            (
                RecoveryStrategy.ROLLBACK_AND_RETRY,
                "subtasks that succeeded need a failed one: b",
                "no successful subtask that needs a failed one",
            ),
        ),
        (
            a_group(),
            "b",
            "a c",
            "",
            (
                RecoveryStrategy.RETRY_FAILED_ONLY,
                "no subtask that succeeded needs a failed one",
                "a successful subtask that needs a failed one",
            ),
        ),
        (
            a_group(1),
            "b",
            "a c",
            "a",
            (
                RecoveryStrategy.PARTIAL_COMMIT,
                "1 subtask failed again, none of them required; 2 succeeded and may land",
                "required: true on one that failed",
            ),
        ),
        (
            a_group(1, partial=True),
            "a b",
            "c",
            "a",
            (
                RecoveryStrategy.PARTIAL_COMMIT,
                "2 subtasks failed again; 1 succeeded and may land",
                "partial: false",
            ),
        ),
        (
            a_group(1),
            "a",
            "c",
            "b",
            (
                RecoveryStrategy.ESCALATE,
                "1 subtask failed again after the group was recovered once",
                "partial: true with a subtask that succeeded",
            ),
        ),
        (
            a_group(1, partial=True, atomic=True),
            "a",
            "c",
            "",
            (
                RecoveryStrategy.ESCALATE,
                "1 subtask failed again after the group was recovered once",
                "partial: true with a subtask that succeeded",
            ),
        ),
        (
            a_group(1, partial=True),
            "a b c",
            "",
            "",
            (
                RecoveryStrategy.ESCALATE,
                "3 subtasks failed again after the group was recovered once",
                "partial: true with a subtask that succeeded",
            ),
        ),
    ],
)
def test_each_recovery_decision_has_its_explanation(
    group: Task, failed: str, succeeded: str, required: str, expected: tuple[Any, ...]
) -> None:
    decision = decide_recovery(
        group,
        [TaskId(one) for one in failed.split()],
        [TaskId(one) for one in succeeded.split()],
        NEEDS,
        {TaskId(one) for one in required.split()},
    )

    assert decision == RecoveryDecision(*expected)


@pytest.mark.spec("8.3")
def test_a_group_lands_without_failed_subtasks_and_their_dependents() -> None:
    failed = [TaskId("a"), TaskId("c")]

    assert subtasks_to_leave_out(a_group(), failed, NEEDS) == ["a", "c", "b"]
    assert subtasks_to_leave_out(a_group(), [TaskId("b")], NEEDS) == ["b"]
    many = {TaskId("g"): [TaskId(x) for x in "abcde"], **{TaskId(x): [TaskId("a")] for x in "bcde"}}
    decision = decide_recovery(a_group(), [TaskId("a")], [TaskId(x) for x in "bcde"], many, set())
    assert decision.reason == "subtasks that succeeded need a failed one: b, c, d"


# ------------------------------------------------------------------ iterations and flaky checks


@pytest.mark.spec("9.7")
@pytest.mark.parametrize(
    ("ended", "before", "bounds", "expected"),
    [
        (
            Iteration(2, CommitOutcome.COMMITTED, True),
            1,
            {},
            (IterationAction.STOP, "done_when holds", 0),
        ),
        (
            Iteration(2, CommitOutcome.COMMITTED, True, ("a",)),
            2,
            {},
            (IterationAction.STOP, "3 iterations in a row failed", 3),
        ),
        (
            Iteration(2, CommitOutcome.COMMITTED, False, ("a", "b", "c", "d", "e", "f")),
            0,
            {},
            (IterationAction.PAUSE, "iteration 2 failed: a, b, c, d, e", 1),
        ),
        (
            Iteration(2, CommitOutcome.CONFLICT, False),
            0,
            {"pause_on_failure": False},
            (IterationAction.PAUSE, "iteration 2 failed: conflict", 1),
        ),
        (
            Iteration(2, CommitOutcome.GIT_ERROR, False),
            0,
            {"pause_on_failure": False},
            (IterationAction.NEXT, "iteration 3 of 10", 1),
        ),
        (
            Iteration(2, CommitOutcome.STAGING_ERROR, True),
            0,
            {},
            (IterationAction.PAUSE, "iteration 2 failed: staging error", 1),
        ),
        (
            Iteration(10, CommitOutcome.NOTHING, False),
            0,
            {},
            (IterationAction.STOP, "10 iterations, which is the limit", 0),
        ),
        (
            Iteration(9, CommitOutcome.NOTHING, False),
            2,
            {},
            (IterationAction.NEXT, "iteration 10 of 10", 0),
        ),
    ],
)
def test_each_iteration_decision_has_its_explanation(
    ended: Iteration, before: int, bounds: dict[str, Any], expected: tuple[Any, ...]
) -> None:
    assert decide_iteration(ended, before, ContinuousMode(**bounds)) == IterationDecision(*expected)


@pytest.mark.spec("6.5")
def test_a_flaky_check_has_its_description() -> None:
    cleared = RepeatedRuns(2).with_candidate_run(True).with_candidate_run(True)
    shaky = RepeatedRuns(2, (False,), (True, False, True))

    assert cleared.description == "failed, then passed 2 times in a row on the same commit"
    assert shaky.description == "it passed 2 of 3 times without the change as well"
    assert (cleared.never_passed, shaky.never_passed) == (False, True)
    assert not RepeatedRuns(2, (False, True)).never_passed
    assert RepeatedRuns(2).never_passed
