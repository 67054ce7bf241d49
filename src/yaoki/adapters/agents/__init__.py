"""Agent drivers: how each kind of agent is started, and how its output is read."""

from __future__ import annotations

from typing import TYPE_CHECKING

from yaoki.errors import FatalCode, Fault, Unknown

if TYPE_CHECKING:
    from yaoki.ports import AgentDriver

BUILT_IN = ("command", "scripted")
GROUP = "yaoki.agents"


def find_agent(preset: str) -> AgentDriver:
    """The driver of this preset, imported on demand."""
    match preset:
        case "command":
            from yaoki.adapters.agents.command import CommandAgent

            return CommandAgent()
        case "scripted":
            from yaoki.adapters.agents.scripted_agent import ScriptedAgent

            return ScriptedAgent()
        case _:
            return _load_shipped(preset) or _load_installed(preset)


def works_in_sandbox(preset: str) -> bool:
    """True if this preset was tested in the sandbox; false for a plain command."""
    from yaoki.adapters.agents.preset import load_preset, shipped_preset_names

    return preset == "scripted" or (
        preset in shipped_preset_names() and load_preset(preset).sandbox
    )


def takes_tool_server(preset: str) -> bool:
    """True if this preset starts yaoki's MCP server for its agent."""
    from yaoki.adapters.agents.preset_agent import PresetAgent

    agent = find_agent(preset)
    return isinstance(agent, PresetAgent) and agent.preset.takes_tool_server


def preset_names() -> tuple[str, ...]:
    """Every preset that a plan may name: built-in, shipped, installed."""
    from importlib.metadata import entry_points

    from yaoki.adapters.agents.preset import shipped_preset_names

    names = (*BUILT_IN, *shipped_preset_names())
    return (*names, *sorted({entry.name for entry in entry_points(group=GROUP)} - set(names)))


def _load_shipped(preset: str) -> AgentDriver | None:
    from yaoki.adapters.agents.preset import load_preset, shipped_preset_names
    from yaoki.adapters.agents.preset_agent import PresetAgent

    return PresetAgent(load_preset(preset)) if preset in shipped_preset_names() else None


def _load_installed(preset: str) -> AgentDriver:
    """A driver from another package, whose entry point takes no arguments."""
    from importlib.metadata import entry_points

    for entry in entry_points(group=GROUP, name=preset):
        try:
            agent: AgentDriver = entry.load()()
        except Exception as error:  # third-party code may raise anything
            raise Fault(
                f"the agent preset {preset!r} of {entry.value} cannot be loaded: {error}",
                transient=False,
                code=FatalCode.RESOURCE_NOT_FOUND,
                hint="fix or remove the package that provides it",
            ) from error
        return agent
    raise Unknown(f"no agent preset {preset!r}", hint=_suggest(preset))


def _suggest(preset: str) -> str:
    from difflib import get_close_matches

    names = preset_names()
    close = get_close_matches(preset, names, n=1)
    return f"did you mean {close[0]!r}?" if close else f"known presets: {', '.join(names)}"
