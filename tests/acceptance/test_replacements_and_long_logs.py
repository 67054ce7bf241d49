"""Rows of the seeds that an outside judge found wanting, each as it was shown."""

from __future__ import annotations

import json
from itertools import pairwise
from typing import Any

import pytest

from tests.acceptance.project import Place, a_plan, writes

pytestmark = pytest.mark.acceptance
ONCE: dict[str, Any] = {"retry": {"max_retries": 0}}


def failed(place: Place, task: dict[str, Any], **checks: Any) -> None:
    plan = a_plan({"default": [writes("a.txt")]}, [{"id": "v", **task}], checks)
    assert place.yaoki("run", "--quiet", place.plan(plan)).code == 4


def extended(place: Place, name: str, of: str, env: dict[str, str] | None = None) -> Any:
    more = place.folder / f"{name}.json"
    held = {"tasks": [{"id": name, "goal": "Make it good.", "replaces": of, "checks": ["good"]}]}
    more.write_text(json.dumps(held))
    return place.yaoki("plan", "extend", str(more), env=env)


@pytest.mark.full
@pytest.mark.spec("2.6", "2.4")
def test_a_replaced_check_task_gets_the_default_agent_of_the_run(place: Place) -> None:
    """It had no agent to hand on, and the new task ended in an internal error."""
    failed(place, {"kind": "check", "checks": ["good"]}, good={"shell": "test -s good.txt"})

    assert extended(place, "w", "v").code == 0
    place.yaoki("resume", "--quiet")

    told = json.dumps(place.events("w"))
    assert "internal error" not in told
    assert "AGENT_FINISHED" in told


@pytest.mark.full
@pytest.mark.spec("2.4", "0.5")
def test_replacements_by_an_agent_are_bounded_and_those_by_a_person_are_not(place: Place) -> None:
    failed(place, {**ONCE, "checks": ["good"]}, good={"shell": "exit 1"})
    env = {"YAOKI_TASK": place.task("v")["id"], "YAOKI_ATTEMPT": "1", "YAOKI_EPOCH": "1"}
    names = ["v", *(f"w{n}" for n in range(5))]
    codes = []
    for old, new in pairwise(names):
        done = extended(place, new, old, env)
        codes.append(done.code)
        if done.code:
            break
        assert place.yaoki("resume", "--quiet").code == 4

    assert codes == [0, 0, 0, 6]
    assert "was already replaced 3 times" in done.err
    assert extended(place, "mine", names[3]).code == 0, "a person may"


@pytest.mark.full
@pytest.mark.spec("5.3", "4.4")
def test_head_and_tail_of_a_long_log_reach_the_agent(place: Place) -> None:
    long = "echo FIRST-LINE; yes filler | head -n 200000; echo LAST-LINE; exit 1"
    failed(place, {"retry": {"max_retries": 1}, "checks": ["long"]}, long={"shell": long})

    again = place.prompt(place.task("v"), 2)

    assert "FIRST-LINE" in again
    assert "LAST-LINE" in again
    cut = int(again.split("[… ")[1].split(" bytes cut")[0])
    assert 1_390_000 < cut < 1_400_021, "of everything that it printed"


@pytest.mark.full
@pytest.mark.spec("5.1", "10.3")
def test_each_consecutive_failure_is_counted_once(place: Place) -> None:
    """A held task that gets no re-run was counted once more."""
    acts = [[{"run": ["sh", "-c", "date +%N > s.txt"]}]]
    tasks = [{"id": "v", "retry": {"max_retries": 3}, "checks": ["never"]}]
    plan = a_plan({"v": acts}, tasks, {"never": {"shell": "echo no; exit 1"}})
    assert place.yaoki("run", "--quiet", place.plan(plan)).code == 4

    last = [e for e in place.events("v") if e["event"] == "ESCALATE_DECISION"][-1]

    assert last["data"]["why"]["inputs"]["same_fingerprint_in_a_row"] == place.task("v")["attempt"]
