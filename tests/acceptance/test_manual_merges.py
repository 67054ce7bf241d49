"""A person merges a finished run with git and deletes its branch."""

from __future__ import annotations

import pytest

from tests.acceptance.prepared import Prepared
from tests.acceptance.project import Project, a_plan, file_contains, writes

pytestmark = [pytest.mark.acceptance, pytest.mark.spec("12.1", "9.6", "0.2")]


def run_to_end(project: Project) -> str:
    plan = a_plan(
        {"a": [writes("a.txt")], "b": [writes("b.txt")]},
        [{"id": name, "checks": [name]} for name in "ab"],
        {**{name: file_contains(f"{name}.txt") for name in "ab"}, "both": file_contains("a.txt")},
        done_when=["both"],
    )
    done = project.yaoki("run", project.plan(plan), "--quiet")
    assert done.code == 0, done.out + done.err
    return str(project.status()["run"])


@pytest.mark.full
def test_a_branch_deleted_before_its_merge_is_restored_and_after_it_is_not_missed(
    prepared: Prepared,
) -> None:
    """The command that restores it is named; a run merged with git recommends no merge."""
    project, run = prepared.after(run_to_end)
    base = project.git("rev-parse", "main")
    before, head = project.status()["next"], project.git("rev-parse", f"yaoki/{run}")
    project.git("branch", "-q", "-D", f"yaoki/{run}")

    gone = project.yaoki("resume", "--quiet")

    assert before == f"yaoki merge {run}"
    assert gone.code == 0, gone.out + gone.err
    assert "gone" in project.yaoki("report").out
    assert project.status()["next"] == f"yaoki merge {run}", "which names the command that helps"
    assert f"git branch -f yaoki/{run}" in project.yaoki("merge", run).err

    project.git("branch", "-f", f"yaoki/{run}", head)
    project.git("merge", "-q", "--ff-only", f"yaoki/{run}")
    status = project.status()
    assert status["next"] == f"git log {base[:10]}..{project.git('rev-parse', 'main')[:10]}"
    assert status["merged"] == project.git("rev-parse", "main")

    project.git("branch", "-q", "-d", f"yaoki/{run}")
    resumed = project.yaoki("resume", "--quiet")
    report = project.yaoki("report", "--format", "json").document
    doctor = project.yaoki("doctor", "--json").document["lines"]
    assert resumed.code == 0, resumed.out + resumed.err
    assert (report["numbers"]["done"], report["numbers"]["lost"]) == (2, 0), report["verdict"]
    assert report["warnings"] == []
    assert "does not hold" not in project.yaoki("report").out
    assert [one["words"] for one in doctor if one["name"] == "journal" and not one["ok"]] == []


@pytest.mark.full
def test_a_landing_after_merge_and_undo_can_be_merged_once(prepared: Prepared) -> None:
    """The next command was the log of the first merge, which lacks the new landing."""
    project, run = prepared.after(run_to_end)
    project.git("switch", "-q", "--detach")
    assert project.yaoki("merge", run).code == 0
    assert project.yaoki("undo", "b").code == 0
    assert project.yaoki("answer", "b", "retry").code == 0
    done = project.yaoki("resume", "--quiet")

    before = project.status()
    merged = project.yaoki("merge", run)
    after = project.status()

    assert done.code == 0, done.out + done.err
    assert f"merge yaoki/{run}" in before["next"] or f"yaoki merge {run}" in before["next"]
    assert before["merged"] is None
    assert merged.code == 0, merged.out + merged.err
    assert after["next"].startswith("git log ")
    assert after["merged"] == project.git("rev-parse", "main")
    project.git("branch", "-q", "-D", f"yaoki/{run}")
    again = project.yaoki("merge", run)
    assert (again.code, "is already merged" in again.err) == (6, True), again.err
    assert f"..{project.git('rev-parse', 'main')[:10]}" in again.err


@pytest.mark.parametrize("name", ["/dev/null", "."])
def test_a_path_that_is_no_plain_file_is_refused_as_a_receipt(project: Project, name: str) -> None:
    refused = project.yaoki("verify", str((project.repo / name).resolve()))

    assert refused.code == 2
    assert "does not exist" not in refused.err
    assert "yaoki report --receipt FILE" in refused.err
