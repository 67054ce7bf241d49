"""The words of persons about a task, as its next agent reads them."""

from __future__ import annotations

from yaoki.core.model import Reason, Task
from yaoki.core.text import clip_head_and_tail

SAID_CHARS = 6_000
UNDONE = "A person undid the work of attempt {attempt}, which had landed."
NO_WORDS = "(no words)"


def compose_said(task: Task, words: str) -> str:
    """All that was said so far, with these words of an answer; empty if it is the words alone.

    An agent without a conversation knows neither its own question nor earlier answers, and no agent
    knows that its landed work was undone.
    """
    asked = task.work.exit.question if task.work.exit is not None else ""
    was_undone = task.reason is Reason.MANUAL
    answer = f"Question: {asked}\nAnswer: {words or NO_WORDS}" if asked else words
    undone = UNDONE.format(attempt=task.attempt) if was_undone else ""
    before = "" if task.answer_text == answer else task.answer_text
    said = "\n\n".join(filter(None, (before, undone, answer)))
    return "" if said == words else clip_head_and_tail(said, SAID_CHARS // 3, SAID_CHARS * 2 // 3)
