"""One attempt: a session, new or gone on with, one prompt, and what the agent asks meanwhile.

`end_turn` is told as what it is: the agent's own claim.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from yaoki import __version__
from yaoki.adapters.agents.acp.event_log import MESSAGE_CHARS_MAX, Telling, bounded
from yaoki.adapters.agents.acp.policy import Policy, answer
from yaoki.adapters.agents.acp.rpc import INVALID, NO_METHOD, Ended, Link, Refused
from yaoki.adapters.agents.structured.summary import part, text
from yaoki.adapters.processes.pipe import Rung

VERSION = 1
# Real programs start in seconds; the bound is for one that does not speak the protocol at all.
START_S = 120.0
CANCEL_S = 1.5
FAULTS_MAX, DENIED_MAX, TOOLS_MAX = 20, 20, 100_000
UPDATES = ("agent_message_chunk", "tool_call", "plan")


@dataclass(frozen=True, slots=True)
class Asked:
    """What the attempt is about."""

    prompt: str
    session: str = ""
    model: str = ""
    mode: str = ""


@dataclass(slots=True)
class Seen:
    """What came by during the turn."""

    acts: int = 0
    words: str = ""
    denied: list[str] = field(default_factory=list)
    faults: list[Any] = field(default_factory=list)
    tools: dict[str, str] = field(default_factory=dict)


class Client:
    """Carries the attempt to the last line that it tells."""

    def __init__(self, link: Link, telling: Telling, policy: Policy) -> None:
        self._link, self._telling, self._policy = link, telling, policy
        self._seen = Seen()
        self._session = ""
        self._replaying = self._cancelled = False

    def carry(self, asked: Asked) -> str:
        """How it ended: `end_turn` and the like, or nothing when there was no such word."""
        at = "initialize"
        try:
            start = self._ask(at, _hello(), START_S)
            self._telling.tell("start", agent=part(start, "agentInfo"), version=_version(start))
            at = "session/load" if asked.session else "session/new"
            found = self._open(at, asked, start)
            at = "settings"
            self._settle(found, asked)
            at = "session/prompt"
            return self._turn(asked.prompt)
        except Refused as no:
            return self._end("", at=at, error=no.told)
        except TimeoutError:
            words = f"it did not answer {at} within {START_S:.0f} s"
            return self._end("", at=at, error={"message": words})
        except Ended:
            return self._end("", at=at, cut=True)
        except Rung:
            return self._end("cancelled", at=at)

    def _ask(self, method: str, params: Mapping[str, Any], seconds: float) -> Mapping[str, Any]:
        return self._link.ask(method, params, self._serve, seconds)

    def _open(self, at: str, asked: Asked, start: Mapping[str, Any]) -> Mapping[str, Any]:
        loads = part(start, "agentCapabilities", "loadSession") is True
        params: dict[str, Any] = {"cwd": str(self._policy.worktree), "mcpServers": []}
        if asked.session:
            if not loads:
                raise Refused(NO_METHOD, "the agent cannot load a session")
            params["sessionId"] = asked.session
        # Loading tells the whole conversation again.
        self._replaying = bool(asked.session)
        found = self._ask(at, params, START_S)
        self._replaying = False
        self._session = asked.session or text(found, "sessionId")
        if not self._session:
            raise Refused(INVALID, "the agent named no session")
        self._telling.tell("session", session_id=self._session, loads=loads)
        return found

    def _settle(self, found: Mapping[str, Any], asked: Asked) -> None:
        if asked.mode:
            held = {"sessionId": self._session, "modeId": asked.mode}
            self._ask("session/set_mode", held, START_S)
        if asked.model:
            self._ask(*_model_call(found, self._session, asked.model), START_S)

    def _turn(self, prompt: str) -> str:
        self._seen = Seen()
        held = {"sessionId": self._session, "prompt": [{"type": "text", "text": prompt}]}
        try:
            done = self._link.ask("session/prompt", held, self._serve)
        except Rung:
            done = self._cancel()
        self._note_faults(done)
        return self._end(text(done, "stopReason"), at="session/prompt", result=done)

    def _cancel(self) -> Mapping[str, Any]:
        """The agent may end its turn itself; what it still asks for is void."""
        self._cancelled = True
        self._link.deafen()
        self._link.notify("session/cancel", {"sessionId": self._session})
        try:
            return self._link.wait(self._serve, CANCEL_S)
        except (Refused, TimeoutError, Ended):
            return {"stopReason": "cancelled"}

    def _end(self, reason: str, **held: Any) -> str:
        seen = self._seen
        if seen.words.strip():
            self._telling.message(seen.words)
        told = {"stop_reason": reason, "acts": seen.acts, "denied": seen.denied}
        self._telling.tell("end", **told, faults=seen.faults, **held)
        clean = reason == "end_turn" and not seen.faults
        return reason if clean else ""

    # -------------------------------------------------------------- what the agent asks

    def _serve(self, method: str, params: Mapping[str, Any]) -> Any:
        match method:
            case "session/update":
                self._updated(part(params, "update"))
                return None
            case "session/request_permission":
                return {"outcome": self._permission(params)}
            case "fs/write_text_file":
                return self._write(params)
            case _:
                raise Refused(NO_METHOD, f"there is no method {method[:80]!r} here")

    def _updated(self, update: Any) -> None:
        if self._replaying or not isinstance(update, dict):
            return
        kind, seen = text(update, "sessionUpdate"), self._seen
        seen.acts += kind in UPDATES
        if kind == "agent_message_chunk":
            seen.words = (seen.words + _words(update))[-MESSAGE_CHARS_MAX:]
        elif kind == "tool_call":
            seen.words = ""
        if kind == "tool_call" and len(seen.tools) < TOOLS_MAX:
            name = text(update, "title")
            seen.tools[text(update, "toolCallId")] = name if name.isidentifier() else ""
        self._note_faults(update)
        if kind != "available_commands_update":
            self._telling.update(update)

    def _note_faults(self, held: Any) -> None:
        """Some adapters tell a failed turn as a good end, and the fault only here."""
        for one in _faults(part(held, "_meta")):
            if len(self._seen.faults) < FAULTS_MAX:
                self._seen.faults.append(bounded(one))

    def _permission(self, params: Mapping[str, Any]) -> dict[str, Any]:
        call = part(params, "toolCall")
        call = call if isinstance(call, dict) else {}
        tool = self._seen.tools.get(text(call, "toolCallId"), "")
        why = "the turn was cancelled" if self._cancelled else self._policy.objection(call, tool)
        options = part(params, "options")
        chosen = answer(options if isinstance(options, list) else (), allowed=not why)
        if self._cancelled:
            chosen = {"outcome": "cancelled"}
        kind, title = text(call, "kind") or "other", text(call, "title")
        told = {"kind": kind, "tool": tool, "title": title, "outcome": chosen}
        self._telling.tell("permission", **told, allowed=not why, why=why)
        if why and len(self._seen.denied) < DENIED_MAX:
            self._seen.denied.append(f"{kind} ({why}): {title[:500]}")
        return chosen

    def _write(self, params: Mapping[str, Any]) -> None:
        path, content = part(params, "path"), part(params, "content")
        if not isinstance(path, str) or not isinstance(content, str):
            raise Refused(INVALID, "path and content are texts")
        why = self._policy.writes(path)
        if not why:
            why = write_text(self._policy.worktree / path, content)
        if why:
            self._telling.tell("refused", path=path, why=why)
            raise Refused(INVALID, why)


def write_text(file: Path, content: str) -> str:
    """Write it as the agent asked; else why that was not possible."""
    try:
        real = file.resolve()
        real.parent.mkdir(parents=True, exist_ok=True)
        flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW | os.O_NONBLOCK
        with os.fdopen(os.open(real, flags, 0o666), "w", encoding="utf-8", newline="") as stream:
            stream.write(content)
    except (OSError, ValueError) as error:
        return f"{str(file)[:200]!r} was not written: {error}"
    return ""


def _hello() -> dict[str, Any]:
    return {
        "protocolVersion": VERSION,
        "clientCapabilities": {
            "fs": {"readTextFile": False, "writeTextFile": True},
            "terminal": False,
        },
        "clientInfo": {"name": "yaoki", "title": "yaoki", "version": __version__},
    }


def _version(start: Mapping[str, Any]) -> int:
    spoken = part(start, "protocolVersion")
    if spoken != VERSION:
        raise Refused(INVALID, f"it speaks version {str(spoken)[:20]}, we speak {VERSION}")
    return VERSION


def _model_call(
    found: Mapping[str, Any], session: str, model: str
) -> tuple[str, Mapping[str, Any]]:
    """As the agent offers it: an option of the session, or the older call of its own."""
    options = part(found, "configOptions")
    for option in options if isinstance(options, list) else ():
        if text(option, "category") == "model" and (name := text(option, "id")):
            held = {"sessionId": session, "configId": name, "value": model}
            return "session/set_config_option", held
    if part(found, "models") is not None:
        return "session/set_model", {"sessionId": session, "modelId": model}
    raise Refused(NO_METHOD, f"the agent offers no choice of models, so not {model!r} either")


def _words(update: Any) -> str:
    """Whole: an answer may be longer than what is told of an event."""
    found = part(update, "content", "text")
    return found if isinstance(found, str) else ""


def _faults(meta: Any) -> list[Any]:
    """What an adapter keeps under `error`: `_meta.error`, or `_meta.codex.error`."""
    held = [meta, *meta.values()] if isinstance(meta, dict) else []
    return [error for one in held if (error := part(one, "error"))]
