"""`yaoki plan recheck` names what a person changed in the plan and a run cannot take over."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.acceptance.project import Project, a_plan, file_contains, writes

pytestmark = [pytest.mark.acceptance, pytest.mark.spec("2.6", "10.4")]


def test_a_changed_key_of_the_plan_and_a_removed_task_are_named(project: Project) -> None:
    """A person who added `done_when` believed that the run would check it."""
    tasks: list[dict[str, Any]] = [
        {"id": "one", "checks": ["one"], "retry": {"max_retries": 0}},
        {"id": "two", "needs": ["one"], "checks": ["one"]},
    ]
    checks = {"one": file_contains("one.txt")}
    plan = a_plan({"one": [writes("other.txt")]}, tasks, checks)
    assert project.yaoki("run", project.plan(plan), "--quiet").code == 4
    changed = {**plan, "goal": "Rehearse more", "done_when": ["one"], "tasks": plan["tasks"][:1]}
    (project.folder / "plan.json").write_text(json.dumps(changed))

    refused = project.yaoki("plan", "recheck")
    changed["checks"] = {"one": file_contains("other.txt")}
    (project.folder / "plan.json").write_text(json.dumps(changed))
    taken = project.yaoki("plan", "recheck")

    words = "the plan (goal, done_when), two (no longer in the plan)"
    assert refused.code == 6, refused.err
    assert f"only a new run applies what else changed: {words}" in " ".join(refused.err.split())
    assert taken.code == 0, taken.err
    assert f"not taken over: {words}; only a new run" in " ".join(taken.out.split())
