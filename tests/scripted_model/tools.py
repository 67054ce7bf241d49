"""Turns a neutral call into a call of a tool that the agent declared."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tests.scripted_model.turns import Call

# Names of shell and file tools of the agents; the first declared one is used.
SHELLS = (
    "bash",
    "Bash",
    "exec_command",
    "shell_command",
    "shell",
    "run_shell_command",
    "run_commands",
    "terminal",
)
WRITERS = ("Write", "write", "write_file")
_COMMAND, _PATH = ("command", "cmd", "commands"), ("file_path", "filePath", "filepath", "path")


@dataclass(frozen=True, slots=True)
class Tool:
    """As declared: its name and the schema of its arguments."""

    name: str
    schema: Mapping[str, Any]

    @property
    def properties(self) -> Mapping[str, Any]:
        held = self.schema.get("properties")
        return held if isinstance(held, dict) else {}


def translated(call: Call, tools: Sequence[Tool], where: str) -> tuple[str, dict[str, Any]]:
    """The name and the arguments; a file without a writer is written by the shell.

    `where` is the folder that relative paths of a writer are joined to.
    """
    if call.act == "use":
        values = dict(call.values)
        return _find_tool(values.pop("tool"), tools), values
    if call.act == "write" and (tool := _first(tools, WRITERS)):
        path = f"{where.rstrip('/')}/{call.values['path']}" if where else call.values["path"]
        chosen = {_named(tool, _PATH): path, "content": call.values["content"]}
        return tool.name, _filled(tool, chosen)
    command = call.values.get("command") or _as_shell(call)
    shell = _first(tools, SHELLS)
    if shell is None:
        raise LookupError(f"no shell among {[tool.name for tool in tools]}")
    key = _named(shell, _COMMAND)
    listed = shell.properties.get(key, {}).get("type") == "array"
    words: Any = command
    if listed:
        words = [command] if key == "commands" else ["bash", "-c", command]
    return shell.name, _filled(shell, {key: words})


def _find_tool(name: str, tools: Sequence[Tool]) -> str:
    """Some agents declare the tools of a server only when the model has searched for them."""
    forms = (name, f"mcp__yaoki__{name}", f"mcp__yaoki.{name}", f"yaoki_{name}")
    tool = _first(tools, forms)
    return tool.name if tool else forms[1]


def _first(tools: Sequence[Tool], names: Sequence[str]) -> Tool | None:
    held = {tool.name: tool for tool in tools}
    return next((held[name] for name in names if name in held), None)


def _named(tool: Tool, names: Sequence[str]) -> str:
    return next((name for name in names if name in tool.properties), names[0])


def _as_shell(call: Call) -> str:
    path, content = shlex.quote(call.values["path"]), shlex.quote(call.values["content"])
    return f"printf %s {content} > {path}"


def _filled(tool: Tool, chosen: dict[str, Any]) -> dict[str, Any]:
    """Every required argument has a value of its type."""
    for name in tool.schema.get("required") or ():
        field = tool.properties.get(name, {})
        plain = {"boolean": False, "number": 1, "integer": 1}.get(field.get("type"), "do it")
        chosen.setdefault(name, (field.get("enum") or [plain])[0])
    return chosen
