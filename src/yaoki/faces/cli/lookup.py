"""What a person named: a task by id, number or name, or a run by id or its beginning."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from yaoki.errors import Unknown

if TYPE_CHECKING:
    from yaoki.app import App
    from yaoki.core.model import Run, TaskId


@dataclass(frozen=True, slots=True)
class Named:
    """A run, and perhaps one task of it."""

    run: Run
    task: TaskId | str = ""


def named(app: App, text: str, run_name: str = "") -> Named:
    """A whole run id, else a task, else the beginning of a run id; nothing: the newest run."""
    if not text:
        return Named(app.naming.run(run_name))
    runs = {run.id: run for run in app.store.runs()}
    if (whole := runs.get(text.removeprefix("yaoki/"))) is not None:  # type: ignore[call-overload]
        return Named(whole)
    try:
        task = app.store.task(app.naming.task(text, run_name))
    except Unknown as no_task:
        try:
            return Named(app.naming.run(text))
        except Unknown:
            raise no_task from None
    return Named(runs[task.run_id], task.id)
