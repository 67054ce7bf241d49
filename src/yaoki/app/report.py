"""The report of a run, gathered from the store, the journal, git and the stored outputs."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any

from yaoki import __version__
from yaoki.app.check_output import StoredOutputs
from yaoki.app.empty_attempts import left_nothing
from yaoki.app.git_facts import GitHere
from yaoki.app.run_view import look
from yaoki.core.display import plain
from yaoki.core.redact import mask, secret_values
from yaoki.errors import BranchStrayed, GitFailed, RemoteAway
from yaoki.report import Branch, Held, Sources, fold, make, markdown, page, report_document
from yaoki.report import look as look_at

if TYPE_CHECKING:
    from yaoki.app import App
    from yaoki.core.model import Run
    from yaoki.ports import Entry, SavedWork
    from yaoki.views import RunView

PAGE = 2000
Report = dict[str, Any]


def made_report(app: App, run: Run) -> Report:
    """The whole document; everything foreign in it is masked before anybody sees it."""
    view = look(app, run)
    branch = _branch(app, view)
    secrets = secret_values(os.environ)
    given = Sources(
        view,
        fold(run.catalogue, _journal(app, run)),
        branch,
        StoredOutputs(app.home),
        app.clock.now(),
        f"yaoki {__version__}",
        made_with=_tools(GitHere(app.repository.common_dir)),
        kept=_kept(app, run),
        held=lambda task_id: _held(app, task_id),
        # Names and commands come again and again.
        clean=cache(lambda text: _shown(text, secrets)),
        warnings=_warned(app, view.run),
    )
    made = report_document(given)
    return {**made, "receipt": make(made, branch) if _provable(made, branch) else None}


def _kept(app: App, run: Run) -> list[SavedWork]:
    works = [work for work in app.workspace.saved() if work.task_id.startswith(f"{run.id}-")]
    empty = left_nothing(app, works)
    return [work for work in works if work.ref not in empty]


def _tools(git: GitHere) -> dict[str, str]:
    """What this report is made with; what the machines of the run had, nobody kept."""
    python = ".".join(map(str, sys.version_info[:3]))
    known = {"yaoki": __version__, "git": git.version, "Python": python}
    return {name: version for name, version in known.items() if version}


def _shown(text: str, secrets: Sequence[str]) -> str:
    """Without secrets and control characters; half of a character pair could not be written."""
    return mask(plain(text), secrets).encode("utf-8", "backslashreplace").decode("utf-8")


def rendered(made: Report, form: str) -> str:
    """As `markdown`, `html` or `json`."""
    match form:
        case "json":
            return json.dumps(made, indent=2) + "\n"
        case "html":
            return page(made)
        case _:
            return markdown(made)


def _journal(app: App, run: Run) -> Iterator[Entry]:
    """Page by page: a long journal is never held as a whole."""
    after = 0
    while entries := app.store.journal(run_id=run.id, after=after, limit=PAGE):
        yield from entries
        after = entries[-1].seq


def _branch(app: App, view: RunView) -> Branch:
    """The run branch as git has it; one that is gone is told, and the report goes on."""
    run, git = view.run, GitHere(app.repository.common_dir)
    landed = [task.row.landed for task in view.tasks if task.row.landed]
    try:
        return look_at(git, run.base, app.workspace.head(run), landed)
    except GitFailed as failed:
        return Branch(why=failed.sentence, gone=isinstance(failed, BranchStrayed))


def _warned(app: App, run: Run) -> list[str]:
    """That somebody else moved the branch; of a remote that is away the branch itself tells."""
    try:
        words = app.workspace.intact(run)
    except RemoteAway:
        return []
    return [words] if words else []


def _provable(made: Report, branch: Branch) -> bool:
    """A receipt names only commits that are there."""
    proofs = [task["proof"] for task in made["tasks"] if task["proof"]]
    ends = branch.head and branch.trees.get(made["run"]["base"]) and not made["numbers"]["lost"]
    return bool(ends) and all(p["tree"] and p["commit"] in branch.inside for p in proofs)


def _held(app: App, task_id: str) -> Held:
    task = app.store.task(task_id)
    return Held(task.work.worktree, task.failure.check if task.failure else "")
