"""`yaoki verify RUN`: the store of a run against its journal file and git, one line a thing."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from yaoki.app.git_facts import GitHere
from yaoki.app.run_view import as_taken
from yaoki.core.counting import count
from yaoki.core.evidence import EVENTS, Evidence, expected, foreign, gather, unproven
from yaoki.core.model import State
from yaoki.errors import GitFailed
from yaoki.report import Line, line_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from yaoki.app import App
    from yaoki.core.model import Run
    from yaoki.ports import Row


def verify_store(app: App, run: Run) -> list[Line]:
    """Everything that can be looked at; nothing is changed."""
    rows = app.store.rows(run.id)
    evidence = gather(app.store.witnessed(run.id, EVENTS))
    run = as_taken(app, run, rows)
    return [
        _journal_file(app, run),
        line_of(
            "rows",
            f"the journal folds to the rows of {count(len(rows), 'task')}",
            "the journal does not fold to a row",
            app.store.audit(run.id),
        ),
        *_proven(app, run, rows, evidence),
        _end(app, run, evidence),
    ]


def _journal_file(app: App, run: Run) -> Line:
    if app.store_on_server:
        words = "a store on a server has none; the journal in the database is read instead"
        return Line("journal file", None, words)
    found = app.store.differences(run.id)
    return line_of("journal file", "holds the same lines", "it and the database differ", found)


def _proven(app: App, run: Run, rows: Sequence[Row], evidence: Evidence) -> Iterator[Line]:
    """Each DONE by its lines, its commit on the branch, and the branch by its landings."""
    try:
        lacking = _lacking(app, run, expected(evidence, rows))
        strange = _foreign(app, run, evidence)
    except GitFailed as failed:
        yield _done(app, rows, evidence, ())
        yield Line("branch", None, f"not looked at: {failed.sentence}")
        return
    yield _done(app, rows, evidence, lacking)
    if strange is None:
        yield Line("branch", None, f"{run.branch} is gone; the run is merged")
    else:
        places = [f"{commit} was landed by no task" for commit in strange]
        yield line_of("branch", f"{run.branch} holds what landed", "it holds more", places)


def _done(app: App, rows: Sequence[Row], evidence: Evidence, lacking: Sequence[str]) -> Line:
    source = app.store.witness
    found = unproven(evidence, rows, source=source, lacking=lacking)
    done = sum(row.state is State.DONE for row in rows)
    good = f"{count(done, 'task')}, each proven by {source}"
    return line_of("done", good, "a row claims more", [one.words for one in found])


def _lacking(app: App, run: Run, commits: Sequence[str]) -> Sequence[str]:
    git = GitHere(app.repository.common_dir)
    if run.merged and not git.has(run.branch):
        return [commit for commit in commits if not git.holding(commit, "")]
    return app.workspace.lacks(run, commits) if commits else ()


def _foreign(app: App, run: Run, evidence: Evidence) -> list[str] | None:
    """None where there is no branch to look at any more."""
    if run.merged and not GitHere(app.repository.common_dir).has(run.branch):
        return None
    return foreign(evidence, app.workspace.landings(run))


def _end(app: App, run: Run, evidence: Evidence) -> Line:
    if run.summed_at is None or evidence.summed:
        ended = "has ended" if run.summed_at else "is not at its end"
        return Line("end", True, f"run {run.id} {ended}")
    words = f"the row of run {run.id} says that it has ended, {app.store.witness} does not"
    return Line("end", False, "a row claims more", (words,))
