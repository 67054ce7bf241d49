"""Many machines, one remote: landings, saved work and snapshots are the same everywhere."""

from __future__ import annotations

import subprocess
import threading
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from tests.adapters.workspace.clones import Clones, clones, complete_task, land, open_workspace
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
from yaoki.core.model import AttemptMode, Failure, FailureKind, Task, Work
from yaoki.errors import BranchMovedExternally, GitFailed, NotNow, RepositoryUnusable

pytestmark = pytest.mark.spec("13.1")
HEADS = "refs/heads/yaoki"


@pytest.fixture
def two_clones(tmp_path: Path) -> Clones:
    return clones(tmp_path)


def adding(name: str) -> Callable[[Path], None]:
    return lambda at: write(at, **{name: f"{name}\n"})


def together(acts: list[Callable[[], object]]) -> None:
    """Run all at once, each in a thread; an exception of any thread is raised here."""
    gate, met = threading.Barrier(len(acts)), list[BaseException]()

    def live(act: Callable[[], object]) -> None:
        try:
            gate.wait()
            act()
        except BaseException as failure:  # noqa: BLE001  # passed on to the test
            met.append(failure)

    threads = [threading.Thread(target=live, args=(act,)) for act in acts]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert met == []


# ------------------------------------------------------------------ landing


@pytest.mark.spec("3.4", "0.3")
def test_work_landed_by_one_machine_is_the_base_on_another(two_clones: Clones) -> None:
    one, other = two_clones.worlds

    complete_task(one, 1, adding("first"))
    complete_task(other, 2, adding("second"))

    assert two_clones.steps() == ["task1: Do 1.", "task2: Do 2."]
    assert (
        one.workspace.branches.head(one.run)
        == other.workspace.branches.head(other.run)
        == two_clones.head()
    )
    assert {"first", "second"} <= one.files(two_clones.head())
    assert [step.commit for step in one.workspace.branches.list_landings(one.run)][
        -1
    ] == two_clones.head()
    assert two_clones.remote_refs()["refs/yaoki/runs/ab12cd34"] == two_clones.head()
    assert one.workspace.branches.describe_drift(one.run) == ""


@pytest.mark.full
@pytest.mark.spec("3.4", "0.3")
def test_simultaneous_landings_from_three_machines_all_land_once(tmp_path: Path) -> None:
    """Twelve tasks, three clones, all landing at the same moment."""
    farm = clones(tmp_path, 3)
    lives = [(farm.worlds[n % 3], n) for n in range(1, 13)]
    done = [(w, run_attempt(w, w.task(n), adding(f"f{n}"))) for w, n in lives]

    together([lambda w=w, t=t: land(w, t) for w, t in done])  # type: ignore[misc]

    assert sorted(farm.steps()) == sorted(f"task{n}: Do {n}." for _, n in lives)
    assert farm.worlds[0].workspace.contents.files_between(farm.run.base, farm.head()) == tuple(
        sorted(("A", f"f{n}") for _, n in lives)
    )
    for world in farm.worlds:
        assert world.workspace.branches.head(farm.run) == farm.head()
        assert world.workspace.branches.describe_drift(farm.run) == ""
    assert git(farm.bare, "fsck", "--no-dangling") == ""


@pytest.mark.spec("3.4")
def test_the_same_landing_on_two_machines_lands_once(
    two_clones: Clones,
) -> None:
    """A superseded worker and its successor."""
    one, other = two_clones.worlds
    task = run_attempt(one, one.task(), adding("new"))
    found = one.workspace.landings.build_candidate(one.run, task)
    git(other.repo, "fetch", "-q", str(one.repo), found.commit)

    heads = [w.workspace.landings.land(w.run, found.commit, found.onto) for w in (one, other)]

    assert heads == [found.commit, found.commit]
    assert two_clones.steps() == ["task1: Do 1."]


