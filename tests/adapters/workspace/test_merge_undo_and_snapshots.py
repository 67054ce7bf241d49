"""Merge, undo, snapshots, recovered work, and files copied to fresh worktrees."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from tests.repositories import (
    World,
    a_repository,
    a_world,
    approve,
    commit,
    git,
    land_task,
    run_attempt,
    start_attempt,
    user_state,
    write,
)
from yaoki.adapters.workspace import GitWorkspace
from yaoki.adapters.workspace.attempt_worktrees import PACK_EVERY
from yaoki.adapters.workspace.worktrees import included_files
from yaoki.errors import CheckoutObstructed, GitFailed, NotNow, Unknown, WorkspaceError
from yaoki.ports import without_undone


@pytest.fixture
def world(tmp_path: Path) -> World:
    return a_world(tmp_path)


@pytest.fixture
def away(world: World) -> World:
    """The user is on another branch, and one task has landed."""
    land_task(world, world.task(), lambda at: write(at, new="n", a__txt="A\na2\na3\n"))
    git(world.repo, "checkout", "-q", "-b", "elsewhere")
    return world


def on_main(world: World, **files: str) -> str:
    """A person commits to main meanwhile."""
    git(world.repo, "checkout", "-q", "main")
    write(world.repo, **files)
    made = commit(world.repo, "meanwhile")
    git(world.repo, "checkout", "-q", "elsewhere")
    return made


@pytest.mark.spec("9.6")
def test_an_unmoved_base_is_fast_forwarded(away: World) -> None:
    merged = away.workspace.landings.merge(away.run, approve=approve)

    assert (merged.branch, merged.how) == ("main", "fast-forward")
    assert away.refs()["refs/heads/main"] == merged.commit == away.workspace.branches.head(away.run)


@pytest.mark.spec("9.6")
def test_a_base_that_moved_gets_a_merge_commit(away: World) -> None:
    meanwhile = on_main(away, other="o")

    merged = away.workspace.landings.merge(away.run, approve=approve)

    assert merged.how == "merge"
    assert git(away.repo, "rev-parse", "main^1", "main^2").split() == [
        meanwhile,
        away.workspace.branches.head(away.run),
    ]
    assert away.files("main") >= {"other", "new"}
    assert (
        git(away.repo, "log", "-1", "--format=%s", "main") == "Merge yaoki/ab12cd34: Make it better"
    )


@pytest.mark.spec("9.6")
def test_a_custom_merge_message_is_used_in_full(away: World) -> None:
    on_main(away, other="o")

    away.workspace.landings.merge(
        away.run, message="Better sign-up\n\nWith all its reasons.", approve=approve
    )

    text = git(away.repo, "log", "-1", "--format=%B", "main").strip()
    assert text == "Better sign-up\n\nWith all its reasons.\n\nYaoki-Run: ab12cd34"


@pytest.mark.spec("9.6", "0.3")
def test_merging_twice_changes_nothing(away: World) -> None:
    on_main(away, other="o")
    first = away.workspace.landings.merge(away.run, approve=approve)

    again = away.workspace.landings.merge(away.run, approve=approve)

    assert (again.how, again.commit) == ("already", first.commit)


@pytest.mark.spec("9.6")
def test_conflicts_with_the_base_are_listed_and_nothing_moves(away: World) -> None:
    meanwhile = on_main(away, a__txt="M\na2\na3\n")

    with pytest.raises(NotNow, match=r"conflict: a\.txt") as refused:
        away.workspace.landings.merge(away.run, approve=approve)

    assert "git merge yaoki/ab12cd34" in refused.value.hint
    assert away.refs()["refs/heads/main"] == meanwhile


@pytest.mark.spec("9.6", "0.2")
def test_a_checked_out_base_is_moved_only_with_a_clean_checkout(away: World) -> None:
    git(away.repo, "checkout", "-q", "main")
    text = (away.repo / "a.txt").read_text()
    (away.repo / "a.txt").write_text("edited\n")
    before = user_state(away.repo)

    with pytest.raises(CheckoutObstructed, match="main is checked out at") as refused:
        away.workspace.landings.merge(away.run, approve=approve)

    assert refused.value.remedy == "commit or stash it"
    assert "merge --ff-only yaoki/ab12cd34" in refused.value.by_hand
    assert user_state(away.repo) == before
    (away.repo / "a.txt").write_text(text)
    moved = away.workspace.landings.merge(away.run, approve=approve)
    assert (moved.how, moved.checkout) == ("fast-forward", str(away.repo))
    assert git(away.repo, "status", "--porcelain") == ""
    assert away.workspace.landings.merge(away.run, approve=approve).how == "already"


@pytest.mark.spec("9.6", "0.2")
def test_a_base_in_the_middle_of_a_rebase_is_not_moved(away: World) -> None:
    on_main(away, b__txt="main\n")
    git(away.repo, "checkout", "-q", "-b", "upstream", "main~1")
    write(away.repo, b__txt="upstream\n")
    commit(away.repo)
    git(away.repo, "checkout", "-q", "main")
    git(away.repo, "rebase", "-q", "upstream", code=1)

    with pytest.raises(NotNow, match="main is checked out at"):
        away.workspace.landings.merge(away.run, approve=approve)


@pytest.mark.spec("9.6", "0.2")
def test_only_force_ref_moves_a_ref_under_a_checkout(away: World) -> None:
    git(away.repo, "checkout", "-q", "main")

    merged = away.workspace.landings.merge(away.run, force_ref=True, approve=approve)

    assert merged.commit == away.refs()["refs/heads/main"]
    assert not (away.repo / "new").exists()


@pytest.mark.spec("9.6")
def test_a_run_can_be_merged_into_another_branch_new_or_old(away: World) -> None:
    git(away.repo, "checkout", "-q", "main")
    git(away.repo, "branch", "release")

    made = away.workspace.landings.merge(away.run, into="result", approve=approve)
    moved = away.workspace.landings.merge(away.run, into="release", approve=approve)

    assert (made.how, moved.how) == ("created", "fast-forward")
    assert away.refs()["refs/heads/result"] == away.refs()["refs/heads/release"] == made.commit
    for wrong in ("-x", "a..b", "", "a b"):
        if wrong:
            with pytest.raises(NotNow, match="is not a valid branch name"):
                away.workspace.landings.merge(away.run, into=wrong, approve=approve)


@pytest.mark.spec("9.6")
def test_undo_reverts_exactly_one_task(world: World) -> None:
    first = land_task(world, world.task(1), lambda at: write(at, one="1", a__txt="A\na2\na3\n"))
    second = land_task(world, world.task(2), lambda at: write(at, two="2"))

    head = world.workspace.landings.undo(
        world.run, {first.id: first.landed_commit}, approve=approve
    )

    assert world.workspace.branches.head(world.run) == head
    assert git(world.repo, "rev-parse", f"{head}^") == second.landed_commit
    assert "one" not in world.files(head)
    assert world.show(head, "two") == "2"
    assert world.show(head, "a.txt") == "a1\na2\na3"
    assert f"Yaoki-Undo: {first.landed_commit}" in git(world.repo, "log", "-1", "--format=%B", head)


@pytest.mark.spec("9.6", "0.3")
def test_undoing_twice_changes_nothing(world: World) -> None:
    done = land_task(world, world.task(1), lambda at: write(at, one="1"))
    head = world.workspace.landings.undo(world.run, {done.id: done.landed_commit}, approve=approve)
    later = land_task(world, world.task(2), lambda at: write(at, two="2"))

    assert (
        world.workspace.landings.undo(world.run, {done.id: done.landed_commit}, approve=approve)
        == later.landed_commit
    )
    assert git(world.repo, "rev-list", "--count", "--grep=^Undo", world.run.branch) == "1"
    assert head != later.landed_commit


@pytest.mark.spec("9.6")
def test_undo_is_refused_when_later_work_builds_on_it(world: World) -> None:
    first = land_task(world, world.task(1), lambda at: write(at, a__txt="one\n"))
    second = land_task(world, world.task(2), lambda at: write(at, a__txt="one and two\n"))

    with pytest.raises(NotNow, match=r"later work builds on ab12cd34-1: a\.txt") as refused:
        world.workspace.landings.undo(world.run, {first.id: first.landed_commit}, approve=approve)

    assert refused.value.hint.startswith(f"yaoki undo {second.id}; with --cascade")
    assert world.workspace.branches.head(world.run) == second.landed_commit


@pytest.mark.spec("9.6", "0.3")
def test_several_landings_are_reverted_by_one_commit_or_not_at_all(world: World) -> None:
    """The second builds on the lines of the first, so it is reverted before it."""
    first = land_task(world, world.task(1), lambda at: write(at, a__txt="one\n"))
    second = land_task(world, world.task(2), lambda at: write(at, a__txt="one and two\n"))
    third = land_task(world, world.task(3), lambda at: write(at, three="3"))
    both = {second.id: second.landed_commit, first.id: first.landed_commit}
    seen: list[tuple[str, str]] = []

    def refuse(commit: str, head: str) -> None:
        seen.append((commit, head))
        raise NotNow("the rest fails")

    undo = world.workspace.landings.undo
    with pytest.raises(NotNow, match="the rest fails"):
        undo(world.run, both, refuse)
    with pytest.raises(NotNow, match="later work builds on ab12cd34-1"):
        undo(world.run, dict(reversed(both.items())), approve)
    assert world.workspace.branches.head(world.run) == third.landed_commit
    head = undo(world.run, both, lambda *pair: seen.append(pair))

    assert git(world.repo, "rev-parse", f"{head}^") == third.landed_commit
    assert seen[-1] == (head, third.landed_commit), "the commit that was approved is the head"
    assert len(seen) == 2
    assert world.show(head, "a.txt") == "a1\na2\na3"
    assert world.show(head, "three") == "3"
    steps = world.workspace.branches.list_landings(world.run)
    assert [step.undoes for step in steps if step.commit == head] == list(both.values())
    assert [step.task_id for step in without_undone(steps)] == [third.id]
    assert undo(world.run, both, refuse) == head, "undoing twice changes nothing"


@pytest.mark.spec("9.6", "0.3")
def test_an_undo_that_was_interrupted_between_two_reverts_continues(world: World) -> None:
    """Earlier versions reverted one task after the other."""
    first = land_task(world, world.task(1), lambda at: write(at, one="1"))
    second = land_task(world, world.task(2), lambda at: write(at, two="2"))
    undo = world.workspace.landings.undo
    half = undo(world.run, {second.id: second.landed_commit}, approve)

    both = {second.id: second.landed_commit, first.id: first.landed_commit}
    head = undo(world.run, both, approve)

    assert git(world.repo, "rev-parse", f"{head}^") == half
    assert not {"one", "two"} & world.files(head)
    assert undo(world.run, both, approve) == head


@pytest.mark.spec("9.6", "0.3")
def test_an_undo_of_changes_that_are_gone_already_is_recorded_on_the_branch(world: World) -> None:
    """Otherwise the landing would look as if it had not been reverted."""
    first = land_task(world, world.task(1), lambda at: write(at, one="1"))
    land_task(world, world.task(2), lambda at: (at / "one").unlink())

    undo = world.workspace.landings.undo
    head = undo(world.run, {first.id: first.landed_commit}, approve)

    steps = world.workspace.branches.list_landings(world.run)
    assert (steps[-1].commit, steps[-1].undoes) == (head, first.landed_commit)


@pytest.mark.spec("9.6", "0.6")
def test_undo_of_an_unlanded_task_is_refused(world: World) -> None:
    done = run_attempt(world, world.task(), lambda at: write(at, new="n"))

    with pytest.raises(NotNow, match="does not contain ab12cd34-1"):
        world.workspace.landings.undo(world.run, {done.id: done.work.head}, approve=approve)
    with pytest.raises(GitFailed, match="is gone"):
        world.workspace.landings.undo(world.run, {done.id: "0" * 40}, approve=approve)


@pytest.mark.spec("9.6", "0.2")
def test_undo_does_not_move_a_checked_out_branch(world: World) -> None:
    done = land_task(world, world.task(), lambda at: write(at, new="n"))
    git(world.repo, "checkout", "-q", world.run.branch)

    with pytest.raises(GitFailed, match="is checked out at"):
        world.workspace.landings.undo(world.run, {done.id: done.landed_commit}, approve=approve)


# ------------------------------------------------------------------ snapshots


@pytest.mark.spec("8.1")
def test_a_snapshot_contains_everything_and_changes_nothing(world: World) -> None:
    begun = start_attempt(world, world.task())
    at = Path(begun.work.worktree)
    write(at, a__txt="modified\n", untracked="u\n", staged="s\n", x__log="ignored")
    git(at, "add", "staged")
    index = (world.repo / ".git" / "worktrees" / begun.id / "index").read_bytes()
    before = user_state(at)

    snapshot = world.workspace.worktrees.take_snapshot(begun, 1)

    ref = f"refs/yaoki/snapshots/{snapshot}"
    assert snapshot == "ab12cd34-1-1"
    assert world.show(ref, "a.txt") == "modified"
    assert world.show(ref, "untracked") == "u"
    assert world.show(ref, "staged") == "s"
    assert "x.log" not in world.files(ref)
    assert (world.repo / ".git" / "worktrees" / begun.id / "index").read_bytes() == index
    assert user_state(at) == before
    [listed] = world.workspace.recovery.list_snapshots()
    assert (listed.id, listed.task_id, listed.attempt) == (snapshot, "ab12cd34-1", 1)


@pytest.mark.spec("8.1", "0.2")
def test_restoring_brings_files_and_head_back_and_saves_the_current_state(world: World) -> None:
    begun = start_attempt(world, world.task())
    at = Path(begun.work.worktree)
    write(at, a__txt="first\n", untracked="u\n", deps__log="ignored")
    world.workspace.worktrees.take_snapshot(begun, 1)
    write(at, a__txt="second\n", extra="e\n")
    (at / "untracked").unlink()
    commit(at, "went on")
    write(at, dirty="d\n")

    result = world.workspace.recovery.restore_snapshot("ab12cd34-1-1", begun)

    assert result.restored == ("a.txt", "untracked")
    assert result.deleted == ("dirty", "extra")
    assert git(at, "rev-parse", "HEAD") == world.run.base
    assert git(at, "status", "--porcelain").splitlines() == [" M a.txt", "?? untracked"]
    assert (at / "deps.log").exists()
    kept = "refs/yaoki/work/ab12cd34-1/1-before-restore"
    assert world.files(kept) >= {"extra", "dirty"}
    assert world.workspace.worktrees.commit_attempt(world.run, begun).changed == (
        "a.txt",
        "untracked",
    )


@pytest.mark.spec("8.1")
def test_every_restore_saves_the_state_before_it(world: World) -> None:
    begun = start_attempt(world, world.task())
    at = Path(begun.work.worktree)
    world.workspace.worktrees.take_snapshot(begun, 1)

    for n in range(2):
        write(at, **{f"try{n}": "x"})
        world.workspace.recovery.restore_snapshot("ab12cd34-1-1", begun)

    labels = [work.ref.rpartition("/")[2] for work in world.workspace.recovery.list_saved_work()]
    assert sorted(labels) == ["1-before-restore", "1-before-restore-2"]


@pytest.mark.spec("8.1", "0.6")
def test_a_wrong_snapshot_is_refused(world: World) -> None:
    begun = start_attempt(world, world.task(1))
    start_attempt(world, world.task(2))
    world.workspace.worktrees.take_snapshot(world.task(2), 1)

    with pytest.raises(Unknown, match="there is no snapshot"):
        world.workspace.recovery.restore_snapshot("ab12cd34-1-7", begun)
    with pytest.raises(NotNow, match="is not a snapshot of ab12cd34-1"):
        world.workspace.recovery.restore_snapshot("ab12cd34-2-1", begun)


@pytest.mark.spec("8.1")
def test_a_snapshot_of_a_missing_worktree_is_a_workspace_error(world: World) -> None:
    with pytest.raises(WorkspaceError, match="is gone"):
        world.workspace.worktrees.take_snapshot(world.task(), 1)


@pytest.mark.spec("8.1")
def test_old_snapshots_expire_unless_needed(world: World) -> None:
    begun = start_attempt(world, world.task())
    for attempt in (1, 2, 3):
        world.workspace.worktrees.take_snapshot(begun, attempt)
    now = datetime.now(UTC)

    early = world.workspace.recovery.expire_snapshots(now - timedelta(hours=24), set())
    gone = world.workspace.recovery.expire_snapshots(now + timedelta(minutes=1), {"ab12cd34-1-2"})

    assert early == []
    assert gone == ["ab12cd34-1-1", "ab12cd34-1-3"]
    assert [snapshot.id for snapshot in world.workspace.recovery.list_snapshots()] == [
        "ab12cd34-1-2"
    ]


# ------------------------------------------------------------------ kept work


@pytest.mark.spec("8.2")
def test_every_attempt_is_listed_and_can_be_recovered(world: World) -> None:
    first = run_attempt(world, world.task(), lambda at: write(at, one="1"))
    second = run_attempt(
        world, replace(first, needs_fresh_worktree=True), lambda at: write(at, two="2")
    )

    saved = world.workspace.recovery.list_saved_work()
    branch = world.workspace.recovery.recover_to_branch(
        "refs/yaoki/work/ab12cd34-1/1", "look/at-it"
    )

    assert [(work.task_id, work.attempt) for work in saved] == [
        ("ab12cd34-1", 1),
        ("ab12cd34-1", 2),
    ]
    assert {work.commit for work in saved} == {first.work.head, second.work.head}
    assert world.files(branch) >= {"one"}


@pytest.mark.spec("8.2", "0.2")
def test_recovering_never_moves_a_branch(world: World) -> None:
    run_attempt(world, world.task(), lambda at: write(at, one="1"))
    before = world.refs()

    with pytest.raises(NotNow, match="a branch 'main' exists already"):
        world.workspace.recovery.recover_to_branch("refs/yaoki/work/ab12cd34-1/1", "main")
    for wrong in (
        "refs/heads/main",
        "refs/yaoki/work/ab12cd34-1/9",
        "HEAD",
        "refs/yaoki/work/../x",
    ):
        with pytest.raises(Unknown, match="there is no saved work"):
            world.workspace.recovery.recover_to_branch(wrong, "new")

    assert world.refs() == before


# ------------------------------------------------------------------ .worktreeinclude


@pytest.fixture
def included(tmp_path: Path) -> World:
    repo = a_repository(tmp_path)
    write(repo, __worktreeinclude=".env\n*.log\nlinks/\n!drop.log\n/notes\n")
    write(repo, __gitignore="*.log\n.env\nlinks/\n")
    commit(repo)
    write(repo, __env="SECRET=1\n", keep__log="k\n", drop__log="d\n", notes="not ignored\n")
    write(repo / "deep", more__log="m\n")
    write(repo / "links", real="r\n")
    (repo / "links" / "inside").symlink_to("real")
    (repo / "links" / "absolute").symlink_to(repo / "a.txt")
    (repo / "links" / "outside").symlink_to("../../elsewhere")
    return a_world(tmp_path, repo)


@pytest.mark.spec("3.1")
def test_included_ignored_files_are_copied(included: World) -> None:
    place = included.workspace.worktrees.prepare(included.run, included.task(), 1)

    at = place.worktree
    assert (at / ".env").read_text() == "SECRET=1\n"
    assert (at / "keep.log").read_text() == "k\n"
    assert (at / "deep" / "more.log").read_text() == "m\n"
    assert not (at / "drop.log").exists()
    assert git(at, "status", "--porcelain") == ""


@pytest.mark.spec("3.1", "0.2")
def test_a_file_that_is_not_ignored_is_not_copied(included: World) -> None:
    """It would be committed with the agent's work, and land."""
    done = run_attempt(included, included.task(), lambda at: write(at, new="n"))

    assert not (Path(done.work.worktree) / "notes").exists()
    assert included.files(done.work.head) >= {"new"}
    assert "notes" not in included.files(done.work.head)


