"""Class 6: landings, merges and undos that break verified work."""

from __future__ import annotations

from typing import Any

import pytest

from tests.false_success.case import LANDS, NOT_DONE, ONLY_IF_TRUE, Case, Task, write
from tests.false_success.case_runner import CaseRunner, run_case
from tests.false_success.oracle import assert_done_is_true

pytestmark = pytest.mark.acceptance
BASE = {"m.py": "def f():\n    return 1\n", "README": "hello\n"}
USES = write("use.py", "from m import f\n\nassert f() == 1\n")
CHECKS: dict[str, Any] = {
    "use": {"run": ["python3", "use.py"]},
    "own": {"shell": "grep -q good own.txt"},
    "third": {"shell": "grep -q good third.txt"},
}
RENAMES = "sed -i 's/def f/def g/' m.py\necho good > own.txt"
SECOND = {"needs": ["first"], "checks": ["own"]}
GOOD = "echo good > own.txt"


def pair(story: str, acts: str, keys: Any = SECOND, **more: Any) -> Case:
    """The first task has the check `use`, the second its own check."""
    first = Task("first", USES, {"checks": ["use"]})
    held = {"ends": NOT_DONE, "guilty": "", "checks": _used("use", "own"), **more}
    return Case(story, BASE, tasks=(first, Task("second", acts, keys)), **held)


def _used(*names: str) -> dict[str, Any]:
    return {name: CHECKS[name] for name in names}


BROKEN = [
    pair("the second task renames what the first one uses", RENAMES),
    pair("the second task deletes what the first one made", f"rm use.py; {GOOD}"),
    pair(
        "the third task breaks the first",
        GOOD,
        ends=NOT_DONE,
        checks=CHECKS,
        plan={
            "final_tasks": [
                Task(
                    "third",
                    "sed -i 's/return 1/return 2/' m.py\necho good > third.txt",
                    {"checks": ["third"]},
                )
            ]
        },
    ),
    Case(
        "a final task breaks what was proven",
        BASE,
        _used("use", "own"),
        tasks=(Task("first", USES, {"checks": ["use"]}),),
        plan={"final_tasks": [Task("last", RENAMES, {"checks": ["own"]})]},
        guilty="",
    ),
    Case(
        "two at the same time that do not go together",
        BASE,
        _used("use", "own"),
        tasks=(
            Task("first", USES, {"checks": ["use"]}),
            Task("second", RENAMES, {"checks": ["own"]}),
        ),
        guilty="",
    ),
    Case(
        "a subtask breaks the one before it",
        BASE,
        CHECKS,
        tasks=(
            Task(
                "grp",
                keys={
                    "kind": "group",
                    "checks": ["third"],
                    "tasks": [
                        Task("first", f"{USES}echo good > third.txt", {"checks": ["use"]}),
                        Task("second", RENAMES, SECOND),
                    ],
                },
            ),
        ),
        guilty="",
    ),
    Case(
        "a required subtask failed for good",
        BASE,
        CHECKS,
        tasks=(
            Task(
                "grp",
                keys={
                    "kind": "group",
                    "checks": ["use"],
                    "tasks": [
                        Task("first", USES, {"checks": ["use"]}),
                        Task("second", "echo bad > own.txt", {"checks": ["own"], "required": True}),
                        Task("third", "echo good > third.txt", {"checks": ["third"]}),
                    ],
                },
            ),
        ),
        guilty="second",
    ),
    Case(
        "a required subtask of ordinary words failed for good",
        BASE,
        _used("use", "own"),
        tasks=(
            Task(
                "grp",
                keys={
                    "kind": "group",
                    "checks": ["use"],
                    "tasks": [
                        Task("first", USES, {"checks": ["use"]}),
                        Task("second", "echo bad > own.txt", {"checks": ["own"]}),
                    ],
                },
            ),
        ),
        guilty="second",
    ),
    Case(
        "one task is right and the whole is not",
        BASE,
        _used("use", "own"),
        tasks=(Task("first", GOOD, {"checks": ["own"]}),),
        plan={"done_when": ["use"]},
        guilty="",
    ),
]

TOGETHER = [
    pair("the second task builds on the first", f"cp use.py also.py; {GOOD}", ends=LANDS),
    pair(
        "the second task changes what it may", f"echo 'def h(): pass' >> m.py; {GOOD}", ends=LANDS
    ),
    pair(
        "renames and mends who uses it",
        f"sed -i 's/def f/def g/' m.py; sed -i 's/import f/import g as f/' use.py; {GOOD}",
        ends=LANDS,
        keys={**SECOND, "allow_weaker_tests": True, "scope": ["**"]},
    ),
    Case(
        "a group whose subtasks fit",
        BASE,
        _used("use", "own"),
        tasks=(
            Task(
                "grp",
                keys={
                    "kind": "group",
                    "checks": ["use"],
                    "tasks": [
                        Task("first", USES, {"checks": ["use"]}),
                        Task("second", GOOD, {"checks": ["own"]}),
                    ],
                },
            ),
        ),
        ends=LANDS,
    ),
]


@pytest.mark.quick_cases(1)
@pytest.mark.spec("16.14", "16.9", "0.1")
@pytest.mark.parametrize("case", BROKEN, ids=str)
def test_a_later_landing_cannot_break_an_earlier_one(case: Case, case_runner: CaseRunner) -> None:
    run_case(case, case_runner)


