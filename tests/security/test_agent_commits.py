"""An agent's own commits: one commit of its work lands, and none of what it took back."""

from __future__ import annotations

import pytest

from tests.acceptance.project import GIT_IDENTITY, Project, a_plan, file_contains

pytestmark = [pytest.mark.acceptance, pytest.mark.spec("11.1", "16.2", "16.3")]
COMMIT = f"git add -A && git {' '.join(GIT_IDENTITY)} commit -q -m"


def acts(script: str) -> dict[str, list[str]]:
    return {"run": ["sh", "-ec", script]}


def test_a_file_added_and_deleted_again_does_not_land_and_is_saved(project: Project) -> None:
    script = (
        f"echo payload-of-nobody > other.txt; {COMMIT} one; "
        f"rm other.txt; echo good > a.txt; {COMMIT} 'Add a\n\nBecause.\n\nYaoki-Undo: 123'"
    )
    plan = a_plan(
        {"a": [[acts(script)]]}, [{"id": "a", "scope": ["a.txt"]}], {"ok": file_contains("a.txt")}
    )

    done = project.yaoki("run", project.plan(plan), "--quiet")

    assert done.code == 0, done.out + done.err
    branch = f"yaoki/{project.status()['run']}"
    objects = project.git("rev-list", "--objects", branch)
    assert "other.txt" not in objects
    commits = project.git("rev-list", f"main..{branch}").split()
    assert len(commits) == 2, "the work and its merge"
    base = project.git("rev-parse", "main")
    work = project.git("rev-parse", f"{branch}^2")
    assert project.git("rev-parse", f"{branch}^1", f"{work}^1").split() == [base, base]
    words = project.git("show", "-s", "--format=%B", work)
    assert words.startswith("a: Do a. (attempt 1)\n\nAdd a\n\nBecause.\n\nYaoki-Run:")
    assert "Yaoki-Undo" not in words

    task = project.task("a")["id"]
    kept = project.git("log", "--format=%s", f"refs/yaoki/work/{task}/1-history", "--not", "main")
    assert kept.split("\n") == ["Add a", "one"]
    assert project.show(f"refs/yaoki/work/{task}/1-history~1", "other.txt") == "payload-of-nobody"
    assert project.yaoki("verify").code == 0
    assert project.yaoki("verify", "--replay").code == 0


@pytest.mark.full
def test_a_file_of_an_earlier_attempt_is_not_in_the_landed_history(project: Project) -> None:
    script = [
        [acts(f"echo bad > a.txt; echo junk-of-attempt-one > b.txt; {COMMIT} first")],
        [acts(f"echo good > a.txt; rm b.txt; {COMMIT} second")],
    ]
    plan = a_plan({"a": script}, [{"id": "a"}], {"ok": file_contains("a.txt")})

    done = project.yaoki("run", project.plan(plan), "--quiet")

    assert done.code == 0, done.out + done.err
    branch, task = f"yaoki/{project.status()['run']}", project.task("a")["id"]
    assert "b.txt" not in project.git("rev-list", "--objects", branch)
    assert project.show(f"refs/yaoki/work/{task}/1", "b.txt") == "junk-of-attempt-one"
    assert project.git("log", "-1", "--format=%s", f"refs/yaoki/work/{task}/2-history") == "second"
    undone = project.yaoki("undo", "a")
    assert undone.code == 0, undone.out + undone.err
    assert project.git("diff", "main", branch) == ""


@pytest.mark.full
def test_a_candidate_builds_on_the_agents_merge_of_the_run_branch(project: Project) -> None:
    """`b` edits the lines that `a` landed meanwhile: on its first base that would conflict."""
    merge = (
        "for i in $(seq 600); do git merge-base --is-ancestor $(git rev-parse HEAD) "
        "$(git rev-parse yaoki/$YAOKI_RUN) && test $(git rev-parse HEAD) != "
        "$(git rev-parse yaoki/$YAOKI_RUN) && break; sleep 0.1; done; "
        f"git {' '.join(GIT_IDENTITY)} merge -q yaoki/$YAOKI_RUN; "
        "sed -i s/one/two/ x.txt; echo good > b.txt; "
        f"{COMMIT} on-top"
    )
    script = {"a": [[acts("echo one > x.txt; echo good > a.txt")]], "b": [[acts(merge)]]}
    plan = a_plan(
        script,
        [{"id": "a", "checks": ["a"]}, {"id": "b", "checks": ["b"]}],
        {"a": file_contains("a.txt"), "b": file_contains("b.txt")},
    )

    done = project.yaoki("run", project.plan(plan), "--quiet")

    assert done.code == 0, done.out + done.err
    branch = f"yaoki/{project.status()['run']}"
    assert project.show(branch, "x.txt") == "two"
    assert project.task("b")["attempt"] == 1
    assert "on-top" not in project.git("log", "--format=%s", branch)
