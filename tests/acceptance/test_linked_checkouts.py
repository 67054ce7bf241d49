"""A clone with linked git worktrees: each checkout has its own store and its own proofs."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.acceptance.project import (
    GIT_IDENTITY,
    Project,
    a_plan,
    file_contains,
    writes,
)
from tests.acceptance.test_sandbox import a_plan as sandboxed_plan
from tests.acceptance.test_sandbox import needs_bubblewrap, write_sandbox_settings

pytestmark = [pytest.mark.acceptance, pytest.mark.spec("16.1", "8.6")]
PLAN = a_plan({"a": [writes("a.txt")]}, [{"id": "a"}], {"ok": file_contains("a.txt")})


@pytest.fixture
def linked(project: Project) -> Path:
    """A second checkout of the clone."""
    if project.store:
        pytest.skip("a store elsewhere serves both checkouts")
    folder = project.folder / "linked"
    project.git("worktree", "add", "-q", "-b", "feature", str(folder))
    return folder


def run_in(project: Project, folder: Path) -> str:
    """The branch of a run that is done there."""
    done = project.yaoki("run", project.plan(PLAN), "--quiet", "--json", cwd=folder)
    assert done.code == 0, done.out + done.err
    return f"yaoki/{done.document['run']}"


def test_both_checkouts_of_a_clone_prove_their_work(project: Project, linked: Path) -> None:
    for folder in (project.repo, linked):
        assert project.show(run_in(project, folder), "a.txt") == "good"


@pytest.mark.full
def test_two_checkouts_run_and_merge_at_the_same_time(project: Project, linked: Path) -> None:
    begun = project.folder / "begun"
    meet = f"echo x >> {begun}; until test $(wc -l < {begun}) -ge 2; do sleep 0.05; done"
    check = {"ok": {"shell": f"{meet}; test -f a.txt"}}
    file = project.plan(a_plan({"a": [writes("a.txt")]}, [{"id": "a"}], check))
    folders = (project.repo, linked)

    with (
        project.beside("run", file, "--quiet", "--repo", str(project.repo)) as here,
        project.beside("run", file, "--quiet", "--repo", str(linked)) as there,
    ):
        both = (here, there)

    for done in (one.result() for one in both):
        assert done.code == 0, done.out + done.err
    for folder, branch in zip(folders, ("main", "feature"), strict=True):
        project.git("-C", str(folder), *GIT_IDENTITY, "commit", "-qm", "other", "--allow-empty")
        merged = project.yaoki("merge", cwd=folder)
        assert merged.code == 0, merged.out + merged.err
        assert project.show(branch, "a.txt") == "good"
        assert project.yaoki("plan", "show", file, "--baseline", cwd=folder).code == 0


def test_a_checkout_names_the_one_with_the_store(project: Project, linked: Path) -> None:
    branch = run_in(project, project.repo)

    status = project.yaoki("status", cwd=linked)
    doctor = project.yaoki("doctor", cwd=linked)

    assert status.code == 6
    assert f"cd {project.repo} && yaoki status" in status.err
    assert f"cd {project.repo} && yaoki status" in doctor.out
    assert doctor.code == 0, doctor.out
    assert branch in doctor.out
    assert f"run {branch.removeprefix('yaoki/')} is in the store of {project.repo}" in status.err
    for said in (status.err, doctor.out):
        assert not any(words in said for words in ("was deleted", "git branch -D", "git merge"))


def test_a_run_of_another_checkout_is_named_with_the_command_that_shows_it(
    project: Project, linked: Path
) -> None:
    """Its branch is gone, as after a merge: the store alone knows the run."""
    branch = run_in(project, project.repo)
    run = branch.removeprefix("yaoki/")
    project.git("branch", "-D", branch)
    lives = f"run {run} is in the store of {project.repo}, another checkout of this clone"
    shows = f"cd {project.repo} && yaoki status {run}"

    def refusals(*commands: str) -> Iterator[str]:
        for words in commands:
            refused = project.yaoki(*words.split(), cwd=linked)
            assert refused.code == 6, refused.out
            assert lives in refused.err
            yield refused.err.strip().splitlines()[-1].strip()

    named = [f"status {run}", f"status {branch}", f"status {run[:4]}", f"report {run}"]
    first = ("status", *named, f"why {run}-1", f"why a --run {run}")
    assert list(refusals(*first)) == [shows] * 7

    run_in(project, linked)
    later = (f"trace {run}", f"why {run}-1", f"why a --run {run}")
    assert list(refusals(*named, *later)) == [shows] * 7
    assert "no run named 'nothing'" in project.yaoki("status", "nothing", cwd=linked).err


@pytest.mark.full
def test_only_branches_of_no_checkout_are_offered_for_deletion(
    project: Project, linked: Path
) -> None:
    theirs, ours = run_in(project, linked), run_in(project, project.repo)
    doctor = project.yaoki("doctor")
    assert doctor.code == 0, doctor.out
    assert f"{theirs}) is in the store of {linked}" in doctor.out

    (linked / ".yaoki" / "state.db").write_bytes(b"damaged")
    assert "git branch -D" not in project.yaoki("doctor").out, "an unreadable store may know it"

    shutil.rmtree(linked / ".yaoki")
    doctor = project.yaoki("doctor")
    assert doctor.code == 1
    assert f"git branch -D {theirs}" in doctor.out
    assert ours not in doctor.out


@pytest.mark.spec("14.3", "17.2")
def test_a_sandboxed_agent_reaches_no_store_of_another_checkout(project: Project) -> None:
    """Their parent folder is writable: only the state of yaoki is closed to the agent."""
    if project.store:
        pytest.skip("a store elsewhere serves both checkouts")
    needs_bubblewrap()
    root = project.folder / "trees"
    settings = (project.repo / "yaoki.toml").read_text()
    (project.repo / "yaoki.toml").write_text(f'{settings}\n[workspace]\nroot = "{root}"\n')
    write_sandbox_settings(project, mode="on", writable=[str(project.folder)])
    linked = project.folder / "linked"
    project.git("worktree", "add", "-q", "-b", "feature", str(linked))
    run_in(project, linked)
    run_in(project, project.repo)
    (own,), (other,) = (list(root.glob(f"{name}-*")) for name in ("repo", "linked"))

    for folder, closed, room in ((linked, project.repo, own), (project.repo, linked, other)):
        (room / "secret").write_text("SECRET")
        tries = (
            f"grep -aq CREATE {closed}/.yaoki/state.db && echo DID read",
            f"echo evil >> {closed}/.yaoki/state.db && echo DID write",
            f"touch {closed}/.yaoki/runs/planted && echo DID plant",
            f"cat {room}/secret && echo DID read a worktree",
            f"echo evil > {room}/planted && echo DID plant in a worktree",
            f"touch {closed}/beside && echo REACHED {closed}/beside",
        )
        done = project.yaoki("run", sandboxed_plan(project, "\n".join(tries)), cwd=folder)

        assert done.code == 0, done.out + done.err
        log = project.yaoki("logs", "a", cwd=folder).out
        assert f"REACHED {closed}/beside" in log
        assert "DID" not in log
        assert "SECRET" not in log