@pytest.mark.spec("3.4", "13.3")
def test_a_late_landing_on_an_old_head_is_refused(two_clones: Clones) -> None:
    one, other = two_clones.worlds
    late = run_attempt(one, one.task(1), adding("late"))
    found = one.workspace.landings.build_candidate(one.run, late)
    complete_task(other, 2, adding("quick"))
    before = two_clones.remote_refs()

    head = one.workspace.landings.land(one.run, found.commit, found.onto)

    assert head == two_clones.head() != found.commit
    assert not one.workspace.branches.branch_contains(one.run, found.commit)
    assert {k: v for k, v in two_clones.remote_refs().items() if k in before} == before


@pytest.mark.spec("3.4", "0.2")
def test_a_checkout_of_the_run_branch_stays_unchanged_while_other_machines_land(
    two_clones: Clones,
) -> None:
    one, other = two_clones.worlds
    git(one.repo, "checkout", "-q", one.run.branch)
    before = user_state(one.repo)

    complete_task(other, 1, adding("first"))
    complete_task(one, 2, adding("second"))

    assert user_state(one.repo) == before
    assert git(one.repo, "status", "--porcelain") == ""
    assert two_clones.steps() == ["task1: Do 1.", "task2: Do 2."]


@pytest.mark.spec("0.2")
def test_a_users_commit_on_the_local_copy_of_the_run_branch_is_saved(two_clones: Clones) -> None:
    one, other = two_clones.worlds
    git(one.repo, "checkout", "-q", one.run.branch)
    theirs = commit_of(one, "by hand")
    git(one.repo, "checkout", "-q", "main")

    complete_task(other, 1, adding("first"))

    assert one.workspace.branches.head(one.run) == two_clones.head()
    assert git(one.repo, "rev-parse", one.run.branch) == two_clones.head()
    assert one.workspace.contents.is_reachable(theirs)


def commit_of(world: World, name: str) -> str:
    write(world.repo, **{name.replace(" ", "_"): name})
    return commit(world.repo, name)


@pytest.mark.spec("0.6")
def test_a_run_branch_deleted_at_the_remote_is_reported_and_never_created_again(
    two_clones: Clones,
) -> None:
    one, other = two_clones.worlds
    complete_task(one, 1, adding("first"))
    git(two_clones.bare, "update-ref", "-d", f"refs/heads/{one.run.branch}")

    for world in (one, other):
        with pytest.raises(GitFailed, match="is gone"):
            open_workspace(world.repo, world.root).branches.open_run_branch(world.run)
    assert f"refs/heads/{one.run.branch}" not in two_clones.remote_refs()


@pytest.mark.spec("3.4", "4.8")
def test_a_rejected_push_is_reported_and_nothing_lands(two_clones: Clones) -> None:
    one, _ = two_clones.worlds
    task = run_attempt(one, one.task(), adding("new"))
    found = one.workspace.landings.build_candidate(one.run, task)
    hook = two_clones.bare / "hooks" / "pre-receive"
    hook.write_text("#!/bin/sh\nexit 1\n")
    hook.chmod(0o755)
    before = two_clones.remote_refs()

    with pytest.raises(GitFailed, match="hook declined") as refused:
        one.workspace.landings.land(one.run, found.commit, found.onto)

    assert not refused.value.transient
    assert two_clones.remote_refs() == before


@pytest.mark.full
@pytest.mark.spec("4.8")
def test_a_lock_at_the_remote_is_retried_and_then_a_transient_failure(two_clones: Clones) -> None:
    one, _ = two_clones.worlds
    task = run_attempt(one, one.task(), adding("new"))
    found = one.workspace.landings.build_candidate(one.run, task)
    lock = two_clones.bare / "refs" / "heads" / "yaoki" / "ab12cd34.lock"
    lock.touch()

    with pytest.raises(GitFailed) as refused:
        one.workspace.landings.land(one.run, found.commit, found.onto)
    lock.unlink()

    assert refused.value.transient
    assert one.workspace.landings.land(one.run, found.commit, found.onto) == found.commit


