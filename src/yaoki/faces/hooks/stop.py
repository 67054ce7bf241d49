"""The agent wants to stop: the checks decide whether it may."""

from __future__ import annotations

import signal
from contextlib import ExitStack
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING

from yaoki.app.build import App
from yaoki.errors import RepositoryUnusable, SettingsInvalid, StoreError, Untrusted
from yaoki.faces.hooks.checks import StopInspection, inspect_stop
from yaoki.faces.hooks.messages import question_message, retry_message
from yaoki.faces.hooks.responses import HookResponse, allow, end_and_ask, refuse_stop
from yaoki.faces.hooks.session_store import SessionStore
from yaoki.faces.hooks.state import (
    HookSession,
    SessionChoice,
    SessionPhase,
    UnprovenStop,
    after_injection,
    after_proven,
    after_unproven,
)
from yaoki.faces.hooks.supported_agents import HOOKED_AGENTS, find_hooked_agent

if TYPE_CHECKING:
    from yaoki.faces.hooks.call import HookCall, HookReply

# Ending a process tree and recording it takes time as well.
SPARE_S, SPARE_SHARE = 20.0, 0.3


def respond_to_stop(call: HookCall) -> HookReply:
    """The answer, and the work that remains after the agent has it."""
    find_hooked_agent(call.agent)
    with ExitStack() as opened:
        app = _app(call)
        if app is None:
            return {}, _no_work
        opened.callback(app.close)
        if words := _untrusted(app):
            return allow(words), _no_work
        session_store = SessionStore(app, call.session_key, call.agent)
        if not opened.enter_context(session_store.lock_session()):
            return {}, _no_work  # another hook call decides about this stop
        answer = _answer(call, session_store)
        stays = opened.pop_all()

    def done() -> None:
        with stays:
            session_store.delete_old_locks()
            if answer.get("decision") == "block":
                session_store.record(after_injection)

    return answer, done


def _app(call: HookCall) -> App | None:
    """None where a user-wide hook runs in a folder without yaoki."""
    try:
        app = App(Path(call.folder).absolute(), create=True)
    except RepositoryUnusable:
        if call.only_if_configured:
            return None
        raise
    try:
        return None if call.only_if_configured and app.context.loaded_settings.file is None else app
    except SettingsInvalid:
        return app  # settings exist; reading them reports what is wrong


def _untrusted(app: App) -> str:
    """In an untrusted clone no check runs and every stop is allowed."""
    try:
        app.trust.require_trusted()
    except Untrusted as refused:
        return f"this stop was not checked: {refused.sentence}; to allow the checks: {refused.hint}"
    except (SettingsInvalid, StoreError) as unread:
        if app.trust.is_known:
            raise
        return f"this stop was not checked: {unread.sentence}, and this folder is not trusted"
    return ""


def _answer(call: HookCall, session_store: SessionStore) -> HookResponse:
    phase, stance = session_store.phase, session_store.session.person_choice
    if stance is SessionChoice.ABORT:
        return allow("not checked: a person aborted here; next: yaoki hook begin --phase NAME")
    spare = min(SPARE_S, call.limit_s * SPARE_SHARE)
    left_s, _ = signal.getitimer(signal.ITIMER_REAL)
    until = session_store.app.clock.now() + timedelta(seconds=left_s - spare)
    seen = inspect_stop(StopInspection(session_store.app, phase, until, call.limit_s))
    if seen is None:
        return _proven(call, session_store)
    return _unproven(session_store, phase, seen)


def _proven(call: HookCall, session_store: SessionStore) -> HookResponse:
    before = session_store.session
    if not before.proven:
        session_store.record(after_proven)
    if before.person_asked or before.person_choice is not None:
        return allow("all checks pass now; no answer is needed any more")
    return allow(f"all checks pass; {call.defect}") if call.defect else allow()


def _unproven(session_store: SessionStore, phase: SessionPhase, seen: UnprovenStop) -> HookResponse:
    most, language = session_store.tries_max(phase), session_store.app.settings.language
    was_asked = session_store.session.person_asked
    session = session_store.record(lambda now, current: after_unproven(now, current, seen, most))
    if session.person_choice is not None:
        return allow(f"still not proven: {seen.summary}")
    if not session.person_asked:
        return refuse_stop(retry_message(session, phase, most, language))
    words = _question(session_store, session, phase, most)
    return (
        allow(f"still not proven, and the question is still open: {words}")
        if was_asked
        else end_and_ask(session_store.agent, words)
    )


def _question(
    session_store: SessionStore, session: HookSession, phase: SessionPhase, most: int
) -> str:
    settings, here = session_store.app.settings, len(HOOKED_AGENTS[session_store.agent].events) > 1
    longest = settings.escalate.max_message_length
    return question_message(session, phase, most, settings.language, here=here, chars_max=longest)


def _no_work() -> None:
    """No work remains: the store was not opened."""
