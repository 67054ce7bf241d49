"""Lines about tasks that wait for a closed account: the journal has no entry of it, because such a
task is not started.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from yaoki.core.model import Stage, State
from yaoki.faces.text.render import clean_line, local_time
from yaoki.views.moments import describe_wait_end
from yaoki.views.wait_text import COMMAND_FROM

if TYPE_CHECKING:
    from yaoki.app.build import App
    from yaoki.core.model import Run
    from yaoki.ports import AccountRow, TaskRow

# How often the accounts are read; reading many tasks may use only a bounded share of the time.
EVERY = timedelta(seconds=1)
PAUSE_FACTOR = 20
# A brief wait is reported only if several tasks share it, and at most once in this time for each
# account: an account may close for seconds again and again.
BRIEF_EVERY = timedelta(minutes=1)


class AccountWaits:
    """Remembers the waits that were reported, until they are over."""

    def __init__(self, app: App, run: Run) -> None:
        self._app, self._run_id = app, run.id
        self._look_at = app.clock.now()
        self._reported: set[str] = set()
        self._reported_at: dict[str, datetime] = {}

    def new_lines(self) -> list[str]:
        """One line for each account for which tasks of the run began to wait."""
        now = self._app.clock.now()
        if now < self._look_at:
            return []
        accounts = [
            account
            for account in self._app.store.accounts()
            if account.until > now or account.asking_task
        ]
        names = frozenset(account.name for account in accounts)
        closed = [account for account in accounts if not account.asking_task]
        self._reported &= {account.name for account in closed}
        new = [one for one in closed if one.name not in self._reported]
        lines = self._report(new, names, now)
        self._look_at = now + max(EVERY, PAUSE_FACTOR * (self._app.clock.now() - now))
        return lines

    def _report(
        self, closed: Sequence[AccountRow], closed_names: frozenset[str], now: datetime
    ) -> list[str]:
        due = [one for one in closed if not (_is_brief(one, now) and self._is_recent(one, now))]
        if not due:
            return []
        rows = [row for row in self._app.store.rows(self._run_id) if _would_start(row)]
        lines = []
        for account in due:
            waiting = [row for row in rows if _waits_for(row, account, closed_names)]
            if len(waiting) >= (2 if _is_brief(account, now) else 1):
                self._reported.add(account.name)
                self._reported_at[account.name] = now
                lines.append(f"{local_time(now)} {_wait_line(waiting, account, now)}")
        return lines

    def _is_recent(self, account: AccountRow, now: datetime) -> bool:
        last = self._reported_at.get(account.name)
        return last is not None and now - last < BRIEF_EVERY


def _is_brief(account: AccountRow, now: datetime) -> bool:
    """Is the wait over before a person could end it?  The task that met it has a line as well."""
    return account.until - now < COMMAND_FROM


def _would_start(row: TaskRow) -> bool:
    """Would an agent be started for the task, if its account were open?"""
    is_free = not (row.open_needs or row.awaiting_rerun or row.cancel_requested)
    return row.state is State.WAITING and row.stage == Stage.PREPARE and is_free


def _waits_for(row: TaskRow, account: AccountRow, closed_names: frozenset[str]) -> bool:
    """A task whose chain has an open account continues with that one as soon as it is claimed."""
    can_switch = account.is_avoided and not closed_names.issuperset(row.other_accounts)
    return row.account == account.name and not can_switch


def _wait_line(waiting: Sequence[TaskRow], account: AccountRow, now: datetime) -> str:
    first, more = waiting[0], len(waiting) - 1
    name = clean_line(first.name, 60)
    who = f"{name} and {more} more wait for their" if more else f"{name} waits for its"
    until = describe_wait_end(account.until, now)
    command = "" if _is_brief(account, now) else f": yaoki retry {first.id}"
    return f"{who} account {clean_line(account.name, 60)} {until}{command}"
