"""Shared rate limits: one row per account whose service asked to wait."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import TYPE_CHECKING

from yaoki.adapters.store.rows import SqlRow, from_ms, to_ms
from yaoki.core.lazy_dataclass import dataclass
from yaoki.core.model import AgentExit, FailureKind, Task
from yaoki.ports import ClaimScope, LimitedAccount

if TYPE_CHECKING:
    from yaoki.adapters.store.database import Transaction
    from yaoki.adapters.store.write_buffer import Params
    from yaoki.core.machine.events import Event

SELECT = """
SELECT a.name, a.until_ms, a.why, a.probe,
       EXISTS (SELECT 1 FROM tasks t WHERE t.id = a.probe AND t.state = 'ACTIVE') AS probing
FROM accounts a
"""
LIMIT = """
INSERT INTO accounts (name, until_ms, why) VALUES (:name, :until_ms, :why)
ON CONFLICT (name) DO UPDATE SET until_ms = excluded.until_ms, why = excluded.why, probe = ''
"""
# An agent that started before the limit says nothing about it.
OPEN = "DELETE FROM accounts WHERE name = :name AND until_ms <= :now"
PROBE = """
UPDATE accounts SET probe = :task WHERE name = :name AND until_ms <= :now
AND NOT EXISTS (SELECT 1 FROM tasks t WHERE t.id = accounts.probe AND t.state = 'ACTIVE')
"""


def _first_of_each(rows: list[Params]) -> list[Params]:
    """After the first of each name the others would change nothing."""
    return list({row["name"]: row for row in reversed(rows)}.values())


def account_of(task: Task) -> str:
    """The account that is billed: the agent's name, unless the plan gives an account."""
    agent = task.agent
    return (agent.account or agent.name) if agent else ""


@dataclass(slots=True)
class ClaimFilter:
    """The accounts whose tasks a claim may take.  An account whose wait is over admits one task,
    the probe.

    `tags`, `place` and `scope` are those of the worker that claims.
    """

    closed_accounts: frozenset[str]
    accounts_to_probe: frozenset[str]
    accounts_probed: set[str]
    tags: frozenset[str]
    place: str
    scope: ClaimScope

    @classmethod
    def load(
        cls, tx: Transaction, now: datetime, tags: frozenset[str], place: str, scope: ClaimScope
    ) -> ClaimFilter:
        rows = tx.rows(SELECT)
        closed = frozenset(r["name"] for r in rows if r["until_ms"] > to_ms(now) or r["probing"])
        to_probe = frozenset(r["name"] for r in rows if r["name"] not in closed)
        return cls(closed, to_probe, set(), tags, place, scope)

    def admits(self, task: Task) -> bool:
        account = account_of(task)
        if account not in self.accounts_to_probe:
            return True
        if account in self.accounts_probed:
            return False
        self.accounts_probed.add(account)
        return True


def update_accounts(tx: Transaction, before: Task, events: Sequence[Event], now: datetime) -> None:
    """Apply what a task's events say about its account and the accounts of its judges."""
    # A reader of accounts needs neither events nor rules.
    from yaoki.core.decide.backoff import DEFAULT_LIMIT_WAIT
    from yaoki.core.machine.events import (
        AgentFinished,
        Claimed,
        EscalationDecided,
        Judged,
        RetryDecided,
    )

    own = account_of(before)
    for event in events:
        match event:
            case Claimed() if own and not before.cancel_requested:
                # The first task after the wait is the probe.
                probe = {"name": own, "task": before.id, "now": to_ms(now)}
                tx.enqueue(PROBE, probe, coalesce=_first_of_each)
            case AgentFinished(exit=exit_) if own and _has_answered(exit_):
                tx.enqueue(OPEN, {"name": own, "now": to_ms(now)}, coalesce=_first_of_each)
            case Judged():
                # A judge at its limit gives no judgment, so these accounts are open.
                for name in sorted(_judge_accounts(before)):
                    tx.enqueue(OPEN, {"name": name, "now": to_ms(now)}, coalesce=_first_of_each)
            case RetryDecided(failure=failure, due_at=due) if (
                failure.kind is FailureKind.RATE_LIMIT
            ):
                _limit(tx, failure.account or own, due, failure.message)
            case EscalationDecided(failure=failure) if failure.kind is FailureKind.RATE_LIMIT:
                _limit(tx, failure.account or own, now + DEFAULT_LIMIT_WAIT, failure.message)
            case _:
                pass


def _has_answered(exit_: AgentExit) -> bool:
    """Did its service answer?  If the agent was cut off, that is unknown."""
    from yaoki.core.decide.backoff import LIMITS_WITHOUT_ANSWER

    return exit_.limit not in LIMITS_WITHOUT_ANSWER and not exit_.was_cut_off


def _judge_accounts(task: Task) -> set[str]:
    judges = (check.agent for check in task.spec.checks if check.agent is not None)
    return {judge.account or judge.name for judge in judges}


def _limit(tx: Transaction, account: str, until: datetime, reason: str) -> None:
    if not account:
        return
    tx.enqueue(LIMIT, {"name": account, "until_ms": to_ms(until), "why": reason[:200]})


def account_from_row(row: SqlRow) -> LimitedAccount:
    return LimitedAccount(row["name"], from_ms(row["until_ms"]), row["why"], row["probe"])
