"""Treatments: what attempts used against the failure before them, and whether that helped."""

from __future__ import annotations

from enum import StrEnum, unique

from yaoki.core.lazy_dataclass import dataclass


@unique
class ConversationMode(StrEnum):
    """The rule for an agent's conversation after a failure of its work."""

    CONTINUE = "continue"
    FRESH = "fresh"
    AUTO = "auto"


@unique
class AttemptConversation(StrEnum):
    """The conversation of one attempt; unknown in older journals."""

    UNKNOWN = ""
    CONTINUED = "continued"
    FRESH = "fresh"


@unique
class LearningMode(StrEnum):
    """The use of the counts of treatments: they are shown, or they choose the next one."""

    OBSERVE = "observe"
    CHOOSE = "choose"


@dataclass(frozen=True, slots=True)
class Treatment:
    """The agent, prompt and conversation with which an attempt addresses a failure.

    `pattern`: the pattern of the failure, or its kind if it has none.  An empty `prompt` is the
    built-in text.
    """

    pattern: str
    prompt: str
    agent: str
    conversation: AttemptConversation


@dataclass(frozen=True, slots=True)
class TreatmentOutcome:
    """A treatment whose attempt was verified."""

    treatment: Treatment
    cured: bool


@dataclass(frozen=True, slots=True)
class TreatmentCount:
    """The counts of a treatment by result; undecided attempts were never verified."""

    treatment: Treatment
    sent: int
    cured: int
    failed: int

    @property
    def decided(self) -> int:
        return self.cured + self.failed

    @property
    def undecided(self) -> int:
        return self.sent - self.decided


@dataclass(frozen=True, slots=True)
class DrawnArm:
    """One arm of a draw: its discounted counts, and the sample of its posterior."""

    name: str
    cured: float
    failed: float
    sample: float


@dataclass(frozen=True, slots=True)
class ArmDraw:
    """A draw of Thompson sampling: the arm with the largest sample was chosen.

    The samples can be computed again from `seed` and the counts of the arms.
    """

    pattern: str
    seed: str
    chosen: str
    arms: tuple[DrawnArm, ...]
