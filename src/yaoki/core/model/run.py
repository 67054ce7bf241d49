"""A run, why it is paused, and the checks, agents and policies that its tasks share."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime

from yaoki.core.lazy_dataclass import dataclass, field, replace
from yaoki.core.model.enums import PauseCause
from yaoki.core.model.names import RunId
from yaoki.core.model.spec import AgentSpec, CheckSpec, RetryPolicy
from yaoki.core.model.stored_word import stored_as


@dataclass(frozen=True, slots=True)
class Catalogue:
    """Checks, agents and policies that the tasks of a run refer to by name."""

    checks: Mapping[str, CheckSpec] = field(default_factory=dict)
    agents: Mapping[str, AgentSpec] = field(default_factory=dict)
    policies: Mapping[str, RetryPolicy] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class ContinuousMode:
    """The bounds of a continuous run: execute, commit, evaluate, decide, repeat."""

    iterations_max: int = 10
    failures_max: int = 3
    pause_on_failure: bool = True


_NAMED_CAUSES = frozenset(PauseCause) - {PauseCause.UNKNOWN}


@dataclass(frozen=True, slots=True)
class Pause:
    """A pause of a run: a cause for the code, and a sentence for a person.

    The store and the journal keep both as one text, `cause: sentence`.
    """

    cause: PauseCause
    sentence: str

    def __str__(self) -> str:
        unknown = self.cause is PauseCause.UNKNOWN
        return self.sentence if unknown else f"{self.cause}: {self.sentence}"

    @classmethod
    def parse(cls, text: str) -> Pause | None:
        """The inverse of `str`; None for the empty text of a run that is not paused."""
        if not text:
            return None
        cause, colon, sentence = text.partition(": ")
        if colon and cause in _NAMED_CAUSES:
            return cls(PauseCause(cause), sentence)
        return cls(PauseCause.UNKNOWN, text)


@dataclass(frozen=True, slots=True)
class Run:
    """An execution of a plan in one repository.

    `planner` names the agents that are asked for more tasks, `default_agents` those of a task that
    names none.  `acknowledged_iteration` is the iteration whose failure a person accepted.  With a
    `target_group` the value describes the branch of that group instead of the run's own branch.
    `revised_checks` replace those of the catalogue, which itself never changes: the journal is read
    with it.
    """

    id: RunId
    goal: str
    repo: str
    base_branch: str
    base: str
    created_at: datetime
    catalogue: Catalogue = field(default_factory=Catalogue)
    done_when: tuple[str, ...] = ()
    source: str = ""
    parallel: int = 2
    revision: int = 1
    priority: int = 0
    cancel_requested: bool = False
    merged_commit: str = ""
    finished_at: datetime | None = None
    planner: tuple[str, ...] = ()
    default_agents: tuple[str, ...] = field(default=(), metadata=stored_as("chain"))
    budget: Mapping[str, float] = field(default_factory=dict)
    continuous: ContinuousMode | None = None
    language: str = "en"
    approved: bool = False
    pause: Pause | None = None
    iteration: int = 0
    failures_in_row: int = 0
    budget_grants: int = 0
    acknowledged_iteration: int = 0
    target_group: str = ""
    revised_checks: Mapping[str, CheckSpec] = field(default_factory=dict)
    reuse_verdicts: bool = True

    @property
    def checks(self) -> Mapping[str, CheckSpec]:
        """The checks that tasks refer to by name, as the latest revision of the plan has them."""
        return {**self.catalogue.checks, **self.revised_checks}

    @property
    def pause_reason(self) -> str:
        """The pause as it is stored and shown; empty for a run that is not paused."""
        return str(self.pause) if self.pause else ""

    @property
    def pause_cause(self) -> PauseCause | None:
        return self.pause.cause if self.pause else None

    @property
    def branch(self) -> str:
        return landing_branch(self.id, self.target_group)

    def on_group_branch(self, group: str, base: str = "") -> Run:
        """This run with the branch of one of its groups as target."""
        return replace(self, target_group=group, base=base or self.base) if group else self


def landing_branch(run_id: str, group: str = "") -> str:
    """The run branch, or the branch of one of its groups."""
    return f"yaoki/{group}-group" if group else f"yaoki/{run_id}"


def task_branch(task_id: str) -> str:
    """Beside the run branch `yaoki/<run>`, not below it, because git stores refs as paths."""
    return f"yaoki/{task_id}"
