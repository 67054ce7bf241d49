"""Which prompt cured which failure, folded from the journal: nothing of it is stored."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import ClassVar

from yaoki.ports import Entry

# What an attempt came to, after its prompt was sent.
ENDS = ("RETRY_DECISION", "ESCALATE_DECISION", "TASK_LANDED")
WORDS = "built-in words"


@dataclass(slots=True)
class Cure:
    """How often one prompt was sent for one pattern, and what came of it.

    `cured`: the next look no longer showed that pattern.  `open`: nobody has looked yet.
    """

    prompt: str
    pattern: str
    sent: int = 0
    cured: int = 0
    failed: int = 0

    @property
    def open(self) -> int:
        return self.sent - self.cured - self.failed

    @property
    def rate(self) -> float | None:
        looked = self.cured + self.failed
        return self.cured / looked if looked else None


@dataclass(slots=True)
class Cures:
    """Folded entry by entry, so that who follows the journal need not begin again."""

    # The only events that say anything here.
    EVENTS: ClassVar[tuple[str, ...]] = ("PROMPT_SENT", *ENDS)
    cures: dict[tuple[str, str], Cure] = field(default_factory=dict)
    waiting: dict[str, Cure] = field(default_factory=dict)

    @property
    def listed(self) -> list[Cure]:
        """The most used first."""
        return sorted(self.cures.values(), key=lambda c: (-c.sent, c.pattern, c.prompt))

    def add(self, entry: Entry) -> None:
        if entry.event == "PROMPT_SENT" and entry.data.get("kind"):
            self._sent(entry)
        elif entry.event in ENDS:
            self._ended(entry)

    def _sent(self, entry: Entry) -> None:
        pattern = entry.data["pattern"] or entry.data["kind"]
        prompt = entry.data["path"] or WORDS
        cure = self.cures.setdefault((prompt, pattern), Cure(prompt, pattern))
        cure.sent += 1
        self.waiting[entry.task_id] = cure

    def _ended(self, entry: Entry) -> None:
        """A failure of ours, or one without a look at the work, says nothing of the prompt."""
        failure = entry.data.get("failure") or {}
        repeats = failure.get("kind") in {"TRANSIENT_ERROR", "RATE_LIMIT", "LOST", "FATAL_ERROR"}
        if failure.get("ours") or repeats:
            return
        cure = self.waiting.pop(entry.task_id, None)
        if cure is None:
            return
        same = cure.pattern in {failure.get("pattern"), failure.get("kind")}
        if entry.event != "TASK_LANDED" and same:
            cure.failed += 1
        else:
            cure.cured += 1


def cures(entries: Iterable[Entry]) -> list[Cure]:
    """The most used first."""
    fold = Cures()
    for entry in entries:
        fold.add(entry)
    return fold.listed


def cure_document(cure: Cure) -> dict[str, object]:
    return {
        "pattern": cure.pattern,
        "prompt": cure.prompt,
        "sent": cure.sent,
        "cured": cure.cured,
        "not_cured": cure.failed,
        "open": cure.open,
        "rate": cure.rate,
    }
