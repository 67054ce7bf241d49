"""Limits of what agents may use up, and the notices that tell people of it."""

from __future__ import annotations

import json
import re
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from tests.acceptance.project import SETTINGS, Place, a_plan, holds, until, writes

RECORD = """\
import json, pathlib, sys
with open(sys.argv[1], "a") as file:
    file.write(json.dumps(json.load(sys.stdin)) + "\\n")
"""


def costing(names: str, cost: float) -> dict[str, Any]:
    """Tasks of an agent that tells what each run costs, in the words of a known agent."""
    result = {"type": "result", "subtype": "success", "result": "ok", "total_cost_usd": cost}
    usage = {**result, "usage": {"input_tokens": 60, "output_tokens": 40}, "session_id": "s"}
    script = {n: [[*writes(f"{n}.txt"), {"say": json.dumps(usage)}]] for n in names}
    tasks = [
        {"id": n, "checks": [n], **({"needs": [names[i - 1]]} if i else {})}
        for i, n in enumerate(names)
    ]
    return a_plan(script, tasks, {n: holds(f"{n}.txt") for n in names})


def notices(file: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in file.read_text().splitlines()] if file.exists() else []


def settings(place: Place, more: str, heard: Path) -> None:
    script = place.folder / "record.py"
    script.write_text(RECORD)
    command = json.dumps([sys.executable, str(script), str(heard)])
    place.settings(f"{SETTINGS}\n{more}\n[notify]\ncommand = {command}\n")


@pytest.mark.acceptance
@pytest.mark.spec("10.6", "10.5", "0.2")
def test_a_run_pauses_at_its_budget_and_continues_when_the_same_budget_is_granted_again(
    place: Place, tmp_path: Path
) -> None:
    heard = tmp_path / "heard.jsonl"
    settings(place, "", heard)
    plan = {**costing("abcd", 0), "budget": {"attempts": 2}}

    paused = place.yaoki("run", place.plan(plan), "--quiet")

    assert paused.code == 5, paused.out + paused.err
    stands = place.status()
    assert stands["status"] == "PAUSED"
    assert [t["state"] for t in stands["tasks"]] == ["DONE", "DONE", "WAITING", "WAITING"]
    assert "2 of 2 attempts of the run are used" in paused.out
    assert [n["event"] for n in notices(heard)] == ["BUDGET_WARNING", "RUN_PAUSED"]
    assert place.yaoki("resume", "--quiet").code == 5, "a restart does not forget it"
    assert len(notices(heard)) == 2, "one notice for one pause"

    assert place.yaoki("answer", stands["run"], "go").code == 0
    done = place.yaoki("resume", "--quiet")

    assert done.code in {0, 5}, done.out + done.err
    assert place.task("d")["state"] == "DONE"


@pytest.mark.full
@pytest.mark.acceptance
@pytest.mark.spec("10.6")
def test_a_warning_is_sent_once_at_eighty_percent_of_the_budget(
    place: Place, tmp_path: Path
) -> None:
    heard = tmp_path / "heard.jsonl"
    settings(place, "", heard)
    plan = {**costing("abcde", 0), "budget": {"attempts": 5}}

    done = place.yaoki("run", place.plan(plan), "--quiet")

    assert done.code == 0, done.out + done.err
    warned = [e["data"] for e in place.events() if e["event"] == "BUDGET_WARNING"]
    assert [data["message"] for data in warned] == ["4 of 5 attempts of the run are used"]


@pytest.mark.full
@pytest.mark.acceptance
@pytest.mark.spec("10.6")
def test_the_daily_budget_applies_to_all_runs_together(place: Place, tmp_path: Path) -> None:
    """The second run alone would use it up as well: a midnight between the two changes nothing."""
    settings(place, "[budget]\nday_attempts = 3\n", tmp_path / "heard.jsonl")

    first = place.yaoki("run", place.plan(costing("ab", 0)), "--quiet")
    before = place.events()
    second = place.yaoki("run", place.plan(costing("cdef", 0)), "--quiet")

    assert first.code == 0, first.out + first.err
    assert second.code == 5, second.out + second.err
    assert "of the day" in second.out
    started = [e for e in (*before, *place.events()) if e["event"] == "ATTEMPT_STARTED"]
    begun = [e for e in started if e["data"]["agent"]]
    assert max(Counter(e["at"][:10] for e in begun).values()) == 3


