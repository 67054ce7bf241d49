"""Class 11: the defect is in the last of 600 files."""

from __future__ import annotations

from typing import Any

import pytest

from tests.false_success.case import LANDS, NOT_DONE, Case, asks, shell
from tests.false_success.case_batch import CaseBatch, batches, run_batch
from tests.false_success.case_runner import CaseRunner, run_case
from tests.false_success.sample_projects import GREEN

pytestmark = pytest.mark.acceptance
MANY = 'mkdir -p many; for i in $(seq 1000 1599); do echo "X = $i" > many/m$i.py; done\n'
LAST = "many/m1599.py"
COUNTS = shell('test "$(ls many | wc -l)" -eq 600 && python3 -m unittest -q')
TEST = (
    "import unittest\n\n\nclass T(unittest.TestCase):\n"
    "    def test_it(self):\n        self.assertEqual({}, 1)\n"
)
SUITE = {f"t/test_{number}.py": TEST.format(1) for number in range(1000, 1599)}
WITH_ONE_RED = {**GREEN, "t/__init__.py": "", **SUITE, "t/test_9999.py": TEST.format(2)}
RUNS_LAST = shell("python3 -m unittest -q t.test_9999 t.test_1000")
TOUCHES_ALL = "for f in t/test_*.py; do echo '# seen' >> $f; done\n"


def large_change(story: str, acts: str, ends: Any, **more: Any) -> Case:
    return Case(story, acts=MANY + acts, ends=ends, **{"files": GREEN, "checks": COUNTS, **more})


LAST_OF_MANY = [
    large_change("broken syntax", f"echo 'def f(:' > {LAST}", NOT_DONE),
    large_change("something left to do", f"echo '# TODO: the rest' >> {LAST}", NOT_DONE),
    large_change(
        "a test that says nothing any more",
        TOUCHES_ALL + "sed -i 's/self.assertEqual(2, 1)/pass/' t/test_9999.py",
        asks("test-weakened"),
        files=WITH_ONE_RED,
        checks=RUNS_LAST,
    ),
]


@pytest.mark.full
@pytest.mark.spec("4.3", "4.4", "6.6")
@pytest.mark.parametrize("batch", batches(LAST_OF_MANY), ids=str)
def test_the_last_of_many_changed_files_is_checked(
    batch: CaseBatch, case_runner: CaseRunner
) -> None:
    run_batch(batch, case_runner)


@pytest.mark.full
@pytest.mark.spec("0.1")
def test_many_changed_files_land(case_runner: CaseRunner) -> None:
    run_case(large_change("all of them good", "", LANDS), case_runner)
