"""Forged exit files: an agent that claims to have ended, a check that claims to have passed."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.acceptance.project import Project, a_plan

pytestmark = pytest.mark.spec("0.1", "3.8", "4.1")
EXIT = {
    "code": 0,
    "signal": None,
    "ended_by": "",
    "seconds": 1.0,
    "output_bytes": 0,
    "start_error": "",
    "start_errno": 0,
}


def forge_exit(folder: str) -> str:
    return f"printf '%s' '{json.dumps(EXIT)}' > {folder}/exit.json"


def plan_with_agent_scripts(project: Project, **scripts: tuple[str, str]) -> str:
    """A task for each pair of an agent's script and a check."""
    once = {"retry": {"max_retries": 0}}
    tasks = [{"id": name, "agent": name, "checks": [name], **once} for name in scripts]
    plan = a_plan({}, tasks, {name: {"shell": check} for name, (_, check) in scripts.items()})
    del plan["agent"]
    plan["agents"] = {}
    for name, (script, _) in scripts.items():
        file = project.folder / f"{name}.sh"
        file.write_text(script)
        plan["agents"][name] = {"command": ["sh", str(file)], "prompt": "file"}
    return project.plan(plan)


ATTEMPT = '"$(dirname "$YAOKI_PROMPT_FILE")"'
# It survives its forged end and provides good files only during the check.
SURVIVES = f"""
{forge_exit(ATTEMPT)}
for i in $(seq 80); do
  if ls {ATTEMPT}/checks/* >/dev/null 2>&1; then
    echo GOOD > f.txt; sleep 0.6; echo BAD > f.txt; sleep 3; exit 0
  fi
  sleep 0.05
done
"""


@pytest.mark.full
def test_a_forged_exit_file_of_an_agent_or_of_a_check_does_not_count(project: Project) -> None:
    """Two agents that are there while their check runs, and a failing check that forges its end."""
    looks = "sleep 0.3; grep -qx GOOD f.txt; code=$?; sleep 1; exit $code"
    folder = '"$(dirname "$YAOKI_REPORT")"'
    helper = f"cat > helper.sh <<'END'\n{forge_exit(folder)}; sleep 1\nEND\n"
    plan = plan_with_agent_scripts(
        project,
        survives=(f"echo BAD > f.txt{SURVIVES}", looks),
        unstarted=(f"echo BAD > f.txt; rm -f {ATTEMPT}/started.json{SURVIVES}", looks),
        check=(helper, "sh ./helper.sh; exit 1"),
    )

    done = project.yaoki("run", plan, "--quiet", "--parallel", "3")

    assert done.code == 4, done.out
    landed = {task["name"]: task["landed"] for task in project.status()["tasks"]}
    assert landed == {"survives": None, "unstarted": None, "check": None}


def test_an_invalid_exit_file_is_ignored(project: Project, tmp_path: Path) -> None:
    """Other invalid ones are read in tests/adapters/processes."""
    words = tmp_path / "exit"
    words.write_text('{"x": 1}')
    script = f"echo good > f.txt; cp {words} {ATTEMPT}/exit.json; sleep 0.5"

    plan = plan_with_agent_scripts(project, a=(script, "grep -qx good f.txt"))
    done = project.yaoki("run", plan, "--quiet")

    assert done.code == 0, done.out + done.err
    assert "internal error" not in done.out + done.err


@pytest.mark.full
def test_the_shim_does_not_write_through_a_symbolic_link(project: Project) -> None:
    mine = project.folder / "mine.txt"
    mine.write_text("precious\n")
    links = "; ".join(f"ln -sf {mine} {ATTEMPT}/{name}.json.tmp" for name in ("exit", "beat"))
    script = f"echo good > f.txt; {links}; sleep 1.2"

    plan = plan_with_agent_scripts(project, a=(script, "grep -qx good f.txt"))
    done = project.yaoki("run", plan, "--quiet")

    assert done.code == 0, done.out + done.err
    assert mine.read_text() == "precious\n"
