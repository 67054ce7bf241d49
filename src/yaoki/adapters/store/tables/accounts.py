"""Closed accounts: one row per account whose service refused its key or did not answer.

Its tasks start no agent meanwhile.  After the wait one task tries first; while a task asks a person
about the account, none does.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from yaoki.adapters.store.rows import SqlRow, from_ms, to_ms
from yaoki.adapters.store.tables.statements import NEEDS_PERSON
from yaoki.core.lazy_dataclass import dataclass
from yaoki.core.model import (
    AccountClosure,
    AccountProblem,
    AgentExit,
    AgentSpec,
    Catalogue,
    Choice,
    ClosedAccount,
    Failure,
    FailureKind,
    Task,
)
from yaoki.ports import AccountRow, ClaimScope

if TYPE_CHECKING:
    from yaoki.adapters.store.database import Transaction
    from yaoki.adapters.store.write_buffer import Params
    from yaoki.core.machine.events import AgentSwitched, Event

MILLISECOND = timedelta(milliseconds=1)
# How long a task with a choice waits for the result of a probe.
PROBE_WAIT = timedelta(seconds=30)

SELECT = """
SELECT a.*,
       EXISTS (SELECT 1 FROM tasks t WHERE t.id = a.probe AND t.state = 'ACTIVE') AS probing,
       EXISTS (SELECT 1 FROM tasks t WHERE t.id = a.asking AND t.state = 'ESCALATED') AS asked
FROM accounts a
"""
CLOSE = """
INSERT INTO accounts
    (name, until_ms, why, problem, since_ms, probes, promised_ms, asking, avoided)
VALUES (:name, :until_ms, :why, :problem, :since_ms, :probes, :promised_ms, :asking, :avoided)
ON CONFLICT (name) DO UPDATE SET why = excluded.why,
    until_ms = CASE WHEN excluded.until_ms > accounts.until_ms
                    THEN excluded.until_ms ELSE accounts.until_ms END,
    problem = excluded.problem, since_ms = excluded.since_ms, probes = excluded.probes,
    promised_ms = excluded.promised_ms, avoided = excluded.avoided,
    asking = CASE WHEN excluded.asking = '' THEN accounts.asking ELSE excluded.asking END
"""
# An agent that started before the limit says nothing about it.  A task without another account
# tries one that refused its key before the wait is over.
OPEN = f"""
DELETE FROM accounts
WHERE name = :name AND (until_ms <= :now OR (probe = :task AND {NEEDS_PERSON}))
"""
PROBE = f"""
UPDATE accounts SET probe = :task WHERE name = :name AND (until_ms <= :now OR {NEEDS_PERSON})
AND NOT EXISTS (SELECT 1 FROM tasks t WHERE t.id = accounts.probe AND t.state = 'ACTIVE')
"""
# A person answered: the account is tried at once, and its time without an answer begins anew.
ANSWERED = """
UPDATE accounts SET asking = '', until_ms = :now, since_ms = :now, probes = 0, promised_ms = 0,
    avoided = 0
