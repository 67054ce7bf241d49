"""A person's prompt: it may answer yaoki, and it may carry a pending reason to the agent, once."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING

from yaoki.app.build import App
from yaoki.faces.hooks.messages import CHOICE_CONSEQUENCES
from yaoki.faces.hooks.responses import HookResponse, add_context, allow, consume_prompt
from yaoki.faces.hooks.session_store import SessionStore
from yaoki.faces.hooks.state import SessionChoice, after_answer, after_injection

if TYPE_CHECKING:
    from yaoki.faces.hooks.call import HookCall, HookReply

PROMPT_EVENT = "UserPromptSubmit"


def respond_to_prompt(call: HookCall, choice: str, words: str) -> HookReply:
    app = App(Path(call.folder).absolute())
    if not app.has_store:
        return {}, app.close
    session_store = SessionStore(app, call.session_key, call.agent)
    answer = (
        _record_answer(session_store, SessionChoice(choice), words)
        if choice
        else _pending_answer(session_store)
    )

    def done() -> None:
        with closing(app):
            if "hookSpecificOutput" in answer:
                session_store.record(after_injection)

    return answer, done


def _record_answer(session_store: SessionStore, choice: SessionChoice, words: str) -> HookResponse:
    """An answer to yaoki does not reach the agent, unless it has words for the agent too."""
    if not session_store.session.can_answer(choice):
        return allow("there is no open question; nothing was changed")
    session_store.record(lambda session, phase: after_answer(session, phase, choice, words))
    return (
        _pending_answer(session_store)
        if choice is SessionChoice.GO_ON
        else consume_prompt(CHOICE_CONSEQUENCES[choice.value])
    )


def _pending_answer(session_store: SessionStore) -> HookResponse:
    reason = session_store.session.reason_to_inject
    return add_context(PROMPT_EVENT, reason.reason) if reason else {}
