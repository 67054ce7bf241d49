"""The rules of a playbook: phases, boxes, and what proves them."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from yaoki.core.graph import find_cycle
from yaoki.core.lazy_pattern import lazy_compile
from yaoki.core.settings.override import retries_defect
from yaoki.core.settings.settings import Settings
from yaoki.formats.plan.defects import Defects, KeyPath
from yaoki.formats.playbook.model import (
    ASPECTS,
    P_FINAL,
    PlaybookModel,
    PlaybookPhaseModel,
    StatedModel,
    SubtaskModel,
)
from yaoki.formats.playbook.order import known_needs

# The longest condition that a judge gets.
SENTENCE_BYTES_MAX = 4_000
# The longest prose that goes into a prompt.
PROSE_BYTES_MAX = 16 << 10
DONE_WHEN_MAX = 200
# Short enough to be a valid name with an aspect appended.
ID = lazy_compile(r"[A-Za-z][A-Za-z0-9_.-]{0,47}")
_FORM = "1 to 48 ASCII letters, digits, '_', '.' or '-', and begins with a letter"


def judge_playbook(playbook: PlaybookModel, settings: Settings, defects: Defects) -> None:
    """Add every defect of the playbook that does not depend on its agents."""
    _goal(playbook, defects)
    if not playbook.phases:
        defects.add_missing((), "there are no phases: ## phases, ### p1: title", "phases")
    _judge_size(("context",), playbook.context, defects)
    _judge_size(("meta", "user_prompt_original"), playbook.meta.user_prompt_original, defects)
    PhaseRules(playbook, settings, defects).judge()
    for n, task in enumerate(playbook.final_tasks):
        if not task.done:
            _final(("final_tasks", n), task, defects)


def _goal(playbook: PlaybookModel, defects: Defects) -> None:
    goal = playbook.goal
    if not playbook.is_given("goal"):
        defects.add_missing((), "there is no ## goal with summary and done_when", "goal")
        return
    if not goal.summary.strip():
        reason = "summary is missing: say what the playbook is for"
        defects.add_missing(("goal",), reason, "summary")
    if not goal.done_when:
        reason = "done_when is missing: say when the goal is reached"
        defects.add_missing(("goal",), reason, "done_when")
    if len(goal.done_when) > DONE_WHEN_MAX:
        reason = f"{len(goal.done_when)} sentences are over the limit of {DONE_WHEN_MAX}"
        defects.add(("goal", "done_when"), reason)
    for n, one in enumerate(goal.done_when):
        _judge_condition(("goal", "done_when", n), one, defects)


def _judge_size(path: KeyPath, text: str, defects: Defects) -> None:
    if (size := len(text.encode())) > PROSE_BYTES_MAX:
        defects.add(path, _over(size, PROSE_BYTES_MAX))


def _over(size: int, most: int) -> str:
    return f"{size} bytes of text are over the limit of {most}"


def _judge_condition(path: KeyPath, one: StatedModel, defects: Defects) -> None:
    size = max(len(one.says.encode()), len(one.command.encode()))
    if not (one.says.strip(" `") or one.command.strip(" `")):
        defects.add(path, "is empty")
    elif size > SENTENCE_BYTES_MAX:
        defects.add(path, _over(size, SENTENCE_BYTES_MAX))


def _box(path: KeyPath, task: SubtaskModel, defects: Defects) -> None:
    _judge_size(path, f"{task.prose}{task.note}", defects)
    if not ID.fullmatch(task.id):
        defects.add_misshapen((*path, "id"), f"{task.id[:80]!r} is not an id; an id has {_FORM}")
    if not task.says.strip():
        defects.add(path, "has no text: write what must hold after the id")
    elif (size := len(task.says.encode())) > SENTENCE_BYTES_MAX:
        defects.add(path, _over(size, SENTENCE_BYTES_MAX))


def _judge_work(path: KeyPath, task: SubtaskModel, defects: Defects) -> None:
    """A box needs an executor and all three validations."""
    if not task.executor.strip():
        defects.add_missing(path, "executor is missing: name an agent", "executor")
    at = (*path, "validations")
    if not task.is_given("validations"):
        reason = f"validations are missing: {', '.join(ASPECTS)}"
        defects.add_missing(path, reason, "validations")
        return
    for aspect in ASPECTS:
        if task.validations.is_given(aspect):
            _judge_condition((*at, aspect), getattr(task.validations, aspect), defects)
        else:
            defects.add_missing(at, f"{aspect} is missing", aspect)


def _final(path: KeyPath, task: SubtaskModel, defects: Defects) -> None:
    """A final task is a command, or work like any other box."""
    _box(path, task, defects)
    if not task.is_given("command"):
        if task.is_given("executor") or task.is_given("validations"):
            _judge_work(path, task, defects)
        else:
            reason = "has no command; give it one, or executor and validations"
            defects.add_missing(path, reason, "command", "executor", "validations")
        return
    _judge_condition((*path, "command"), StatedModel(command=task.command), defects)
    for key in ("executor", "validations", "test_command", "depends_on"):
        if task.is_given(key):
            defects.add((*path, key), f"{key} has no effect together with command")


class PhaseRules:
    """The phases of a playbook, judged in the order of the file."""

    def __init__(self, playbook: PlaybookModel, settings: Settings, defects: Defects) -> None:
        self._phases = playbook.phases
        self._total = settings.retry.max_total_attempts
        self._defects = defects
        boxes = [*(box for phase in self._phases for box in phase.subtasks), *playbook.final_tasks]
        self._ids = {phase.id for phase in self._phases if phase.id}
        self._known = self._ids | {box.id for box in boxes}
        self._ids_are_valid = all(ID.fullmatch(phase.id) for phase in self._phases)

    def judge(self) -> None:
        earlier: set[str] = set()
        for n, phase in enumerate(self._phases):
            self._phase(("phases", n), phase, earlier)
            earlier.add(phase.id)
        self._circle()

    def _phase(self, path: KeyPath, phase: PlaybookPhaseModel, earlier: Collection[str]) -> None:
        defects = self._defects
        if not ID.fullmatch(phase.id):
            reason = f"{phase.id[:80]!r} is not the id of a phase; write ### p1: title"
            defects.add_misshapen((*path, "id"), reason)
        elif phase.id in earlier:
            defects.add((*path, "id"), f"phase {phase.id!r} appears a second time")
        _judge_size(path, f"{phase.prose}{phase.goal}{phase.title}", defects)
        if not phase.subtasks:
            defects.add(path, f"phase {phase.id!r} has no subtasks")
        if phase.is_given("max_iterations"):
            reason = retries_defect(phase.max_iterations - 1, self._total)
            if reason:
                defects.add((*path, "max_iterations"), reason)
        self._needed((*path, "depends_on"), phase.depends_on, "phase", self._ids)
        for n, box in enumerate(phase.subtasks):
            at = (*path, "subtasks", n)
            _box(at, box, defects)
            if phase.is_final or not box.done:
                _judge_work(at, box, defects)
                self._needed((*at, "depends_on"), box.depends_on, "phase or subtask", self._known)

    def _needed(
        self, path: KeyPath, needs: Sequence[str], noun: str, known: Collection[str]
    ) -> None:
        earlier: set[str] = set()
        for n, name in enumerate(needs):
            if name not in known:
                # The need may name the phase whose id is invalid.
                if self._ids_are_valid:
                    self._defects.add_unknown((*path, n), noun, name, known)
            elif name in earlier:
                self._defects.add((*path, n), f"{name!r} is named twice")
            elif name == P_FINAL or name.startswith(f"{P_FINAL}."):
                self._defects.add((*path, n), "p_final runs after everything else")
            earlier.add(name)

    def _circle(self) -> None:
        path = find_cycle(known_needs(self._phases))
        if path is None:
            return
        n = next(n for n, phase in enumerate(self._phases) if phase.id == path[0])
        reason = f"phases need each other in a circle: {' needs '.join(path[:20])}"
        self._defects.add(("phases", n, "depends_on"), reason)
