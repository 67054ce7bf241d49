"""The end of a run: merged into a checked-out branch, shown as merged, and forgotten."""

from __future__ import annotations

import subprocess
import tarfile
from typing import Any

import pytest

from tests.acceptance.prepared import Prepared
from tests.acceptance.project import GIT_IDENTITY, Project, a_plan, file_contains, writes
from tests.acceptance.test_cli_cancel_merge_undo import run_two_tasks

pytestmark = pytest.mark.acceptance


@pytest.mark.spec("9.6", "0.2", "12.1")
def test_merge_fast_forwards_a_clean_checkout_of_the_base(prepared: Prepared) -> None:
    project, stands = prepared.after(run_two_tasks)
    (project.repo / "own.txt").write_text("untracked work of a person\n")

    merged = project.yaoki("merge", stands["run"])

    assert merged.code == 0, merged.out + merged.err
    assert f"the checkout {project.repo}" in merged.out
    assert project.git("rev-parse", "HEAD") == project.git("rev-parse", stands["run_branch"])
    assert project.git("symbolic-ref", "HEAD") == "refs/heads/main"
    assert (project.repo / "two.txt").read_text() == "good\n"
    assert project.git("status", "--porcelain") == "?? own.txt"
    status = project.yaoki("status").out
    assert f"merged into main at {project.status()['merged'][:10]}" in status
    assert "2/2 landed, merged" in project.yaoki("status", "--all").out


@pytest.mark.spec("9.6", "0.2", "0.6")
@pytest.mark.parametrize("kind", ["changed", "staged", "overwritten", "rebasing", "sparse"])
def test_merge_leaves_a_checkout_in_use_as_it_is(prepared: Prepared, kind: str) -> None:
    project, stands = prepared.after(run_two_tasks)
    match kind:
        case "changed":
            (project.repo / "README").write_text("edited\n")
        case "staged":
            (project.repo / "new.txt").write_text("new\n")
            project.git("add", "new.txt")
        case "overwritten":
            (project.repo / "one.txt").write_text("mine\n")
        case "sparse":
            project.git("sparse-checkout", "set", "--no-cone", "/README", "/yaoki.toml")
        case _:
            (project.repo / ".git" / "MERGE_HEAD").write_text(project.git("rev-parse", "HEAD"))
    before = [project.git("rev-parse", "HEAD"), project.git("status", "--porcelain")]
    index = (project.repo / ".git" / "index").read_bytes()

    refused = project.yaoki("merge", stands["run"])

    reasons = {
        "changed": "it has 1 uncommitted file: README",
        "staged": "it has 1 uncommitted file: new.txt",
        "overwritten": "untracked files would be overwritten: one.txt",
        "rebasing": "an operation of git is not finished there",
        "sparse": "it is a sparse checkout",
    }
    assert refused.code == 6
    assert reasons[kind] in refused.err
    assert "nothing was changed" in refused.err
    assert f"git merge --ff-only {stands['run_branch']}" in refused.err
    assert [project.git("rev-parse", "HEAD"), project.git("status", "--porcelain")] == before
    assert (project.repo / ".git" / "index").read_bytes() == index


@pytest.mark.spec("11.7", "0.2", "12.1")
def test_a_merged_run_is_forgotten_and_its_archive_stays(prepared: Prepared) -> None:
    project, stands = prepared.after(run_two_tasks)
    run = stands["run"]

    early = project.yaoki("forget", run)
    none = project.yaoki("forget")
    project.yaoki("merge", run)
    named = project.yaoki("forget")
    cancelled = project.yaoki("cancel", run)
    done = project.yaoki("forget", run)

    assert early.code == none.code == named.code == 6
    assert "no run is finished and merged" in none.err
    assert f"name the run to forget: {run} (Rehearse)" in named.err
    assert named.err.rstrip().endswith(f" yaoki forget {run}")
    assert f"run {run} is already merged" in cancelled.err
    assert f"yaoki undo TASK --run {run}" in cancelled.err
    assert f"the work of run {run} is not merged" in early.err
    assert done.code == 0, done.out + done.err
    assert project.git("for-each-ref", "refs/heads/yaoki", "refs/yaoki/work") == ""
    (archive,) = (project.repo / ".yaoki" / "archive").glob(f"{run}*.tar.gz")
    with tarfile.open(archive) as kept:
        assert any(name.endswith(".bundle") for name in kept.getnames())
    assert "next: yaoki run PLAN" in done.out
    for command in ("status", "report", "recover"):
        refused = project.yaoki(command, run)
        said = " ".join(refused.err.split())
        assert refused.code == 6, refused
        assert "it was archived, with its journal, logs and commits; its report: tar" in said
        shown = subprocess.check_output(said.partition("its report: ")[2].split(), text=True)
        assert "The run is done: " in shown, shown
        assert run in shown
    nothing_left = project.yaoki("status")
    assert "every run of this repository is archived" in nothing_left.err
    assert f"ls {archive.parent}" in nothing_left.err
    assert (project.repo / "one.txt").read_text() == "good\n"
    saved = project.yaoki("recover").out
    assert "all saved work is in archived runs" in saved
    subprocess.run(saved.partition("next: ")[2], shell=True, check=True, cwd=project.repo)
    assert project.git("for-each-ref", "refs/heads/back"), saved


