"""Each journal entry that people read, in a few words."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from yaoki.core.counting import format_count
from yaoki.core.display import one_line
from yaoki.core.model import Reason
from yaoki.ports import JournalEntry
from yaoki.views.outcomes import outcome_words

Data = Mapping[str, Any]
MESSAGE_CHARS = 160
# A warning may contain a command, which must not be cut.
WARNING_CHARS = 1000


def describe_entry(entry: JournalEntry) -> str:
    """What happened, in one line; empty for an event that only programs read.

    An entry of another version may lack a field that its words need; it has no words then.
    """
    words = _WORDS.get(entry.event)
    try:
        return words(entry.data) if words else ""
    except (LookupError, TypeError, ValueError, AttributeError):
        return ""


def failure_words(failure: Data) -> str:
    """Kind, pattern, and the first thing that failed: `QUALITY_FAILURE test-failed: test_x: …`."""
    head = " ".join(filter(None, (failure["kind"], failure.get("pattern", ""))))
    items = failure.get("items", ())
    if items:
        first = items[0]
        parts = [first["name"], first.get("message", "")]
        more = f" (and {len(items) - 1} more)" if len(items) > 1 else ""
        return f"{head}: {one_line(': '.join(filter(None, parts)), MESSAGE_CHARS)}{more}"
    words = ": ".join(filter(None, (failure.get("check", ""), failure["message"])))
    return f"{head}: {one_line(words, MESSAGE_CHARS)}"


def _started(data: Data) -> str:
    where = "in a fresh worktree" if data["fresh"] else "in its worktree"
    return f"started {where}" + (f" with {data['agent']}" if data["agent"] else "")


def _finished(data: Data) -> str:
    exit_ = data["exit"]
    if exit_.get("ended_by"):
        how = f"was ended ({exit_['ended_by']})"
    elif exit_.get("signal"):
        how = f"died of signal {exit_['signal']}"
    else:
        how = f"ended with code {exit_.get('code')}"
    changed = data.get("changed", 0)
    files = format_count(changed, "file")
    return f"the agent {how} after {exit_.get('seconds', 0.0):.1f} s, {files} changed"


def _checked(data: Data) -> str:
    words = f"check {data['check']} {outcome_words(data)} in {data['seconds']:.1f} s"
    optional = "" if data.get("required", True) else " (optional)"
    bad = data["outcome"] in {"FAILED", "BROKEN"} and data.get("message")
    return words + optional + (f": {one_line(data['message'], MESSAGE_CHARS)}" if bad else "")


def _judged(data: Data) -> str:
    if not data["passed"]:
        return ""
    outcomes = set(data.get("checks", {}).values())
    what = "nothing to change, and its checks pass" if data.get("unchanged") else "proven"
    if "WAIVED" in outcomes:
        what = (
            "proven, except for checks that a person waived"
            if "PASSED" in outcomes
            else "accepted without a proof"
        )
    return f"{what} on {data['commit'][:10]}"


def _retried(data: Data) -> str:
    how = {"fresh": ", in a fresh worktree", "next-agent": ", with the next agent"}
    wait = f"retry in {data['delay_ms'] / 1000:g} s"
    return f"{failure_words(data['failure'])}; {wait}{how.get(data.get('strategy', ''), '')}"


def _escalated(data: Data) -> str:
    return f"ESCALATED {data['blocked']}: {failure_words(data['failure'])}"


def _landed(data: Data) -> str:
    already = " (no change; the branch stays there)" if data.get("already") else ""
    return f"landed {data['commit'][:10]}{already}"


def _refused(data: Data) -> str:
    """The journal may give a reason; usually another task landed first."""
    return str(data.get("why") or f"the run branch moved to {data['head'][:10]}")


def _blocked(data: Data) -> str:
    n = data["dependents"]
    return f"blocks {n} {'tasks that need' if n > 1 else 'task that needs'} it" if n else ""


def _revived(data: Data) -> str:
    n = data["dependents"]
    return f"revives {format_count(n, 'task')}" if n else ""


def _answered(data: Data) -> str:
    parts = (data["choice"], data.get("check", ""), data.get("words", ""))
    how = f" ({data['how']})" if data.get("how") else ""
    return f"answered: {one_line(' '.join(filter(None, parts)), MESSAGE_CHARS)}{how}"


def _cancelled(data: Data) -> str:
    """This entry alone does not tell whether the attempt had changed anything."""
    return "cancelled" + (f"; its work is saved at {data['kept'][:10]}" if data.get("kept") else "")


def _returned(data: Data) -> str:
    return f"its claim ended: {data.get('why') or 'the lease ran out'}"


def _reconciled(data: Data) -> str:
    n = len(data.get("tasks", ()))
    whose = f" of {format_count(n, 'task')}" if n else ""
    return f"{data.get('mismatch', 'mismatch')}{whose}: {data.get('repair', 'repaired')}"


def _merged(data: Data) -> str:
    proof = ", unproven" if data.get("unproven") else ""
    return f"merged into {data['branch']} at {data['commit'][:10]} ({data['how']}{proof})"


def _message(data: Data) -> str:
    return f"warning: {one_line(str(data.get('message', '')), WARNING_CHARS)}"


def _noted(data: Data) -> str:
    words = one_line(data.get("summary") or data.get("question", ""), MESSAGE_CHARS)
    return f"the agent says {data['status']}: {words}"


def _held(data: Data) -> str:
    used = data["blocked"] == Reason.MAX_RETRIES_INTEGRATION
    waits = "its one re-run is used up" if used else "waits for its one re-run"
    return f"{failure_words(data['failure'])}; {data['blocked']}: {waits}"


def _recovering(data: Data) -> str:
    return (
        f"{data['strategy']}: "
        f"{format_count(len(data.get('failed_subtasks', ())), 'subtask')} failed"
    )


def _recovered(data: Data) -> str:
    """Journals of earlier versions do not name the subtasks that were left out."""
    if left_out := data.get("left_out_subtasks"):
        return (
            f"landed by {data['strategy']} without "
            f"{format_count(len(left_out), 'subtask')} that failed"
        )
    return f"recovered by {data['strategy']}"


def _blamed(data: Data) -> str:
    beside = f" together with {', '.join(data['partners'])}" if data.get("partners") else ""
    looked = format_count(data["looked"], "commit")
    return f"{data['culprit']} is to blame{beside}; found after testing {looked}"


def _planned(data: Data) -> str:
    names = ", ".join(data.get("names", ())[:10])
    tasks = format_count(len(data.get("names", ())), "task")
    return f"{tasks} planned: {one_line(names, MESSAGE_CHARS)}"


def _iterated(data: Data) -> str:
    return f"iteration {data['iteration']}: {data['commit']}; {data['decision']}: {data['reason']}"


_WORDS: Mapping[str, Callable[[Data], str]] = {
    "ATTEMPT_STARTED": _started,
    "AGENT_FINISHED": _finished,
    "CHECK_FINISHED": _checked,
    "QUALITY_JUDGMENT": _judged,
    "RETRY_DECISION": _retried,
    "ESCALATE_DECISION": _escalated,
    "RESULT_NOTED": _noted,
    "RERUN_HELD": _held,
    "RERUN_GRANTED": lambda data: f"one re-run from the run branch at {data['head'][:10]}",
    "RECOVERY_START": _recovering,
    "RECOVERY_COMPLETE": _recovered,
    "TASK_BLAMED": _blamed,
    "TASK_UNLANDED": lambda data: f"reverted on its branch: {data.get('why', '')}",
    "TASK_RECALLED": lambda data: f"interrupted, its work is saved: {data.get('why', '')}",
    "TASK_REPLACED": lambda data: f"replaced by {data['by']}",
    "TASKS_PLANNED": _planned,
    "PHASE_FILLED": lambda data: f"phase {data['phase']} is filled",
    "PHASE_REFUSED": lambda data: f"phase {data['phase']} stays open: {data['defects'][0]}",
    "PHASE_TIMED_OUT": lambda data: f"phase {data['phase']} was not filled in time",
    "PHASE_REOPENED": lambda data: f"phase {data['phase']} is open again",
    "ITERATION_FINISHED": _iterated,
    "RUN_PAUSED": lambda data: f"paused: {data['why']}",
    "RUN_RESUMED": lambda data: (
        f"continues after: {data['was']}" + (f" ({data['how']})" if data.get("how") else "")
    ),
    "BUDGET_WARNING": _message,
    "DEAD_LETTERED": lambda data: f"dead letter: {data.get('message', '')}",
    "TASK_LANDED": _landed,
    "TASK_BLOCKED": _blocked,
    "TASK_REVIVED": _revived,
    "ESCALATION_ANSWERED": _answered,
    "CANCEL_REQUESTED": lambda _: "cancel requested",
    "TASK_CANCELLED": _cancelled,
    "ROW_REFUSED": lambda data: f"its row is refused: {data['why']}",
    "TASK_UNDONE": lambda _: "undone on the run branch",
    "LEASE_EXPIRED": _returned,
    "LAND_REFUSED": lambda data: f"{_refused(data)}; verifying again",
    "RESULT_REFUSED": lambda data: f"a late result of claim {data['epoch']} was rejected",
    "PROMPT_FAULT": lambda data: f"warning: a generic hint was used: {data.get('fault', '')}",
    "SNAPSHOT_RESTORE": lambda data: f"restored from snapshot {data['snapshot_id']}",
    "RECONCILED": _reconciled,
    "RUN_MERGED": _merged,
    "WARNING": _message,
    "CHECKOUT_CHANGED": _message,
}
