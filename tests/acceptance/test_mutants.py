"""Mutants of the changed lines: a test must notice that a changed line has a fault (rule 17.3)."""

from __future__ import annotations

import json
import signal
import sys
from typing import Any

import pytest

from tests.acceptance.project import (
    BOUND_S,
    GIT_IDENTITY,
    WITHOUT_PLUGINS,
    Project,
    a_plan,
    wait_until,
)
from tests.acceptance.test_agent_failures import event_data

pytestmark = [pytest.mark.acceptance, pytest.mark.spec("17.3")]

HEAD = "from price import price\n\n\n"
PROGRAM = """\
def price(amount, member):
    if member:
        return amount - 10
    return amount
"""
WEAK = f"{HEAD}def test_price():\n    assert price(100, False) == 100\n"
STRONG = f"{WEAK}\n\ndef test_member():\n    assert price(100, True) == 90\n"
PYTEST = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider"]
CHECKS = {"tests": {"run": PYTEST, "env": WITHOUT_PLUGINS}}


def run_change(
    project: Project, *attempts: dict[str, str], checks: Any = CHECKS, **more: Any
) -> tuple[int, dict[str, Any], list[Any]]:
    """Run one change; each attempt writes these files."""
    script = {"a": [[{"write": files}] for files in attempts]}
    task = {"id": "a", "goal": "Members pay ten less.", **more}
    code = project.yaoki("run", project.plan(a_plan(script, [task], checks))).code
    return code, project.task("a"), project.events("a")


def mutant_checks(entries: list[Any]) -> list[dict[str, Any]]:
    return [one for one in event_data(entries, "CHECK_FINISHED") if one["check"] == "mutants"]


@pytest.fixture
def shop(project: Project) -> Project:
    (project.repo / "price.py").write_text("def price(amount, member):\n    return amount\n")
    (project.repo / "test_price.py").write_text(WEAK)
    project.git("add", "-A")
    project.git(*GIT_IDENTITY, "commit", "-qm", "a price")
    return project


@pytest.mark.long
def test_a_change_lands_when_its_tests_notice_faults_in_it(shop: Project) -> None:
    """The first attempt has no test for members; the second one is told which lines need one."""
    code, task, entries = run_change(
        shop,
        {"price.py": PROGRAM},
        {"price.py": PROGRAM, "test_price.py": STRONG},
        mutants={"max": 2, "survive": 0.2, "required": True},
    )

    assert (code, task["attempt"]) == (0, 2)
    (failure,) = [data["failure"] for data in event_data(entries, "RETRY_DECISION")]
    assert failure["pattern"] == "mutant-survived"
    weak, strong = mutant_checks(entries)
    assert weak["outcome"] == "FAILED"
    assert weak["message"] == "1 of 2 mutants survives (limit 20 %)"
    first = {"name": "price.py:3", "where": "price.py"}
    assert {key: weak["items"][0][key] for key in first} == first
    assert "no test notices if `amount - 10` becomes `amount + 10`" in shop.prompt(task, 2)
    assert "small faults are put into your changed lines" in shop.prompt(task, 1)
    assert strong["mutants"]["survived"] == 0
    killed = strong["mutants"]["killed"]
    assert f"mutants PASSED, {killed} mutants killed, 0 survived" in shop.yaoki("why", "a").out
    shop.yaoki("report", "--receipt", str(shop.folder / "receipt"))
    receipt = json.loads((shop.folder / "receipt").read_text())
    (check,) = [one for one in receipt["landed"][0]["checks"] if one["check"] == "mutants"]
    assert check["mutants"] == {"killed": killed, "survived": 0}
    verified = shop.yaoki("verify", str(shop.folder / "receipt"))
    assert (verified.code, f"{killed} mutants killed, 0 survived" in verified.out) == (0, True)
    assert f"{killed} mutants killed" in shop.yaoki("report").out


