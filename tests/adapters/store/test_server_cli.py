"""The installed program with its store on a server."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.acceptance.project import SETTINGS, Project, a_plan, file_contains, writes
from tests.adapters.store.store_actions import run_sql

pytestmark = [pytest.mark.postgres, pytest.mark.acceptance]
NAMES = ("one", "two")
PLAN = a_plan(
    {"one": [writes("one.txt", "bad\n"), writes("one.txt")], "two": [writes("two.txt")]},
    [{"id": "one", "checks": ["one"]}, {"id": "two", "checks": ["two"], "needs": ["one"]}],
    {name: file_contains(f"{name}.txt") for name in NAMES},
)


@pytest.fixture
def project(tmp_path: Path, tmp_path_factory: pytest.TempPathFactory) -> Project:
    return Project(tmp_path, tmp_path_factory.getbasetemp().parent / "pycache")


def stored_at(project: Project, url: str) -> None:
    (project.repo / "yaoki.toml").write_text(f'{SETTINGS}\n[store]\nurl = "{url}"\n')


@pytest.mark.spec("13.1", "0.1")
def test_a_run_is_completed_with_its_store_on_a_server(project: Project, url: str) -> None:
    stored_at(project, url)
    empty = project.yaoki("doctor")
    before = project.yaoki("status")

    ran = project.yaoki("run", project.plan(PLAN))

    assert ran.code == 0, ran.out + ran.err
    assert empty.code == 0
    assert "no store in the database yet" in empty.out
    assert (before.code, "no run here yet" in before.err) == (6, True)
    assert {task["state"] for task in project.status()["tasks"]} == {"DONE"}
    assert run_sql(url, "SELECT count(*) FROM tasks WHERE state = 'DONE'") == [(3,)]
    assert project.yaoki("why", "one").code == 0
    assert len(project.yaoki("trace", "one").out.splitlines()) > 5


@pytest.mark.full
@pytest.mark.spec("13.1", "8.7")
def test_a_store_on_a_server_leaves_no_files_and_the_doctor_says_so(
    project: Project, url: str
) -> None:
    stored_at(project, url)
    assert project.yaoki("run", project.plan(PLAN)).code == 0

    doctor = project.yaoki("doctor")

    assert doctor.code == 0, doctor.out
    assert "the server's operator makes them" in doctor.out
    assert "agrees with the database" in doctor.out
    home = project.repo / ".yaoki"
    assert not [name for name in ("state.db", "journal", "backups") if (home / name).exists()]
    assert project.git("status", "--porcelain") == "M yaoki.toml"


@pytest.mark.usefixtures("server_url")
@pytest.mark.spec("14.2", "0.6")
@pytest.mark.parametrize("command", [("status",), ("doctor",), ("config", "show"), ("run", "x")])
def test_no_command_prints_the_password(project: Project, command: tuple[str, ...]) -> None:
    stored_at(project, "postgresql://me:hush@127.0.0.1:1/yaoki")

    done = project.yaoki(*command)

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
def test_a_url_that_is_no_store_is_refused(project: Project, url: str, message: str) -> None:
    stored_at(project, url)

    done = project.yaoki("status")

    assert done.code == 2
    assert message in done.err
    assert "hush" not in done.err
