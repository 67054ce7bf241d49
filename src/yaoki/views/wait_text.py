"""The cause of a wait in a few words."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from yaoki.core.model import (
    AccountProblem,
    Reason,
    Stage,
    State,
)
from yaoki.core.text import list_some
from yaoki.views.moments import describe_moment
from yaoki.views.tasks import IdleReason

if TYPE_CHECKING:
    from yaoki.ports import AccountRow, TaskRow
    from yaoki.views.tasks import TaskView

NEEDS_SHOWN = 3
# A shorter wait is over before a person has typed the command.
COMMAND_FROM = timedelta(minutes=1)
# The rest of a delay that would be shown as 0 s.
COUNTDOWN_FROM = timedelta(seconds=0.5)
_PROBLEMS = {
    AccountProblem.NONE: "it is closed",
    AccountProblem.RATE_LIMIT: "its limit is reached",
    AccountProblem.OUTAGE: "its service does not answer",
    AccountProblem.KEY_REFUSED: "its key was refused",
    AccountProblem.KEY_MISSING: "its key is not set here",
    AccountProblem.NO_CREDIT: "its credit is used up",
}


RERUN_FOLLOWS = (
    "one re-run follows when no other task can run, if other work has landed or another agent is "
    "left"
)
UNDO_WORDS = "will be undone when no other task of the run can run"


def describe_wait(view: TaskView, now: datetime, names: Mapping[str, str]) -> str:
    """The cause of the wait in a few words; empty when the task does not wait."""
    row = view.row
    if row.state is State.ACTIVE:
        return view.not_taken_because or (_landing_words(row) if row.stage == Stage.LAND else "")
    if row.undo_requested:
        return UNDO_WORDS
    if row.state is not State.WAITING:
        return ""
    if view.blocked:
        causes = [names.get(one, one) for one in (view.blocked_by, *view.further_blockers)]
        return f"blocked by {list_some(causes, NEEDS_SHOWN)}"
    if row.awaiting_rerun:
        return _hold_words(row)
    if row.awaiting_race:
        return _race_words(row)
    due_at = awaited_date(view, now)
    if due_at is not None and not _account_opens_later(view, now):
        return f"next try {describe_moment(due_at, now)}"
    if view.unmet_needs:
        return f"needs {list_some([names.get(one, one) for one in view.unmet_needs], NEEDS_SHOWN)}"
    if view.closed_account is not None and row.stage == Stage.PREPARE:
        return _account_words(view.closed_account, now, names)
    if row.is_queued and row.stage == Stage.VERIFY:
        return view.not_taken_because or "waits for a free slot, to be verified on the moved branch"
    return view.not_taken_because or "waits for a free slot"


def awaited_date(view: TaskView, now: datetime) -> datetime | None:
    """The date of the next try, if the time until then is long enough to be shown.

    While no worker runs, a short delay is not what the task waits for.
    """
    due_at = view.row.due_at
    idle = view.not_taken_because == IdleReason.NOBODY
    shortest = COMMAND_FROM if idle else COUNTDOWN_FROM
    return due_at if due_at is not None and due_at - now > shortest else None


def describe_wait_and_command(view: TaskView, now: datetime, names: Mapping[str, str]) -> str:
    """The cause of the wait, and the command that ends it if a person may want to."""
    words, command = describe_wait(view, now, names), end_wait_command(view, now)
    return f"{words}: {command}" if command else words


def end_wait_command(view: TaskView, now: datetime) -> str:
    """The command that ends a long wait for an account or a delay; else empty."""
    row = view.row
    if row.state is not State.WAITING or view.blocked or row.awaiting_rerun:
        return ""
    until = wait_end(view, now)
    return f"yaoki retry {row.id}" if until and until - now >= COMMAND_FROM else ""


def wait_end(view: TaskView, now: datetime) -> datetime | None:
    """Until when the task waits for its account or a delay; None when for neither."""
    until = max(view.row.due_at or now, account_wait_end(view, now) or now)
    return until if until > now else None


def account_wait_end(view: TaskView, now: datetime) -> datetime | None:
    """Until when a task that would start an agent waits for its closed account."""
    row, account = view.row, view.closed_account
    starts = row.state is State.WAITING and row.stage == Stage.PREPARE and not view.unmet_needs
    if account is None or not starts or account.asking_task or account.until <= now:
        return None
    return account.until


def _account_opens_later(view: TaskView, now: datetime) -> bool:
    """Does the task's account stay closed for longer than the task's own delay?"""
    opens, due = account_wait_end(view, now), view.row.due_at
    return opens is not None and due is not None and opens > due


def _landing_words(row: TaskRow) -> str:
    """A queued task waits for its predecessor; any other task lands alone or with the next one."""
    if row.is_queued:
        return "lands after the tasks it was verified with"
    return "verified; lands together with the next task, or alone"


def _account_words(account: AccountRow, now: datetime, names: Mapping[str, str]) -> str:
    waits = f"waits for its account {account.name}: {_PROBLEMS[account.problem]}"
    if account.asking_task:
        return f"{waits}; {names.get(account.asking_task, account.asking_task)} asks a person"
    if account.until > now:
        return f"{waits}; one task tries {describe_moment(account.until, now)}"
    return f"waits for its account {account.name}: one task is trying it first"


_REMEDIES = {
    AccountProblem.KEY_REFUSED: "give its agent a valid key, or log in again",
    AccountProblem.NO_CREDIT: "add credit to it",
}


def describe_refused_account(account: AccountRow, now: datetime) -> str:
    """An account that only a person can repair while other agents continue, and the remedy; else
    empty.

    An account about which a task asks is named by its question.
    """
    if not account.problem.needs_person or account.asking_task:
        return ""
    when = describe_moment(account.until, now) if account.until > now else "next"
    if account.problem is AccountProblem.KEY_MISSING:
        words = account.reason  # it names the variable
    else:
        words = f"{_PROBLEMS[account.problem]}; {_REMEDIES[account.problem]}"
    return (
        f"account {account.name} is closed: {words}; "
        f"a new run tries it again, and one task tries it {when}"
    )


def describe_closed_account(account: AccountRow, now: datetime) -> str:
    """The cause for which an account is closed, and when it is tried again; empty if it may be
    tried, or a task asks about it.
    """
    if account.problem.needs_person or account.asking_task or account.until <= now:
        return describe_refused_account(account, now)
    when = describe_moment(account.until, now)
    words = f"account {account.name} is closed: {_PROBLEMS[account.problem]}"
    return f"{words}; one task tries it {when}"


def _race_words(row: TaskRow) -> str:
    if not row.race_task:
        return "its candidates race"
    is_proven = row.stage == Stage.LAND
    return (
        "proven; waits for the end of its race" if is_proven else "waits for its start in the race"
    )


def _hold_words(row: TaskRow) -> str:
    """A task that awaits its re-run waits until no other task can run."""
    if row.parent:
        return "waits until no other task can run; then its group is recovered"
    if row.reason == Reason.MAX_RETRIES_INTEGRATION:
        return "waits until no other task can run; its re-run from the run branch is used up"
    return RERUN_FOLLOWS
