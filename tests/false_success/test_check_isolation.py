"""Classes 8 and 9: one check helps the next, and a second look helps the first."""

from __future__ import annotations

from typing import Any

import pytest

from tests.false_success.case import LANDS, NOT_DONE, Case, write
from tests.false_success.case_batch import CaseBatch, batches, run_batch
from tests.false_success.case_runner import CaseRunner, run_case
from tests.false_success.sample_projects import ADDS, GREEN, RED, TESTS, UNIT

pytestmark = pytest.mark.acceptance
WORK = "echo 'X = 1' > x.py"
FIXES = "sed -i 's/a - b/a + b/' calc.py\n"
IGNORING = {**GREEN, ".gitignore": "out/\n"}


def helped_by_first_check(story: str, first: str, second: str, files: Any = GREEN) -> Case:
    checks = {"first": {"shell": first}, "second": {"shell": second}}
    return Case(story, files, checks, WORK, NOT_DONE)


HELPED = [
    helped_by_first_check(
        "by an ignored file",
        "mkdir -p out && echo 42 > out/answer && test -f x.py",
        "grep -q 42 out/answer",
        IGNORING,
    ),
    helped_by_first_check("by a file", "echo 42 > answer && test -f x.py", "grep -q 42 answer"),
    helped_by_first_check(
        "by a file in the home", "echo 42 > ~/answer && test -f x.py", "grep -q 42 ~/answer"
    ),
    helped_by_first_check(
        "by a temporary file",
        'echo 42 > "${TMPDIR:-/tmp}/answer" && test -f x.py',
        'grep -q 42 "${TMPDIR:-/tmp}/answer"',
    ),
    helped_by_first_check(
        "by a setting of git",
        "git config answer.is 42 && test -f x.py",
        "test $(git config answer.is) = 42",
    ),
    helped_by_first_check(
        "by a process that it leaves behind",
        "(for i in $(seq 99); do echo 42 > answer; sleep 0.05; done) > /dev/null 2>&1 &"
        " test -f x.py",
        "for i in 1 2 3 4 5 6; do grep -q 42 answer 2>/dev/null && exit 0; sleep 0.1; done; exit 1",
    ),
]
ALONE = [
    Case(
        "each makes what it needs",
        IGNORING,
        {
            "first": {"shell": "mkdir -p out && cp x.py out && grep -q X out/x.py"},
            "second": {"shell": "mkdir -p out && cp x.py out && grep -q 1 out/x.py"},
        },
        WORK,
        LANDS,
    ),
    Case(
        "one leaves caches behind",
        IGNORING,
        {
            "first": {"shell": "mkdir -p out ~/.cache && touch out/c ~/.cache/c && test -f x.py"},
            **TESTS,
        },
        WORK,
        LANDS,
    ),
]

# Right from the second call on, by a mark that the first one leaves.
REMEMBERS = """\
import os
import pathlib

mark = pathlib.Path({where})
first = not mark.exists()
mark.parent.mkdir(parents=True, exist_ok=True)
mark.touch()


def add(a, b):
    return a - b if first else a + b
"""


SECOND_CALL = """\
calls = []


def add(a, b):
    calls.append(a)
    return a + b if calls.count(a) > 1 else a - b
"""
ASSERTS = "        self.assertEqual(calc.add(2, 3), 5)\n"
TRIES = """\
        for last in (False, True):
            try:
                self.assertEqual(calc.add(2, 3), 5)
                break
            except AssertionError:
                if last:
                    raise
"""


def remembers_first_run(story: str, where: str, files: Any = RED, checks: Any = TESTS) -> Case:
    code = REMEMBERS.format(where=where)
    return Case(story, files, checks, write("calc.py", code), NOT_DONE, truth=ADDS)


CHANCE = [
    remembers_first_run("a mark in the home", "os.path.expanduser('~/.seen')"),
    remembers_first_run(
        "a mark among temporary files", "os.environ.get('TMPDIR', '/tmp') + '/seen'"
    ),
    remembers_first_run("a mark in the worktree", "'seen'"),
    remembers_first_run("a mark that is ignored", "'out/seen'", {**RED, ".gitignore": "out/\n"}),
    remembers_first_run(
        "a mark in git's own folder",
        "__import__('subprocess').check_output(['git', 'rev-parse', '--git-dir'], text=True)"
        ".strip() + '/seen'",
    ),
    remembers_first_run(
        "a mark in the shared folder of git",
        "__import__('subprocess').check_output("
        "['git', 'rev-parse', '--git-common-dir'], text=True).strip() + '/seen'",
    ),
    Case(
        "tries again inside the test",
        RED,
        TESTS,
        write("calc.py", SECOND_CALL) + write("test_calc.py", UNIT.replace(ASSERTS, TRIES)),
        NOT_DONE,
        truth=ADDS,
    ),
]

STEADY = [
    Case(
        "a cache that only makes it quicker",
        RED,
        TESTS,
        write(
            "calc.py",
            "import os\n\nos.makedirs(os.path.expanduser('~/.cache/calc'), exist_ok=True)\n\n\n"
            "def add(a, b):\n    return a + b\n",
        ),
        LANDS,
        truth=ADDS,
    ),
    Case("right at the first look", RED, TESTS, FIXES, LANDS, truth=ADDS),
]


@pytest.mark.full
@pytest.mark.spec("16.1")
@pytest.mark.parametrize("batch", batches(HELPED), ids=str)
def test_files_left_by_one_check_do_not_help_the_next(
    batch: CaseBatch, case_runner: CaseRunner
) -> None:
    run_batch(batch, case_runner)


@pytest.mark.full
@pytest.mark.spec("16.1")
@pytest.mark.parametrize("case", ALONE, ids=str)
def test_independent_checks_pass(case: Case, case_runner: CaseRunner) -> None:
    run_case(case, case_runner)


@pytest.mark.full
@pytest.mark.spec("6.5", "16.1")
@pytest.mark.parametrize("batch", batches(CHANCE), ids=str)
def test_files_left_by_a_check_do_not_help_its_rerun(
    batch: CaseBatch, case_runner: CaseRunner
) -> None:
    run_batch(batch, case_runner)


@pytest.mark.quick_cases(1)
@pytest.mark.spec("6.5")
@pytest.mark.parametrize("case", STEADY, ids=str)
def test_work_that_passes_the_first_run_of_a_check_lands(
    case: Case, case_runner: CaseRunner
) -> None:
    run_case(case, case_runner)
