"""A task that cannot go on asks one question; every answer has its effect, and only then."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Any

import pytest

from tests.acceptance.project import Place, a_plan, holds, writes

pytestmark = pytest.mark.acceptance


def falls_once(place: Place) -> dict[str, Any]:
    """`base` fails its only try; `top` needs it, `roof` needs `top`.  The second try would do."""
    plan = a_plan(
        {
            "base": [writes("base.txt", "bad\n"), writes("base.txt")],
            "top": [writes("top.txt")],
            "roof": [writes("roof.txt")],
        },
        [
            {"id": "base", "checks": ["base"], "retry": {"max_retries": 0}},
            {"id": "top", "checks": ["top"], "needs": ["base"]},
            {"id": "roof", "checks": ["roof"], "needs": ["top"]},
        ],
        {name: holds(f"{name}.txt") for name in ("base", "top", "roof")},
    )
    done = place.yaoki("run", place.plan(plan), "--json")
    assert done.code == 4, done.out + done.err
    return done.document


@pytest.mark.full
@pytest.mark.spec("1.1", "1.3", "10.3", "10.4", "12.1", "8.5", "2.1")
def test_an_escalated_task_blocks_its_dependents_until_it_is_answered_with_retry(
    place: Place,
) -> None:
    stands = falls_once(place)
    base, top, roof = stands["tasks"]

    shown = place.yaoki("answer", "base")
    why_top = place.yaoki("why", "top")
    retried = place.yaoki("answer", "base", "retry", "write", "good", "into it")
    gone_on = place.yaoki("resume")

    assert stands["status"] == "ESCALATED"
    assert (base["state"], base["reason"]) == ("ESCALATED", "MAX_RETRIES")
    assert base["choices"] == ["retry", "done", "waive", "abort"]
    assert "base.txt does not hold good" in base["question"]
    for blocked in (top, roof):
        assert (blocked["state"], blocked["reason"]) == ("WAITING", "DEPENDENCY_FAILED")
        assert blocked["cause"] == base["id"], "the root, not the nearest"
        assert blocked["next"] == f"yaoki answer {base['id']}"
    assert f"yaoki answer {base['id']} waive --check base" in shown.out
    assert "did not land (DEPENDENCY_FAILED)" in why_top.out
    assert retried.code == 0
    assert retried.out.splitlines()[-1] == f"next: yaoki resume {stands['run']}"
    assert gone_on.code == 0, gone_on.out + gone_on.err
    assert "write good into it" in place.prompt(base, 2)
    assert {t["state"] for t in place.status()["tasks"]} == {"DONE"}


@pytest.mark.full
@pytest.mark.spec("10.4", "0.1")
def test_the_work_of_a_takeover_is_verified_like_that_of_an_agent(place: Place) -> None:
    stands = falls_once(place)
    base = stands["tasks"][0]
    worktree = next(
        Path(shlex.split(line)[-1])
        for line in place.yaoki("answer", "base").out.splitlines()
        if "after working in" in line
    )

    (worktree / "base.txt").write_text("good\n")
    answered = place.yaoki("answer", "base", "done", "--json")
    gone_on = place.yaoki("resume", "--quiet")

    assert answered.document["state"] == "WAITING"
    assert gone_on.code == 0, gone_on.out + gone_on.err
    why = place.yaoki("why", base["id"], "--json").document
    assert why["attempts"][1]["agent"] == "person"
    assert why["proven"] == {"base": "PASSED"}
    assert place.show(stands["run_branch"], "base.txt") == "good"
    numbers = place.yaoki("report", "--json").document["numbers"]
    assert numbers["agent_runs"] == numbers["attempts"] - 2, "nor a person nor the last proof"


@pytest.mark.spec("10.4", "0.6")
def test_a_waived_check_is_recorded_as_waived(place: Place) -> None:
    falls_once(place)

    unknown = place.yaoki("answer", "base", "waive", "--check", "no-such")
    waived = place.yaoki("answer", "base", "waive", "--check", "base")
    gone_on = place.yaoki("resume", "--quiet")

    assert unknown.code == 6
    assert "name one of: base" in unknown.err
    assert waived.code == 0
    assert gone_on.code == 0, gone_on.out + gone_on.err
    assert place.yaoki("why", "base", "--json").document["proven"] == {"base": "WAIVED"}
    report = place.yaoki("report", "--json").document
    assert report["numbers"]["waived"] == 1
    assert "1 with checks that a person waived" in report["verdict"]


@pytest.mark.full
@pytest.mark.spec("10.4", "12.1", "1.3")
def test_an_aborted_task_leaves_its_dependents_blocked_and_exit_3(place: Place) -> None:
    base = falls_once(place)["tasks"][0]

    aborted = place.yaoki("answer", "base", "abort")
    again = place.yaoki("answer", "base", "retry")
    gone_on = place.yaoki("resume", "--quiet")

    assert aborted.code == 0
    assert (again.code, "has no open question" in again.err) == (6, True)
    assert gone_on.code == 3
    assert "CANCELLED: a person answered abort, on 20" in place.yaoki("why", "base").out
    more = place.folder / "more.json"
    more.write_text('{"tasks": [{"id": "again", "goal": "g", "replaces": "base"}]}')
    extended = place.yaoki("plan", "extend", str(more))
    assert (extended.code, "1 defect, nothing was stored" in extended.err) == (2, True)
    assert f"yaoki status {base['id'].partition('-')[0]}" in extended.err
    stands = place.status()
    assert [t["state"] for t in stands["tasks"]] == ["CANCELLED", "WAITING", "WAITING"]
    assert {t["cause"] for t in stands["tasks"][1:]} == {base["id"]}


@pytest.mark.spec("1.4", "0.6", "12.1")
def test_a_task_is_found_by_id_number_or_name_and_an_unknown_one_is_refused(place: Place) -> None:
    stands = falls_once(place)
    base = stands["tasks"][0]

    found = {
        place.yaoki("why", name, "--json").document["task"]["id"]
        for name in ("base", "1", base["id"])
    }
    wrong = place.yaoki("why", "bsae")
    foreign = place.yaoki("answer", "zzzzzzzz-1", "retry")
    no_run = place.yaoki("status", "nope")

    assert found == {base["id"]}
    assert (wrong.code, "did you mean 'base'?" in wrong.err) == (6, True)
    assert (foreign.code, "there is no task zzzzzzzz-1" in foreign.err) == (6, True)
    assert (no_run.code, "yaoki status --all" in no_run.err) == (6, True)


@pytest.mark.spec("0.5", "5.6", "10.2")
def test_why_names_the_rule_its_numbers_and_the_change_that_would_alter_the_decision(
    place: Place,
) -> None:
    plan = a_plan(
        {"task": [writes("a.txt", f"bad {n}\n") for n in range(4)]},
        [{"id": "task", "checks": ["a"], "retry": {"max_retries": 1}}],
        {"a": holds("a.txt")},
    )
    place.yaoki("run", place.plan(plan), "--quiet")

    why = place.yaoki("why", "task", "--json").document
    trace = place.yaoki("trace", "task", "--jsonl")

    newest, held, first = why["decisions"]
    assert (held["decision"], held["rule"]) == ("HOLD", "5.1")
    assert (held["inputs"]["count"], held["inputs"]["maximum"]) == (1, 1)
    assert held["otherwise"] == [
        "max_retries above 1",
        "a re-run follows if other tasks land (rule 8.4)",
    ]
    assert (newest["decision"], newest["rule"]) == ("ESCALATE", "8.4")
    assert newest["otherwise"] == ["another task's landing since this one began"]
    assert (newest["inputs"]["count"], newest["inputs"]["maximum"]) == (1, 1)
    shown = place.yaoki("why", "task").out
    assert "what ended the retries:\n  rule      5.1: " in shown
    assert (first["decision"], first["attempt"]) == ("RETRY", 1)
    assert "a.txt does not hold good" in first["failure"]
    assert [one["checks"] for one in why["attempts"]] == [{"a": "FAILED"}, {"a": "FAILED"}]
    assert len(trace.out.splitlines()) > 10
    assert '"event": "ESCALATE_EXECUTED"' in trace.out


@pytest.mark.full
@pytest.mark.spec("1.1", "12.1", "15")
def test_a_cancelled_task_is_reported_with_the_command_that_replaces_it(place: Place) -> None:
    tasks = [{"id": "one", "checks": ["one"]}, {"id": "two", "checks": ["one"]}]
    plan = a_plan({"one": [writes("one.txt")]}, tasks, {"one": holds("one.txt")})
    run = place.yaoki("plan", "submit", place.plan(plan), "--json").document["run"]
    assert place.yaoki("cancel", "one").code == 0
    wishes = (("retry", "one"), ("answer", "one"), ("plan", "add-retry-task", "--retry-of", "one"))
    command = f"yaoki plan extend FILE --run {run}"

    refused = [place.yaoki(*wish) for wish in wishes]
    again = place.plan({"tasks": [{"id": "anew", "goal": "Do one.", "checks": ["one"]}]}, "b.json")
    added = place.yaoki(*command.replace("FILE", again).split()[1:])
    place.yaoki("cancel", run)
    over = [place.yaoki(*wish) for wish in wishes]

    assert [done.code for done in (*refused, *over)] == [6] * 6
    assert all(done.err.rstrip().endswith(command) for done in refused), refused
    assert added.code == 0, added.err
    assert all(done.err.rstrip().endswith("yaoki run PLAN") for done in over), "nothing is added"
