"""The explanation of a task's state: each decision with its rule, inputs and alternatives."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any

from yaoki.core.lazy_dataclass import dataclass, field
from yaoki.core.model import CheckRunPurpose, Reason, State, TaskKind
from yaoki.core.text import format_count, format_duration
from yaoki.views.history import Attempt, Judgment, TaskHistory, build_history
from yaoki.views.history.check_runs import CheckRuns, describe_check_runs, sum_check_runs
from yaoki.views.history.races import RaceRound, name_open_candidates
from yaoki.views.history.warnings import collect_warnings
from yaoki.views.plain_words import describe_reason
from yaoki.views.tasks import IdleReason, TaskView
from yaoki.views.wait_text import awaited_date, describe_wait, end_wait_command

if TYPE_CHECKING:
    from yaoki.ports import JournalEntry, TaskRow
    from yaoki.views.decisions import ExplainedDecision
    from yaoki.views.history.values import RecordedAnswer

WARNINGS_SHOWN = 10
NO_CANDIDATES: Mapping[str, TaskRow] = {}
_CONVERSATION_WORDS = {
    "continued": "the agent continued its conversation",
    "fresh": "the agent began a new conversation",
}


@dataclass(frozen=True, slots=True)
class AttemptSummary:
    """One attempt in a line or two, with what its agent reported."""

    attempt: int
    at: datetime
    agent: str
    checks: Mapping[str, str] = field(default_factory=dict)
    # The outcomes with the number of tests, for people.
    check_words: Mapping[str, str] = field(default_factory=dict)
    ended: str = ""
    session: str = ""
    cost: float | None = None
    tokens: int | None = None
    # The choice between the merge queue and an early verification: its numbers, and in words.
    queue_choice: Mapping[str, Any] = field(default_factory=dict)
    queue_words: str = ""
    # Every execution of a check: their number and seconds, and in words.
    check_runs: int = 0
    check_seconds: float = 0.0
    check_run_words: str = ""
    # Whether its agent continued its conversation; empty for a first attempt.
    conversation: str = ""
    # The draw that chose the template of its prompt, if several fit.
    prompt_draw: Mapping[str, Any] = field(default_factory=dict)

    @property
    def conversation_words(self) -> str:
        """Only of an agent that has conversations."""
        return _CONVERSATION_WORDS.get(self.conversation, "") if self.session else ""


@dataclass(frozen=True, slots=True)
class Explanation:
    """Everything `yaoki why` shows of one task; the newest decision is first."""

    view: TaskView
    headline: str
    wait_words: str
    decisions: tuple[ExplainedDecision, ...]
    attempts: tuple[AttemptSummary, ...]
    proof: Mapping[str, str] = field(default_factory=dict)
    # The outcomes with the number of tests, for people.
    proof_words: Mapping[str, str] = field(default_factory=dict)
    message: str = ""
    # When the task was cancelled or replaced.
    ended_at: datetime | None = None
    # What happened beside the work, such as refs that changed meanwhile; each once.
    warnings: tuple[str, ...] = ()
    # The revision of the plan that its checks are from, and that of the checks that proved it;
    # 0 for those it was submitted with.
    check_revision: int = 0
    proof_revision: int = 0
    # The mutants of the landed commit that no test noticed.
    survivors: tuple[str, ...] = ()
    # The answers of people; the newest is first.
    answers: tuple[RecordedAnswer, ...] = ()
    # The rounds of its race; the newest is first.
    races: tuple[RaceRound, ...] = ()

    @property
    def next_command(self) -> str:
        row = self.view.row
        if self.view.next_command:
            return self.view.next_command
        is_open = row.state in {State.WAITING, State.ACTIVE}
        if is_open and self.view.not_taken_because == IdleReason.NOBODY:
            return f"yaoki resume {row.run_id}"
        if row.landed_commit:
            return f"yaoki diff {row.id}"
        if row.state in {State.CANCELLED, State.REPLACED} and self.attempts:
            return f"yaoki recover {row.id}"
        # The agents of a race write to the logs of its candidates.
        candidates = self.races[0].candidates if self.races else ()
        has_log = row.id if self.attempts and not self.races else ""
        logged = next((one.id for one in candidates if one.has_agent), has_log)
        return f"yaoki logs {logged}" if logged else f"yaoki status {row.run_id}"


def explain(
    view: TaskView,
    entries: Sequence[JournalEntry],
    now: datetime,
    names: Mapping[str, str],
    candidates: Mapping[str, TaskRow] = NO_CANDIDATES,
) -> Explanation:
    """`entries` are the task's journal, oldest first; `candidates` the rows of those in its races,
    which are named by them until they end.
    """
    history = build_history(entries)
    row = view.row
    waits = describe_wait(view, now, names)
    if awaited_date(view, now) is not None and history.return_reason:
        waits += f": {history.return_reason}"
    if command := end_wait_command(view, now):
        waits += f": {command}"
    removal = history.removal if row.state in {State.CANCELLED, State.REPLACED} else None
    proof = _landed_judgment(history, row.landed_commit) if row.state is State.DONE else None
    tested = {check.check: check.words for check in proof.checks} if proof else {}
    return Explanation(
        view,
        removal.words if removal else _headline(view, waits, names),
        waits,
        tuple(reversed(history.decisions)),
        tuple(
            _summary(attempt, [run for run in history.check_runs if run.attempt == attempt.number])
            for attempt in history.numbered_attempts.values()
        ),
        proof.outcomes if proof else {},
        {name: tested.get(name, outcome) for name, outcome in proof.outcomes.items()}
        if proof
        else {},
        history.question if row.state is State.ESCALATED else "",
        removal.at if removal else None,
        tuple(warning.words for warning in collect_warnings(entries).by_text.values())[
            :WARNINGS_SHOWN
        ],
        history.check_revision,
        proof.check_revision if proof else 0,
        tuple(words for check in (proof.checks if proof else ()) for words in check.survivors),
        tuple(reversed(history.answers)),
        tuple(name_open_candidates(race, candidates) for race in reversed(history.races.rounds)),
    )


def _landed_judgment(history: TaskHistory, commit: str) -> Judgment | None:
    """The judgment of exactly the commit that landed."""
    passed = (judgment for judgment in reversed(history.judgments) if judgment.commit == commit)
    return next(passed, None)


def _summary(attempt: Attempt, runs: Sequence[CheckRuns]) -> AttemptSummary:
    """A cost that the agent did not report stays unknown."""
    count, seconds = sum_check_runs(runs)
    last_run = attempt.agent_runs[-1] if attempt.agent_runs else None
    choice = last_run.queue_choice if last_run else {}
    did_run = any(run.purpose == CheckRunPurpose.CANDIDATE for run in runs)
    prompt = attempt.prompt
    return AttemptSummary(
        attempt.number,
        attempt.started_at or attempt.start,
        attempt.agent_title,
        {check.check: check.outcome for check in attempt.checks},
        {check.check: check.words for check in attempt.checks},
        attempt.end_words if attempt.end.is_conclusion else "",
        last_run.session if last_run else "",
        last_run.cost if last_run else None,
        last_run.tokens if last_run else None,
        choice,
        _queue_words(choice) if did_run else "",
        count,
        round(seconds, 3),
        f"checks took {format_duration(seconds)}, {describe_check_runs(runs)}" if count else "",
        prompt.conversation if prompt and prompt.kind else "",
        prompt.draw if prompt else {},
    )


def _queue_words(choice: Mapping[str, Any]) -> str:
    """The choice of rule 17.7; without a task ahead there was nothing to choose."""
    if not choice.get("ahead"):
        return ""
    where = "on top of" if choice.get("enters") else "without"
    others = format_count(choice["ahead"], "other task")
    chance = f"{choice['land_chance']:.0%}"
    return (
        f"its checks first ran {where} the work of {others} waiting to land;"
        f" chance that all of it lands: {chance}"
    )


def _because(reason: str) -> str:
    """The reason of a question, unless the question itself says it."""
    return "" if reason in {"", Reason.NEEDS_HUMAN} else f" ({describe_reason(reason)})"


def _headline(view: TaskView, waits: str, names: Mapping[str, str]) -> str:
    row = view.row
    match row.state:
        case State.DONE:
            ended = f"; its agent: {row.agent_exit}" if row.agent_exit else ""
            undo = f"; {waits}" if waits else ""
            did = "verified on" if row.kind == TaskKind.CHECK else "landed as"
            landed = f": {did} {row.landed_commit[:10]}" if row.landed_commit else ""
            return f"DONE{landed}{ended}{undo}"
        case State.ESCALATED:
            return f"ESCALATED: it needs your answer{_because(view.reason)}"
        case State.WAITING if view.blocked:
            cause = names.get(view.blocked_by, view.blocked_by)
            if view.cause_asks:
                return f"WAITING: {cause} ({view.blocked_by}) waits for your answer"
            return f"WAITING: {cause} ({view.blocked_by}) {view.cause_words}"
        case State.WAITING:
            return f"WAITING: {waits}"
        case State.ACTIVE:
            ending = ", being cancelled" if row.cancel_requested else ""
            return f"ACTIVE: {row.stage}, attempt {row.attempt}{ending}"
        case State.CANCELLED | State.REPLACED:
            return row.state.value
