"""One attempt: a session, new or gone on with, one prompt, and what the agent asks meanwhile.

`end_turn` is told as what it is: the agent's own claim.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import field
from pathlib import Path
from typing import Any

from yaoki import __version__
from yaoki.adapters.agents.acp.event_log import MESSAGE_CHARS_MAX, AcpEventLog, bound_value
from yaoki.adapters.agents.acp.policy import ToolPolicy, choose_outcome
from yaoki.adapters.agents.acp.rpc import (
    INVALID_PARAMS,
    METHOD_NOT_FOUND,
    AgentClosedOutput,
    RpcConnection,
    RpcError,
)
from yaoki.adapters.agents.structured.summary import text_at, value_at
from yaoki.adapters.processes.pipe import SignalReceived
from yaoki.core.lazy_dataclass import dataclass

VERSION = 1
# Real programs start in seconds; the bound is for one that does not speak the protocol at all.
START_S = 120.0
CANCEL_S = 1.5
FAULTS_MAX, DENIED_MAX, TOOLS_MAX = 20, 20, 100_000
UPDATES = ("agent_message_chunk", "tool_call", "plan")


@dataclass(frozen=True, slots=True)
class PromptRequest:
    """What the attempt is about."""

    prompt: str
    session: str = ""
    model: str = ""
    mode: str = ""


@dataclass(slots=True)
class TurnActivity:
    """What came by during the turn."""

    activity_count: int = 0
    last_message: str = ""
    denials: list[str] = field(default_factory=list)
    faults: list[Any] = field(default_factory=list)
    tool_names: dict[str, str] = field(default_factory=dict)


class AcpClient:
    """Carries the attempt to the last line that it tells."""

    def __init__(self, link: RpcConnection, telling: AcpEventLog, policy: ToolPolicy) -> None:
        self._link, self._telling, self._policy = link, telling, policy
        self._seen = TurnActivity()
        self._session = ""
        self._replaying = self._cancelled = False

    def run_turn(self, asked: PromptRequest) -> str:
        """How it ended: `end_turn` and the like, or nothing when there was no such word."""
        at = "initialize"
        try:
            start = self._ask(at, _hello(), START_S)
            self._telling.write_event(
                "start", agent=value_at(start, "agentInfo"), version=_version(start)
            )
            at = "session/load" if asked.session else "session/new"
            found = self._open(at, asked, start)
            at = "settings"
            self._settle(found, asked)
            at = "session/prompt"
            return self._turn(asked.prompt)
        except RpcError as no:
            return self._end("", at=at, error=no.error_object)
        except TimeoutError:
            words = f"it did not answer {at} within {START_S:.0f} s"
            return self._end("", at=at, error={"message": words})
        except AgentClosedOutput:
            return self._end("", at=at, cut=True)
        except SignalReceived:
            return self._end("cancelled", at=at)

    def _ask(self, method: str, params: Mapping[str, Any], seconds: float) -> Mapping[str, Any]:
        return self._link.request(method, params, self._serve, seconds)

    def _open(self, at: str, asked: PromptRequest, start: Mapping[str, Any]) -> Mapping[str, Any]:
        loads = value_at(start, "agentCapabilities", "loadSession") is True
        params: dict[str, Any] = {"cwd": str(self._policy.worktree), "mcpServers": []}
        if asked.session:
            if not loads:
                raise RpcError(METHOD_NOT_FOUND, "the agent cannot load a session")
            params["sessionId"] = asked.session
        # Loading tells the whole conversation again.
        self._replaying = bool(asked.session)
        found = self._ask(at, params, START_S)
        self._replaying = False
        self._session = asked.session or text_at(found, "sessionId")
        if not self._session:
            raise RpcError(INVALID_PARAMS, "the agent named no session")
        self._telling.write_event("session", session_id=self._session, loads=loads)
        return found

    def _settle(self, found: Mapping[str, Any], asked: PromptRequest) -> None:
        if asked.mode:
            held = {"sessionId": self._session, "modeId": asked.mode}
            self._ask("session/set_mode", held, START_S)
        if asked.model:
            self._ask(*_model_call(found, self._session, asked.model), START_S)

    def _turn(self, prompt: str) -> str:
        self._seen = TurnActivity()
        held = {"sessionId": self._session, "prompt": [{"type": "text", "text": prompt}]}
        try:
            done = self._link.request("session/prompt", held, self._serve)
        except SignalReceived:
            done = self._cancel()
        self._note_faults(done)
        return self._end(text_at(done, "stopReason"), at="session/prompt", result=done)

    def _cancel(self) -> Mapping[str, Any]:
        """The agent may end its turn itself; what it still asks for is void."""
        self._cancelled = True
        self._link.ignore_stop_signal()
        self._link.notify("session/cancel", {"sessionId": self._session})
        try:
            return self._link.wait_for_response(self._serve, CANCEL_S)
        except (RpcError, TimeoutError, AgentClosedOutput):
            return {"stopReason": "cancelled"}

    def _end(self, reason: str, **held: Any) -> str:
        seen = self._seen
        if seen.last_message.strip():
            self._telling.write_message(seen.last_message)
        told = {"stop_reason": reason, "acts": seen.activity_count, "denied": seen.denials}
        self._telling.write_event("end", **told, faults=seen.faults, **held)
        clean = reason == "end_turn" and not seen.faults
        return reason if clean else ""

    # -------------------------------------------------------------- what the agent asks

    def _serve(self, method: str, params: Mapping[str, Any]) -> Any:
        match method:
            case "session/update":
                self._updated(value_at(params, "update"))
                return None
            case "session/request_permission":
                return {"outcome": self._permission(params)}
            case "fs/write_text_file":
                return self._write(params)
            case _:
                raise RpcError(METHOD_NOT_FOUND, f"there is no method {method[:80]!r} here")

    def _updated(self, update: Any) -> None:
        if self._replaying or not isinstance(update, dict):
            return
        kind, seen = text_at(update, "sessionUpdate"), self._seen
        seen.activity_count += kind in UPDATES
        if kind == "agent_message_chunk":
            seen.last_message = (seen.last_message + _words(update))[-MESSAGE_CHARS_MAX:]
        elif kind == "tool_call":
            seen.last_message = ""
        if kind == "tool_call" and len(seen.tool_names) < TOOLS_MAX:
            name = text_at(update, "title")
            seen.tool_names[text_at(update, "toolCallId")] = name if name.isidentifier() else ""
        self._note_faults(update)
        if kind != "available_commands_update":
            self._telling.write_update(update)

    def _note_faults(self, held: Any) -> None:
        """Some adapters tell a failed turn as a good end, and the fault only here."""
        for one in _faults(value_at(held, "_meta")):
            if len(self._seen.faults) < FAULTS_MAX:
                self._seen.faults.append(bound_value(one))

    def _permission(self, params: Mapping[str, Any]) -> dict[str, Any]:
        call = value_at(params, "toolCall")
        call = call if isinstance(call, dict) else {}
        tool = self._seen.tool_names.get(text_at(call, "toolCallId"), "")
        why = (
            "the turn was cancelled" if self._cancelled else self._policy.denial_reason(call, tool)
        )
        options = value_at(params, "options")
        chosen = choose_outcome(options if isinstance(options, list) else (), allowed=not why)
        if self._cancelled:
            chosen = {"outcome": "cancelled"}
        kind, title = text_at(call, "kind") or "other", text_at(call, "title")
        told = {"kind": kind, "tool": tool, "title": title, "outcome": chosen}
        self._telling.write_event("permission", **told, allowed=not why, why=why)
        if why and len(self._seen.denials) < DENIED_MAX:
            self._seen.denials.append(f"{kind} ({why}): {title[:500]}")
        return chosen

    def _write(self, params: Mapping[str, Any]) -> None:
        path, content = value_at(params, "path"), value_at(params, "content")
        if not isinstance(path, str) or not isinstance(content, str):
            raise RpcError(INVALID_PARAMS, "path and content are texts")
        why = self._policy.write_denial_reason(path)
        if not why:
            why = write_text(self._policy.worktree / path, content)
        if why:
            self._telling.write_event("refused", path=path, why=why)
            raise RpcError(INVALID_PARAMS, why)


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
    spoken = value_at(start, "protocolVersion")
    if spoken != VERSION:
        raise RpcError(INVALID_PARAMS, f"it speaks version {str(spoken)[:20]}, we speak {VERSION}")
    return VERSION


def _model_call(
    found: Mapping[str, Any], session: str, model: str
) -> tuple[str, Mapping[str, Any]]:
    """As the agent offers it: an option of the session, or the older call of its own."""
    options = value_at(found, "configOptions")
    for option in options if isinstance(options, list) else ():
        if text_at(option, "category") == "model" and (name := text_at(option, "id")):
            held = {"sessionId": session, "configId": name, "value": model}
            return "session/set_config_option", held
    if value_at(found, "models") is not None:
        return "session/set_model", {"sessionId": session, "modelId": model}
    raise RpcError(
        METHOD_NOT_FOUND, f"the agent offers no choice of models, so not {model!r} either"
    )


def _words(update: Any) -> str:
    """Whole: an answer may be longer than what is told of an event."""
    found = value_at(update, "content", "text")
    return found if isinstance(found, str) else ""


def _faults(meta: Any) -> list[Any]:
    """What an adapter keeps under `error`: `_meta.error`, or `_meta.codex.error`."""
    held = [meta, *meta.values()] if isinstance(meta, dict) else []
    return [error for one in held if (error := value_at(one, "error"))]