WHERE asking = :task
"""
# A person ended the wait: the same for an account about which no task asks.
END_WAIT = """
UPDATE accounts SET until_ms = :now, since_ms = :now, probes = 0, promised_ms = 0, avoided = 0
WHERE name = :name AND until_ms > :now
"""
# A new run tries accounts that refused a key or had no credit, each with one task: the user may
# have fixed them.
TRY_REFUSED = f"UPDATE accounts SET until_ms = :now WHERE until_ms > :now AND {NEEDS_PERSON}"


def _first_of_each(rows: list[Params]) -> list[Params]:
    """After the first of each name the others would change nothing."""
    return list({row["name"]: row for row in reversed(rows)}.values())


def _first_of_each_task(rows: list[Params]) -> list[Params]:
    """An account may open for its probe only, so the task matters as well."""
    return list({(row["name"], row["task"]): row for row in reversed(rows)}.values())


@dataclass(slots=True)
class ClaimFilter:
    """The accounts whose tasks a claim may take.  An account whose wait is over admits one task,
    the probe.

    `tags`, `place` and `scope` are those of the worker that claims.  `avoided_accounts` need a
    person or a long wait: a task whose chain has an agent with another account goes on with that
    one.  A task without another account tries one that needs a person at once, and asks.
    """

    closed_accounts: frozenset[str]
    accounts_to_probe: frozenset[str]
    avoided_accounts: dict[str, SqlRow]
    accounts_probed: set[str]
    tags: frozenset[str]
    place: str
    scope: ClaimScope

    @classmethod
    def load(
        cls, tx: Transaction, now: datetime, tags: frozenset[str], place: str, scope: ClaimScope
    ) -> ClaimFilter:
        rows = tx.rows(SELECT)
        waits = {r["name"] for r in rows if r["until_ms"] > to_ms(now)}
        closed = frozenset(
            r["name"]
            for r in rows
            if (r["name"] in waits and not _needs_person(r)) or r["probing"] or r["asked"]
        )
        to_probe = frozenset(r["name"] for r in rows if r["name"] not in closed)
        avoided = {
            r["name"]: r
            for r in rows
            if r["name"] in {*waits, *closed} and (_needs_person(r) or r["avoided"])
        }
        return cls(closed, to_probe, avoided, set(), tags, place, scope)

    def admits(self, task: Task) -> bool:
        account = task.account
        if account not in self.accounts_to_probe or self.switch(task) is not None:
            return True
        if account in self.accounts_probed:
            return False
        self.accounts_probed.add(account)
        return True

    def switch(self, task: Task) -> AgentSwitched | None:
        """The next agent with a usable account, if the present one is avoided."""
        from yaoki.core.decide.account import FAIL_OVER_CAUSES
        from yaoki.core.machine.events import AgentSwitched

        row = self.avoided_accounts.get(task.account)
        if row is None or not task.can_switch_agent:
            return None
        index = task.next_agent_index({*self.closed_accounts, *self.avoided_accounts})
        if index is None:
            return None
        cause = FAIL_OVER_CAUSES[AccountProblem(row["problem"])]
        return AgentSwitched(index, task.spec.agents[index].title, row["why"], cause)


def update_accounts(tx: Transaction, before: Task, events: Sequence[Event], now: datetime) -> None:
    """Apply what a task's events say about its account and the accounts of its judges."""
    # A reader of accounts needs neither events nor rules.
    from yaoki.core.decide.backoff import DEFAULT_LIMIT_WAIT
    from yaoki.core.machine.events import (
        AgentFinished,
        AgentSwitched,
        Claimed,
        EscalationDecided,
        Judged,
        RetryDecided,
    )
    from yaoki.core.machine.race_events import JudgeEnded
    from yaoki.core.machine.request_events import Answered, WaitEnded

    own = before.account
    for event in events:
        match event:
            case AgentSwitched(agent_index=index):
                own = before.spec.agents[index].billed_account
            case Claimed() if own and not before.cancel_requested:
                # The first task after the wait is the probe.
                probe = {"name": own, "task": before.id, "now": to_ms(now)}
                tx.enqueue(PROBE, probe, coalesce=_first_of_each)
            case AgentFinished(exit=exit_) if own and _has_answered(exit_):
                opened = {"name": own, "task": before.id, "now": to_ms(now)}
                tx.enqueue(OPEN, opened, coalesce=_first_of_each_task)
            case Judged():
                # A judge at its limit gives no judgment, so these accounts are open.
                for name in sorted(_judge_accounts(before)):
                    opened = {"name": name, "task": before.id, "now": to_ms(now)}
                    tx.enqueue(OPEN, opened, coalesce=_first_of_each_task)
            case RetryDecided(failure=failure, due_at=due, account_until=until):
                switched = event.agent_index != before.agent_index
                closed_until = until or (now if switched else due)
                avoided = event.account_avoided
                _close(tx, own, failure, closed_until, now, avoided=avoided)
            case EscalationDecided(failure=failure):
                asking = before.id if failure.closure else ""
                until = now if asking else now + DEFAULT_LIMIT_WAIT
                _close(tx, own, failure, until, now, asking, avoided=bool(asking))
            case JudgeEnded(failure=failure, account_until=until) if failure is not None:
                # Nobody asks a person about it: the next task that needs the account does.
                _close(tx, own, failure, until or now + DEFAULT_LIMIT_WAIT, now, avoided=False)
            case Answered(choice=choice):
                if before.failure is not None and before.failure.account_problem:
                    tx.enqueue(ANSWERED, {"task": before.id, "now": to_ms(now)})
                if choice is Choice.RETRY:
                    # The question named these causes as well.
                    for name in before.refused_accounts:
                        ended = {"name": name, "now": to_ms(now)}
                        tx.enqueue(END_WAIT, ended, coalesce=_first_of_each)
            case WaitEnded(account=account) if account:
                ended = {"name": account, "now": to_ms(now)}
                tx.enqueue(END_WAIT, ended, coalesce=_first_of_each)
            case _:
                pass


def _has_answered(exit_: AgentExit) -> bool:
    """Did its service answer?  If the agent was cut off, that is unknown."""
    from yaoki.core.decide.backoff import LIMITS_WITHOUT_ANSWER

    return exit_.limit not in LIMITS_WITHOUT_ANSWER and not exit_.was_cut_off


