"""What a person names: a task by id, number or name, or a run by id or its beginning."""

from __future__ import annotations

from typing import TYPE_CHECKING

from yaoki.core.lazy_dataclass import dataclass
from yaoki.errors import RunInOtherCheckout, Unknown

if TYPE_CHECKING:
    from yaoki.app.build import App
    from yaoki.core.model import Run, TaskId


@dataclass(frozen=True, slots=True)
class RunOrTask:
    """A run, and perhaps one task of it."""

    run: Run
    task: TaskId | str = ""


def find_run_or_task(app: App, text: str, run_name: str = "") -> RunOrTask:
    """A whole run id, else a task, else the beginning of a run id; by default the newest run."""
    if not text:
        return RunOrTask(app.lookup.find_run(run_name))
    runs = {run.id: run for run in app.reads.runs()}
    if (whole := runs.get(text.removeprefix("yaoki/"))) is not None:  # type: ignore[call-overload]
        return RunOrTask(whole)
    try:
        task = app.reads.task(app.lookup.find_task(text, run_name))
    except Unknown as no_task:
        try:
            return RunOrTask(app.lookup.find_run(text))
        except RunInOtherCheckout:
            raise
        except Unknown:
            raise no_task from None
    return RunOrTask(runs[task.run_id], task.id)