@pytest.mark.full
@pytest.mark.spec("11.7", "0.6")
def test_an_unmerged_run_is_forgotten_only_by_force_and_an_open_one_never(
    project: Project,
) -> None:
    script = {"good": [writes("good.txt")], "bad": [writes("bad.txt", "wrong\n")]}
    tasks: list[dict[str, Any]] = [
        {"id": "good", "checks": ["good"]},
        {"id": "bad", "checks": ["bad"], "retry": {"max_retries": 0}},
        {"id": "later", "needs": ["bad"], "checks": ["good"]},
    ]
    checks = {"good": file_contains("good.txt"), "bad": file_contains("bad.txt")}
    ran = project.yaoki("run", project.plan(a_plan(script, tasks, checks)))
    run = project.status()["run"]
    assert ran.code == 4, ran.out + ran.err
    assert "wait for your answer to bad: later" in ran.out
    assert "DEPENDENCY_FAILED" not in ran.out

    still_open = project.yaoki("forget", run, "--force")
    project.yaoki("cancel", run)
    refused = project.yaoki("forget", run)
    forced = project.yaoki("forget", run, "--force", "--json")

    assert still_open.code == 6, still_open.out
    assert refused.code == 6
    assert forced.code == 0, forced.err
    assert project.git("for-each-ref", "refs/heads/yaoki") == ""
    assert forced.document["file"].endswith(f"{run}.tar.gz")


@pytest.mark.full
@pytest.mark.spec("9.6", "2.1", "12.1")
def test_a_run_may_start_from_a_commit_and_is_merged_into_a_named_branch(
    project: Project,
) -> None:
    """Build servers check out a commit, not a branch."""
    start = project.git("rev-parse", "HEAD")
    project.git(*GIT_IDENTITY, "commit", "-q", "--allow-empty", "-m", "later")
    plan = project.plan(
        a_plan(
            {"a": [writes("a.txt")]}, [{"id": "a", "checks": ["a"]}], {"a": file_contains("a.txt")}
        )
    )
    project.git("checkout", "-q", "--detach", start)
    assert project.yaoki("plan", "submit", plan).code == 0
    detached = project.status()
    project.git("checkout", "-q", "main")

    ran = project.yaoki("run", plan, "--base", start[:12])

    assert ran.code == 0, ran.out + ran.err
    status = project.status()
    for document in (detached, status):
        assert (document["base"], document["base_branch"]) == (start, "")
    assert detached["run"] != status["run"]
    assert f"yaoki merge {status['run']} --into BRANCH" in ran.out
    assert f"from commit {start[:10]}" in project.yaoki("status").out
    assert project.yaoki("report").code == 0
    refused = project.yaoki("merge")
    assert refused.code == 6
    assert "--into BRANCH" in refused.err
    project.git("branch", "other", start)
    assert project.yaoki("merge", "--into", "other").code == 0
    assert project.git("show", "other:a.txt") == "good"


@pytest.mark.spec("0.6", "2.1")
def test_an_unknown_base_is_refused(project: Project) -> None:
    plan = a_plan(
        {"a": [writes("a.txt")]}, [{"id": "a", "checks": ["a"]}], {"a": file_contains("a.txt")}
    )

    refused = project.yaoki("run", project.plan(plan), "--base", "nowhere")

    assert refused.code != 0
    assert "there is no branch or commit 'nowhere'" in refused.err


@pytest.mark.spec("2.3", "12.1")
def test_the_plan_to_be_approved_shows_goals_and_scopes(project: Project) -> None:
    task = {"id": "a", "goal": "Add words().\nWith tests.", "scope": ["src/**"], "checks": ["a"]}
    plan = project.plan(a_plan({"a": [writes("a.txt")]}, [task], {"a": file_contains("a.txt")}))

    for words in (("plan", plan), ("plan", "show", plan), ("run", plan, "--dry-run")):
        shown = project.yaoki(*words).out
        assert "Add words()." in shown
        assert "With tests." not in shown
        assert "scope src/**" in shown


# As many tests as there are files, without those that `left_out` names.
COUNTED = """n=0
for file in *.t; do
  if grep -qx "$file" left_out 2>/dev/null; then continue; fi
  n=$((n + 1)) && echo "ok $n - $file"
done
echo "1..$n"
"""


@pytest.mark.spec("9.6", "16.6", "0.4")
@pytest.mark.parametrize("by", ["somebody else", "the run"])
def test_the_tests_of_a_merge_are_compared_with_the_branch_it_goes_to(
    project: Project, by: str
) -> None:
    """A run is blamed for tests that its merge would lose, and not for what others removed."""
    for name in ("one.t", "two.t"):
        (project.repo / name).touch()
    (project.repo / "tests.sh").write_text(COUNTED)
    commit_all(project)
    script = writes("left_out", "three.t\n") if by == "the run" else writes("doc.txt")
    plan = a_plan(
        {"work": [script]},
        [{"id": "work", "checks": ["tests"], "may_change_nothing": True}],
        {"tests": {"run": ["sh", "tests.sh"], "pattern": "test-failed"}},
        done_when=["tests"],
    )
    done = project.yaoki("run", project.plan(plan), "--quiet")
    assert done.code == 0, done.out + done.err
    (project.repo / "two.t").unlink() if by == "somebody else" else (
        project.repo / "three.t"
    ).touch()
    commit_all(project)

    merged = project.yaoki("merge")

    if by == "somebody else":
        assert merged.code == 0, merged.err
    else:
        assert merged.code == 6, merged.out
        assert "3 tests ran before the change, 2 with it" in " ".join(merged.err.split())


def commit_all(project: Project) -> None:
    project.git("add", "-A")
    project.git(*GIT_IDENTITY, "commit", "-qm", "meanwhile")
