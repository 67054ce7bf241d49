"""`yaoki verify RUN`: compare the store of a run with its journal file and git."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from yaoki.adapters.git.facts import LocalGitFacts
from yaoki.app.run_branch import detect_external_merge
from yaoki.core.evidence import (
    EVIDENCE_EVENTS,
    RunEvidence,
    expected_commits,
    find_foreign_commits,
    find_unproven,
    fold_evidence,
)
from yaoki.core.model import State
from yaoki.core.text import format_count
from yaoki.engine.required_checks import is_final_check
from yaoki.errors import GitFailed
from yaoki.report import VerificationResult, verification_result

# One, or several after replans.
_FINAL = ("", "the final check", "the final checks")

if TYPE_CHECKING:
    from collections.abc import Sequence

    from yaoki.app.build import App
    from yaoki.core.model import Run
    from yaoki.ports import TaskRow


def verify_store(app: App, run: Run) -> list[VerificationResult]:
    """Every comparison that is possible; nothing is changed."""
    rows = app.store.rows(run.id)
    evidence = fold_evidence(app.store.read_journal_source(run.id, EVIDENCE_EVENTS))
    run = detect_external_merge(app, run, rows)
    return [
        _journal_file(app, run),
        verification_result(
            "rows",
            f"the rows of {_count_tasks(rows)} match the journal",
            "a row does not match the journal",
            app.store.audit(run.id),
        ),
        *_verify_proofs(app, run, rows, evidence),
        _verify_end(app, run, evidence),
    ]


def _journal_file(app: App, run: Run) -> VerificationResult:
    if app.context.is_store_on_server:
        words = "a store on a server has none; the journal in the database is read instead"
        return VerificationResult("journal file", None, words)
    differences = app.store.journal_file_differences(run.id)
    return verification_result(
        "journal file",
        "has the same lines as the database",
        "differs from the database",
        differences,
    )


def _verify_proofs(
    app: App, run: Run, rows: Sequence[TaskRow], evidence: RunEvidence
) -> Iterator[VerificationResult]:
    """Each DONE by its journal entries and its commit, the branch by its landings."""
    try:
        lacking = _missing_commits(app, run, expected_commits(evidence, rows))
        strange = _foreign_commits(app, run, evidence)
    except GitFailed as failed:
        yield _verify_done(app, rows, evidence, ())
        yield VerificationResult("branch", None, f"not checked: {failed.sentence}")
        return
    yield _verify_done(app, rows, evidence, lacking)
    if strange is None:
        yield VerificationResult("branch", None, f"{run.branch} was deleted; the run is merged")
    else:
        places = [f"{commit} was landed by no task" for commit in strange]
        yield verification_result(
            "branch", f"{run.branch} contains only landed work", "it contains other commits", places
        )


def _verify_done(
    app: App, rows: Sequence[TaskRow], evidence: RunEvidence, lacking: Sequence[str]
) -> VerificationResult:
    source = app.store.journal_source
    mismatches = find_unproven(evidence, rows, source=source, missing_commits=lacking)
    done = [row for row in rows if row.state is State.DONE]
    good = f"{_count_tasks(done)}, each proven by {source}"
    return verification_result(
        "done", good, "a row is DONE without proof", [one.message for one in mismatches]
    )


def _count_tasks(rows: Sequence[TaskRow]) -> str:
    """`3 tasks and the final check`: that is a row, too, and no task of the plan."""
    final = sum(is_final_check(row) for row in rows)
    tasks = format_count(len(rows) - final, "task")
    return f"{tasks} and {_FINAL[min(final, 2)]}" if final else tasks


def _missing_commits(app: App, run: Run, commits: Sequence[str]) -> Sequence[str]:
    git = LocalGitFacts(app.repository.common_dir)
    if run.merged_commit and not git.has_branch(run.branch):
        return [commit for commit in commits if not git.refs_containing(commit, "")]
    return app.workspace.branches.missing_commits(run, commits) if commits else ()


def _foreign_commits(app: App, run: Run, evidence: RunEvidence) -> list[str] | None:
    """None where the branch does not exist any more."""
    if run.merged_commit and not LocalGitFacts(app.repository.common_dir).has_branch(run.branch):
        return None
    return find_foreign_commits(evidence, app.workspace.branches.list_landings(run))


def _verify_end(app: App, run: Run, evidence: RunEvidence) -> VerificationResult:
    if run.finished_at is None or evidence.is_summed_up:
        ended = "has ended" if run.finished_at else "has not ended"
        return VerificationResult("end", True, f"run {run.id} {ended}")
    words = f"the row of run {run.id} says that it has ended, {app.store.journal_source} does not"
    return VerificationResult("end", False, "the row and the journal differ", (words,))
