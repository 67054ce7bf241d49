"""Only yaoki moves the run branch: any other change is detected, reported and never built on."""

from __future__ import annotations

import threading
from dataclasses import replace
from pathlib import Path

import pytest

from tests.repositories import (
    World,
    a_world,
    approve,
    commit,
    git,
    land_task,
    run_attempt,
    start_attempt,
    write,
)
from yaoki.adapters.git.command import Git, GitLocation
from yaoki.adapters.git.reachability import commits_not_reachable
from yaoki.adapters.workspace import GitWorkspace
from yaoki.errors import BranchMovedExternally, GitFailed, NotNow

BRANCH = "refs/heads/yaoki/ab12cd34"
MARK = "refs/yaoki/runs/ab12cd34"


@pytest.fixture
def world(tmp_path: Path) -> World:
    """One task has landed; the user is on another branch."""
    world = a_world(tmp_path)
    land_task(world, world.task(), lambda at: write(at, new="n"))
    git(world.repo, "checkout", "-q", "-b", "elsewhere")
    return world


def by_hand(world: World, *names: str) -> None:
    """A person commits on the run branch."""
    git(world.repo, "checkout", "-q", world.run.branch)
    for name in names:
        write(world.repo, **{name: "x"})
        commit(world.repo, f"by hand: {name}")
    git(world.repo, "checkout", "-q", "elsewhere")


def both(world: World) -> set[str]:
    return {world.refs()[BRANCH], world.refs()[MARK]}


@pytest.mark.spec("9.6", "0.2")
def test_the_recorded_head_follows_yaokis_moves_of_the_run_branch(tmp_path: Path) -> None:
    world = a_world(tmp_path)
    opened = both(world)
    done = land_task(world, world.task(), lambda at: write(at, new="n"))
    after_landing = both(world)

    head = world.workspace.landings.undo(world.run, {done.id: done.landed_commit}, approve=approve)

    assert opened == {world.run.base}
    assert after_landing == {done.landed_commit}
    assert both(world) == {head}
    assert world.workspace.branches.describe_drift(world.run) == ""


@pytest.mark.spec("0.2", "0.6")
def test_a_deleted_run_branch_is_never_created_again(world: World) -> None:
    """A new branch at the base would lose landed work while every task is done."""
    last = world.workspace.branches.head(world.run)
    git(world.repo, "branch", "-q", "-D", world.run.branch)

    with pytest.raises(GitFailed, match=rf"yaoki/ab12cd34 is gone.*{last[:12]}") as refused:
        world.workspace.branches.open_run_branch(world.run)
    said = world.workspace.branches.describe_drift(world.run)
    git(world.repo, *refused.value.hint.removeprefix("git ").split())
    world.workspace.branches.open_run_branch(world.run)

    assert not refused.value.transient
    assert "yaoki/ab12cd34 is gone" in said
    assert world.workspace.branches.head(world.run) == last
    assert world.workspace.branches.describe_drift(world.run) == ""


@pytest.mark.spec("0.2")
def test_a_merged_runs_branch_may_be_deleted(world: World) -> None:
    merged = world.workspace.landings.merge(world.run, approve=approve)
    git(world.repo, "branch", "-q", "-D", world.run.branch)

    assert (
        world.workspace.branches.describe_drift(replace(world.run, merged_commit=merged.commit))
        == ""
    )


@pytest.mark.spec("0.2")
def test_a_run_without_a_recorded_head_gets_one_at_its_branch(world: World) -> None:
    """From an older yaoki, or after a kill between the two writes."""
    git(world.repo, "update-ref", "-d", MARK)

    merged = world.workspace.landings.merge(world.run, into="result", approve=approve)
    world.workspace.branches.open_run_branch(world.run)

    assert merged.commit == world.workspace.branches.head(world.run)
    assert both(world) == {merged.commit}


@pytest.mark.spec("0.2", "3.4")
def test_a_landing_killed_between_record_and_branch_lands_when_repeated(world: World) -> None:
    done = run_attempt(world, world.task(2), lambda at: write(at, two="2"))
    found = world.workspace.landings.build_candidate(world.run, done)
    git(world.repo, "update-ref", MARK, found.commit)

    assert not world.workspace.branches.branch_contains(world.run, found.commit)
    assert world.workspace.landings.land(world.run, found.commit, found.onto) == found.commit
    assert both(world) == {found.commit}


