"""Agents: how each kind is called, and how what it left is read."""

from __future__ import annotations

from typing import TYPE_CHECKING

from yaoki.errors import Fault, Unknown

if TYPE_CHECKING:
    from yaoki.ports import AgentDriver

BUILT_IN = ("command", "scripted")
GROUP = "yaoki.agents"


def find_agent(preset: str) -> AgentDriver:
    """The agent of this preset; each is loaded only when somebody asks for it."""
    match preset:
        case "command":
            from yaoki.adapters.agents.command import CommandAgent

            return CommandAgent()
        case "scripted":
            from yaoki.adapters.agents.scripted import ScriptedAgent

            return ScriptedAgent()
        case _:
            return _described(preset) or _installed(preset)


def works_in_sandbox(preset: str) -> bool:
    """Was an agent of this preset seen to work there?  Of a bare command nobody knows."""
    from yaoki.adapters.agents.preset import load_preset, shipped_preset_names

    return preset == "scripted" or (
        preset in shipped_preset_names() and load_preset(preset).sandbox
    )


def preset_names() -> tuple[str, ...]:
    """Every preset that a plan may name here: built in, described, installed."""
    from importlib.metadata import entry_points

    from yaoki.adapters.agents.preset import shipped_preset_names

    own = (*BUILT_IN, *shipped_preset_names())
    return (*own, *sorted({entry.name for entry in entry_points(group=GROUP)} - set(own)))


def _described(preset: str) -> AgentDriver | None:
    from yaoki.adapters.agents.preset import load_preset, shipped_preset_names
    from yaoki.adapters.agents.preset_agent import PresetAgent

    return PresetAgent(load_preset(preset)) if preset in shipped_preset_names() else None


def _installed(preset: str) -> AgentDriver:
    """An agent of another package: its entry point is called without arguments."""
    from importlib.metadata import entry_points

    for entry in entry_points(group=GROUP, name=preset):
        try:
            agent: AgentDriver = entry.load()()
        except Exception as error:  # other people's code may fail in any way
            raise Fault(
                f"the agent preset {preset!r} of {entry.value} cannot be loaded: {error}",
                transient=False,
                code="RESOURCE_NOT_FOUND",
                hint="mend or remove the package that brings it",
            ) from error
        return agent
    raise Unknown(f"no agent preset {preset!r}", hint=_nearest(preset))


def _nearest(preset: str) -> str:
    from difflib import get_close_matches

    names = preset_names()
    close = get_close_matches(preset, names, n=1)
    return f"did you mean {close[0]!r}?" if close else f"known presets: {', '.join(names)}"
