"""`sandbox.mode = "auto"`, the default: the sandbox is used if available and known to work."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from tests.acceptance.project import Project, file_contains
from tests.acceptance.test_sandbox import agent_log, needs_bubblewrap

pytestmark = [pytest.mark.acceptance, pytest.mark.spec("16.13")]
AUTO = {"YAOKI_SANDBOX_MODE": "auto"}
OUTSIDE = "agents run with your rights, outside a sandbox"
REACH = "touch {mark} || echo REFUSED; echo good > a.txt"


def a_plan(project: Project, agent: dict[str, object], check: str = "grep -q good a.txt") -> str:
    return project.plan(
        {
            "goal": "Reach",
            "agents": {"bold": agent},
            "agent": "bold",
            "checks": {"good": file_contains("a.txt"), "looks": {"shell": check}},
            "tasks": [{"id": "a", "goal": "Write a.txt.", "checks": ["good", "looks"]}],
        }
    )


def scripted(script: str) -> dict[str, object]:
    acts = [{"run": ["sh", "-c", f"exec 2>&1; {script}"]}]
    return {"preset": "scripted", "options": {"scenario": {"tasks": {"a": [acts]}}}}


def commanded(script: str) -> dict[str, object]:
    return {"command": ["sh", "-c", f"exec 2>&1; {script}"]}


def test_a_known_agent_and_its_checks_run_in_the_sandbox_by_default(project: Project) -> None:
    needs_bubblewrap()
    mark, of_check = project.repo / "planted", project.repo / "planted-by-check"
    agent = scripted(REACH.format(mark=mark))
    check = f"! touch {of_check} 2>/dev/null && grep -q good a.txt"

    done = project.yaoki("run", a_plan(project, agent, check), env=AUTO)

    assert done.code == 0, done.out
    assert "REFUSED" in agent_log(project)
    assert not mark.exists()
    assert not of_check.exists()
    assert OUTSIDE not in done.out


@pytest.mark.full
def test_an_unknown_agent_runs_without_the_sandbox_by_default_with_one_warning(
    project: Project,
) -> None:
    needs_bubblewrap()
    mark = project.folder / "written"

    done = project.yaoki("run", a_plan(project, commanded(REACH.format(mark=mark))), env=AUTO)

    assert done.code == 0, done.out
    assert mark.exists()
    words = 'to use one: sandbox.mode = "on" in yaoki.toml'
    assert f"{OUTSIDE} (preset command: not tried in it); {words}" in " ".join(done.out.split())
    assert done.out.count(OUTSIDE) == 1


def without_bubblewrap(folder: Path) -> str:
    """A PATH on which everything is but bwrap."""
    tools = folder / "tools"
    tools.mkdir()
    for name in ("git", "sh", "bash", "python3", "env", "grep", "touch", "cat"):
        if found := shutil.which(name):
            (tools / name).symlink_to(found)
    return str(tools)


@pytest.mark.full
def test_a_machine_without_a_sandbox_reports_the_missing_program_in_one_line(
    project: Project, tmp_path: Path
) -> None:
    env = {**AUTO, "PATH": without_bubblewrap(tmp_path)}
    mark = project.folder / "written"

    done = project.yaoki("run", a_plan(project, scripted(REACH.format(mark=mark))), env=env)
    doctor = project.yaoki("doctor", env=env)

    assert done.code == 0, done.out + done.err
    assert mark.exists()
    assert f"{OUTSIDE} (bwrap is not installed); to use one: yaoki doctor" in done.out
    assert done.out.count(OUTSIDE) == 1
    (row,) = [line for line in doctor.out.splitlines() if "sandbox" in line]
    assert "bwrap is not installed" in row
    assert "bubblewrap" in row


@pytest.mark.parametrize("keeper", ["apt", "dnf", "zypper"])
def test_doctor_names_the_command_that_installs_the_sandbox(
    project: Project, tmp_path: Path, keeper: str
) -> None:
    path = without_bubblewrap(tmp_path)
    program = Path(path, keeper)
    program.touch(mode=0o755)

    doctor = project.yaoki("doctor", env={**AUTO, "PATH": path}).out

    (row,) = [line for line in doctor.splitlines() if "sandbox" in line]
    assert row.endswith(f"to get one: {keeper} install bubblewrap")


def test_doctor_reports_an_available_sandbox(project: Project) -> None:
    needs_bubblewrap()

    (row,) = [
        line for line in project.yaoki("doctor", env=AUTO).out.splitlines() if "sandbox" in line
    ]

    inside = (
        "bubblewrap around known agents and their checks: they can write only in their worktree"
    )
    assert f"{inside}; the network is open" in row
    assert "keyctl" not in row


@pytest.mark.spec("14.3", "0.6")
def test_doctor_says_when_a_sandbox_without_seccomp_leaves_keyrings_open(
    project: Project, tmp_path: Path
) -> None:
    needs_bubblewrap()
    older = tmp_path / "bwrap"
    older.write_text(
        "#!/bin/sh\n"
        'case "$*" in *--seccomp*) echo "bwrap: seccomp is not supported" >&2; exit 1;; esac\n'
        f'exec {shutil.which("bwrap")} "$@"\n'
    )
    older.chmod(0o755)
    env = {**AUTO, "PATH": f"{tmp_path}:{os.environ['PATH']}"}

    doctor = project.yaoki("doctor", env=env)

    assert doctor.code == 0, doctor.out
    (row,) = [line for line in doctor.out.splitlines() if "sandbox" in line]
    assert "the network is open; your kernel keyrings can be read inside" in row
    assert "(bubblewrap or the kernel lacks seccomp); to list them: keyctl show" in row


@pytest.mark.parametrize("command", ["doctor", "run"])
def test_an_invalid_sandbox_mode_in_the_environment_is_refused(
    project: Project, command: str
) -> None:
    """A mistyped `on` would silently disable the sandbox."""
    mark = project.folder / "written"
    words = [a_plan(project, scripted(REACH.format(mark=mark)))] if command == "run" else []

    done = project.yaoki(command, *words, env={"YAOKI_SANDBOX_MODE": "On"})

    assert done.code == (2 if command == "run" else 1), done.out + done.err
    assert "YAOKI_SANDBOX_MODE is 'On', which is not one of auto, off, on" in done.out + done.err
    assert not mark.exists()


@pytest.mark.full
@pytest.mark.parametrize(("word", "walled"), [("off", False), ("on", True)])
def test_the_settings_take_precedence_over_the_environment(
    project: Project, word: str, walled: bool
) -> None:
    needs_bubblewrap()
    mark = project.repo / "planted"
    file = project.repo / "yaoki.toml"
    file.write_text(f'{file.read_text()}\n[sandbox]\nmode = "{word}"\n')
    other = {"YAOKI_SANDBOX_MODE": "off" if walled else "on"}

    done = project.yaoki("run", a_plan(project, scripted(REACH.format(mark=mark))), env=other)

    assert done.code == 0, done.out
    assert mark.exists() is not walled
