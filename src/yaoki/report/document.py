"""The report as one document, from which every format is rendered."""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from yaoki.core.counting import format_count
from yaoki.core.model import Choice, State
from yaoki.ports import SavedWork, TaskRow
from yaoki.report.check_outputs import CheckOutputs
from yaoki.report.journal_summary import JournalSummary
from yaoki.report.receipt import RunBranchState
from yaoki.report.tasks import TaskReportContext, task_document
from yaoki.report.totals import (
    count_not_retried,
    count_retries,
    count_tasks,
    list_failing_before,
    list_flaky_checks,
    list_saved_work,
    measure_times,
)
from yaoki.report.wording import verdict_sentence
from yaoki.views.choices import agent_reads_words, choice_meaning
from yaoki.views.tasks import RunView, TaskView

SCHEMA = 1
ASKING_MAX = 1000
# The workspace's ref name for saved work of a submodule.
SUBMODULE = re.compile(r"/\d+-submodule(?:-\d+)?$")
Data = dict[str, Any]


@dataclass(frozen=True, slots=True)
class EscalationDetails:
    """What the store knows about an escalated task, besides its row."""

    worktree: str
    failing_check: str


@dataclass(frozen=True, slots=True)
class ReportSources:
    """Everything a report is made from.  `clean` masks secrets in text from agents and tools."""

    view: RunView
    journal: JournalSummary
    branch: RunBranchState
    check_outputs: CheckOutputs
    now: datetime
    made_by: str
    made_with: Mapping[str, str] = field(default_factory=dict)
    saved_work: Sequence[SavedWork] = ()
    escalation_of: Callable[[str], EscalationDetails] = lambda _: EscalationDetails("", "")
    clean: Callable[[str], str] = lambda text: text
    warnings: Sequence[str] = field(default_factory=tuple)


def report_document(given: ReportSources) -> Data:
    """The report without its receipt, which is made from it."""
    view, clean = given.view, given.clean
    history = given.journal.history
    sight = TaskReportContext(view, given.journal, given.branch, given.check_outputs, clean)
    tasks = [task_document(sight, task) for task in view.tasks]
    told = {**count_tasks(view, history, sight.landed), "lost": len(sight.missing_from_branch)}
    told["waived"] = sum(map(_waived, tasks))
    run = _run(given)
    return {
        "schema": SCHEMA,
        "made_at": given.now.isoformat(timespec="seconds"),
        # The time of the last entry, so that the same run always makes the same receipt.
        "as_of": (history.last_at or view.run.created_at).isoformat(),
        "made_by": given.made_by,
        # The tools that made the report; only checks report the tools of the run.
        "made_with": dict(given.made_with),
        "verdict": _verdict(given, run["status"], told),
        "run": run,
        "plan": _plan(given),
        "numbers": told,
        "time": measure_times(view.run, history, given.now),
        "asking": [question_document(given, task) for task in view.tasks_asking[:ASKING_MAX]],
        "asking_left_out": max(0, len(view.tasks_asking) - ASKING_MAX),
        "retries": count_retries(history),
        "not_retried": count_not_retried(history),
        "flaky": list_flaky_checks(view, history, clean),
        "red_before": list_failing_before(view, history, clean),
        "decided": _decided(given),
        "noticed": _noticed(given),
        "kept": list_saved_work(view, given.saved_work, given.branch.commits, clean),
        "warnings": [clean(words) for words in (*given.warnings, *_strange(given))],
        "tasks": tasks,
        "next": view.next_command,
    }


def _verdict(given: ReportSources, status: str, told: Data) -> str:
    said = verdict_sentence(status, told, given.clean(given.view.run.pause_reason))
    return (
        f"{said} Last, {given.clean(given.view.last_iteration_words)}."
        if given.view.last_iteration_words
        else said
    )


def _waived(task: Data) -> bool:
    """Did it land with a check that a person waived?"""
    proof = task["proof"]
    return bool(proof) and any(check["outcome"] == "WAIVED" for check in proof["checks"])


