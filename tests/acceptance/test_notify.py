"""`yaoki notify test`, and the receiver of the guide."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.acceptance.project import Project
from tests.adapters.notify.notices import SECRET, a_notice, program, receiver, recorded
from tests.builders import HandClock
from yaoki.adapters.notify import open_channels
from yaoki.adapters.system.clock import SystemClock
from yaoki.core.settings.settings import NotificationSettings
from yaoki.errors import NoticeFailed

pytestmark = pytest.mark.acceptance
GUIDE = Path(__file__).parents[2] / "docs" / "guides" / "notices.md"

# As much of the library's interface as we use.  The real one is not in the locks: see
# docs/decisions/dependencies.md.
STAND_IN = """\
import json, logging, pathlib
class NotifyFormat:
    TEXT = "text"
class AppriseAsset:
    def __init__(self, app_id): self.app_id = app_id
class Apprise:
    def __init__(self, asset): self.asset, self.address = asset, ""
    def add(self, address):
        self.address = address
        return not address.startswith("odd://")
    def notify(self, *, title, body, body_format):
        if self.address.startswith("bad://"):
            logging.getLogger("apprise").warning("no entry for %s", self.address.split("/")[2])
            return False
        told = [self.asset.app_id, self.address, title, body, body_format]
        with (pathlib.Path(__file__).parent / "told.jsonl").open("a") as file:
            file.write(json.dumps(told) + "\\n")
        return True
