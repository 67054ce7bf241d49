"""The installed program with its store on a server."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.acceptance.project import SETTINGS, Place, a_plan, holds, writes
from tests.adapters.store.store_actions import by_hand

pytestmark = [pytest.mark.postgres, pytest.mark.acceptance]
NAMES = ("one", "two")
PLAN = a_plan(
    {"one": [writes("one.txt", "bad\n"), writes("one.txt")], "two": [writes("two.txt")]},
    [{"id": "one", "checks": ["one"]}, {"id": "two", "checks": ["two"], "needs": ["one"]}],
    {name: holds(f"{name}.txt") for name in NAMES},
)


@pytest.fixture
def place(tmp_path: Path, tmp_path_factory: pytest.TempPathFactory) -> Place:
    return Place(tmp_path, tmp_path_factory.getbasetemp().parent / "pycache")


def stored_at(place: Place, url: str) -> None:
    (place.repo / "yaoki.toml").write_text(f'{SETTINGS}\n[store]\nurl = "{url}"\n')


@pytest.mark.spec("13.1", "0.1")
def test_a_run_is_completed_with_its_store_on_a_server(place: Place, url: str) -> None:
    stored_at(place, url)
    empty = place.yaoki("doctor")
    before = place.yaoki("status")

    ran = place.yaoki("run", place.plan(PLAN))

    assert ran.code == 0, ran.out + ran.err
    assert empty.code == 0
    assert "no store in the database yet" in empty.out
    assert (before.code, "no run here yet" in before.err) == (6, True)
    assert {task["state"] for task in place.status()["tasks"]} == {"DONE"}
    assert by_hand(url, "SELECT count(*) FROM tasks WHERE state = 'DONE'") == [(3,)]
    assert place.yaoki("why", "one").code == 0
    assert len(place.yaoki("trace", "one").out.splitlines()) > 5


@pytest.mark.full
@pytest.mark.spec("13.1", "8.7")
def test_a_store_on_a_server_leaves_no_files_and_the_doctor_says_so(place: Place, url: str) -> None:
    stored_at(place, url)
    assert place.yaoki("run", place.plan(PLAN)).code == 0

    doctor = place.yaoki("doctor")

    assert doctor.code == 0, doctor.out
    assert "the server's operator makes them" in doctor.out
    assert "agrees with the database" in doctor.out
    home = place.repo / ".yaoki"
    assert not [name for name in ("state.db", "journal", "backups") if (home / name).exists()]
    assert place.git("status", "--porcelain") == "M yaoki.toml"


@pytest.mark.usefixtures("server_url")
@pytest.mark.spec("14.2", "0.6")
@pytest.mark.parametrize("command", [("status",), ("doctor",), ("config", "show"), ("run", "x")])
def test_no_command_prints_the_password(place: Place, command: tuple[str, ...]) -> None:
    stored_at(place, "postgresql://me:hush@127.0.0.1:1/yaoki")

    done = place.yaoki(*command)

    assert "hush" not in done.out + done.err
    assert "Traceback" not in done.err
    assert command[0] == "config" or done.code != 0


@pytest.mark.usefixtures("server_url")
@pytest.mark.spec("2.2", "0.6")
@pytest.mark.parametrize(
    ("url", "message"),
    [
        ("mysql://me:hush@host/db", "store.url: mysql:// is not supported"),
        ("postgresql://me:hush@host/a b", "store.url: must be postgresql://"),
        ("sqlite://", "store.url: sqlite:// must be followed by"),
    ],
)
def test_a_url_that_is_no_store_is_refused(place: Place, url: str, message: str) -> None:
    stored_at(place, url)

    done = place.yaoki("status")

    assert done.code == 2
    assert message in done.err
    assert "hush" not in done.err
