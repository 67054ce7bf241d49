"""Checks of installed packages run in a separate process, and only a valid answer counts."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from yaoki.adapters.checks import CheckDispatcher, run_entry_point
from yaoki.adapters.processes.process_trees import ShimProcesses
from yaoki.core.decide.baseline import command_key
from yaoki.core.model import CHECK_ENTRY_POINTS, CheckSpec, CheckType, Finding, Outcome
from yaoki.core.redact import MARK
from yaoki.ports import commit_facts

PLANTED = "planted-secret-value"
# Only the plan knows that this one is secret: an agent is given it.
HANDED = "correct-horse-battery"
FACTS = replace(
    commit_facts("c0ffee", passed_names=("ACME_LOGIN",)),
    changed=("a.txt",),
    task="run-1",
    diff=lambda: "not for others",
)
MODULE = """
import json, os, sys, time
from pathlib import Path


def check(worktree, facts, options):
    print("looking")
    return {body}
"""


def installed(site: Path, body: str, name: str = "mine", module: str = "acme_checks") -> None:
    """A package as an installer would leave it."""
    info = site / f"{module}-1.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {module}\nVersion: 1\n")
    (info / "entry_points.txt").write_text(f"[yaoki.checks]\n{name} = {module}:check\n")
    (site / f"{module}.py").write_text(MODULE.replace("{body}", body))


class CheckRun:
    def __init__(self, top: Path) -> None:
        self.site, self.worktree, self.folder = top / "site", top / "tree", top / "logs" / "mine"
        self.worktree.mkdir()

    def check(
        self, body: str = "", stop: Callable[[], bool] = lambda: False, **rest: Any
    ) -> Finding:
        if body:
            installed(self.site, body)
        environ = {
            "PATH": os.environ["PATH"],
            "PYTHONPATH": f"{self.site}{os.pathsep}",
            "ACME_TOKEN": PLANTED,
            "ACME_LOGIN": HANDED,
        }
        checks = CheckDispatcher(ShimProcesses(), timedelta(seconds=30), environ)
        spec = CheckSpec("mine", CheckType.PYTHON, **{"entry": "mine", **rest})
        return checks.check(spec, self.worktree, self.folder, facts=FACTS, stop=stop)


@pytest.fixture
def check_run(tmp_path: Path) -> CheckRun:
    return CheckRun(tmp_path)


@pytest.mark.spec("6.1")
def test_a_check_of_a_package_gets_worktree_facts_and_options(check_run: CheckRun) -> None:
    (check_run.worktree / "a.txt").write_text("good")
    body = """{
        "passed": (worktree / "a.txt").read_text() == options["wanted"],
        "message": f"{facts['changed']} at {facts['commit']}, {sorted(facts)}",
        "params": {"here": os.getcwd() == str(worktree), "secret": "ACME_TOKEN" in os.environ},
    }"""

    finding = check_run.check(body, options={"wanted": "good"})

    assert finding.outcome is Outcome.PASSED
    expected = ["attempt", "base", "branch", "changed", "commit", "goal", "onto", "scope", "task"]
    assert finding.message == f"['a.txt'] at c0ffee, {expected}"
    assert finding.params == {"here": True, "secret": False}
    assert finding.output.strip() == "looking"


@pytest.mark.spec("6.1")
def test_a_failing_check_of_a_package_is_reported_item_by_item(check_run: CheckRun) -> None:
    body = """{
        "passed": False,
        "message": "two lines are too long",
        "items": ["a.py", {"name": "b.py", "message": "line 3", "where": "b.py:3"}],
        "params": {"limit": 100},
    }"""

    finding = check_run.check(body)

    assert (finding.outcome, finding.message) == (Outcome.FAILED, "two lines are too long")
    assert [(i.name, i.message, i.where) for i in finding.items] == [
        ("a.py", "", ""),
        ("b.py", "line 3", "b.py:3"),
    ]
    assert finding.params == {"limit": 100}
    assert finding.pattern == "check-failed"


@pytest.mark.full
@pytest.mark.spec("6.1", "14.4", "0.6")
@pytest.mark.parametrize(
    ("body", "words"),
    [
        ("True", "must return"),
        ("None", "must return"),
        ("{}", "must return"),
        ('{"passed": 1}', "must return"),
        ('{"passed": True, "mesage": "x"}', "unknown key 'mesage'"),
        ('{"passed": True, "message": 1}', "message of its answer is not a str"),
        ('{"passed": True, "items": [1]}', "neither a string nor"),
        ('{"passed": True, "items": [{"name": "a", "where": 1}]}', "neither a string nor"),
        ('{"passed": True, "params": {"x": {1, 2}}}', "TypeError"),
        ('{"passed": True, "params": {"x": float("nan")}}', "ValueError"),
        ('{"passed": True, "params": {"x": "x" * 70_000}}', "over the limit of 65536"),
        ('{"passed": True, "message": "x" * 2_000_000}', "over the limit of 1048576"),
        ("1 / 0", "ZeroDivisionError: division by zero"),
        ("sys.exit(0)", "it left no answer"),
        ("sys.exit(3)", "exit code 3"),
    ],
)
def test_a_malformed_answer_is_broken(check_run: CheckRun, body: str, words: str) -> None:
    finding = check_run.check(body)

    assert (finding.outcome, finding.transient) == (Outcome.BROKEN, False)
    assert words in finding.message


@pytest.mark.spec("6.1", "6.3")
def test_a_check_that_hangs_or_crashes_does_not_affect_the_worker(check_run: CheckRun) -> None:
    hung = check_run.check("time.sleep(60)", timeout=timedelta(seconds=0.5))
    (check_run.site / "acme_checks.py").write_text(MODULE.replace("{body}", "os.abort()"))
    crashed = check_run.check()

    assert (hung.outcome, hung.transient) == (Outcome.BROKEN, True)
    assert "timed out after 0.5 s" in hung.message
    assert (crashed.outcome, crashed.transient) == (Outcome.BROKEN, True)
    assert "signal 6" in crashed.message


@pytest.mark.spec("6.3")
def test_a_check_of_a_package_is_ended_when_the_worker_stops(check_run: CheckRun) -> None:
    finding = check_run.check("time.sleep(60)", stop=lambda: True)

    assert (finding.outcome, finding.transient) == (Outcome.BROKEN, True)


@pytest.mark.spec("6.1", "14.4")
def test_the_worktree_cannot_replace_the_package_or_the_library(check_run: CheckRun) -> None:
    """The agent wrote modules with the names the check will import."""
    planted = MODULE.replace("{body}", '{"passed": True, "message": "planted"}')
    for name in ("acme_checks", "json", "importlib", "sitecustomize"):
        (check_run.worktree / f"{name}.py").write_text(planted)

    finding = check_run.check('{"passed": False, "message": "the real one"}')

    assert (finding.outcome, finding.message) == (Outcome.FAILED, "the real one")


@pytest.mark.spec("14.2")
def test_secrets_are_masked_in_the_answer_of_a_package(check_run: CheckRun) -> None:
    text = repr(f"it is {PLANTED}")
    body = f'{{"passed": False, "message": {text}, "items": [{text}], "params": {{"a": [{text}]}}}}'

    finding = check_run.check(body)

    assert PLANTED not in repr(finding)
    assert finding.params == {"a": [f"it is {MARK}"]}


@pytest.mark.spec("14.2")
def test_secrets_of_agents_do_not_remain_in_the_logs_of_a_check(check_run: CheckRun) -> None:
    text = repr(f"it is {HANDED}")
    said = f'{{"passed": False, "message": {text}, "params": {{"a": [{text}]}}}}'

    finding = check_run.check(f"print({text}) or print({text}, file=sys.stderr) or {said}")

    assert finding.outcome is Outcome.FAILED
    assert HANDED not in repr(finding)
    files = [file for file in check_run.folder.rglob("*") if file.is_file()]
    assert [file.name for file in files if HANDED.encode() in file.read_bytes()] == []


@pytest.mark.spec("6.1")
def test_no_package_or_two_packages_make_the_check_broken(check_run: CheckRun) -> None:
    none = check_run.check()
    installed(check_run.site, '{"passed": True}')
    installed(check_run.site, '{"passed": True}', module="other_checks")
    two = check_run.check()

    assert [none.outcome, two.outcome] == [Outcome.BROKEN] * 2
    assert "0 entry points of yaoki.checks are called 'mine'" in none.message
    assert "2 entry points of yaoki.checks are called 'mine'" in two.message


def test_the_script_and_the_plan_use_the_same_entry_point_group() -> None:
    assert run_entry_point.GROUP == CHECK_ENTRY_POINTS


@pytest.mark.spec("6.4")
def test_other_options_make_another_baseline_check() -> None:
    keys = {
        command_key(CheckSpec("mine", CheckType.PYTHON, entry=entry, options={"most": most}))
        for entry in ("one", "two")
        for most in (1, 2)
    }

    assert len(keys) == 4
