"""The agent says that it is done: the checks decide whether it may stop."""

from __future__ import annotations

import signal
from contextlib import ExitStack
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING

from yaoki.app import App
from yaoki.errors import RepositoryUnfit, SettingsInvalid, StoreError, Untrusted
from yaoki.faces.hooks.checks import Look, unproven
from yaoki.faces.hooks.messages import again, question
from yaoki.faces.hooks.responses import Answer, ended, nothing, refused
from yaoki.faces.hooks.session_store import Desk
from yaoki.faces.hooks.state import (
    Choice,
    Phase,
    Session,
    Unproven,
    after_injection,
    after_proven,
    after_unproven,
)
from yaoki.faces.hooks.supported_agents import HOOKED, hooked

if TYPE_CHECKING:
    from yaoki.faces.hooks.call import Call
    from yaoki.faces.hooks.event import Reply

# Ending a tree of processes and writing it down takes its time as well.
SPARE_S, SPARE_SHARE = 20.0, 0.3


def stop(call: Call) -> Reply:
    """The answer, and what is to do once the agent has it."""
    hooked(call.agent)
    with ExitStack() as opened:
        app = _app(call)
        if app is None:
            return {}, _nothing_more
        opened.callback(app.close)
        if words := _untrusted(app):
            return nothing(words), _nothing_more
        desk = Desk(app, call.key, call.agent)
        if not opened.enter_context(desk.alone()):
            return {}, _nothing_more  # another hook of this very stop has the say
        answer = _answer(call, desk)
        stays = opened.pop_all()

    def done() -> None:
        with stays:
            desk.tidy()
            if answer.get("decision") == "block":
                desk.record(after_injection)

    return answer, done


def _app(call: Call) -> App | None:
    """None where a hook that stands in everybody's settings has no business."""
    try:
        app = App(Path(call.where).absolute(), create=True)
    except RepositoryUnfit:
        if call.shy:
            return None
        raise
    try:
        return None if call.shy and app.loaded.file is None else app
    except SettingsInvalid:
        return app  # there are some; whoever reads them says what is wrong


def _untrusted(app: App) -> str:
    """A stranger's clone neither runs anything nor keeps anybody from stopping."""
    try:
        app.trust.refuse()
    except Untrusted as refused:
        return f"this stop was not checked: {refused.sentence}; to have it checked: {refused.hint}"
    except (SettingsInvalid, StoreError) as unread:
        if app.trust.known:
            raise
        return f"this stop was not checked: {unread.sentence}, and nobody has trusted this place"
    return ""


def _answer(call: Call, desk: Desk) -> Answer:
    phase, stance = desk.phase, desk.session.stance
    if stance is Choice.ABORT:
        return nothing("not checked: a person aborted here; next: yaoki hook begin --phase NAME")
    spare = min(SPARE_S, call.limit_s * SPARE_SHARE)
    left_s, _ = signal.getitimer(signal.ITIMER_REAL)
    until = desk.app.clock.now() + timedelta(seconds=left_s - spare)
    seen = unproven(Look(desk.app, phase, until, call.limit_s))
    if seen is None:
        return _proven(call, desk)
    return _unproven(desk, phase, seen)


def _proven(call: Call, desk: Desk) -> Answer:
    before = desk.session
    if not before.proven:
        desk.record(after_proven)
    if before.asked or before.stance is not None:
        return nothing("all checks pass now; nothing is left to answer")
    return nothing(f"all checks pass; {call.defect}") if call.defect else nothing()


def _unproven(desk: Desk, phase: Phase, seen: Unproven) -> Answer:
    most, language = desk.most(phase), desk.app.settings.language
    stood = desk.session.asked
    session = desk.record(lambda now, current: after_unproven(now, current, seen, most))
    if session.stance is not None:
        return nothing(f"still not proven: {seen.summary}")
    if not session.asked:
        return refused(again(session, phase, most, language))
    words = _question(desk, session, phase, most)
    return nothing(f"still not proven, still asked: {words}") if stood else ended(desk.agent, words)


def _question(desk: Desk, session: Session, phase: Phase, most: int) -> str:
    settings, here = desk.app.settings, len(HOOKED[desk.agent].events) > 1
    longest = settings.escalate.max_message_length
    return question(session, phase, most, settings.language, here=here, chars_max=longest)


def _nothing_more() -> None:
    """The store was not even opened."""
