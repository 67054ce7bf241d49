"""Remedies for the limit that stopped an agent: a command to run, a variable to set."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from yaoki.core.lazy_pattern import lazy_compile
from yaoki.core.model import AgentLimit

if TYPE_CHECKING:
    from yaoki.adapters.agents.preset import AgentPreset

_KEY = lazy_compile(r"_(?:API_KEY|TOKEN)$")
_REMEDIES: Mapping[AgentLimit, str] = {
    AgentLimit.OVERLOADED: "its service cannot be reached: check your network, or --base-url",
    AgentLimit.RATE: "its account is at a limit: try again later",
    AgentLimit.MONEY: "its account has no credit left",
    AgentLimit.NOT_FOUND: "name a model that the account has: --model",
    AgentLimit.FORBIDDEN: "it may not run here unattended; yaoki agents show says what it needs",
}


def describe_remedy(limit: AgentLimit, preset: AgentPreset) -> str:
    """For the person who tries an agent; empty where only the logs help."""
    return describe_login(preset) if limit is AgentLimit.AUTH else _REMEDIES.get(limit, "")


def describe_login(preset: AgentPreset) -> str:
    keys = [name for name in preset.pass_env if _KEY.search(name)]
    either = f", or set {' or '.join(keys)}" if keys else ""
    return f"log in: start {preset.program} once by hand{either}"


def describe_run_remedy(limit: AgentLimit, preset: AgentPreset) -> str:
    """For the person whom a run asks."""
    match limit:
        case AgentLimit.AUTH:
            return describe_login(preset)
        case AgentLimit.MONEY:
            return f"add credit to the account that {preset.program} uses"
        case AgentLimit.FORBIDDEN:
            return f"see what it needs: yaoki agents show {preset.name}"
        case AgentLimit.NOT_FOUND:
            return f"try it: yaoki agents test {preset.name}"
        case _:
            return ""
