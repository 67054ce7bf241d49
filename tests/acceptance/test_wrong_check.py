"""A check that is wrong itself: the person who is asked learns the cause and the way out."""

from __future__ import annotations

import sys
from typing import Any

import pytest

from tests.acceptance.prepared import Prepared
from tests.acceptance.project import GIT_IDENTITY, WITHOUT_PLUGINS, Project, a_plan, writes
from tests.acceptance.test_agent_failures import event_data

pytestmark = pytest.mark.acceptance

MISSING = "ERROR: file or directory not found: tests/test_extra_color.py"


def ask_about_missing_file(project: Project) -> str:
    """The check names a test file that no task writes."""
    pytest_ = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider"]
    check = {"run": [*pytest_, "tests/test_extra_color.py"], "env": WITHOUT_PLUGINS}
    task = {"id": "colour", "checks": ["colour"], "retry": {"max_retries": 0}}
    plan = a_plan({"colour": [writes("colour.txt")]}, [task], {"colour": check})
    ran = project.yaoki("run", project.plan(plan))
    assert ran.code == 4, ran.out + ran.err
    return ran.out


@pytest.mark.full
@pytest.mark.spec("10.3", "10.4")
def test_a_question_names_the_command_that_takes_over_a_corrected_check(
    prepared: Prepared,
) -> None:
    project, said = prepared.after(ask_about_missing_file)

    command = f"yaoki plan recheck {project.status()['run']}"
    problem = "names tests/test_extra_color.py, which neither the base nor the work contains"
    hint = f"Check colour {problem}: change the check in the plan or yaoki.toml, then: {command}."
    assert hint in " ".join(said.split())
    for words in (["why", "colour"], ["answer", "colour"]):
        assert command in " ".join(project.yaoki(*words).out.split()), words
    assert "yaoki plan recheck" in " ".join(project.yaoki("answer", "--help").out.split())


@pytest.mark.full
@pytest.mark.spec("10.3", "10.4", "4.6")
def test_an_agent_that_did_nothing_is_advised_to_be_retried_before_its_check_is_changed(
    project: Project,
) -> None:
    """The check is right: the task has to create the file that it names."""
    pytest_ = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider"]
    check = {"run": [*pytest_, "tests/test_peek.py"], "env": WITHOUT_PLUGINS}
    check["pattern"] = "test-failed"
    task = {"id": "lazy", "checks": ["peek"], "retry": {"max_retries": 1}}
    ran = project.yaoki("run", project.plan(a_plan({"lazy": [[]]}, [task], {"peek": check})))
    assert ran.code == 4, ran.out + ran.err

    held = project.task("lazy")

    retry = f'The task has to create tests/test_peek.py: yaoki retry {held["id"]} "words for'
    assert "nothing was changed" in held["question"]
    assert retry in held["question"]
    assert "If this path is wrong, change the check in the plan" in held["question"]
    why = " ".join(project.yaoki("why", "lazy").out.split())
    assert "work that creates tests/test_peek.py" in why
    said = " ".join(ran.out.split())
    assert "exit code 4: ERROR: file or directory not found: tests/test_peek.py" in said
    assert "not understood" not in said


@pytest.mark.spec("10.3", "10.4", "6.4")
def test_a_check_that_fails_beside_passing_tests_is_doubted_with_its_result_on_the_base(
    project: Project,
) -> None:
    """An audit after the tests failed: agents were asked to mend the tests."""
    tap = "printf 'TAP version 13\\nok 1 - one\\n1..1\\n# tests 1\\n# pass 1\\n# fail 0\\n'; exit 1"
    task = {"id": "a", "checks": ["tests"], "retry": {"max_retries": 0}}
    plan = a_plan(
        {"a": [writes("a.txt")]}, [task], {"tests": {"shell": tap, "pattern": "test-failed"}}
    )

    ran = project.yaoki("run", project.plan(plan))

    assert ran.code == 4, ran.out + ran.err
    question, said = project.task("a")["question"], " ".join(ran.out.split())
    words = "it fails on the base, too: exit code 1, although 1 test passed and none failed"
    assert words in question
    assert "If the check itself is wrong" in question
    assert "yaoki plan recheck" in question
    assert "(tests failed)" not in said


@pytest.mark.spec("10.4", "6.2")
def test_a_missing_test_file_is_named_wherever_the_failure_is_shown(prepared: Prepared) -> None:
    """pytest writes the cause to standard error, and only `no tests ran` to standard output."""
    project, said = prepared.after(ask_about_missing_file)

    cause = f"exit code 4: {MISSING}"
    assert " ".join(said.split()).count(cause) >= 2, said
    assert cause in project.task("colour")["question"]
    for words in (["why", "colour"], ["answer", "colour"]):
        assert cause in " ".join(project.yaoki(*words).out.split()), words
    assert cause in event_data(project.events("colour"), "CHECK_FINISHED")[0]["message"]


