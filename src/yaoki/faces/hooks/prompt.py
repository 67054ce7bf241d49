"""A person's prompt: it may be an answer to yaoki, and it may bring a kept reason along, once."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING

from yaoki.app import App
from yaoki.faces.hooks.messages import FOLLOWS
from yaoki.faces.hooks.responses import Answer, nothing, taken, told
from yaoki.faces.hooks.session_store import Desk
from yaoki.faces.hooks.state import Choice, after_answer, after_injection

if TYPE_CHECKING:
    from yaoki.faces.hooks.call import Call
    from yaoki.faces.hooks.event import Reply

PROMPT = "UserPromptSubmit"


def prompt(call: Call, choice: str, words: str) -> Reply:
    app = App(Path(call.where).absolute())
    if not app.has_store:
        return {}, app.close
    desk = Desk(app, call.key, call.agent)
    answer = _answered(desk, Choice(choice), words) if choice else _due(desk)

    def done() -> None:
        with closing(app):
            if "hookSpecificOutput" in answer:
                desk.record(after_injection)

    return answer, done


def _answered(desk: Desk, choice: Choice, words: str) -> Answer:
    """Words for yaoki do not reach the agent, unless they are for it as well."""
    if not desk.session.answerable(choice):
        return nothing("nobody asked; nothing is changed")
    desk.record(lambda session, phase: after_answer(session, phase, choice, words))
    return _due(desk) if choice is Choice.GO_ON else taken(FOLLOWS[choice.value])


def _due(desk: Desk) -> Answer:
    kept = desk.session.to_inject
    return told(PROMPT, kept.reason) if kept else {}
