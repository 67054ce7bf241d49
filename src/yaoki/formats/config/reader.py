"""Reads the table of a settings file into `Settings`, and adds every defect."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from itertools import pairwise
from typing import Any

from yaoki.core.nearest import did_you_mean
from yaoki.core.settings.budget import BudgetSettings
from yaoki.core.settings.settings import (
    ORDERED_TIMES,
    ArchiveSettings,
    EscalationSettings,
    LimitSettings,
    NotificationSettings,
    RecoverySettings,
    ResourceSettings,
    SandboxSettings,
    Settings,
    StoreSettings,
    UiSettings,
    WorkerSettings,
    WorkspaceSettings,
)
from yaoki.formats.config.defects import SettingsDefects, documented_fields
from yaoki.formats.config.notify import check_notify
from yaoki.formats.config.retry import read_retry
from yaoki.formats.config.store import check_store
from yaoki.formats.config.workers import check_workers

SECTIONS: Mapping[str, type[Any]] = {
    "recovery": RecoverySettings,
    "escalate": EscalationSettings,
    "notify": NotificationSettings,
    "budget": BudgetSettings,
    "archive": ArchiveSettings,
    "limits": LimitSettings,
    "store": StoreSettings,
    "workspace": WorkspaceSettings,
    "worker": WorkerSettings,
    "resources": ResourceSettings,
    "sandbox": SandboxSettings,
    "ui": UiSettings,
}
KEYS = ("retry", *SECTIONS, "agent", "planner", "agents", "checks", "patterns", "language")


def read_settings(raw: Mapping[str, Any], notes: SettingsDefects) -> Settings:
    made: dict[str, Any] = {}
    for name, value in raw.items():
        if name in SECTIONS:
            made[name] = notes.read_section(SECTIONS[name], value, name)
        elif name == "retry":
            made[name] = read_retry(value, notes)
        elif name in ("agents", "checks"):
            made[name] = _named_tables(value, name, notes)
        elif name in ("agent", "planner", "patterns"):
            made[name] = notes.read_texts(value, name)
        elif name == "language":
            made.update(notes.read_scalar(documented_fields(Settings)[name], value, name))
        else:
            notes.add_unknown(name, KEYS, {})
    settings = Settings(**made)
    settings = replace(settings, limits=_fitted(settings.limits, notes))
    _chain(settings, notes)
    _order(settings.limits, notes)
    check_notify(settings.notify, notes)
    check_store(settings.store, notes)
    check_workers(settings, notes)
    return settings


def _named_tables(raw: Any, section: str, notes: SettingsDefects) -> dict[str, dict[str, Any]]:
    """Agents or checks; their content is judged together with the plan that uses them."""
    made = {}
    for name, value in notes.read_table(raw, section).items():
        made[name] = notes.read_table(value, f"{section}.{name}")
        notes.given_keys.add(f"{section}.{name}")
    return made


def _chain(settings: Settings, notes: SettingsDefects) -> None:
    for key, chain in (("agent", settings.agent), ("planner", settings.planner)):
        for name in chain:
            if name not in settings.agents:
                near = did_you_mean(name, settings.agents)
                notes.add(key, f"unknown agent {name!r}{near}")


def _fitted(limits: LimitSettings, notes: SettingsDefects) -> LimitSettings:
    """Lower the default times to fit the given ones above them."""
    made: dict[str, Any] = {}
    above = math.inf
    for name in reversed(tuple(ORDERED_TIMES)):
        share, floor = ORDERED_TIMES[name]
        above = made[name] = _fit(getattr(limits, name), above * share, floor, name, notes)
    return replace(limits, **made)


def _fit(value: float, room: float, floor: float, name: str, notes: SettingsDefects) -> float:
    given = f"limits.{name}" in notes.given_keys
    return value if given else max(min(value, room), min(value, floor))


def _order(limits: LimitSettings, notes: SettingsDefects) -> None:
    """Given times must be in order, with each other and with the defaults."""
    for lower, upper in pairwise(ORDERED_TIMES):
        low, high = getattr(limits, lower), getattr(limits, upper)
        last, floor = upper == "deadline_s", ORDERED_TIMES[lower][1]
        floored = f"limits.{lower}" not in notes.given_keys and low == floor
        if high > low or floored or (last and high == low):
            continue
        word = "not be below" if last else "be above"
        said = f"{_shown(upper, high, notes)} must {word} {_shown(lower, low, notes)}"
        notes.add(f"limits.{upper}", f"timeouts are out of order: {said}")


def _shown(name: str, value: float, notes: SettingsDefects) -> str:
    aside = "" if f"limits.{name}" in notes.given_keys else ", not given"
    return f"limits.{name} ({value:g}{aside})"
