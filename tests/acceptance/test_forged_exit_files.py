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


def plan_with_agent_script(project: Project, script: str, check: str) -> str:
    file = project.folder / "agent.sh"
    file.write_text(script)
    agents = {"sly": {"command": ["sh", str(file)], "prompt": "file"}}
    plan = a_plan(
        {}, [{"id": "a", "checks": ["c"], "retry": {"max_retries": 0}}], {"c": {"shell": check}}
    )
    return project.plan({**plan, "agents": agents, "agent": "sly"})


@pytest.mark.full
@pytest.mark.parametrize("first", ["true", "rm -f {attempt}/started.json"], ids=["", "unstarted"])
def test_files_present_only_while_a_check_runs_do_not_count(project: Project, first: str) -> None:
    """It survives its forged end and provides good files only during the check."""
    attempt = '"$(dirname "$YAOKI_PROMPT_FILE")"'
    script = f"""
echo BAD > f.txt
{first.format(attempt=attempt)}
{forge_exit(attempt)}
for i in $(seq 200); do
  if ls {attempt}/checks/* >/dev/null 2>&1; then
    echo GOOD > f.txt; sleep 0.6; echo BAD > f.txt; sleep 3; exit 0
  fi
  sleep 0.02
done
"""
    looks = "sleep 0.3; grep -qx GOOD f.txt; code=$?; sleep 1; exit $code"
    plan = plan_with_agent_script(project, script, looks)

    done = project.yaoki("run", plan, "--quiet")

    assert done.code == 4, done.out
    assert project.task("a")["landed"] is None


@pytest.mark.full
def test_a_failing_check_that_forges_its_exit_file_has_failed(project: Project) -> None:
    folder = '"$(dirname "$YAOKI_REPORT")"'
    script = f"cat > helper.sh <<'END'\n{forge_exit(folder)}; sleep 1\nEND\n"
    plan = plan_with_agent_script(project, script, "sh ./helper.sh; exit 1")

    done = project.yaoki("run", plan, "--quiet")

    assert done.code == 4, done.out
    assert project.task("a")["landed"] is None


@pytest.mark.quick_cases(1)
@pytest.mark.parametrize("text", ['{"x": 1}', "[]", "{", '{"code": "0"}'])
def test_an_invalid_exit_file_is_ignored(project: Project, text: str, tmp_path: Path) -> None:
    attempt = '"$(dirname "$YAOKI_PROMPT_FILE")"'
    words = tmp_path / "exit"
    words.write_text(text)
    script = f"echo good > f.txt; cp {words} {attempt}/exit.json; sleep 0.5"

    done = project.yaoki(
        "run", plan_with_agent_script(project, script, "grep -qx good f.txt"), "--quiet"
    )

    assert done.code == 0, done.out + done.err
    assert "internal error" not in done.out + done.err


@pytest.mark.full
def test_the_shim_does_not_write_through_a_symbolic_link(project: Project) -> None:
    mine = project.folder / "mine.txt"
    mine.write_text("precious\n")
    attempt = '"$(dirname "$YAOKI_PROMPT_FILE")"'
    links = "; ".join(f"ln -sf {mine} {attempt}/{name}.json.tmp" for name in ("exit", "beat"))
    script = f"echo good > f.txt; {links}; sleep 1.2"

    done = project.yaoki(
        "run", plan_with_agent_script(project, script, "grep -qx good f.txt"), "--quiet"
    )

    assert done.code == 0, done.out + done.err
    assert mine.read_text() == "precious\n"