# ------------------------------------------------------------------ a remote that is away


@pytest.mark.full
@pytest.mark.spec("13.3", "4.8", "0.2")
def test_an_interrupted_push_lands_nothing_and_loses_nothing(two_clones: Clones) -> None:
    one, other = two_clones.worlds
    begun = start_attempt(one, one.task())
    write(Path(begun.work.worktree), new="n\n")
    two_clones.disconnect()

    kept = one.workspace.worktrees.commit_attempt(one.run, begun)
    task = replace(begun, work=replace(begun.work, head=kept.head, tree=kept.tree))
    with pytest.raises(GitFailed, match="cannot be used") as cut:
        one.workspace.landings.build_candidate(one.run, task)
    two_clones.reconnect()

    assert cut.value.transient
    assert any("not pushed yet" in words for words in two_clones.warnings)
    assert kept.head not in two_clones.remote_refs().values()
    open_workspace(one.repo, one.root).remote.catch_up_with_remote()
    assert two_clones.remote_refs()["refs/yaoki/work/ab12cd34-1/1"] == kept.head
    land(other, task_at(other, task))
    assert two_clones.steps() == ["task1: Do 1."]


def task_at(world: World, task: Task) -> Task:
    """The task as another machine continues it at VERIFY."""
    world.workspace.worktrees.rebuild_worktree(task)
    return task


@pytest.mark.full
@pytest.mark.spec("13.3")
def test_a_task_interrupted_before_landing_lands_later(two_clones: Clones) -> None:
    one, _ = two_clones.worlds
    task = run_attempt(one, one.task(), adding("new"))
    found = one.workspace.landings.build_candidate(one.run, task)
    two_clones.disconnect()

    with pytest.raises(GitFailed) as cut:
        one.workspace.landings.land(one.run, found.commit, found.onto)
    with pytest.raises(GitFailed):
        one.workspace.branches.branch_contains(one.run, found.commit)
    two_clones.reconnect()

    assert cut.value.transient
    assert two_clones.steps() == []
    assert one.workspace.landings.land(one.run, found.commit, found.onto) == found.commit


@pytest.mark.full
@pytest.mark.spec("8.2", "13.3")
def test_work_not_yet_at_the_remote_is_waited_for_and_never_replaced(two_clones: Clones) -> None:
    one, other = two_clones.worlds
    begun = start_attempt(one, one.task())
    write(Path(begun.work.worktree), new="n\n")
    two_clones.disconnect()
    kept = one.workspace.worktrees.commit_attempt(one.run, begun)
    two_clones.reconnect()
    task = replace(begun, work=replace(begun.work, head=kept.head))

    with pytest.raises(GitFailed, match="not at the remote yet") as waits:
        other.workspace.worktrees.rebuild_worktree(task)
    assert waits.value.transient

    one.workspace.branches.open_run_branch(one.run)
    assert other.workspace.worktrees.rebuild_worktree(task)
    assert (other.root / task.id / "new").read_text() == "n\n"


# ------------------------------------------------------------------ taking a task over


@pytest.mark.spec("13.3", "8.2", "3.3")
def test_another_machine_continues_a_task_at_verify(two_clones: Clones) -> None:
    one, other = two_clones.worlds
    task = run_attempt(one, one.task(), lambda at: write(at, new="n\n", a__txt="changed\n"))
    one.repo.rename(one.repo.with_name("gone"))

    assert other.workspace.worktrees.rebuild_worktree(task)
    found = other.workspace.landings.build_candidate(other.run, task)

    assert found.changed == ("a.txt", "new")
    assert other.workspace.landings.land(other.run, found.commit, found.onto) == found.commit
    assert two_clones.head() == found.commit


