"""Each journal entry that people read, in a few words."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any

from yaoki.core.model import BUILT_IN_CHECKS, PERSON_AGENT, FailureKind, Reason, RetryMethod
from yaoki.core.model.names import explain_check_name
from yaoki.core.model.outcome import NO_TRY_AFTER_CONFLICT
from yaoki.core.model.race import letters_for
from yaoki.core.text import format_count, format_duration, one_line
from yaoki.views.indistinct import INDISTINCT_WORDS, is_indistinct
from yaoki.views.moments import CLOCK_FROM, describe_moment
from yaoki.views.outcomes import outcome_words, run_times
from yaoki.views.plain_words import (
    REFUSALS,
    describe_agent_end,
    describe_criterion,
    describe_pattern,
    describe_reason,
    read_refusal_cause,
)
from yaoki.views.wait_text import RERUN_FOLLOWS

if TYPE_CHECKING:
    from yaoki.ports import JournalEntry

Data = Mapping[str, Any]
MESSAGE_CHARS = 160
# A warning may contain a command, which must not be cut.
WARNING_CHARS = 1000
# The rules about the one re-run from the run branch, and about the limits of retries.
RERUN_RULE, LIMIT_RULE = "8.4", "5.1"


def describe_entry(entry: JournalEntry) -> str:
    """The entry in one line; empty for an event that only programs read.

    An entry of another version may lack a field that its words need; it has no words then.
    """
    words = _WORDS.get(entry.event)
    try:
        return words(entry.data) if words else ""
    except (LookupError, TypeError, ValueError, AttributeError):
        return ""


def failure_words(failure: Data) -> str:
    """The first failure, then its pattern in words: `test_x: 1 != 2 (tests failed)`."""
    subject, pattern = failure_subject(failure), describe_pattern(failure.get("pattern", ""))
    return subject if not pattern or pattern in subject else f"{subject} ({pattern})"


def failure_subject(failure: Data) -> str:
    """The first failure, the number of the others, and how the agent ended if it failed itself."""
    items = failure.get("items", ())
    if items:
        first = items[0]
        parts = [first["name"], first.get("message", "")]
        # The last item of a shortened list stands for all that are left out.
        others = sum(item.get("more") or 1 for item in items) - 1
        more = f" and {others:,} more" if others else ""
        words = f"{one_line(': '.join(filter(None, parts)), MESSAGE_CHARS)}{more}"
        end = one_line(failure.get("agent_end") or "", MESSAGE_CHARS)
        return f"{words}; {end}" if end else words
    check = "" if _is_of_agent(failure) else explain_check_name(failure.get("check", ""))
    words = ": ".join(filter(None, (check, failure.get("message", ""))))
    return one_line(words, MESSAGE_CHARS)


def _is_of_agent(failure: Data) -> bool:
    """Did the agent itself fail?  Then a failed check is not the cause."""
    own = {FailureKind.TRANSIENT_ERROR, FailureKind.TIMEOUT}
    return failure.get("kind") in own and not failure.get("ours")


def _start_words(data: Data) -> str:
    if data["agent"] == PERSON_AGENT:
        return "continues with the worktree as a person left it"
    where = "in a fresh worktree" if data["fresh"] else "in its worktree"
    agent = data.get("account") or data["agent"]
    return f"started {where}" + (f" with {agent}" if agent else "")


def _agent_words(data: Data) -> str:
    exit_ = data["exit"]
    if data.get("by_person"):
        changed = data.get("person_file_count", data.get("changed", 0))
        if not changed:
            return "no file changed since the last attempt; verified again because a person asked"
        return f"a person changed {format_count(changed, 'file')}"
    if cause := exit_.get("ended_by"):
        how = describe_agent_end(cause)
    elif exit_.get("signal"):
        how = f"died of signal {exit_['signal']}"
    elif exit_.get("code") is None:
        return "the agent could not be started"
    else:
        how = f"ended with code {exit_.get('code')}"
    changed = data.get("changed", 0)
    files = format_count(changed, "file")
    time = format_duration(exit_.get("seconds", 0.0))
    return f"the agent {how} after {time}, {files} changed"


def _check_words(data: Data) -> str:
    times = run_times(data["outcome"], data["seconds"], data.get("rerun_seconds", ()))
    if not data["seconds"] and data["check"] in BUILT_IN_CHECKS:
        times = ""  # nothing ran: it was read from the change
    words = f"check {explain_check_name(data['check'])} {outcome_words(data)}{times}"
    optional = "" if data.get("required", True) else " (optional)"
    bad = data["outcome"] in {"FAILED", "BROKEN"} and data.get("message")
    return words + optional + (f": {one_line(data['message'], MESSAGE_CHARS)}" if bad else "")


def _judgment_words(data: Data) -> str:
    if not data["passed"]:
        return ""
    outcomes = set(data.get("checks", {}).values())
    what = "nothing to change, and its checks pass" if data.get("unchanged") else "proven"
    waived = "WAIVED" in outcomes
    if waived and "PASSED" not in outcomes:
        what = "accepted without a proof"
    but = ", except for checks that a person waived" if waived and "PASSED" in outcomes else ""
    same = is_indistinct(data.get("checks", {}), data.get("same_at_base", ()))
    note = f"; {INDISTINCT_WORDS}" if same else ""
    return f"{what} on {data['commit'][:10]}{but}{note}"


def _retry_words(data: Data) -> str:
    how = {"fresh": ", in a fresh worktree", "next-agent": ", with the next agent"}
    failure = data["failure"]
    if failure.get("stopped_on_request"):
        return f"interrupted: {failure_words(failure)}; the next worker starts it again"
    if failure["kind"] == FailureKind.LOST:
        return f"interrupted: {failure_words(failure)}; it is tried again {_retry_moment(data)}"
    words = f"failed: {failure_words(failure)}"
    continues = data.get("strategy", RetryMethod.CONTINUE) == RetryMethod.CONTINUE
    if continues and failure.get("account_problem") and not data["delay_ms"]:
        return f"{words}; waits for its account"
    wait = f"retry {_retry_moment(data)}"
    return f"{words}; {wait}{how.get(data.get('strategy', ''), '')}"


def _retry_moment(data: Data) -> str:
    delay = timedelta(milliseconds=data["delay_ms"])
    due = data.get("due_at")
    if not due or delay < CLOCK_FROM:
        return f"in {format_duration(delay.total_seconds())}"
    moment = datetime.fromisoformat(due)
    return describe_moment(moment, moment - delay)


def _escalation_words(data: Data) -> str:
    """The question, and why no retry follows, unless the question says it."""
    words, blocked = f"needs you: {failure_subject(data['failure'])}", data["blocked"]
    if blocked == Reason.NEEDS_HUMAN:
        return words
    ended = data.get("why", {}).get("inputs", {}).get("retries_ended") or describe_reason(blocked)
    end = "; ".join(filter(None, (ended, _no_rerun_words(data))))
    return f"{words} ({end})"


def _no_rerun_words(data: Data) -> str:
    """Why no try from the run branch follows, where the reason of the question does not say it."""
    if data["blocked"] == Reason.MAX_RETRIES_INTEGRATION:
        return ""
    if data.get("why", {}).get("rule") == RERUN_RULE:
        return str(data["reason"]["description"])
    return NO_TRY_AFTER_CONFLICT if data["blocked"] == Reason.CONFLICT else ""


def _landing_words(data: Data) -> str:
    if data.get("is_verification"):
        return f"verified on {data['commit'][:10]}"
    already = " (no change; the branch does not move)" if data.get("already") else ""
    leader = data.get("taken_along_by")
    along = f" (together with {leader})" if leader else ""
    return f"landed {data['commit'][:10]}{already}{along}"


def _refusal_reason(data: Data) -> str:
    cause = read_refusal_cause(data)
    return f"the run branch moved to {data['head'][:10]}" if cause == "moved" else REFUSALS[cause]


def _blocking_words(data: Data) -> str:
    n = data["dependents"]
    return f"blocks {n} {'tasks that need' if n > 1 else 'task that needs'} it" if n else ""


def _revival_words(data: Data) -> str:
    n = data["dependents"]
    return f"revives {format_count(n, 'task')}" if n else ""


def _answer_words(data: Data) -> str:
    check = explain_check_name(data.get("check", ""))
    parts = (data["choice"], check, data.get("words", ""))
    how = f" ({data['how']})" if data.get("how") else ""
    return f"answered: {one_line(' '.join(filter(None, parts)), MESSAGE_CHARS)}{how}"


def _ended_wait_words(data: Data) -> str:
    how = f" ({data['how']})" if data.get("how") else ""
    if data.get("retried_task"):
        return f"a person ended the wait for {data['account']}{how}"
    words = f": {one_line(data['words'], MESSAGE_CHARS)}" if data.get("words") else ""
    return f"a person ended its wait{how}{words}"


def _cancellation_words(data: Data) -> str:
    """This entry alone does not tell whether the attempt had changed anything."""
    return "cancelled" + (f"; its work is saved at {data['kept'][:10]}" if data.get("kept") else "")


def _expiry_words(data: Data) -> str:
    return f"its claim has expired: {data.get('why') or 'the lease ran out'}"


def _repair_words(data: Data) -> str:
    n = len(data.get("tasks", ()))
    tasks = f" of {format_count(n, 'task')}" if n else ""
    return f"{data.get('mismatch', 'mismatch')}{tasks}: {data.get('repair', 'repaired')}"


def _merge_words(data: Data) -> str:
    proof = ", unproven" if data.get("unproven") else ""
    return f"merged into {data['branch']} at {data['commit'][:10]} ({data['how']}{proof})"


def _warning_words(data: Data) -> str:
    return f"warning: {one_line(str(data.get('message', '')), WARNING_CHARS)}"


def _note_words(data: Data) -> str:
    words = one_line(data.get("summary") or data.get("question", ""), MESSAGE_CHARS)
    return f"the agent says {data['status']}: {words}"


def _hold_words(data: Data) -> str:
    """Retries may be left: the reason why none follows is then another rule than their limit."""
    used = data["blocked"] == Reason.MAX_RETRIES_INTEGRATION
    last = "its re-run from the run branch is used up" if used else RERUN_FOLLOWS
    why = data.get("why", {})
    by_limit = used or why.get("rule", LIMIT_RULE) == LIMIT_RULE
    end = describe_reason(Reason.MAX_RETRIES) if by_limit else why["inputs"]["reasoning"]
    return f"failed: {failure_words(data['failure'])}; {end}; {last}"


def _recovery_start_words(data: Data) -> str:
    return (
        f"{data['strategy']}: "
        f"{format_count(len(data.get('failed_subtasks', ())), 'subtask')} failed"
    )


def _forecast_words(data: Data) -> str:
    middle, high = (format_duration(data["seconds"][key]) for key in ("middle", "high"))
    runs = data["agent_runs"]
    return (
        f"forecast: {middle} (90 %: {high}), {format_count(round(runs['middle']), 'agent run')} "
        f"(90 %: {round(runs['high'])})"
    )


def _recovery_words(data: Data) -> str:
    """Journals of earlier versions do not name the subtasks that were left out."""
    if left_out := data.get("left_out_subtasks"):
        return (
            f"landed by {data['strategy']} without "
            f"{format_count(len(left_out), 'subtask')} that failed"
        )
    return f"recovered by {data['strategy']}"


def _blame_words(data: Data) -> str:
    beside = f" together with {', '.join(data['partners'])}" if data.get("partners") else ""
    commits = format_count(data["looked"], "commit")
    return f"{data['culprit']} is to blame{beside}; found after testing {commits}"


def _plan_words(data: Data) -> str:
    names = ", ".join(data.get("names", ())[:10])
    tasks = format_count(len(data.get("names", ())), "task")
    return f"{tasks} planned: {one_line(names, MESSAGE_CHARS)}"


def _iteration_words(data: Data) -> str:
    return f"iteration {data['iteration']}: {data['commit']}; {data['decision']}: {data['reason']}"


def _settled_words(data: Data) -> str:
    words = f": {one_line(data['message'], MESSAGE_CHARS)}" if data.get("message") else ""
    agent = f" ({data['agent']})" if data.get("agent") else ""
    outcome = data["outcome"].replace("-", " ")
    return f"candidate {data['name']}{agent} {outcome}{words}"


def _decided_race_words(data: Data) -> str:
    reason = describe_criterion(data.get("criterion", ""))
    if not data.get("winner"):
        return reason
    return f"candidate {data['why']['inputs']['winner']} won: {reason}"


def _called_judge_words(data: Data) -> str:
    names = (f"{letter} is {work['name']}" for letter, work in _by_letter(data["works"]))
    return f"judge {data['agent']} compares the candidates: {', '.join(names)}"


def _by_letter(works: Sequence[Data]) -> Iterator[tuple[str, Data]]:
    return zip(letters_for(len(works)), works, strict=True)


def _ended_judge_words(data: Data) -> str:
    judgment = data.get("judgment") or {}
    if judgment.get("choice"):
        return f"chose {judgment['choice']}: {one_line(judgment['reason'], MESSAGE_CHARS)}"
    failure = data.get("failure")
    return f"decided nothing: {failure_words(failure)}" if failure else "was stopped"


def _settled_judge_words(data: Data) -> str:
    judgment = data.get("judgment") or {}
    if judgment.get("choice"):
        reason = one_line(judgment["reason"], MESSAGE_CHARS)
        return f"judge {data['agent']} chose {judgment['choice']}: {reason}"
    message = one_line(data.get("message", ""), MESSAGE_CHARS)
    return f"judge {data['agent']} decided nothing: {message}"


_WORDS: Mapping[str, Callable[[Data], str]] = {
    "ATTEMPT_STARTED": _start_words,
    "AGENT_FINISHED": _agent_words,
    "AGENT_SWITCHED": lambda data: f"{data['agent']} takes over: {data['why']}",
    "CHECK_FINISHED": _check_words,
    "QUALITY_JUDGMENT": _judgment_words,
    "RETRY_DECISION": _retry_words,
    "ESCALATE_DECISION": _escalation_words,
    "RESULT_NOTED": _note_words,
    "RERUN_HELD": _hold_words,
    "RERUN_GRANTED": lambda data: f"one re-run from the run branch at {data['head'][:10]}",
    "RECOVERY_START": _recovery_start_words,
    "RECOVERY_COMPLETE": _recovery_words,
    "TASK_BLAMED": _blame_words,
    "TASK_UNLANDED": lambda data: f"reverted on its branch: {data.get('why', '')}",
    "TASK_RECALLED": lambda data: f"interrupted, its work is saved: {data.get('why', '')}",
    "TASK_REPLACED": lambda data: (
        f"replaced by {data['by']}" if data["by"] else f"replaced: {data.get('why', '')}"
    ),
    "TASKS_PLANNED": _plan_words,
    "PHASE_FILLED": lambda data: f"phase {data['phase']} is filled",
    "PHASE_REFUSED": lambda data: f"phase {data['phase']} stays open: {data['defects'][0]}",
    "PHASE_TIMED_OUT": lambda data: f"phase {data['phase']} was not filled in time",
    "PHASE_REOPENED": lambda data: f"phase {data['phase']} is open again",
    "ITERATION_FINISHED": _iteration_words,
    "RUN_PAUSED": lambda data: f"paused: {data['why']}",
    "RUN_RESUMED": lambda data: (
        f"resumed; it was paused: {data['was']}" + (f" ({data['how']})" if data.get("how") else "")
    ),
    "BUDGET_WARNING": _warning_words,
    "DEAD_LETTERED": lambda data: f"dead letter: {data.get('message', '')}",
    "TASK_LANDED": _landing_words,
    "TASK_BLOCKED": _blocking_words,
    "TASK_REVIVED": _revival_words,
    "ESCALATION_ANSWERED": _answer_words,
    "WAIT_ENDED": _ended_wait_words,
    "CANCEL_REQUESTED": lambda _: "cancel requested",
    "TASK_CANCELLED": _cancellation_words,
    "ROW_REFUSED": lambda data: f"its row in the store is not valid: {data['why']}",
    "TASK_UNDONE": lambda _: "undone on the run branch",
    "UNDO_DROPPED": lambda data: f"its undo was refused: {one_line(data['why'])}",
    "LEASE_EXPIRED": _expiry_words,
    "JOINT_PROOF_FAILED": lambda data: (
        f"its checks failed on its work joined with that of {', '.join(data['tasks'])}"
        f" ({one_line(data['why'])}); they run again on its work alone"
    ),
    "LAND_REFUSED": lambda data: f"{_refusal_reason(data)}; its checks run again",
    "RESULT_REFUSED": lambda data: f"a late result of claim {data['epoch']} was rejected",
    "PROMPT_FAULT": lambda data: f"warning: a generic hint was used: {data.get('fault', '')}",
    "SNAPSHOT_RESTORE": lambda data: f"restored from snapshot {data['snapshot_id']}",
    "RACE_STARTED": lambda data: f"{len(data['candidates'])} candidates race",
    "CANDIDATE_SETTLED": _settled_words,
    "JUDGE_CALLED": _called_judge_words,
    "JUDGE_ENDED": _ended_judge_words,
    "JUDGE_SETTLED": _settled_judge_words,
    "RACE_DECIDED": _decided_race_words,
    "CANDIDATE_PROVEN": lambda _: "passed its checks; its race decides",
    "CANDIDATE_FAILED": lambda data: f"failed: {failure_words(data['failure'])}; it is not retried",
    "CANDIDATE_RETIRED": lambda data: (
        str(data["why"])
        + (f"; its work is saved at {data['saved_ref'][:10]}" if data.get("saved_ref") else "")
    ),
    "RECONCILED": _repair_words,
    "PLAN_RECHECKED": lambda data: str(data["message"]),
    "CHECKS_REVISED": lambda data: (
        f"now has the checks of revision {data['revision']['number']}"
        + ("; it is verified again" if data.get("proof_is_void") else "")
    ),
    "RUN_FORECAST": _forecast_words,
    "RUN_MERGED": _merge_words,
    "MERGE_REFUSED": lambda data: f"merge into {data['branch']} refused: {data['failure']}",
    "WARNING": _warning_words,
    "CHECKOUT_CHANGED": _warning_words,
    "CHECKOUT_FILES_ADDED": lambda data: f"note: {one_line(data['message'], WARNING_CHARS)}",
}
