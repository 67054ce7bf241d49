"""What each stage report becomes, whole: the events, their words and their params."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from tests.builders import (
    MINUTE,
    NOW,
    RUN_ID,
    a_failure,
    a_finding,
    a_policy,
    a_spec,
    a_task,
    a_verdict,
    an_active_task,
    an_exit,
)
from yaoki.core.decide.baseline import weigh
from yaoki.core.decide.failure_response import ClockAndChance
from yaoki.core.decide.failures import make_failure
from yaoki.core.decide.rules import decide, decide_after_revert, decide_row_refused
from yaoki.core.machine.events import (
    AgentFinished,
    AttemptStarted,
    CulpritFound,
    EscalationDecided,
    Event,
    Judged,
    Landed,
    LandingRefused,
    LeaseReleased,
    Planned,
    RetryDecided,
    RowRefused,
)
from yaoki.core.machine.evolution import evolve, fold_events
from yaoki.core.machine.journal_notes import JournalNote
from yaoki.core.machine.request_events import Cancelled, ChecksRevised, Recalled
from yaoki.core.model import (
    AgentLimit,
    AttemptMode,
    CheckRevision,
    Counts,
    Failure,
    FailureKind,
    FaultSource,
    FindingItem,
    Outcome,
    Pause,
    PauseCause,
    PendingRequest,
    Reason,
    RecoveryStrategy,
    RefusalCause,
    Stage,
    State,
    Task,
    TaskId,
    TaskKind,
    Verdict,
    WaitReason,
)
from yaoki.core.model.outcome import LANDED_SINCE_PARAM, OUTSIDE_CHANGE_PARAM
from yaoki.core.model.stage_report import (
    AgentLost,
    BisectResult,
    CandidateVerified,
    CommitLanded,
    CommitNotLanded,
    MergeConflicted,
    PlanAccepted,
    StageDeferred,
    StageFaulted,
    StageReport,
    WorkCommitted,
    WorkInterrupted,
    WorktreePrepared,
)
from yaoki.errors import FatalCode

pytestmark = pytest.mark.spec("0.5", "5.1")

MOMENT = ClockAndChance(NOW, 0.5)
CHECKOUT = "your checkout or your own settings"
ADDED = "CHECKOUT_FILES_ADDED"
WORKED = WorkCommitted(an_exit(), "head2", "tree2", ("a.py", "b.py"), diff_digest="diff2")
FAILED, PASSED = Outcome.FAILED, Outcome.PASSED


def decide_events(task: Task, report: StageReport) -> tuple[Event, ...]:
    events = decide(task, report, MOMENT)
    fold_events(task, events)
    return events


def the_retry(events: tuple[Event, ...]) -> RetryDecided:
    (found,) = (event for event in events if isinstance(event, RetryDecided))
    return found


def the_escalation(events: tuple[Event, ...]) -> EscalationDecided:
    (found,) = (event for event in events if isinstance(event, EscalationDecided))
    return found


def notes(events: tuple[Event, ...], name: str) -> list[Any]:
    return [e.data for e in events if isinstance(e, JournalNote) and e.name == name]


# ------------------------------------------------------------------ requests


@pytest.mark.spec("9.5", "16.6")
@pytest.mark.parametrize(
    ("request_", "report", "expected"),
    [
        (
            PendingRequest.CANCEL,
            WORKED,
            (
                AgentFinished(an_exit(), "head2", "tree2", 2, "diff2"),
                Cancelled("cancelled by a person", "head2"),
            ),
        ),
        (
            PendingRequest.CANCEL,
            WorkInterrupted("cancelled", "refs/x"),
            (Cancelled("cancelled by a person", "refs/x"),),
        ),
        (
            PendingRequest.CANCEL,
            StageFaulted("disk", transient=True),
            (Cancelled("cancelled by a person", ""),),
        ),
        (
            PendingRequest.RECALL,
            WORKED,
            (
                AgentFinished(an_exit(), "head2", "tree2", 2, "diff2"),
                Recalled("work that it is based on was reverted", "head2"),
            ),
        ),
    ],
)
def test_a_cancel_or_recall_request_ends_the_stage_and_saves_the_work(
    request_: PendingRequest, report: StageReport, expected: tuple[Event, ...]
) -> None:
    task = an_active_task(Stage.WORK, request=request_)

    assert decide_events(task, report) == expected


@pytest.mark.spec("9.5", "0.1")
@pytest.mark.parametrize("request_", [PendingRequest.CANCEL, PendingRequest.RECALL])
def test_a_landed_commit_is_not_cancelled(request_: PendingRequest) -> None:
    task = an_active_task(Stage.LAND, request=request_)

    assert decide_events(task, CommitLanded("c0ffee")) == (Landed("c0ffee"),)


# ------------------------------------------------------------------ prepare and work


@pytest.mark.spec("3.1", "10.4")
@pytest.mark.parametrize(
    ("given", "agent"),
    [
        ({}, "small"),
        ({"spec": a_spec(agents=())}, ""),
        ({"mode": AttemptMode.TAKEN_OVER}, "person"),
    ],
)
def test_an_attempt_is_recorded_with_its_worktree(given: dict[str, Any], agent: str) -> None:
    report = WorktreePrepared("b", "/w", "h", True, "t", "s", "", {"a": "1"}, "head")
    task = an_active_task(**given)

    assert decide_events(task, report) == (
        AttemptStarted(1, agent, "b", "/w", "h", True, "t", "s", {"a": "1"}, "head"),
    )


@pytest.mark.spec("10.1", "5.5")
def test_a_retry_records_the_previous_failure() -> None:
    late = a_failure(FailureKind.TIMEOUT)
    task = an_active_task(
        failure=a_failure(FailureKind.LOST), feedback=late, failure_kinds=("TIMEOUT", "LOST")
    )

    events = decide_events(task, WorktreePrepared("b", "/w", "h", fresh=False))

    (note,) = notes(events, "RETRY_START")
    assert (note["retry_count"], note["previous_failure_type"]) == (1, "LOST")
    assert note["modification_hint"].startswith("The last attempt ran out of time.")


@pytest.mark.spec("3.2")
def test_work_is_recorded_with_its_agent() -> None:
    assert decide_events(an_active_task(Stage.WORK), WORKED) == (
        AgentFinished(an_exit(), "head2", "tree2", 2, "diff2"),
    )


@pytest.mark.spec("16.3")
def test_new_files_outside_the_scope_are_named() -> None:
    report = replace(WORKED, left_out_files=tuple(f"f{n}" for n in range(7)))

    events = decide_events(an_active_task(Stage.WORK), report)

    (note,) = notes(events, "WARNING")
    assert note["message"].startswith(
        "7 new files outside the task's scope left out of its work: f0, f1, f2, f3, f4"
    )
    assert "f5" not in note["message"]
    assert note["message"].endswith(f"; saved, see: yaoki recover {RUN_ID}-1")
    assert isinstance(events[0], AgentFinished)
    assert events[0].left_out_files == report.left_out_files


@pytest.mark.spec("0.2", "16.10")
@pytest.mark.parametrize(
    ("names", "words", "look"),
    [
        (("checkout/a.py", "settings/yaoki.toml"), CHECKOUT, "git reflog, git status"),
        (("checkout/refs/heads/x",), f"your refs, {CHECKOUT}", "git reflog, git status"),
        (("checkout/identity",), CHECKOUT, "git config user.name"),
        (
            ("checkout/a.py", "checkout/remotes"),
            CHECKOUT,
            "git remote -v, git reflog, git status",
        ),
    ],
)
def test_a_changed_checkout_is_reported_and_not_blamed(
    names: tuple[str, ...], words: str, look: str
) -> None:
    report = replace(WORKED, changed_checkout=names)
    what = ", ".join(name.partition("/")[2] for name in names)

    events = decide_events(an_active_task(Stage.WORK), report)

    assert notes(events, "CHECKOUT_CHANGED") == [
        {
            "what": list(names),
            "message": f"{words} changed while the agent was at work: {what}; "
            f"if that was not you: {look}",
        }
    ]
    person = an_active_task(Stage.WORK, mode=AttemptMode.TAKEN_OVER)
    assert notes(decide_events(person, report), "CHECKOUT_CHANGED") == []


@pytest.mark.spec("0.2")
def test_new_files_in_the_checkout_are_noted_while_no_person_works() -> None:
    names = tuple(f"checkout/f{n}" for n in range(7))
    report = replace(WORKED, checkout_additions=names)
    shown = ", ".join(names[:5])

    assert notes(decide_events(an_active_task(Stage.WORK, attempt=2), report), ADDED) == [
        {
            "what": list(names),
            "message": f"{shown} and 2 more appeared in your checkout while attempt 2 ran; "
            "if that was not you: git status",
        }
    ]
    person = an_active_task(Stage.WORK, mode=AttemptMode.TAKEN_OVER)
    assert notes(decide_events(person, report), ADDED) == []


@pytest.mark.spec("16.10")
@pytest.mark.parametrize(
    ("names", "look"),
    [
        (("config", "info/attributes", "hooks/a b"), ""),
        (
            ("config", "hooks/pre-commit"),
            '; if that was not you: cat "$(git rev-parse --git-path hooks/pre-commit)"',
        ),
        (
            ("hooks/x", "config core.hookspath", "config core.editor"),
            "; if that was not you: git config --get-all core.hookspath",
        ),
        (("config.worktree core.editor", "config filter.a b.clean", "my config a.b"), ""),
    ],
)
def test_a_changed_git_configuration_is_escalated_and_keeps_the_work(
    names: tuple[str, ...], look: str
) -> None:
    report = replace(WORKED, changed_git_config=names)
    shown = ", ".join(names)
    words = (
        f"git's own configuration changed after the task began: {shown}; it is left as it is, and "
        f"a retry asks again until that is undone{look}"
    )

    events = decide_events(an_active_task(Stage.WORK), report)

    escalation = the_escalation(events)
    assert (escalation.failure.message, escalation.failure.check) == (words, "git-config")
    assert escalation.question.text == words
    assert "waive" in {choice.value for choice in escalation.question.choices}
    assert escalation.work_digest == "diff2"
    assert notes(events, "WARNING") == []
    cancelled = decide_events(an_active_task(Stage.WORK, request=PendingRequest.CANCEL), report)
    assert notes(cancelled, "WARNING") == [{"message": words}]


@pytest.mark.spec("14.4", "3.9")
@pytest.mark.parametrize(
    ("exit_", "excess", "kind", "words"),
    [
        (an_exit(), ("a is too large",), "INCOMPLETE", "a is too large"),
        (an_exit(limit=AgentLimit.NONE, question="Which?"), (), "ESCALATE_REQUIRED", "Which?"),
        (an_exit(question="Which?"), ("a is too large",), "ESCALATE_REQUIRED", "Which?"),
    ],
)
def test_work_may_fail_without_a_check(
    exit_: Any, excess: tuple[str, ...], kind: str, words: str
) -> None:
    events = decide_events(
        an_active_task(Stage.WORK), replace(WORKED, exit=exit_, size_excess=excess)
    )

    found = [e for e in events if isinstance(e, RetryDecided | EscalationDecided)]
    assert [(e.failure.kind.value, e.failure.message) for e in found] == [(kind, words)]
    assert found[0].work_digest == "diff2"
    assert isinstance(events[0], AgentFinished)


@pytest.mark.spec("3.9", "6.8")
def test_a_contradiction_is_escalated_with_the_goal() -> None:
    report = replace(WORKED, exit=an_exit(contradiction="the test wants 3"))

    words = the_escalation(decide_events(an_active_task(Stage.WORK), report)).failure.message

    assert "Make login work." in words
    assert words.endswith("The agent:\nthe test wants 3")


def test_the_tree_identifies_work_without_a_digest_of_its_diff() -> None:
    report = replace(WORKED, diff_digest="", size_excess=("x",))

    assert the_retry(decide_events(an_active_task(Stage.WORK), report)).work_digest == "tree2"


# ------------------------------------------------------------------ verify


def verified(verdict: Verdict, **given: Any) -> CandidateVerified:
    return replace(CandidateVerified(verdict, "c0ffee", "onto", ("a.py",)), **given)


def worked(exit_: Any = None, **given: Any) -> Task:
    task = an_active_task(Stage.VERIFY, **given)
    work = replace(task.work, exit=exit_ or an_exit(), diff_digest="diff2", tree="tree2")
    return replace(task, work=work)


FIXTURE = FindingItem("tests/test_a.py::test_a", "no extension", "tests/conftest.py:27")


@pytest.mark.spec("10.3", "10.4")
@pytest.mark.parametrize(
    ("items", "changed", "times"),
    [
        ((FIXTURE,), ("a.py", "tests/test_a.py"), 3),
        ((FIXTURE, replace(FIXTURE, where="")), ("a.py",), 3),
        ((FIXTURE,), ("a.py", "tests/conftest.py"), 0),
        ((FIXTURE, replace(FIXTURE, where="a.py:1:2")), ("a.py",), 0),
        ((replace(FIXTURE, where=""),), ("a.py",), 0),
        ((replace(FIXTURE, message="SyntaxError (src/a.py:13)"),), ("src/a.py",), 0),
    ],
)
def test_a_failure_that_stays_outside_the_change_asks_whether_the_check_is_right(
    items: tuple[FindingItem, ...], changed: tuple[str, ...], times: int
) -> None:
    """The agents cannot mend a fixture that needs what the check does not set."""
    found = a_finding(Outcome.FAILED, message="1 test failed", items=items)
    report = verified(Verdict((found,)), changed=changed)
    first = the_retry(decide_events(worked(), report)).failure
    second = the_retry(decide_events(worked(feedback=first), report)).failure
    used_up = worked(feedback=second, counts=Counts(failures={"QUALITY_FAILURE": 3}, reruns=1))

    text = the_escalation(decide_events(used_up, report)).question.text

    said = f" {times} attempts failed in the same way, in files that they did not change. If the"
    assert (said in text) is bool(times)
    assert ("yaoki plan recheck" in text) is bool(times)


@pytest.mark.spec("10.3", "10.4")
def test_a_check_that_passed_on_the_base_is_not_doubted() -> None:
    """The failing test is in a file that the work did not change, and yet the work broke it."""
    now = a_finding(Outcome.FAILED, message="1 test failed", items=(FIXTURE,))
    found = weigh(now, a_finding(Outcome.PASSED), ())
    report = verified(Verdict((found,)), changed=("a.py",))
    first = the_retry(decide_events(worked(), report)).failure
    second = the_retry(decide_events(worked(feedback=first), report)).failure
    used_up = worked(feedback=second, counts=Counts(failures={"QUALITY_FAILURE": 3}, reruns=1))

    text = the_escalation(decide_events(used_up, report)).question.text

    assert "in files that they did not change" not in text
    assert "yaoki plan recheck" not in text


def test_another_failure_outside_the_change_is_counted_from_the_beginning() -> None:
    found = a_finding(Outcome.FAILED, message="1 test failed", items=(FIXTURE,))
    other = a_finding(Outcome.FAILED, items=(replace(FIXTURE, message="no server"),))
    first = the_retry(decide_events(worked(), verified(Verdict((found,))))).failure

    second = the_retry(decide_events(worked(feedback=first), verified(Verdict((other,))))).failure

    assert first.params[OUTSIDE_CHANGE_PARAM] == second.params[OUTSIDE_CHANGE_PARAM] == 1


@pytest.mark.spec("3.3", "0.1")
def test_a_passing_verdict_is_judged_with_every_outcome() -> None:
    verdict = Verdict((a_finding(PASSED, "a"), a_finding(Outcome.SKIPPED, "b", required=False)))

    events = decide_events(worked(), verified(verdict))

    assert events[-1] == Judged(
        True, "c0ffee", "onto", {"a": "PASSED", "b": "SKIPPED"}, unchanged=False
    )
    assert [note["check"] for note in notes(events, "CHECK_FINISHED")] == ["a", "b"]
    assert {note["commit"] for note in notes(events, "CHECK_FINISHED")} == {"c0ffee"}


# A person waived the check of a failure that said that nothing was changed.
WAIVED_IDLE: dict[str, Any] = {
    "waivers": ("tests",),
    "waived_work": "diff2",
    "feedback": a_failure(FailureKind.INCOMPLETE, check="tests", pattern="no-change"),
}


@pytest.mark.spec("3.5", "1.2")
@pytest.mark.parametrize(
    ("given", "report", "proven", "unchanged"),
    [
        ({}, {"changed": ()}, False, True),
        ({}, {"changed": (), "is_already_landed": True}, True, False),
        ({"spec": a_spec(kind=TaskKind.REPORT)}, {"changed": ()}, True, False),
        ({"spec": a_spec(may_change_nothing=True)}, {"changed": ()}, True, True),
        ({"waivers": ("no-change",)}, {"changed": ()}, True, True),
        (WAIVED_IDLE, {"changed": ()}, True, True),
        ({**WAIVED_IDLE, "waivers": ("lint",)}, {"changed": ()}, False, True),
        ({**WAIVED_IDLE, "waived_work": "diff1"}, {"changed": ()}, False, True),
        ({**WAIVED_IDLE, "feedback": a_failure(check="tests")}, {"changed": ()}, False, True),
        ({"mode": AttemptMode.TAKEN_OVER}, {"changed": ()}, False, True),
        ({}, {}, True, False),
    ],
)
def test_a_task_without_changes_passes_only_if_allowed(
    given: dict[str, Any], report: dict[str, Any], proven: bool, unchanged: bool
) -> None:
    events = decide_events(worked(**given), verified(a_verdict(PASSED), **report))

    (judged,) = (event for event in events if isinstance(event, Judged))
    assert (judged.passed, judged.unchanged) == (proven, unchanged)


@pytest.mark.spec("3.5")
def test_a_failed_agent_without_changes_does_not_pass() -> None:
    task = worked(an_exit(code=1), spec=a_spec(may_change_nothing=True))

    events = decide_events(task, verified(a_verdict(PASSED), changed=()))

    assert the_retry(events).failure.message == "nothing was changed; it ended with exit code 1"


@pytest.mark.spec("3.5")
def test_a_needless_run_names_the_place_of_the_work() -> None:
    events = decide_events(
        worked(), verified(a_verdict(PASSED), changed=(), work_elsewhere=("branch x",))
    )

    again = the_retry(events)
    assert again.failure.message == (
        "nothing was changed; if nothing needs changing, say why. "
        "The work is in another place: branch x; move it to this branch"
    )
    assert again.work_digest == "diff2"


def changed_two_files(exit_: Any = None) -> Task:
    task = worked(exit_)
    return replace(task, work=replace(task.work, attempt_file_count=2))


@pytest.mark.spec("3.5", "0.1")
@pytest.mark.parametrize(
    ("names", "landed"),
    [(("a", "b"), "landed with a, b"), ((), "landed"), (("a",), "landed with a")],
)
def test_changes_that_all_landed_with_another_task_count_as_none(
    names: tuple[str, ...], landed: str
) -> None:
    report = verified(a_verdict(PASSED), changed=(), landed_with=names)

    events = decide_events(changed_two_files(), report)

    again = the_retry(events).failure
    words = f"everything that was changed has already {landed}"
    assert again.message == f"{words}; if nothing else needs changing, say why"
    assert (again.check, again.params["sameWork"]) == ("no-change", words)


@pytest.mark.spec("3.5", "4.2")
def test_a_failed_agent_whose_changes_landed_with_another_task_is_asked_as_well() -> None:
    report = verified(a_verdict(PASSED), changed=(), landed_with=("a",))

    again = the_retry(decide_events(changed_two_files(an_exit(code=3)), report)).failure

    assert again.message.startswith("everything that was changed has already landed with a")
    assert again.agent_end == "the agent ended with exit code 3"


@pytest.mark.spec("3.5", "4.4")
def test_a_check_that_fails_after_changes_that_landed_with_another_task_is_the_failure() -> None:
    report = verified(a_verdict(FAILED), changed=(), landed_with=("a",))

    failure = the_retry(decide_events(changed_two_files(), report)).failure

    assert failure.kind is FailureKind.QUALITY_FAILURE
    assert "nothing was changed" not in failure.message


@pytest.mark.spec("3.5", "10.3")
def test_an_agent_without_changes_gets_the_names_of_all_failing_checks() -> None:
    verdict = Verdict(tuple(a_finding(FAILED, name) for name in ("tests", "lint", "Q5")))

    failure = the_retry(decide_events(worked(), verified(verdict, changed=()))).failure

    assert failure.message.startswith("nothing was changed; ")
    assert failure.message.endswith("; failed: tests, lint")


@pytest.mark.spec("3.5", "4.3", "6.9")
def test_an_agent_without_changes_gets_the_failing_checks() -> None:
    verdict = Verdict(
        (
            a_finding(FAILED, "Q5", message="nothing was changed, and the checks fail"),
            a_finding(FAILED, "Q6", message="no function f"),
            a_finding(
                FAILED,
                "tests",
                message="2 failed",
                items=(FindingItem("t"),),
                params={"exitCode": 9, "x": 1},
                output="log",
            ),
        )
    )

    failure = the_retry(
        decide_events(
            worked(an_exit(code=3, stderr_tail="usage: x\nbad option\n")),
            verified(verdict, changed=(), work_elsewhere=("branch x",)),
        )
    ).failure

    assert failure.kind is FailureKind.INCOMPLETE
    assert failure.message == (
        "nothing was changed; it ended with exit code 3: usage: x | bad option. "
        "The work is in another place: branch x; move it to this branch; the checks fail; "
        "no function f"
    )
    assert failure.agent_end == "the agent ended with exit code 3: bad option"
    assert (failure.check, failure.items) == ("Q5", (FindingItem("t"),))
    assert failure.params == {"exitCode": 3, "x": 1}
    assert failure.output == ""


@pytest.mark.spec("3.5", "4.2")
def test_a_classified_exit_keeps_only_the_name_of_the_check() -> None:
    verdict = Verdict((a_finding(FAILED, message="2 failed", output="log", params={"x": 1}),))

    failure = the_retry(
        decide_events(worked(an_exit(code=137)), verified(verdict, changed=()))
    ).failure

    assert (failure.kind, failure.message) == (
        FailureKind.TRANSIENT_ERROR,
        "the agent was killed by signal 9",
    )
    assert (failure.check, failure.output, failure.params) == ("tests", "log", {})


@pytest.mark.spec("4.8", "6.7")
@pytest.mark.parametrize(
    ("finding", "kind"),
    [
        ({"transient": True}, FailureKind.TRANSIENT_ERROR),
        ({"account": "judge"}, FailureKind.RATE_LIMIT),
    ],
)
def test_a_check_that_cannot_run_does_not_fail_an_agent_without_changes(
    finding: dict[str, Any], kind: FailureKind
) -> None:
    broken = Verdict((a_finding(Outcome.BROKEN, message="why", **finding),))

    again = the_retry(decide_events(worked(), verified(broken, changed=())))

    assert (again.failure.kind, again.stage) == (kind, Stage.VERIFY)


@pytest.mark.spec("16.14", "9.3")
@pytest.mark.parametrize(
    ("partners", "words"),
    [
        ((), "tests has failed since it landed: 1 failed"),
        (
            (TaskId("x-1"), TaskId("x-2")),
            "passed alone; tests has failed since it landed together with x-1, x-2: 1 failed",
        ),
    ],
)
def test_the_landing_that_broke_a_check_is_blamed_with_all_that_failed(
    partners: tuple[TaskId, ...], words: str
) -> None:
    items = (FindingItem("t"),)
    failed = a_finding(
        FAILED,
        message="1 failed",
        pattern="test-failed",
        items=items,
        params={"x": 1},
        output="log",
    )
    result = BisectResult(TaskId("x-3"), partners, "bad", 4)
    task = an_active_task(Stage.VERIFY, spec=a_spec(kind=TaskKind.CHECK))

    events = decide_events(task, verified(Verdict((failed,)), bisect_result=result))

    blamed = make_failure(
        FailureKind.QUALITY_FAILURE, words, pattern="test-failed", check="tests", items=items
    )
    blamed = replace(blamed, params={"x": 1}, output="log")
    assert events[-1] == CulpritFound(TaskId("x-3"), partners, "bad", 4, blamed)


# ------------------------------------------------------------------ land


@pytest.mark.spec("4.1", "3.4")
def test_a_conflict_names_its_files() -> None:
    paths = tuple(f"f{n}.py" for n in range(120))
    task = worked()

    again = the_retry(decide_events(task, MergeConflicted(paths, "onto", "t9")))

    assert again.failure.message == (
        "120 files conflict with the run branch: f0.py, f1.py, f2.py, f3.py, f4.py"
    )
    assert again.failure.pattern == "merge-conflict"
    assert again.failure.items[0] == FindingItem("f0.py", "conflicts with the run branch")
    assert len(again.failure.items) == 120
    assert again.failure.params == {"conflictedFiles": list(paths[:100])}
    assert again.work_digest == "diff2"
    marked = the_retry(decide_events(task, MergeConflicted(("a",), "onto", "t9", ("a",)))).failure
    assert marked.params == {"conflictedFiles": ["a"], "markedFiles": ["a"]}
    one = the_retry(
        decide_events(an_active_task(Stage.VERIFY), MergeConflicted(("a",), "onto", "t9"))
    )
    assert one.failure.message == "1 file conflicts with the run branch: a"
    assert one.work_digest == "t9"


@pytest.mark.spec("7.5", "10.1")
@pytest.mark.parametrize(
    ("feedback", "waivers", "cured", "waived"),
    [
        (a_failure(pattern="test-failed", check="tests"), (), "test-failed", ""),
        (a_failure(pattern="test-failed", check="tests"), ("tests",), "", "tests"),
        (None, (), "", ""),
    ],
)
def test_a_landing_after_failures_records_the_fixed_failure(
    feedback: Failure | None, waivers: tuple[str, ...], cured: str, waived: str
) -> None:
    task = an_active_task(
        Stage.LAND,
        attempt=3,
        failure_kinds=("TIMEOUT", "LOST", "QUALITY_FAILURE"),
        feedback=feedback,
        waivers=waivers,
    )

    assert decide_events(task, CommitLanded("c0ffee", was_there_before=True)) == (
        Landed("c0ffee", already=True),
        JournalNote(
            "RETRY_SUCCESS",
            {
                "retry_count": 2,
                "total_attempts": 3,
                "final_status": "PASS",
                "cured": cured,
                "waived": waived,
            },
        ),
    )


@pytest.mark.spec("8.3", "10.1")
@pytest.mark.parametrize(("left_out", "status"), [((), "PASS"), (("c",), "PARTIAL")])
def test_a_recovered_group_lands_with_its_recovery_record(
    left_out: tuple[str, ...], status: str
) -> None:
    task = an_active_task(
        Stage.LAND,
        spec=a_spec(kind=TaskKind.GROUP),
        recovery_strategy=RecoveryStrategy.PARTIAL_COMMIT,
        recovered_subtasks=("a",),
        left_out_subtasks=left_out,
        failure_kinds=("TIMEOUT",),
    )

    assert decide_events(task, CommitLanded("c0ffee")) == (
        Landed("c0ffee"),
        JournalNote(
            "RECOVERY_COMPLETE",
            {
                "strategy": RecoveryStrategy.PARTIAL_COMMIT.value,
                "recovered_subtasks": ["a"],
                "left_out_subtasks": list(left_out),
                "final_status": status,
            },
        ),
    )


@pytest.mark.spec("9.2", "2.3")
@pytest.mark.parametrize(
    ("pause", "words"),
    [(None, ""), (Pause(PauseCause.UNKNOWN, "look at it first"), "look at it first")],
)
def test_an_accepted_plan_becomes_tasks_with_its_landing(pause: Pause | None, words: str) -> None:
    specs = (a_spec("a"), a_spec("b"))
    task = an_active_task(Stage.LAND, spec=a_spec(kind=TaskKind.PLAN))

    events = decide_events(task, PlanAccepted(specs, {"a": "x-1"}, "c0ffee", pause))

    assert events == (
        Planned(("a", "b"), {"a": "x-1"}, words, specs=specs),
        Landed("c0ffee"),
    )


@pytest.mark.spec("3.4", "7.2")
@pytest.mark.parametrize(
    ("cause", "onto", "since"),
    [
        (RefusalCause.MOVED, "later", "first..later"),
        (RefusalCause.WAITED, "later", "first..later"),
        (RefusalCause.UNKNOWN, "later", "first..later"),
        (RefusalCause.UNKNOWN, "first", None),
        (RefusalCause.PREDECESSOR, "later", None),
        (RefusalCause.COMPANION, "later", None),
    ],
)
def test_work_that_passed_before_others_landed_fails_only_together_with_theirs(
    cause: RefusalCause, onto: str, since: str | None
) -> None:
    """What it passed on top of must itself have landed."""
    landing = an_active_task(Stage.LAND)
    passed = replace(landing, work=replace(landing.work, onto="first"))
    again = fold_events(passed, decide_events(passed, CommitNotLanded(onto, cause)))
    failed = replace(verified(Verdict((a_finding(FAILED),))), onto=onto)

    failure = the_retry(decide_events(again, failed)).failure
    rechecked = evolve(again, ChecksRevised(CheckRevision(2)))
    revised = the_retry(decide_events(rechecked, replace(failed, check_revision=2)))

    assert failure.params.get(LANDED_SINCE_PARAM) == since
    assert LANDED_SINCE_PARAM not in revised.failure.params, "it has not passed the new checks"


@pytest.mark.spec("3.4")
def test_a_check_that_could_not_run_says_nothing_about_what_landed_meanwhile() -> None:
    landing = an_active_task(Stage.LAND)
    passed = replace(landing, stage=Stage.VERIFY, work=replace(landing.work, passed_onto="first"))
    broken = Verdict((a_finding(Outcome.BROKEN, transient=True),))

    failure = the_retry(decide_events(passed, verified(broken))).failure

    assert LANDED_SINCE_PARAM not in failure.params


@pytest.mark.spec("3.4")
def test_a_branch_that_moves_each_time_becomes_a_system_fault() -> None:
    task = an_active_task(Stage.LAND)
    most = task.spec.policy.landing_refusals_max
    tired = replace(task, work=replace(task.work, landing_refusals=most))

    behind = CommitNotLanded("h2", RefusalCause.PREDECESSOR)
    refusal = LandingRefused("h2", cause=RefusalCause.PREDECESSOR)
    assert decide_events(task, behind) == (refusal,)
    last = replace(task, work=replace(task.work, landing_refusals=most - 1))
    assert decide_events(last, CommitNotLanded("h2")) == (LandingRefused("h2"),)
    refused, again = decide_events(tired, behind)
    assert refused == refusal
    assert isinstance(again, RetryDecided)
    assert again.failure.message == (
        f"its landing was refused {most + 1} times, because of other tasks on the same branch"
    )
    assert (again.stage, again.failure.is_our_fault) == (Stage.VERIFY, True)


# ------------------------------------------------------------------ the rest


@pytest.mark.spec("4.8", "11.3")
def test_faults_and_interruptions_keep_their_source_and_message() -> None:
    task = an_active_task(Stage.WORK)
    source = next(iter(FaultSource))

    fault = the_retry(decide_events(task, StageFaulted("disk", transient=True, source=source)))
    lost = the_retry(decide_events(task, AgentLost("the shim died")))
    charged = the_retry(decide_events(task, AgentLost("it ended oddly", counts_as_failure=True)))
    cut = the_retry(decide_events(task, WorkInterrupted("stopped", "refs/x")))
    fatal = the_escalation(
        decide_events(
            task, StageFaulted("no git", transient=False, code=FatalCode.PERMISSION_DENIED)
        )
    )

    assert (fault.failure.message, fault.failure.source) == ("disk", source)
    assert fault.failure.is_our_fault
    assert (lost.failure.kind, lost.failure.message) == (FailureKind.LOST, "the shim died")
    assert (charged.failure.kind, charged.failure.message) == (
        FailureKind.INCOMPLETE,
        "it ended oddly",
    )
    assert (cut.failure.kind, cut.failure.message) == (FailureKind.LOST, "stopped")
    assert (fatal.failure.code, fatal.blocked) == (
        FatalCode.PERMISSION_DENIED,
        Reason.SYSTEM_ERROR_PERMANENT,
    )


@pytest.mark.spec("11.5")
def test_a_deferred_stage_releases_its_claim_until_a_date() -> None:
    assert decide_events(an_active_task(Stage.WORK), StageDeferred("no port is free", MINUTE)) == (
        LeaseReleased("host:1", 1, "no port is free", NOW + MINUTE),
    )
    discarded = StageDeferred("it did not land", MINUTE, proof_discarded=True)
    assert decide_events(an_active_task(Stage.VERIFY), discarded) == (
        LeaseReleased("host:1", 1, "it did not land", NOW + MINUTE, proof_discarded=True),
    )
    rejected = StageDeferred("scope failed", MINUTE, avoids_queue=True)
    assert decide_events(an_active_task(Stage.VERIFY), rejected) == (
        LeaseReleased("host:1", 1, "scope failed", NOW + MINUTE, avoids_queue=True),
    )


@pytest.mark.spec("16.14")
def test_a_reverted_landing_is_retried_with_the_failure_it_caused() -> None:
    task = replace(
        a_task(), state=State.WAITING, waiting_for=WaitReason.DECISION, revert_cause=a_failure()
    )

    (again,) = decide_after_revert(task, MOMENT)

    assert isinstance(again, RetryDecided)
    assert again.failure == a_failure()


@pytest.mark.spec("16.11")
def test_an_unproven_row_is_escalated() -> None:
    task = an_active_task(Stage.LAND)

    events = decide_row_refused(task, "the row is not proven", MOMENT)

    assert events[0] == RowRefused("the row is not proven")
    escalation = the_escalation(events)
    assert escalation.failure.kind is FailureKind.ESCALATE_REQUIRED
    assert escalation.question.text == "the row is not proven"
    assert escalation.question.choices == the_escalation(events).question.choices
    assert "done" not in {choice.value for choice in escalation.question.choices}
    fold_events(task, events)


@pytest.mark.spec("9.5", "16.3")
@pytest.mark.parametrize("request_", [PendingRequest.CANCEL, PendingRequest.RECALL])
def test_changes_outside_the_worktree_are_recorded_before_the_task_ends(
    request_: PendingRequest,
) -> None:
    report = replace(
        WORKED, changed_checkout=("checkout/a", "checkout/refs/x"), left_out_files=("y",)
    )

    events = decide_events(an_active_task(Stage.WORK, request=request_), report)

    (note,) = notes(events, "CHECKOUT_CHANGED")
    assert note["message"].startswith("your refs, your checkout")
    assert notes(events, "WARNING")[0]["message"].endswith(f"yaoki recover {RUN_ID}-1")


@pytest.mark.spec("16.10")
def test_work_beside_a_changed_git_configuration_can_be_accepted() -> None:
    report = replace(WORKED, changed_git_config=("config",), diff_digest="", left_out_files=("y",))
    task = an_active_task(Stage.WORK)
    task = replace(task, work=replace(task.work, head=""))

    events = decide_events(task, report)

    assert isinstance(events[0], AgentFinished)
    assert len(notes(events, "WARNING")) == 1
    escalation = the_escalation(events)
    assert "waive" in {choice.value for choice in escalation.question.choices}
    assert escalation.work_digest == "tree2"


@pytest.mark.spec("5.6", "10.1")
def test_a_hint_of_the_settings_is_noted_at_the_start_of_a_retry() -> None:
    policy = a_policy(hints={FailureKind.TIMEOUT: "be quick"})
    late = a_failure(FailureKind.TIMEOUT)
    task = an_active_task(spec=a_spec(policy=policy), failure=late, feedback=late)

    events = decide_events(task, WorktreePrepared("b", "/w", "h", fresh=False))

    assert notes(events, "RETRY_START")[0]["modification_hint"] == "be quick"


@pytest.mark.spec("3.3", "1.2")
def test_a_failed_check_of_a_change_keeps_its_message() -> None:
    failed = Verdict((a_finding(FAILED, message="2 failed"),))

    again = the_retry(decide_events(worked(an_exit(code=1)), verified(failed)))
    crashed = the_retry(decide_events(worked(an_exit(code=137)), verified(failed)))
    proof = the_escalation(
        decide_events(
            an_active_task(Stage.VERIFY, spec=a_spec(kind=TaskKind.CHECK)),
            verified(failed, changed=()),
        )
    )
    older = worked()
    older = replace(older, work=replace(older.work, diff_digest=""))
    needless = the_retry(decide_events(older, verified(a_verdict(PASSED), changed=())))

    assert (again.failure.message, again.work_digest) == ("2 failed", "diff2")
    end = "the agent was killed by signal 9, so its work may be incomplete"
    assert (crashed.failure.message, crashed.failure.agent_end) == (f"2 failed; {end}", end)
    assert crashed.failure.fingerprint == again.failure.fingerprint
    assert proof.failure.message == "2 failed"
    assert needless.work_digest == "tree2"
