"""Replacements, their bounds, and long logs in prompts."""

from __future__ import annotations

import json
from itertools import pairwise
from typing import Any

import pytest

from tests.acceptance.project import Project, a_plan, writes

pytestmark = pytest.mark.acceptance
ONCE: dict[str, Any] = {"retry": {"max_retries": 0}}


def run_failing_task(project: Project, task: dict[str, Any], **checks: Any) -> None:
    plan = a_plan({"default": [writes("a.txt")]}, [{"id": "v", **task}], checks)
    assert project.yaoki("run", "--quiet", project.plan(plan)).code == 4


def extend_run(project: Project, name: str, of: str, env: dict[str, str] | None = None) -> Any:
    more = project.folder / f"{name}.json"
    held = {"tasks": [{"id": name, "goal": "Make it good.", "replaces": of, "checks": ["good"]}]}
    more.write_text(json.dumps(held))
    return project.yaoki("plan", "extend", str(more), env=env)


@pytest.mark.full
@pytest.mark.spec("2.6", "2.4")
def test_a_replaced_check_task_gets_the_default_agent_of_the_run(project: Project) -> None:
    """Formerly the replacement had no agent and ended in an internal error."""
    run_failing_task(
        project, {"kind": "check", "checks": ["good"]}, good={"shell": "test -s good.txt"}
    )

    assert extend_run(project, "w", "v").code == 0
    project.yaoki("resume", "--quiet")

    entries = json.dumps(project.events("w"))
    assert "internal error" not in entries
    assert "AGENT_FINISHED" in entries


@pytest.mark.full
@pytest.mark.spec("2.4", "0.5")
def test_replacements_by_an_agent_are_bounded_and_those_by_a_person_are_not(
    project: Project,
) -> None:
    run_failing_task(project, {**ONCE, "checks": ["good"]}, good={"shell": "exit 1"})
    env = {"YAOKI_TASK": project.task("v")["id"], "YAOKI_ATTEMPT": "1", "YAOKI_EPOCH": "1"}
    names = ["v", *(f"w{n}" for n in range(5))]
    codes = []
    for old, new in pairwise(names):
        done = extend_run(project, new, old, env)
        codes.append(done.code)
        if done.code:
            break
        assert project.yaoki("resume", "--quiet").code == 4

    assert codes == [0, 0, 0, 6]
    assert "was already replaced 3 times" in done.err
    assert extend_run(project, "mine", names[3]).code == 0, "a person may"


@pytest.mark.full
@pytest.mark.spec("5.3", "4.4", "5.1", "10.3")
def test_head_and_tail_of_a_long_log_reach_the_agent_and_each_failure_is_counted_once(
    project: Project,
) -> None:
    """Formerly a task without a rerun was counted twice."""
    long = "echo FIRST-LINE; yes filler | head -n 200000; echo LAST-LINE; exit 1"
    acts = [[{"run": ["sh", "-c", "date +%N > s.txt"]}]]
    tasks = [
        {"id": "long", "retry": {"max_retries": 1}, "checks": ["long"]},
        {"id": "v", "retry": {"max_retries": 1}, "checks": ["never"]},
    ]
    checks = {"long": {"shell": long}, "never": {"shell": "echo no; exit 1"}}
    plan = a_plan({"long": [writes("a.txt")], "v": acts}, tasks, checks)
    assert project.yaoki("run", "--quiet", project.plan(plan)).code == 4

    again = project.prompt(project.task("long"), 2)
    last = [e for e in project.events("v") if e["event"] == "ESCALATE_DECISION"][-1]

    assert "FIRST-LINE" in again
    assert "LAST-LINE" in again
    cut = int(again.split("[… ")[1].split(" bytes cut")[0])
    assert 1_390_000 < cut < 1_400_021, "of everything that it printed"
    in_a_row = last["data"]["why"]["inputs"]["same_fingerprint_in_a_row"]
    assert in_a_row == project.task("v")["attempt"] == 2
