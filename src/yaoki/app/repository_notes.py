"""Notes before a run starts: files of the repository that it does not have, and another active run
of the same plan.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from yaoki.adapters.git.large_files import lacks_lfs_content
from yaoki.adapters.git.submodules import list_missing_submodules
from yaoki.core.run_status import RunStatus
from yaoki.core.text import list_some
from yaoki.engine.run_status import load_run_status

if TYPE_CHECKING:
    from yaoki.app.build import App
    from yaoki.core.model import Run

SHOWN = 5


def same_plan_notes(app: App, run: Run) -> Iterator[str]:
    """A sentence for each active run of the same plan: a second one is often started by mistake."""
    for run_id, _, _ in app.store.unfinished_runs():
        other = app.store.run(run_id)
        if other.id == run.id or not run.source or other.source != run.source:
            continue
        if load_run_status(app.store, other) is RunStatus.ACTIVE:
            yield f"note: run {other.id} of the same plan is active: yaoki status {other.id}"


def repository_notes(app: App, run: Run) -> Iterator[str]:
    """Sentences about submodules and large files at the base of the run."""
    if missing := list_missing_submodules(app.repository, run.base):
        yield (
            "note: agents and checks have no files of submodules that your checkout lacks: "
            f"{list_some(missing, SHOWN)}; first: git submodule update --init --recursive"
        )
    if lacks_lfs_content(app.repository, run.base):
        yield (
            "note: files of git LFS are pointers here, so agents and checks do not see their "
            "content; first: git lfs pull"
        )
