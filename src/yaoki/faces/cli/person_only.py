"""Commands that only a person may call, and how an answer was given."""

from __future__ import annotations

import sys

from yaoki.app.person_only import find_calling_task, refuse_agents, refuse_hidden_output

__all__ = ["answer_channel", "find_calling_task", "refuse_agents", "refuse_hidden_output"]


def answer_channel() -> str:
    """How an answer was given: by a person at a terminal, or by a calling program."""
    return "terminal" if sys.stdin.isatty() else "command line"
