"""`[setup]` in the settings: written by `init`, used wherever a plan has no `setup` of its own.

A scripted package manager stands for the real ones: it fills `node_modules` and says how often.
"""

from __future__ import annotations

import json
import re
import tomllib
from pathlib import Path
from typing import Any

import pytest

from tests.acceptance.project import GIT_IDENTITY, SETTINGS, Project
from tests.acceptance.test_init import a_program, commit_files, programs

pytestmark = pytest.mark.acceptance

PACKAGE = {
    "scripts": {"test": "node_modules/.bin/tester"},
    "devDependencies": {"tester": "1"},
}
NODE = {
    "package.json": json.dumps(PACKAGE),
    "package-lock.json": "{}",
    ".gitignore": "node_modules\n",
}
TESTER = "echo '# tests 1'; echo '# pass 1'; echo '# fail 0'; test ! -f broken"
PROGRAMS = ("mkdir", "chmod", "test", "true", "grep", "cat", "touch")
# `npm ci` writes the tester; `npm run test` starts what package.json names.
NPM = """\
case "$1" in
  ci) echo "$PWD" >> "{log}"
      mkdir -p node_modules/.bin
      printf '#!/bin/sh\\n%s\\n' "{tester}" > node_modules/.bin/tester
      chmod +x node_modules/.bin/tester ;;
  *) exec sh -c node_modules/.bin/tester ;;
esac
"""


def install_npm(project: Project) -> tuple[dict[str, str], Path]:
    """A PATH with a scripted npm, and the file that has a line for each `npm ci`."""
    env = programs(project, *PROGRAMS)
    log = project.folder / "npm.log"
    a_program(project.folder / "bin" / "npm", NPM.format(log=log, tester=TESTER))
    return env, log


def count_installs(log: Path) -> int:
    return len(log.read_text().splitlines()) if log.exists() else 0


def a_plan(**more: Any) -> dict[str, Any]:
    agent = {"command": ["sh", "-c", "echo x > x.txt"]}
    task = {"id": "t", "goal": "Write x.txt.", "retry": {"max_retries": 0}}
    return {"goal": "x", "agents": {"a": agent}, "agent": "a", "tasks": [task], **more}


def settings(project: Project, *lines: str) -> None:
    project.settings("\n".join((SETTINGS, *lines, "")))


@pytest.mark.spec("12.3", "15")
def test_init_writes_the_setup_and_a_plan_of_three_lines_runs(project: Project) -> None:
    commit_files(project, NODE)
    env, log = install_npm(project)

    made = project.yaoki("init", env=env)
    text = (project.repo / "yaoki.toml").read_text()
    health = project.yaoki("doctor", "--checks", env=env)
    done = project.yaoki("run", project.plan(a_plan()), "--quiet", env=env)
    again = project.yaoki("init", "--again", env=env)

    assert made.code == 0, made.err
    setup = tomllib.loads(text)["setup"]
    assert setup == {"commands": [["npm", "ci", "--no-audit", "--no-fund"]]}
    assert (health.code, "green at the base" in health.out) == (0, True), health.out
    assert done.code == 0, done.out + done.err
    assert "nothing new" in again.out
    assert (project.repo / "yaoki.toml").read_text() == text
    assert count_installs(log) >= 2


@pytest.mark.spec("12.3")
def test_init_again_turns_the_setup_comment_of_an_earlier_version_into_a_setting(
    project: Project,
) -> None:
    commit_files(project, NODE)
    env, _ = install_npm(project)
    comment = (
        "# A worktree is a fresh checkout.  Add this to your plans to install the tools:\n"
        '# setup: [["npm", "ci"]]\n\n'
    )
    check = '[checks.npm-test]\nrun = ["npm", "run", "--silent", "test"]\n'
    settings(project, f"{comment}{check}")

    done = project.yaoki("init", "--again", env=env)

    text = (project.repo / "yaoki.toml").read_text()
    assert "added: set-up npm ci --no-audit --no-fund" in done.out
    assert "# setup:" not in text
    assert tomllib.loads(text)["setup"]["commands"][0][:2] == ["npm", "ci"]
    assert check in text


