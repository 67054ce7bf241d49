"""`[setup]` in the settings: written by `init`, used wherever a plan has no `setup` of its own.

A scripted package manager stands for the real ones: it fills `node_modules` and says how often.
"""

from __future__ import annotations

import json
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
    (project.repo / "yaoki.toml").write_text(SETTINGS)
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
    assert "setup.commands: number 2 is no command" in done.err
    assert "setup.commands: number 3 is no command" in done.err
    assert "setup.inputs: '../x' leads out of the repository" in done.err
    assert "did you mean 'commands'?" in done.err
    assert 'must be a table: [setup] with commands = [["npm", "ci"]]' in plain.err


@pytest.mark.spec("12.2")
def test_a_long_setup_and_a_long_check_are_reported_while_they_run(project: Project) -> None:
    """A pipe gets a line after five seconds, and not one for each second."""
    slow = {"run": ["sh", "-c", "sleep 6.5; test -f x.txt"]}
    setup = [["sh", "-c", "sleep 7"]]

    done = project.yaoki("run", project.plan(a_plan(checks={"slow": slow}, setup=setup)))

    lines = done.out.splitlines()
    assert done.code == 0, done.out + done.err
    preparing = [line for line in lines if "t  attempt 1  preparing: sh -c 'sleep 7' ... " in line]
    assert 1 <= len(preparing) <= 2
    assert preparing[0].endswith(" s")
    assert len([line for line in lines if "t  attempt 1  checking: slow ... " in line]) == 1
