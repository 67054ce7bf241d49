"""`yaoki notify test`: test the notification channels."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from yaoki.core.lazy_dataclass import dataclass
from yaoki.errors import NoticeFailed, SettingsInvalid
from yaoki.faces.cli.context import json_option, repo_option
from yaoki.faces.cli.trust_question import require_trust
from yaoki.faces.text.render import (
    align_columns,
    clean_line,
    paint,
    print_document,
    print_line,
    print_next_command,
)
from yaoki.views import SCHEMA

if TYPE_CHECKING:
    from yaoki.app.build import App
    from yaoki.ports import Channel, Notice

UNDELIVERED = 1


@dataclass(frozen=True, slots=True)
class DeliveryResult:
    """The result of the test notice in one channel."""

    name: str
    delivered: bool
    words: str
    next_command: str = ""


@click.group()
def notify() -> None:
    """Test the channels of notices."""


@notify.command("test")
@json_option
@repo_option
def test(as_json: bool, repo: Path) -> int:
    """Send one test notice.

    It goes through every channel; the exit code is 0 if all of them delivered it.
    """
    from yaoki.adapters.notify import open_channels
    from yaoki.app.build import App

    app = App(repo.absolute())
    channels = open_channels(app.settings.notify, app.repository.top)
    if not channels:
        raise SettingsInvalid(
            "no channel for notices is configured",
            hint='add to yaoki.toml: [notify] with desktop = true, or command = ["…"], or '
            'webhook = "https://…"; then: yaoki notify test',
        )
    require_trust(app)
    tried = [_try_channel(name, channel, _notice(app, name)) for name, channel in channels.items()]
    bad = [one for one in tried if not one.delivered]
    _show(tried, as_json=as_json)
    return UNDELIVERED if bad else 0


def _notice(app: App, name: str) -> Notice:
    """Its id is the time: a receiver that drops repetitions must accept every test."""
    from yaoki.ports import Notice

    now = app.clock.now()
    return Notice(
        id=int(now.timestamp() * 1000),
        channel=name,
        at=now,
        run_id="",
        task_id="",
        event="TEST",
        subject="yaoki: a test notice",
        body="If you can read this, notices reach you. Next: yaoki run PLAN",
    )


def _try_channel(name: str, channel: Channel, notice: Notice) -> DeliveryResult:
    try:
        channel.send(notice)
    except NoticeFailed as failed:
        return DeliveryResult(name, False, failed.sentence, failed.hint)
    return DeliveryResult(name, True, "delivered")


def _show(tried: list[DeliveryResult], *, as_json: bool) -> None:
    bad = [one for one in tried if not one.delivered]
    if as_json:
        listed = [
            {
                "name": t.name,
                "delivered": t.delivered,
                "words": t.words,
                "next": t.next_command or None,
            }
            for t in tried
        ]
        print_document({"schema": SCHEMA, "ok": not bad, "channels": listed})
        return
    rows = [
        ("ok " if one.delivered else "BAD", one.name, clean_line(one.words, 600)) for one in tried
    ]
    for text, one in zip(align_columns(rows), tried, strict=True):
        print_line(paint(text, None if one.delivered else "red"))
        if one.next_command:
            print_line(f"       {clean_line(one.next_command)}")
    print_next_command("yaoki notify test" if bad else "yaoki run PLAN")
