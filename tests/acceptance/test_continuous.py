"""Continuous mode: iterate until done_when holds, within bounds that a restart does not move."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.acceptance.project import Place, a_plan, holds, until

ENOUGH = {"shell": 'test "$(cat count.txt 2>/dev/null | wc -l)" -ge 3'}


def growing(script: dict[str, Any], **bounds: Any) -> dict[str, Any]:
    """Each iteration adds a line; three are enough."""
    more = {"append": {"count.txt": "line\n"}}
    full = {f"grow-i{n}": [[more]] for n in range(2, 15)}
    return a_plan(
        {"grow": [[more]], **full, **script},
        [{"id": "grow", "checks": ["some"]}],
        {"some": {"shell": "test -s count.txt"}, "enough": ENOUGH},
        done_when=["enough"],
        continuous=bounds,
    )


def iterations(place: Place) -> list[dict[str, Any]]:
    found = place.events()
    return [e["data"] for e in found if e["event"] == "ITERATION_FINISHED"]


@pytest.mark.acceptance
@pytest.mark.spec("9.7", "9.3")
def test_a_continuous_run_iterates_until_done_when_passes(place: Place) -> None:
    done = place.yaoki("run", place.plan(growing({})), "--quiet")

    assert done.code == 0, done.out + done.err
    assert [data["iteration"] for data in iterations(place)] == [1, 2, 3]
    assert iterations(place)[-1]["reason"] == "done_when holds"
    assert {data["commit"] for data in iterations(place)} == {"committed"}
    branch = place.status()["run_branch"]
    assert place.show(branch, "count.txt").split() == ["line"] * 3


@pytest.mark.full
@pytest.mark.acceptance
@pytest.mark.spec("9.7", "0.4")
def test_a_continuous_run_stops_at_its_iteration_limit(place: Place) -> None:
    done = place.yaoki("run", place.plan(growing({}, max_iterations=2)), "--quiet")

    assert done.code == 4, done.out + done.err
    names = [t["name"] for t in place.status()["tasks"] if not t["name"].startswith("done_when")]
    assert names == ["grow", "grow-i2"]


@pytest.mark.full
@pytest.mark.acceptance
@pytest.mark.spec("9.7", "10.4")
def test_a_continuous_run_pauses_after_a_failed_iteration_until_it_is_answered(
    place: Place,
) -> None:
    bad = {"grow-i2": [[{"write": {"count.txt": ""}}]]}
    plan = growing(bad)
    plan["tasks"][0]["retry"] = {"max_retries": 0}

    paused = place.yaoki("run", place.plan(plan), "--quiet")

    assert paused.code == 4, paused.out + paused.err
    stands = place.status()
    assert stands["status"] == "PAUSED"
    assert "iteration 2 failed: grow-i2" in paused.out
    assert place.yaoki("resume", "--quiet").code == 4, "nobody has answered"
    assert len(iterations(place)) == 2


@pytest.mark.full
@pytest.mark.acceptance
@pytest.mark.spec("9.7", "0.4")
def test_three_consecutive_failed_iterations_end_a_continuous_run(place: Place) -> None:
    bad = {f"grow-i{n}": [[{"write": {"count.txt": ""}}]] for n in range(2, 15)}
    plan = growing({**bad, "grow": [[{"write": {"count.txt": ""}}]]}, pause_on_failure=False)
    plan["tasks"][0]["retry"] = {"max_retries": 0}

    done = place.yaoki("run", place.plan(plan), "--quiet")

    assert done.code == 4, done.out + done.err
    assert [data["decision"] for data in iterations(place)] == ["next", "next", "stop"]
    assert iterations(place)[-1]["reason"] == "3 iterations in a row failed"
    names = [t["name"] for t in place.status()["tasks"]]
    assert "grow-i3" in names
    assert "grow-i4" not in names


@pytest.mark.full
@pytest.mark.acceptance
@pytest.mark.spec("9.7", "0.3")
def test_no_iteration_is_counted_twice_after_a_kill(place: Place) -> None:
    plan = growing(
        {
            f"grow-i{n}": [[{"sleep": 0.4}, {"append": {"count.txt": "line\n"}}]]
            for n in range(2, 15)
        }
    )
    file = place.plan(plan)
    run = place.start("run", file, "--quiet")
    until(lambda: "grow-i2" in place.look("status", "--json").out, "the second began")
    run.kill()
    run.communicate()

    done = place.yaoki("resume", "--quiet")

    assert done.code == 0, done.out + done.err
    assert [data["iteration"] for data in iterations(place)] == [1, 2, 3]
    branch = place.status()["run_branch"]
    assert place.show(branch, "count.txt").split() == ["line"] * 3


@pytest.mark.full
@pytest.mark.acceptance
@pytest.mark.spec("9.7", "2.3")
def test_a_planner_plans_each_iteration(place: Place) -> None:
    def says(name: str) -> list[Any]:
        task = {"id": name, "goal": "Go on.", "checks": ["some"]}
        return [{"say": json.dumps({"tasks": [task], "reason": "x"})}]

    more = [[{"append": {"count.txt": "line\n"}}]]
    script = {
        "iteration-2": [says("second")],
        "iteration-3": [says("third")],
        "second": more,
        "third": more,
    }
    plan = growing(script)
    plan["planner"] = "actor"

    done = place.yaoki("run", place.plan(plan), "--quiet")

    assert done.code == 0, done.out + done.err
    names = [t["name"] for t in place.status()["tasks"] if not t["name"].startswith("done_when")]
    assert names == ["grow", "iteration-2", "second", "iteration-3", "third"]


@pytest.mark.full
@pytest.mark.acceptance
@pytest.mark.spec("9.7")
def test_an_iteration_without_changes_reports_nothing_to_commit(place: Place) -> None:
    plan = growing({f"grow-i{n}": [["nothing"]] for n in range(2, 15)}, max_iterations=2)
    plan["checks"]["some"] = holds("README", "hello")
    for task in plan["tasks"]:
        task["may_change_nothing"] = True

    place.yaoki("run", place.plan({**plan, "continuous": {"max_iterations": 3}}), "--quiet")

    nothing = "nothing to commit"
    assert [data["commit"] for data in iterations(place)] == ["committed", nothing, nothing]
