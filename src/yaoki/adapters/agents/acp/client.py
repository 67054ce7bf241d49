"""An attempt over ACP: a new or loaded session, one prompt, and the requests of the agent.

`end_turn` is reported as what it is: a claim of the agent.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import field
from pathlib import Path
from typing import Any

from yaoki import __version__
from yaoki.adapters.agents.acp.event_log import MESSAGE_CHARS_MAX, AcpEventLog, bound_value
from yaoki.adapters.agents.acp.policy import ToolPolicy, choose_outcome, describe_target
from yaoki.adapters.agents.acp.rpc import (
    INVALID_PARAMS,
    METHOD_NOT_FOUND,
    AgentClosedOutput,
    RpcConnection,
    RpcError,
)
from yaoki.adapters.agents.structured_output.summary import number_at, text_at, value_at
from yaoki.adapters.processes.pipe import SignalReceived
from yaoki.core.lazy_dataclass import dataclass

VERSION = 1
# Real agents start in seconds; the limit is for a program that does not speak the protocol.
START_S = 120.0
CANCEL_S = 1.5
FAULTS_MAX, DENIED_MAX, TOOLS_MAX = 20, 20, 100_000
UPDATES = ("agent_message_chunk", "tool_call", "plan")


@dataclass(frozen=True, slots=True)
class PromptRequest:
    """The prompt and the settings of the session; `tool_server` is a command of an MCP server."""

    prompt: str
    session: str = ""
    model: str = ""
    mode: str = ""
    tool_server: tuple[str, ...] = ()


@dataclass(slots=True)
class TurnActivity:
    """The activity of the agent during the turn."""

    activity_count: int = 0
    last_message: str = ""
    denials: list[str] = field(default_factory=list)
    faults: list[Any] = field(default_factory=list)
    # The error after which the agent tries again, until it goes on.
    retry_notice: Any = None
    tool_names: dict[str, str] = field(default_factory=dict)
    tool_targets: dict[str, str] = field(default_factory=dict)
    cost_usd: float | None = None
    has_system_error: bool = False


class AcpClient:
    """Runs the attempt and logs its events."""

    def __init__(
        self, connection: RpcConnection, event_log: AcpEventLog, policy: ToolPolicy
    ) -> None:
        self._connection, self._event_log, self._policy = connection, event_log, policy
        self._activity = TurnActivity()
        self._session = ""
        self._is_replaying = self._is_cancelled = False

    def run_turn(self, request: PromptRequest) -> str:
        """The stop reason of a clean end (`end_turn`); otherwise empty."""
        step = "initialize"
        try:
            agent_info = self._request(step, _initialize_params(), START_S)
            self._event_log.write_event(
                "start", agent=value_at(agent_info, "agentInfo"), version=_check_version(agent_info)
            )
            step = "session/load" if request.session else "session/new"
            session = self._open_session(step, request, agent_info)
            step = "settings"
            self._apply_settings(session, request)
            step = "session/prompt"
            return self._turn(request.prompt)
        except RpcError as error:
            return self._end("", at=step, error=error.error_object)
        except TimeoutError:
            message = f"it did not answer {step} within {START_S:.0f} s"
            return self._end("", at=step, error={"message": message})
        except AgentClosedOutput:
            return self._end("", at=step, cut=True)
        except SignalReceived:
            return self._end("cancelled", at=step)

    def _request(self, method: str, params: Mapping[str, Any], seconds: float) -> Mapping[str, Any]:
        return self._connection.request(method, params, self._serve, seconds)

    def _open_session(
        self, at: str, request: PromptRequest, start: Mapping[str, Any]
    ) -> Mapping[str, Any]:
        can_load = value_at(start, "agentCapabilities", "loadSession") is True
        servers = [_tool_server(request.tool_server)] if request.tool_server else []
        params: dict[str, Any] = {"cwd": str(self._policy.worktree), "mcpServers": servers}
        if request.session:
            if not can_load:
                raise RpcError(METHOD_NOT_FOUND, "the agent cannot load a session")
            params["sessionId"] = request.session
        # Loading replays the whole conversation.
        self._is_replaying = bool(request.session)
        session = self._request(at, params, START_S)
        self._is_replaying = False
        self._session = request.session or text_at(session, "sessionId")
        if not self._session:
            raise RpcError(INVALID_PARAMS, "the agent returned no session id")
        self._event_log.write_event("session", session_id=self._session, loads=can_load)
        return session

    def _apply_settings(self, session: Mapping[str, Any], request: PromptRequest) -> None:
        if request.mode:
            params = {"sessionId": self._session, "modeId": request.mode}
            self._request("session/set_mode", params, START_S)
        if request.model:
            self._request(*_model_call(session, self._session, request.model), START_S)

    def _turn(self, prompt: str) -> str:
        self._activity = TurnActivity()
        params = {"sessionId": self._session, "prompt": [{"type": "text", "text": prompt}]}
        try:
            result = self._connection.request("session/prompt", params, self._serve)
        except SignalReceived:
            result = self._cancel()
        self._note_faults(result)
        if self._activity.has_system_error:
            fault = {"type": "systemError", "message": self._activity.last_message.strip()}
            self._activity.faults.append(bound_value(fault))
        elif self._activity.retry_notice is not None:
            self._activity.faults.append(self._activity.retry_notice)
        return self._end(text_at(result, "stopReason"), at="session/prompt", result=result)

    def _cancel(self) -> Mapping[str, Any]:
        """Lets the agent end its turn; denies its further requests."""
        self._is_cancelled = True
        self._connection.ignore_stop_signal()
        self._connection.notify("session/cancel", {"sessionId": self._session})
        try:
            return self._connection.wait_for_response(self._serve, CANCEL_S)
        except (RpcError, TimeoutError, AgentClosedOutput):
            return {"stopReason": "cancelled"}

    def _end(self, reason: str, **fields: Any) -> str:
        activity = self._activity
        if activity.last_message.strip():
            self._event_log.write_message(activity.last_message)
        summary: dict[str, Any] = {
            "stop_reason": reason,
            "acts": activity.activity_count,
            "denied": activity.denials,
        }
        if activity.cost_usd is not None:
            summary["cost_usd"] = activity.cost_usd
        self._event_log.write_event("end", **summary, faults=activity.faults, **fields)
        is_clean = reason == "end_turn" and not activity.faults
        return reason if is_clean else ""

    # -------------------------------------------------------------- requests of the agent

    def _serve(self, method: str, params: Mapping[str, Any]) -> Any:
        match method:
            case "session/update":
                self._on_update(value_at(params, "update"))
                return None
            case "session/request_permission":
                return {"outcome": self._decide_permission(params)}
            case "fs/write_text_file":
                return self._write_file(params)
            case _:
                raise RpcError(METHOD_NOT_FOUND, f"there is no method {method[:80]!r} here")

    def _on_update(self, update: Any) -> None:
        if self._is_replaying or not isinstance(update, dict):
            return
        kind, activity = text_at(update, "sessionUpdate"), self._activity
        if kind in UPDATES:
            activity.activity_count += 1
            activity.retry_notice = None
        if kind == "agent_message_chunk":
            activity.last_message = (activity.last_message + _chunk_text(update))[
                -MESSAGE_CHARS_MAX:
            ]
        elif kind == "tool_call":
            activity.last_message = ""
        if kind in {"tool_call", "tool_call_update"}:
            self._note_tool_call(update, is_new=kind == "tool_call")
        if kind == "usage_update" and text_at(update, "cost", "currency").upper() in {"", "USD"}:
            activity.cost_usd = number_at(update, "cost", "amount") or activity.cost_usd
        self._note_faults(update)
        self._note_thread_status(value_at(update, "_meta"))
        if kind != "available_commands_update":
            self._event_log.write_update(update)

    def _note_tool_call(self, update: Mapping[str, Any], *, is_new: bool) -> None:
        """Remember what a request for permission may leave out: the tool and its command."""
        activity, call_id = self._activity, text_at(update, "toolCallId")
        if len(activity.tool_names) >= TOOLS_MAX:
            return
        if is_new:
            name = text_at(update, "title")
            activity.tool_names[call_id] = name if name.isidentifier() else ""
        if call_id in activity.tool_names and (target := describe_target(update)):
            activity.tool_targets[call_id] = target

    def _note_faults(self, message: Any) -> None:
        """Collect errors from `_meta`: some adapters report a failed turn as a success and name the
        error only there.
        """
        for error in _meta_errors(value_at(message, "_meta")):
            if value_at(error, "willRetry") is True:
                self._activity.retry_notice = bound_value(error)
            elif len(self._activity.faults) < FAULTS_MAX:
                self._activity.faults.append(bound_value(error))

    def _note_thread_status(self, meta: Any) -> None:
        """Codex reports a failed turn by the status of its thread, and then in words."""
        for container in meta.values() if isinstance(meta, dict) else ():
            status = text_at(container, "threadStatus", "type")
            if status == "systemError":
                self._activity.has_system_error, self._activity.last_message = True, ""
            elif status == "active":
                self._activity.has_system_error = False

    def _decide_permission(self, params: Mapping[str, Any]) -> dict[str, Any]:
        call = value_at(params, "toolCall")
        call = call if isinstance(call, dict) else {}
        tool = self._activity.tool_names.get(text_at(call, "toolCallId"), "")
        denial = (
            "the turn was cancelled"
            if self._is_cancelled
            else self._policy.denial_reason(call, tool)
        )
        options = value_at(params, "options")
        chosen = choose_outcome(options if isinstance(options, list) else (), allowed=not denial)
        if self._is_cancelled:
            chosen = {"outcome": "cancelled"}
        kind, title = text_at(call, "kind") or "other", text_at(call, "title")
        # The model chooses the words of a title; what would be run or changed counts.
        known_target = self._activity.tool_targets.get(text_at(call, "toolCallId"), "")
        target = describe_target(call) or known_target
        event = {"kind": kind, "tool": tool, "title": title, "target": target, "outcome": chosen}
        self._event_log.write_event("permission", **event, allowed=not denial, why=denial)
        if denial and len(self._activity.denials) < DENIED_MAX:
            self._activity.denials.append(f"{kind} ({denial}): {(target or title)[:500]}")
        return chosen

    def _write_file(self, params: Mapping[str, Any]) -> None:
        path, content = value_at(params, "path"), value_at(params, "content")
        if not isinstance(path, str) or not isinstance(content, str):
            raise RpcError(INVALID_PARAMS, "path and content must be strings")
        denial = self._policy.write_denial_reason(path)
        if not denial:
            denial = write_text(self._policy.worktree / path, content)
        if denial:
            self._event_log.write_event("refused", path=path, why=denial)
            raise RpcError(INVALID_PARAMS, denial)


def write_text(file: Path, content: str) -> str:
    """Writes the file; returns why that was not possible, or empty."""
    try:
        target = file.resolve()
        target.parent.mkdir(parents=True, exist_ok=True)
        flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW | os.O_NONBLOCK
        with os.fdopen(os.open(target, flags, 0o666), "w", encoding="utf-8", newline="") as stream:
            stream.write(content)
    except (OSError, ValueError) as error:
        return f"{str(file)[:200]!r} was not written: {error}"
    return ""


def _initialize_params() -> dict[str, Any]:
    return {
        "protocolVersion": VERSION,
        "clientCapabilities": {
            "fs": {"readTextFile": False, "writeTextFile": True},
            "terminal": False,
        },
        "clientInfo": {"name": "yaoki", "title": "yaoki", "version": __version__},
    }


def _tool_server(command: tuple[str, ...]) -> dict[str, Any]:
    """yaoki's MCP server, with the variables that identify the attempt: not every agent passes on
    its own.
    """
    names = sorted(name for name in os.environ if name.startswith("YAOKI_"))
    env = [{"name": name, "value": os.environ[name]} for name in names]
    return {"name": "yaoki", "command": command[0], "args": list(command[1:]), "env": env}


def _check_version(start: Mapping[str, Any]) -> int:
    version = value_at(start, "protocolVersion")
    if version != VERSION:
        words = f"it uses version {str(version)[:20]} of the protocol, yaoki uses {VERSION}"
        raise RpcError(INVALID_PARAMS, words)
    return VERSION


def _model_call(
    session_info: Mapping[str, Any], session: str, model: str
) -> tuple[str, Mapping[str, Any]]:
    """The call that sets the model: an option of the session if the agent offers one, else the
    older method.
    """
    options = value_at(session_info, "configOptions")
    for option in options if isinstance(options, list) else ():
        if text_at(option, "category") == "model" and (name := text_at(option, "id")):
            params = {"sessionId": session, "configId": name, "value": model}
            return "session/set_config_option", params
    if value_at(session_info, "models") is not None:
        return "session/set_model", {"sessionId": session, "modelId": model}
    raise RpcError(
        METHOD_NOT_FOUND, f"the agent offers no choice of models, so {model!r} cannot be set"
    )


def _chunk_text(update: Any) -> str:
    """The text of a chunk, unclipped: an answer may be longer than the limit for events."""
    text = value_at(update, "content", "text")
    return text if isinstance(text, str) else ""


def _meta_errors(meta: Any) -> list[Any]:
    """Errors that an adapter reports in `_meta.error` or `_meta.codex.error`."""
    containers = [meta, *meta.values()] if isinstance(meta, dict) else []
    return [error for container in containers if (error := value_at(container, "error"))]
