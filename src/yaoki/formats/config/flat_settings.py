"""Every setting by its dotted key, as a file would write it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from enum import StrEnum
from typing import TYPE_CHECKING, Any

from yaoki.core.settings.addresses import mask_service_address, mask_web_address
from yaoki.core.settings.retry import RETRYABLE_KINDS
from yaoki.core.settings.settings import Settings
from yaoki.formats.config.defects import documented_fields
from yaoki.formats.config.quarantine import entry_as_data
from yaoki.formats.config.reader import SECTIONS
from yaoki.formats.config.store import mask_url

if TYPE_CHECKING:
    from yaoki.core.model import Backoff


def flatten_settings(settings: Settings) -> dict[str, Any]:
    """All values, including the defaults."""
    return dict(_pairs(settings))


def _pairs(settings: Settings) -> Iterator[tuple[str, Any]]:
    retry = settings.retry
    yield from _section("retry", retry)
    yield from _backoff("retry.default_backoff", retry.default_backoff)
    yield "retry.retryable_failures", [kind.value for kind in retry.retryable_failures]
    for kind in RETRYABLE_KINDS:
        dotted, rule = f"retry.cause_specific.{kind}", retry.rule_for(kind)
        yield f"{dotted}.max_retries", rule.retries_max
        yield from _backoff(f"{dotted}.backoff", rule.backoff)
        yield f"{dotted}.modification_hint", retry.settings_for(kind).modification_hint
    for name in SECTIONS:
        yield from _section(name, getattr(settings, name))
    yield "setup.commands", [list(words) for words in settings.setup.commands]
    yield from _section("setup", settings.setup)
    yield "quarantine", [entry_as_data(entry) for entry in settings.quarantine]
    yield "agent", list(settings.agent)
    yield "planner", list(settings.planner)
    yield "patterns", list(settings.patterns)
    yield "language", settings.language
    for section in ("agents", "checks"):
        for name, table in getattr(settings, section).items():
            yield f"{section}.{name}", dict(table)


def _section(name: str, section: Any) -> Iterator[tuple[str, Any]]:
    for key in documented_fields(type(section)):
        dotted, value = f"{name}.{key}", getattr(section, key)
        yield dotted, MASKED_KEYS.get(dotted, _to_plain)(value)


def _to_plain(value: Any) -> Any:
    if isinstance(value, tuple):
        return [_to_plain(one) for one in value]
    return value.value if isinstance(value, StrEnum) else value


# Addresses may contain secrets; only their host is shown.
MASKED_KEYS: Mapping[str, Callable[[Any], Any]] = {
    "notify.webhook": mask_web_address,
    "store.url": mask_url,
    "notify.apprise": lambda addresses: [mask_service_address(one) for one in addresses],
}


def _backoff(dotted: str, backoff: Backoff) -> Iterator[tuple[str, Any]]:
    yield f"{dotted}.type", backoff.type
    yield f"{dotted}.initial_delay_ms", backoff.initial.total_seconds() * 1_000
    yield f"{dotted}.max_delay_ms", backoff.maximum.total_seconds() * 1_000
    yield f"{dotted}.multiplier", backoff.multiplier
    yield f"{dotted}.jitter", backoff.jitter
