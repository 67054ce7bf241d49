"""From a table of a settings file to `Settings`: every defect is noted, nothing unknown is kept."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from itertools import pairwise
from typing import Any

from yaoki.core.nearest import did_you_mean
from yaoki.core.settings.budget import Budget
from yaoki.core.settings.settings import (
    TIMES,
    Archive,
    Escalate,
    Limits,
    Notify,
    Recovery,
    ResourceSettings,
    SandboxSettings,
    Settings,
    StoreSettings,
    UiSettings,
    WorkerSettings,
    WorkspaceSettings,
)
from yaoki.formats.config.defects import Notes, keys_of
from yaoki.formats.config.notify import check_notify
from yaoki.formats.config.retry import retry_of
from yaoki.formats.config.store import check_store
from yaoki.formats.config.workers import check_workers

SECTIONS: Mapping[str, type[Any]] = {
    "recovery": Recovery,
    "escalate": Escalate,
    "notify": Notify,
    "budget": Budget,
    "archive": Archive,
    "limits": Limits,
    "store": StoreSettings,
    "workspace": WorkspaceSettings,
    "worker": WorkerSettings,
    "resources": ResourceSettings,
    "sandbox": SandboxSettings,
    "ui": UiSettings,
}
KEYS = ("retry", *SECTIONS, "agent", "planner", "agents", "checks", "patterns", "language")


def settings_of(raw: Mapping[str, Any], notes: Notes) -> Settings:
    made: dict[str, Any] = {}
    for name, value in raw.items():
        if name in SECTIONS:
            made[name] = notes.section(SECTIONS[name], value, name)
        elif name == "retry":
            made[name] = retry_of(value, notes)
        elif name in ("agents", "checks"):
            made[name] = _named_tables(value, name, notes)
        elif name in ("agent", "planner", "patterns"):
            made[name] = notes.words(value, name)
        elif name == "language":
            made.update(notes.scalar(keys_of(Settings)[name], value, name))
        else:
            notes.unknown(name, KEYS, {})
    settings = Settings(**made)
    settings = replace(settings, limits=_fitted(settings.limits, notes))
    _chain(settings, notes)
    _order(settings.limits, notes)
    check_notify(settings.notify, notes)
    check_store(settings.store, notes)
    check_workers(settings, notes)
    return settings


def _named_tables(raw: Any, section: str, notes: Notes) -> dict[str, dict[str, Any]]:
    """Agents or checks.  What is in them is judged together with the plan that uses them."""
    made = {}
    for name, value in notes.table(raw, section).items():
        made[name] = notes.table(value, f"{section}.{name}")
        notes.given.add(f"{section}.{name}")
    return made


def _chain(settings: Settings, notes: Notes) -> None:
    for key, chain in (("agent", settings.agent), ("planner", settings.planner)):
        for name in chain:
            if name not in settings.agents:
                near = did_you_mean(name, settings.agents)
                notes.add(key, f"unknown agent {name!r}{near}")


def _fitted(limits: Limits, notes: Notes) -> Limits:
    """Times that nobody wrote give way to the ones above them."""
    made: dict[str, Any] = {}
    above = math.inf
    for name in reversed(tuple(TIMES)):
        share, floor = TIMES[name]
        above = made[name] = _fit(getattr(limits, name), above * share, floor, name, notes)
    return replace(limits, **made)


def _fit(value: float, room: float, floor: float, name: str, notes: Notes) -> float:
    given = f"limits.{name}" in notes.given
    return value if given else max(min(value, room), min(value, floor))


def _order(limits: Limits, notes: Notes) -> None:
    """Times that somebody wrote must be in order, with one another and with the defaults."""
    for lower, upper in pairwise(TIMES):
        low, high = getattr(limits, lower), getattr(limits, upper)
        last, floor = upper == "deadline_s", TIMES[lower][1]
        floored = f"limits.{lower}" not in notes.given and low == floor
        if high > low or floored or (last and high == low):
            continue
        word = "not be below" if last else "be above"
        said = f"{_shown(upper, high, notes)} must {word} {_shown(lower, low, notes)}"
        notes.add(f"limits.{upper}", f"timeouts are out of order: {said}")


def _shown(name: str, value: float, notes: Notes) -> str:
    aside = "" if f"limits.{name}" in notes.given else ", not given"
    return f"limits.{name} ({value:g}{aside})"
