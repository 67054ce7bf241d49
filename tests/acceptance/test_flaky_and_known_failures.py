"""Whose fault it is: flaky checks, a red base, and what a task was to mend."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.acceptance.project import WHO, Place, a_plan, holds, writes
from tests.acceptance.test_agent_failures import carried, events

pytestmark = pytest.mark.acceptance

TESTS = """\
import unittest


class Old(unittest.TestCase):
    def test_old(self):
        self.assertEqual(open("old.txt").read(), "good\\n")

    def test_new(self):
        self.assertEqual(open("new.txt").read(), "good\\n")
"""


@pytest.mark.full
@pytest.mark.spec("6.5")
def test_a_check_that_passes_when_rerun_is_flaky_and_does_not_fail_the_task(
    place: Place, tmp_path: Path
) -> None:
    once = tmp_path / "once"
    shaky = {"shell": f"test -e {once} || {{ touch {once}; exit 1; }}"}

    code, task, entries = carried(place, {"a": [writes("a.txt")]}, {}, checks={"shaky": shaky})

    assert (code, task["attempt"]) == (0, 1)
    assert [d["outcome"] for d in events(entries, "CHECK_FINISHED")] == ["FLAKY"]
    assert "then passed" in events(entries, "CHECK_FINISHED")[0]["message"]


@pytest.mark.full
@pytest.mark.spec("6.5")
def test_a_check_with_rerun_false_is_not_rerun(place: Place, tmp_path: Path) -> None:
    once = tmp_path / "once"
    shaky = {"shell": f"test -e {once} || {{ touch {once}; exit 1; }}", "rerun": False}

    code, task, _ = carried(place, {"a": [writes("a.txt")]}, {}, checks={"shaky": shaky})

    assert (code, task["attempt"]) == (0, 2)


def red_base(place: Place, **check: Any) -> dict[str, Any]:
    """test_old fails at the base; test_new passes as long as nobody breaks it."""
    (place.repo / "test_it.py").write_text(TESTS)
    (place.repo / "old.txt").write_text("bad\n")
    (place.repo / "new.txt").write_text("good\n")
    place.git("add", "-A")
    place.git(*WHO, "commit", "-qm", "red")
    run = ["python3", "-m", "unittest", "-q", "test_it"]
    return {"tests": {"run": run, "pattern": "test-failed", **check}, "good": holds("a.txt")}


@pytest.mark.full
@pytest.mark.spec("6.4")
def test_a_failure_of_the_base_is_reported_and_does_not_fail_the_task(place: Place) -> None:
    checks = red_base(place, baseline="known")

    code, task, entries = carried(place, {"a": [writes("a.txt")]}, {}, checks=checks)

    assert (code, task["attempt"]) == (0, 1)
    told = next(d for d in events(entries, "CHECK_FINISHED") if d["check"] == "tests")
    assert told["outcome"] == "PASSED"
    assert "at the base already" in told["message"]
    assert "test_old" in told["message"]


@pytest.mark.full
@pytest.mark.spec("6.4")
def test_the_plan_shows_checks_that_fail_at_the_base_and_the_tasks_they_affect(
    place: Place,
) -> None:
    checks = red_base(place, baseline="known")
    plan = place.plan(a_plan({"a": [writes("a.txt")]}, [{"id": "a"}], checks))

    shown = place.yaoki("plan", plan, "--baseline")
    document = place.yaoki("plan", plan, "--baseline", "--json").document

    assert shown.code == 0, shown.err
    assert "FAILED tests: 1 test failed" in shown.out
    assert "affects a" in shown.out
    assert {b["check"]: b["outcome"] for b in document["baseline"]} == {
        "tests": "FAILED",
        "good": "FAILED",
    }
    assert not (place.repo / ".yaoki").exists(), "looking stores nothing"
    assert place.git("worktree", "list").count("\n") == 0


@pytest.mark.full
@pytest.mark.spec("6.4", "0.6")
def test_each_check_at_the_base_runs_with_the_setup_of_its_task(place: Place) -> None:
    """Only the first task's set-up ran, so the checks of the second were shown as red."""
    tasks: list[dict[str, Any]] = [
        {"id": "a", "checks": ["one"], "setup": [["sh", "-c", "echo good > one.txt"]]},
        {"id": "b", "checks": ["two"], "setup": [["sh", "-c", "echo good > two.txt"]]},
        {"id": "c", "checks": ["bare"]},
    ]
    checks = {
        "one": holds("one.txt"),
        "two": holds("two.txt"),
        "bare": {"shell": "! test -e one.txt"},
        "end": {"shell": "test -e one.txt && test -e two.txt"},
    }
    plan = place.plan(a_plan({}, tasks, checks, done_when=["end"]))

    document = place.yaoki("plan", plan, "--baseline", "--json").document

    found = {b["check"]: b["outcome"] for b in document["baseline"]}
    assert found == dict.fromkeys(checks, "PASSED")


