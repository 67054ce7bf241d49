"""The final check of a run: `done_when`, and every check that a later landing may have broken.

It is a task like any other, added when all other tasks are done.
"""

from __future__ import annotations

from yaoki.core.lazy_dataclass import replace
from yaoki.core.model import FINAL_CHECK_NAME, Run, State, TaskSpec
from yaoki.engine.required_checks import CheckSet, RequiredChecks, is_final_check
from yaoki.ports import CompletionStore, TaskRow, Workspace

FINAL_CHECK_GOAL = "Verify on the run branch that everything that landed still passes."


class FinalCheckStep:
    """Adds a final check when the run branch or the checks are not those of the last one."""

    def __init__(self, store: CompletionStore, workspace: Workspace) -> None:
        self._store, self._workspace = store, workspace
        self._required_checks = RequiredChecks(store)

    def advance(self, run: Run) -> bool:
        """Add the final check unless it exists, has nothing to check, or could not pass anyway."""
        if run.cancel_requested:
            return False
        rows = self._store.rows(run.id)
        earlier = [row for row in rows if is_final_check(row)]
        if not _all_done([row for row in rows if row not in earlier]):
            return False
        last = earlier[-1] if earlier else None
        head = self._workspace.branches.head(run)
        checked = last if last is not None and self._is_result_for(last, head) else None
        if checked is not None and (run.revision == 1 or checked.state is not State.DONE):
            return False
        spec = self._spec(
            run, f"{FINAL_CHECK_NAME}-{len(earlier) + 1}" if earlier else FINAL_CHECK_NAME, head
        )
        if not spec.checks or (checked is not None and self._covers(checked, spec)):
            return False
        failed = last is not None and (last.awaiting_rerun or last.state is State.ESCALATED)
        replaces = {spec.name: str(last.id)} if last is not None and failed else {}
        return bool(self._store.add_tasks(run.id, [spec], unless=spec.name, replaces=replaces))

    def _is_result_for(self, row: TaskRow, head: str) -> bool:
        """Did this final check pass or fail on the head?

        A replaced one is no result: the landing that it blamed may still be there.
        """
        checked = row.landed_commit or self._store.task(row.id).work.base
        return row.state is not State.REPLACED and checked == head

    def _covers(self, row: TaskRow, wanted: TaskSpec) -> bool:
        """False if a revision of the plan changed the checks or the set-up after this check."""
        passed = self._store.task(row.id).spec
        same_setup = set(wanted.setup) <= set(passed.setup)
        return same_setup and all(check in passed.checks for check in wanted.checks)

    def _spec(self, run: Run, name: str, head: str) -> TaskSpec:
        """The plan's `done_when`, then the required checks not known to pass on this head."""
        done_when = {check: run.checks[check] for check in run.done_when}
        unknown = self._required_checks.not_known_to_pass(run, head)
        checks = {**done_when, **{check.name: check for check in unknown.checks}}
        required: CheckSet = replace(unknown, checks=tuple(checks.values()))
        # A planner, or the next iteration, may still fix what fails: ask a person only after them.
        defers = bool(run.planner or run.continuous)
        return replace(required.as_task_spec(run, name, FINAL_CHECK_GOAL), defers_escalation=defers)


def _all_done(rows: list[TaskRow]) -> bool:
    finished = {State.DONE, State.REPLACED}
    landed = {row.id for row in rows if row.state is State.DONE}
    # A group may land without some of its subtasks; they do not block the final check.
    return all(row.state in finished or row.parent in landed for row in rows if row.required)
