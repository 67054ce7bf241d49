"""The text about a failure for the next prompt; with `learn: choose`, one of several templates."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from yaoki.core.decide.cures import pattern_of
from yaoki.core.decide.thompson import draw_arm
from yaoki.core.machine.events import PromptSent
from yaoki.core.model import Failure, FailureKind, Task
from yaoki.core.model.treatment import ArmDraw, LearningMode, TreatmentOutcome
from yaoki.ports import PromptText, PromptWriter

LoadOutcomes = Callable[[str], Sequence[TreatmentOutcome]]


class FailureText:
    """Writes the text of one prompt, and remembers which templates were used."""

    def __init__(self, task: Task, writer: PromptWriter, load_outcomes: LoadOutcomes) -> None:
        self._task, self._writer, self._load_outcomes = task, writer, load_outcomes
        self._first: PromptText | None = None
        self._draw: ArmDraw | None = None

    def write(self, failure: Failure, hints: Mapping[FailureKind, str]) -> str:
        """Draw a template only for the first of several failed checks, the one that is counted."""
        if self._first is not None:
            return self._writer.write(failure, hints).text
        self._draw = self._draw_template(failure)
        chosen = self._draw.chosen if self._draw else ""
        self._first = self._writer.write(failure, hints, chosen)
        return self._first.text

    def _draw_template(self, failure: Failure) -> ArmDraw | None:
        task = self._task
        if task.spec.policy.learn is not LearningMode.CHOOSE or task.feedback is None:
            return None
        labels = self._writer.fitting_templates(failure)
        if len(labels) < 2:
            return None
        pattern = pattern_of(task.feedback)
        seed = f"{task.run_id}/{task.id}/{task.attempt}/template"
        outcomes = self._load_outcomes(pattern)
        return draw_arm(labels, outcomes, lambda treatment: treatment.prompt, pattern, seed)

    def sent(self) -> PromptSent:
        """The part of the prompt that the journal records."""
        feedback, text = self._task.feedback, self._first
        return PromptSent(
            kind=feedback.kind.value if feedback else "",
            pattern=feedback.pattern if feedback else "",
            path=text.path if text else "",
            steps=tuple(text.steps) if text else (),
            fault=text.fault if text else "",
            draw=self._draw,
        )
