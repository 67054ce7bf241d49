"""The report as one document: what every form of it shows, and nothing more."""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from yaoki.core.counting import count
from yaoki.core.model import Choice, State
from yaoki.ports import Row, SavedWork
from yaoki.report.check_outputs import CheckOutputs
from yaoki.report.fold import Fold
from yaoki.report.receipt import Branch
from yaoki.report.sums import flaky, kept_work, not_retried, numbers, red_before, retries, times
from yaoki.report.tasks import Sight, task_part
from yaoki.report.words import verdict
from yaoki.views.choices import hears, meaning
from yaoki.views.tasks import RunView, TaskView

SCHEMA = 1
ASKING_MAX = 1000
# As the workspace names what it keeps of one.
SUBMODULE = re.compile(r"/\d+-submodule(?:-\d+)?$")
Data = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Held:
    """What the store knows of a task that asks, besides its row."""

    worktree: str
    failing: str


@dataclass(frozen=True, slots=True)
class Sources:
    """Everything a report is made from.  `clean` masks what somebody else wrote."""

    view: RunView
    fold: Fold
    branch: Branch
    stored: CheckOutputs
    now: datetime
    made_by: str
    made_with: Mapping[str, str] = field(default_factory=dict)
    kept: Sequence[SavedWork] = ()
    held: Callable[[str], Held] = lambda _: Held("", "")
    clean: Callable[[str], str] = lambda text: text
    warnings: Sequence[str] = field(default_factory=tuple)


def report_document(given: Sources) -> Data:
    """Without the receipt, which is made from it."""
    view, fold, clean = given.view, given.fold, given.clean
    sight = Sight(view, fold, given.branch, given.stored, clean)
    tasks = [task_part(sight, task) for task in view.tasks]
    told = {**numbers(view, fold, sight.landed), "lost": len(sight.lost)}
    told["waived"] = sum(map(_waived, tasks))
    run = _run(given)
    return {
        "schema": SCHEMA,
        "made_at": given.now.isoformat(timespec="seconds"),
        # The last thing that happened: the same run makes the same receipt, whenever it is asked.
        "as_of": (fold.last_at or view.run.created_at).isoformat(),
        "made_by": given.made_by,
        # Where the report was made; what the run itself used is told only by its checks.
        "made_with": dict(given.made_with),
        "verdict": _verdict(given, run["status"], told),
        "run": run,
        "plan": _plan(given),
        "numbers": told,
        "time": times(view.run, fold, given.now),
        "asking": [ask(given, task) for task in view.asking[:ASKING_MAX]],
        "asking_left_out": max(0, len(view.asking) - ASKING_MAX),
        "retries": retries(fold),
        "not_retried": not_retried(fold),
        "flaky": flaky(view, fold, clean),
        "red_before": red_before(view, fold, clean),
        "decided": _decided(given),
        "noticed": _noticed(given),
        "kept": kept_work(view, given.kept, given.branch.inside, clean),
        "warnings": [clean(words) for words in (*given.warnings, *_strange(given))],
        "tasks": tasks,
        "next": view.next,
    }


def _verdict(given: Sources, status: str, told: Data) -> str:
    said = verdict(status, told, given.clean(given.view.run.paused))
    return f"{said} Last, {given.clean(given.view.iterated)}." if given.view.iterated else said


def _waived(task: Data) -> bool:
    """Did it land although a person let one of its checks pass?"""
    proof = task["proof"]
    return bool(proof) and any(check["outcome"] == "WAIVED" for check in proof["checks"])


def _run(given: Sources) -> Data:
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
        "finished_at": run.summed_at.isoformat() if run.summed_at else None,
        "merged": clean(run.merged) or None,
        # By git itself only a merge into the base branch is seen.
        "merged_into": clean(given.fold.merged_into or run.base_branch) if run.merged else None,
        "paused": clean(run.paused) or None,
        "done_when": [clean(name) for name in run.done_when],
    }


def _plan(given: Sources) -> Data:
    tasks = len(given.view.tasks)
    return {
        "sha256": given.fold.plan_digest,
        "revision": given.view.run.revision,
        "tasks": tasks,
    }


def ask(given: Sources, task: TaskView) -> Data:
    """The question, and each answer as the command that gives it."""
    row, held = task.row, given.held(task.row.id)
    answers = (_answer(row, choice, held) for choice in task.choices)
    return {
        "task": row.id,
        "name": given.clean(row.name),
        "reason": task.reason or None,
        "question": given.clean(row.question),
        "answers": [{**one, "command": given.clean(one["command"])} for one in answers],
    }


def _answer(row: Row, choice: str, held: Held) -> Data:
    """A command to copy: whatever stands in it is one word to a shell."""
    command = f"yaoki answer {row.id} {choice}"
    if choice == Choice.RETRY and hears(row):
        command += ' "words for the agent"'
    if choice == Choice.WAIVE:
        command += f" --check {shlex.quote(held.failing) if held.failing else 'NAME'}"
    what = meaning(Choice(choice), row, held.worktree)
    return {"choice": choice, "command": command, "what": what}


def _noticed(given: Sources) -> Data:
    names, found = _names(given), given.fold.noticed
    listed = [
        {
            "at": one.at.isoformat(),
            "task": one.task_id or None,
            "name": given.clean(names.get(one.task_id, one.task_id)) or None,
            "words": given.clean(one.words)[:1000],
            "times": one.times,
        }
        for one in found.listed.values()
    ]
    return {"listed": listed, "left_out": found.left_out}


def _names(given: Sources) -> Mapping[str, str]:
    return {task.row.id: task.row.name for task in given.view.tasks}


def _decided(given: Sources) -> Data:
    names = _names(given)
    listed = [
        {
            "at": one.at.isoformat(),
            "task": one.task_id,
            "name": given.clean(names.get(one.task_id, one.task_id)),
            "choice": one.choice,
            "check": given.clean(one.check) or None,
            "words": given.clean(one.words)[:500] or None,
            "how": one.how or None,
        }
        for one in given.fold.answers
    ]
    return {"answers": listed, "left_out": given.fold.answers_left_out}


def _stranded(given: Sources) -> Iterable[str]:
    """What landed links to, and nobody but this repository is known to have."""
    rows = [task.row for task in given.view.tasks]
    done: dict[str, Row] = {r.id: r for r in rows if r.state is State.DONE and r.landed}
    for work in given.kept:
        row = done.get(work.task_id)
        if row and row.attempt == work.attempt and SUBMODULE.search(work.ref):
            yield (
                f"{row.name} landed a link to commit {work.commit} of a submodule, which none of "
                f"its remotes had then; it is kept as {work.ref}: push it to where others find it"
            )


def _strange(given: Sources) -> Iterable[str]:
    """What a reader must not overlook."""
    view, branch = given.view, given.branch
    yield from _stranded(given)
    if branch.gone and view.run.merged:
        return  # it was the user's, who may delete it
    if branch.why:
        yield branch.why
        return
    other = [step for step in branch.steps if not step.task and not step.undoes]
    if other:
        was = "was" if len(other) == 1 else "were"
        yield f"{count(len(other), 'commit')} on {view.run.branch} {was} not landed by yaoki"
    lost = [
        task.row.name
        for task in view.tasks
        if task.row.state is State.DONE and task.row.landed and task.row.landed not in branch.inside
        if not task.row.parent
    ]
    if lost:
        shown = ", ".join(lost[:5])
        yield f"the run branch does not hold what landed of {count(len(lost), 'task')}: {shown}"