def _run(given: ReportSources) -> Data:
    run, clean = given.view.run, given.clean
    return {
        "run": run.id,
        "goal": clean(run.goal),
        "status": given.view.status.value,
        "exit_code": given.view.exit_code,
        "run_branch": run.branch,
        "base_branch": clean(run.base_branch),
        "base": run.base,
        "head": given.branch.head or None,
        "created_at": run.created_at.isoformat(),
        "finished_at": run.finished_at.isoformat() if run.finished_at else None,
        "merged": clean(run.merged_commit) or None,
        # Without an entry, git shows only a merge into the base branch.
        "merged_into": clean(given.journal.history.merged_into or run.base_branch)
        if run.merged_commit
        else None,
        "paused": clean(run.pause_reason) or None,
        "done_when": [clean(name) for name in run.done_when],
    }


def _plan(given: ReportSources) -> Data:
    tasks = len(given.view.tasks)
    return {
        "sha256": given.journal.plan_digest,
        "revision": given.view.run.revision,
        "tasks": tasks,
    }


def question_document(given: ReportSources, task: TaskView) -> Data:
    """The question, and the command for each answer."""
    row, held = task.row, given.escalation_of(task.row.id)
    answers = (_answer(row, choice, held) for choice in task.choices)
    return {
        "task": row.id,
        "name": given.clean(row.name),
        "reason": task.reason or None,
        "question": given.clean(row.question),
        "answers": [{**one, "command": given.clean(one["command"])} for one in answers],
    }


def _answer(row: TaskRow, choice: str, held: EscalationDetails) -> Data:
    """A command to copy; each argument is quoted for the shell."""
    command = f"yaoki answer {row.id} {choice}"
    if choice == Choice.RETRY and agent_reads_words(row):
        command += ' "words for the agent"'
    if choice == Choice.WAIVE:
        command += f" --check {shlex.quote(held.failing_check) if held.failing_check else 'NAME'}"
    what = choice_meaning(Choice(choice), row, held.worktree)
    return {"choice": choice, "command": command, "what": what}


def _noticed(given: ReportSources) -> Data:
    names, found = _names(given), given.journal.history.warnings
    listed = [
        {
            "at": one.at.isoformat(),
            "task": one.task_id or None,
            "name": given.clean(names.get(one.task_id, one.task_id)) or None,
            "words": given.clean(one.words)[:1000],
            "times": one.times,
        }
        for one in found.by_text.values()
    ]
    return {"listed": listed, "left_out": found.left_out}


def _names(given: ReportSources) -> Mapping[str, str]:
    return {task.row.id: task.row.name for task in given.view.tasks}


def _decided(given: ReportSources) -> Data:
    names = _names(given)
    listed = [
        {
            "at": one.at.isoformat(),
            "task": one.task_id,
            "name": given.clean(names.get(one.task_id, one.task_id)),
            "choice": one.choice,
            "check": given.clean(one.check) or None,
            "words": given.clean(one.words)[:500] or None,
            "how": one.channel or None,
        }
        for one in given.journal.history.answers
    ]
    return {"answers": listed, "left_out": given.journal.history.answers_left_out}


def _stranded(given: ReportSources) -> Iterable[str]:
    """Warnings about landed submodule commits that no remote is known to have."""
    rows = [task.row for task in given.view.tasks]
    done: dict[str, TaskRow] = {r.id: r for r in rows if r.state is State.DONE and r.landed_commit}
    for work in given.saved_work:
        row = done.get(work.task_id)
        if row and row.attempt == work.attempt and SUBMODULE.search(work.ref):
            yield (
                f"{row.name} landed a link to commit {work.commit} of a submodule, which none of "
                f"its remotes had at that time; it is saved as {work.ref}: push it to a remote"
            )


def _strange(given: ReportSources) -> Iterable[str]:
    """Warnings that a reader must not overlook."""
    view, branch = given.view, given.branch
    yield from _stranded(given)
    if branch.is_deleted and view.run.merged_commit:
        return  # a user may delete the branch of a merged run
    if branch.unreadable_because:
        yield branch.unreadable_because
        return
    other = [step for step in branch.steps if not step.task and not step.undoes]
    if other:
        was = "was" if len(other) == 1 else "were"
        yield f"{format_count(len(other), 'commit')} on {view.run.branch} {was} not landed by yaoki"
    lost = [
        task.row.name
        for task in view.tasks
        if task.row.state is State.DONE
        and task.row.landed_commit
        and task.row.landed_commit not in branch.commits
        if not task.row.parent
    ]
    if lost:
        shown = ", ".join(lost[:5])
        yield (
            f"the run branch does not contain the landed commits of "
            f"{format_count(len(lost), 'task')}: {shown}"
        )
