"""The part of the store that faces read."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from yaoki.core.model import Run, RunId, State, Task, TaskId
    from yaoki.core.model.treatment import TreatmentCount
    from yaoki.ports import AccountRow, JournalEntry, TaskRow


class RunReads(Protocol):
    """Runs, tasks and journal."""

    def run(self, run_id: str) -> Run: ...
    def runs(self) -> list[Run]: ...
    def unfinished_runs(self) -> list[tuple[RunId, str, str]]:
        """Runs without a final summary: id, repository and base commit."""

    def task(self, task_id: str) -> Task: ...
    def rows(self, run_id: RunId) -> list[TaskRow]: ...
    def needs(self, run_id: RunId) -> dict[TaskId, tuple[TaskId, ...]]: ...
    def count_by_state(self, run_id: RunId) -> dict[tuple[State, bool], int]:
        """The number of tasks per (state, required)."""

    def is_idle(self, run_id: RunId) -> bool:
        """Is no task of this run claimed, ready or due later?"""

    def treatment_counts(self) -> list[TreatmentCount]:
        """The treatments of failures in all runs, archived ones included."""

    def accounts(self) -> Sequence[AccountRow]: ...
    def journal(
        self, *, run_id: str = "", task_id: str = "", after: int = 0, limit: int = 1000
    ) -> list[JournalEntry]: ...
    def last_seq(self) -> int:
        """The number of the newest entry of the journal."""

    def version(self) -> int:
        """Changes with every commit of any process; cheap enough to poll."""
