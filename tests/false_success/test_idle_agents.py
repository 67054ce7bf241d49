"""Class 1: agents that do little or nothing while all checks pass already."""

from __future__ import annotations

from typing import Any

import pytest

from tests.false_success.case import GIT, LANDS, Case, Task, asks, shell, write
from tests.false_success.case_batch import CaseBatch, batches, run_batch
from tests.false_success.case_runner import CaseRunner, run_case
from tests.false_success.sample_projects import ADD, ADDS, GREEN, MUL, MULTIPLIES, RED, TESTS

pytestmark = pytest.mark.acceptance
NO_CHANGE = asks("no-change")
ONCE_MORE: dict[str, Any] = {"retry": {"max_retries": 1}}
NARROW = {"scope": ["calc.py", "test_*.py"]}
DOES = f"cat >> calc.py <<'END'\n{MUL}END\n"


def idle_case(story: str, acts: str | tuple[str, ...], ends: Any = NO_CHANGE, **more: Any) -> Case:
    """The tests pass; the task, whose checks are these tests, must add `mul`."""
    held = {"files": GREEN, "checks": TESTS, "truth": MULTIPLIES, **more}
    return Case(story, acts=acts, ends=ends, **held)


IDLE = [
    idle_case("does nothing", "true"),
    idle_case("only says that all is done", "echo 'I added mul(a, b). All tests pass.'"),
    idle_case("notes itself as done", 'echo \'{"status": "done"}\' > "$YAOKI_RESULT"'),
    idle_case("touches the file", "touch calc.py"),
    idle_case("writes the same file again", write("calc.py", ADD)),
    idle_case("ends with code 3 and did nothing", "exit 3"),
    idle_case("makes an empty commit", f"{GIT} commit -q --allow-empty -m 'add mul'"),
    idle_case(
        "works and reverts its work",
        f"{DOES}{GIT} commit -qam mul\n{GIT} revert --no-edit HEAD >/dev/null",
    ),
    idle_case("stashes its work", f"{DOES}{GIT} stash -q"),
    idle_case(
        "commits to another branch and comes back",
        f"git checkout -q -b aside\n{DOES}{GIT} commit -qam mul\ngit checkout -q -",
    ),
    idle_case("makes an empty folder", "mkdir mul"),
    idle_case("writes to its home alone", f"cp calc.py ~/calc.py; echo '{MUL}' >> ~/calc.py"),
    idle_case(
        "writes what git ignores and no check needs",
        write("notes.log", "mul"),
        files={**GREEN, ".gitignore": "*.log\n"},
    ),
    idle_case("adds a file outside its scope", write("notes.md", "mul"), keys=NARROW),
    idle_case("adds a blank line", "echo >> calc.py", asks()),
    idle_case("adds blanks at the end of a line", "sed -i 's/:$/:  /' calc.py", asks()),
    idle_case("adds a comment", "echo '# mul' >> calc.py", asks()),
    idle_case("adds an empty test file", ": > test_mul.py", asks()),
    idle_case("adds a test file of comments", "echo '# tests of mul' > test_mul.py", asks()),
    idle_case("does nothing when asked once more", ("true", "true"), keys=ONCE_MORE),
    idle_case(
        "breaks it and then puts the base back",
        ("echo 'boom(' >> calc.py", write("calc.py", ADD)),
        keys=ONCE_MORE,
    ),
    idle_case(
        "is the second of two tasks",
        "",
        tasks=(Task("first", "echo '# first' > first.py; echo 'X = 1' >> first.py"), Task("work")),
        truth=(),
    ),
    idle_case(
        "is a subtask of a group",
        "",
        asks(),
        tasks=(
            Task(
                "grp",
                keys={
                    "kind": "group",
                    "checks": ["tests"],
                    "tasks": [Task("good", "echo 'X = 1' > x.py"), Task("work", "true")],
                },
            ),
        ),
        guilty="work",
    ),
    idle_case(
        "is a final task",
        "",
        tasks=(Task("first", "echo 'X = 1' > first.py"),),
        plan={"final_tasks": [Task("work", "true")]},
        guilty="work",
    ),
]

HONEST = [
    idle_case("adds mul", DOES, LANDS),
    idle_case("may change nothing", "true", LANDS, keys={"may_change_nothing": True}, truth=()),
    idle_case("does the work when asked once more", ("true", DOES), LANDS, keys=ONCE_MORE),
    idle_case(
        "only reports", "echo 'There are two tests.'", LANDS, keys={"kind": "report"}, truth=()
    ),
    Case(
        "writes the comment that was asked for",
        GREEN,
        shell("grep -q '# Adds' calc.py && python3 -m unittest -q"),
        "echo '# Adds two numbers.' >> calc.py",
        LANDS,
    ),
    Case(
        "adds the empty file that was missing",
        {"pkg/core.py": ADD},
        shell("test -f pkg/__init__.py && python3 -c 'import pkg.core'"),
        ": > pkg/__init__.py",
        LANDS,
    ),
    Case("fixes one letter", RED, TESTS, "sed -i 's/-/+/' calc.py", LANDS, truth=ADDS),
    Case("only looks", GREEN, TESTS, ends=LANDS, tasks=(Task("look", keys={"kind": "check"}),)),
]


@pytest.mark.quick_cases(2)
@pytest.mark.spec("3.5", "0.1")
@pytest.mark.parametrize("batch", batches(IDLE, alone=2), ids=str)
def test_a_task_whose_agent_did_nothing_is_not_done(
    batch: CaseBatch, case_runner: CaseRunner
) -> None:
    run_batch(batch, case_runner)


@pytest.mark.full
@pytest.mark.spec("3.5")
def test_an_idle_agent_is_retried_once_and_then_escalated(case_runner: CaseRunner) -> None:
    """With the retries of the settings: one more try, then the question, and no third try."""
    ended = run_case(idle_case("is idle for ever", "true", keys={"retry": {}}), case_runner)

    (task,) = ended.status["tasks"]
    assert task["attempt"] == 2


@pytest.mark.quick_cases(1)
@pytest.mark.spec("3.5", "16.3")
@pytest.mark.parametrize("case", HONEST, ids=str)
def test_a_small_requested_change_lands(case: Case, case_runner: CaseRunner) -> None:
    run_case(case, case_runner)
