"""The notify section: defects are refused at once, and no address is ever shown whole."""

from __future__ import annotations

from pathlib import Path

import pytest

from yaoki.core.settings.addresses import is_loopback_address, web_defect
from yaoki.core.settings.settings import NoticeKind, NotificationSettings
from yaoki.errors import SettingsInvalid
from yaoki.formats.config import load_settings


def load(top: Path, text: str) -> NotificationSettings:
    (top / "yaoki.toml").write_text(f"[notify]\n{text}\n", encoding="utf-8")
    return load_settings(top, {}).settings.notify


@pytest.mark.spec("10.5", "15")
def test_every_notify_key_is_read(tmp_path: Path) -> None:
    notify = load(
        tmp_path,
        """\
        desktop = true
        command = ["tell", "--loud"]
        pass_env = ["MY_*"]
        webhook = "http://example.org:8080/x"
        webhook_http = true
        webhook_secret_env = "HOOK"
        apprise = ["slack://a/b/c"]
        apprise_env = "SERVICES"
        timeout_s = 3
        events = ["escalated", "finished"]
        """,
    )

    assert notify.command == ("tell", "--loud")
    assert (notify.timeout_s, notify.events) == (3.0, ("escalated", "finished"))
    assert notify.channels == ("command", "webhook", "desktop", "apprise")


@pytest.mark.spec("10.5")
def test_the_default_settings_have_no_channel_and_select_every_event() -> None:
    assert NotificationSettings().channels == ()
    assert (
        NotificationSettings().events
        == tuple(NoticeKind)
        == ("escalated", "finished", "paused", "warning")
    )


@pytest.mark.spec("15", "0.6")
@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("command = 'tell me'", "command: must be a list of strings, not 'tell me'"),
        ("command = ['tell', '']", "command: must be a list of strings, none of them empty"),
        ('command = ["a\\u0000b"]', "command: contains a NUL character"),
        ("events = []", "events: must have from 1 to 100 strings, not 0"),
        ("events = ['escalate']", "not 'escalate'; did you mean 'escalated'?"),
        ("timeout_s = 0", "timeout_s: must be from 0.001 to 300, not 0"),
        ("webhok = 'x'", "webhok: unknown key; did you mean 'webhook'?"),
        ("webhook = 'ftp://example.org/k3y'", "webhook: must be http:// or https://"),
        ("webhook = 'https://u:k3y@example.org/'", "without name, password or fragment"),
        ("webhook = 'http://example.org/k3y'", "http is only for this machine"),
        ("webhook = 'https://example.org:99999/k3y'", "webhook: 99999 is not a valid port"),
        ("webhook = ['https://example.org/k3y']", "webhook: must be a string"),
        ("apprise = 'slack://k3y'", "apprise: must be a list of strings"),
        ("apprise = ['slack://a', 'k3y']", "apprise: number 2 must be an address like slack://…"),
        ("apprise_env = 'k3y://x'", "apprise_env: must be the name of a variable"),
        (
            "webhook = 'https://example.org'\nwebhook_secret_env = 'k3y it self'",
            "webhook_secret_env: must be the name of a variable",
        ),
    ],
)
def test_a_defect_is_refused_without_showing_the_address(
    tmp_path: Path, text: str, said: str
) -> None:
    with pytest.raises(SettingsInvalid) as refused:
        load(tmp_path, text)

    [found] = refused.value.defects
    assert said in found
    assert "k3y" not in found


@pytest.mark.spec("14.2")
@pytest.mark.parametrize(
    ("address", "local"),
    [
        ("http://localhost/x", True),
        ("http://127.0.0.1:80", True),
        ("http://[::1]:8080/x?y=z", True),
        ("https://example.org/x", False),
        ("http://127.0.0.1.example.org/", False),
        ("http://localhost.example.org/", False),
        ("http://localhost@example.org/", False),
        ("http://example.org/?http://localhost/", False),
        ("http://2130706433/", False),
        ("http://example.org\\@localhost/", False),
    ],
)
def test_only_loopback_addresses_count_as_local(address: str, local: bool) -> None:
    assert is_loopback_address(address) is local
    assert bool(web_defect(address, http=False)) is (not local and "https" not in address)


@pytest.mark.spec("14.2")
def test_listings_show_addresses_masked(tmp_path: Path) -> None:
    load(tmp_path, "webhook = 'https://example.org/k3y'\napprise = ['slack://k3y/k3y']")

    values = load_settings(tmp_path, {}).values

    assert values["notify.webhook"] == "https://example.org/[masked]"
    assert values["notify.apprise"] == ["slack://[masked]"]
