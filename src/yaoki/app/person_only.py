"""Requests that only a person may make: a caller from the process tree of a task is refused.

Without a sandbox an agent may leave its process tree and is not recognised any more.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import TYPE_CHECKING

from yaoki.adapters.processes.callers import CallingProcess, find_peer_process, iter_callers
from yaoki.core.model import Task, TaskId
from yaoki.errors import NotNow, Unknown

if TYPE_CHECKING:
    from yaoki.app.build import App


def find_calling_task(app: App) -> Task | None:
    """The task whose agent calls; an agent that tests yaoki counts as a person for its own runs."""
    own = _find_task(app, os.environ.get("YAOKI_TASK", ""))
    return own or _find_task_of_process(app, iter_callers(os.getppid()))


def refuse_agents(app: App) -> None:
    _refuse(find_calling_task(app))


def refuse_hidden_output(app: App, task: Task, check: str) -> None:
    """Refuse agents the output of a hidden check: it shows its tests and expected values."""
    if not any(spec.name == check and spec.hidden is not None for spec in task.spec.checks):
        return
    caller = find_calling_task(app)
    if caller is not None:
        raise NotNow(
            "only people may read the output of a hidden check, "
            f"and the caller is the agent of {caller.id}",
            hint=f"the behaviour that fails: yaoki why {task.id}",
        )


def refuse_agents_at_peer(app: App, ours: tuple[str, int], theirs: tuple[str, int]) -> bool:
    """The same for the other end of a connection; false when its process cannot be found."""
    pid = find_peer_process(ours, theirs)
    known = list(iter_callers(pid)) if pid is not None else []
    _refuse(_find_task_of_process(app, known))
    return bool(known)


def _refuse(task: Task | None) -> None:
    if task is not None:
        raise NotNow(
            f"only people may do this, and the caller is the agent of {task.id}",
            hint="ask one: yaoki result --status question --question TEXT",
        )


def _find_task_of_process(app: App, above: Iterable[CallingProcess]) -> Task | None:
    """By the environment of a process, or by the shim that started it."""
    runs = app.yaoki_folder / "runs"
    for caller in above:
        inside = caller.shim_folder
        parts = inside.relative_to(runs).parts if inside and inside.is_relative_to(runs) else ()
        for name in (caller.environ.get("YAOKI_TASK", ""), *parts[1:2]):
            if (task := _find_task(app, name)) is not None:
                return task
    return None


def _find_task(app: App, task_id: str) -> Task | None:
    try:
        return app.store.task(TaskId(task_id)) if task_id else None
    except Unknown:
        return None
