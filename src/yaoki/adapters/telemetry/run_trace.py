"""From journal to spans: what an entry ends becomes one, with the instants that were recorded.

Nothing is sent before it has ended, so a crash tears no span: whoever reads on from the same line
of the journal makes the same ones.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import datetime

from yaoki.adapters.telemetry import attribute_names
from yaoki.adapters.telemetry.spans import Span, Value, span_id, trace_id
from yaoki.adapters.telemetry.task_trace import WORDS_MAX, Since, Track
from yaoki.core.display import one_line
from yaoki.ports import Entry

TRACKS_KEPT = 10_000


Spans = Iterable[Span]


class Tracks:
    """Every task that was met; one that is not known is looked up in its own journal."""

    def __init__(self, journal: Callable[[str, int], Iterable[Entry]]) -> None:
        self._journal = journal
        self._tracks: OrderedDict[str, Track] = OrderedDict()

    def add(self, entry: Entry) -> list[Span]:
        """What this entry ended."""
        if not entry.task_id:
            return list(_of_run(entry))
        act = _ACTS.get(entry.event)
        return list(act(self._track(entry), entry)) if act else []

    def _track(self, entry: Entry) -> Track:
        known = self._tracks.get(entry.task_id)
        if known is None:
            known = Track(entry.run_id, entry.task_id)
            if entry.event != "TASK_SUBMITTED":
                self._recall(known, entry)
            self._tracks[entry.task_id] = known
            if len(self._tracks) > TRACKS_KEPT:
                self._tracks.popitem(last=False)
        self._tracks.move_to_end(entry.task_id)
        return known

    def _recall(self, track: Track, before: Entry) -> None:
        for entry in self._journal(track.task_id, before.seq):
            act = _ACTS.get(entry.event)
            if act is not None:
                list(act(track, entry))


# ------------------------------------------------------------------ of a run


def _of_run(entry: Entry) -> Iterator[Span]:
    """The root ends with the submission, so a trace is whole while its run goes on."""
    run, data = entry.run_id, entry.data
    ids, root = trace_id(run), span_id(run)
    if entry.event == "PLAN_SUBMITTED":
        began = datetime.fromisoformat(data["run"]["created_at"])
        told: dict[str, Value] = {
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
        own = span_id(run, "summary", entry.seq)
        yield Span(ids, own, root, "summary", entry.at, entry.at, told, failed)


# ------------------------------------------------------------------ of a task


def _submitted(track: Track, entry: Entry) -> Spans:
    spec = entry.data["spec"]
    track.name = one_line(str(spec["name"]), WORDS_MAX)
    return track.wait(entry, "NEEDS" if spec.get("needs") else "SLOT")


def _claimed(track: Track, entry: Entry) -> Spans:
    yield from track.end_wait(entry.at)
    yield from track.end_stage(entry.at)
    track.claimed = Since(entry.at, entry.seq, "attempt")
    if track.stage == "PREPARE":
        yield from track.end_attempt(entry.at, "")
    elif track.attempt is None:
        track.attempt, track.continued = track.claimed, True
    track.work(entry, track.stage)


def _started(track: Track, entry: Entry) -> Spans:
    """It began with the claim; only now its number is known."""
    claim = track.claimed or Since(entry.at, entry.seq, "attempt")
    track.attempt, track.continued = claim, False
    track.number = int(entry.data["attempt"])
    track.agent = str(entry.data["agent"])
    yield from track.end_stage(entry.at)
    track.work(entry, "WORK" if track.agent else "VERIFY")


def _finished(track: Track, entry: Entry) -> Spans:
    exit_ = entry.data["exit"]
    told: dict[str, Value] = {
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
    track.work(entry, "VERIFY")


def _judged(track: Track, entry: Entry) -> Spans:
    if entry.data["passed"]:
        yield from track.end_stage(entry.at)
        track.work(entry, "LAND")


def _refused(track: Track, entry: Entry) -> Spans:
    yield from track.end_stage(entry.at, "the run branch had moved")
    track.work(entry, "VERIFY")


def _decided(outcome: str, cause: str) -> Callable[[Track, Entry], Spans]:
    def decided(track: Track, entry: Entry) -> Spans:
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
        yield from track.wait(entry, "LIMIT" if limited else cause)

    return decided


def _answered(track: Track, entry: Entry) -> Spans:
    choice = entry.data["choice"]
    if choice == "abort":
        return track.end_wait(entry.at)
    if choice in {"done", "waive"}:
        track.stage = "VERIFY"
    return track.wait(entry, "SLOT")


def _given_back(cause: str) -> Callable[[Track, Entry], Spans]:
    """The attempt goes on with whoever takes it next; one that had not begun is no attempt."""

    def given_back(track: Track, entry: Entry) -> Spans:
        why = one_line(str(entry.data.get("why", "")), WORDS_MAX)
        yield from track.end_stage(entry.at, why if cause == "LEASE" else "")
        yield from track.wait(entry, cause)

    return given_back


def _landed(track: Track, entry: Entry) -> Spans:
    commit = str(entry.data.get("commit", ""))
    yield from track.end_attempt(entry.at, "LANDED", attributes={attribute_names.COMMIT: commit})
    yield from track.end_wait(entry.at)
    track.stage = "PREPARE"


def _over(outcome: str) -> Callable[[Track, Entry], Spans]:
    def over(track: Track, entry: Entry) -> Spans:
        yield from track.end_attempt(entry.at, outcome)
        yield from track.end_wait(entry.at)
        track.stage = "PREPARE"

    return over


def _again(track: Track, entry: Entry) -> Spans:
    yield from track.end_attempt(entry.at, "RECALLED")
    track.stage = "PREPARE"
    yield from track.wait(entry, "SLOT")


_ACTS: Mapping[str, Callable[[Track, Entry], Spans]] = {
    "TASK_SUBMITTED": _submitted,
    "TASK_CLAIMED": _claimed,
    "ATTEMPT_STARTED": _started,
    "AGENT_FINISHED": _finished,
    "CHECK_FINISHED": lambda track, entry: track.check(entry),
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
