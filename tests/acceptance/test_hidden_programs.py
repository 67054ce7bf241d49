"""Agents whose programs are in folders that the sandbox hides: shown, or refused before a start."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.acceptance.project import Project, file_contains
from tests.acceptance.test_sandbox import needs_bubblewrap
from yaoki.adapters.processes.sandbox_mounts import SHARED_FOLDERS

pytestmark = pytest.mark.acceptance

# It answers like Claude Code, with the help of a file beside it, and says what it sees of a folder.
SCRIPT = """\
#!/bin/sh
real=$(readlink -f "$0")
. "$(dirname "$real")/words.sh"
ls {folder} >> seen.txt
case "$*" in *--resume*) echo RISEN >> yaoki.txt ;; *) echo risen >> yaoki.txt ;; esac
echo good > a.txt
say_end
"""
WORDS = """\
say_end() {
    echo '{"type": "system", "subtype": "init", "session_id": "s-1"}'
    echo '{"type": "result", "subtype": "success", "is_error": false, "result": "Done."}'
}
"""


def a_package(project: Project, package: Path) -> Path:
    """A program like that of an npm package: it needs a file beside it."""
    assert any(package.is_relative_to(top) for top in SHARED_FOLDERS)
    package.mkdir(parents=True)
    (package / "words.sh").write_text(WORDS)
    program = package / "cli.sh"
    program.write_text(SCRIPT.format(folder=project.folder / "x"))
    program.chmod(0o755)
    return program


def a_local_package(project: Project) -> Path:
    """What `npm install` in a folder below /tmp leaves; returns the folder of the link."""
    modules = project.folder / "x" / "node_modules"
    program = a_package(project, modules / "@anthropic-ai" / "claude-code")
    (modules / ".bin").mkdir()
    (modules / ".bin" / "claude").symlink_to(Path("..") / program.relative_to(modules))
    (project.folder / "x" / "secret.txt").write_text("private\n")
    return modules / ".bin"


def use_sandbox(project: Project, programs: Path) -> None:
    project.env["YAOKI_SANDBOX_MODE"] = "auto"
    project.env["PATH"] = f"{programs}:{project.env['PATH']}"


def a_plan(project: Project, **agent: Any) -> str:
    return project.plan(
        {
            "goal": "x",
            "agents": {"c": {"preset": "claude", **agent}},
            "agent": "c",
            "checks": {"wrote": file_contains("a.txt")},
            "tasks": [{"id": "t", "goal": "Write a.txt.", "checks": ["wrote"]}],
        }
    )


@pytest.mark.spec("14.3", "12.8")
def test_an_agent_of_node_modules_below_tmp_runs_in_the_sandbox_and_sees_nothing_else(
    project: Project,
) -> None:
    needs_bubblewrap()
    use_sandbox(project, a_local_package(project))

    tried = project.yaoki("agents", "test", "claude")
    ran = project.yaoki("run", a_plan(project))

    assert tried.code == 0, tried.out
    assert ran.code == 0, ran.out + ran.err
    assert project.git("show", f"yaoki/{project.status()['run']}:seen.txt") == "node_modules"
    assert "program: claude, in the sandbox" in tried.out


@pytest.mark.spec("14.3", "12.8", "2.2")
def test_a_program_that_the_sandbox_hides_is_refused_before_a_start(project: Project) -> None:
    """The PATH leads through a link to a folder, which is not there inside."""
    needs_bubblewrap()
    program = a_package(project, project.folder / "x" / "v1")
    program.rename(program.with_name("claude"))
    current = project.folder / "x" / "current"
    current.symlink_to("v1")
    use_sandbox(project, current)

    tried = project.yaoki("agents", "test", "claude")
    validated = project.yaoki("validate", a_plan(project))
    ran = project.yaoki("run", a_plan(project))

    words = f"claude is in {current}, which the sandbox hides"
    assert (tried.code, validated.code, ran.code) == (1, 0, 2)
    for said in (tried.out, validated.out, ran.err):
        assert words in " ".join(said.split())
        assert 'install it elsewhere, or sandbox.mode = "off" in yaoki.toml' in said
    assert "there is no run here yet" in project.yaoki("status").err
    outside = project.yaoki("run", a_plan(project), env={"YAOKI_SANDBOX_MODE": "off"})
    assert outside.code == 0, outside.out


@pytest.mark.spec("14.3", "12.8")
def test_a_script_whose_files_the_sandbox_hides_does_not_pass_its_rehearsal(
    project: Project,
) -> None:
    """The script is on the PATH by a link, so only it is shown: a run could not use it either."""
    needs_bubblewrap()
    programs = project.folder / "x" / "bin"
    programs.mkdir(parents=True)
    program = a_package(project, project.folder / "y")
    (programs / "claude").symlink_to(program)
    use_sandbox(project, programs)

    tried = project.yaoki("agents", "test", "claude")

    assert tried.code == 1, tried.out
    assert "BAD  work: failed" in tried.out
    assert "words.sh" in tried.out


@pytest.mark.spec("4.7", "9.2")
def test_the_question_about_an_agent_that_cannot_start_names_no_check(project: Project) -> None:
    program = project.folder / "claude"
    program.write_text("#!/bin/sh\necho 'claude: model not found' >&2\nexit 127\n")
    program.chmod(0o755)
    project.env["PATH"] = f"{project.folder}:{project.env['PATH']}"

    ran = project.yaoki("run", a_plan(project))

    assert ran.code == 4, ran.out + ran.err
    needs = next(line for line in ran.out.splitlines() if "needs you: the agent" in line)
    assert "wrote" not in needs
    assert "wrote:" not in project.task("t")["question"]
