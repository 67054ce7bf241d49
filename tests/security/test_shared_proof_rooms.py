"""Proof rooms are used by many tasks: what one brings into set-up must not prove another's work."""

from __future__ import annotations

from typing import Any

import pytest

from tests.acceptance.project import SETTINGS, WHO, Place, a_plan

pytestmark = [pytest.mark.acceptance, pytest.mark.spec("16.1", "16.10", "0.1")]
# As a package manager does it: a command that is told nothing of the programs of the tree it runs.
SET_UP = [["sh", "setup.sh"]]
HONEST = "open('env/check.sh', 'w').write('grep -qx good $1\\n')\n"
CONTENT = HONEST.replace("grep -qx good $1", "exit 0")


def with_set_up(place: Place) -> None:
    files = {".gitignore": "env/\n", "gen.py": HONEST, "setup.sh": "mkdir -p env; python3 gen.py\n"}
    for name, text in files.items():
        (place.repo / name).write_text(text)
    place.settings(SETTINGS.replace("parallel = 2", "parallel = 1"))
    place.git("add", "-A")
    place.git(*WHO, "commit", "-qm", "set-up")


def test_setup_output_changed_by_one_task_does_not_verify_another(place: Place) -> None:
    with_set_up(place)
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

    done = place.yaoki("run", place.plan(plan), "--quiet")

    assert done.code == 4, done.out + done.err
    states = {task["name"]: task["state"] for task in place.status()["tasks"]}
    assert states == {"first": "ESCALATED", "second": "ESCALATED"}


@pytest.mark.full
def test_a_landed_change_of_setup_inputs_is_used_for_later_tasks(place: Place) -> None:
    with_set_up(place)
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

    done = place.yaoki("run", place.plan(a_plan(script, tasks, checks)), "--quiet")

    assert done.code == 0, done.out + done.err
