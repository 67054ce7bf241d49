"""The report of a run, collected from the store, the journal, git and the stored outputs."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any

from yaoki import __version__
from yaoki.adapters.git.facts import LocalGitFacts
from yaoki.app.check_output import StoredOutputs
from yaoki.app.flaky_tests import describe_unmatched_entries, list_flaky_tests
from yaoki.app.run_view import view_run
from yaoki.app.saved_attempts import describe_earlier_work, find_empty_attempts
from yaoki.core.decide.escalation import further_waivers
from yaoki.core.redact import mask, secret_values
from yaoki.core.text import strip_terminal_codes
from yaoki.errors import BranchMovedExternally, GitFailed, RemoteUnreachable
from yaoki.report import (
    EscalationDetails,
    ReportSources,
    RunBranchState,
    make_receipt,
    render_markdown,
    render_page,
    render_text,
    report_document,
)
from yaoki.report import read_run_branch as look_at
from yaoki.views.history import build_run_history

if TYPE_CHECKING:
    from yaoki.app.build import App
    from yaoki.core.model import Run
    from yaoki.ports import JournalEntry, SavedWork
    from yaoki.views import RunView

PAGE = 2000
ReportData = dict[str, Any]


def make_report(app: App, run: Run) -> ReportData:
    """The whole document; foreign text in it is masked."""
    view = view_run(app, run)
    branch = _branch(app, view)
    history = build_run_history(_journal(app, run), run.catalogue)
    secrets = secret_values(os.environ)
    sources = ReportSources(
        view,
        history,
        branch,
        StoredOutputs(app.yaoki_folder),
        app.clock.now(),
        f"yaoki {__version__}",
        made_with=_tools(LocalGitFacts(app.repository.common_dir)),
        saved_work=_saved_work(app, run),
        escalation_of=lambda task_id: _escalation_details(app, task_id),
        # Names and commands repeat often.
        clean=cache(lambda text: _sanitize(text, secrets)),
        warnings=[*_drift_warning(app, view.run), *describe_unmatched_entries(app, history)],
        flaky_tests=list_flaky_tests(app, run.id),
    )
    report = report_document(sources)
    return {
        **report,
        "receipt": make_receipt(report, branch) if _provable(report, branch) else None,
    }


def _saved_work(app: App, run: Run) -> list[SavedWork]:
    works = [
        work
        for work in app.workspace.recovery.list_saved_work()
        if work.task_id.startswith(f"{run.id}-")
    ]
    empty = find_empty_attempts(app, works)
    return [work for work in works if work.ref not in empty]


def _tools(git: LocalGitFacts) -> dict[str, str]:
    """The tools of this machine; those of the run's machines are not recorded."""
    python = ".".join(map(str, sys.version_info[:3]))
    known = {"yaoki": __version__, "git": git.version, "Python": python}
    return {name: version for name, version in known.items() if version}


def _sanitize(text: str, secrets: Sequence[str]) -> str:
    """Without secrets, control characters and lone surrogates, which cannot be written."""
    return (
        mask(strip_terminal_codes(text), secrets)
        .encode("utf-8", "backslashreplace")
        .decode("utf-8")
    )


def render_report(report: ReportData, form: str) -> str:
    """As `text`, `html`, `json`, or else as Markdown."""
    match form:
        case "json":
            return json.dumps(report, indent=2) + "\n"
        case "html":
            return render_page(report)
        case "text":
            return render_text(report)
        case _:
            return render_markdown(report)


def _journal(app: App, run: Run) -> Iterator[JournalEntry]:
    """Page by page: a long journal does not fit into memory."""
    after = 0
    while entries := app.store.journal(run_id=run.id, after=after, limit=PAGE):
        yield from entries
        after = entries[-1].seq


def _branch(app: App, view: RunView) -> RunBranchState:
    """The run branch as git has it; a missing one is a warning, and the report continues."""
    run, git = view.run, LocalGitFacts(app.repository.common_dir)
    landed = [task.row.landed_commit for task in view.tasks if task.row.landed_commit]
    try:
        return look_at(git, run.base, app.workspace.branches.head(run), landed)
    except GitFailed as failed:
        return RunBranchState(
            unreadable_because=failed.sentence, is_deleted=isinstance(failed, BranchMovedExternally)
        )


def _drift_warning(app: App, run: Run) -> list[str]:
    """A warning that the branch was moved externally; an unreachable remote is reported by the
    branch itself.
    """
    try:
        words = app.workspace.branches.describe_drift(run)
    except RemoteUnreachable:
        return []
    return [words] if words else []


def _provable(report: ReportData, branch: RunBranchState) -> bool:
    """A receipt names only commits that exist here."""
    proofs = [task["proof"] for task in report["tasks"] if task["proof"]]
    ends = branch.head and branch.trees.get(report["run"]["base"]) and not report["numbers"]["lost"]
    return bool(ends) and all(p["tree"] and p["commit"] in branch.commits for p in proofs)


def _escalation_details(app: App, task_id: str) -> EscalationDetails:
    task = app.store.task(task_id)
    failure = task.failure
    return EscalationDetails(
        task.work.worktree,
        failure.check if failure else "",
        further_waivers(task, failure) if failure else "",
        describe_earlier_work(app, task),
    )