@pytest.mark.spec("13.3", "3.4")
def test_a_task_continued_by_another_machine_at_land_is_verified_again(two_clones: Clones) -> None:
    """The verified commit is only on the machine that is gone; nothing unverified lands."""
    one, other = two_clones.worlds
    task = run_attempt(one, one.task(), adding("new"))
    found = one.workspace.landings.build_candidate(one.run, task)

    head = other.workspace.landings.land(other.run, found.commit, found.onto)

    assert head == other.run.base != found.commit
    assert not other.workspace.branches.branch_contains(other.run, found.commit)
    other.workspace.worktrees.rebuild_worktree(task)
    assert land(other, task) == 0
    assert two_clones.steps() == ["task1: Do 1."]


@pytest.mark.spec("13.3", "3.4", "0.3")
def test_an_unrecorded_landing_is_found_by_the_next_machine(two_clones: Clones) -> None:
    one, other = two_clones.worlds
    task = run_attempt(one, one.task(), adding("new"))
    found = one.workspace.landings.build_candidate(one.run, task)
    one.workspace.landings.land(one.run, found.commit, found.onto)

    assert other.workspace.branches.branch_contains(other.run, found.commit)
    other.workspace.worktrees.rebuild_worktree(task)
    again = other.workspace.landings.build_candidate(other.run, task)
    assert (again.commit, again.changed) == (found.commit, ())


@pytest.mark.spec("3.7", "13.3")
def test_a_retry_on_another_machine_continues_from_the_saved_work(two_clones: Clones) -> None:
    one, other = two_clones.worlds
    first = run_attempt(one, one.task(), adding("half"))
    failed = replace(first, feedback=Failure(FailureKind.QUALITY_FAILURE, "not all"))

    second = run_attempt(other, failed, adding("rest"))
    third = run_attempt(one, replace(second, feedback=failed.feedback), adding("more"))

    assert other.files(second.work.head) >= {"half", "rest"}
    assert one.files(third.work.head) >= {"half", "rest", "more"}
    land(one, third)
    assert {"half", "rest", "more"} <= one.files(two_clones.head())


@pytest.mark.spec("3.7")
def test_a_fresh_attempt_on_another_machine_starts_on_the_run_branch(two_clones: Clones) -> None:
    one, other = two_clones.worlds
    first = run_attempt(one, one.task(1), adding("half"))
    complete_task(one, 2, adding("landed"))

    second = start_attempt(other, replace(first, needs_fresh_worktree=True))

    assert second.work.base == two_clones.head()
    assert not (Path(second.work.worktree) / "half").exists()


@pytest.mark.spec("10.4", "0.2")
def test_a_persons_work_on_another_machine_is_waited_for(two_clones: Clones) -> None:
    one, other = two_clones.worlds
    task = run_attempt(one, one.task(), adding("half"))
    write(Path(task.work.worktree), by_hand="h")

    with pytest.raises(GitFailed, match="on another machine") as waits:
        other.workspace.worktrees.prepare(other.run, replace(task, mode=AttemptMode.TAKEN_OVER), 2)

    assert waits.value.transient
    place = one.workspace.worktrees.prepare(one.run, replace(task, mode=AttemptMode.TAKEN_OVER), 2)
    assert (place.worktree / "by_hand").exists()


# ------------------------------------------------------------------ kept work and snapshots


@pytest.mark.spec("8.2", "8.1")
def test_saved_work_and_snapshots_are_recovered_on_any_machine(two_clones: Clones) -> None:
    one, other = two_clones.worlds
    begun = start_attempt(one, one.task())
    one.workspace.worktrees.take_snapshot(begun, 1)
    write(Path(begun.work.worktree), new="n\n")
    kept = one.workspace.worktrees.commit_attempt(one.run, begun)

    saved = other.workspace.recovery.list_saved_work()

    assert [(work.task_id, work.attempt, work.commit) for work in saved] == [
        ("ab12cd34-1", 1, kept.head)
    ]
    assert [snapshot.id for snapshot in other.workspace.recovery.list_snapshots()] == [
        "ab12cd34-1-1"
    ]
    other.workspace.recovery.recover_to_branch(saved[0].ref, "looked-at")
    assert other.show("looked-at", "new") == "n"


