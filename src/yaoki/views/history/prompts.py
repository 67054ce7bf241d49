"""The success of each prompt against each kind of failure, counted from the journal."""

from __future__ import annotations

from collections.abc import Iterable
from typing import ClassVar

from yaoki.core.lazy_dataclass import dataclass, field
from yaoki.core.model import FailureKind
from yaoki.ports import JournalEntry
from yaoki.views.history.entry_values import read_failure, read_prompt
from yaoki.views.history.values import RecordedFailure, SentPrompt

# The end of an attempt after its prompt was sent.
ENDS = ("RETRY_DECISION", "ESCALATE_DECISION", "TASK_LANDED")
# With these kinds of failure nothing was verified.
UNVERIFIED_KINDS = frozenset(
    {
        FailureKind.TRANSIENT_ERROR,
        FailureKind.RATE_LIMIT,
        FailureKind.LOST,
        FailureKind.FATAL_ERROR,
    }
)
BUILT_IN_WORDS = "built-in words"


@dataclass(slots=True)
class PromptSuccess:
    """The number of times that one prompt was sent for one pattern, by result.

    `cured`: the next verification did not show that pattern.  `undecided`: there was none yet.
    """

    prompt: str
    pattern: str
    sent: int = 0
    cured: int = 0
    failed: int = 0

    @property
    def undecided(self) -> int:
        return self.sent - self.cured - self.failed

    @property
    def cure_rate(self) -> float | None:
        decided = self.cured + self.failed
        return self.cured / decided if decided else None


@dataclass(slots=True)
class PromptSuccesses:
    """Folded entry by entry, so that it can follow a growing journal."""

    EVENTS: ClassVar[tuple[str, ...]] = ("PROMPT_SENT", *ENDS)
    by_prompt: dict[tuple[str, str], PromptSuccess] = field(default_factory=dict)
    pending: dict[str, PromptSuccess] = field(default_factory=dict)

    @property
    def most_used_first(self) -> list[PromptSuccess]:
        return sorted(self.by_prompt.values(), key=lambda c: (-c.sent, c.pattern, c.prompt))

    def add(self, entry: JournalEntry) -> None:
        if entry.event == "PROMPT_SENT":
            self._count_prompt(entry.task_id, read_prompt(entry))
        elif entry.event in ENDS:
            self._count_end(entry.task_id, read_failure(entry))

    def _count_prompt(self, task_id: str, sent: SentPrompt) -> None:
        """The first prompt of a task answers no failure."""
        if not sent.kind:
            return
        prompt, pattern = sent.path or BUILT_IN_WORDS, sent.pattern or sent.kind
        success = self.by_prompt.setdefault((prompt, pattern), PromptSuccess(prompt, pattern))
        success.sent += 1
        self.pending[task_id] = success

    def _count_end(self, task_id: str, failure: RecordedFailure) -> None:
        """A fault of yaoki, or a failure before verification, says nothing about the prompt."""
        if failure.is_ours or failure.kind in UNVERIFIED_KINDS:
            return
        success = self.pending.pop(task_id, None)
        if success is None:
            return
        if success.pattern in {failure.pattern, failure.kind}:
            success.failed += 1
        else:
            success.cured += 1


def fold_prompt_successes(entries: Iterable[JournalEntry]) -> list[PromptSuccess]:
    """The most used first."""
    successes = PromptSuccesses()
    for entry in entries:
        successes.add(entry)
    return successes.most_used_first


def prompt_success_document(success: PromptSuccess) -> dict[str, object]:
    return {
        "pattern": success.pattern,
        "prompt": success.prompt,
        "sent": success.sent,
        "cured": success.cured,
        "not_cured": success.failed,
        "open": success.undecided,
        "rate": success.cure_rate,
    }
