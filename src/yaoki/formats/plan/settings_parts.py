"""The checks and agents of the settings as values, without a plan."""

from __future__ import annotations

from dataclasses import dataclass

from yaoki.core.model import AgentSpec, CheckSpec
from yaoki.core.settings.settings import Settings
from yaoki.formats.plan import check_settings
from yaoki.formats.plan.build import agent_spec, check_spec
from yaoki.formats.plan.defects import Defects
from yaoki.formats.plan.draft import make_draft


@dataclass(frozen=True, slots=True)
class SettingsParts:
    """The checks and agents that any plan of this repository may use by name."""

    checks: tuple[CheckSpec, ...]
    agents: tuple[AgentSpec, ...]


def read_settings_parts(settings: Settings) -> SettingsParts:
    """Raises `SettingsInvalid` when no plan could use one of them."""
    check_settings(settings)
    draft = make_draft({}, settings, Defects(""))
    return SettingsParts(
        tuple(check_spec(name, check) for name, check in draft.checks.items()),
        tuple(agent_spec(name, agent) for name, agent in draft.agents.items()),
    )