@pytest.mark.spec("8.2", "0.2")
def test_work_saved_under_one_name_on_two_machines_is_kept_twice(two_clones: Clones) -> None:
    """Both machines prepared the same attempt, one of them disconnected."""
    works = [
        run_attempt(world, world.task(), adding(f"by{n}"))
        for n, world in enumerate(two_clones.worlds)
    ]

    for world in two_clones.worlds:
        assert {work.commit for work in world.workspace.recovery.list_saved_work()} == {
            t.work.head for t in works
        }
    assert {task.work.head for task in works} <= set(two_clones.remote_refs().values())


@pytest.mark.spec("8.1")
def test_two_snapshots_under_one_name_are_both_kept(two_clones: Clones) -> None:
    for n, world in enumerate(two_clones.worlds):
        begun = start_attempt(world, world.task())
        write(Path(begun.work.worktree), **{f"by{n}": "x"})
        world.workspace.worktrees.take_snapshot(begun, 1)

    held = [
        two_clones.worlds[0].files(c)
        for c in two_clones.remote_refs().values()
        if readable(two_clones, c)
    ]

    assert any("by0" in files for files in held)
    assert any("by1" in files for files in held)


def readable(two_clones: Clones, commit_: str) -> bool:
    two_clones.worlds[0].workspace.recovery.list_saved_work()
    return two_clones.worlds[0].workspace.contents.is_reachable(commit_)


@pytest.mark.spec("8.1")
def test_expired_snapshots_are_deleted_at_the_remote(two_clones: Clones) -> None:
    one, other = two_clones.worlds
    begun = start_attempt(one, one.task())
    one.workspace.worktrees.take_snapshot(begun, 1)

    gone = other_expired(other)

    assert gone == ["ab12cd34-1-1"]
    assert not [ref for ref in two_clones.remote_refs() if ref.startswith("refs/yaoki/snapshots/")]


def other_expired(world: World) -> list[str]:
    world.workspace.recovery.list_snapshots()
    return world.workspace.recovery.expire_snapshots(datetime.now(UTC) + timedelta(hours=1), ())


@pytest.mark.spec("8.1")
def test_a_snapshot_taken_elsewhere_is_restored(two_clones: Clones) -> None:
    one, other = two_clones.worlds
    begun = start_attempt(one, one.task())
    write(Path(begun.work.worktree), before="b\n")
    one.workspace.worktrees.take_snapshot(begun, 1)
    here = start_attempt(other, other.task())

    other.workspace.recovery.restore_snapshot("ab12cd34-1-1", here)

    assert (Path(here.work.worktree) / "before").read_text() == "b\n"


@pytest.mark.spec("8.2")
def test_a_finished_task_leaves_saved_work_and_no_branch_at_the_remote(two_clones: Clones) -> None:
    one, _ = two_clones.worlds
    task = run_attempt(one, one.task(), adding("new"))
    assert f"{HEADS}/ab12cd34-1" in two_clones.remote_refs()

    one.workspace.worktrees.remove_worktree(task)

    assert f"{HEADS}/ab12cd34-1" not in two_clones.remote_refs()
    assert two_clones.remote_refs()["refs/yaoki/work/ab12cd34-1/1"] == task.work.head
    assert list((one.root / ".unpushed").iterdir()) == []


# ------------------------------------------------------------------ groups, undo, merge


