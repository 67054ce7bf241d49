"""Work that adds nothing to the target branch, because the branch contains all its changes."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from yaoki.core.model import Run, Task, TaskId
from yaoki.ports import Candidate, LandedStep, Workspace, without_undone

# People and agents read so many names of tasks.
NAMES_MAX = 5


class SameWork:
    """Used by the verify stage.

    Two tasks may make the same change.  The one that lands last adds nothing, and the checks of the
    branch say nothing about its own goal.
    """

    def __init__(self, workspace: Workspace, find_task: Callable[[TaskId], Task]) -> None:
        self._workspace, self._find_task = workspace, find_task

    def has_landed(self, run: Run, task: Task, candidate: Candidate) -> bool:
        """Has the task itself landed, although the store does not know?

        The store lost the landing, or a person merged the task's branch.
        """
        if candidate.changed:
            return False
        steps = self._workspace.branches.list_landings(run)
        if any(step.task_id == task.id for step in without_undone(steps)):
            return True
        if any(step.task_id == task.id for step in steps) or not task.work.attempt_file_count:
            return False
        return self._workspace.branches.branch_contains(run, task.work.head)

    def is_same(self, task: Task, candidate: Candidate) -> bool:
        """Did the attempt change files, of which nothing is left to land?"""
        has_work = task.spec.kind.is_change and bool(task.work.attempt_file_count)
        return has_work and not candidate.changed

    def landed_with(self, run: Run, task: Task) -> tuple[str, ...]:
        """The names of the tasks that have landed in the same files since the attempt began."""
        contents = self._workspace.contents
        own = {path for _, path in contents.files_between(task.work.base, task.work.head)}
        names: dict[str, None] = {}
        for step in self._steps_since(run, task.work.base):
            files = contents.files_between(f"{step.commit}^1", step.commit)
            if own.intersection(path for _, path in files):
                names[self._find_task(step.task_id).spec.name] = None
            if len(names) == NAMES_MAX:
                break
        return tuple(names)

    def _steps_since(self, run: Run, base: str) -> Sequence[LandedStep]:
        """The newest first."""
        found: list[LandedStep] = []
        for step in reversed(without_undone(self._workspace.branches.list_landings(run))):
            if step.branch_commit == base:
                break
            found.append(step)
        return found