@pytest.mark.full
@pytest.mark.spec("16.14")
@pytest.mark.parametrize("case", TOGETHER, ids=str)
def test_compatible_landings_land(case: Case, case_runner: CaseRunner) -> None:
    run_case(case, case_runner)


@pytest.mark.spec("16.14", "9.4")
def test_an_optional_task_that_breaks_a_required_one_is_not_done(case_runner: CaseRunner) -> None:
    """The run may be done without it, and then it is true without it."""
    keys = {**SECOND, "required": False}
    ended = run_case(pair("optional", RENAMES, keys, ends=ONLY_IF_TRUE), case_runner)

    assert ended.state("second") != "DONE"


# ------------------------------------------------------------------ merge


def run_and_move_base(case_runner: CaseRunner, line: str, **plan: Any) -> str:
    """A done run and a base that moved meanwhile; returns the head of the base."""
    first = Task("first", USES, {"checks": ["use"]})
    case_runner.set_up(case := Case("merge", BASE, _used("use"), tasks=(first,), plan=plan))
    assert case_runner.yaoki("run", str(case_runner.plan(case)), "--quiet")[0] == 0
    case_runner.sh(f"{line}; git commit -qam moved; git checkout -q --detach")
    return head(case_runner, "main")


def head(case_runner: CaseRunner, branch: str) -> str:
    case_runner.sh(f"git rev-parse {branch} > ../head")
    return (case_runner.folder / "head").read_text().strip()


@pytest.mark.full
@pytest.mark.spec("16.6")
@pytest.mark.parametrize("plan", [{"done_when": ["use"]}, {}], ids=["done_when", "checks-of-tasks"])
def test_a_merge_that_breaks_the_work_is_refused(
    case_runner: CaseRunner, plan: dict[str, Any]
) -> None:
    before = run_and_move_base(case_runner, "sed -i 's/def f/def g/' m.py", **plan)

    code, out, err = case_runner.yaoki("merge")

    assert code not in (0, 1), out + err
    assert head(case_runner, "main") == before


@pytest.mark.full
@pytest.mark.spec("16.6")
def test_a_compatible_merge_succeeds(case_runner: CaseRunner) -> None:
    run_and_move_base(case_runner, "echo more >> README", done_when=["use"])

    code, out, err = case_runner.yaoki("merge")

    assert code == 0, out + err
    case_runner.sh("git checkout -q main; python3 use.py; grep -q more README")


@pytest.mark.full
@pytest.mark.spec("16.6")
def test_an_unverified_merge_succeeds_on_request_and_is_reported(case_runner: CaseRunner) -> None:
    run_and_move_base(case_runner, "sed -i 's/def f/def g/' m.py", done_when=["use"])

    code, out, err = case_runner.yaoki("merge", "--unproven")

    assert code == 0, out + err
    assert "unproven" in case_runner.yaoki("report")[1].lower()


# ------------------------------------------------------------------ undo


@pytest.mark.full
@pytest.mark.spec("16.6")
@pytest.mark.parametrize("plan", [{"done_when": ["use"]}, {}], ids=["done_when", "checks-of-tasks"])
def test_an_undo_that_breaks_other_tasks_is_refused(
    case_runner: CaseRunner, plan: dict[str, Any]
) -> None:
    """`second` uses a function of `first` in another file."""
    first = Task("first", write("m.py", "def f():\n    return 1\n"), {"checks": ["own"]})
    first = Task(first.name, f"{first.acts}echo good > own.txt", first.keys)
    second = Task("second", USES, {"needs": ["first"], "checks": ["use"]})
    case = Case(
        "undo", {"README": "hello\n"}, _used("use", "own"), tasks=(first, second), plan=plan
    )
    case_runner.set_up(case)
    assert case_runner.yaoki("run", str(case_runner.plan(case)), "--quiet")[0] == 0

    code, out, err = case_runner.yaoki("undo", "first")
    ended = case_runner.read_result(code, out + err)

    assert ended.code != 0 or ended.status["status"] != "DONE", ended.describe("second")
    case_runner.check_oracle(case)
    if ended.state("second") == "DONE":
        case_runner.sh(f"git checkout -q --detach {ended.status['run_branch']}; python3 use.py")


@pytest.mark.spec("16.6", "9.6")
def test_an_undo_that_breaks_no_other_task_succeeds(case_runner: CaseRunner) -> None:
    first = Task("first", USES, {"checks": ["use"]})
    second = Task("second", GOOD, {"checks": ["own"]})
    case = Case("undo", BASE, _used("use", "own"), tasks=(first, second))
    case_runner.set_up(case)
    assert case_runner.yaoki("run", str(case_runner.plan(case)), "--quiet")[0] == 0

    code, out, err = case_runner.yaoki("undo", "second")

    assert code in (0, 4), out + err
    ended = case_runner.read_result(code, out + err)
    assert (ended.state("first"), ended.state("second")) == ("DONE", "ESCALATED")
    branch = ended.status["run_branch"]
    case_runner.sh(f"git checkout -q --detach {branch}; python3 use.py; test ! -e own.txt")
    assert_done_is_true(case_runner.repo, folder=case_runner.folder, path=case_runner.env["PATH"])