@pytest.mark.spec("12.1")
def test_the_log_of_a_check_shows_both_channels(prepared: Prepared) -> None:
    project, _ = prepared.after(ask_about_missing_file)

    shown = project.yaoki("logs", "colour", "--check", "colour")

    assert "no tests ran" in shown.out
    assert MISSING not in shown.out, "standard output may go into a file"
    assert MISSING in shown.err
    assert "on standard error: yaoki logs" in shown.err
    assert "--check colour --attempt 1 --err" in shown.err
    errors = project.yaoki("logs", "colour", "--check", "colour", "--err")
    assert MISSING in errors.out
    assert "yaoki logs" not in errors.err


@pytest.mark.full
@pytest.mark.spec("6.4")
def test_the_plan_separates_tests_that_a_task_creates_from_checks_that_cannot_run(
    project: Project,
) -> None:
    """`spec/test_far.py` is in no scope, so no task may create it."""
    pytest_ = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider"]
    checks = {
        "new": {"run": [*pytest_, "tests/test_new.py::test_it"], "env": WITHOUT_PLUGINS},
        "module": {"run": [sys.executable, "-m", "unittest", "tests.test_module"]},
        "outside": {"run": [*pytest_, "spec/test_far.py"], "env": WITHOUT_PLUGINS},
        "option": {"run": [*pytest_, "--fast"], "env": WITHOUT_PLUGINS},
    }
    tasks = [{"id": name, "checks": [name], "scope": ["src/**", "tests/**"]} for name in checks]
    plan = project.plan(a_plan({}, tasks, checks))

    shown = " ".join(project.yaoki("plan", plan, "--baseline").out.split())

    creates = "does not exist at the base, so a task has to create it"
    assert f"FAILED new: tests/test_new.py {creates}; affects new" in shown
    assert f"FAILED module: tests/test_module.py {creates}; affects module" in shown
    assert "BROKEN outside: cannot run: its tests did not load: exit code 4: ERROR: file" in shown
    assert "BROKEN option: cannot run: its tests did not load: exit code 4" in shown


FIXTURE = """
import os, pytest

@pytest.fixture(autouse=True)
def shop():
    assert os.environ.get("SHOP_URL"), "SHOP_URL is not set"
"""


@pytest.mark.full
@pytest.mark.spec("10.3", "10.4")
def test_a_check_is_doubted_if_it_fails_in_every_attempt_but_not_if_the_work_breaks_it(
    project: Project,
) -> None:
    """The check of `shop` lacks a variable, which no attempt can mend.  That of `price` fails in a
    file that no attempt changed and passes on the base.  The output of `it` has the words of a
    wrong call: the tests ran, and one failed.
    """
    committed = {
        "shop/conftest.py": FIXTURE,
        "shop/test_shop.py": "def test_open(): ...\n",
        "price.py": "PRICE = 1\n",
        "test_price.py": "from price import PRICE\n\n\ndef test_price():\n    assert PRICE == 1\n",
    }
    for name, content in committed.items():
        (project.repo / name).parent.mkdir(exist_ok=True)
        (project.repo / name).write_text(content)
    project.git("add", *committed)
    project.git(*GIT_IDENTITY, "commit", "-qm", "tests")
    pytest_ = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider"]
    command = f"{sys.executable} -m pytest -q -p no:cacheprovider test_price.py"
    checks: dict[str, dict[str, Any]] = {
        "shop": {"run": [*pytest_, "shop/test_shop.py"]},
        # Single tests cannot be run with it.
        "price": {"shell": f"true; {command}"},
        "it": {"run": [*pytest_, "test_it.py"]},
    }
    text = "def test_it():\n    assert 0, 'No such file or directory'\n"
    acts = {
        "shop": [writes("one.txt"), writes("two.txt")],
        "price": [writes("price.py", f"PRICE = 2\nTRY = {n}\n") for n in (1, 2)],
        "it": [writes("test_it.py", text)],
    }
    tasks = [
        {"id": name, "checks": [name], "retry": {"max_retries": len(tries) - 1}}
        for name, tries in acts.items()
    ]
    checks = {name: {**check, "env": WITHOUT_PLUGINS} for name, check in checks.items()}

    assert project.yaoki("run", project.plan(a_plan(acts, tasks, checks)), "--quiet").code == 4

    shop, price, it = (project.task(name)["question"] for name in acts)
    assert "shop/test_shop.py::test_open: AssertionError: SHOP_URL is not set" in shop
    assert "2 attempts failed in the same way, in files that they did not change" in shop
    assert f"yaoki plan recheck {project.status()['run']}" in shop
    assert "test_price.py::test_price" in price
    assert "in files that they did not change" not in price
    assert "recheck" not in price
    assert "recheck" not in it
