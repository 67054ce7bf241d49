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
    tap_script,
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


# The same for tests of a line each, whose runner starts at once.
SCRIPT_CHECKS = {"tests": {"run": ["sh", "tests.sh"], "pattern": "test-failed"}}


def asserts(line: str) -> str:
    """A command that tests the price."""
    return f'{sys.executable} -SBc "from price import price; {line}"'


WEAK_SCRIPT = tap_script(test_price=asserts("assert price(100, False) == 100"))
MEMBER = {"test_member": asserts("assert price(100, True) == 90")}
STRONG_SCRIPT = tap_script(test_price=asserts("assert price(100, False) == 100"), **MEMBER)


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
def test_each_task_says_whether_its_mutants_are_required_and_a_person_may_waive_them(
    shop: Project,
) -> None:
    """Survivors of `told` are shown and it lands, `off` has none, and `named` must not hide its
    code from them; the check of `judged` runs no tests, so a person decides.
    """
    halves = PROGRAM.replace("10", "5 - 5")
    script = {
        "told": [[{"write": {"price.py": PROGRAM}}]],
        "off": [[{"write": {"price.py": halves}}]],
        "named": [
            [{"write": {"price.py": f"CODE = {PROGRAM!r}\nexec(CODE)\n"}}],
            [{"write": {"price.py": PROGRAM}}],
        ],
        "judged": [[{"write": {"price.py": halves}}]],
    }
    strictly = {"max": 1, "survive": 1, "required": True}
    tasks: list[dict[str, Any]] = [
        {"id": "told", "checks": ["weak"], "mutants": "told"},
        {"id": "off", "checks": ["strong"], "mutants": "off", "needs": ["told"]},
        {"id": "named", "checks": ["strong"], "mutants": strictly, "needs": ["off"]},
        {"id": "judged", "checks": ["there"], "mutants": "required", "needs": ["named"]},
    ]
    commit(shop, {"weak.sh": WEAK_SCRIPT, "strong.sh": STRONG_SCRIPT})
    checks = {
        "weak": {"run": ["sh", "weak.sh"], "pattern": "test-failed"},
        "strong": {"run": ["sh", "strong.sh"], "pattern": "test-failed"},
        "there": {"file": {"path": "price.py", "contains": "member"}},
    }
    names = [task["id"] for task in tasks]
    plan = shop.plan(a_plan(script, tasks, checks))

    ran = shop.yaoki("run", plan)

    assert ran.code == 4, ran.out + ran.err
    outcomes = {name: mutant_checks(shop.events(name)) for name in names}
    assert [one["outcome"] for one in outcomes["told"]] == ["FAILED"]
    assert outcomes["off"] == []
    assert [shop.task(name)["attempt"] for name in names] == [1, 1, 2, 1]
    line = "price.py:3: no test notices if `amount - 10` becomes `amount + 10`"
    assert line in shop.yaoki("why", "told").out
    assert "no test notices if" not in shop.yaoki("why", "off").out
    assert shop.yaoki("report", "-o", str(shop.folder / "r.html")).code == 0
    page = (shop.folder / "r.html").read_text()
    assert ("no test notices if" in page, "amount - 5" in page) == (True, False)
    assert_code_is_not_hidden(shop, outcomes["named"])
    assert shop.task("judged")["state"] == "ESCALATED"
    assert "no check runs tests" in shop.yaoki("why", "judged").out
    assert shop.yaoki("answer", "judged", "waive", "mutants").code == 0
    assert shop.yaoki("resume").code == 0


def assert_code_is_not_hidden(shop: Project, checks: list[dict[str, Any]]) -> None:
    """No mutant reaches code that is run from a name, so hollow tests passed."""
    hidden, seen = checks
    assert (hidden["outcome"], seen["outcome"]) == ("FAILED", "PASSED")
    assert hidden["message"].endswith("; not mutated: exec of a name in price.py:2")
    assert "not mutated: exec of a name" in shop.prompt(shop.task("named"), 2)
    why = " ".join(shop.yaoki("why", "named").out.split())
    assert "failed: price.py:2: not mutated: exec of a name" in why


