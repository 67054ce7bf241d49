"""The expected cost of a plan is shown before it starts, with its basis."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.acceptance.project import Project, a_plan, file_contains, writes

pytestmark = [pytest.mark.acceptance, pytest.mark.spec("12.1", "10.6")]


def plan_with_costs(costs: list[list[float]]) -> dict[str, Any]:
    """Each list is a task and what its attempts cost; all of them but the last go wrong."""
    names = [f"t{n}" for n in range(len(costs))]
    script = {
        name: [_attempt(name, cost, cost is held[-1]) for cost in held]
        for name, held in zip(names, costs, strict=True)
    }
    tasks = [{"id": name, "checks": [name]} for name in names]
    return a_plan(script, tasks, {name: file_contains(f"{name}.txt") for name in names})


def _attempt(name: str, cost: float, good: bool) -> list[Any]:
    result = {"type": "result", "subtype": "success", "result": "ok", "total_cost_usd": cost}
    usage = {**result, "usage": {"input_tokens": 60, "output_tokens": 40}, "session_id": "s"}
    return [*writes(f"{name}.txt", "good\n" if good else "bad\n"), {"say": json.dumps(usage)}]


@pytest.mark.full
def test_the_expected_cost_is_unknown_before_the_first_run_and_estimated_from_it_afterwards(
    project: Project,
) -> None:
    """Three runs at 0.10, 0.20 and 0.60; two tasks landed after three attempts."""
    plan = project.plan(plan_with_costs([[0.1, 0.2], [0.6]]))

    before = project.yaoki("plan", plan)
    told_before = project.yaoki("plan", plan, "--json").document["cost"]
    made_nothing = not project.has_store()
    done = project.yaoki("run", plan, "--quiet")
    after = project.yaoki("plan", plan)
    document = project.yaoki("run", plan, "--dry-run", "--json").document

    assert done.code == 0, done.out
    assert made_nothing
    assert "expected cost unknown" in before.out
    assert "actor: 2 tasks, no run of actor yet: cost unknown" in before.out
    assert (told_before["expected"], told_before["unknown"]) == (None, ["actor"])
    worst = document["worst_case"]["total"]
    assert f"expected cost $0.60, at worst ${0.2 * worst:.2f}" in after.out
    assert "actor: 2 tasks × 1.5 attempts × $0.20, the median of its last 3 runs" in after.out
    assert document["cost"]["expected"] == pytest.approx(0.6)
    assert document["cost"]["worst"] == pytest.approx(0.2 * worst)
    assert document["cost"]["agents"][0]["attempts"] == 1.5


def test_the_cost_of_runs_without_reported_cost_is_unknown(project: Project) -> None:
    held = a_plan(
        {"a": [writes("a.txt")]}, [{"id": "a", "checks": ["a"]}], {"a": file_contains("a.txt")}
    )
    plan = project.plan(held)
    assert project.yaoki("run", plan, "--quiet").code == 0

    shown = project.yaoki("plan", plan)

    assert "expected cost unknown" in shown.out
    assert "its last run reported no cost: cost unknown" in shown.out
    assert "$" not in shown.out
