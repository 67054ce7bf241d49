"""`yaoki prune` and `yaoki forget`: move finished runs from the store to an archive."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from yaoki.core.text import format_bytes, list_some
from yaoki.errors import NotNow
from yaoki.faces.cli.context import json_option, open_app, repo_option
from yaoki.faces.cli.person_only import refuse_agents
from yaoki.faces.text.render import (
    align_columns,
    clean_line,
    print_document,
    print_next_command,
    print_wrapped,
)
from yaoki.views import SCHEMA

if TYPE_CHECKING:
    from yaoki.app.build import App
    from yaoki.app.prune import ArchivedRun, PruneResult, RunArchiver
    from yaoki.core.retention import RetentionDecision

FAILED_EXIT = 1
SHOWN = 60
NAMED = 5
LIST = "yaoki status --all"


@click.command()
@click.option("--dry-run", is_flag=True, help="Show what would be archived; change nothing.")
@json_option
@repo_option
def prune(dry_run: bool, as_json: bool, repo: Path) -> int:
    """Archive old finished runs.

    The settings under [archive] say which.
    """
    from yaoki.app.prune import PruneResult, RunArchiver

    with open_app(repo) as app:
        refuse_agents(app)
        pruning = RunArchiver(app)
        pruned = PruneResult((), {}) if dry_run else pruning.prune()
        fates = pruning.decide_retention()
        if as_json:
            print_document(_document(pruning, pruned, fates, dry_run=dry_run))
        else:
            _show(pruning, pruned, fates)
        return FAILED_EXIT if pruned.failures else 0


@click.command()
@click.argument("run", default="")
@click.option("--force", is_flag=True, help="Archive it even if work or a revert is not merged.")
@json_option
@repo_option
def forget(run: str, force: bool, as_json: bool, repo: Path) -> int:
    """Archive RUN now and delete its branches.

    Everything stays in the archive: journal, logs, and a git bundle of its commits.
    """
    from yaoki.app.prune import RunArchiver
    from yaoki.app.run_view import view_run

    with open_app(repo) as app:
        refuse_agents(app)
        if not run:
            raise _missing_run(app)
        view = view_run(app, app.lookup.find_run(run))
        found = view.run
        unmerged = not found.merged_commit and bool(view.landable_tasks_landed)
        if unmerged and not force:
            raise NotNow(
                f"the work of run {found.id} is not merged",
                hint=f"{view.next_command}, or forget it without merging: "
                f"yaoki forget {found.id} --force",
            )
        if view.unmerged_reverts and not force:
            revert = view.unmerged_reverts[0]
            raise NotNow(
                clean_line(view.describe_revert(revert)),
                hint=f"{revert.next_command}, or forget it without merging: "
                f"yaoki forget {found.id} --force",
            )
        done = RunArchiver(app).forget(found, unmerged=force)
        if as_json:
            print_document({"schema": SCHEMA, **_archived_document(done)})
            return 0
        size = format_bytes(done.size_bytes)
        branches = "the branches of its tasks" if done.refs_kept else "its branches"
        print_wrapped(f"run {found.id}: {branches} are deleted{_branch_note(done)}")
        print_wrapped(f"archived, {size}: {clean_line(str(done.file))}")
        print_next_command("yaoki status --all" if app.reads.runs() else "yaoki run PLAN")
    return 0


def _missing_run(app: App) -> NotNow:
    """Branches are deleted, so a name is required: the newest run may not be the intended one."""
    from yaoki.app.prune import list_forgettable_runs

    found = list_forgettable_runs(app)
    if not found:
        return NotNow("no run is finished and merged, so none can be forgotten", hint=LIST)
    names = list_some([f"{run.id} ({clean_line(run.goal, 60)})" for run in found], NAMED)
    return NotNow(f"name the run to forget: {names}", hint=f"yaoki forget {found[0].id}")


def _document(
    pruning: RunArchiver, pruned: PruneResult, fates: list[RetentionDecision], *, dry_run: bool
) -> dict[str, Any]:
    return {
        "schema": SCHEMA,
        "dry_run": dry_run,
        "folder": str(pruning.folder),
        "archived": [_archived_document(each) for each in pruned.archived],
        "due": [_decision_document(pruning, fate) for fate in fates if fate.is_archived],
        "stays": [_decision_document(pruning, fate) for fate in fates if not fate.is_archived],
        "failed": [{"run": run, "why": why} for run, why in pruned.failures.items()],
    }


def _archived_document(each: ArchivedRun) -> dict[str, Any]:
    document = {
        "run": each.run_id,
        "why": each.reason,
        "file": str(each.file),
        "bytes": each.size_bytes,
    }
    return {**document, "refs_kept": list(each.refs_kept)}


def _decision_document(pruning: RunArchiver, fate: RetentionDecision) -> dict[str, Any]:
    life = fate.lifetime
    return {
        "run": life.run_id,
        "goal": life.goal,
        "finished_at": life.finished_at.isoformat() if life.finished_at else None,
        "why": fate.reason,
        "bytes": pruning.measure_run_bytes(life.run_id),
    }


def _show(pruning: RunArchiver, pruned: PruneResult, fates: list[RetentionDecision]) -> None:
    due = [
        fate for fate in fates if fate.is_archived and fate.lifetime.run_id not in pruned.failures
    ]
    stays = [fate for fate in fates if not fate.is_archived]
    rows = [
        ("archived", a.run_id, format_bytes(a.size_bytes), f"{a.reason}{_branch_note(a)}")
        for a in pruned.archived
    ]
    rows += [("failed", run, "", clean_line(why)) for run, why in pruned.failures.items()]
    rows += [("due", f.lifetime.run_id, _size_words(pruning, f), clean_line(f.reason)) for f in due]
    rows += [
        ("stays", f.lifetime.run_id, _size_words(pruning, f), clean_line(f.reason))
        for f in stays[-SHOWN:]
    ]
    for text in align_columns(rows) or ["there is no run here"]:
        print_wrapped(text)
    if len(stays) > SHOWN:
        print_wrapped(f"… {len(stays) - SHOWN} more that stay: yaoki prune --dry-run --json")
    if pruned.archived:
        print_wrapped(f"in {clean_line(str(pruning.folder))}")
    print_next_command("yaoki prune" if due else "yaoki status --all")


def _branch_note(each: ArchivedRun) -> str:
    """A run branch is not deleted when no other branch contains its commits."""
    heads = [ref.removeprefix("refs/heads/") for ref in each.refs_kept]
    return f"; {', '.join(heads)} stays, because no other branch has its commits" if heads else ""


def _size_words(pruning: RunArchiver, fate: RetentionDecision) -> str:
    return format_bytes(pruning.measure_run_bytes(fate.lifetime.run_id))
