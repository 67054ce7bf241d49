"""The prompt text of a playbook's tasks, besides the sentence of the subtask itself."""

from __future__ import annotations

from collections.abc import Mapping

from yaoki.core.text import one_line
from yaoki.formats.playbook.model import PlaybookModel, PlaybookPhaseModel, SubtaskModel

DONE_LISTED_MAX = 50
SENTENCE_CHARS_MAX = 200

LABELS: Mapping[str, Mapping[str, str]] = {
    "en": {
        "make": "This must hold when you finish. Do not change anything it does not need.",
        "phase": "Phase",
        "goal": "Overall goal",
        "request": "Original request",
        "context": "Context",
        "done": "Already done before this run; do not do it again",
        "run": "This command will be run",
    },
    "ja": {
        "make": "作業を終えた時点で、この条件が満たされている必要があります。"
        "そのために必要のない変更はしないでください。",
        "phase": "フェーズ",
        "goal": "全体の目標",
        "request": "最初の依頼",
        "context": "背景",
        "done": "このランの開始前に完了済み (やり直さないでください)",
        "run": "実行されるコマンド",
    },
}


def work_words(
    playbook: PlaybookModel, phase: PlaybookPhaseModel | None, task: SubtaskModel, to: str
) -> str:
    """The text for the agent that does the work; `to` is the language."""
    label, done = LABELS[to], _done(playbook)
    parts = (
        f"{task.says}\n\n{label['make']}",
        task.prose,
        task.note,
        f"{label['phase']}: {_phase(phase)}" if phase else "",
        f"{label['goal']}: {playbook.goal.summary.strip()}",
        _below(label["request"], playbook.meta.user_prompt_original),
        _below(label["context"], playbook.context),
        _below(label["done"], done),
    )
    return "\n\n".join(part.strip() for part in parts if part.strip())


def proof_words(playbook: PlaybookModel, sentence: str, to: str) -> str:
    """The text for the judge, and for people who read the task."""
    return f"{sentence}\n\n{LABELS[to]['goal']}: {playbook.goal.summary.strip()}"


def command_words(task: SubtaskModel, command: str, to: str) -> str:
    return f"{task.says}\n\n{LABELS[to]['run']}: {command}"


def _phase(phase: PlaybookPhaseModel) -> str:
    head = f"{phase.id} ({phase.title})" if phase.title else phase.id
    return "\n\n".join(filter(None, (": ".join(filter(None, (head, phase.goal))), phase.prose)))


def _below(label: str, text: str) -> str:
    return f"{label}:\n\n{text.strip()}" if text.strip() else ""


def _done(playbook: PlaybookModel) -> str:
    """The last ticked boxes, without those of p_final, which are always checked again."""
    boxes = [box for phase in playbook.phases if not phase.is_final for box in phase.subtasks]
    done = [box for box in (*boxes, *playbook.final_tasks) if box.done]
    more = [f"- (+ {len(done) - DONE_LISTED_MAX})"] if len(done) > DONE_LISTED_MAX else []
    last = done[-DONE_LISTED_MAX:]
    lines = [f"- {box.id}: {one_line(box.says, SENTENCE_CHARS_MAX)}" for box in last]
    return "\n".join([*more, *lines])