@pytest.mark.spec("8.3")
def test_different_machines_open_land_roll_back_and_close_a_group_branch(
    two_clones: Clones,
) -> None:
    one, other = two_clones.worlds
    group = "ab12cd34-9"
    lines = [w.workspace.groups.open_group_branch(w.run, group) for w in two_clones.worlds]
    assert lines[0] == lines[1]
    for world, line, n in zip(two_clones.worlds, lines, (1, 2), strict=True):
        own = replace(world, run=line)
        task = run_attempt(own, own.task(n), adding(f"sub{n}"))
        land(own, task)

    held, to = other.workspace.groups.roll_back_group_branch(
        other.run, group, one.workspace.branches.head(lines[0])
    )

    assert {"sub1", "sub2"} <= other.files(held)
    assert (
        to
        == one.workspace.branches.head(one.workspace.groups.open_group_branch(one.run, group))
        == one.run.base
    )
    assert two_clones.remote_refs()[f"refs/yaoki/work/{group}/0-rollback-1"] == held
    one.workspace.groups.close_group_branch(one.run, group)
    assert not [ref for ref in two_clones.remote_refs() if ref.endswith(("-group", f"/{group}"))]


@pytest.mark.spec("8.3")
def test_a_group_rolled_back_on_two_machines_keeps_both_heads(two_clones: Clones) -> None:
    group = "ab12cd34-9"
    held = []
    for n, world in enumerate(two_clones.worlds, start=1):
        own = replace(world, run=world.workspace.groups.open_group_branch(world.run, group))
        land(own, run_attempt(own, own.task(n), adding(f"sub{n}")))
        held.append(
            world.workspace.groups.roll_back_group_branch(
                world.run, group, own.workspace.branches.head(own.run)
            )[0]
        )

    refs = [f"refs/yaoki/work/{group}/0-rollback-{n}" for n in (1, 2)]
    assert [two_clones.remote_refs()[ref] for ref in refs] == held


@pytest.mark.spec("9.6")
def test_another_machine_undoes_a_landing_and_repeating_changes_nothing(two_clones: Clones) -> None:
    one, other = two_clones.worlds
    task = land_task(one, one.task(), adding("new"))

    heads = [
        w.workspace.landings.undo(w.run, {task.id: task.landed_commit}, approve=approve)
        for w in (other, one)
    ]

    assert heads[0] == heads[1] == two_clones.head()
    assert "new" not in other.files(two_clones.head())
    assert two_clones.steps() == ["task1: Do 1.", "Undo task1: Do 1."]


@pytest.mark.spec("9.6", "0.2")
def test_merging_moves_the_base_branch_at_the_remote_and_no_checkout(two_clones: Clones) -> None:
    one, other = two_clones.worlds
    complete_task(one, 1, adding("new"))
    git(other.repo, "checkout", "-q", "main")
    before = user_state(other.repo)

    merged = other.workspace.landings.merge(other.run, approve=approve)

    assert (merged.branch, merged.how) == ("main", "fast-forward")
    assert two_clones.remote_refs()["refs/heads/main"] == two_clones.head() == merged.commit
    assert user_state(other.repo) == before
    assert one.workspace.landings.merge(one.run, approve=approve).how == "already"


@pytest.mark.spec("9.6")
def test_merging_includes_a_concurrent_push_to_the_base_branch(two_clones: Clones) -> None:
    one, other = two_clones.worlds
    complete_task(one, 1, adding("new"))
    commit_of(other, "theirs")
    git(other.repo, "push", "-q", "origin", "main")

    merged = one.workspace.landings.merge(one.run, approve=approve)

    assert merged.how == "merge"
    assert two_clones.remote_refs()["refs/heads/main"] == merged.commit
    assert {"new", "theirs"} <= one.files(merged.commit)


@pytest.mark.spec("9.6", "0.2")
def test_merging_refuses_a_run_branch_with_foreign_commits(two_clones: Clones) -> None:
    one, other = two_clones.worlds
    git(other.repo, "fetch", "-q", "origin", one.run.branch)
    git(other.repo, "checkout", "-q", "--detach", "FETCH_HEAD")
    commit_of(other, "stranger")
    git(other.repo, "push", "-q", "origin", f"HEAD:{one.run.branch}")

    assert "did not land" in one.workspace.branches.describe_drift(one.run)
    with pytest.raises(NotNow, match="did not land"):
        one.workspace.landings.merge(one.run, approve=approve)


