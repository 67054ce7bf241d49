"""Every file of a change reaches the criteria, or a failure gives the number that did not."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.formats.quality.weakened_tests import weakening_finding
from tests.repositories import World, a_world, commit, write
from yaoki.adapters.git.command import Git
from yaoki.adapters.git.diff import read_changes
from yaoki.core.model import Finding, OnFailure
from yaoki.core.model.change import Change, ChangeContext
from yaoki.formats.quality import judge_criteria

pytestmark = pytest.mark.spec("4.3", "4.4")
MANY = 1_200
FEW = 3


@pytest.fixture
def world(tmp_path: Path) -> World:
    return a_world(tmp_path)


def many(world: World, last: str, count: int = MANY) -> str:
    """A commit with this number of sources, the last of which contains the text."""
    for n in range(1, count):
        write(world.repo / "many", **{f"m{n:04}__py": f"value = {n}\n"})
    write(world.repo / "many", zz__py=last)
    return commit(world.repo)


def judged(found: tuple[Change, ...]) -> dict[str, Finding]:
    return {one.check: one for one in judge_criteria(found, ChangeContext(), exists=lambda _: True)}


@pytest.mark.full
@pytest.mark.parametrize(
    ("text", "check"),
    [("# TODO: later\n", "Q2"), ("# rest omitted\n", "Q3"), ("def broken(:\n", "Q4")],
)
def test_the_defect_in_the_last_of_many_files_is_found(world: World, text: str, check: str) -> None:
    """Formerly only the first thousand files of a change were read without a report: work
    in the others landed unchecked.
    """
    head = many(world, f"value = 0\n{text}")

    found = world.workspace.contents.read_changes(world.run.base, head)

    assert len(found) == MANY
    assert judged(found)[check].items[0].where.startswith("many/zz.py:")


@pytest.mark.full
def test_a_test_removed_with_the_last_of_many_files_is_reported_missing(world: World) -> None:
    write(world.repo / "tests", test_z__py="def test_it():\n    assert run() == 1\n")
    before = commit(world.repo)
    (world.repo / "tests" / "test_z.py").unlink()
    head = many(world, "value = 0\n")

    found = weakening_finding(world.workspace.contents.read_changes(before, head))

    assert found is not None
    assert "test_it" in found.message


@pytest.mark.parametrize(
    "read",
    [
        lambda git, old, new: read_changes(git, old, new, files_max=FEW),
        lambda git, old, new: read_changes(git, old, new, bytes_max=40),
    ],
    ids=["files", "bytes"],
)
def test_a_change_too_large_to_be_read_fails_by_number(
    world: World, read: Callable[[Git, str, str], tuple[Change, ...]]
) -> None:
    """Beyond the size limit the criteria fail, and the task is escalated."""
    head = many(world, "value = 0\n", 10)

    found = read(Git(world.repo / ".git"), world.run.base, head)

    unread = [change.path for change in found if change.was_skipped]
    assert len(found) == 10
    assert unread[-1] == "many/zz.py"
    for check in ("Q2", "Q3", "Q4"):
        failure = judged(found)[check]
        assert f"{len(unread)} of 10 changed files were not read" in failure.message
        assert "at most 20000 files and 64 MiB" in failure.message
        assert failure.on_failure is OnFailure.ABORT


def test_tests_that_were_skipped_for_size_count_as_weakened() -> None:
    found = weakening_finding((Change("tests/test_a.py", "", "", (), was_skipped=True),))

    assert found is not None
    assert "1 of 1 changed test files were not read" in found.message


@pytest.mark.parametrize("path", ["vendor/lib/a.py", "data/table.csv", "package-lock.json"])
def test_files_without_criteria_are_not_read(path: str) -> None:
    assert judged((Change(path, None, "", (), was_skipped=True),)) == {}
