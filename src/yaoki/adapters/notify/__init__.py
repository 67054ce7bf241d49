"""Notification channels.  Each delivers a notice or raises `NoticeFailed`."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from datetime import timedelta
from pathlib import Path

from yaoki.adapters.system.clock import SystemClock
from yaoki.core.settings.settings import NotificationSettings
from yaoki.ports import Channel, Clock

__all__ = ["open_channels"]


def open_channels(
    settings: NotificationSettings,
    top: Path,
    *,
    environ: Mapping[str, str] | None = None,
    clock: Clock | None = None,
) -> dict[str, Channel]:
    """The channels that the settings enable, by the names that the outbox stores.

    Commands run in `top`, the repository.  Opening a channel has no effect: a missing program or
    variable is reported when the channel sends.
    """
    variables = dict(os.environ if environ is None else environ)
    timeout = timedelta(seconds=settings.timeout_s)

    # Imported here: most runs have no channel, and their modules are slow to import.
    def command() -> Channel:
        from yaoki.adapters.notify.command import CommandChannel

        return CommandChannel(settings.command, settings.pass_env, top, timeout, variables)

    def webhook() -> Channel:
        from yaoki.adapters.notify.webhook import WebhookChannel

        return WebhookChannel(settings, timeout, variables, clock or SystemClock())

    def desktop() -> Channel:
        from yaoki.adapters.notify.desktop import DesktopChannel

        return DesktopChannel(top, timeout, variables)

    def apprise() -> Channel:
        from yaoki.adapters.notify.apprise_channel import AppriseChannel

        return AppriseChannel(settings.apprise, settings.apprise_env, top, timeout, variables)

    factories: Mapping[str, Callable[[], Channel]] = {
        "command": command,
        "webhook": webhook,
        "desktop": desktop,
        "apprise": apprise,
    }
    return {name: factories[name]() for name in settings.channels}
