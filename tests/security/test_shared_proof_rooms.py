"""Shared proof rooms: set-up output of one task must not verify the work of another."""

from __future__ import annotations

from typing import Any

import pytest

from tests.acceptance.project import GIT_IDENTITY, SETTINGS, Project, a_plan

pytestmark = [pytest.mark.acceptance, pytest.mark.spec("16.1", "16.10", "0.1")]
# As with a package manager: a command that does not name the programs it runs.
SET_UP = [["sh", "setup.sh"]]
HONEST = "open('env/check.sh', 'w').write('grep -qx good $1\\n')\n"
CONTENT = HONEST.replace("grep -qx good $1", "exit 0")


def commit_setup_files(project: Project) -> None:
    files = {".gitignore": "env/\n", "gen.py": HONEST, "setup.sh": "mkdir -p env; python3 gen.py\n"}
    for name, text in files.items():
        (project.repo / name).write_text(text)
    project.settings(SETTINGS.replace("parallel = 2", "parallel = 1"))
    project.git("add", "-A")
    project.git(*GIT_IDENTITY, "commit", "-qm", "set-up")


def test_setup_output_changed_by_one_task_does_not_verify_another(project: Project) -> None:
    commit_setup_files(project)
    script = {
        "first": [[{"write": {"gen.py": CONTENT, "first.txt": "good\n"}}]],
        "second": [[{"write": {"second.txt": "bad\n"}}]],
    }
    checks: dict[str, Any] = {n: {"run": ["sh", "env/check.sh", f"{n}.txt"]} for n in script}
    checks["never"] = {"shell": "false"}
    tasks = [
        {"id": name, "setup": SET_UP, "checks": [name, *more], "retry": {"max_retries": 0}}
        for name, more in {"first": ["never"], "second": []}.items()
    ]
    plan = a_plan(script, tasks, checks)

    done = project.yaoki("run", project.plan(plan), "--quiet")

    assert done.code == 4, done.out + done.err
    states = {task["name"]: task["state"] for task in project.status()["tasks"]}
    assert states == {"first": "ESCALATED", "second": "ESCALATED"}


@pytest.mark.full
def test_a_landed_change_of_setup_inputs_is_used_for_later_tasks(project: Project) -> None:
    commit_setup_files(project)
    inputs = "mkdir -p env; python3 gen.py; echo 2 > env/version\n"
    script = {
        "first": [[{"write": {"setup.sh": inputs, "a.txt": "good\n"}}]],
        "second": [[{"write": {"b.txt": "good\n"}}]],
    }
    new = {"shell": "sh env/check.sh a.txt && grep -qx 2 env/version"}
    checks = {"a": new, "b": {"shell": f"{new['shell']} && sh env/check.sh b.txt"}}
    scope = ["setup.sh", "a.txt"]
    tasks = [
        {"id": "first", "setup": SET_UP, "checks": ["a"], "scope": scope},
        {"id": "second", "setup": SET_UP, "checks": ["b"], "needs": ["first"]},
    ]

    done = project.yaoki("run", project.plan(a_plan(script, tasks, checks)), "--quiet")

    assert done.code == 0, done.out + done.err
