"""`yaoki recover`, `yaoki snapshots`, `yaoki restore`: the saved work of attempts."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

import click

from yaoki.core.model import State
from yaoki.core.text import format_count
from yaoki.errors import NotNow, Unknown, YaokiError
from yaoki.faces.cli.context import json_option, open_app, repo_option, run_option
from yaoki.faces.cli.lookup import find_run_or_task
from yaoki.faces.text.render import (
    align_columns,
    clean_line,
    local_date_time,
    print_document,
    print_next_command,
    print_wrapped,
)
from yaoki.ports import SavedWork
from yaoki.views import SCHEMA
from yaoki.views.saved_attempts import (
    Attempts,
    WorkEnd,
    choose_furthest,
    find_attempt,
    is_late,
    left_nothing,
)

if TYPE_CHECKING:
    from yaoki.app.build import App

SHOWN = 100


@click.command()
@click.argument("what", metavar="[TASK|RUN|REF]", default="")
@click.option(
    "--attempt", type=click.IntRange(0), help="Only this attempt; 0 is a group before its rollback."
)
@click.option(
    "--branch", metavar="NAME", default="", help="Create a branch at the one that came furthest."
)
@run_option
@json_option
@repo_option
def recover(
    what: str, attempt: int | None, branch: str, run_name: str, as_json: bool, repo: Path
) -> int:
    """List the saved work of all attempts, or only those of TASK or RUN, or that of REF.

    With --branch, create a branch at it.  An attempt may have several refs; --json lists them.
    """
    from yaoki.app.build import App
    from yaoki.app.orphans import suggest_unpacking
    from yaoki.app.saved_attempts import find_landed_tasks, find_saved_attempts

    app = App(repo.absolute())
    try:
        found = _list_works(app, what, run_name, only_own=bool(branch) or attempt is not None)
        works = [work for work in found if attempt in (None, work.attempt)]
        attempts = find_saved_attempts(app, works)
        works.sort(key=lambda work: _saved_at(work, attempts))
        if branch:
            return _make_branch(app, works, attempts, branch, as_json=as_json)
        landed = find_landed_tasks(app, works)
        _list(works, attempts, landed, suggest_unpacking(app), as_json=as_json)
    finally:
        app.close()
    return 0


def _list_works(app: App, what: str, run_name: str, *, only_own: bool = False) -> list[SavedWork]:
    """From the refs alone, so that a lost store loses none of it; names need the store.

    A task that races has the works of its candidates as well; with `only_own` only if it has none
    of its own.
    """
    works = app.workspace.recovery.list_saved_work()
    if not what and not run_name:
        return works
    if named := [work for work in works if work.ref == what]:
        return named
    own = [work for work in works if work.task_id == what]
    if own and (only_own or not app.has_store):
        return own
    if not app.has_store:
        raise Unknown(f"there is no saved work of {what!r}", hint="yaoki recover")
    try:
        found = find_run_or_task(app, what, run_name)
    except YaokiError:
        if own:
            return own
        raise
    if not found.task:
        return [work for work in works if work.task_id.startswith(f"{found.run.id}-")]
    own = [work for work in works if work.task_id == found.task]
    if own and only_own:
        return own
    racing = {row.id for row in app.reads.rows(found.run.id) if row.race_task == found.task}
    return [work for work in works if work.task_id == found.task or work.task_id in racing]


def _make_branch(
    app: App,
    works: Sequence[SavedWork],
    attempts: Attempts,
    branch: str,
    *,
    as_json: bool,
) -> int:
    if not works:
        raise Unknown("no saved work matches", hint="yaoki recover")
    chosen = choose_furthest(works, attempts)
    from yaoki.app.saved_attempts import suggest_cherry_pick

    app.workspace.recovery.recover_to_branch(chosen.ref, branch)
    if as_json:
        print_document({"schema": SCHEMA, "branch": branch, **_work_document(chosen, attempts)})
    else:
        print_wrapped(
            f"branch {clean_line(branch)} is at {chosen.commit[:10]}: "
            f"{clean_line(chosen.subject, 80)}"
        )
        if pick := suggest_cherry_pick(app, chosen) if app.has_store else "":
            words = "it landed and was undone, so git merge would find nothing new in it"
            print_wrapped(f"{words}; to take it into another branch: {clean_line(pick)}")
        print_next_command(f"git switch {clean_line(branch)}")
    return 0


def _list(
    works: list[SavedWork],
    attempts: Attempts,
    landed: frozenset[str],
    unpack_archive: str,
    *,
    as_json: bool,
) -> None:
    if as_json:
        saved = [
            {**_work_document(work, attempts), "task_landed": work.task_id in landed}
            for work in works
        ]
        print_document({"schema": SCHEMA, "kept": saved})
        return
    rows = [
        (
            *(
                w.task_id,
                f"attempt {w.attempt}",
                local_date_time(_saved_at(w, attempts)),
                w.commit[:10],
            ),
            _describe(w, attempts) + ("; its task has landed" if w.task_id in landed else ""),
        )
        for w in works[-SHOWN:]
    ]
    none = "all saved work is in archived runs" if unpack_archive else "no work is saved yet"
    for text in align_columns(rows) or [none]:
        print_wrapped(text)
    if len(works) > SHOWN:
        print_wrapped(f"… {len(works) - SHOWN} older ones: yaoki recover --json")
    own = [work for work in works if not left_nothing(work, attempts)]
    # Landed work is on the run branch, so people look for the other attempts.
    own = [work for work in own if work.task_id not in landed or is_late(work)] or own
    if own:
        best = choose_furthest([work for work in own if work.task_id == own[-1].task_id], attempts)
        print_next_command(f"yaoki recover {best.task_id} --attempt {best.attempt} --branch NAME")
    else:
        print_next_command(unpack_archive or "yaoki status")


def _describe(work: SavedWork, attempts: Attempts) -> str:
    """Work saved after the end of the attempt, often a person's, has the subject of the attempt."""
    if left_nothing(work, attempts):
        return "left no changes"
    subject, saved = clean_line(work.subject, 80), find_attempt(work, attempts)
    words = clean_line(saved.words, 80)
    match saved.end:
        case _ if is_late(work):
            return f"{subject}, changed after the attempt"
        case WorkEnd.PASSED:
            return f"{subject}; its checks passed"
        case WorkEnd.CHECKED:
            return f"{subject}; its checks passed, but not {words}"
        case WorkEnd.FAILED | WorkEnd.CONFLICTED if words:
            return f"{subject}; failed: {words}"
        case _:
            return subject


