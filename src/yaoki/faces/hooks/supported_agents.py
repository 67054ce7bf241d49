"""The agents for which yaoki has a tested stop hook, and why there is none for the others."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from yaoki.core.lazy_dataclass import dataclass
from yaoki.core.text import did_you_mean
from yaoki.errors import Unknown


@dataclass(frozen=True, slots=True)
class HookedAgent:
    """Where an agent's hooks are configured, and how it treats them.

    `variable`: the environment variable with the folder of the person's own settings.  `events`:
    the events for which the hook is installed.  `refusals_max`: the agent ignores further refusals
    after this many in a row; zero for never.  `notes` are for the person who installs the hook.
    """

    name: str
    project_file: str
    user_file: str
    variable: str = ""
    local_file: str = ""
    events: tuple[str, ...] = ("Stop",)
    matcher: bool = False
    timeout_units_per_s: int = 1
    refusals_max: int = 0
    notes: tuple[str, ...] = ()


HOOKED_AGENTS: Mapping[str, HookedAgent] = {
    held.name: held
    for held in (
        HookedAgent(
            "claude-code",
            ".claude/settings.json",
            ".claude/settings.json",
            variable="CLAUDE_CONFIG_DIR",
            local_file=".claude/settings.local.json",
            events=("Stop", "UserPromptSubmit"),
            refusals_max=8,
            notes=("--bare starts a session without hooks",),
        ),
        HookedAgent(
            "codex",
            ".codex/hooks.json",
            ".codex/hooks.json",
            variable="CODEX_HOME",
            notes=("codex silently skips hooks that are not trusted",),
        ),
        HookedAgent(
            "gemini",
            ".gemini/settings.json",
            ".gemini/settings.json",
            events=("AfterAgent",),
            matcher=True,
            timeout_units_per_s=1000,
            notes=("gemini reads hooks of a project only in a trusted folder",),
        ),
        HookedAgent(
            "qwen",
            ".qwen/settings.json",
            ".qwen/settings.json",
            timeout_units_per_s=1000,
            refusals_max=8,
        ),
    )
}
AGENTS_WITHOUT_HOOK: Mapping[str, str] = {
    "opencode": "its plugins are notified of the end of a turn and cannot refuse it",
    "cursor": "its stop hook has another form, which was not tried",
    "copilot": "its hooks were not tried",
    "cline": "its hooks were not tried",
    "aider": "it has no hooks; --auto-test --test-cmd comes nearest",
    "mini-swe-agent": "it has no hooks",
    "pi": "its hooks were not tried",
}


def user_settings_file(agent: HookedAgent, environ: Mapping[str, str]) -> Path:
    """The person's own settings file, for all projects."""
    moved = environ.get(agent.variable, "")
    return Path(moved) / Path(agent.user_file).name if moved else Path.home() / agent.user_file


def find_hooked_agent(name: str) -> HookedAgent:
    """The agent of this name; one without a stop hook is refused with the reason."""
    if name in HOOKED_AGENTS:
        return HOOKED_AGENTS[name]
    if name in AGENTS_WITHOUT_HOOK:
        raise Unknown(
            f"yaoki installs no stop hook for {name}: {AGENTS_WITHOUT_HOOK[name]}",
            hint="yaoki run PLAN",
        )
    near = did_you_mean(name, HOOKED_AGENTS)
    raise Unknown(
        f"there is no hook for {name!r}{near}", hint=f"one of: {', '.join(HOOKED_AGENTS)}"
    )
