"""The report as one document, from which every format is rendered."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import field
from datetime import datetime
from typing import Any

from yaoki.core.lazy_dataclass import dataclass
from yaoki.core.lazy_pattern import lazy_compile
from yaoki.core.model import Choice, State
from yaoki.core.text import format_count
from yaoki.ports import SavedWork, TaskRow
from yaoki.report.receipt import RunBranchState
from yaoki.report.tasks import CheckOutputs, TaskReportContext, task_document
from yaoki.report.totals import (
    count_check_runs,
    count_not_retried,
    count_retries,
    count_tasks,
    list_failing_before,
    list_flaky_checks,
    list_reruns,
    list_saved_work,
    measure_times,
)
from yaoki.report.wording import verdict_sentence
from yaoki.views.choices import agent_reads_words, choice_meaning
from yaoki.views.flaky_tests import FlakyTestView, flaky_test_document
from yaoki.views.forecasts import score_document
from yaoki.views.history import RunHistory
from yaoki.views.tasks import RunView, TaskView

SCHEMA = 1
ASKING_MAX = 1000
# The workspace's ref name for saved work of a submodule.
SUBMODULE = lazy_compile(r"/\d+-submodule(?:-\d+)?$")
Data = dict[str, Any]


@dataclass(frozen=True, slots=True)
class EscalationDetails:
    """Details of an escalated task that its row lacks."""

    worktree: str
    failing_check: str
    further_waivers: str = ""
    earlier_work: str = ""


@dataclass(frozen=True, slots=True)
class ReportSources:
    """Everything a report is made from.  `clean` masks secrets in text from agents and tools."""

    view: RunView
    history: RunHistory
    branch: RunBranchState
    check_outputs: CheckOutputs
    now: datetime
    made_by: str
    made_with: Mapping[str, str] = field(default_factory=dict)
    saved_work: Sequence[SavedWork] = ()
    escalation_of: Callable[[str], EscalationDetails] = lambda _: EscalationDetails("", "")
    clean: Callable[[str], str] = lambda text: text
    warnings: Sequence[str] = field(default_factory=tuple)
    # Those that were seen flaky in this run.
    flaky_tests: Sequence[FlakyTestView] = ()


def report_document(sources: ReportSources) -> Data:
    """The report without its receipt, which is made from it."""
    view, clean = sources.view, sources.clean
    history = sources.history
    context = TaskReportContext(
        view, history, sources.branch, sources.check_outputs, clean, sources.now
    )
    tasks = [task_document(context, task) for task in view.tasks]
    numbers = {
        **count_tasks(view, history, context.landed),
        "lost": len(context.missing_from_branch),
    }
    numbers["waived"] = sum(map(_waived, tasks))
    run = _run(sources)
    return {
        "schema": SCHEMA,
        "made_at": sources.now.isoformat(timespec="seconds"),
        # The time of the last entry, so that the same run always makes the same receipt.
        "as_of": (history.last_at or view.run.created_at).isoformat(),
        "made_by": sources.made_by,
        # The tools that made the report; only checks report the tools of the run.
        "made_with": dict(sources.made_with),
        "verdict": _verdict(sources, run["status"], numbers),
        "run": run,
        "plan": _plan(sources),
        "numbers": numbers,
        "time": measure_times(view.run, history, sources.now),
        "check_runs": count_check_runs(history),
        "forecast": score_document(history.forecast) if history.forecast else None,
        "asking": [question_document(sources, task) for task in view.tasks_asking[:ASKING_MAX]],
        "asking_left_out": max(0, len(view.tasks_asking) - ASKING_MAX),
        "retries": count_retries(history),
        "not_retried": count_not_retried(history),
        "flaky": list_flaky_checks(view, history, clean),
        "flaky_tests": [
            clean_data(flaky_test_document(test), clean) for test in sources.flaky_tests
        ],
        "reruns": list_reruns(view, history, clean),
        "red_before": list_failing_before(view, history, clean),
        "decided": _decisions(sources),
        "noticed": _warnings(sources),
        "kept": list_saved_work(view, history, sources.saved_work, sources.branch.commits, clean),
        "warnings": [
            clean(words)
            for words in (
                *sources.warnings,
                *_branch_warnings(sources),
                *view.unmerged_revert_notes,
            )
        ],
        "tasks": tasks,
        "next": view.next_command,
    }


def clean_data(value: Any, clean: Callable[[str], str]) -> Any:
    """Mask every text in a value of lists and tables."""
    match value:
        case str():
            return clean(value)
        case list():
            return [clean_data(one, clean) for one in value]
        case dict():
            return {name: clean_data(one, clean) for name, one in value.items()}
        case _:
            return value


def _verdict(sources: ReportSources, status: str, numbers: Data) -> str:
    sentence = verdict_sentence(status, numbers, sources.clean(sources.view.run.pause_reason))
    return (
        f"{sentence} Last, {sources.clean(sources.view.last_iteration_words)}."
        if sources.view.last_iteration_words
        else sentence
    )


def _waived(task: Data) -> bool:
    """Did it land with a check that a person waived?"""
    proof = task["proof"]
    return bool(proof) and any(check["outcome"] == "WAIVED" for check in proof["checks"])


def _run(sources: ReportSources) -> Data:
    run, clean = sources.view.run, sources.clean
    return {
        "run": run.id,
        "goal": clean(run.goal),
        "status": sources.view.status.value,
        "exit_code": sources.view.exit_code,
        "run_branch": run.branch,
        "base_branch": clean(run.base_branch),
        "base": run.base,
        "head": sources.branch.head or None,
        "created_at": run.created_at.isoformat(),
        "finished_at": run.finished_at.isoformat() if run.finished_at else None,
        "merged": clean(run.merged_commit) or None,
        # Without an entry, git shows only a merge into the base branch.
        "merged_into": clean(sources.history.merged_into or run.base_branch)
        if run.merged_commit
        else None,
        "paused": clean(run.pause_reason) or None,
        "done_when": [clean(name) for name in run.done_when],
    }


def _plan(sources: ReportSources) -> Data:
    tasks = len(sources.view.tasks)
    return {
        "sha256": sources.history.plan.digest if sources.history.plan else None,
        "revision": sources.view.run.revision,
        "tasks": tasks,
    }


def question_document(sources: ReportSources, task: TaskView) -> Data:
    """The question, and the command for each answer."""
    row, details = task.row, sources.escalation_of(task.row.id)
    answers = (_answer(row, choice, details) for choice in task.choices)
    return {
        "task": row.id,
        "name": sources.clean(row.name),
        "reason": task.reason or None,
        "question": sources.clean(row.question),
        "answers": [{**one, "command": sources.clean(one["command"])} for one in answers],
    }


def _answer(row: TaskRow, choice: str, details: EscalationDetails) -> Data:
    """A command to copy; each argument is quoted for the shell."""
    command = f"yaoki answer {row.id} {choice}"
    if choice == Choice.RETRY and agent_reads_words(row):
        command += ' "words for the agent"'
    if choice == Choice.WAIVE:
        command += (
            f" --check {shlex.quote(details.failing_check) if details.failing_check else 'NAME'}"
        )
    what = choice_meaning(Choice(choice), row, details.worktree)
    more = {Choice.WAIVE: details.further_waivers, Choice.DONE: details.earlier_work}
    if words := more.get(Choice(choice)):
        what = f"{what}; {words}"
    return {"choice": choice, "command": command, "what": what}


def _warnings(sources: ReportSources) -> Data:
    names, warnings = _names(sources), sources.history.warnings
    listed = [
        {
            "at": warning.at.isoformat(),
            "task": warning.task_id or None,
            "name": sources.clean(names.get(warning.task_id, warning.task_id)) or None,
            "words": sources.clean(warning.words)[:1000],
            "times": warning.times,
        }
        for warning in warnings.by_text.values()
    ]
    return {"listed": listed, "left_out": warnings.left_out}


def _names(sources: ReportSources) -> Mapping[str, str]:
    return {task.row.id: task.row.name for task in sources.view.tasks}


def _decisions(sources: ReportSources) -> Data:
    names = _names(sources)
    listed = [
        {
            "at": answer.at.isoformat(),
            "task": answer.task_id,
            "name": sources.clean(names.get(answer.task_id, answer.task_id)),
            "choice": answer.choice,
            "check": sources.clean(answer.check) or None,
            "words": sources.clean(answer.words)[:500] or None,
            "how": answer.channel or None,
            "followers": [sources.clean(names[one]) for one in answer.followers if one in names],
        }
        for answer in sources.history.answers
    ]
    return {"answers": listed, "left_out": sources.history.answers_left_out}


def _unpushed_submodules(sources: ReportSources) -> Iterable[str]:
    """Warnings about landed submodule commits that no remote is known to have."""
    rows = [task.row for task in sources.view.tasks]
    done: dict[str, TaskRow] = {r.id: r for r in rows if r.state is State.DONE and r.landed_commit}
    for work in sources.saved_work:
        row = done.get(work.task_id)
        if row and row.attempt == work.attempt and SUBMODULE.search(work.ref):
            yield (
                f"{row.name} landed a link to commit {work.commit} of a submodule, which none of "
                f"its remotes had at that time; it is saved as {work.ref}: push it to a remote"
            )


def _branch_warnings(sources: ReportSources) -> Iterable[str]:
    """Warnings that a reader must not overlook."""
    view, branch = sources.view, sources.branch
    yield from _unpushed_submodules(sources)
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
