"""Agents: how each kind is called, and how what it left is read."""

from __future__ import annotations

from typing import TYPE_CHECKING

from yaoki.errors import Unknown

if TYPE_CHECKING:
    from yaoki.ports import Agent

PRESETS = ("command", "scripted")


def find_agent(preset: str) -> Agent:
    """The agent of this preset; each is loaded only when somebody asks for it."""
    match preset:
        case "command":
            from yaoki.agents.command import CommandAgent

            return CommandAgent()
        case "scripted":
            from yaoki.agents.scripted import ScriptedAgent

            return ScriptedAgent()
        case _:
            raise Unknown(f"no agent preset {preset!r}", hint=_nearest(preset))


def _nearest(preset: str) -> str:
    from difflib import get_close_matches

    close = get_close_matches(preset, PRESETS, n=1)
    return f"did you mean {close[0]!r}?" if close else f"known presets: {', '.join(PRESETS)}"
