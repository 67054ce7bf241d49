"""Single journal entries as typed values."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import TYPE_CHECKING, Any

from yaoki.core.model import GAMED_CHECK, FindingItem
from yaoki.views.entry_text import failure_subject
from yaoki.views.history.values import (
    AgentRun,
    CheckResult,
    MutantCounts,
    RecordedFailure,
    SentPrompt,
)
from yaoki.views.outcomes import count_known_failures, outcome_words

if TYPE_CHECKING:
    from yaoki.ports import JournalEntry

# The errors of an entry whose fields are missing, or have other types than we write.
DAMAGED_FIELDS = (KeyError, IndexError, TypeError, ValueError, AttributeError)
NO_FAILURE = RecordedFailure("", "", "", "", "", is_ours=False)


def read_failure(entry: JournalEntry) -> RecordedFailure:
    """The failure that a decision names; `NO_FAILURE` for an entry without one."""
    data: Mapping[str, Any] | None = entry.data.get("failure")
    if not data:
        return NO_FAILURE
    return RecordedFailure(
        str(data.get("kind", "")),
        str(data.get("pattern") or ""),
        str(data.get("message", "")),
        failure_subject(data),
        str(data.get("account") or ""),
        bool(data.get("ours")),
        bool(data.get("closure")),
    )


def read_prompt(entry: JournalEntry) -> SentPrompt:
    """The prompt that a PROMPT_SENT reports."""
    keys = ("kind", "pattern", "path", "conversation")
    kind, pattern, path, conversation = (str(entry.data.get(key) or "") for key in keys)
    return SentPrompt(kind, pattern, path, entry.seq, conversation, entry.data.get("draw") or {})


def read_agent_run(entry: JournalEntry) -> AgentRun:
    """The run that an AGENT_FINISHED reports."""
    data: Mapping[str, Any] = entry.data.get("exit") or {}
    signal, code = data.get("signal"), data.get("code")
    died = f"signal {signal}" if signal else f"code {code}" if code else ""
    return AgentRun(
        data.get("seconds", 0.0),
        data.get("cost"),
        data.get("tokens"),
        data.get("session", ""),
        str(data.get("ended_by") or died),
        code,
        data.get("ended_by"),
        signal,
        str(data.get("limit") or ""),
        str(entry.data.get("head") or ""),
        entry.seq,
        entry.data.get("queue_choice") or {},
    )


def read_check_result(entry: JournalEntry) -> CheckResult:
    """The result that a CHECK_FINISHED reports."""
    data = entry.data
    mutants = data.get("mutants")
    has_places = mutants or data["check"] == GAMED_CHECK
    return CheckResult(
        entry.at,
        data["check"],
        data["outcome"],
        outcome_words(data),
        data.get("commit", ""),
        data.get("required", True),
        data.get("exit_code"),
        data.get("seconds", 0.0),
        data.get("message", ""),
        data.get("log", ""),
        data.get("tests"),
        tuple(data.get("known", ())),
        entry.seq,
        tuple(data.get("rerun_seconds", ())),
        data.get("rerun_passes", 0),
        tuple(data.get("fail_to_pass", ())),
        data.get("hidden", ""),
        data.get("key") or {},
        data.get("reused") or {},
        _read_mutants(mutants) if mutants else None,
        tuple(map(_read_item, data.get("items", ()))) if has_places else (),
        tuple(data.get("quarantined", ())),
        tuple(data.get("quarantine_unmatched", ())),
        count_known_failures(data),
    )


def _read_mutants(data: Mapping[str, int]) -> MutantCounts:
    """An older journal has only the first two numbers."""
    more = (data.get(key, 0) for key in ("timed_out", "unjudged", "untried"))
    return MutantCounts(data["killed"], data["survived"], *more)


def _read_item(data: Mapping[str, Any]) -> FindingItem:
    return FindingItem(data["name"], data.get("message", ""), data.get("where", ""))


def read_instant(text: Any) -> datetime | None:
    return datetime.fromisoformat(text) if text else None
