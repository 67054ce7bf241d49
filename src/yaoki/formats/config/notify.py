"""The rules of the notify section that involve more than one key."""

from __future__ import annotations

import re
from collections.abc import Iterator

from yaoki.core.settings.addresses import service_defect, web_defect
from yaoki.core.settings.settings import NotificationSettings
from yaoki.formats.config.defects import SettingsDefects

_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,200}")


def check_notify(notify: NotificationSettings, notes: SettingsDefects) -> None:
    """Add every defect; an address is never repeated, because it may contain a secret."""
    for name, reason in _defects(notify):
        if reason:
            notes.add(f"notify.{name}", reason)


def _defects(notify: NotificationSettings) -> Iterator[tuple[str, str]]:
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
