"""The journal entries of a race in the histories of its task, its candidates and its judge."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Protocol

from yaoki.core.model import Stage
from yaoki.ports import JournalEntry
from yaoki.views.entry_text import describe_entry
from yaoki.views.history.entry_values import read_instant
from yaoki.views.history.races import RaceLog
from yaoki.views.history.timeline import Timeline
from yaoki.views.history.values import AttemptEnd, Removal, WaitCause


class RacedHistory(Protocol):
    """The part of a task's history that a race changes."""

    races: RaceLog
    race_task: str
    removal: Removal | None


def _start_race(history: RacedHistory, timeline: Timeline, entry: JournalEntry) -> None:
    history.races.start(entry)
    timeline.stage = Stage.WORK
    timeline.begin_wait(entry, WaitCause.RACE)


def _settle_candidate(history: RacedHistory, _: Timeline, entry: JournalEntry) -> None:
    history.races.settle(entry)


def _decide_race(history: RacedHistory, timeline: Timeline, entry: JournalEntry) -> None:
    history.races.decide(entry)
    work = entry.data.get("work") or {}
    timeline.change_attempt(base=str(work.get("base", "")), race_head=str(work.get("head", "")))
    if entry.data.get("winner"):
        timeline.stage = Stage.VERIFY
        timeline.begin_wait(entry, WaitCause.SLOT)


def _release_candidate(_: RacedHistory, timeline: Timeline, entry: JournalEntry) -> None:
    due = read_instant(entry.data.get("due_at"))
    cause = WaitCause.RACE if due else WaitCause.SLOT
    timeline.begin_wait(entry, cause, due_at=due)


def _prove_candidate(_: RacedHistory, timeline: Timeline, entry: JournalEntry) -> None:
    timeline.end_attempt(entry, AttemptEnd.PROVEN, describe_entry(entry))
    timeline.begin_wait(entry, WaitCause.RACE)


def _fail_candidate(history: RacedHistory, timeline: Timeline, entry: JournalEntry) -> None:
    words = timeline.fail_attempt(entry, AttemptEnd.FAILED)
    history.removal = Removal(entry.at, entry.event, f"REPLACED: it failed: {words}")


def _retire_candidate(history: RacedHistory, timeline: Timeline, entry: JournalEntry) -> None:
    timeline.end_attempt(entry, AttemptEnd.STOPPED)
    race = f"the race of {history.race_task}"
    words = f"it won {race}" if entry.data.get("won") else f"{race} is over"
    history.removal = Removal(entry.at, entry.event, f"REPLACED: {words}")


def _call_judge(history: RacedHistory, _: Timeline, entry: JournalEntry) -> None:
    history.races.call_judge(entry)


def _settle_judge(history: RacedHistory, _: Timeline, entry: JournalEntry) -> None:
    history.races.settle_judge(entry)


def _end_judge(history: RacedHistory, timeline: Timeline, entry: JournalEntry) -> None:
    if entry.data.get("failure"):
        timeline.fail_attempt(entry, AttemptEnd.FAILED)
    else:
        has_chosen = bool((entry.data.get("judgment") or {}).get("choice"))
        timeline.end_attempt(entry, AttemptEnd.ANSWERED if has_chosen else AttemptEnd.STOPPED)
    words = f"it has judged the race of {history.race_task}"
    history.removal = Removal(entry.at, entry.event, f"REPLACED: {words}")


RACE_ENTRIES: Mapping[str, Callable[[RacedHistory, Timeline, JournalEntry], None]] = {
    "RACE_STARTED": _start_race,
    "CANDIDATE_SETTLED": _settle_candidate,
    "RACE_DECIDED": _decide_race,
    "CANDIDATE_RELEASED": _release_candidate,
    "CANDIDATE_PROVEN": _prove_candidate,
    "CANDIDATE_FAILED": _fail_candidate,
    "CANDIDATE_RETIRED": _retire_candidate,
    "JUDGE_CALLED": _call_judge,
    "JUDGE_SETTLED": _settle_judge,
    "JUDGE_ENDED": _end_judge,
}
