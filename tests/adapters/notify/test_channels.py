"""Channels deliver a notice or say why not; secrets are masked, text is never executed."""

from __future__ import annotations

import hashlib
import hmac
import json
import os
from datetime import timedelta
from email.utils import format_datetime
from pathlib import Path

import pytest

from tests.adapters.notify.notices import (
    RECORDER,
    SECRET,
    Received,
    a_notice,
    program,
    receiver,
    recorded,
    shell,
    unused_port,
)
from tests.builders import MINUTE, NOW, HandClock
from tests.time_limits import has_line, run_until_started
from yaoki.adapters.notify import open_channels
from yaoki.adapters.notify.desktop import DesktopChannel
from yaoki.adapters.notify.webhook import parse_retry_after
from yaoki.core.settings.settings import NotificationSettings
from yaoki.core.text import format_duration
from yaoki.errors import NoticeFailed
from yaoki.ports import Notice

TEN = timedelta(seconds=10)


def send(
    settings: NotificationSettings, top: Path, notice: Notice | None = None, /, **environ: str
) -> NoticeFailed | None:
    """Sends through the one enabled channel; returns the failure."""
    around = {"PATH": os.environ["PATH"], **environ}
    [channel] = open_channels(settings, top, environ=around, clock=HandClock()).values()
    try:
        channel.send(notice or a_notice())
    except NoticeFailed as failed:
        return failed
    return None


def failed(
    settings: NotificationSettings, top: Path, notice: Notice | None = None, /, **env: str
) -> NoticeFailed:
    found = send(settings, top, notice, **env)
    assert found is not None, "it was delivered"
    return found


def test_only_enabled_channels_are_opened(tmp_path: Path) -> None:
    every = NotificationSettings(
        command=("x",), webhook="https://example.org/", desktop=True, apprise_env="X"
    )

    assert open_channels(NotificationSettings(), tmp_path) == {}
    assert list(open_channels(NotificationSettings(desktop=True), tmp_path)) == ["desktop"]
    assert list(open_channels(every, tmp_path)) == ["command", "webhook", "desktop", "apprise"]


# ------------------------------------------------------------------ command


@pytest.mark.spec("10.5")
def test_a_command_gets_the_notice_as_json_and_as_variables(tmp_path: Path) -> None:
    tell = program(tmp_path, "tell")

    assert send(NotificationSettings(command=("./tell", "--loud")), tmp_path) is None

    called = recorded(tell)
    assert called["argv"] == ["--loud"]
    assert json.loads(called["stdin"]) == {
        "schema": 1,
        "notice": 12,
        "at": "2026-03-01T20:00:00+00:00",
        "run": "k3f9x2ab",
        "task": "k3f9x2ab-2",
        "event": "ESCALATE_EXECUTED",
        "subject": "signup asks for you",
        "body": "yaoki answer 2",
    }
    env = called["env"]
    assert (env["YAOKI_NOTICE"], env["YAOKI_RUN"]) == ("12", "k3f9x2ab")
    assert (env["YAOKI_SUBJECT"], env["YAOKI_BODY"]) == ("signup asks for you", "yaoki answer 2")


@pytest.mark.spec("14.2")
def test_a_command_gets_only_allowed_variables(tmp_path: Path) -> None:
    tell = program(tmp_path, "tell")
    around = {"API_KEY": "k-123456", "MY_TOKEN": "t-123456", "GIT_DIR": "/x", "HOME": "/h"}

    assert (
        send(NotificationSettings(command=(str(tell),), pass_env=("MY_*",)), tmp_path, **around)
        is None
    )

    env = recorded(tell)["env"]
    assert {"API_KEY", "GIT_DIR"}.isdisjoint(env)
    assert (env["MY_TOKEN"], env["HOME"]) == ("t-123456", "/h")


@pytest.mark.spec("14.2")
def test_secrets_are_masked_in_notices_and_in_error_messages(tmp_path: Path) -> None:
    tell = program(tmp_path, "tell", RECORDER + "sys.exit(sys.argv[1] + ' is wrong')\n")
    notice = a_notice(subject="no access", body="denied: s3cretvalue")
    settings = NotificationSettings(command=(str(tell), "s3cretvalue"))

    found = failed(settings, tmp_path, notice, API_KEY="s3cretvalue")

    assert json.loads(recorded(tell)["stdin"])["body"] == "denied: [masked]"
    assert found.sentence == f"{tell} ended with exit code 1: [masked] is wrong"


@pytest.mark.spec("10.5", "14.4")
def test_any_text_of_an_agent_can_be_sent(tmp_path: Path) -> None:
    """A NUL, a lone surrogate and terminal codes must not lose a notice."""
    tell = program(tmp_path, "tell")
    notice = a_notice(subject="a\0b\n\x1b[31mred\x1b[0m", body="\ud800 " + "x" * 50_000)

    assert send(NotificationSettings(command=(str(tell),)), tmp_path, notice) is None

    document = json.loads(recorded(tell)["stdin"])
    assert document["subject"] == "a\\x00b red"
    assert document["body"].startswith("\ufffd xxx")
    assert len(document["body"]) < 10_100


