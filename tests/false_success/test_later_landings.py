"""Class 6: landings, merges and undos that break what was proven before."""

from __future__ import annotations

from typing import Any

import pytest

from tests.false_success.case import LANDS, NOT_DONE, ONLY_IF_TRUE, Case, Task, write
from tests.false_success.case_runner import Arena, settle
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
    """The first task is proven by `use`, the second by a check of its own."""
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
def test_a_later_landing_cannot_break_an_earlier_one(case: Case, arena: Arena) -> None:
    settle(case, arena)


@pytest.mark.full
@pytest.mark.spec("16.14")
@pytest.mark.parametrize("case", TOGETHER, ids=str)
def test_compatible_landings_land(case: Case, arena: Arena) -> None:
    settle(case, arena)


@pytest.mark.spec("16.14", "9.4")
def test_an_optional_task_that_breaks_a_required_one_is_not_done(arena: Arena) -> None:
    """The run may be done without it, and then it is true without it."""
    keys = {**SECOND, "required": False}
    ended = settle(pair("optional", RENAMES, keys, ends=ONLY_IF_TRUE), arena)

    assert ended.state("second") != "DONE"


# ------------------------------------------------------------------ merge


def moved(arena: Arena, line: str, **plan: Any) -> str:
    """A run that is done, and a base that moved meanwhile; where the base stands."""
    first = Task("first", USES, {"checks": ["use"]})
    arena.lay(case := Case("merge", BASE, _used("use"), tasks=(first,), plan=plan))
    assert arena.yaoki("run", str(arena.plan(case)), "--quiet")[0] == 0
    arena.sh(f"{line}; git commit -qam moved; git checkout -q --detach")
    return head(arena, "main")


def head(arena: Arena, branch: str) -> str:
    arena.sh(f"git rev-parse {branch} > ../head")
    return (arena.folder / "head").read_text().strip()


@pytest.mark.full
@pytest.mark.spec("16.6")
@pytest.mark.parametrize("plan", [{"done_when": ["use"]}, {}], ids=["done_when", "checks-of-tasks"])
def test_a_merge_that_breaks_the_work_is_refused(arena: Arena, plan: dict[str, Any]) -> None:
    before = moved(arena, "sed -i 's/def f/def g/' m.py", **plan)

    code, out, err = arena.yaoki("merge")

    assert code not in (0, 1), out + err
    assert head(arena, "main") == before


@pytest.mark.full
@pytest.mark.spec("16.6")
def test_a_compatible_merge_succeeds(arena: Arena) -> None:
    moved(arena, "echo more >> README", done_when=["use"])

    code, out, err = arena.yaoki("merge")

    assert code == 0, out + err
    arena.sh("git checkout -q main; python3 use.py; grep -q more README")


@pytest.mark.full
@pytest.mark.spec("16.6")
def test_an_unverified_merge_succeeds_on_request_and_is_reported(arena: Arena) -> None:
    moved(arena, "sed -i 's/def f/def g/' m.py", done_when=["use"])

    code, out, err = arena.yaoki("merge", "--unproven")

    assert code == 0, out + err
    assert "unproven" in arena.yaoki("report")[1].lower()


# ------------------------------------------------------------------ undo


@pytest.mark.full
@pytest.mark.spec("16.6")
@pytest.mark.parametrize("plan", [{"done_when": ["use"]}, {}], ids=["done_when", "checks-of-tasks"])
def test_an_undo_that_breaks_other_tasks_is_refused(arena: Arena, plan: dict[str, Any]) -> None:
    """`second` uses what `first` made, and no text of theirs meets."""
    first = Task("first", write("m.py", "def f():\n    return 1\n"), {"checks": ["own"]})
    first = Task(first.name, f"{first.acts}echo good > own.txt", first.keys)
    second = Task("second", USES, {"needs": ["first"], "checks": ["use"]})
    case = Case(
        "undo", {"README": "hello\n"}, _used("use", "own"), tasks=(first, second), plan=plan
    )
    arena.lay(case)
    assert arena.yaoki("run", str(arena.plan(case)), "--quiet")[0] == 0

    code, out, err = arena.yaoki("undo", "first")
    ended = arena.ended(code, out + err)

    assert ended.code != 0 or ended.stands["status"] != "DONE", ended.told("second")
    arena.judge(case)
    if ended.state("second") == "DONE":
        arena.sh(f"git checkout -q --detach {ended.stands['run_branch']}; python3 use.py")


@pytest.mark.spec("16.6", "9.6")
def test_an_undo_that_breaks_no_other_task_succeeds(arena: Arena) -> None:
    first = Task("first", USES, {"checks": ["use"]})
    second = Task("second", GOOD, {"checks": ["own"]})
    case = Case("undo", BASE, _used("use", "own"), tasks=(first, second))
    arena.lay(case)
    assert arena.yaoki("run", str(arena.plan(case)), "--quiet")[0] == 0

    code, out, err = arena.yaoki("undo", "second")

    assert code in (0, 4), out + err
    ended = arena.ended(code, out + err)
    assert (ended.state("first"), ended.state("second")) == ("DONE", "ESCALATED")
    branch = ended.stands["run_branch"]
    arena.sh(f"git checkout -q --detach {branch}; python3 use.py; test ! -e own.txt")
    assert_done_is_true(arena.repo, folder=arena.folder, path=arena.env["PATH"])
