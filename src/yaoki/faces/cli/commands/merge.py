"""`yaoki merge` and `yaoki undo`: move the base branch to a run, revert landed work."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from yaoki.core.model import State
from yaoki.errors import GitFailed
from yaoki.faces.cli.context import json_option, open_app, repo_option, run_option
from yaoki.faces.cli.person_only import answer_channel, refuse_agents
from yaoki.faces.cli.trust_question import require_trust
from yaoki.faces.text.progress import report_progress
from yaoki.faces.text.render import (
    NAME_CHARS,
    clean_line,
    print_document,
    print_next_command,
    print_wrapped,
)
from yaoki.views import SCHEMA

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from yaoki.app.build import App
    from yaoki.core.model import RunId, Task

MERGE_WORDS = {
    "already": "contained it already",
    "created": "was created",
    "fast-forward": "was fast-forwarded",
    "merge": "got a merge commit",
}


@click.command()
@click.argument("run", default="")
@click.option("--into", metavar="BRANCH", default="", help="Merge into this branch instead.")
@click.option("--force-ref", is_flag=True, help="Move the branch even if it is checked out.")
@click.option("--partial", is_flag=True, help="Merge what has landed of an unfinished run.")
@click.option(
    "--unproven", is_flag=True, help="Run no check on the merge commit; the journal says so."
)
@json_option
@repo_option
def merge(
    run: str,
    into: str,
    force_ref: bool,
    partial: bool,
    unproven: bool,
    as_json: bool,
    repo: Path,
) -> int:
    """Merge the work of RUN into its base branch.

    If the branch is checked out, a clean checkout is fast-forwarded with it.  The merge is refused
    if the checkout has uncommitted changes, or if there are conflicts.  If the branch has moved
    since the run started, the merge commit is verified first.
    """
    from yaoki.app import commands
    from yaoki.app.run_view import describe_flaky_work, list_refused_undos

    with open_app(repo) as app:
        refuse_agents(app)
        found = app.lookup.find_run(run)
        words = f"verifying the merge of {found.branch}"
        with report_progress(words, lambda: commands.describe_running_checks(app)):
            result = app.control.merge(
                found, into=into, force_ref=force_ref, partial=partial, unproven=unproven
            )
        if as_json:
            document = {"branch": result.branch, "commit": result.commit, "how": result.how}
            where = {"checkout": result.checkout or None}
            print_document({"schema": SCHEMA, "run": found.id, **document, **where})
            return 0
        also = f", and so is the checkout {result.checkout}" if result.checkout else ""
        print_wrapped(
            f"{clean_line(result.branch)} {MERGE_WORDS[result.how]}: it is at "
            f"{result.commit[:10]}{clean_line(also)}"
        )
        notes = (*result.notes, describe_flaky_work(app, found), *list_refused_undos(app, found))
        for words in filter(None, notes):
            print_wrapped(clean_line(words))
        print_next_command(f"git log {found.base[:10]}..{clean_line(result.branch)}")
    return 0


@click.command()
@click.argument("task")
@click.option("--cascade", is_flag=True, help="Also revert the tasks that need it.")
@run_option
@json_option
@repo_option
def undo(task: str, cascade: bool, run_name: str, as_json: bool, repo: Path) -> int:
    """Revert what TASK landed on the run branch, and ask how to continue."""
    from yaoki.app import commands

    with open_app(repo) as app:
        refuse_agents(app)
        task_id = app.lookup.find_task(task, run_name)
        require_trust(app)
        landed = app.reads.task(task_id).landed_commit
        done = _landed_names(app, app.reads.task(task_id).run_id)
        before = commands.read_last_entry(app)
        words = commands.describe_undo(app, task_id)
        with report_progress(words, lambda: commands.describe_running_checks(app)):
            undone = commands.undo_task(app, task_id, cascade=cascade, how=answer_channel())
        document = commands.undo_document(app, undone)
        if as_json:
            print_document(document)
            return 0
        how, when = (
            ("will be reverted", " when no other task of the run can run")
            if undone.undo_requested
            else ("reverted", "")
        )
        others = done.keys() - _landed_names(app, undone.run_id).keys() - {undone.id}
        also = _also_reverted(app, undone, {one: done[one] for one in done if one in others})
        print_wrapped(
            f"{clean_line(undone.spec.name, 60)} ({undone.id}): {how} on "
            f"yaoki/{undone.run_id}{when}{also}"
        )
        if not undone.undo_requested and app.reads.run(undone.run_id).done_when:
            print_wrapped("done_when is verified again when every task is done, or by a merge")
        for words in commands.list_warnings(app, undone.run_id, before):
            print_wrapped(clean_line(words))
        _print_merge_note(app, undone.run_id, landed)
        print_next_command(document["next"])
    return 0


def _also_reverted(app: App, undone: Task, others: Mapping[str, str]) -> str:
    from yaoki.core.graph import downstream

    dependents = downstream(undone.id, app.store.needs(undone.run_id))
    return describe_others(others, dependents)


def describe_others(others: Mapping[str, str], dependents: Collection[str]) -> str:
    """The other tasks that this command reverted, by id: the undo of one of them may have waited
    until now.
    """
    needing = [clean_line(name, NAME_CHARS) for id_, name in others.items() if id_ in dependents]
    asked = [clean_line(name, NAME_CHARS) for id_, name in others.items() if id_ not in dependents]
    also = f", and the tasks that need it: {', '.join(needing)}" if needing else ""
    return f"{also}; reverted as well, as asked before: {', '.join(asked)}" if asked else also


def _landed_names(app: App, run_id: RunId) -> dict[str, str]:
    """The names of landed tasks, by id; a final check lands nothing of its own."""
    from yaoki.engine.required_checks import is_final_check

    rows = (row for row in app.reads.rows(run_id) if not is_final_check(row))
    return {row.id: row.name for row in rows if row.state is State.DONE}


def _print_merge_note(app: App, run_id: RunId, landed: str) -> None:
    """Undoing moves only the run branch; work that was merged before stays in the base branch."""
    from yaoki.adapters.git.facts import LocalGitFacts
    from yaoki.app.run_branch import find_merge_obstacle

    run = app.reads.run(run_id)
    try:
        branch = LocalGitFacts(app.repository.common_dir).find_head_with_all(
            run.base_branch, [landed], run.base
        )
    except GitFailed:
        return
    if branch:
        way = f"yaoki merge {run.id} --partial"
        print_wrapped(
            f"{clean_line(run.base_branch)} still contains it; to revert it there as well: {way}"
        )
        if obstacle := find_merge_obstacle(app, run):
            print_wrapped(clean_line(obstacle.words))