@pytest.mark.spec("3.4", "0.3")
def test_a_late_landing_does_not_move_the_recorded_head(world: World) -> None:
    late = run_attempt(world, world.task(2), lambda at: write(at, two="2"))
    found = world.workspace.landings.build_candidate(world.run, late)
    other = land_task(world, world.task(3), lambda at: write(at, three="3"))

    assert world.workspace.landings.land(world.run, found.commit, found.onto) == other.landed_commit
    assert both(world) == {other.landed_commit}


@pytest.mark.spec("0.1", "9.6")
def test_foreign_commits_are_not_merged_as_verified(world: World) -> None:
    mark = world.workspace.branches.head(world.run)
    by_hand(world, "one", "two")
    before = world.refs()

    with pytest.raises(NotNow) as refused:
        world.workspace.landings.merge(world.run, approve=approve)

    assert refused.value.sentence == (
        "yaoki/ab12cd34 contains commits that yaoki did not land: 2 commits, first 'by hand: one'"
    )
    assert f"git log {mark[:12]}..yaoki/ab12cd34" in refused.value.hint
    assert "git merge yaoki/ab12cd34" in refused.value.hint
    assert world.workspace.branches.describe_drift(world.run) == refused.value.sentence
    assert world.refs() == before


@pytest.mark.spec("9.6")
def test_a_run_merged_by_hand_with_foreign_commits_counts_as_merged(world: World) -> None:
    by_hand(world, "one")
    git(world.repo, "checkout", "-q", "main")
    git(world.repo, "merge", "-q", world.run.branch)

    assert world.workspace.landings.merge(world.run, approve=approve).how == "already"


@pytest.mark.spec("0.2", "9.6")
def test_a_run_branch_that_lacks_landings_is_not_merged(world: World) -> None:
    mark = world.workspace.branches.head(world.run)
    git(world.repo, "branch", "-q", "-f", world.run.branch, f"{mark}~1")

    with pytest.raises(NotNow) as refused:
        world.workspace.landings.merge(world.run, into="result", approve=approve)

    assert refused.value.sentence.startswith(
        "yaoki/ab12cd34 lacks commits that yaoki landed: 2 commits, "
        "first 'task1: Do 1. (attempt 1)'"
    )
    assert f"git log yaoki/ab12cd34..{mark[:12]}" in refused.value.hint
    assert "refs/heads/result" not in world.refs()


@pytest.mark.spec("0.1", "3.4")
def test_a_task_lands_on_foreign_commits_only_if_verified_with_them(world: World) -> None:
    by_hand(world, "one")

    done = land_task(world, world.task(2), lambda at: write(at, two="2"))

    assert world.files(done.landed_commit) >= {"one", "two"}
    assert both(world) == {done.landed_commit}
    assert world.workspace.landings.merge(world.run, approve=approve).how == "fast-forward"


@pytest.mark.spec("0.2", "8.6")
def test_a_landing_in_progress_is_no_drift(world: World) -> None:
    """The recorded head moves first; a reader or a kill in between sees it one landing ahead."""
    head = world.workspace.branches.head(world.run)
    git(world.repo, "update-ref", BRANCH, git(world.repo, "rev-parse", f"{head}^1").strip())

    assert GitWorkspace(world.repo, world.root).branches.describe_drift(world.run) == ""
    assert world.workspace.branches.missing_commits(world.run, [head]) == (head,), (
        "a merge still refuses it"
    )


@pytest.mark.spec("0.2", "8.6")
def test_a_removed_landing_is_noticed_by_memory_or_by_the_store(world: World) -> None:
    """By one landing, which looks like a kill between record and branch; or with the record."""
    head = world.workspace.branches.head(world.run)
    before = git(world.repo, "rev-parse", f"{head}^1").strip()
    fresh = GitWorkspace(world.repo, world.root)
    said: list[str] = []
    for refs in ((BRANCH,), (BRANCH, MARK)):
        for ref in refs:
            git(world.repo, "update-ref", ref, before)
        said += [world.workspace.branches.describe_drift(world.run)]
        with pytest.raises(
            BranchMovedExternally, match="lacks commits that yaoki landed"
        ) as strayed:
            fresh.branches.refuse_drift(world.run, [head])
        for command in strayed.value.hint.split(" && "):
            git(world.repo, *command.removeprefix("git ").split())
        assert both(world) == {head}

    assert (
        said
        == [
            f"{world.run.branch} lacks commits that yaoki landed: 2 commits, "
            "first 'task1: Do 1. (attempt 1)'"
        ]
        * 2
    )
    assert world.workspace.branches.describe_drift(world.run) == ""