@pytest.mark.full
def test_code_that_is_run_from_a_name_does_not_pass_required_mutants(shop: Project) -> None:
    """No mutant reaches it, so hollow tests passed."""
    code, task, entries = run_change(
        shop,
        {"price.py": f"CODE = {PROGRAM!r}\nexec(CODE)\n"},
        {"price.py": PROGRAM, "test_price.py": STRONG},
        mutants={"max": 1, "survive": 1, "required": True},
    )

    assert (code, task["attempt"]) == (0, 2)
    hidden, seen = mutant_checks(entries)
    assert (hidden["outcome"], seen["outcome"]) == ("FAILED", "PASSED")
    assert hidden["message"].endswith("; not mutated: exec of a name in price.py:2")
    assert "not mutated: exec of a name" in shop.prompt(task, 2)
    why = " ".join(shop.yaoki("why", "a").out.split())
    assert "failed: price.py:2: not mutated: exec of a name" in why


@pytest.mark.full
@pytest.mark.parametrize(("word", "outcomes"), [("told", ["FAILED"]), ("off", [])])
def test_the_plan_says_whether_mutants_are_required(
    shop: Project, word: str, outcomes: list[str]
) -> None:
    code, task, entries = run_change(shop, {"price.py": PROGRAM}, mutants=word)

    assert (code, task["attempt"]) == (0, 1)
    assert [one["outcome"] for one in mutant_checks(entries)] == outcomes
    line = "price.py:3: no test notices if `amount - 10` becomes `amount + 10`"
    assert (line in shop.yaoki("why", "a").out) is bool(outcomes)
    assert shop.yaoki("report", "-o", str(shop.folder / "r.html")).code == 0
    html = (shop.folder / "r.html").read_text()
    assert ("no test notices if" in html) is bool(outcomes)


@pytest.mark.full
def test_a_mutant_that_hangs_is_killed_by_its_deadline(shop: Project) -> None:
    """Without its step the loop never ends."""
    loop = "def rest(n):\n    while n > 9:\n        n -= 10\n    return n\n"
    test = "from rest import rest\n\n\ndef test_rest():\n    assert rest(12) == 2\n"
    code, _, entries = run_change(
        shop,
        {"rest.py": loop, "test_rest.py": test},
        mutants={"max": 3, "required": True},
    )

    assert code == 0
    (checked,) = mutant_checks(entries)
    assert (checked["mutants"]["killed"], checked["mutants"]["survived"]) == (3, 0)
    assert checked["mutants"]["timed_out"] > 0


@pytest.mark.full
def test_hidden_tests_kill_mutants_and_stay_hidden(shop: Project) -> None:
    hidden = shop.folder / "acceptance-tests"
    (hidden / "acceptance").mkdir(parents=True)
    (hidden / "acceptance" / "test_members.py").write_text(
        f"{HEAD}def test_members_pay_less():\n    assert price(4242, True) == 4232\n"
    )
    (shop.repo / "price.py").write_text(PROGRAM.replace("10", "0"))
    shop.git(*GIT_IDENTITY, "commit", "-qam", "no discount yet")
    run = {"run": [*PYTEST, "acceptance"], "env": WITHOUT_PLUGINS, "hidden": str(hidden)}
    visible = {"run": [*PYTEST, "test_price.py"], "env": WITHOUT_PLUGINS}

    code, task, entries = run_change(
        shop,
        {"price.py": PROGRAM},
        checks={"tests": visible, "acceptance": run},
        mutants="required",
    )

    assert code == 0
    (checked,) = mutant_checks(entries)
    assert checked["mutants"]["survived"] == 0
    assert "4242" not in json.dumps(entries)
    assert "4242" not in shop.prompt(task, 1)


