"""Continuous mode: the result of an iteration, and whether another follows."""

from __future__ import annotations

from enum import StrEnum, unique

from yaoki.core.lazy_dataclass import dataclass
from yaoki.core.model import ContinuousMode


@unique
class CommitOutcome(StrEnum):
    """The effect of an iteration on the run branch: a commit, or the reason why there is none."""

    NOTHING = "nothing to commit"
    COMMITTED = "committed"
    STAGING_ERROR = "staging error"
    CONFLICT = "conflict"
    GIT_ERROR = "git error"

    @property
    def failed(self) -> bool:
        return self in {
            CommitOutcome.STAGING_ERROR,
            CommitOutcome.CONFLICT,
            CommitOutcome.GIT_ERROR,
        }

    @property
    def retry_safe(self) -> bool:
        """After a conflict parts of the change may remain, so a person decides."""
        return self is not CommitOutcome.CONFLICT


@dataclass(frozen=True, slots=True)
class Iteration:
    """The result of one iteration; `failed` names the tasks that failed."""

    number: int
    commit: CommitOutcome
    final_check_passed: bool
    failed: tuple[str, ...] = ()

    @property
    def succeeded(self) -> bool:
        return not self.failed and not self.commit.failed


@unique
class IterationAction(StrEnum):
    """The action after an iteration."""

    NEXT = "next"
    PAUSE = "pause"
    STOP = "stop"


@dataclass(frozen=True, slots=True)
class IterationDecision:
    """The action after an iteration, its reason, and the number of failed iterations in a row."""

    action: IterationAction
    reason: str
    failures_in_row: int


def decide_iteration(
    ended: Iteration, failures_before: int, bounds: ContinuousMode
) -> IterationDecision:
    """Rule 9.7, in its order: done, too many failures, a failure, too many iterations, again."""
    failures = 0 if ended.succeeded else failures_before + 1
    if ended.final_check_passed and ended.succeeded:
        return IterationDecision(IterationAction.STOP, "done_when holds", failures)
    if failures >= bounds.failures_max:
        return IterationDecision(
            IterationAction.STOP, f"{failures} iterations in a row failed", failures
        )
    if not ended.succeeded and (bounds.pause_on_failure or not ended.commit.retry_safe):
        failed_names = ", ".join(ended.failed[:5]) or ended.commit.value
        return IterationDecision(
            IterationAction.PAUSE, f"iteration {ended.number} failed: {failed_names}", failures
        )
    if ended.number >= bounds.iterations_max:
        return IterationDecision(
            IterationAction.STOP, f"{ended.number} iterations, which is the limit", failures
        )
    return IterationDecision(
        IterationAction.NEXT, f"iteration {ended.number + 1} of {bounds.iterations_max}", failures
    )
