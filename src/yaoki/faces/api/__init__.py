"""yaoki from Python: run a plan, follow it, answer it.  docs/guides/python.md shows it whole."""

from __future__ import annotations

from yaoki.faces.api.repository import Repository
from yaoki.faces.api.run import Run
from yaoki.faces.api.values import Event, Question, Task

__all__ = ["Event", "Question", "Repository", "Run", "Task"]
