"""From journal to spans: what an entry ends becomes one, with the instants that were recorded.

Nothing is sent before it has ended, so a crash tears no span: whoever reads on from the same line
of the journal makes the same ones.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import datetime

from yaoki.adapters.telemetry import attribute_names
from yaoki.adapters.telemetry.spans import AttributeValue, Span, derive_span_id, derive_trace_id
from yaoki.adapters.telemetry.task_trace import WORDS_MAX, OpenInterval, TaskTrace
from yaoki.core.text import one_line
from yaoki.ports import JournalEntry

TASK_TRACES_MAX = 10_000


Spans = Iterable[Span]


class TraceBuilder:
    """Every task that was met; one that is not known is looked up in its own journal."""

    def __init__(self, journal: Callable[[str, int], Iterable[JournalEntry]]) -> None:
        self._journal = journal
        self._tracks: OrderedDict[str, TaskTrace] = OrderedDict()

    def add(self, entry: JournalEntry) -> list[Span]:
        """What this entry ended."""
        if not entry.task_id:
            return list(_of_run(entry))
        act = _ACTS.get(entry.event)
        return list(act(self._track(entry), entry)) if act else []

    def _track(self, entry: JournalEntry) -> TaskTrace:
        known = self._tracks.get(entry.task_id)
        if known is None:
            known = TaskTrace(entry.run_id, entry.task_id)
            if entry.event != "TASK_SUBMITTED":
                self._recall(known, entry)
            self._tracks[entry.task_id] = known
            if len(self._tracks) > TASK_TRACES_MAX:
                self._tracks.popitem(last=False)
        self._tracks.move_to_end(entry.task_id)
        return known

    def _recall(self, track: TaskTrace, before: JournalEntry) -> None:
        for entry in self._journal(track.task_id, before.seq):
            act = _ACTS.get(entry.event)
            if act is not None:
                list(act(track, entry))


# ------------------------------------------------------------------ of a run


def _of_run(entry: JournalEntry) -> Iterator[Span]:
    """The root ends with the submission, so a trace is whole while its run goes on."""
    run, data = entry.run_id, entry.data
    ids, root = derive_trace_id(run), derive_span_id(run)
    if entry.event == "PLAN_SUBMITTED":
        began = datetime.fromisoformat(data["run"]["created_at"])
        told: dict[str, AttributeValue] = {
            attribute_names.OPERATION: attribute_names.WORKFLOW,
            attribute_names.RUN: run,
            attribute_names.GOAL: one_line(str(data["goal"]), WORDS_MAX),
            attribute_names.TASKS: int(data["tasks"]),
        }
        yield Span(ids, root, b"", "run", began, max(began, entry.at), told)
    elif entry.event == "FINAL_SUMMARY":
        status = str(data.get("status", ""))
        told = {attribute_names.RUN: run, attribute_names.STATUS: status}
        failed = "" if status == "DONE" else status
        own = derive_span_id(run, "summary", entry.seq)
        yield Span(ids, own, root, "summary", entry.at, entry.at, told, failed)


# ------------------------------------------------------------------ of a task


def _submitted(track: TaskTrace, entry: JournalEntry) -> Spans:
    spec = entry.data["spec"]
    track.name = one_line(str(spec["name"]), WORDS_MAX)
    return track.begin_wait(entry, "NEEDS" if spec.get("needs") else "SLOT")


def _claimed(track: TaskTrace, entry: JournalEntry) -> Spans:
    yield from track.end_wait(entry.at)
    yield from track.end_stage(entry.at)
    track.open_claim = OpenInterval(entry.at, entry.seq, "attempt")
    if track.stage == "PREPARE":
        yield from track.end_attempt(entry.at, "")
    elif track.open_attempt is None:
        track.open_attempt, track.is_continued = track.open_claim, True
    track.begin_stage(entry, track.stage)


def _started(track: TaskTrace, entry: JournalEntry) -> Spans:
    """It began with the claim; only now its number is known."""
    claim = track.open_claim or OpenInterval(entry.at, entry.seq, "attempt")
    track.open_attempt, track.is_continued = claim, False
    track.attempt_number = int(entry.data["attempt"])
    track.agent = str(entry.data["agent"])
    yield from track.end_stage(entry.at)
    track.begin_stage(entry, "WORK" if track.agent else "VERIFY")


def _finished(track: TaskTrace, entry: JournalEntry) -> Spans:
    exit_ = entry.data["exit"]
    told: dict[str, AttributeValue] = {
        name: value
        for name, value in (
            (attribute_names.AGENT, track.agent),
            (attribute_names.EXIT_CODE, exit_.get("code")),
            (attribute_names.ENDED_BY, exit_.get("ended_by")),
            (attribute_names.COST, exit_.get("cost")),
            (attribute_names.TOKENS, exit_.get("tokens")),
        )
        if value is not None
    }
    yield from track.end_stage(entry.at, attributes=told)
    track.begin_stage(entry, "VERIFY")


def _judged(track: TaskTrace, entry: JournalEntry) -> Spans:
    if entry.data["passed"]:
        yield from track.end_stage(entry.at)
        track.begin_stage(entry, "LAND")


def _refused(track: TaskTrace, entry: JournalEntry) -> Spans:
    yield from track.end_stage(entry.at, "the run branch had moved")
    track.begin_stage(entry, "VERIFY")


def _decided(outcome: str, cause: str) -> Callable[[TaskTrace, JournalEntry], Spans]:
    def decided(track: TaskTrace, entry: JournalEntry) -> Spans:
        failure = entry.data["failure"]
        kind = str(failure["kind"])
        told = {
            attribute_names.KIND: kind,
            attribute_names.PATTERN: str(failure.get("pattern", "")),
        }
        words = one_line(f"{kind}: {failure.get('message', '')}", WORDS_MAX)
        yield from track.end_attempt(entry.at, outcome, words, told)
        track.stage = str(entry.data.get("stage", "PREPARE"))
        limited = kind == "RATE_LIMIT" and cause == "BACKOFF"
        yield from track.begin_wait(entry, "LIMIT" if limited else cause)

    return decided


def _answered(track: TaskTrace, entry: JournalEntry) -> Spans:
    choice = entry.data["choice"]
    if choice == "abort":
        return track.end_wait(entry.at)
    if choice in {"done", "waive"}:
        track.stage = "VERIFY"
    return track.begin_wait(entry, "SLOT")


def _given_back(cause: str) -> Callable[[TaskTrace, JournalEntry], Spans]:
    """The attempt goes on with whoever takes it next; one that had not begun is no attempt."""

    def given_back(track: TaskTrace, entry: JournalEntry) -> Spans:
        why = one_line(str(entry.data.get("why", "")), WORDS_MAX)
        yield from track.end_stage(entry.at, why if cause == "LEASE" else "")
        yield from track.begin_wait(entry, cause)

    return given_back


def _landed(track: TaskTrace, entry: JournalEntry) -> Spans:
    commit = str(entry.data.get("commit", ""))
    yield from track.end_attempt(entry.at, "LANDED", attributes={attribute_names.COMMIT: commit})
    yield from track.end_wait(entry.at)
    track.stage = "PREPARE"


def _over(outcome: str) -> Callable[[TaskTrace, JournalEntry], Spans]:
    def over(track: TaskTrace, entry: JournalEntry) -> Spans:
        yield from track.end_attempt(entry.at, outcome)
        yield from track.end_wait(entry.at)
        track.stage = "PREPARE"

    return over


def _again(track: TaskTrace, entry: JournalEntry) -> Spans:
    yield from track.end_attempt(entry.at, "RECALLED")
    track.stage = "PREPARE"
    yield from track.begin_wait(entry, "SLOT")


_ACTS: Mapping[str, Callable[[TaskTrace, JournalEntry], Spans]] = {
    "TASK_SUBMITTED": _submitted,
    "TASK_CLAIMED": _claimed,
    "ATTEMPT_STARTED": _started,
    "AGENT_FINISHED": _finished,
    "CHECK_FINISHED": lambda track, entry: track.record_check(entry),
    "QUALITY_JUDGMENT": _judged,
    "LAND_REFUSED": _refused,
    "TASK_LANDED": _landed,
    "TASKS_PLANNED": _landed,
    "RETRY_DECISION": _decided("RETRY", "BACKOFF"),
    "ESCALATE_DECISION": _decided("ESCALATED", "PERSON"),
    "RERUN_HELD": _decided("HELD", "HELD"),
    "RERUN_GRANTED": _again,
    "ESCALATION_ANSWERED": _answered,
    "LEASE_EXPIRED": _given_back("LEASE"),
    "LEASE_RELEASED": _given_back("SLOT"),
    "TASK_UNLANDED": _again,
    "TASK_RECALLED": _again,
    "TASK_CANCELLED": _over("CANCELLED"),
    "TASK_REPLACED": _over("REPLACED"),
}
