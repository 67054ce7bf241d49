"""The meaning of each answer to a task, in a few words."""

from __future__ import annotations

from enum import StrEnum

from yaoki.core.decide.escalation import AGENTLESS_KINDS
from yaoki.core.model import Choice
from yaoki.core.text import quote_path
from yaoki.ports import TaskRow

# The documentation says it in the same words.
WAIVER_SCOPE = "a waiver holds for the work that you saw: an attempt with other changes asks again"


class RetrySubject(StrEnum):
    """The part of a failed task that a retry repeats."""

    AGENT = "agent"
    ACCOUNT = "account"
    CHECKS = "checks"


def retry_subject(row: TaskRow) -> RetrySubject:
    if row.account_problem:
        return RetrySubject.ACCOUNT
    return RetrySubject.CHECKS if row.kind in AGENTLESS_KINDS else RetrySubject.AGENT


def agent_reads_words(row: TaskRow) -> bool:
    """Is there an agent that the words of an answer concern?  None can change its account."""
    return retry_subject(row) is RetrySubject.AGENT


def choice_meaning(choice: Choice, row: TaskRow, worktree: str = "") -> str:
    match choice:
        case Choice.RETRY if row.account_problem:
            return "the account is tried again, and the task with it"
        case Choice.RETRY:
            again = "the task is tried again; the agent gets your words"
            return again if agent_reads_words(row) else "its checks run again; no agent works on it"
        case Choice.DONE:
            where = f" in {quote_path(worktree)}" if worktree else ""
            return f"you did the work yourself{where}; it is verified like any other"
        case Choice.WAIVE:
            return f"that check does not count; {WAIVER_SCOPE}"
        case Choice.ABORT:
            return "the task is cancelled; its work is saved"