@pytest.mark.full
@pytest.mark.spec("0.2", "8.6", "13.1")
@pytest.mark.parametrize("typing", [0, 1, 2])
def test_the_restore_command_works_in_any_clone(tmp_path: Path, typing: int) -> None:
    """The first machine knows only its own landing when branch and record are moved back."""
    three = clones(tmp_path, 3)
    one, other, _ = three.worlds
    complete_task(one, 1, adding("first"))
    seen = three.head()
    complete_task(other, 2, adding("second"))
    last = three.head()
    base = one.run.base
    for ref in (f"{HEADS}/{one.run.id}", f"refs/yaoki/runs/{one.run.id}"):
        git(three.bare, "update-ref", ref, base)

    with pytest.raises(BranchMovedExternally) as strayed:
        one.workspace.branches.refuse_drift(one.run, [seen, last])
    where = three.worlds[typing].repo
    subprocess.run(["sh", "-ec", strayed.value.hint], cwd=where, check=True, capture_output=True)

    assert three.head() == last
    for world in three.worlds:
        world.workspace.branches.refuse_drift(world.run, [seen, last])


@pytest.mark.spec("11.7", "0.2")
def test_a_run_is_archived_with_the_work_of_all_machines_and_leaves_the_remote(
    two_clones: Clones, tmp_path: Path
) -> None:
    one, other = two_clones.worlds
    tasks = [
        run_attempt(w, w.task(n), adding(f"f{n}")) for n, w in enumerate(two_clones.worlds, start=1)
    ]
    land(one, tasks[0])
    head = two_clones.head()
    for world, task in zip(two_clones.worlds, tasks, strict=True):
        world.workspace.worktrees.remove_worktree(task)
    archiving, file = other.workspace.recovery.ref_archive(), tmp_path / "run.bundle"

    refs = archiving.list_refs(other.run.id)
    assert archiving.write_bundle(other.run.id, other.run.base, refs, file)
    archiving.verify_bundle(other.run.id, refs, file)
    stays = archiving.delete_refs(other.run.id, refs)

    assert {task.work.head for task in tasks} <= set(refs.values())
    assert stays == [f"{HEADS}/ab12cd34"]
    assert set(two_clones.remote_refs()) == {"refs/heads/main", f"{HEADS}/ab12cd34"}
    assert two_clones.head() == head


# ------------------------------------------------------------------ which remote


@pytest.mark.spec("0.2")
def test_a_run_started_before_there_was_a_remote_continues_at_the_remote(tmp_path: Path) -> None:
    world = a_world(tmp_path)
    first = land_task(world, world.task(1), adding("first"))
    line = world.workspace.groups.open_group_branch(world.run, "ab12cd34-9")
    bare = tmp_path / "bare.git"
    git(tmp_path, "init", "-q", "--bare", str(bare))

    shared = GitWorkspace(world.repo, world.root, remote="../bare.git")
    shared.branches.open_run_branch(world.run)

    refs = git(bare, "for-each-ref", "--format=%(refname) %(objectname)").splitlines()
    there = dict(row.split(" ") for row in refs)
    assert there[f"{HEADS}/ab12cd34"] == there["refs/yaoki/runs/ab12cd34"] == first.landed_commit
    assert there[f"{HEADS}/ab12cd34-9-group"] == line.base
    assert shared.branches.head(world.run) == first.landed_commit


@pytest.mark.spec("0.6")
@pytest.mark.parametrize("said", ["nowhere", "up/stream"])
def test_an_unknown_remote_is_refused_by_name(tmp_path: Path, said: str) -> None:
    repo = a_repository(tmp_path)

    with pytest.raises(RepositoryUnusable, match=f"there is no remote '{said}'"):
        GitWorkspace(repo, tmp_path / "root", remote=said)


