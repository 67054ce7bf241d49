"""Reads the table of a settings file into `Settings`, and adds every defect."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from datetime import datetime
from itertools import pairwise
from typing import Any

from yaoki.core.lazy_dataclass import replace
from yaoki.core.lazy_pattern import lazy_compile
from yaoki.core.settings.addresses import service_defect, web_defect
from yaoki.core.settings.budget import BudgetSettings
from yaoki.core.settings.settings import (
    ORDERED_TIMES,
    ArchiveSettings,
    EscalationSettings,
    LimitSettings,
    McpSettings,
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
from yaoki.core.settings.tags import TAG_FORM, is_tag
from yaoki.core.text import did_you_mean, nearest
from yaoki.core.time_of_day import parse_quiet_hours
from yaoki.formats.config.defects import NEEDED_TO_READ, SettingsDefects, documented_fields
from yaoki.formats.config.quarantine import read_quarantine
from yaoki.formats.config.retry import read_retry
from yaoki.formats.config.setup import read_setup
from yaoki.formats.config.store import check_store

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
    "mcp": McpSettings,
    "ui": UiSettings,
}
_VARIABLE = lazy_compile(r"[A-Za-z_][A-Za-z0-9_]{0,200}")
_DATABASE_PREFIX = lazy_compile(r"[a-z_][a-z0-9_]{0,31}")
KEYS = (
    *("retry", *SECTIONS, "setup", "quarantine"),
    *("agent", "planner", "agents", "checks", "patterns", "language"),
)


def read_settings(
    raw: Mapping[str, Any], notes: SettingsDefects, now: datetime | None = None
) -> Settings:
    """`now` limits how far ahead a quarantine may expire."""
    values: dict[str, Any] = {}
    for name, value in raw.items():
        if name in SECTIONS:
            values[name] = notes.read_section(SECTIONS[name], value, name)
        elif name == "retry":
            values[name] = read_retry(value, notes)
        elif name == "setup":
            values[name] = read_setup(value, notes)
        elif name == "quarantine":
            values[name] = read_quarantine(value, notes, now)
        elif name in ("agents", "checks"):
            values[name] = _named_tables(value, name, notes)
        elif name in ("agent", "planner", "patterns"):
            values[name] = notes.read_texts(value, name)
        elif name == "language":
            values.update(notes.read_scalar(documented_fields(Settings)[name], value, name))
        else:
            notes.add_unknown(name, KEYS, {})
            notes.concerns_store |= _may_mean_store(name, value)
    settings = Settings(**values)
    settings = replace(settings, limits=_fitted(settings.limits, notes))
    _chain(settings, notes)
    _order(settings.limits, notes)
    _check_notify(settings.notify, notes)
    check_store(settings.store, notes)
    _check_workers(settings, notes)
    return settings


def _may_mean_store(name: str, value: Any) -> bool:
    """Can an unknown key be meant as the store or the workspace?  True in doubt."""
    meant = nearest(name, KEYS)
    return meant in NEEDED_TO_READ if meant else isinstance(value, str | dict)


def _named_tables(raw: Any, section: str, notes: SettingsDefects) -> dict[str, dict[str, Any]]:
    """Agents or checks; their content is judged together with the plan that uses them."""
    values = {}
    for name, value in notes.read_table(raw, section).items():
        values[name] = notes.read_table(value, f"{section}.{name}")
        notes.given_keys.add(f"{section}.{name}")
    return values


def _chain(settings: Settings, notes: SettingsDefects) -> None:
    for key, chain in (("agent", settings.agent), ("planner", settings.planner)):
        for name in chain:
            if name not in settings.agents:
                near = did_you_mean(name, settings.agents)
                notes.add(key, f"unknown agent {name!r}{near}")


def _fitted(limits: LimitSettings, notes: SettingsDefects) -> LimitSettings:
    """Lower the default times to fit the given ones above them."""
    values: dict[str, Any] = {}
    above = math.inf
    for name in reversed(tuple(ORDERED_TIMES)):
        share, floor = ORDERED_TIMES[name]
        above = values[name] = _fit(getattr(limits, name), above * share, floor, name, notes)
    return replace(limits, **values)


def _fit(value: float, room: float, floor: float, name: str, notes: SettingsDefects) -> float:
    is_given = f"limits.{name}" in notes.given_keys
    return value if is_given else max(min(value, room), min(value, floor))


def _order(limits: LimitSettings, notes: SettingsDefects) -> None:
    """Given times must be in order, with each other and with the defaults."""
    for lower, upper in pairwise(ORDERED_TIMES):
        low, high = getattr(limits, lower), getattr(limits, upper)
        last, floor = upper == "deadline_s", ORDERED_TIMES[lower][1]
        floored = f"limits.{lower}" not in notes.given_keys and low == floor
        if high > low or floored or (last and high == low):
            continue
        word = "not be below" if last else "be above"
        rule = (
            f"{_describe_time(upper, high, notes)} must {word} {_describe_time(lower, low, notes)}"
        )
        notes.add(f"limits.{upper}", f"timeouts are out of order: {rule}")


def _describe_time(name: str, value: float, notes: SettingsDefects) -> str:
    remark = "" if f"limits.{name}" in notes.given_keys else ", not given"
    return f"limits.{name} ({value:g}{remark})"


# ------------------------------------------------------------------ notify


def _check_notify(notify: NotificationSettings, notes: SettingsDefects) -> None:
    """Add every defect; an address is never repeated, because it may contain a secret."""
    for name, reason in _notify_defects(notify):
        if reason:
            notes.add(f"notify.{name}", reason)


def _notify_defects(notify: NotificationSettings) -> Iterator[tuple[str, str]]:
    if notify.webhook:
        yield "webhook", web_defect(notify.webhook, http=notify.webhook_http)
        yield "webhook_secret_env", _variable_defect(notify.webhook_secret_env)
    if notify.apprise_env:
        yield "apprise_env", _variable_defect(notify.apprise_env)
    for number, address in enumerate(notify.apprise, 1):
        reason = service_defect(address)
        yield "apprise", f"number {number} {reason}" if reason else ""


def _variable_defect(name: str) -> str:
    """The value is not repeated either: somebody may have written the secret itself there."""
    return "" if _VARIABLE.fullmatch(name) else "must be the name of a variable"


# ------------------------------------------------------------------ worker, resources


def _check_workers(settings: Settings, notes: SettingsDefects) -> None:
    for tag in settings.worker.tags:
        if not is_tag(tag):
            notes.add("worker.tags", f"{tag[:80]!r} is not a tag; a tag has {TAG_FORM}")
    try:
        parse_quiet_hours(settings.limits.quiet_hours)
    except ValueError as wrong:
        notes.add("limits.quiet_hours", str(wrong))
    try:
        settings.resources.port_ranges  # noqa: B018 - asked for what it raises
    except ValueError as wrong:
        notes.add("resources.ports", str(wrong))
    if not _DATABASE_PREFIX.fullmatch(settings.resources.database_prefix):
        words = "must be 1 to 32 small ASCII letters, digits or '_', and not begin with a digit"
        notes.add("resources.database_prefix", words)