def _judge_accounts(task: Task) -> set[str]:
    judges = (check.agent for check in task.spec.checks if check.agent is not None)
    return {judge.billed_account for judge in judges}


def _close(
    tx: Transaction,
    own: str,
    failure: Failure,
    until: datetime,
    now: datetime,
    asking: str = "",
    *,
    avoided: bool,
) -> None:
    """Close the account of the task's agent, or that of a judge at its limit."""
    account = failure.account or own
    # The limit of a judge, or one that an older yaoki recorded, says no more than its kind.
    other = failure.kind is FailureKind.RATE_LIMIT and not failure.account_problem
    if not account or not (failure.closure or other):
        return
    closure = failure.closure or AccountClosure(now)
    params = {
        "name": account,
        "until_ms": to_ms(until),
        "why": failure.message[:200],
        "problem": (failure.account_problem or AccountProblem.RATE_LIMIT).value,
        "since_ms": to_ms(closure.since),
        "probes": closure.probes,
        "promised_ms": closure.promised // MILLISECOND,
        "asking": asking,
        "avoided": int(avoided),
    }
    tx.enqueue(CLOSE, params)


def closes_account(events: Sequence[Event]) -> bool:
    """Does a failure say something about the account of the task's own agent?"""
    from yaoki.core.machine.events import EscalationDecided, RetryDecided
    from yaoki.core.machine.race_events import JudgeEnded

    decided = (e for e in events if isinstance(e, RetryDecided | EscalationDecided | JudgeEnded))
    return any(event.failure is not None and event.failure.account_problem for event in decided)


def switches_agent(task: Task, events: Sequence[Event]) -> bool:
    """Does another agent follow, whose account may be closed?"""
    from yaoki.core.machine.events import RetryDecided

    decided = (event for event in events if isinstance(event, RetryDecided))
    return any(event.agent_index != task.agent_index for event in decided)


def closed_account(tx: Transaction, task: Task) -> ClosedAccount | None:
    """The account of a task as other tasks left it, for the decision about a failed attempt.

    Only one decision at a time: the first one that needs a person is the one that asks.
    """
    tx.lock_by_name("accounts")
    row = tx.row(f"{SELECT} WHERE a.name = :name", {"name": task.account})
    if row is None or not row["since_ms"]:
        return None
    closure = AccountClosure(
        from_ms(row["since_ms"]), row["probes"], row["promised_ms"] * MILLISECOND
    )
    asking = row["asking"] if row["asked"] else ""
    problem = AccountProblem(row["problem"])
    return ClosedAccount(problem, closure, from_ms(row["until_ms"]), row["probe"], asking)


def closed_chain_accounts(tx: Transaction, task: Task, now: datetime) -> dict[str, datetime | None]:
    """Until when no agent can use an account of the task's chain; None for one that needs a person.

    While a task probes an account, its result is awaited for a moment.  After a refused key the
    wait must be over: no task waits for an account that only a person can fix.
    """
    if not task.other_accounts:
        return {}
    closed: dict[str, datetime | None] = {}
    for row in tx.rows(SELECT):
        name, until = row["name"], from_ms(row["until_ms"])
        if name not in task.other_accounts:
            continue
        if row["asked"] or (_needs_person(row) and until > now):
            closed[name] = None
        elif row["probing"]:
            closed[name] = max(until, now + PROBE_WAIT)
        elif until > now:
            closed[name] = until
    return closed


def open_judge_agents(
    tx: Transaction, catalogue: Catalogue, name: str, now: datetime
) -> tuple[AgentSpec, ...]:
    """The agent that judges a race, once for each of its accounts that it can use at once."""
    agent = catalogue.agents.get(name)
    if agent is None:
        return ()
    rows = {row["name"]: row for row in tx.rows(SELECT)}
    return tuple(
        one for one in agent.list_by_account() if _is_open(rows.get(one.billed_account), now)
    )


def _is_open(row: SqlRow | None, now: datetime) -> bool:
    return row is None or not (row["until_ms"] > to_ms(now) or row["probing"] or row["asked"])


def _needs_person(row: SqlRow) -> bool:
    return AccountProblem(row["problem"]).needs_person


def try_refused_accounts(tx: Transaction, now: datetime) -> None:
    """Let one task of a new run try each account that refused its key or had no credit."""
    tx.run(TRY_REFUSED, {"now": to_ms(now)})


def account_from_row(row: SqlRow) -> AccountRow:
    return AccountRow(
        row["name"],
        from_ms(row["until_ms"]),
        row["why"],
        row["probe"],
        AccountProblem(row["problem"]),
        row["asking"] if row["asked"] else "",
        bool(row["avoided"]) or _needs_person(row),
    )