@pytest.mark.spec("0.6")
def test_a_shallow_clone_is_refused_with_the_remedy(tmp_path: Path) -> None:
    with pytest.raises(RepositoryUnusable, match="shallow") as refused:
        clones(tmp_path, 1, "--depth=1")

    assert "--unshallow" in refused.value.hint


@pytest.mark.full
@pytest.mark.parametrize("options", [["--filter=blob:none"], ["--filter=tree:0"]])
def test_tasks_run_in_partial_clones(tmp_path: Path, options: list[str]) -> None:
    farm = clones(tmp_path, 2, "--no-checkout", *options)

    for n, world in enumerate(farm.worlds, start=1):
        complete_task(world, n, lambda at, n=n: write(at, **{f"f{n}": "x", "a__txt": f"{n}\n"}))  # type: ignore[misc]

    assert len(farm.steps()) == 2


def test_tasks_run_in_a_clone_with_alternates(tmp_path: Path) -> None:
    farm = clones(tmp_path, 1, f"--reference={tmp_path / 'repo'}")

    complete_task(farm.worlds[0], 1, adding("new"))

    assert farm.steps() == ["task1: Do 1."]


@pytest.mark.spec("14.4", "14.2")
def test_an_agent_cannot_redirect_pushes(two_clones: Clones, tmp_path: Path) -> None:
    """The agent writes another address and a transport program into the shared config."""
    one, _ = two_clones.worlds
    thief = tmp_path / "thief.git"
    git(tmp_path, "init", "-q", "--bare", str(thief))
    guards = one.workspace.protection.hash_protected_files()

    def bend(at: Path) -> None:
        write(at, new="n\n")
        git(at, "config", "remote.origin.url", str(thief))
        git(at, "config", "remote.yaoki-shared.pushurl", str(thief))

    run_attempt(one, one.task(), bend)

    assert git(thief, "for-each-ref") == ""
    assert one.workspace.protection.hash_protected_files() != guards
    git(one.repo, "config", "core.sshCommand", "touch /tmp/never")
    with pytest.raises(GitFailed, match="changed while yaoki is running"):
        one.workspace.branches.head(one.run)


@pytest.mark.spec("14.2")
def test_a_password_in_the_address_is_never_shown(tmp_path: Path) -> None:
    repo = a_repository(tmp_path)
    url = "http://una:hunter2secret@127.0.0.1:1/r.git"
    shared = GitWorkspace(repo, tmp_path / "root", remote=url)
    world = a_world(tmp_path, repo)

    with pytest.raises(GitFailed) as failed:
        shared.branches.head(world.run)

    assert "127.0.0.1" in failed.value.sentence
    assert "hunter2secret" not in failed.value.sentence + failed.value.hint


def test_two_clones_on_one_machine_have_different_hosts(two_clones: Clones) -> None:
    hosts = {world.workspace.remote.worktree_host("m1") for world in two_clones.worlds}

    assert len(hosts) == 2
    assert all(host.startswith("m1:") for host in hosts)


@pytest.mark.spec("0.2")
def test_the_users_repository_is_unchanged_while_tasks_run(two_clones: Clones) -> None:
    one, other = two_clones.worlds
    write(one.repo, untracked="u", README="changed\n")
    before = user_state(one.repo)

    task = land_task(one, one.task(1), adding("new"))
    complete_task(other, 2, adding("other"))
    one.workspace.branches.head(one.run)
    one.workspace.recovery.list_saved_work()
    one.workspace.worktrees.remove_worktree(task)

    assert user_state(one.repo) == before


def test_a_task_without_work_has_nothing_to_fetch(two_clones: Clones) -> None:
    _, other = two_clones.worlds
    task = replace(other.task(), attempt=1, work=Work(base=other.run.base))

    assert other.workspace.worktrees.rebuild_worktree(task)
    assert other.workspace.landings.build_candidate(other.run, task).changed == ()
