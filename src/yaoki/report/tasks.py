"""One task of the report: its state, its proof, its attempts."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import datetime
from functools import cached_property
from typing import Any, Protocol

from yaoki.core.lazy_dataclass import dataclass
from yaoki.core.model import BUILT_IN_CHECKS, Outcome, State
from yaoki.ports import TaskRow
from yaoki.report.attempts import attempt_documents
from yaoki.report.receipt import RunBranchState
from yaoki.views.history import CheckResult, Judgment, RunHistory, TaskHistory
from yaoki.views.history.races import RaceRound, describe_candidate, name_open_candidates
from yaoki.views.tasks import RunView, TaskView, is_proof
from yaoki.views.wait_text import describe_wait

MESSAGE_CHARS = 300
CHECKS_MAX, SURVIVORS_MAX, RACES_MAX = 200, 20, 20
Data = dict[str, Any]


class CheckOutputs(Protocol):
    """The output files of checks; a report names them by the `log` path of a finding."""

    def outputs(self, log: str) -> list[dict[str, Any]]:
        """File, size and digest of each stored channel."""

    def versions(self, log: str) -> dict[str, str]:
        """The versions that tools named in their output."""


@dataclass(frozen=True)
class TaskReportContext:
    """The sources that all tasks of the report share."""

    view: RunView
    history: RunHistory
    branch: RunBranchState
    check_outputs: CheckOutputs
    clean: Callable[[str], str]
    now: datetime

    @cached_property
    def names(self) -> Mapping[str, str]:
        return {task.row.id: task.row.name for task in self.view.tasks}

    @cached_property
    def rows(self) -> Mapping[str, TaskRow]:
        return {task.row.id: task.row for task in self.view.tasks}

    @cached_property
    def landed(self) -> frozenset[str]:
        """Tasks that are done and on the run branch."""
        return self._settled - self.missing_from_branch

    @cached_property
    def missing_from_branch(self) -> frozenset[str]:
        """Done tasks that are no longer on the run branch; none if the run is merged."""
        branch = self.branch
        if self.view.run.merged_commit or not (branch.head or branch.is_deleted):
            return frozenset()
        done = (t.row for t in self.view.tasks if t.row.id in self._settled)
        return frozenset(
            r.id for r in done if r.landed_commit and r.landed_commit not in branch.commits
        )

    @cached_property
    def _settled(self) -> frozenset[str]:
        """Done tasks; a subtask counts once its group has landed."""
        tasks = self.view.tasks
        waiting = {t.row.id for t in tasks if t.row.kind == "group" and not t.row.landed_commit}
        done = (t.row for t in tasks if t.row.state is State.DONE)
        return frozenset(row.id for row in done if row.parent not in waiting)

    @cached_property
    def steps(self) -> Mapping[str, str]:
        return {step.commit: step.task for step in self.branch.steps}

    @cached_property
    def companions(self) -> Mapping[str, str]:
        """The tasks that landed with another task's commit, with their own verified commits."""
        return dict(pair for step in self.branch.steps for pair in step.companions)


def task_document(context: TaskReportContext, task: TaskView) -> Data:
    row, clean = task.row, context.clean
    history = context.history.tasks.get(row.id) or TaskHistory()
    return {
        "id": row.id,
        "n": row.n,
        "name": clean(row.name),
        "kind": row.kind,
        "state": row.state.value,
        "landed": row.id in context.landed,
        "agent_ended": row.agent_exit or None,
        "on_branch": False
        if row.id in context.missing_from_branch
        else row.id in context.landed or None,
        "reason": task.reason or None,
        "cause": task.blocked_by or None,
        "replaced": _removal_words(task, history, State.REPLACED),
        "cancelled": _removal_words(task, history, State.CANCELLED),
        "waits_for": clean(describe_wait(task, context.now, context.names)) or None,
        "required": row.required,
        "agent": clean(row.agent_title) or None,
        "group": row.parent or None,
        "race": row.race_task or None,
        "phase": clean(row.phase) or None,
        "attempt": row.attempt,
        "proof": _proof(context, task, history),
        **attempt_documents(history, clean),
        "races": [
            _race(name_open_candidates(one, context.rows), clean)
            for one in history.races.rounds[-RACES_MAX:]
        ],
        "next": task.next_command or None,
    }