@pytest.mark.spec("10.5")
@pytest.mark.parametrize(
    ("words", "said", "permanent"),
    [
        ("echo begin; echo 'no route' >&2; exit 7", "/bin/sh ended with exit code 7: no route", 0),
        ("echo only this; exit 1", "/bin/sh ended with exit code 1: only this", 0),
        ("kill -9 $$", "/bin/sh ended with signal 9", 0),
        ("no-such-program-here", "ended with exit code 127: ", 1),
        ("yes | head -c 3000000", "; 1 MiB are allowed", 1),
        ("printf '%09999d' 1; echo END; exit 1", "0000001END", 0),
    ],
)
def test_a_failing_command_is_reported_with_the_end_of_its_output(
    tmp_path: Path, words: str, said: str, permanent: int
) -> None:
    found = failed(NotificationSettings(command=shell(words)), tmp_path)

    assert said in found.sentence
    assert len(found.sentence) < 500
    assert found.permanent == bool(permanent)
    assert "yaoki notify test" in found.hint


@pytest.mark.spec("10.5")
def test_a_missing_command_is_a_permanent_failure(tmp_path: Path) -> None:
    found = failed(NotificationSettings(command=("./none",)), tmp_path)

    assert (found.sentence, found.permanent) == (
        "cannot run ./none: No such file or directory",
        True,
    )


@pytest.mark.spec("10.5")
def test_a_command_is_killed_at_its_timeout(tmp_path: Path) -> None:
    command, pid = shell("echo $$ > pid; sleep 60"), tmp_path / "pid"

    found, limit_s = run_until_started(
        lambda limit_s: failed(NotificationSettings(command=command, timeout_s=limit_s), tmp_path),
        lambda _: has_line(pid),
    )

    # Its arguments are not shown: they may contain a key.
    assert found.sentence == f"/bin/sh did not end within {format_duration(limit_s)}"
    assert not found.permanent
    with pytest.raises(ProcessLookupError):
        os.kill(int(pid.read_text()), 0)


# ------------------------------------------------------------------ webhook


def post(received: Received, top: Path, **more: str) -> NoticeFailed | None:
    environ = {"YAOKI_WEBHOOK_SECRET": SECRET, **more}
    return send(NotificationSettings(webhook=received.address), top, **environ)


@pytest.mark.spec("10.5")
def test_a_webhook_is_signed_and_numbered(tmp_path: Path) -> None:
    with receiver() as received:
        assert post(received, tmp_path) is None

    [(path, headers, body)] = received.posts
    stamp = str(int(NOW.timestamp()))
    signed = hmac.new(SECRET.encode(), stamp.encode() + b"." + body, hashlib.sha256)
    assert path == "/hooks/k3yInThePath"
    assert headers["X-Yaoki-Signature"] == "sha256=" + signed.hexdigest()
    assert (headers["X-Yaoki-Timestamp"], headers["X-Yaoki-Notice"]) == (stamp, "12")
    assert headers["Content-Type"].startswith("application/json")
    assert json.loads(body)["subject"] == "signup asks for you"


@pytest.mark.spec("10.5")
@pytest.mark.parametrize(
    ("code", "permanent"),
    [(400, 1), (403, 1), (404, 1), (410, 1), (408, 0), (425, 0), (429, 0), (500, 0), (503, 0)],
)
def test_the_status_decides_whether_a_webhook_is_retried(
    tmp_path: Path, code: int, permanent: int
) -> None:
    with receiver(code, Retry_After="90") as received:
        found = post(received, tmp_path)

    assert found is not None
    assert f"http://127.0.0.1:{received.port}/[masked] answered {code}" in found.sentence
    assert found.permanent == bool(permanent)
    assert found.retry_after == (None if permanent else timedelta(seconds=90))


@pytest.mark.parametrize(
    ("value", "wait"),
    [
        ("120", 2 * MINUTE),
        (format_datetime(NOW + MINUTE, usegmt=True), MINUTE),
        (format_datetime(NOW - MINUTE, usegmt=True), timedelta(0)),
        ("9" * 500, timedelta(days=1)),
        ("soon", None),
        ("-5", None),
        ("²", None),
        ("Wed, 99 Foo 2026 99:99:99 GMT", None),
        ("", None),
    ],
)
def test_retry_after_is_read_in_seconds_or_as_a_date(value: str, wait: timedelta | None) -> None:
    assert parse_retry_after(value, NOW) == wait


@pytest.mark.spec("14.2")
@pytest.mark.parametrize("code", [301, 302, 303, 307, 308])
def test_a_redirect_is_not_followed(tmp_path: Path, code: int) -> None:
    with receiver() as other, receiver(code, Location=other.address) as received:
        found = post(received, tmp_path)

    assert found is not None
    assert found.permanent
    assert "redirects are not followed" in found.hint
    assert (len(received.posts), other.posts) == (1, [])


