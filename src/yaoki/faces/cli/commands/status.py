"""`yaoki status`: the state of a run."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from yaoki.app.open_app import open_app
from yaoki.core.model import Outcome, State
from yaoki.core.run_status import RunStatus
from yaoki.core.text import list_some
from yaoki.faces.cli.quick_command import JSON, REPO, Argument, Option, quick_command
from yaoki.faces.text.render import (
    QUESTION_CHARS,
    align_columns,
    clean_line,
    local_date_time,
    local_day_time,
    most_important_tasks,
    paint,
    print_document,
    print_next_command,
    print_wrapped,
    task_lines,
    task_names,
    without_replaced_proofs,
)
from yaoki.views.indistinct import INDISTINCT_WORDS
from yaoki.views.tasks import IdleReason
from yaoki.views.wait_text import describe_refused_account
from yaoki.views.workers import worker_lines

if TYPE_CHECKING:
    from datetime import datetime

    from yaoki.app.build import App
    from yaoki.views import RunView, TaskView

RUNS_SHOWN = 50
RUNS_NAMED = 3
TASKS_NAMED = 5


@quick_command(
    Argument("run", default=""),
    Option("--all", "all_runs", "List every run instead."),
    Option("--workers", "only_workers", "Show the workers instead."),
    Option("--exit-code", "exit_code", "Exit with the run's exit code instead of 0."),
    JSON,
    REPO,
)
def status(
    run: str, all_runs: bool, only_workers: bool, exit_code: bool, as_json: bool, repo: Path
) -> int:
    """Show the state of RUN; by default the newest.  Without a name the workers are shown, too."""
    if only_workers:
        return _show_workers(repo, as_json=as_json)
    from yaoki.app.run_view import view_run, with_landing_facts

    with open_app(repo, read_only=True, named=run) as app:
        if all_runs:
            return _list_runs(app, as_json=as_json)
        # With a remote, the workers report what is on its branches.
        near = not app.settings.workspace.remote
        view = view_run(app, app.lookup.find_run(run), check_branch=near)
        if view.status is RunStatus.ACTIVE:
            from yaoki.app.forecast import with_forecast

            view = with_forecast(app, view)
        view = with_landing_facts(app, view)
        if as_json:
            from yaoki.views.documents import status_document

            print_document(status_document(view))
        else:
            print_status(app, view, workers=not run)
        return view.exit_code if exit_code else 0


def print_status(app: App, view: RunView, *, workers: bool = False, warnings: bool = False) -> None:
    """A head, the tasks, the workers and the warnings if wanted, the next command."""
    from yaoki.app.run_view import list_refused_undos

    run = view.run
    print_head(view)
    base = f"{clean_line(run.base_branch)} at" if run.base_branch else "commit"
    print_wrapped(f"branch {run.branch}, from {base} {run.base[:10]}")
    _print_merge(view)
    if run.revised_checks:
        names = clean_line(", ".join(sorted(run.revised_checks)), 200)
        print_wrapped(f"revision {run.revision} of the plan; revised checks: {names}")
    if run.pause_reason:
        print_wrapped(paint(f"paused: {clean_line(run.pause_reason, QUESTION_CHARS)}", "yellow"))
    if view.last_iteration_words:
        print_wrapped(clean_line(view.last_iteration_words))
    _print_forecast(view)
    shown = most_important_tasks(view)
    last_events = _last_events(app, shown)
    doubts = _describe_doubts(app, view)
    for text in task_lines(shown, app.clock.now(), task_names(view), last_events, doubts):
        print_wrapped(f"  {text}")
    if left_out := len(without_replaced_proofs(view)) - len(shown):
        print_wrapped(f"  … {left_out} more: yaoki status {run.id} --json")
    # The warnings name them as well.
    if view.indistinct_task_ids and not warnings:
        names = _name_tasks(view, view.indistinct_task_ids)
        print_wrapped(paint(f"{names}: {INDISTINCT_WORDS}", "yellow"))
    for account in app.store.accounts():
        if words := describe_refused_account(account, app.clock.now()):
            print_wrapped(paint(clean_line(words, QUESTION_CHARS), "yellow"))
    for text in worker_lines(app.services.list_live_workers(), app.clock.now()) if workers else ():
        print_wrapped(text)
    if view.partial_merge_note:
        print_wrapped(paint(view.partial_merge_note, "yellow"))
    if view.merge_obstacle:
        print_wrapped(paint(clean_line(view.merge_obstacle), "yellow"))
    for note in (*view.unmerged_revert_notes, *list_refused_undos(app, run)):
        print_wrapped(paint(clean_line(note), "yellow"))
    if warnings:
        from yaoki.faces.cli.commands.report import print_warnings

        print_warnings(app, view)
    if workers:
        _print_other_questions(app, view)
    print_next_command(view.next_command)


def _print_merge(view: RunView) -> None:
    """Where the run was merged last, the tasks that this merge lacks, and those undone since."""
    merge = view.last_merge
    if merge is None:
        return
    missing = _name_tasks(view, merge.missing_task_ids)
    undone = _name_tasks(view, merge.undone_task_ids)
    again = _name_tasks(view, merge.relanded_task_ids)
    words = (
        f"merged into {clean_line(merge.branch)} at {merge.commit[:10]}",
        ", in part" if merge.is_partial else "",
        f"; not landed: {missing}" if missing else "",
        "; more has landed since" if merge.has_new_landings else "",
        f"; landed again since, not merged yet: {again}" if again else "",
        f"; since then undone: {undone}" if undone else "",
    )
    print_wrapped("".join(words))


def _name_tasks(view: RunView, ids: Sequence[str]) -> str:
    names = [task.row.name for task in view.tasks if task.row.id in ids]
    return clean_line(list_some(names, TASKS_NAMED))


def _print_other_questions(app: App, view: RunView) -> None:
    """Name the other runs that wait for a person, who sees the newest one here."""
    from yaoki.adapters.store.tables.open_questions import find_open_questions

    asking = dict.fromkeys(question.run_id for question in find_open_questions(app.store.database))
    asking.pop(view.run.id, None)
    if asking:
        names = list_some([*asking], RUNS_NAMED)
        words = f"run {names} waits" if len(asking) == 1 else f"runs {names} wait"
        print_wrapped(paint(f"{words} for your answer, too: yaoki answer", "yellow"))


def _print_forecast(view: RunView) -> None:
    """The forecast of the rest of an active run; without a worker its end is unknown."""
    if view.forecast is None or view.forecast_at is None:
        return
    from yaoki.views.forecasts import end_time_words, rest_words, time_words

    now, rest = view.forecast_at, rest_words(view.forecast, view.spent)
    if view.is_carried:
        words = end_time_words(view.forecast, now, lambda at: local_day_time(at, now))
        print_wrapped(f"forecast: {words}; {rest}")
    else:
        words = time_words(view.forecast.seconds)
        print_wrapped(f"forecast, once a worker runs it: {words}, {rest}")


def _last_events(app: App, shown: Sequence[TaskView]) -> dict[str, datetime]:
    """When something was last recorded about each active task; there are few of them."""
    from yaoki.adapters.store.tables import journal_pages

    active = [task.row.id for task in shown if task.row.state is State.ACTIVE]
    pages = {
        task_id: journal_pages.read_newest(app.store.database, task_id=task_id, limit=1)
        for task_id in active
    }
    return {task_id: entries[0].at for task_id, entries in pages.items() if entries}


def _describe_doubts(app: App, view: RunView) -> dict[str, str]:
    """By landed task its checks that failed, though its own waivers do not name them."""
    lists = (
        ("waived for earlier work", _inherited_waivers(app, view)),
        ("flaky", view.flaky_checks),
    )
    found: dict[str, str] = {}
    for title, by_task in lists:
        for task_id, checks in by_task.items():
            words = f"  {title}: {clean_line(', '.join(checks))}" if checks else ""
            found[task_id] = found.get(task_id, "") + words
    return found


def _inherited_waivers(app: App, view: RunView) -> dict[str, list[str]]:
    """The waived checks of each landed task that no person waived for its own work.

    Only a waiver for other work of the run can be inherited, so the journal is rarely read.
    """
    if not any(task.row.waivers for task in view.tasks):
        return {}
    from yaoki.app.run_view import load_last_judgments

    judgments = load_last_judgments(app, view.run)
    return {
        task.row.id: [
            check
            for check, outcome in judgments[task.row.id].outcomes.items()
            if outcome == Outcome.WAIVED and check not in task.row.waivers
        ]
        for task in view.tasks
        if task.row.state is State.DONE and task.row.id in judgments
    }


def print_head(view: RunView) -> None:
    words = f"{view.status.value}{_status_detail(view)}"
    print_wrapped(f"run {view.run.id}: {words}  {clean_line(view.run.goal, 120)}")


def _status_detail(view: RunView) -> str:
    """A remark beside the status: no worker runs the run, or only some tasks landed."""
    if view.status is RunStatus.ACTIVE and not view.is_carried:
        return f" ({IdleReason.NOBODY})"
    if view.status is RunStatus.CANCELLED and view.landable_tasks_landed:
        return f" ({_landed_words(view)})"
    return ""


def _show_workers(repo: Path, *, as_json: bool) -> int:
    """The workers of the store; without a store there are none."""
    with open_app(repo, create=True, read_only=True) as app:
        live = app.services.list_live_workers() if app.has_store else []
        if as_json:
            from yaoki.views.workers import workers_document

            print_document(workers_document(live))
            return 0
        for text in worker_lines(live, app.clock.now()) or ["no worker serves this store"]:
            print_wrapped(text)
        print_next_command("yaoki status" if live else "yaoki up")
    return 0


def _list_runs(app: App, *, as_json: bool) -> int:
    from yaoki.app.run_view import view_run

    runs = [view_run(app, run) for run in app.reads.runs()[-RUNS_SHOWN:]]
    if as_json:
        from yaoki.views.documents import runs_document

        print_document(runs_document(runs))
        return 0
    rows = [
        (
            *(view.run.id, view.status.value, local_date_time(view.run.created_at)),
            *(_landed_words(view) + _merge_words(view), clean_line(view.run.goal, 80)),
        )
        for view in reversed(runs)
    ]
    for text in align_columns(rows) or ["no run here"]:
        print_wrapped(text)
    print_next_command(f"yaoki status {runs[-1].run.id}" if runs else "yaoki run PLAN")
    return 0


def _merge_words(view: RunView) -> str:
    merged = ", merged" if view.run.merged_commit else ""
    return f"{merged}; a revert is not merged" if view.unmerged_reverts else merged


def _landed_words(view: RunView) -> str:
    return f"{len(view.landable_tasks_landed)}/{len(view.landable_tasks)} landed"
