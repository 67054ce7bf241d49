"""The fence around what is a person's to say, and how a person says it here."""

from __future__ import annotations

import sys

from yaoki.app.person_only import find_calling_task, refuse_agents

__all__ = ["answer_channel", "find_calling_task", "refuse_agents"]


def answer_channel() -> str:
    """How an answer was given: by a person at a terminal, or by a program that calls us."""
    return "terminal" if sys.stdin.isatty() else "command line"
