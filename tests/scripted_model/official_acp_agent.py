"""An agent on the official ACP package, which validates every frame that it gets.

`python official_acp_agent.py LOG` appends each request as one JSON line to LOG.
"""

from __future__ import annotations

import asyncio
import json
import sys
from pathlib import Path
from typing import Any, cast

import acp
from acp.schema import (
    AgentCapabilities,
    Implementation,
    PermissionOption,
    SessionConfigOptionSelect,
    SessionConfigSelectOption,
    SessionMode,
    SessionModeState,
    ToolCallLocation,
    ToolCallUpdate,
)

SESSION = "ses_official-1"


class OfficialAgent:
    """The methods that our client calls; the package looks them up by name."""

    def __init__(self, log: Path) -> None:
        self._log = log
        self._cancelled = asyncio.Event()
        self._cwd = Path()
        self._client: acp.Client

    def on_connect(self, conn: acp.Client) -> None:
        self._client = conn

    async def initialize(
        self,
        protocol_version: int,
        client_capabilities: Any = None,
        client_info: Any = None,
        **_: Any,
    ) -> acp.InitializeResponse:
        self._record(
            "initialize", name=client_info.name, writes=client_capabilities.fs.write_text_file
        )
        return acp.InitializeResponse(
            protocol_version=protocol_version,
            agent_capabilities=AgentCapabilities(load_session=True),
            agent_info=Implementation(name="official", version="1"),
        )

    async def new_session(self, cwd: str, **_: Any) -> acp.NewSessionResponse:
        self._cwd = Path(cwd)
        self._record("new_session", cwd=cwd)
        return acp.NewSessionResponse(
            session_id=SESSION, config_options=[_models()], modes=_modes()
        )

    async def load_session(self, cwd: str, session_id: str, **_: Any) -> acp.LoadSessionResponse:
        self._cwd = Path(cwd)
        self._record("load_session", session=session_id)
        await self._client.session_update(session_id, acp.update_agent_message_text("replayed"))
        return acp.LoadSessionResponse(config_options=[_models()], modes=_modes())

    async def set_session_mode(self, session_id: str, mode_id: str, **_: Any) -> None:
        self._record("set_session_mode", session=session_id, mode=mode_id)

    async def set_config_option(
        self, config_id: str, session_id: str, value: str | bool, **_: Any
    ) -> acp.SetSessionConfigOptionResponse:
        self._record("set_config_option", session=session_id, option=config_id, value=value)
        return acp.SetSessionConfigOptionResponse(config_options=[_models()])

    async def prompt(self, session_id: str, prompt: list[Any], **_: Any) -> acp.PromptResponse:
        text = prompt[0].text
        self._record("prompt", session=session_id, text=text)
        await self._client.session_update(session_id, acp.update_agent_message_text("Working.\n"))
        if "wait" in text:
            await self._cancelled.wait()
            return acp.PromptResponse(stop_reason="cancelled")
        await self._change_file(session_id)
        await self._client.session_update(session_id, acp.update_agent_message_text("Done.\n"))
        return acp.PromptResponse(stop_reason="end_turn")

    async def cancel(self, session_id: str, **_: Any) -> None:
        self._record("cancel", session=session_id)
        self._cancelled.set()

    async def _change_file(self, session_id: str) -> None:
        path = str(self._cwd / "a.txt")
        call = ToolCallUpdate(
            tool_call_id="c1", kind="edit", title="write", locations=[ToolCallLocation(path=path)]
        )
        started = acp.start_edit_tool_call("c1", "write", path, "x\n")
        await self._client.session_update(session_id, started)
        options = [
            PermissionOption(option_id="once", name="Once", kind="allow_once"),
            PermissionOption(option_id="no", name="No", kind="reject_once"),
        ]
        answer = await self._client.request_permission(session_id, call, options)
        self._record("permission", **answer.outcome.model_dump(mode="json", exclude_none=True))
        await self._client.write_text_file(session_id, path, "x\n")
        try:
            await self._client.write_text_file(session_id, str(self._cwd.parent / "b.txt"), "x\n")
        except acp.RequestError as error:
            self._record("refused", code=error.code)

    def _record(self, what: str, **details: Any) -> None:
        with self._log.open("a") as log:
            log.write(json.dumps({"what": what, **details}) + "\n")


def _models() -> SessionConfigOptionSelect:
    return SessionConfigOptionSelect(
        type="select",
        id="model",
        name="Model",
        category="model",
        current_value="small",
        options=[SessionConfigSelectOption(value=name, name=name) for name in ("small", "big")],
    )


def _modes() -> SessionModeState:
    return SessionModeState(
        current_mode_id="ask", available_modes=[SessionMode(id="code", name="Code")]
    )


if __name__ == "__main__":
    agent = cast(acp.Agent, OfficialAgent(Path(sys.argv[1])))
    asyncio.run(acp.run_agent(agent))
