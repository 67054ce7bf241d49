"""Shared limits: one row per account that its service has told to wait."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from yaoki.adapters.store.database import Transaction
from yaoki.adapters.store.rows import SqlRow, from_ms, to_ms
from yaoki.adapters.store.write_buffer import Params
from yaoki.core.machine.events import (
    AgentFinished,
    Claimed,
    EscalationDecided,
    Event,
    Judged,
    RetryDecided,
)
from yaoki.core.model import AgentExit, AgentLimit, FailureKind, Task
from yaoki.ports import LimitedAccount

# When retries are used up nobody named a date; the account is tried again after this long.
DEFAULT_LIMIT_WAIT = timedelta(minutes=1)
# The service refused, or was not asked, for the agent could not go on with its conversation.
LIMITS_WITHOUT_ANSWER = frozenset({AgentLimit.RATE, AgentLimit.SESSION})

SELECT = """
SELECT a.name, a.until_ms, a.why, a.probe,
       EXISTS (SELECT 1 FROM tasks t WHERE t.id = a.probe AND t.state = 'ACTIVE') AS probing
FROM accounts a
"""
LIMIT = """
INSERT INTO accounts (name, until_ms, why) VALUES (:name, :until_ms, :why)
ON CONFLICT (name) DO UPDATE SET until_ms = excluded.until_ms, why = excluded.why, probe = ''
"""
# Whoever began before the limit tells nothing of it.
OPEN = "DELETE FROM accounts WHERE name = :name AND until_ms <= :now"
PROBE = """
UPDATE accounts SET probe = :task WHERE name = :name AND until_ms <= :now
AND NOT EXISTS (SELECT 1 FROM tasks t WHERE t.id = accounts.probe AND t.state = 'ACTIVE')
"""


def _first_of_each(rows: list[Params]) -> list[Params]:
    """After the first, the others find nothing to do."""
    return list({row["name"]: row for row in reversed(rows)}.values())


def account_of(task: Task) -> str:
    """Who is billed: the agent's account, which is its name unless the plan gives one."""
    agent = task.agent
    return (agent.account or agent.name) if agent else ""


@dataclass(slots=True)
class ClaimFilter:
    """Who may start now.  An account whose wait is over lets one task through, the probe.

    `tags`, `place` and `begin` are those of the worker that claims.
    """

    closed_accounts: frozenset[str]
    accounts_to_probe: frozenset[str]
    accounts_probed: set[str]
    tags: frozenset[str]
    place: str
    begin: str

    @classmethod
    def load(
        cls, link: Transaction, now: datetime, tags: frozenset[str], place: str, begin: str
    ) -> ClaimFilter:
        rows = link.rows(SELECT)
        waits = frozenset(r["name"] for r in rows if r["until_ms"] > to_ms(now) or r["probing"])
        ready = frozenset(r["name"] for r in rows if r["name"] not in waits)
        return cls(waits, ready, set(), tags, place, begin)

    def admits(self, task: Task) -> bool:
        account = account_of(task)
        if account not in self.accounts_to_probe:
            return True
        if account in self.accounts_probed:
            return False
        self.accounts_probed.add(account)
        return True


def update_accounts(
    link: Transaction, before: Task, events: Sequence[Event], now: datetime
) -> None:
    """What the events of one task say of its account, and of those of its judges."""
    own = account_of(before)
    for event in events:
        match event:
            case Claimed() if own and not before.cancel_requested:
                # The first one after the wait tries for all.
                probe = {"name": own, "task": before.id, "now": to_ms(now)}
                link.enqueue(PROBE, probe, coalesce=_first_of_each)
            case AgentFinished(exit=exit_) if own and _answered(exit_):
                link.enqueue(OPEN, {"name": own, "now": to_ms(now)}, coalesce=_first_of_each)
            case Judged():
                # A judge at its limit gives no judgment, so these have answered.
                for name in sorted(_judges(before)):
                    link.enqueue(OPEN, {"name": name, "now": to_ms(now)}, coalesce=_first_of_each)
            case RetryDecided(failure=failure, due_at=due) if (
                failure.kind is FailureKind.RATE_LIMIT
            ):
                _limit(link, failure.account or own, due, failure.message)
            case EscalationDecided(failure=failure) if failure.kind is FailureKind.RATE_LIMIT:
                _limit(link, failure.account or own, now + DEFAULT_LIMIT_WAIT, failure.message)
            case _:
                pass


def _answered(exit_: AgentExit) -> bool:
    """Did its service answer?  Of one that was cut off nobody knows."""
    return exit_.limit not in LIMITS_WITHOUT_ANSWER and not exit_.was_cut_off


def _judges(task: Task) -> set[str]:
    judges = (check.agent for check in task.spec.checks if check.agent is not None)
    return {judge.account or judge.name for judge in judges}


def _limit(link: Transaction, account: str, until: datetime, why: str) -> None:
    if not account:
        return
    link.enqueue(LIMIT, {"name": account, "until_ms": to_ms(until), "why": why[:200]})


def account_from_row(row: SqlRow) -> LimitedAccount:
    return LimitedAccount(row["name"], from_ms(row["until_ms"]), row["why"], row["probe"])
