"""The commands that a repository would start: those of its settings and of its plans."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from yaoki.core.trust import (
    SETTINGS,
    CommandDigest,
    FileCommands,
    digest_agent,
    digest_check,
    digest_setting,
    digest_setup,
)
from yaoki.errors import PlanInvalid, SettingsInvalid

if TYPE_CHECKING:
    from yaoki.core.model import AgentSpec, CheckSpec, TaskSpec
    from yaoki.core.settings.settings import Settings
    from yaoki.formats.plan import Plan

# Sections with only counts, times, names or display options: none of them starts a program or
# opens the sandbox.  A new section needs trust until it is listed here.
HARMLESS = frozenset(
    (
        *("retry", "recovery", "escalate", "budget", "archive", "limits"),
        *("worker", "resources", "mcp", "ui"),
    )
)
HARMLESS_KEYS = frozenset(
    (
        *("notify.desktop", "notify.events", "notify.timeout_s"),
        *("store.backups", "workspace.ahead_from_files", "setup.inputs", "setup.copy"),
    )
)
SANDBOX_SECTION = "sandbox"


def list_settings_commands(settings: Settings, named_store: str) -> FileCommands:
    """The commands in the settings; `named_store` is the store that the caller named instead."""
    commands = (
        *_agent_and_check_commands(settings),
        *_other_commands(settings, named_store),
        *_quarantine_entries(settings),
    )
    return FileCommands(SETTINGS, tuple(dict.fromkeys(commands)))


def _agent_and_check_commands(settings: Settings) -> list[CommandDigest]:
    """The agents and checks as a plan gets them; defective ones as they were written."""
    if not (settings.agents or settings.checks):
        return []
    from yaoki.formats.plan.settings_parts import read_settings_parts

    try:
        parts = read_settings_parts(settings)
    except (SettingsInvalid, PlanInvalid):
        tables = {"agents": settings.agents, "checks": settings.checks}
        return [
            digest_setting(f"{kind}.{name}", table, table)
            for kind, named in tables.items()
            for name, table in named.items()
        ]
    commands = [*map(digest_agent, parts.agents), *map(digest_check, parts.checks)]
    return [command for command in commands if command is not None]


def _other_commands(settings: Settings, named_store: str) -> list[CommandDigest]:
    """Every other changed setting that is not known to be harmless."""
    from yaoki.formats.config.flat_settings import flatten_settings

    shown, usual = flatten_settings(settings), flatten_settings(type(settings)())
    commands: list[CommandDigest] = []
    for key, value in shown.items():
        section, _, name = key.partition(".")
        if section in HARMLESS or key in HARMLESS_KEYS or not name:
            continue
        if section in ("agents", "checks") or value == usual.get(key):
            continue
        if key == "setup.commands":
            commands += map(digest_setup, settings.setup.commands)
            continue
        if key == "store.url" and named_store:
            continue  # the caller named it
        whole = getattr(getattr(settings, section), name)
        commands.append(digest_setting(key, whole, value, wall=section == SANDBOX_SECTION))
    return commands


def _quarantine_entries(settings: Settings) -> list[CommandDigest]:
    """A quarantine starts nothing, but work may land because of it, so it needs trust as well."""
    from yaoki.formats.config.quarantine import entry_as_data

    values = map(entry_as_data, settings.quarantine)
    return [digest_setting("quarantine", value, value) for value in values]


def list_commands(
    specs: Sequence[TaskSpec],
    checks: Mapping[str, CheckSpec],
    agents: Mapping[str, AgentSpec],
) -> tuple[CommandDigest, ...]:
    """Every command that these tasks would start, once."""
    commands: list[CommandDigest | None] = [
        digest_setup(argv) for spec in specs for argv in spec.setup
    ]
    commands += [digest_agent(agent) for agent in agents.values()]
    commands += [digest_agent(agent) for spec in specs for agent in spec.agents]
    commands += [digest_check(check) for check in checks.values()]
    commands += [digest_check(check) for spec in specs for check in spec.checks]
    return tuple(dict.fromkeys(command for command in commands if command is not None))


def list_plan_contents(file: Path, plan: Plan) -> tuple[FileCommands, ...]:
    """The commands of a committed plan; an uncommitted plan is the caller's own."""
    if not is_committed(file):
        return ()
    commands = list_commands(plan.specs, plan.catalogue.checks, plan.catalogue.agents)
    return (FileCommands(f"plan {file.resolve()}", commands),)


def is_committed(file: Path) -> bool:
    """Does git track it, by its name or by the target of a link?  True in doubt."""
    from yaoki.adapters.git.checkout import is_tracked

    return any(is_tracked(one) for one in {file.absolute(), file.resolve()})
