"""Decides the permission requests of an agent: everything not explicitly allowed is denied."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from yaoki.adapters.agents.structured_output.summary import text_at, value_at
from yaoki.core.lazy_dataclass import dataclass

KINDS = (
    *("read", "edit", "delete", "move", "search", "execute", "think", "fetch"),
    *("switch_mode", "other"),
)
ALL = "*"
# These must name their files, and every file has to be in the worktree.
CHANGING = frozenset({"edit", "delete", "move"})
PLACES_MAX = 1000
# Where adapters put the command of a tool call.
COMMAND_FIELDS = ("command", "cmd", "script")
# Tools of yaoki's own MCP server, as the agents name them; the server knows who calls.
OWN_TOOLS = frozenset(
    form.format(name)
    for name in ("ask", "result", "status", "why")
    for form in ("mcp__yaoki__{}", "mcp_yaoki_{}", "yaoki_{}", "yaoki__{}")
)


@dataclass(frozen=True, slots=True)
class ToolPolicy:
    """`allow` holds kinds of tools, names of tools, or `*`; `worktree` bounds every change.

    `commands` may be executed as they are, without any more words.
    """

    allow: frozenset[str]
    worktree: Path
    commands: frozenset[str] = frozenset()

    def denial_reason(self, call: Mapping[str, Any], tool: str = "") -> str:
        """The reason why this tool call is denied; empty if it is allowed."""
        kind = text_at(call, "kind") or "other"
        names = {*filter(None, (tool, *_tool_names(call)))}
        if kind == "execute" and requested_command(call) in self.commands:
            return ""
        if kind == "other" and names & OWN_TOOLS:
            return ""
        if not self.allow & {ALL, kind, *names}:
            return f"{kind} is not allowed"
        if kind not in CHANGING:
            return ""
        named = list_named_files(call)
        if not named:
            return "it does not name its files"
        return next((reason for path in named if (reason := self.path_denial_reason(path))), "")

    def write_denial_reason(self, path: str) -> str:
        """The reason why the agent may not write this file; empty if it may."""
        if not self.allow & {ALL, "edit"}:
            return "edit is not allowed"
        return self.path_denial_reason(path)

    def path_denial_reason(self, path: str) -> str:
        """The reason why this path is not a file of the worktree; follows links."""
        if "\0" in path or not path:
            return "that is not a path"
        top = self.worktree.resolve()
        try:
            real = (top / path).resolve()
        except (OSError, RuntimeError, ValueError):
            return f"{path[:200]!r} is not a path of a file here"
        if real == top or not real.is_relative_to(top):
            return f"{path[:200]} is outside the worktree"
        inner = real.relative_to(top).parts
        return f"{path[:200]} belongs to git" if ".git" in inner else ""


def list_named_files(call: Mapping[str, Any]) -> tuple[str, ...]:
    """Every file that a tool call names."""
    items = (*_list_at(call, "locations"), *_list_at(call, "content"))
    named = dict.fromkeys(path for item in items if (path := text_at(item, "path")))
    return tuple(named)[:PLACES_MAX]


def describe_target(call: Mapping[str, Any]) -> str:
    """The command that a tool call runs, otherwise the files that it names; empty if neither."""
    return requested_command(call) or ", ".join(list_named_files(call))


def requested_command(call: Mapping[str, Any]) -> str:
    """The command line that an agent wants to execute: its own input, not the title, which the
    model words.
    """
    for name in COMMAND_FIELDS:
        command = value_at(call, "rawInput", name)
        if isinstance(command, list) and command and all(isinstance(w, str) for w in command):
            return shlex.join(command)
        if isinstance(command, str) and command.strip():
            return command.strip()
    return ""


def _list_at(call: Mapping[str, Any], key: str) -> Iterable[Any]:
    value = value_at(call, key)
    return value if isinstance(value, list) else ()


def _tool_names(call: Mapping[str, Any]) -> Iterable[str]:
    """The name of the tool, if the adapter reports it: `_meta.claudeCode.toolName`."""
    meta = value_at(call, "_meta")
    adapters = meta.values() if isinstance(meta, dict) else ()
    return tuple(name for adapter in adapters if (name := text_at(adapter, "toolName")))


def choose_outcome(options: Sequence[Any], *, allowed: bool) -> dict[str, Any]:
    """Selects among the options of the agent: allows once, never permanently; otherwise cancels."""
    kinds = ("allow_once",) if allowed else ("reject_once", "reject_always")
    for kind in kinds:
        for option in options:
            if text_at(option, "kind") == kind and (chosen := text_at(option, "optionId")):
                return {"outcome": "selected", "optionId": chosen}
    return {"outcome": "cancelled"}
