"""Class 7: reports and logs that the check did not write, or that the code under test wrote."""

from __future__ import annotations

from typing import Any

import pytest

from tests.false_success.case import LANDS, NOT_DONE, Case, shell, write
from tests.false_success.case_batch import CaseBatch, batches, run_batch
from tests.false_success.case_runner import CaseRunner, run_case
from tests.false_success.sample_projects import ADD, ADDS, BUG, PLAIN, QUICK, RED, RED_PYTEST

pytestmark = pytest.mark.acceptance
FIXES = "sed -i 's/a - b/a + b/' calc.py\n"
GREEN_REPORT = (
    '<testsuite tests="2" failures="0" errors="0"><testcase classname="test_calc" name="test_add"/>'
    '<testcase classname="test_calc" name="test_zero"/></testsuite>\n'
)
REPORTING: dict[str, Any] = {
    "tests": {"run": ["python3", "-m", "pytest", "-q", "--junit-xml", "{report}"], "env": QUICK}
}
# A suite that writes its report at its end, and dies before that when an import fails.
SUITE = """\
import calc

held = [("test_add", calc.add(2, 3) == 5), ("test_zero", calc.add(0, 0) == 0)]
cases = "".join(
    f'<testcase classname="suite" name="{name}"/>' if good
    else f'<testcase classname="suite" name="{name}"><failure/></testcase>'
    for name, good in held
)
with open("junit.xml", "w") as file:
    file.write(f"<testsuite>{cases}</testsuite>")
"""
COPIED = 'python3 suite.py; cp junit.xml "$YAOKI_REPORT"'
FORGES = f"""\
import os
import sys

for number, word in enumerate(sys.argv):
    if word == "--junit-xml" or word.startswith("--junit-xml="):
        path = word.partition("=")[2] or sys.argv[number + 1]
        with open(path, "w") as file:
            file.write({GREEN_REPORT!r})
        print("2 passed in 0.01s", flush=True)
        os._exit(0)
"""
LATER = f"""\
import atexit
import os
import sys


def end():
    for number, word in enumerate(sys.argv):
        if word == "--junit-xml":
            with open(sys.argv[number + 1], "w") as file:
                file.write({GREEN_REPORT!r})
    os._exit(0)


atexit.register(end)
"""


def foreign_report(story: str, checks: Any, acts: str, files: Any = RED, **more: Any) -> Case:
    held = {"ends": NOT_DONE, "truth": ADDS, **more}
    return Case(story, files, shell(checks) if isinstance(checks, str) else checks, acts, **held)


ELSEWHERE = [
    foreign_report(
        "a report that is committed, and a suite that dies",
        COPIED,
        write("junit.xml", GREEN_REPORT) + "sed -i '1i import nowhere' calc.py",
        {**RED, "suite.py": SUITE},
    ),
    foreign_report(
        "a report that is ignored, and a suite that dies",
        COPIED,
        write("junit.xml", GREEN_REPORT) + "sed -i '1i import nowhere' calc.py",
        {**RED, "suite.py": SUITE, ".gitignore": "junit.xml\n"},
    ),
    foreign_report(
        "a report among temporary files",
        'python3 suite.py && cp "$TMPDIR/junit.xml" "$YAOKI_REPORT"',
        f'cat > "${{TMPDIR%/*}}/junit.xml" <<\'END\'\n{GREEN_REPORT}END\necho "X = 1" > x.py',
        {**RED, "suite.py": "import calc\n"},
    ),
    foreign_report(
        "a report by the code under test at its import",
        REPORTING,
        write("calc.py", FORGES + BUG),
        RED_PYTEST,
    ),
    foreign_report(
        "a report by the code under test at its end",
        REPORTING,
        write("calc.py", LATER + BUG),
        RED_PYTEST,
    ),
    foreign_report(
        "an old log that is committed and searched",
        "python3 -m unittest > /dev/null 2> new.log; grep -q '^OK' *.log",
        "printf 'Ran 2 tests in 0.001s\\n\\nOK\\n' > old.log",
    ),
    foreign_report(
        "an old log that is ignored and searched",
        "python3 -m unittest > /dev/null 2> log/new.log; grep -q '^OK' log/*.log",
        "printf 'Ran 2 tests in 0.001s\\n\\nOK\\n' > log/old.log; echo 'X = 1' > x.py",
        {**RED, ".gitignore": "*.log\n", "log/.keep": ""},
    ),
    foreign_report(
        "code under test that says what is searched for",
        shell("python3 -m unittest -q 2>&1 | cat; true", success="contains:OK"),
        write("calc.py", "print('OK')\n" + BUG),
    ),
    foreign_report(
        "code under test that says OK and leaves",
        shell("python3 -m unittest 2>&1", success="matches:^OK"),
        write(
            "calc.py",
            "import os\nprint('Ran 2 tests in 0.001s\\n\\nOK', flush=True)\nos._exit(0)\n",
        ),
    ),
]

FROM_HERE = [
    foreign_report("a report of pytest", REPORTING, FIXES, RED_PYTEST, ends=LANDS),
    foreign_report(
        "a report that the suite writes and the line copies",
        'python3 suite.py && cp junit.xml "$YAOKI_REPORT"',
        FIXES,
        {**RED, "suite.py": SUITE, ".gitignore": "junit.xml\n"},
        ends=LANDS,
    ),
    foreign_report(
        "a log that the check writes and searches",
        "python3 -m unittest 2>&1 | tee new.log; grep -q '^OK' new.log",
        FIXES,
        {**RED, ".gitignore": "*.log\n"},
        ends=LANDS,
    ),
    foreign_report(
        "test data that looks like a report",
        REPORTING,
        FIXES + write("data/junit.xml", GREEN_REPORT),
        {"calc.py": BUG, "test_calc.py": PLAIN, "other.py": ADD},
        ends=LANDS,
    ),
]


@pytest.mark.full
@pytest.mark.spec("16.1", "0.1")
@pytest.mark.parametrize("batch", batches(ELSEWHERE), ids=str)
def test_a_report_not_written_by_the_check_does_not_count(
    batch: CaseBatch, case_runner: CaseRunner
) -> None:
    run_batch(batch, case_runner)


@pytest.mark.full
@pytest.mark.spec("16.1")
@pytest.mark.parametrize("case", FROM_HERE, ids=str)
def test_a_report_written_by_the_check_counts(case: Case, case_runner: CaseRunner) -> None:
    run_case(case, case_runner)