"""


def configure_notify(project: Project, text: str) -> None:
    with (project.repo / "yaoki.toml").open("a", encoding="utf-8") as file:
        file.write(f"[notify]\n{text}\n")


@pytest.mark.spec("10.5", "12.1")
def test_notify_without_a_channel_says_how_to_configure_one(project: Project) -> None:
    done = project.yaoki("notify", "test")

    assert done.code == 2
    assert "no channel for notices is configured" in done.err
    assert "[notify] with desktop = true" in done.err


@pytest.mark.spec("10.5", "12.1")
def test_every_channel_is_tried_and_all_must_deliver(project: Project) -> None:
    """A proxy of the environment is not used for loopback addresses."""
    shown = program(project.folder / "bin", "notify-send")
    tell = program(project.folder, "tell")
    around = {
        "PATH": f"{shown.parent}:{project.env['PATH']}",
        "YAOKI_WEBHOOK_SECRET": SECRET,
        "http_proxy": "http://127.0.0.1:9",
    }
    with receiver() as received:
        configure_notify(
            project, f"desktop = true\ncommand = ['{tell}']\nwebhook = '{received.address}'"
        )
        done = project.yaoki("notify", "test", env=around)

    assert (done.code, done.err) == (0, "")
    said = [line.split() for line in done.out.splitlines()]
    assert said[:3] == [["ok", name, "delivered"] for name in ("command", "webhook", "desktop")]
    assert done.out.endswith("next: yaoki run PLAN\n")
    assert recorded(tell)["env"]["YAOKI_EVENT"] == "TEST"
    assert recorded(shown)["argv"][2] == "yaoki: a test notice"
    assert len(received.posts) == 1


@pytest.mark.spec("10.5", "14.2")
def test_a_failing_channel_is_reported_with_cause_and_remedy(project: Project) -> None:
    with receiver(404) as received:
        text = f"command = ['/bin/sh', '-c', 'exit 3']\nwebhook = '{received.address}'"
        configure_notify(project, text)
        env = {"YAOKI_WEBHOOK_SECRET": SECRET}
        done, held = (project.yaoki("notify", "test", *w, env=env) for w in ((), ("--json",)))

    assert (done.code, held.code) == (1, 1)
    assert "BAD  command  /bin/sh ended with exit code 3" in done.out
    assert f"BAD  webhook  http://127.0.0.1:{received.port}/[masked] answered 404" in done.out
    assert "check the receiver's log" in done.out
    assert "k3yInThePath" not in done.out + held.out
    assert (held.document["schema"], held.document["ok"]) == (1, False)
    assert [one["delivered"] for one in held.document["channels"]] == [False, False]


# ------------------------------------------------------------------ services


def send_through_services(project: Project, library: str, addresses: str) -> tuple[int, str]:
    """One test notice through the fake library; returns exit code and output."""
    folder = project.folder / "library"
    program(folder, "apprise.py", library)
    configure_notify(project, "apprise = ['good://written-k3y']\napprise_env = 'SERVICES'")
    env = {"PYTHONPATH": str(folder), "SERVICES": addresses}
    done = project.yaoki("notify", "test", env=env)
    return done.code, done.out + done.err


@pytest.mark.full
@pytest.mark.spec("10.5")
def test_every_service_gets_the_notice(project: Project) -> None:
    code, said = send_through_services(
        project, STAND_IN, "fine://k3y/one\nfine://k3y/two good://written-k3y"
    )

    output = (project.folder / "library" / "told.jsonl").read_text().splitlines()
    assert (code, said.split()[:3]) == (0, ["ok", "apprise", "delivered"])
    assert [line.split('"')[3] for line in output] == [
        "good://written-k3y",
        "fine://k3y/one",
        "fine://k3y/two",
    ]
    assert all('"yaoki: a test notice"' in line and '"text"' in line for line in output)


@pytest.mark.full
@pytest.mark.spec("10.5", "14.2")
@pytest.mark.parametrize(
    ("addresses", "said"),
    [
        ("bad://secret-k3y/x", "no entry for [masked] address 2 (bad) did not accept the notice"),
        ("odd://secret-k3y/x", "address 2 (odd) is not an address that apprise understands"),
        ("secret-k3y", "the variable SERVICES is not a list of service addresses"),
        (" ", "the variable SERVICES of notify.apprise_env is not set"),
    ],
)
def test_a_service_that_fails_is_named_without_its_key(
    project: Project, addresses: str, said: str
) -> None:
    code, told = send_through_services(project, STAND_IN, addresses)

    assert code == 1
    assert said in told
    assert "k3y" not in told


@pytest.mark.spec("10.5")
def test_a_missing_library_is_reported_with_the_command_that_installs_it(project: Project) -> None:
    """A library whose import fails simulates a missing one."""
    code, told = send_through_services(
        project, "raise ImportError('No module named apprise')\n", "fine://k3y"
    )

    assert code == 1
    assert "the library apprise cannot be used: No module named apprise" in told
    assert "python -m pip install 'apprise>=2.2,<3'" in told


# ------------------------------------------------------------------ the guide's receiver


@dataclass
class GuideReceiver:
    """The receiver of the guide; `said` is what it printed, once it has ended."""

    port: int
    output: str = ""


@contextmanager
def run_guide_receiver(folder: Path) -> Iterator[GuideReceiver]:
    [code] = re.findall(r"```python\n(.*?)```", GUIDE.read_text(encoding="utf-8"), re.S)
    file = program(folder, "receiver.py", code)
    running = subprocess.Popen(
        (sys.executable, str(file), "0"),
        env={"YAOKI_WEBHOOK_SECRET": SECRET},
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    assert running.stdout is not None
    guide = GuideReceiver(0)
    try:
        guide.port = int(running.stdout.readline().split()[1])
        yield guide
    finally:
        running.kill()
        guide.output = running.communicate()[0]


def refusal(port: int, secret: str, clock: SystemClock | HandClock, subject: str) -> str:
    """Why the guide's receiver did not take it; empty when it did."""
    settings = NotificationSettings(webhook=f"http://127.0.0.1:{port}/")
    environ = {"YAOKI_WEBHOOK_SECRET": secret}
    [hook] = open_channels(settings, Path(), environ=environ, clock=clock).values()
    try:
        hook.send(a_notice(subject=subject))
    except NoticeFailed as failed:
        return failed.sentence
    return ""


@pytest.mark.spec("10.5", "0.3")
def test_the_receiver_of_the_guide_accepts_a_genuine_notice_once(tmp_path: Path) -> None:
    with run_guide_receiver(tmp_path) as guide:
        forged = refusal(guide.port, "another secret altogether", SystemClock(), "forged")
        old = refusal(guide.port, SECRET, HandClock(), "old")
        taken = [refusal(guide.port, SECRET, SystemClock(), word) for word in ("first", "again")]

    assert "answered 403" in forged
    assert "answered 403" in old
    assert taken == ["", ""]
    assert guide.output == "first\n"