def _race(race: RaceRound, clean: Callable[[str], str]) -> Data:
    """A round of a race, with each candidate in words and the ids whose work is saved."""
    return {
        "attempt": race.attempt,
        "winner": race.winner or None,
        "criterion": race.criterion or None,
        "words": clean(race.words),
        "judge": clean(race.judge.words) if race.judge else None,
        "candidates": [
            {
                "id": one.id,
                "outcome": one.outcome or None,
                "words": clean(describe_candidate(one, race.winner)),
            }
            for one in race.candidates
        ],
    }


def _removal_words(task: TaskView, history: TaskHistory, state: State) -> str | None:
    """Why the task was replaced or cancelled; None for one in another state."""
    if task.row.state is not state or history.removal is None:
        return None
    return history.removal.words.removeprefix(state.value).removeprefix(":").strip() or None


def _proof(context: TaskReportContext, task: TaskView, history: TaskHistory) -> Data | None:
    """The check results of exactly the landed commit; a judgment of another commit is no proof."""
    row = task.row
    proof = history.judgments[-1] if history.judgments else None
    if row.id not in context.landed or proof is None or proof.commit != row.landed_commit:
        return None
    return {
        "commit": proof.commit,
        "tree": context.branch.trees.get(proof.commit),
        "onto": proof.onto,
        "how": _how(context, task, proof),
        "earlier_checks": proof.check_revision != history.check_revision,
        "not_repeated": [context.clean(name) for name in _not_repeated(context, task, proof)],
        "checks": [_check(context, row.id, check) for check in proof.checks[:CHECKS_MAX]],
    }


def _not_repeated(context: TaskReportContext, task: TaskView, proof: Judgment) -> list[str]:
    """For a final check: the checks of tasks that had passed on exactly its commit already."""
    if not is_proof(task):
        return []
    judged = [one.judgments[-1] for one in context.history.tasks.values() if one.judgments]
    passed = (
        check.check
        for one in judged
        if one.commit == proof.commit
        for check in one.checks
        if check.outcome == Outcome.PASSED and check.check not in BUILT_IN_CHECKS
    )
    own = {check.check for check in proof.checks}
    return [name for name in dict.fromkeys(passed) if name not in own][:CHECKS_MAX]


def _how(context: TaskReportContext, task: TaskView, proof: Judgment) -> str:
    """Landed on the run branch, with another task's commit, in its group, or unchanged."""
    if context.steps.get(proof.commit) == task.row.id:
        return "LANDED"
    if context.companions.get(task.row.id) == proof.commit:
        return "TOGETHER"
    return "IN_GROUP" if task.row.parent and proof.commit != proof.onto else "UNCHANGED"


def _check(context: TaskReportContext, task_id: str, check: CheckResult) -> Data:
    plan, clean = context.history.plan, context.clean
    identity = plan.check_identity(task_id, check.check, check.seq) if plan else None
    mutants = check.mutants
    return {
        "check": clean(check.check),
        "type": identity.type if identity else "built-in",
        "identity": identity.identity if identity else None,
        "command": clean(identity.command)[:MESSAGE_CHARS]
        if identity and identity.command
        else None,
        "outcome": check.outcome,
        "tests": check.tests,
        "known_failures": check.known_count,
        "fail_to_pass": [clean(name) for name in check.fail_to_pass],
        "hidden": clean(check.hidden) or None,
        "key": dict(check.key) or None,
        "reused": dict(check.reused) or None,
        "mutants": {"killed": mutants.killed, "survived": mutants.survived} if mutants else None,
        "survivors": [clean(words) for words in check.survivors[:SURVIVORS_MAX]],
        "quarantined": [
            {name: clean(text) for name, text in entry.items()} for entry in check.quarantined
        ],
        "required": check.required,
        "exit_code": check.exit_code,
        "seconds": check.seconds,
        "message": clean(check.message)[:MESSAGE_CHARS] or None,
        "versions": context.check_outputs.versions(check.log) if check.log else {},
        "outputs": context.check_outputs.outputs(check.log) if check.log else [],
    }
