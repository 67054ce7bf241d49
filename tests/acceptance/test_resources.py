"""Resources of a worktree: a range of ports and a name for its databases."""

from __future__ import annotations

import signal
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.acceptance.project import Project, a_plan, wait_until, waits_for

TELL = 'echo "$YAOKI_PORT_BASE $YAOKI_PORT_COUNT $YAOKI_DATABASE"'


def plan_recording_resources(folder: Path, marker: Path, *names: str) -> dict[str, Any]:
    """Set-up, agent and check each write down what they see; the agents wait for the marker."""
    script = {
        name: [
            [
                {"run": ["sh", "-c", f"{TELL} > {folder}/agent.{name}"]},
                waits_for(marker),
                {"write": {f"{name}.txt": "good\n"}},
            ]
        ]
        for name in names
    }
    tasks = [
        {
            "id": name,
            "setup": [["sh", "-c", f"{TELL} >> {folder}/setup.{name}"]],
            "checks": [f"sees-{name}"],
        }
        for name in names
    ]
    sees = {name: f"test -f {name}.txt && {TELL} >> {folder}/check.{name}" for name in names}
    checks = {f"sees-{name}": {"shell": line} for name, line in sees.items()}
    return a_plan(script, tasks, checks)


def recorded_resources(folder: Path, who: str) -> list[str]:
    """The first recorded line: the final check has its own ports."""
    return (folder / who).read_text().splitlines()[0].split()


def write_resource_settings(project: Project, words: str) -> None:
    settings = project.repo / "yaoki.toml"
    settings.write_text(f"{settings.read_text()}\n[resources]\n{words}\n")


def leased_port_ranges(project: Project) -> set[str]:
    return {file.name for file in (project.home / "ports").iterdir()} - {"lock"}


@pytest.mark.full
@pytest.mark.spec("11.9", "0.2")
def test_concurrent_worktrees_have_their_own_ports_and_names_and_keep_them_if_the_worker_dies(
    project: Project, tmp_path: Path
) -> None:
    """Another repository on the same machine shares none of these ports."""
    marker = tmp_path / "go"
    run = project.start(
        "run", project.plan(plan_recording_resources(tmp_path, marker, "a", "b")), "--quiet"
    )
    wait_until(lambda: all((tmp_path / f"agent.{n}").exists() for n in "ab"), "both are at work")
    folder = tmp_path / "other"
    other, third = start_another_repository(project, folder, marker)
    run.send_signal(signal.SIGKILL)
    run.communicate()
    during = leased_port_ranges(project)
    marker.touch()
    done = project.yaoki("resume", "--quiet")
    out, _ = third.communicate(timeout=40)
    other.end_started()

    assert done.code == 0, done.out
    assert third.returncode == 0, out
    a, b = recorded_resources(tmp_path, "agent.a"), recorded_resources(tmp_path, "agent.b")
    assert {a[0], b[0]} == {"20000", "20010"}
    assert (a[1], b[1]) == ("10", "10")
    assert a[2] != b[2]
    assert a[2].startswith("yaoki_")
    for name, own in (("a", a), ("b", b)):
        assert (
            recorded_resources(tmp_path, f"setup.{name}")
            == recorded_resources(tmp_path, f"check.{name}")
            == own
        )
    assert during == {"20000-10", "20010-10", "20020-20"}
    assert recorded_resources(folder, "agent.a")[:2] == ["20020", "20"]
    assert leased_port_ranges(project) == set(), "they are given back with the worktrees"


def start_another_repository(
    project: Project, folder: Path, marker: Path
) -> tuple[Project, subprocess.Popen[str]]:
    """Its ranges have another size, and must not overlap either; its agent is at work."""
    folder.mkdir()
    other = Project(folder, Path(project.env["PYTHONPYCACHEPREFIX"]))
    other.env["YAOKI_HOME"] = project.env["YAOKI_HOME"]
    write_resource_settings(other, 'ports = "20000-20999"\nport_count = 20')
    plan = other.plan(plan_recording_resources(folder, marker, "a"))
    run = other.start("run", plan, "--quiet")
    wait_until((folder / "agent.a").exists, "the other repository is at work")
    return other, run


@pytest.mark.full
@pytest.mark.spec("11.9", "0.5")
def test_a_task_without_a_free_port_range_waits_and_says_so(
    project: Project, tmp_path: Path
) -> None:
    write_resource_settings(project, 'ports = "21000-21009"')
    marker = tmp_path / "go"
    run = project.start(
        "run", project.plan(plan_recording_resources(tmp_path, marker, "a", "b")), "--quiet"
    )
    wait_until(lambda: any((tmp_path / f"agent.{n}").exists() for n in "ab"), "one is at work")
    wait_until(lambda: "LEASE_RELEASED" in project.event_names(), "the other one is given back")
    first = next(n for n in "ab" if (tmp_path / f"agent.{n}").exists())
    second = "b" if first == "a" else "a"
    released = [e for e in project.events() if e["event"] == "LEASE_RELEASED"]
    alone = not (tmp_path / f"agent.{second}").exists()
    marker.touch()
    out, _ = run.communicate(timeout=40)

    assert alone
    assert run.returncode == 0, out
    assert "all 1 port ranges (21000-21009, 10 each)" in released[0]["data"]["why"]
    assert (
        recorded_resources(tmp_path, "agent.a")[0]
        == recorded_resources(tmp_path, "agent.b")[0]
        == "21000"
    )
    assert not {"RETRY_DECISION", "ESCALATE_DECISION"} & set(project.event_names())


@pytest.mark.spec("11.9")
def test_a_worktree_without_configured_ports_gets_only_a_database_name(
    project: Project, tmp_path: Path
) -> None:
    write_resource_settings(project, 'ports = ""\ndatabase_prefix = "test_"')
    marker = tmp_path / "go"
    marker.touch()
    done = project.yaoki(
        "run", project.plan(plan_recording_resources(tmp_path, marker, "a")), "--quiet"
    )

    assert done.code == 0, done.out
    (name,) = recorded_resources(tmp_path, "check.a")
    assert name.startswith("test_")


@pytest.mark.spec("15", "11.9")
@pytest.mark.parametrize(
    ("words", "said"),
    [
        ('ports = "30000-20000"', "resources.ports"),
        ('ports = "a-b"', "two ports with a hyphen between"),
        ('ports = "20000-20004"', "has 5 ports, fewer than port_count (10)"),
        ('database_prefix = "My Db"', "resources.database_prefix"),
    ],
)
def test_impossible_ranges_are_refused_by_name(project: Project, words: str, said: str) -> None:
    write_resource_settings(project, words)

    refused = project.yaoki("resume")

    assert refused.code == 2
    assert said in refused.err
