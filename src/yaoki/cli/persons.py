"""The fence around what is a person's to say: an agent at work is refused.

It keeps agents from mistakes.  Who leaves out the variables that yaoki gave it walks around it.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from yaoki.core.model import Task, TaskId
from yaoki.errors import NotNow, Unknown

if TYPE_CHECKING:
    from yaoki.app import App


def calling_agent(app: App) -> Task | None:
    """The task whose agent calls; an agent that tests yaoki is a person to its own runs."""
    task_id = os.environ.get("YAOKI_TASK", "")
    try:
        return app.store.task(TaskId(task_id)) if task_id else None
    except Unknown:
        return None


def refuse_agents(app: App) -> None:
    task = calling_agent(app)
    if task is None:
        return
    raise NotNow(
        f"this is for people, and the agent of {task.id} calls",
        hint="ask one: yaoki result --status question --question TEXT",
    )
