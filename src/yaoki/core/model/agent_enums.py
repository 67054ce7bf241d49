"""Closed sets of words about agents: their accounts, limits, permissions and ends."""

from __future__ import annotations

from enum import StrEnum, unique


@unique
class AccountProblem(StrEnum):
    """The reason why no agent can use an account: its service does not answer, or refuses to."""

    NONE = ""
    RATE_LIMIT = "rate-limit"
    # The service is overloaded or unreachable.
    OUTAGE = "outage"
    KEY_REFUSED = "key-refused"
    # The variable with its key is not set where yaoki runs; its service was not asked.
    KEY_MISSING = "key-missing"
    NO_CREDIT = "no-credit"

    @property
    def needs_person(self) -> bool:
        """Waiting does not help."""
        return self in {
            AccountProblem.KEY_REFUSED,
            AccountProblem.KEY_MISSING,
            AccountProblem.NO_CREDIT,
        }


@unique
class FailOverCause(StrEnum):
    """The reason why the next agent of the chain continues instead of the present one."""

    NONE = ""
    LIMIT = "limit"
    OUTAGE = "outage"
    KEY_REFUSED = "key-refused"
    NO_CREDIT = "no-credit"
    # Its program is not installed here, or may not be executed.
    MISSING_PROGRAM = "missing-program"
    # Its model declined the task.
    REFUSAL = "refusal"
    # Its service or its own rules refuse every request like this one.
    UNUSABLE = "unusable"
    REPEATED_FAILURE = "repeated-failure"
    # A draw chose another agent for the next attempt; this one may return.
    LEARNED = "learned"

    @property
    def needs_person(self) -> bool:
        """Can only a person open its account?"""
        return self in {FailOverCause.KEY_REFUSED, FailOverCause.NO_CREDIT}

    @property
    def is_final(self) -> bool:
        """Would the same agent fail again, whatever becomes of its account?"""
        return self in {
            FailOverCause.MISSING_PROGRAM,
            FailOverCause.REFUSAL,
            FailOverCause.UNUSABLE,
            FailOverCause.REPEATED_FAILURE,
        }


@unique
class AgentLimit(StrEnum):
    """The limit that stopped an agent, set by its service or by its own bounds."""

    NONE = ""
    RATE = "rate"
    MONEY = "money"
    AUTH = "auth"
    # The service is overloaded or unreachable.
    OVERLOADED = "overloaded"
    # The agent's own files were in use by another process of the same agent.
    BUSY = "busy"
    # The conversation to continue no longer exists.
    SESSION = "session"
    # The service refused the request as malformed.
    REQUEST = "request"
    NOT_FOUND = "notfound"
    FORBIDDEN = "forbidden"
    # The conversation is too long for the model.
    CONTEXT = "context"
    # The agent's own bound on turns, cost or length.
    TURNS = "turns"
    # The agent ended without a final message.
    UNFINISHED = "unfinished"
    # The agent was not allowed to use a tool it needs.
    DENIED = "denied"
    # The model declined the task.
    REFUSAL = "refusal"
    # The agent failed, and no rule explains why.
    UNKNOWN = "unknown"

    @classmethod
    def _missing_(cls, value: object) -> AgentLimit | None:
        """A word of another version of yaoki is a failure without a known cause."""
        return cls.UNKNOWN if isinstance(value, str) else None

    @property
    def is_temporary(self) -> bool:
        """Does waiting help?"""
        return self in {AgentLimit.RATE, AgentLimit.OVERLOADED}

    @property
    def account_problem(self) -> AccountProblem:
        """The problem that the limit means for the whole account."""
        return _ACCOUNT_PROBLEMS.get(self, AccountProblem.NONE)

    @property
    def needs_explanation(self) -> bool:
        """Did the service, or the agent's own program, refuse?  A person needs its words."""
        refused = {AgentLimit.REQUEST, AgentLimit.NOT_FOUND, AgentLimit.FORBIDDEN}
        return bool(self.account_problem) or self in refused


_ACCOUNT_PROBLEMS = {
    AgentLimit.RATE: AccountProblem.RATE_LIMIT,
    AgentLimit.OVERLOADED: AccountProblem.OUTAGE,
    AgentLimit.AUTH: AccountProblem.KEY_REFUSED,
    AgentLimit.MONEY: AccountProblem.NO_CREDIT,
}


@unique
class Permissions(StrEnum):
    """The rights that an agent uses without asking.

    ALL: everything.  EDITS: change files of its worktree, and run the commands of its checks.
    PRESET: what its preset says, which is ALL except over ACP.
    """

    PRESET = ""
    ALL = "all"
    EDITS = "edits"


@unique
class EndCause(StrEnum):
    """The reason why yaoki ended a process; `NONE` when it ended by itself."""

    NONE = ""
    DEADLINE = "deadline"
    # No CPU, output or file change for too long.
    HANG = "hang"
    # No worker renewed its lease.
    LEASE = "lease"
    CANCEL = "cancel"
    # The agent wrote more than it may.
    OUTPUT = "output"
    STOP = "stop"
    # The agent waited too long for its service.
    WAITING = "waiting"
    # The agent asked a question and waits for the answer.
    QUESTION = "question"
    # The agent reports that it used what its task, or what the run or the day, may use.
    TASK_BUDGET = "task-budget"
    RUN_BUDGET = "run-budget"
    OTHER = "other"

    @classmethod
    def _missing_(cls, value: object) -> EndCause | None:
        """An agent outside a sandbox can write any word into the request to end it."""
        return cls.OTHER if isinstance(value, str) else None
