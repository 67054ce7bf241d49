"""The checks and agents that the settings bring, as values, without any plan around them."""

from __future__ import annotations

from yaoki.core.lazy_dataclass import dataclass
from yaoki.core.model import AgentSpec, CheckSpec
from yaoki.core.settings.settings import Settings
from yaoki.formats.plan import check_settings
from yaoki.formats.plan.build import agent_spec, check_spec
from yaoki.formats.plan.defects import Defects
from yaoki.formats.plan.draft import make_draft


@dataclass(frozen=True, slots=True)
class SettingsParts:
    """What any plan of this repository may use by name."""

    checks: tuple[CheckSpec, ...]
    agents: tuple[AgentSpec, ...]


def read_settings_parts(settings: Settings) -> SettingsParts:
    """`SettingsInvalid` when one of them is of no use to any plan."""
    check_settings(settings)
    made = make_draft({}, settings, Defects(""))
    return SettingsParts(
        tuple(check_spec(name, check) for name, check in made.checks.items()),
        tuple(agent_spec(name, agent) for name, agent in made.agents.items()),
    )
