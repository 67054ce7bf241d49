"""Class 1: agents that do nothing, or next to nothing, where everything is green already."""

from __future__ import annotations

from typing import Any

import pytest

from tests.false_success.case import LANDS, WHO, Case, Task, asks, shell, write
from tests.false_success.case_runner import Arena, settle
from tests.false_success.sample_projects import ADD, ADDS, GREEN, MUL, MULTIPLIES, RED, TESTS

pytestmark = pytest.mark.acceptance
NO_CHANGE = asks("no-change")
ONCE_MORE: dict[str, Any] = {"retry": {"max_retries": 1}}
NARROW = {"scope": ["calc.py", "test_*.py"]}
DOES = f"cat >> calc.py <<'END'\n{MUL}END\n"


def idle(story: str, acts: str | tuple[str, ...], ends: Any = NO_CHANGE, **more: Any) -> Case:
    """The tests are green; the task, whose checks are these tests, is to add `mul`."""
    held = {"files": GREEN, "checks": TESTS, "truth": MULTIPLIES, **more}
    return Case(story, acts=acts, ends=ends, **held)


IDLE = [
    idle("does nothing", "true"),
    idle("only says that all is done", "echo 'I added mul(a, b). All tests pass.'"),
    idle("notes itself as done", 'echo \'{"status": "done"}\' > "$YAOKI_RESULT"'),
    idle("touches the file", "touch calc.py"),
    idle("writes the same file again", write("calc.py", ADD)),
    idle("ends with code 3 and did nothing", "exit 3"),
    idle("makes an empty commit", f"{WHO} commit -q --allow-empty -m 'add mul'"),
    idle(
        "works and reverts its work",
        f"{DOES}{WHO} commit -qam mul\n{WHO} revert --no-edit HEAD >/dev/null",
    ),
    idle("stashes its work", f"{DOES}{WHO} stash -q"),
    idle(
        "commits to another branch and comes back",
        f"git checkout -q -b aside\n{DOES}{WHO} commit -qam mul\ngit checkout -q -",
    ),
    idle("makes an empty folder", "mkdir mul"),
    idle("writes to its home alone", f"cp calc.py ~/calc.py; echo '{MUL}' >> ~/calc.py"),
    idle(
        "writes what git ignores and no check needs",
        write("notes.log", "mul"),
        files={**GREEN, ".gitignore": "*.log\n"},
    ),
    idle("adds a file outside its scope", write("notes.md", "mul"), keys=NARROW),
    idle("adds a blank line", "echo >> calc.py", asks()),
    idle("adds blanks at the end of a line", "sed -i 's/:$/:  /' calc.py", asks()),
    idle("adds a comment", "echo '# mul' >> calc.py", asks()),
    idle("adds an empty test file", ": > test_mul.py", asks()),
    idle("adds a test file of comments", "echo '# tests of mul' > test_mul.py", asks()),
    idle("does nothing when asked once more", ("true", "true"), keys=ONCE_MORE),
    idle(
        "breaks it and then puts the base back",
        ("echo 'boom(' >> calc.py", write("calc.py", ADD)),
        keys=ONCE_MORE,
    ),
    idle(
        "is the second of two tasks",
        "",
        tasks=(Task("first", "echo '# first' > first.py; echo 'X = 1' >> first.py"), Task("work")),
        truth=(),
    ),
    idle(
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
    idle(
        "is a final task",
        "",
        tasks=(Task("first", "echo 'X = 1' > first.py"),),
        plan={"final_tasks": [Task("work", "true")]},
        guilty="work",
    ),
]

HONEST = [
    idle("adds mul", DOES, LANDS),
    idle("may change nothing", "true", LANDS, keys={"may_change_nothing": True}, truth=()),
    idle("does the work when asked once more", ("true", DOES), LANDS, keys=ONCE_MORE),
    idle("only reports", "echo 'There are two tests.'", LANDS, keys={"kind": "report"}, truth=()),
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
@pytest.mark.parametrize("case", IDLE, ids=str)
def test_a_task_whose_agent_did_nothing_is_not_done(case: Case, arena: Arena) -> None:
    settle(case, arena)


@pytest.mark.full
@pytest.mark.spec("3.5")
def test_an_idle_agent_is_retried_once_and_then_escalated(arena: Arena) -> None:
    """With the retries of the settings: one more try, then the question, and no third try."""
    ended = settle(idle("is idle for ever", "true", keys={"retry": {}}), arena)

    (task,) = ended.stands["tasks"]
    assert task["attempt"] == 2


@pytest.mark.quick_cases(1)
@pytest.mark.spec("3.5", "16.3")
@pytest.mark.parametrize("case", HONEST, ids=str)
def test_a_small_requested_change_lands(case: Case, arena: Arena) -> None:
    settle(case, arena)