def _saved_at(work: SavedWork, attempts: Attempts) -> datetime:
    """An attempt without changes has the commit of its base, so it counts from its start."""
    start = find_attempt(work, attempts).started_at if left_nothing(work, attempts) else None
    return start or work.at


def _work_document(work: SavedWork, attempts: Attempts) -> dict[str, object]:
    return {
        "task": work.task_id,
        "attempt": work.attempt,
        "ref": work.ref,
        "commit": work.commit,
        "at": _saved_at(work, attempts).isoformat(),
        "subject": work.subject,
        "end": find_attempt(work, attempts).end.value,
        "left_nothing": left_nothing(work, attempts),
    }


@click.command()
@json_option
@repo_option
def snapshots(as_json: bool, repo: Path) -> int:
    """List the snapshots taken before each attempt."""
    from yaoki.app.build import App

    found = App(repo.absolute()).workspace.recovery.list_snapshots()
    if as_json:
        listed = [
            {
                "id": s.id,
                "task": s.task_id,
                "attempt": s.attempt,
                "commit": s.commit,
                "at": s.at.isoformat(),
            }
            for s in found
        ]
        print_document({"schema": SCHEMA, "snapshots": listed})
        return 0
    rows = [(s.id, local_date_time(s.at), s.commit[:10]) for s in found[-SHOWN:]]
    for text in align_columns(rows) or ["there is no snapshot"]:
        print_wrapped(text)
    print_next_command(f"yaoki restore {found[-1].id}" if found else "yaoki recover")
    return 0


@click.command()
@click.argument("snapshot")
@json_option
@repo_option
def restore(snapshot: str, as_json: bool, repo: Path) -> int:
    """Restore a task's worktree to SNAPSHOT; its current content is saved first."""
    with open_app(repo) as app:
        found = next((s for s in app.workspace.recovery.list_snapshots() if s.id == snapshot), None)
        if found is None:
            raise Unknown(f"there is no snapshot {snapshot!r}", hint="yaoki snapshots")
        task = app.reads.task(found.task_id)
        if task.state is State.ACTIVE:
            raise NotNow(f"{task.id} is active", hint=f"yaoki cancel {task.id}")
        if task.state.is_final and not Path(task.work.worktree).is_dir():
            words = f"{task.id} is {task.state.value}: it has no worktree any more"
            raise NotNow(words, hint=f"git branch NAME {found.commit[:10]}")
        restored = app.workspace.recovery.restore_snapshot(snapshot, task)
        document = {
            "restored_files": list(restored.restored),
            "deleted_files": list(restored.deleted),
        }
        data = {"snapshot_id": snapshot, **document}
        app.store.note(task.run_id, "SNAPSHOT_RESTORE", data, task.id, task.attempt)
        if as_json:
            print_document({"schema": SCHEMA, "task": task.id, **data})
            return 0
        number = format_count(len(restored.restored), "file")
        counts = f"{number} restored, {len(restored.deleted)} deleted"
        print_wrapped(f"{clean_line(task.work.worktree)}: {counts}")
        print_next_command(f"yaoki answer {task.id}" if task.question else f"yaoki why {task.id}")
    return 0