@pytest.mark.full
def test_a_mutant_that_hangs_is_killed_by_its_deadline(shop: Project) -> None:
    """Without its step the loop never ends."""
    head = "def price(amount, member):\n    while amount > 9:\n"
    loop = f"{head}        amount -= {{}}\n    return amount\n"
    test = tap_script(test_rest=asserts("assert price(12, True) == 2"))
    commit(shop, {"price.py": loop.format("9 + 1"), "tests.sh": test})

    code, _, entries = run_change(
        shop,
        {"price.py": loop.format("10")},
        checks=SCRIPT_CHECKS,
        mutants={"max": 1, "required": True},
    )

    assert code == 0
    (checked,) = mutant_checks(entries)
    numbers = {key: checked["mutants"][key] for key in ("killed", "survived", "timed_out")}
    assert numbers == {"killed": 1, "survived": 0, "timed_out": 1}


def commit(shop: Project, files: dict[str, str]) -> None:
    for name, text in files.items():
        (shop.repo / name).write_text(text)
    shop.git("add", "-A")
    shop.git(*GIT_IDENTITY, "commit", "-qm", "begin")


@pytest.mark.full
def test_hidden_tests_kill_mutants_and_stay_hidden(shop: Project) -> None:
    hidden = shop.folder / "acceptance-tests"
    (hidden / "acceptance").mkdir(parents=True)
    (hidden / "acceptance" / "test_members.py").write_text(
        f"{HEAD}def test_members_pay_less():\n    assert price(4242, True) == 4232\n"
    )
    commit(shop, {"price.py": PROGRAM.replace("10", "0"), "tests.sh": WEAK_SCRIPT})
    run = {"run": [*PYTEST, "acceptance"], "env": WITHOUT_PLUGINS, "hidden": str(hidden)}

    code, task, entries = run_change(
        shop,
        {"price.py": PROGRAM},
        checks={**SCRIPT_CHECKS, "acceptance": run},
        mutants={"max": 2, "required": True},
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
    code, task, entries = run_change(
        shop,
        {"price.mjs": program, "price.test.mjs": weak},
        checks={"tests": {"run": ["node", "--test"]}},
        mutants="told",
    )

    assert (code, task["attempt"]) == (0, 1)
    (checked,) = mutant_checks(entries)
    assert checked["outcome"] == "FAILED"
    assert {item["name"] for item in checked["items"]} == {"price.mjs:2"}
    assert checked["mutants"]["killed"] > 0, "another fault on this line is noticed"


@pytest.mark.full
@pytest.mark.spec("0.2")
def test_a_worker_killed_on_a_mutant_leaves_nothing_of_it(shop: Project) -> None:
    begun, gate = shop.folder / "begun", shop.folder / "gate"
    # The slow test comes first, since a mutant's run ends at the first failure.
    slow = (
        f"until test -e {gate} || {MEMBER['test_member']} 2>&-; do touch {begun}; sleep 0.05; done"
    )
    test = tap_script(test_is_slow_on_a_mutant=slow, **MEMBER)
    commit(shop, {"price.py": PROGRAM.replace("10", "10 + 0"), "tests.sh": test})
    task: dict[str, Any] = {"id": "a", "goal": "Tidy up the price."}
    task["mutants"] = {"max": 2, "required": True}
    script = {"a": [[{"write": {"price.py": PROGRAM}}]]}
    worker = shop.start("run", shop.plan(a_plan(script, [task], SCRIPT_CHECKS)), "--quiet")
    wait_until(begun.exists, "a mutant runs")
    worker.send_signal(signal.SIGKILL)
    worker.communicate(timeout=BOUND_S)
    gate.touch()

    done = shop.yaoki("resume", "--quiet")

    assert done.code == 0, done.out
    assert shop.show(shop.status()["run_branch"], "price.py") == PROGRAM.strip()
    (checked,) = mutant_checks(shop.events("a"))
    assert checked["mutants"]["killed"] > 0
    assert checked["mutants"]["survived"] == 0


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
        shop,
        {"price.py": PROGRAM, "test_price.py": STRONG},
        mutants={"max": 2, "required": True},
        # Else the slow check would run on the base as well, to count its tests.
        allow_weaker_tests=True,
        scope=["**"],
    )

    assert code == 0
    (checked,) = mutant_checks(entries)
    assert (checked["mutants"]["killed"], checked["mutants"]["survived"]) == (2, 0)
    assert runs.read_text() == "x", "once on the candidate"