@pytest.mark.full
@pytest.mark.acceptance
@pytest.mark.spec("10.6", "1.3")
def test_a_task_over_its_time_budget_is_escalated_and_its_work_is_saved(place: Place) -> None:
    plan = a_plan(
        {"slow": [[{"sleep": 0.3}, *writes("slow.txt", "bad\n")]]},
        [{"id": "slow", "checks": ["slow"], "budget": {"seconds": 0.1}}],
        {"slow": holds("slow.txt")},
    )

    done = place.yaoki("run", place.plan(plan), "--quiet")

    assert done.code == 4, done.out + done.err
    task = place.task("slow")
    assert (task["reason"], task["attempt"]) == ("RESOURCE_EXHAUSTED", 1)
    asked = task["question"]
    assert re.search(r"used [0-9.]+ of its 0\.1 seconds", asked), asked
    assert "check slow" in asked, "and what is wrong with the work, which as much again may mend"
    assert "slow" in place.yaoki("recover").out


@pytest.mark.full
@pytest.mark.acceptance
@pytest.mark.spec("10.5", "0.3", "8.5", "10.3")
def test_an_escalation_with_many_dependents_sends_one_notice(place: Place, tmp_path: Path) -> None:
    heard = tmp_path / "heard.jsonl"
    settings(place, "", heard)
    below = [{"id": f"d{n}", "checks": ["d"], "needs": ["bad"]} for n in range(5)]
    plan = a_plan(
        {"bad": [writes("bad.txt", "bad\n")], "default": ["nothing"]},
        [{"id": "bad", "checks": ["bad"], "retry": {"max_retries": 0}}, *below],
        {"bad": holds("bad.txt"), "d": holds("d.txt")},
    )

    done = place.yaoki("run", place.plan(plan), "--quiet")
    again = place.yaoki("resume", "--quiet")

    assert (done.code, again.code) == (4, 4)
    (notice,) = notices(heard)
    assert notice["event"] == "ESCALATE_EXECUTED"
    assert f"yaoki why {place.task('bad')['id']}" in notice["body"]
    assert place.story("bad").count("NOTICE_SENT") == 1


@pytest.mark.full
@pytest.mark.acceptance
@pytest.mark.spec("10.5")
def test_notices_are_sent_at_the_end_of_the_run_when_configured(
    place: Place, tmp_path: Path
) -> None:
    heard = tmp_path / "heard.jsonl"
    settings(place, "[escalate]\nnotify_immediately = false\n", heard)
    plan = a_plan(
        {"bad": [writes("bad.txt", "bad\n")]},
        [{"id": "bad", "checks": ["bad"], "retry": {"max_retries": 0}}],
        {"bad": holds("bad.txt")},
    )
    place.yaoki("run", place.plan(plan), "--quiet")
    assert notices(heard) == []

    place.yaoki("answer", "bad", "abort")
    place.yaoki("resume", "--quiet")

    until(lambda: len(notices(heard)) == 2, "both were sent at the end")
    assert [n["event"] for n in notices(heard)] == ["ESCALATE_EXECUTED", "FINAL_SUMMARY"]


@pytest.mark.full
@pytest.mark.acceptance
@pytest.mark.spec("10.5", "0.2")
def test_a_failing_channel_is_retried_and_reported(place: Place, tmp_path: Path) -> None:
    """At least once: the first command fails, a later one takes the notice."""
    heard, broken = tmp_path / "heard.jsonl", tmp_path / "broken"
    settings(place, "", heard)
    broken.touch()
    script = place.folder / "record.py"
    script.write_text(f"import os, sys\nif os.path.exists({str(broken)!r}): sys.exit(7)\n{RECORD}")
    plan = a_plan({"a": [writes("a.txt")]}, [{"id": "a", "checks": ["a"]}], {"a": holds("a.txt")})

    place.yaoki("run", place.plan(plan), "--quiet")
    assert notices(heard) == []
    assert "NOTICE_FAILED" in place.story()
    broken.unlink()

    def sent() -> bool:
        place.yaoki("resume", "--quiet")
        return bool(notices(heard))

    until(sent, "the notice was tried again")
    assert place.story().count("NOTICE_SENT") == 1
