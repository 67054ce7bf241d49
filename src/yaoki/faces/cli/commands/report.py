"""`yaoki report`, and the summary at the end of a run: what landed, which tasks need a person."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from yaoki.app.saved_attempts import describe_earlier_work
from yaoki.core.decide.escalation import further_waivers
from yaoki.core.model import Choice, Outcome, State, TaskId
from yaoki.core.model.names import explain_check_name
from yaoki.core.run_status import RunStatus
from yaoki.core.text import format_count, list_some
from yaoki.errors import NotNow, RowInvalid
from yaoki.faces.cli.context import json_option, open_app, repo_option
from yaoki.faces.text.render import (
    NAME_CHARS,
    QUESTION_CHARS,
    agent_end_words,
    align_columns,
    clean_line,
    clean_lines,
    paint,
    print_line,
    print_next_command,
    print_wrapped,
    task_names,
)
from yaoki.ports import TaskRow
from yaoki.views import OFF_BRANCH, RunView, TaskView, describe_unchanged, first_to_answer, is_proof
from yaoki.views.choices import agent_reads_words
from yaoki.views.plain_words import describe_absence
from yaoki.views.wait_text import describe_wait_and_command, wait_end

if TYPE_CHECKING:
    from yaoki.app.build import App

STDOUT = "-"
SHOWN = 30
COMMENT_CHARS_MAX = 500
WARNINGS_SHOWN = 5
WAITS_SHOWN = 5
FORMATS = {
    ".txt": "text",
    ".md": "markdown",
    ".markdown": "markdown",
    ".html": "html",
    ".htm": "html",
    ".json": "json",
}


# ------------------------------------------------------------------ the command


@click.command()
@click.argument("run", default="")
@click.option(
    "--format",
    "form",
    type=click.Choice(["text", "markdown", "html", "json"]),
    help="The format; by default that of FILE's extension, or text.",
)
@click.option(
    "-o",
    "--output",
    metavar="FILE",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Write the report to this file (.txt, .md, .html, .json); - is standard output.",
)
@click.option(
    "--receipt",
    metavar="FILE",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Write the receipt that `yaoki verify` checks against git; - is standard output.",
)
@json_option
@repo_option
def report(
    run: str,
    form: str | None,
    output: Path | None,
    receipt: Path | None,
    as_json: bool,
    repo: Path,
) -> int:
    """Report the outcome of RUN, with its proof; by default the newest run."""
    from yaoki.app.report import make_report, render_report

    if str(receipt) == STDOUT and (as_json or form or output):
        raise click.UsageError(
            "standard output can take only one document: write the report or the receipt to a file"
        )
    with open_app(repo, read_only=True, named=run) as app:
        document = make_report(app, app.lookup.find_run(run))
    if receipt is not None:
        _write_receipt(document, receipt)
    if str(receipt) == STDOUT:
        return 0
    if receipt is not None and not (form or output or as_json):
        print_line(f"receipt of run {document['run']['run']}: {receipt}")
        print_next_command(f"yaoki verify {receipt}")
        return 0
    text = render_report(document, "json" if as_json else form or _format_of(output))
    if output is None or str(output) == STDOUT:
        print_line(text.removesuffix("\n"))
        return 0
    _write(output, text)
    print_line(f"report of run {document['run']['run']}: {output}")
    if receipt is not None:
        print_line(f"receipt of run {document['run']['run']}: {receipt}")
    print_next_command(document["next"])
    return 0


def _format_of(output: Path | None) -> str:
    if output is None or str(output) == STDOUT:
        return "text"
    return FORMATS.get(output.suffix.lower(), "markdown")


def _write(file: Path, text: str) -> None:
    from yaoki.adapters.system.files import write_output_file

    if str(file) == STDOUT:
        print_line(text.removesuffix("\n"))
        return
    if not file.parent.is_dir():
        raise NotNow(f"there is no folder {file.parent}", hint=f"mkdir -p {file.parent}")
    write_output_file(file, text.encode())


def _write_receipt(document: dict[str, Any], file: Path) -> None:
    from yaoki.report import receipt_text

    if document["receipt"] is None:
        why = document["warnings"][0] if document["warnings"] else "its commits are not here"
        raise NotNow(f"there is no receipt of this run: {why}", hint="git log --all")
    _write(file, receipt_text(document["receipt"]))


# ------------------------------------------------------------------ at the end of a run


def print_summary(app: App, view: RunView, *, stopped: bool = False, stop_words: str = "") -> None:
    """Only landed work is called a success here."""
    run = view.run
    told = (stop_words or _stop_words(view)) if stopped else view.status.value
    tone = {RunStatus.DONE: "green", RunStatus.ESCALATED: "red"}.get(view.status, "yellow")
    print_wrapped(paint(f"run {run.id}: {told}", tone) + f"  {clean_line(run.goal, 120)}")
    if run.pause_reason:
        print_wrapped(paint(f"  paused: {clean_line(run.pause_reason, QUESTION_CHARS)}", "yellow"))
    _print_landed(app, view)
    for task in view.tasks_asking[:SHOWN]:
        print_question(app, task)
    _print_names("cancelled", [t for t in view.tasks if t.row.state is State.CANCELLED])
    _print_blocked(view)
    if view.status is RunStatus.ACTIVE:
        _print_waiting(app, view, stopped=stopped)
    for note in view.unlanded_optional_tasks[:SHOWN]:
        print_wrapped(f"  note: {_unlanded_note(note, view)}")
    print_warnings(app, view)
    print_wrapped(f"  full report: yaoki report {run.id}")
    if view.partial_merge_note and not stopped:
        print_wrapped(paint(f"  {view.partial_merge_note}", "yellow"))
    if view.merge_obstacle and not stopped:
        print_wrapped(paint(f"  {clean_line(view.merge_obstacle)}", "yellow"))
    for words in view.unmerged_revert_notes:
        print_wrapped(paint(f"  {clean_line(words)}", "yellow"))
    print_next_command(f"yaoki resume {run.id}" if stopped else _next_command(view))


def _next_command(view: RunView) -> str:
    """The next command; for a run whose next task is due later, a person's answer, else a worker
    that waits for it.
    """
    if view.status is not RunStatus.ACTIVE or view.is_carried:
        return view.next_command
    asking = first_to_answer(view.tasks)
    return asking.next_command if asking else "yaoki up"


def _stop_words(view: RunView) -> str:
    if any(task.row.attempt for task in view.tasks):
        return "stopped; finished work is saved"
    return "stopped before a task began; nothing is lost"


def _print_waiting(app: App, view: RunView, *, stopped: bool) -> None:
    """Why an unfinished run stops here: what its tasks wait for.

    After a stop all wait for a worker and are named in one line; then only those have a line of
    their own that would wait with a worker as well.
    """
    names, now = task_names(view), app.clock.now()
    waits = [task for task in view.tasks if task.row.state is State.WAITING and not task.blocked]
    if stopped:
        counted = [task for task in waits if not is_proof(task)]
        _print_names(f"{format_count(len(counted), 'task')} waiting", counted)
        waits = [task for task in waits if wait_end(task, now) is not None]
    for task in waits[:WAITS_SHOWN]:
        words = clean_line(describe_wait_and_command(task, now, names))
        print_wrapped(f"  waiting: {clean_line(task.row.name, NAME_CHARS)}: {words}")
    if len(waits) > WAITS_SHOWN:
        print_wrapped(f"  … {len(waits) - WAITS_SHOWN} more are waiting: yaoki status")


def print_warnings(app: App, view: RunView) -> None:
    """Warnings scroll by while agents work, so they are repeated at the end."""
    from yaoki.app.run_view import load_warnings

    found, names = list(load_warnings(app, view.run).by_text.values()), task_names(view)
    for one in found[:WARNINGS_SHOWN]:
        name = (
            f"{clean_line(names.get(one.task_id, one.task_id), NAME_CHARS)}: "
            if one.task_id
            else ""
        )
        print_wrapped(paint(f"  warning: {name}{clean_line(one.words, QUESTION_CHARS)}", "yellow"))
    if len(found) > WARNINGS_SHOWN:
        left = format_count(len(found) - WARNINGS_SHOWN, "more warning is", "more warnings are")
        print_wrapped(f"  … {left} in the report")


def _unlanded_note(note: TaskView, view: RunView) -> str:
    """A task with a question is shown above; for a subtask the line names its group."""
    name = clean_line(note.row.name, NAME_CHARS)
    group = next((t.row for t in view.tasks if t.row.id == note.row.parent), None)
    if group is None:
        return f"optional {name} did not land"
    if group.landed_commit:
        return f"{name} was left out of its group"
    waits = "waits for" if note.row.state is State.ESCALATED else "did not land without"
    return f"group {clean_line(group.name, NAME_CHARS)} {waits} {name}"


def _print_landed(app: App, view: RunView) -> None:
    from yaoki.app.run_view import load_last_judgments

    judgments = load_last_judgments(app, view.run)
    unchanged = {
        one: judgment.outcomes for one, judgment in judgments.items() if judgment.unchanged
    }
    _print_names(OFF_BRANCH, [task for task in view.tasks if task.on_branch is False])
    done, tasks, made = view.landed_tasks, len(view.counted_tasks), view.landable_tasks_landed
    if done and not made:
        # A plan is stored in the store, and no part of it is on the branch.
        print_wrapped(
            f"  {len(done)} of {format_count(tasks, 'task')} done; nothing landed on "
            f"{view.run.branch}"
        )
        return
    plans = len(done) - len(made)
    planned = f"; {format_count(plans, 'plan')} written" if plans else ""
    tasks = len(view.landable_tasks)
    print_wrapped(
        f"  {len(made)} of {format_count(tasks, 'task')} landed on {view.run.branch}{planned}"
    )
    rows = [
        (
            *(
                clean_line(t.row.name, NAME_CHARS),
                t.row.landed_commit[:10],
                f"attempt {t.row.attempt}",
            ),
            describe_unchanged(unchanged[t.row.id])
            if t.row.id in unchanged
            else agent_end_words(t.row),
        )
        for t in made[:SHOWN]
    ]
    for text in align_columns(rows):
        print_wrapped(f"    {text}")
    _print_rest(made)
    _print_doubts(view, {task_id: one.outcomes for task_id, one in judgments.items()})


def _print_doubts(view: RunView, outcomes: Mapping[str, Mapping[str, str]]) -> None:
    """Name the tasks that are done although a check of theirs did not pass, or not at once."""
    done = [task for task in view.tasks if task.row.state is State.DONE]
    found = [(task, outcomes.get(task.row.id, {})) for task in done]
    waived = [line for one in found for line in _doubt_note(*one, Outcome.WAIVED)]
    flaky = [line for one in found for line in _doubt_note(*one, Outcome.FLAKY)]
    for lines, rest in ((waived, "checks that a person waived"), (flaky, "flaky checks")):
        for line in lines[:SHOWN]:
            print_wrapped(paint(line, "yellow"))
        if len(lines) > SHOWN:
            print_wrapped(f"  … {len(lines) - SHOWN} more have {rest}")
    proofs = [task.row.state for task in view.tasks if is_proof(task)]
    if view.status is RunStatus.DONE and proofs[-1:] == [State.DONE]:
        print_wrapped("  the whole run branch was verified again after that")


def _doubt_note(task: TaskView, outcomes: Mapping[str, str], outcome: Outcome) -> Iterator[str]:
    """A note if checks of the task had this outcome on its commit."""
    found = (explain_check_name(name) for name, one in outcomes.items() if one == outcome)
    names = [clean_line(name, NAME_CHARS) for name in found]
    if not names:
        return
    checks = f"{'check' if len(names) == 1 else 'checks'} {list_some(names, SHOWN)}"
    with_ = f"{checks} waived by a person" if outcome is Outcome.WAIVED else f"flaky {checks}"
    done = "is done" if is_proof(task) else "landed"
    yield f"  note: {clean_line(task.row.name, NAME_CHARS)} {done} with {with_}"


def _print_rest(tasks: Sequence[TaskView]) -> None:
    if len(tasks) > SHOWN:
        print_wrapped(f"    … {len(tasks) - SHOWN} more: yaoki status --json")


def print_question(app: App, task: TaskView) -> None:
    """The question, and each answer as the command that gives it."""
    row = task.row
    optional = "" if row.required else " (optional)"
    print_wrapped(paint(f"  needs you: {clean_line(row.name, 60)}{optional}", "red"))
    for text in clean_lines(row.question):
        print_wrapped(f"    {text}")
    try:
        held = app.reads.task(row.id)
    except RowInvalid as illegal:
        print_wrapped(f"    {illegal.sentence}; next: yaoki resume {row.run_id}")
        return
    failing = held.failure.check if held.failure else ""
    notes = {
        Choice.WAIVE: further_waivers(held, held.failure) if held.failure else "",
        Choice.DONE: describe_earlier_work(app, held),
    }
    as_it_is = bool(held.question and held.question.note)
    for choice in task.choices:
        command = _answer_command(row, choice, held.work.worktree, failing, as_it_is=as_it_is)
        note = clean_line(notes.get(Choice(choice), ""), COMMENT_CHARS_MAX)
        begins = "; " if "  # " in command else "  # "
        print_wrapped(f"    {command}{begins}{note}" if note else f"    {command}")


def _answer_command(
    row: TaskRow, choice: str, worktree: str, check: str, *, as_it_is: bool = False
) -> str:
    """`as_it_is`: its checks were changed, so even unchanged work may pass now."""
    base = f"yaoki answer {row.id} {choice}"
    match Choice(choice):
        case Choice.RETRY:
            return f'{base} "words for the agent"' if agent_reads_words(row) else base
        case Choice.DONE:
            how = "verifies the work as it is in" if as_it_is else "after working in"
            return f"{base}  # {how} {shlex.quote(clean_line(worktree))}" if worktree else base
        case Choice.WAIVE:
            return f"{base} --check {clean_line(check)}" if check else f"{base} --check NAME"
        case Choice.ABORT:
            return base


def _print_names(what: str, tasks: Sequence[TaskView]) -> None:
    if tasks:
        names = ", ".join(clean_line(task.row.name, 60) for task in tasks[:SHOWN])
        more = f" and {len(tasks) - SHOWN} more" if len(tasks) > SHOWN else ""
        print_wrapped(f"  {what}: {names}{more}")


def print_blocked_work(rows: Sequence[TaskRow]) -> None:
    """The saved work of tasks that cannot start any more, with the command that restores it."""
    for row in rows[:SHOWN]:
        print_wrapped(
            f"{clean_line(row.name, 60)} cannot start without it; its work is saved: "
            f"yaoki recover {row.id}"
        )


def _print_blocked(view: RunView) -> None:
    """One line per cause, however many tasks it blocks."""
    names, found = task_names(view), dict[str, list[TaskView]]()
    for task in view.tasks:
        for cause in (task.blocked_by, *task.further_blockers) if task.blocked else ():
            found.setdefault(cause, []).append(task)
    asking = {task.row.id for task in view.tasks_asking}
    rows = {task.row.id: task.row for task in view.tasks}
    for cause, tasks in found.items():
        name, row = clean_line(names[cause], 60), rows[TaskId(cause)]
        asks = f"wait for your answer to {name}"
        blocked = f"blocked by {name}, which {describe_absence(row.state, row.reason)}"
        _print_names(asks if cause in asking else blocked, tasks)
