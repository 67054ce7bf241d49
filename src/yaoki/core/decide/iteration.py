"""Continuous mode: what an iteration came to, and whether another follows."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum, unique

from yaoki.core.model import Continuous


@unique
class Commit(StrEnum):
    """What an iteration put on the run branch, or why it did not."""

    NOTHING = "nothing to commit"
    COMMITTED = "committed"
    STAGING_ERROR = "staging error"
    CONFLICT = "conflict"
    GIT_ERROR = "git error"

    @property
    def failed(self) -> bool:
        return self in {Commit.STAGING_ERROR, Commit.CONFLICT, Commit.GIT_ERROR}

    @property
    def retry_safe(self) -> bool:
        """After a conflict parts of the change may stand: nobody repeats that unasked."""
        return self is not Commit.CONFLICT


@dataclass(frozen=True, slots=True)
class Iteration:
    """How one iteration ended.  `proven`: done_when holds; `failed` names what did not end well."""

    number: int
    commit: Commit
    proven: bool
    failed: tuple[str, ...] = ()

    @property
    def succeeded(self) -> bool:
        return not self.failed and not self.commit.failed


@dataclass(frozen=True, slots=True)
class Step:
    """What follows: `next`, `pause` or `stop`; why; and the failures in a row by then."""

    what: str
    reason: str
    failures_in_row: int


def step(ended: Iteration, failures_before: int, bounds: Continuous) -> Step:
    """Rule 9.7, in its order: done, too many failures, a failure, too many iterations, again."""
    failures = 0 if ended.succeeded else failures_before + 1
    if ended.proven and ended.succeeded:
        return Step("stop", "done_when holds", failures)
    if failures >= bounds.failures_max:
        return Step("stop", f"{failures} iterations in a row failed", failures)
    if not ended.succeeded and (bounds.pause_on_failure or not ended.commit.retry_safe):
        what = ", ".join(ended.failed[:5]) or ended.commit.value
        return Step("pause", f"iteration {ended.number} failed: {what}", failures)
    if ended.number >= bounds.iterations_max:
        return Step("stop", f"{ended.number} iterations, which is the limit", failures)
    return Step("next", f"iteration {ended.number + 1} of {bounds.iterations_max}", failures)