@pytest.mark.full
@pytest.mark.spec("6.4", "4.8", "0.6")
@pytest.mark.parametrize(
    ("setup", "words"),
    [
        (["sh", "-c", "echo no network >&2; exit 3"], "ended with 3: no network"),
        (["no-such-tool"], "cannot run no-such-tool"),
    ],
)
def test_a_failed_setup_leaves_the_check_undecided_at_the_base(
    place: Place, setup: list[str], words: str
) -> None:
    """Its exit code was ignored, and what merely lacked its set-up was shown as red."""
    first: dict[str, Any] = {"id": "a", "checks": ["one"], "setup": [setup]}
    tasks = [first, {"id": "b", "checks": ["two"]}]
    plan = place.plan(a_plan({}, tasks, {"one": holds("one.txt"), "two": {"shell": "ls README"}}))

    document = place.yaoki("plan", plan, "--baseline", "--json").document

    found = {b["check"]: b for b in document["baseline"]}
    assert {name: b["outcome"] for name, b in found.items()} == {"one": "BROKEN", "two": "PASSED"}
    assert words in found["one"]["message"]


@pytest.mark.spec("6.4")
def test_only_new_failures_are_sent_back_to_the_agent(place: Place) -> None:
    checks = red_base(place, baseline="known")
    breaks = [{"write": {"a.txt": "good\n", "new.txt": "broken\n"}}]
    mends = [{"write": {"new.txt": "good\n"}}]

    code, task, _ = carried(place, {"a": [breaks, mends]}, {}, checks=checks)

    assert (code, task["attempt"]) == (0, 2)
    prompt = place.prompt(task, 2)
    assert "test_new" in prompt
    assert "test_old" not in prompt


@pytest.mark.full
@pytest.mark.spec("6.4")
@pytest.mark.parametrize(
    ("check", "task"), [({"baseline": "known"}, {"fixes": ["*test_old*"]}), ({}, {})]
)
def test_a_failure_that_the_task_must_fix_is_not_excused_by_the_base(
    place: Place, check: dict[str, Any], task: dict[str, Any]
) -> None:
    checks = red_base(place, **check)
    mends = [{"write": {"a.txt": "good\n", "old.txt": "good\n"}}]

    code, ended, _ = carried(place, {"a": [writes("a.txt"), mends]}, task, checks=checks)

    assert (code, ended["attempt"]) == (0, 2)
    assert "test_old" in place.prompt(ended, 2)


@pytest.mark.full
@pytest.mark.spec("5.4", "12.1")
def test_a_task_with_a_wait_of_hours_pauses_the_run_across_a_restart(place: Place) -> None:
    limit = [{"rate_limit": {"retry_after": 30_000}}]
    script = {"a": [limit, writes("a.txt")], "b": [[{"sleep": 0.2}, *writes("b.txt")]]}
    checks = {"good": holds("a.txt"), "other": holds("b.txt")}
    tasks = [{"id": "a", "checks": ["good"]}, {"id": "b", "checks": ["other"], "agent": "second"}]
    plan = a_plan(script, tasks, checks)
    plan["agents"]["second"] = {**plan["agents"]["actor"], "account": "another"}

    first = place.yaoki("run", place.plan(plan))
    again = place.yaoki("resume")

    assert (first.code, again.code) == (5, 5), first.out + first.err
    assert "  waiting: a: next try in " in first.out
    states = {t["name"]: (t["state"], t["attempt"]) for t in place.status()["tasks"]}
    assert states == {"a": ("WAITING", 1), "b": ("DONE", 1)}
    assert "5.4" in place.yaoki("why", "a").out
