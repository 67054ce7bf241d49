"""A person takes a finished run by git itself and deletes its branch: that is its good end."""

from __future__ import annotations

import pytest

from tests.acceptance.project import Place, a_plan, holds, writes

pytestmark = [pytest.mark.acceptance, pytest.mark.spec("12.1", "9.6", "0.2")]


def finished(place: Place) -> str:
    plan = a_plan(
        {"a": [writes("a.txt")], "b": [writes("b.txt")]},
        [{"id": name, "checks": [name]} for name in "ab"],
        {**{name: holds(f"{name}.txt") for name in "ab"}, "both": holds("a.txt")},
        done_when=["both"],
    )
    done = place.yaoki("run", place.plan(plan), "--quiet")
    assert done.code == 0, done.out + done.err
    return str(place.status()["run"])


@pytest.mark.full
def test_a_run_merged_with_git_does_not_recommend_a_merge(place: Place) -> None:
    base = place.git("rev-parse", "main")
    run = finished(place)
    before = place.status()["next"]
    place.git("merge", "-q", "--ff-only", f"yaoki/{run}")

    stands = place.status()

    assert before == f"git merge yaoki/{run}"
    assert stands["next"] == f"git log {base[:10]}..{place.git('rev-parse', 'main')[:10]}"
    assert stands["merged"] == place.git("rev-parse", "main")


@pytest.mark.full
def test_a_run_whose_merged_branch_was_deleted_is_finished(place: Place) -> None:
    run = finished(place)
    place.git("merge", "-q", "--ff-only", f"yaoki/{run}")
    place.git("branch", "-q", "-d", f"yaoki/{run}")

    resumed = place.yaoki("resume", "--quiet")
    report = place.yaoki("report", "--format", "json").document
    doctor = place.yaoki("doctor", "--json").document["lines"]

    assert resumed.code == 0, resumed.out + resumed.err
    assert (report["numbers"]["done"], report["numbers"]["lost"]) == (2, 0), report["verdict"]
    assert report["warnings"] == []
    assert [one["words"] for one in doctor if one["name"] == "journal" and not one["ok"]] == []


@pytest.mark.full
def test_a_second_merge_is_refused_as_already_merged(place: Place) -> None:
    run = finished(place)
    place.git("switch", "-q", "--detach")
    assert place.yaoki("merge", run).code == 0
    place.git("branch", "-q", "-D", f"yaoki/{run}")

    again = place.yaoki("merge", run)

    assert (again.code, "is already merged" in again.err) == (6, True), again.err
    assert f"..{place.git('rev-parse', 'main')[:10]}" in again.err


@pytest.mark.full
def test_a_finished_run_with_a_deleted_unmerged_branch_names_the_command_to_restore_it(
    place: Place,
) -> None:
    run = finished(place)
    place.git("branch", "-q", "-D", f"yaoki/{run}")

    resumed = place.yaoki("resume", "--quiet")

    assert resumed.code == 0, resumed.out + resumed.err
    assert "gone" in place.yaoki("report").out
    assert place.status()["next"] == f"yaoki merge {run}", "which names the command that helps"
    assert f"git branch -f yaoki/{run}" in place.yaoki("merge", run).err


@pytest.mark.full
def test_a_landing_after_merge_and_undo_can_be_merged(place: Place) -> None:
    """The next command was the log of the first merge, which lacks the new landing."""
    run = finished(place)
    place.git("switch", "-q", "--detach")
    assert place.yaoki("merge", run).code == 0
    assert place.yaoki("undo", "b").code == 0
    assert place.yaoki("answer", "b", "retry").code == 0
    done = place.yaoki("resume", "--quiet")

    before = place.status()
    merged = place.yaoki("merge", run)
    after = place.status()

    assert done.code == 0, done.out + done.err
    assert f"merge yaoki/{run}" in before["next"] or f"yaoki merge {run}" in before["next"]
    assert before["merged"] is None
    assert merged.code == 0, merged.out + merged.err
    assert after["next"].startswith("git log ")
    assert after["merged"] == place.git("rev-parse", "main")


@pytest.mark.parametrize("name", ["/dev/null", "."])
def test_a_path_that_is_no_plain_file_is_refused_as_a_receipt(place: Place, name: str) -> None:
    refused = place.yaoki("verify", str((place.repo / name).resolve()))

    assert refused.code == 2
    assert "does not exist" not in refused.err
    assert "yaoki report --receipt FILE" in refused.err
