"""Rule 18.5: when a treatment cured its pattern, when it did not, and when that is unknown."""

from __future__ import annotations

import pytest

from tests.builders import a_failure, a_retry, a_task, an_active_task
from yaoki.core.decide.cures import judge_treatment
from yaoki.core.lazy_dataclass import replace
from yaoki.core.machine.events import (
    AgentFinished,
    AwaitingRerun,
    EscalationDecided,
    Event,
    Landed,
    PromptSent,
    RetryDecided,
)
from yaoki.core.machine.evolution import evolve, fold_events
from yaoki.core.model import (
    AgentExit,
    FailedCheck,
    Failure,
    FailureKind,
    Question,
    Reason,
    Stage,
    Work,
)
from yaoki.core.model.treatment import AttemptConversation, Treatment

pytestmark = pytest.mark.spec("18.5")

TREATMENT = Treatment("test-failed", "f_failed_test-failed.md", "small", AttemptConversation.FRESH)
SENT = PromptSent(
    kind="QUALITY_FAILURE",
    pattern="test-failed",
    path="f_failed_test-failed.md",
    agent="small",
    conversation=AttemptConversation.FRESH,
)
TESTS = FailedCheck("tests", "1 failed", "test-failed")
LINT = FailedCheck("lint", "2 findings", "lint-error")


def quality(pattern: str, *failed: FailedCheck) -> Failure:
    return a_failure(FailureKind.QUALITY_FAILURE, pattern=pattern, failed_checks=failed)


@pytest.mark.parametrize(
    ("event", "cured"),
    [
        (Landed("c0ffee"), True),
        (a_retry(quality("lint-error")), True),
        (a_retry(quality("test-failed")), False),
        (a_retry(quality("lint-error", LINT, TESTS)), False),
        (a_retry(a_failure(FailureKind.TIMEOUT)), False),
        (a_retry(a_failure(FailureKind.INCOMPLETE, pattern="no-change")), False),
        (a_retry(a_failure(FailureKind.INCOMPLETE, pattern="agent-failed")), False),
        (a_retry(a_failure(FailureKind.INCOMPLETE, pattern="omission")), True),
        (a_retry(a_failure(FailureKind.CONFLICT, pattern="merge-conflict")), None),
        (a_retry(a_failure(FailureKind.RATE_LIMIT)), None),
        (a_retry(a_failure(FailureKind.LOST)), None),
        (a_retry(a_failure(FailureKind.TRANSIENT_ERROR, is_our_fault=True)), None),
        (a_retry(replace(quality("test-failed"), is_our_fault=True)), None),
        (a_retry(replace(quality("test-failed"), account="judge")), None),
        (AwaitingRerun(quality("test-failed"), Reason.MAX_RETRIES), False),
        (AgentFinished(AgentExit(code=0), "head", "tree"), None),
    ],
    ids=str,
)
def test_only_a_verified_attempt_decides(event: Event, cured: bool | None) -> None:
    assert judge_treatment(TREATMENT, event) is cured


def test_a_failure_without_a_pattern_is_counted_under_its_kind() -> None:
    of_timeout = replace(TREATMENT, pattern="TIMEOUT")

    assert judge_treatment(of_timeout, a_retry(a_failure(FailureKind.TIMEOUT))) is False
    assert judge_treatment(of_timeout, a_retry(quality("test-failed"))) is True


def test_a_conflict_again_is_not_cured() -> None:
    conflict = replace(TREATMENT, pattern="merge-conflict")
    again = a_failure(FailureKind.CONFLICT, pattern="merge-conflict")

    assert judge_treatment(conflict, a_retry(again)) is False


def test_an_attempt_has_the_treatment_of_its_prompt_until_it_ends() -> None:
    begun = evolve(an_active_task(Stage.WORK), SENT)
    assert begun.work.treatment == TREATMENT

    fault = replace(quality("test-failed"), is_our_fault=True)
    repeated = evolve(begun, a_retry(fault, stage=Stage.WORK))
    assert repeated.work.treatment == TREATMENT, "a fault of ours repeats only the stage"
    assert evolve(begun, a_retry(quality("test-failed"))).work.treatment is None

    proven = replace(begun.work, verified_commit="c0ffee")
    landing = replace(begun, stage=Stage.LAND, work=proven)
    assert fold_events(landing, [Landed("c0ffee")]).work.treatment is None


@pytest.mark.parametrize("sent", [replace(SENT, kind=""), PromptSent(kind="TIMEOUT")])
def test_a_first_prompt_and_one_of_an_older_journal_are_no_treatments(sent: PromptSent) -> None:
    assert sent.treatment is None
    assert evolve(an_active_task(Stage.WORK), sent).work.treatment is None


def test_an_escalation_ends_the_treatment() -> None:
    """A person who waives the check lands the work without another attempt: that cures nothing."""
    asked = EscalationDecided(
        quality("test-failed"), Reason.MAX_RETRIES, {}, {}, Question("what now?", ())
    )

    assert judge_treatment(TREATMENT, asked) is False
    assert evolve(evolve(an_active_task(Stage.WORK), SENT), asked).work.treatment is None


def test_a_task_begins_without_a_treatment() -> None:
    assert a_task().work == Work()
    assert isinstance(a_retry(), RetryDecided)