@pytest.mark.full
@pytest.mark.spec("15", "16.1")
def test_a_plan_uses_the_setup_of_the_settings_unless_it_has_its_own(project: Project) -> None:
    log = project.folder / "log"
    check = {"shell": "test -f made.txt && grep -qx x x.txt"}
    settings(
        project,
        "[setup]",
        f"commands = [['sh', '-c', 'echo common >> {log}; touch made.txt'], 'true one line']",
        'inputs = ["tools/**"]',
    )
    (project.repo / ".gitignore").write_text("made.txt\n")
    project.git("add", "-A")
    project.git(*GIT_IDENTITY, "commit", "-qm", "set-up")
    own = [["sh", "-c", f"echo own >> {log}; touch made.txt"]]

    common = project.yaoki("run", project.plan(a_plan(checks={"c": check})), "--quiet")
    said = log.read_text()
    spec = project.events("t")[0]["data"]["spec"]
    log.unlink()
    project.settings(SETTINGS)
    retried = project.yaoki("run", project.plan(a_plan(checks={"c": check}, setup=own)), "--quiet")
    none = project.yaoki("run", project.plan(a_plan(checks={"c": check}, setup=[])), "--quiet")

    assert common.code == 0, common.out + common.err
    assert set(said.split()) == {"common"}
    assert spec["setup"][1] == ["true", "one", "line"]
    assert spec["setup_inputs"] == ["tools/**"]
    assert retried.code == 0, retried.out + retried.err
    assert set(log.read_text().split()) == {"own"}
    assert none.code == 4, "an empty list means no set-up"


@pytest.mark.spec("15")
def test_a_defective_setup_section_is_refused_with_every_problem(project: Project) -> None:
    settings(project, "[setup]", 'commands = [[], 3, "\'"]', 'inputs = ["../x"]', 'comands = ""')

    done = project.yaoki("config", "show")
    project.settings('setup = [["npm", "ci"]]\n')
    plain = project.yaoki("config", "show")

    assert done.code == 2
    assert "setup.commands: number 1 names no program" in done.err
    assert "setup.commands: number 2 is not a command" in done.err
    assert "setup.commands: number 3 is not a command" in done.err
    assert "setup.inputs: '../x' leads out of the repository" in done.err
    assert "did you mean 'commands'?" in done.err
    assert 'must be a table: [setup] with commands = [["npm", "ci"]]' in plain.err


@pytest.mark.full
@pytest.mark.spec("12.2")
@pytest.mark.long
def test_a_long_setup_and_a_long_check_are_reported_while_they_run(project: Project) -> None:
    """A pipe gets a line after five seconds, and not one for each second."""
    slow = {"run": ["sh", "-c", "sleep 6.5; test -f x.txt"]}
    setup = [["sh", "-c", "sleep 7"]]

    done = project.yaoki("run", project.plan(a_plan(checks={"slow": slow}, setup=setup)))

    lines = done.out.splitlines()
    assert done.code == 0, done.out + done.err
    words = "t  attempt 1  preparing: sh -c 'sleep 7' (for "
    preparing = [line for line in lines if words in line and line.endswith(" s")]
    assert 2 <= len(preparing) <= 4
    assert any("(for its new worktree) ... " in line for line in preparing)
    assert any(re.search(r"\(for proof room \w+: first use\) \.\.\. ", line) for line in preparing)
    assert len([line for line in lines if "t  attempt 1  check slow ... " in line]) == 1


# ------------------------------------------------------------------ dependencies of worktrees


def tasks_of(*names: str, **more: Any) -> list[dict[str, Any]]:
    return [
        {"id": name, "goal": "x", "retry": {"max_retries": 0}, "agent": name, **more}
        for name in names
    ]


def a_plan_for(commands: dict[str, str], **more: Any) -> dict[str, Any]:
    """One task for each agent."""
    agents = {name: {"command": ["sh", "-c", command]} for name, command in commands.items()}
    return {"goal": "x", "agents": agents, "tasks": tasks_of(*commands), **more}