@pytest.mark.spec("10.5")
def test_an_unreachable_receiver_is_retried(tmp_path: Path) -> None:
    with unused_port() as gone:
        found = post(gone, tmp_path)

    assert found is not None
    assert "cannot be reached: " in found.sentence
    assert not found.permanent


@pytest.mark.spec("10.5")
@pytest.mark.parametrize("code", [0, -1], ids=["silent", "dripping"])
def test_a_receiver_that_does_not_answer_times_out(tmp_path: Path, code: int) -> None:
    with receiver(code) as received:
        settings = NotificationSettings(webhook=received.address, timeout_s=0.25)
        found = failed(settings, tmp_path, YAOKI_WEBHOOK_SECRET=SECRET)

    assert "did not answer within 0.2 s" in found.sentence
    assert not found.permanent


@pytest.mark.spec("14.2")
@pytest.mark.parametrize(
    ("secret", "said"), [("", "is not set"), ("tooshort", "is shorter than 16 characters")]
)
def test_nothing_is_sent_unsigned(tmp_path: Path, secret: str, said: str) -> None:
    with receiver() as received:
        settings = NotificationSettings(webhook=received.address, webhook_secret_env="HOOK")
        found = failed(settings, tmp_path, HOOK=secret)

    assert found.sentence == f"the variable HOOK, the secret of notify.webhook, {said}"
    assert found.permanent
    assert 'export HOOK="$(openssl rand -hex 32)"' in found.hint
    assert received.posts == []


@pytest.mark.spec("14.2")
def test_plain_http_is_allowed_only_on_loopback(tmp_path: Path) -> None:
    settings = NotificationSettings(webhook="http://192.0.2.1/hook")

    found = failed(settings, tmp_path, YAOKI_WEBHOOK_SECRET=SECRET)

    assert "http is only for this machine" in found.sentence
    assert found.permanent


@pytest.mark.spec("14.2")
def test_no_error_message_contains_the_secret_or_the_path(tmp_path: Path) -> None:
    told = []
    for code in (302, 404, 500):
        with receiver(code) as received:
            told.append(post(received, tmp_path))
    with unused_port() as gone:
        told.append(post(gone, tmp_path))

    words = " ".join(f"{found} {found.hint} {found.__cause__}" for found in told if found)
    assert words.count("[masked]") == len(told)
    assert SECRET not in words
    assert "k3yInThePath" not in words


# ------------------------------------------------------------------ desktop

HOSTILE = a_notice(
    subject="--help\n--icon=/etc/passwd", body='-u critical" & <a href="x">\\033 $(id)'
)


@pytest.mark.spec("10.5", "14.4")
def test_the_text_of_a_desktop_notice_is_not_read_as_options_or_markup(tmp_path: Path) -> None:
    shown = program(tmp_path / "bin", "notify-send")

    assert (
        send(NotificationSettings(desktop=True), tmp_path, HOSTILE, PATH=str(tmp_path / "bin"))
        is None
    )

    escaped = '-u critical" &amp; &lt;a href="x"&gt;\\\\033 $(id)'
    before, subject, body = ["--app-name=yaoki", "--"], "--help --icon=/etc/passwd", escaped
    assert recorded(shown)["argv"] == [*before, subject, body]


@pytest.mark.spec("10.5", "14.4")
def test_the_text_of_a_notice_on_macos_is_not_executed_as_a_script(tmp_path: Path) -> None:
    shown = program(tmp_path / "bin", "osascript")
    channel = DesktopChannel(tmp_path, TEN, {"PATH": str(tmp_path / "bin")}, platform="darwin")

    channel.send(HOSTILE)

    called = recorded(shown)
    assert called["argv"] == ["-", "--help --icon=/etc/passwd", HOSTILE.body]
    assert "item 1 of argv" in called["stdin"]
    assert "critical" not in called["stdin"]


@pytest.mark.spec("10.5")
def test_a_missing_desktop_program_is_reported_with_the_remedy(tmp_path: Path) -> None:
    found = failed(NotificationSettings(desktop=True), tmp_path, PATH=str(tmp_path))

    assert found.sentence == "cannot run notify-send: No such file or directory"
    assert found.permanent
    assert "install notify-send" in found.hint


@pytest.mark.spec("10.5")
def test_a_missing_desktop_session_is_reported_and_retried(tmp_path: Path) -> None:
    program(tmp_path / "bin", "notify-send", "#!/bin/sh\necho 'no session bus' >&2\nexit 1\n")

    found = failed(NotificationSettings(desktop=True), tmp_path, PATH=str(tmp_path / "bin"))

    assert found.sentence == "notify-send ended with exit code 1: no session bus"
    assert not found.permanent