@pytest.mark.spec("3.1", "0.2")
def test_links_out_of_the_repository_are_not_copied(included: World) -> None:
    at = included.workspace.worktrees.prepare(included.run, included.task(), 1).worktree

    assert (at / "links" / "inside").readlink() == Path("real")
    assert not (at / "links" / "absolute").is_symlink()
    assert not (at / "links" / "outside").is_symlink()


@pytest.mark.spec("3.1", "3.7")
def test_only_a_fresh_worktree_gets_copies(included: World) -> None:
    done = run_attempt(included, included.task(), lambda at: (at / ".env").unlink())

    again = included.workspace.worktrees.prepare(included.run, done, 2)
    fresh = included.workspace.worktrees.prepare(
        included.run, replace(done, needs_fresh_worktree=True), 2
    )

    assert not again.fresh
    assert fresh.fresh
    assert (fresh.worktree / ".env").exists()


@pytest.mark.spec("3.1")
def test_copying_can_be_disabled(included: World) -> None:
    plain = GitWorkspace(included.repo, included.root, include=False)

    at = plain.worktrees.prepare(included.run, included.task(), 1).worktree

    assert not (at / ".env").exists()


@pytest.mark.spec("3.1", "0.4")
def test_too_many_copies_are_refused_by_number(included: World) -> None:
    folder = included.repo / "many"
    folder.mkdir()
    for n in range(included_files.FILES_MAX + 1):
        (folder / f"{n}.log").touch()

    with pytest.raises(WorkspaceError, match=r"\.worktreeinclude names 2,00\d files"):
        included.workspace.worktrees.prepare(included.run, included.task(), 1)


@pytest.mark.spec("3.1", "0.2")
def test_copying_never_follows_a_link_in_the_worktree(tmp_path: Path) -> None:
    """The base has a link where the user's checkout has a folder by now."""
    repo = a_repository(tmp_path)
    (tmp_path / "victim").mkdir()
    (repo / "conf").symlink_to(tmp_path / "victim")
    write(repo, __worktreeinclude="*.log\n")
    commit(repo)
    (repo / "conf").unlink()
    write(repo / "conf", x__log="x")
    world = a_world(tmp_path, repo)

    world.workspace.worktrees.prepare(world.run, world.task(), 1)

    assert list((tmp_path / "victim").iterdir()) == []


@pytest.mark.spec("13.1")
def test_refs_are_packed_from_time_to_time(world: World) -> None:
    """After many removed worktrees; saved work stays reachable in packed refs."""
    task = land_task(world, world.task(), lambda at: write(at, new__txt="x"))

    for _ in range(PACK_EVERY):
        world.workspace.worktrees.remove_worktree(task)

    loose = [p for p in (world.repo / ".git" / "refs" / "yaoki").rglob("*") if p.is_file()]
    assert loose == []
    assert git(world.repo, "for-each-ref", "refs/yaoki/work")