@pytest.mark.spec("0.2", "3.4")
def test_nothing_lands_on_a_branch_that_lost_a_landing(world: World) -> None:
    """Verified before the other task landed, it would be expected exactly at the current head."""
    early = run_attempt(world, world.task(2), lambda at: write(at, two="2"))
    found = world.workspace.landings.build_candidate(world.run, early)
    for n in (3, 4):
        land_task(world, world.task(n), lambda at, n=n: write(at, **{f"f{n}": "x"}))  # type: ignore[misc]
    git(world.repo, "update-ref", BRANCH, found.onto)

    with pytest.raises(BranchMovedExternally):
        GitWorkspace(world.repo, world.root).landings.land(world.run, found.commit, found.onto)

    assert world.refs()[BRANCH] == found.onto


@pytest.mark.spec("0.2", "8.6")
def test_concurrent_landings_never_look_like_drift(world: World) -> None:
    """Observed in a run with two slots: one task read the refs while the other moved them."""
    said: list[str] = []
    over = threading.Event()

    def look() -> None:
        while not over.is_set():
            said.append(world.workspace.branches.describe_drift(world.run))

    reader = threading.Thread(target=look)
    reader.start()
    head = world.workspace.branches.head(world.run)
    tree = git(world.repo, "rev-parse", f"{head}^{{tree}}").strip()
    for n in range(40):
        words = f"landing {n}\n\nYaoki-Run: {world.run.id}\n"
        new = git(world.repo, "commit-tree", "-p", head, "-m", words, tree).strip()
        head = world.workspace.landings.land(world.run, new, head)
    over.set()
    reader.join()

    assert set(said) == {""}


@pytest.mark.spec("8.2", "14.3")
def test_branch_and_record_moved_together_by_an_agent_are_noticed(world: World) -> None:
    """The agent's own commit would count as landed without any check."""
    land_task(world, world.task(), lambda at: write(at, one__txt="1\n"))
    assert world.workspace.branches.describe_drift(world.run) == ""
    task = start_attempt(world, world.task(2))
    there = Path(task.work.worktree)
    write(there, evil__txt="x\n")
    evil = commit(there, "evil")
    for ref in (f"refs/heads/{world.run.branch}", f"refs/yaoki/runs/{world.run.id}"):
        git(world.repo, "update-ref", ref, evil)

    told = world.workspace.branches.describe_drift(world.run)

    assert told == f"{world.run.branch} is at {evil[:12]}, which yaoki did not make"


class RecordingGit(Git):
    """Records the longest answer of git."""

    longest = 0

    def read_text(
        self, *args: str, at: GitLocation | None = None, stdin: bytes | None = None
    ) -> str:
        said = super().read_text(*args, at=at, stdin=stdin)
        self.longest = max(self.longest, len(said.split()))
        return said


@pytest.mark.spec("0.2", "9.6")
def test_missing_commits_are_found_without_reading_the_whole_history(world: World) -> None:
    """Every check of a run branch read the whole history of the project into memory."""
    first = world.workspace.branches.head(world.run)
    second = land_task(world, world.task(2), lambda at: write(at, two="2")).landed_commit
    git(world.repo, "checkout", "-q", "--detach", second)
    write(world.repo, one="1")
    commit(world.repo)
    write(world.repo, other="1")
    last = commit(world.repo)
    recorder = RecordingGit(world.repo / ".git")

    asked = [first, second, last, "0" * 40]
    lacked = commits_not_reachable(recorder, asked, second)

    assert lacked == (last, "0" * 40)
    assert recorder.longest == 2, "only what the head lacks is listed"
    assert commits_not_reachable(recorder, [], second) == ()
