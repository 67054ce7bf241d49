"""yaoki from Python: run a plan, follow it, answer it.  docs/guides/python.md shows all of it.

Users know the classes by the short names below; inside yaoki those names belong to the core.
"""

from __future__ import annotations

from yaoki.faces.api.repository import Repository
from yaoki.faces.api.run import RunHandle as Run
from yaoki.faces.api.values import OpenQuestion as Question
from yaoki.faces.api.values import RunEvent as Event
from yaoki.faces.api.values import TaskSummary as Task

__all__ = ["Event", "Question", "Repository", "Run", "Task"]
