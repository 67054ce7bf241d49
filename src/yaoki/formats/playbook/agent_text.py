"""What agents are told of a playbook besides the sentence of their subtask."""

from __future__ import annotations

from collections.abc import Mapping

from yaoki.core.text import one_line
from yaoki.formats.playbook.model import PlaybookModel, PlaybookPhaseModel, SubtaskModel

DONE_SHOWN = 50
SAID_CHARS_MAX = 200

LABELS: Mapping[str, Mapping[str, str]] = {
    "en": {
        "make": "This must hold when you stop; change nothing that it does not need.",
        "phase": "The phase it belongs to",
        "goal": "What the whole is for",
        "request": "What was asked for at the beginning",
        "context": "Context",
        "done": "Already done before this run; do not do it again",
        "run": "This command is run",
    },
    "ja": {
        "make": "終了時にこれが成り立つようにしてください。必要のない変更はしないでください。",
        "phase": "属するフェーズ",
        "goal": "全体の目的",
        "request": "最初の依頼",
        "context": "背景",
        "done": "この実行の前に完了済み (やり直さないこと)",
        "run": "次のコマンドを実行する",
    },
}


def work_words(
    playbook: PlaybookModel, phase: PlaybookPhaseModel | None, task: SubtaskModel, to: str
) -> str:
    """For the agent that works."""
    say, done = LABELS[to], _done(playbook)
    parts = (
        f"{task.says}\n\n{say['make']}",
        task.prose,
        task.note,
        f"{say['phase']}: {_phase(phase)}" if phase else "",
        f"{say['goal']}: {playbook.goal.summary.strip()}",
        _below(say["request"], playbook.meta.user_prompt_original),
        _below(say["context"], playbook.context),
        _below(say["done"], done),
    )
    return "\n\n".join(part.strip() for part in parts if part.strip())


def proof_words(playbook: PlaybookModel, says: str, to: str) -> str:
    """For whoever judges, or reads what is proven."""
    return f"{says}\n\n{LABELS[to]['goal']}: {playbook.goal.summary.strip()}"


def command_words(task: SubtaskModel, command: str, to: str) -> str:
    return f"{task.says}\n\n{LABELS[to]['run']}: {command}"


def _phase(phase: PlaybookPhaseModel) -> str:
    head = f"{phase.id} ({phase.title})" if phase.title else phase.id
    return "\n\n".join(filter(None, (": ".join(filter(None, (head, phase.goal))), phase.prose)))


def _below(label: str, text: str) -> str:
    return f"{label}:\n\n{text.strip()}" if text.strip() else ""


def _done(playbook: PlaybookModel) -> str:
    """The last ticked boxes; those of p_final are proofs, which are made anew."""
    boxes = [box for phase in playbook.phases if not phase.is_final for box in phase.subtasks]
    done = [box for box in (*boxes, *playbook.final_tasks) if box.done]
    more = [f"- (+ {len(done) - DONE_SHOWN})"] if len(done) > DONE_SHOWN else []
    lines = [f"- {box.id}: {one_line(box.says, SAID_CHARS_MAX)}" for box in done[-DONE_SHOWN:]]
    return "\n".join([*more, *lines])
