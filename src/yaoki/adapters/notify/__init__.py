"""Channels: the ways a notice reaches a person.  Each delivers it or says why not."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from datetime import timedelta
from pathlib import Path

from yaoki.adapters.notify.apprise_channel import AppriseChannel
from yaoki.adapters.notify.command import CommandChannel
from yaoki.adapters.notify.desktop import DesktopChannel
from yaoki.adapters.notify.webhook import WebhookChannel
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
    """The channels that the settings ask for, by the names the outbox keeps.

    Commands run in `top`, the repository.  Opening touches nothing: what is missing is told by
    the channel that needs it, when it sends.
    """
    around = dict(os.environ if environ is None else environ)
    timeout = timedelta(seconds=settings.timeout_s)
    make: Mapping[str, Callable[[], Channel]] = {
        "command": lambda: CommandChannel(
            settings.command, settings.pass_env, top, timeout, around
        ),
        "webhook": lambda: WebhookChannel(settings, timeout, around, clock or SystemClock()),
        "desktop": lambda: DesktopChannel(top, timeout, around),
        "apprise": lambda: AppriseChannel(
            settings.apprise, settings.apprise_env, top, timeout, around
        ),
    }
    return {name: make[name]() for name in settings.channels}
