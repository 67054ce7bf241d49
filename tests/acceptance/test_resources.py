"""What each worktree has for itself: a range of ports and a name for its databases."""

from __future__ import annotations

import signal
from pathlib import Path
from typing import Any

import pytest

from tests.acceptance.project import Place, a_plan, until, waits_for

TELL = 'echo "$YAOKI_PORT_BASE $YAOKI_PORT_COUNT $YAOKI_DATABASE"'


def telling(folder: Path, marker: Path, *names: str) -> dict[str, Any]:
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


def seen(folder: Path, who: str) -> list[str]:
    """What the first one said: the last proof of the run has ports of its own."""
    return (folder / who).read_text().splitlines()[0].split()


def resources(place: Place, words: str) -> None:
    settings = place.repo / "yaoki.toml"
    settings.write_text(f"{settings.read_text()}\n[resources]\n{words}\n")


def held(place: Place) -> set[str]:
    return {file.name for file in (place.home / "ports").iterdir()} - {"lock"}


@pytest.mark.full
@pytest.mark.spec("11.9")
def test_concurrent_worktrees_have_their_own_ports_and_database_names(
    place: Place, tmp_path: Path
) -> None:
    marker = tmp_path / "go"
    run = place.start("run", place.plan(telling(tmp_path, marker, "a", "b")), "--quiet")
    until(lambda: all((tmp_path / f"agent.{n}").exists() for n in "ab"), "both are at work")
    during = held(place)
    marker.touch()
    out, _ = run.communicate(timeout=40)

    assert run.returncode == 0, out
    a, b = seen(tmp_path, "agent.a"), seen(tmp_path, "agent.b")
    assert {a[0], b[0]} == {"20000", "20010"}
    assert (a[1], b[1]) == ("10", "10")
    assert a[2] != b[2]
    assert a[2].startswith("yaoki_")
    for name, own in (("a", a), ("b", b)):
        assert seen(tmp_path, f"setup.{name}") == seen(tmp_path, f"check.{name}") == own
    assert during == {"20000-10", "20010-10"}
    assert held(place) == set(), "they are given back with the worktrees"


@pytest.mark.full
@pytest.mark.spec("11.9", "0.5")
def test_a_task_without_a_free_port_range_waits_and_says_so(place: Place, tmp_path: Path) -> None:
    resources(place, 'ports = "21000-21009"')
    marker = tmp_path / "go"
    run = place.start("run", place.plan(telling(tmp_path, marker, "a", "b")), "--quiet")
    until(lambda: any((tmp_path / f"agent.{n}").exists() for n in "ab"), "one is at work")
    until(lambda: "LEASE_RELEASED" in place.story(), "the other one is given back")
    first = next(n for n in "ab" if (tmp_path / f"agent.{n}").exists())
    second = "b" if first == "a" else "a"
    released = [e for e in place.events() if e["event"] == "LEASE_RELEASED"]
    alone = not (tmp_path / f"agent.{second}").exists()
    marker.touch()
    out, _ = run.communicate(timeout=40)

    assert alone
    assert run.returncode == 0, out
    assert "all 1 port ranges (21000-21009, 10 each)" in released[0]["data"]["why"]
    assert seen(tmp_path, "agent.a")[0] == seen(tmp_path, "agent.b")[0] == "21000"
    assert not {"RETRY_DECISION", "ESCALATE_DECISION"} & set(place.story())


@pytest.mark.full
@pytest.mark.spec("11.9")
def test_two_repositories_on_one_machine_never_share_a_port(place: Place, tmp_path: Path) -> None:
    folder = tmp_path / "other"
    folder.mkdir()
    other = Place(folder, Path(place.env["PYTHONPYCACHEPREFIX"]))
    other.env["YAOKI_HOME"] = place.env["YAOKI_HOME"]
    # Ranges of another size must not overlap either.
    resources(other, 'ports = "20000-20999"\nport_count = 20')
    marker = tmp_path / "go"
    runs = [
        p.start("run", p.plan(telling(where, marker, "a")), "--quiet")
        for p, where in ((place, tmp_path), (other, folder))
    ]
    until(lambda: all((where / "agent.a").exists() for where in (tmp_path, folder)), "both at work")
    marker.touch()
    for run in runs:
        out, _ = run.communicate(timeout=40)
        assert run.returncode == 0, out

    spans = [
        set(range(int(base), int(base) + int(count)))
        for base, count, _ in (seen(where, "agent.a") for where in (tmp_path, folder))
    ]
    assert not spans[0] & spans[1]


@pytest.mark.full
@pytest.mark.spec("11.9", "0.2")
def test_a_task_keeps_its_port_range_when_its_worker_is_killed(
    place: Place, tmp_path: Path
) -> None:
    marker = tmp_path / "go"
    run = place.start("run", place.plan(telling(tmp_path, marker, "a")), "--quiet")
    until(lambda: (tmp_path / "agent.a").exists(), "it is at work")
    run.send_signal(signal.SIGKILL)
    run.communicate()
    kept = held(place)
    marker.touch()
    done = place.yaoki("resume", "--quiet")

    assert done.code == 0, done.out
    assert kept == {"20000-10"}
    assert seen(tmp_path, "check.a") == seen(tmp_path, "agent.a")
    assert held(place) == set()


@pytest.mark.spec("11.9")
def test_a_worktree_without_configured_ports_gets_only_a_database_name(
    place: Place, tmp_path: Path
) -> None:
    resources(place, 'ports = ""\ndatabase_prefix = "test_"')
    marker = tmp_path / "go"
    marker.touch()
    done = place.yaoki("run", place.plan(telling(tmp_path, marker, "a")), "--quiet")

    assert done.code == 0, done.out
    (name,) = seen(tmp_path, "check.a")
    assert name.startswith("test_")


@pytest.mark.spec("15", "11.9")
@pytest.mark.parametrize(
    ("words", "said"),
    [
        ('ports = "30000-20000"', "resources.ports"),
        ('ports = "a-b"', "two ports with a hyphen between"),
        ('ports = "20000-20004"', "holds 5 ports, fewer than port_count (10)"),
        ('database_prefix = "My Db"', "resources.database_prefix"),
    ],
)
def test_impossible_ranges_are_refused_by_name(place: Place, words: str, said: str) -> None:
    resources(place, words)

    refused = place.yaoki("status", "--workers")

    assert refused.code == 2
    assert said in refused.err
