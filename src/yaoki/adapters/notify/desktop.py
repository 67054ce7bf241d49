"""The desktop channel: notify-send, or osascript on macOS.

Part of the text comes from agents, so it must not be read as an option, a script, markup or an
escape sequence.
"""

from __future__ import annotations

import html
import sys
from collections.abc import Mapping
from datetime import timedelta
from pathlib import Path

from yaoki.adapters.notify.message import prepare_notice
from yaoki.adapters.notify.programs import NotifyProgram
from yaoki.core.environment import BASIC_VARIABLES, filter_environment
from yaoki.ports import Notice

SESSION_VARIABLES = (
    "DBUS_SESSION_BUS_ADDRESS",
    "DISPLAY",
    "WAYLAND_DISPLAY",
    "XAUTHORITY",
    "XDG_*",
)
SCRIPT = b"""\
on run argv
    display notification (item 2 of argv) with title (item 1 of argv)
end run
"""
HINTS = {
    "notify-send": "install notify-send (Debian: apt install libnotify-bin) and have a desktop "
    "session, or set notify.desktop = false",
    "osascript": "allow notifications for Script Editor, or set notify.desktop = false",
}


class DesktopChannel:
    """A desktop notification for the user who runs yaoki."""

    def __init__(
        self,
        top: Path,
        timeout: timedelta,
        environ: Mapping[str, str],
        platform: str = sys.platform,
    ) -> None:
        self._top, self._timeout = top, timeout
        self._environ, self._platform = environ, platform

    def send(self, notice: Notice) -> None:
        prepared = prepare_notice(notice, self._environ)
        argv, input_ = (
            _macos_command(prepared) if self._platform == "darwin" else _linux_command(prepared)
        )
        env, hint = (
            filter_environment(self._environ, (*BASIC_VARIABLES, *SESSION_VARIABLES)),
            HINTS[argv[0]],
        )
        program = NotifyProgram(argv[0], argv, self._top, env, self._timeout)
        result = program.run(input_, hint=hint)
        if result.code != 0:
            raise program.make_failure(result, self._environ, hint=hint)


def _linux_command(notice: Notice) -> tuple[tuple[str, ...], bytes]:
    """The desktop reads the body as markup, and notify-send interprets backslashes."""
    body = html.escape(notice.body, quote=False).replace("\\", "\\\\")
    return ("notify-send", "--app-name=yaoki", "--", notice.subject, body), b""


def _macos_command(notice: Notice) -> tuple[tuple[str, ...], bytes]:
    """The script is constant and passed on standard input; everything after `-` is an argument."""
    return ("osascript", "-", notice.subject, notice.body), SCRIPT