@pytest.mark.full
def test_javascript_is_mutated_without_a_tool_in_the_project(shop: Project) -> None:
    program = (
        "export function price(amount, member) {\n  return member ? amount - 10 : amount;\n}\n"
    )
    weak = (
        "import assert from 'node:assert';\n"
        "import { test } from 'node:test';\n"
        "import { price } from './price.mjs';\n\n"
        "test('price', () => assert.strictEqual(price(100, false), 100));\n"
    )
    strong = f"{weak}test('member', () => assert.strictEqual(price(100, true), 90));\n"
    code, task, entries = run_change(
        shop,
        {"price.mjs": program, "price.test.mjs": weak},
        {"price.mjs": program, "price.test.mjs": strong},
        checks={"tests": {"run": ["node", "--test"]}},
        mutants={"required": True, "survive": 0},
    )

    assert (code, task["attempt"]) == (0, 2)
    weak_check, strong_check = mutant_checks(entries)
    assert weak_check["items"][0]["name"] == "price.mjs:2"
    assert strong_check["mutants"]["survived"] == 0


@pytest.mark.full
@pytest.mark.spec("0.2")
def test_a_worker_killed_on_a_mutant_leaves_nothing_of_it(shop: Project) -> None:
    begun, gate = shop.folder / "begun", shop.folder / "gate"
    # The slow test comes first, since a mutant's run ends at the first failure.
    (shop.repo / "test_price.py").write_text(
        f"import pathlib\nimport time\n\n{HEAD}"
        "def test_is_slow_on_a_mutant():\n"
        f"    while price(100, True) != 90 and not pathlib.Path({str(gate)!r}).exists():\n"
        f"        pathlib.Path({str(begun)!r}).touch()\n"
        f"        time.sleep(0.05)\n\n\n{STRONG.removeprefix(HEAD)}"
    )
    (shop.repo / "price.py").write_text(PROGRAM.replace("10", "10 + 0"))
    shop.git(*GIT_IDENTITY, "commit", "-qam", "a slow test")
    task = {"id": "a", "goal": "Tidy up the price.", "mutants": "required"}
    script = {"a": [[{"write": {"price.py": PROGRAM}}]]}
    worker = shop.start("run", shop.plan(a_plan(script, [task], CHECKS)), "--quiet")
    wait_until(begun.exists, "a mutant runs")
    worker.send_signal(signal.SIGKILL)
    worker.communicate(timeout=BOUND_S)
    gate.touch()

    done = shop.yaoki("resume", "--quiet")

    assert done.code == 0, done.out
    assert shop.show(shop.status()["run_branch"], "price.py") == PROGRAM.strip()
    (checked,) = mutant_checks(shop.events("a"))
    assert checked["mutants"]["survived"] == 0


@pytest.mark.full
def test_a_person_may_waive_mutants_that_no_check_can_judge(shop: Project) -> None:
    code, task, _ = run_change(
        shop,
        {"price.py": PROGRAM},
        checks={"there": {"file": {"path": "price.py", "contains": "member"}}},
        mutants="required",
    )

    assert (code, task["state"], task["attempt"]) == (4, "ESCALATED", 1)
    assert "no check runs tests" in shop.yaoki("why", "a").out
    assert shop.yaoki("answer", "a", "waive", "mutants").code == 0
    assert shop.yaoki("resume").code == 0


@pytest.mark.full
def test_the_tests_of_the_change_run_first_where_the_whole_check_is_slow(shop: Project) -> None:
    runs = shop.folder / "runs"
    (shop.repo / "test_a_slow.py").write_text(
        "import time\n\n\ndef test_slow():\n"
        f"    with open({str(runs)!r}, 'a') as file:\n        file.write('x')\n"
        "    time.sleep(5)\n"
    )
    shop.git("add", "-A")
    shop.git(*GIT_IDENTITY, "commit", "-qm", "a slow test")

    code, _, entries = run_change(
        shop, {"price.py": PROGRAM, "test_price.py": STRONG}, mutants={"max": 4, "required": True}
    )

    assert code == 0
    (checked,) = mutant_checks(entries)
    assert (checked["mutants"]["killed"], checked["mutants"]["survived"]) == (4, 0)
    assert runs.read_text() == "xx", "once on the candidate and once on the base"