CI = '[setup]\ncommands = [["npm", "ci"]]\n'
NPM_TEST = '[checks.npm-test]\nrun = ["npm", "run", "test"]\n'


def a_node_project(project: Project, *more: str, npm: str = "") -> tuple[dict[str, str], Path]:
    commit_files(project, NODE)
    env, log = install_npm(project)
    if npm:
        a_program(project.folder / "bin" / "npm", NPM.format(log=log, tester=TESTER) + npm)
    settings(project, CI, NPM_TEST, *more)
    return env, log


@pytest.mark.spec("16.1")
def test_dependencies_are_installed_once_for_all_worktrees_and_proofs(project: Project) -> None:
    """Another lock file is another set-up."""
    env, log = a_node_project(project)
    see = "test -x node_modules/.bin/tester && echo x > $0.txt"
    plan = a_plan_for({name: see.replace("$0", name) for name in ("a", "b", "c")})
    changed = a_plan_for({"d": f"echo '{{ }}' > package-lock.json; {see.replace('$0', 'd')}"})
    changed["tasks"][0]["scope"] = ["package-lock.json", "d.txt"]

    done = project.yaoki("run", project.plan(plan), "--quiet", env=env)
    installs = count_installs(log)
    other = project.yaoki("run", project.plan(changed), "--quiet", env=env)

    assert done.code == 0, done.out + done.err
    assert installs == 1
    assert other.code == 0, other.out + other.err
    assert count_installs(log) == 2, "in the proof room of the new lock file"


@pytest.mark.spec("16.1", "0.1")
def test_an_agent_that_writes_into_its_dependencies_changes_no_proof(project: Project) -> None:
    """The file is written in place: with a hard link the proof would have it, too."""
    env, log = a_node_project(project)
    cheat = "printf '#!/bin/sh\\nexit 0\\n' > node_modules/.bin/tester; touch broken"
    plan = a_plan_for({"cheat": cheat, "honest": "echo x > x.txt"})
    plan["tasks"][1]["needs"] = []

    done = project.yaoki("run", project.plan(plan), "--quiet", env=env)

    assert done.code == 4, done.out + done.err
    assert project.task("cheat")["state"] == "ESCALATED"
    assert project.task("honest")["state"] == "DONE"
    assert count_installs(log) == 1


@pytest.mark.full
@pytest.mark.spec("16.1")
@pytest.mark.parametrize(
    ("extra", "installs"),
    [
        ("ln -s $PWD/package.json node_modules/link; pwd > node_modules/text", 1),
        ("{ pwd; printf '\\000'; } > node_modules/binary", 2),
    ],
    ids=["text and link", "binary"],
)
def test_paths_of_the_checkout_are_corrected_or_the_setup_runs_again(
    project: Project, extra: str, installs: int
) -> None:
    env, log = a_node_project(project, npm=f'test "$1" = ci && {{ {extra}; }}\n')
    for name in ("ln", "pwd", "readlink"):
        link = project.folder / "bin" / name
        if not link.exists():
            link.symlink_to(f"/bin/{name}")
    look = (
        "for f in node_modules/text node_modules/binary; do test ! -f $f || "
        'grep -qF "$PWD" $f || exit 9; done; '
        'test ! -L node_modules/link || test "$(readlink node_modules/link)" = '
        '"$PWD/package.json" || exit 8; echo x > x.txt'
    )

    done = project.yaoki("run", project.plan(a_plan_for({"t": look})), "--quiet", env=env)

    assert done.code == 0, done.out + done.err
    assert count_installs(log) == installs


@pytest.mark.spec("15")
def test_without_copies_every_worktree_installs_its_dependencies(project: Project) -> None:
    env, log = a_node_project(project)
    settings(project, CI + "copy = false\n", NPM_TEST)

    done = project.yaoki("run", project.plan(a_plan_for({"t": "echo x > x.txt"})), env=env)

    assert done.code == 0, done.out + done.err
    assert count_installs(log) == 2
