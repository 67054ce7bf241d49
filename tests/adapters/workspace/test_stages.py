"""Prepare, commit, build the candidate, land, remove: the stages of a task with real git."""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import pytest

from tests.repositories import (
    World,
    a_repository,
    a_world,
    commit,
    git,
    land_task,
    run_attempt,
    start_attempt,
    with_conflict,
    write,
)
from yaoki.adapters.workspace import GitWorkspace
from yaoki.core.model import FailureKind, TaskId, TaskKind
from yaoki.errors import GitFailed, Unknown
from yaoki.ports import Workspace


@pytest.fixture
def world(tmp_path: Path) -> World:
    return a_world(tmp_path)


def nothing(_: Path) -> None:
    """An agent that does nothing."""


def adding(name: str) -> Callable[[Path], None]:
    """An agent that adds one file."""
    return lambda at: write(at, **{name: "x"})


def test_git_workspace_implements_the_port(world: World) -> None:
    asked: Workspace = world.workspace

    assert asked.branches.head(world.run) == world.run.base


@pytest.mark.spec("3.1")
def test_the_run_branch_is_created_once(world: World) -> None:
    done = land_task(world, world.task(), lambda at: write(at, new="n"))

    world.workspace.branches.open_run_branch(world.run)

    assert world.workspace.branches.head(world.run) == done.landed_commit


@pytest.mark.spec("3.1")
def test_a_first_attempt_gets_a_fresh_worktree_outside_the_repository(world: World) -> None:
    place = world.workspace.worktrees.prepare(world.run, world.task(), 1)

    assert place.fresh
    assert place.base == world.run.base
    assert place.tree == git(world.repo, "rev-parse", "main^{tree}")
    assert not place.worktree.is_relative_to(world.repo)
    assert git(place.worktree, "symbolic-ref", "HEAD") == "refs/heads/yaoki/ab12cd34-1"
    assert git(place.worktree, "status", "--porcelain") == ""
    assert world.workspace.worktrees.tasks_with_worktree() == {"ab12cd34-1"}


@pytest.mark.spec("3.1")
def test_preparing_starts_from_landed_work(world: World) -> None:
    first = land_task(world, world.task(1), lambda at: write(at, new="n"))

    place = world.workspace.worktrees.prepare(world.run, world.task(2), 1)

    assert place.base == first.landed_commit
    assert (place.worktree / "new").read_text() == "n"


@pytest.mark.spec("3.1", "0.6")
@pytest.mark.parametrize("wrong", ["../../heads/main", "a b", "x/y", "", "-x", "X"])
def test_an_id_that_could_name_another_ref_is_refused(world: World, wrong: str) -> None:
    task = replace(world.task(), id=TaskId(wrong))

    with pytest.raises(Unknown, match="is not an id"):
        world.workspace.worktrees.prepare(world.run, task, 1)


@pytest.mark.spec("3.2")
def test_everything_an_agent_left_is_committed_and_saved(world: World) -> None:
    def agent(at: Path) -> None:
        write(at, a__txt="changed\n", new__txt="new\n", debug__log="ignored")
        write(at / "deep" / "er", x="x")
        (at / "b.txt").unlink()
        git(at, "mv", "README", "READ")

    begun = start_attempt(world, world.task())
    agent(Path(begun.work.worktree))
    kept = world.workspace.worktrees.commit_attempt(world.run, begun)

    assert kept.changed == ("READ", "README", "a.txt", "b.txt", "deep/er/x", "new.txt")
    assert kept.tree == git(world.repo, "rev-parse", f"{kept.head}^{{tree}}")
    assert world.files(kept.head) == {
        *(".gitignore", "READ", "a.txt", "deep/er/x", "new.txt", "src/one.py", "src/two.py"),
    }
    assert world.refs()["refs/heads/yaoki/ab12cd34-1"] == kept.head
    assert world.refs()["refs/yaoki/work/ab12cd34-1/1"] == kept.head
    assert "Yaoki-Task: ab12cd34-1" in git(world.repo, "log", "-1", "--format=%B", kept.head)
    assert git(Path(begun.work.worktree), "status", "--porcelain") == ""


@pytest.mark.spec("3.2", "3.5")
def test_an_agent_that_did_nothing_makes_no_commit(world: World) -> None:
    begun = start_attempt(world, world.task())

    kept = world.workspace.worktrees.commit_attempt(world.run, begun)

    assert kept.head == begun.work.base
    assert kept.changed == ()


@pytest.mark.spec("3.2")
def test_committing_an_attempt_twice_changes_nothing(world: World) -> None:
    begun = start_attempt(world, world.task())
    write(Path(begun.work.worktree), new="n")

    first = world.workspace.worktrees.commit_attempt(world.run, begun)
    before = world.refs()
    second = world.workspace.worktrees.commit_attempt(world.run, begun)

    assert second == first
    assert world.refs() == before


@pytest.mark.spec("3.7")
def test_a_retry_continues_in_the_same_worktree(world: World) -> None:
    first = run_attempt(world, world.task(), lambda at: write(at, new="1", cache__log="kept"))

    place = world.workspace.worktrees.prepare(world.run, first, 2)
    again = start_attempt(world, first)
    kept = world.workspace.worktrees.commit_attempt(world.run, again)

    assert not place.fresh
    assert again.work.worktree == first.work.worktree
    assert (Path(again.work.worktree) / "cache.log").read_text() == "kept"
    assert kept.changed == ("new",)
    assert world.refs()["refs/yaoki/work/ab12cd34-1/2"] == first.work.head


@pytest.mark.spec("3.7")
def test_after_verify_only_the_tasks_own_changes_count(world: World) -> None:
    """The candidate contains another task's work, which is not a change of the retry."""
    first = run_attempt(world, world.task(1), lambda at: write(at, mine="1"))
    land_task(world, world.task(2), lambda at: write(at, other="2"))
    world.workspace.landings.build_candidate(world.run, first)

    again = start_attempt(world, first)
    kept = world.workspace.worktrees.commit_attempt(world.run, again)

    assert again.work.base == world.workspace.branches.head(world.run)
    assert kept.changed == ("mine",)


@pytest.mark.spec("3.7", "8.2", "0.2")
def test_a_fresh_attempt_starts_clean_and_loses_nothing(world: World) -> None:
    """The agent was interrupted: nothing is saved yet when the fresh worktree is made."""
    begun = start_attempt(world, world.task())
    write(Path(begun.work.worktree), half="half\n", a__txt="broken\n")
    git(Path(begun.work.worktree), "checkout", "-q", "-b", "mine")

    place = world.workspace.worktrees.prepare(
        world.run, replace(begun, needs_fresh_worktree=True), 2
    )

    assert place.fresh
    assert git(place.worktree, "status", "--porcelain") == ""
    assert not (place.worktree / "half").exists()
    assert git(place.worktree, "rev-parse", "HEAD") == world.run.base
    [saved] = [work for work in world.workspace.recovery.list_saved_work() if work.attempt == 1]
    assert world.show(saved.commit, "half") == "half"
    assert world.show(saved.commit, "a.txt") == "broken"


@pytest.mark.spec("8.2", "0.2")
def test_saved_work_is_never_overwritten(world: World) -> None:
    """A late process wrote after the attempt was committed; both states stay reachable."""
    first = run_attempt(world, world.task(), lambda at: write(at, new="1"))
    at = Path(first.work.worktree)
    git(at, "reset", "-q", "--hard", world.run.base)
    write(at, late="l")

    world.workspace.worktrees.prepare(world.run, replace(first, needs_fresh_worktree=True), 2)

    kept = {
        work.ref.rpartition("/")[2]: work.commit
        for work in world.workspace.recovery.list_saved_work()
    }
    assert kept["1"] == first.work.head
    assert world.show(kept["1-2"], "late") == "l"


@pytest.mark.spec("3.3")
def test_the_candidate_is_the_work_merged_onto_the_run_branch(world: World) -> None:
    mine = run_attempt(world, world.task(1), lambda at: write(at, a__txt="A\na2\na3\n"))
    other = land_task(world, world.task(2), lambda at: write(at, a__txt="a1\na2\nZ\n"))

    found = world.workspace.landings.build_candidate(world.run, mine)

    at = Path(mine.work.worktree)
    assert found.onto == other.landed_commit
    assert found.changed == ("a.txt",)
    assert (found.deleted_count, found.tracked_count) == (0, 0)
    assert world.show(found.commit, "a.txt") == "A\na2\nZ"
    assert git(world.repo, "rev-parse", f"{found.commit}^1", f"{found.commit}^2").split() == [
        found.onto,
        mine.work.head,
    ]
    assert git(at, "rev-parse", "HEAD") == found.commit
    assert git(at, "status", "--porcelain") == ""
    message = git(world.repo, "log", "-1", "--format=%B", found.commit)
    assert message.splitlines()[0] == "task1: Do 1."
    assert "Yaoki-Run: ab12cd34\nYaoki-Task: ab12cd34-1\nYaoki-Attempt: 1" in message


@pytest.mark.spec("3.3", "0.3")
def test_building_a_candidate_twice_gives_the_same_commit(world: World) -> None:
    done = run_attempt(world, world.task(), lambda at: write(at, new="n"))

    assert world.workspace.landings.build_candidate(
        world.run, done
    ) == world.workspace.landings.build_candidate(world.run, done)


@pytest.mark.spec("3.3", "3.5")
def test_without_changes_the_candidate_is_the_run_branch_itself(world: World) -> None:
    idle = run_attempt(world, world.task(1), nothing)
    other = land_task(world, world.task(2), lambda at: write(at, new="n"))

    found = world.workspace.landings.build_candidate(world.run, idle)

    assert found.commit == found.onto == other.landed_commit
    assert found.changed == ()
    assert (Path(idle.work.worktree) / "new").exists()


@pytest.mark.spec("1.2", "3.3")
def test_a_check_task_is_verified_on_the_run_branch(world: World) -> None:
    task = world.task(1)
    begun = start_attempt(world, replace(task, spec=replace(task.spec, kind=TaskKind.CHECK)))
    other = land_task(world, world.task(2), lambda at: write(at, new="n"))

    found = world.workspace.landings.build_candidate(world.run, begun)

    assert found.commit == other.landed_commit
    assert (Path(begun.work.worktree) / "new").exists()


@pytest.mark.spec("3.3")
def test_the_worktree_contains_only_the_candidate_and_ignored_files(world: World) -> None:
    """Files of checks are saved under a ref and removed before the next verification."""
    done = run_attempt(world, world.task(), lambda at: write(at, new="n", deps__log="d"))
    at = Path(done.work.worktree)
    write(at, junk="from a check\n", a__txt="changed by a check\n")

    world.workspace.landings.build_candidate(world.run, done)

    assert not (at / "junk").exists()
    assert (at / "a.txt").read_text() == "a1\na2\na3\n"
    assert (at / "deps.log").exists()
    assert world.show("refs/yaoki/work/ab12cd34-1/1-late", "junk") == "from a check"


@pytest.mark.spec("4.5")
def test_conflict_markers_of_an_agent_are_reported(world: World) -> None:
    text = "<<<<<<< HEAD\na\n=======\nb\n>>>>>>> other\n"
    done = run_attempt(
        world,
        world.task(),
        lambda at: write(at, marked=text, half="<<<<<<< quoted\n", title="=======\n"),
    )

    assert world.workspace.landings.build_candidate(world.run, done).conflict_markers == ("marked",)


@pytest.mark.spec("4.5", "0.1")
@pytest.mark.parametrize("marker", ["<<<<<<<", ">>>>>>>"])
def test_one_forgotten_marker_of_a_merge_is_reported(world: World, marker: str) -> None:
    """yaoki's own markers name commits, so a quoted one is not taken for it."""
    half = f"{marker} {'0a' * 20}\nours\n=======\ntheirs\n"
    done = run_attempt(world, world.task(), lambda at: write(at, half=half, quoted=f"{marker} x\n"))

    assert world.workspace.landings.build_candidate(world.run, done).conflict_markers == ("half",)


@pytest.mark.spec("4.5")
def test_existing_conflict_markers_are_not_blamed(tmp_path: Path) -> None:
    repo = a_repository(tmp_path)
    text = "<<<<<<< HEAD\n=======\n>>>>>>> other\n"
    write(repo, doc=f"{text}end\n")
    commit(repo)
    world = a_world(tmp_path, repo)

    done = run_attempt(world, world.task(), lambda at: write(at, doc=f"{text}END\n"))

    assert world.workspace.landings.build_candidate(world.run, done).conflict_markers == ()


@pytest.mark.spec("3.3", "4.5")
def test_work_that_does_not_merge_is_reported_by_path(world: World) -> None:
    mine = run_attempt(world, world.task(1), lambda at: write(at, a__txt="mine\n"))
    other = land_task(world, world.task(2), lambda at: write(at, a__txt="other\n"))

    found = world.workspace.landings.build_candidate(world.run, mine)

    assert found.conflicts == ("a.txt",)
    assert found.commit == ""
    assert found.onto == other.landed_commit
    assert found.tree == mine.work.tree
    assert git(Path(mine.work.worktree), "rev-parse", "HEAD") == mine.work.head


@pytest.mark.spec("3.7", "7.4")
def test_a_conflict_is_checked_out_for_the_agent(world: World) -> None:
    mine = run_attempt(world, world.task(1), lambda at: write(at, a__txt="mine\n", new="n"))
    other = land_task(world, world.task(2), lambda at: write(at, a__txt="other\n"))

    again = start_attempt(world, with_conflict(mine))
    at = Path(again.work.worktree)
    text = (at / "a.txt").read_text()
    write(at, a__txt="both\n")
    kept = world.workspace.worktrees.commit_attempt(world.run, again)
    resolved = replace(again, work=replace(again.work, head=kept.head))
    found = world.workspace.landings.build_candidate(world.run, resolved)

    assert "<<<<<<< " in text
    assert "mine" in text
    assert "other" in text
    assert again.work.base == other.landed_commit
    assert kept.changed == ("a.txt", "new")
    assert (found.conflicts, found.conflict_markers) == ((), ())
    assert world.show(found.commit, "a.txt") == "both"


@pytest.mark.spec("3.7", "0.2")
def test_preparing_a_conflict_twice_merges_once(world: World) -> None:
    mine = run_attempt(world, world.task(1), lambda at: write(at, a__txt="mine\n"))
    land_task(world, world.task(2), lambda at: write(at, a__txt="other\n"))

    first = world.workspace.worktrees.prepare(world.run, with_conflict(mine), 2)
    before = git(first.worktree, "rev-parse", "HEAD")
    second = world.workspace.worktrees.prepare(world.run, with_conflict(mine), 2)

    assert second == first
    assert git(first.worktree, "rev-parse", "HEAD") == before


@pytest.mark.spec("4.5")
def test_an_unresolved_conflict_is_reported_as_markers(world: World) -> None:
    mine = run_attempt(world, world.task(1), lambda at: write(at, a__txt="mine\n"))
    land_task(world, world.task(2), lambda at: write(at, a__txt="other\n"))

    lazy = run_attempt(world, with_conflict(mine), nothing)

    assert world.workspace.landings.build_candidate(world.run, lazy).conflict_markers == ("a.txt",)


@pytest.mark.spec("3.4", "0.3")
def test_landing_moves_the_run_branch_to_exactly_the_verified_commit(world: World) -> None:
    done = run_attempt(world, world.task(), lambda at: write(at, new="n"))
    found = world.workspace.landings.build_candidate(world.run, done)

    assert not world.workspace.branches.branch_contains(world.run, found.commit)
    head = world.workspace.landings.land(world.run, found.commit, found.onto)

    assert head == found.commit == world.workspace.branches.head(world.run)
    assert world.workspace.branches.branch_contains(world.run, found.commit)
    assert world.workspace.branches.branch_contains(world.run, done.work.head)
    assert world.workspace.landings.land(world.run, found.commit, found.onto) == found.commit


@pytest.mark.spec("3.4")
def test_landing_on_a_branch_that_moved_changes_nothing(world: World) -> None:
    mine = run_attempt(world, world.task(1), lambda at: write(at, mine="1"))
    late = world.workspace.landings.build_candidate(world.run, mine)
    other = land_task(world, world.task(2), lambda at: write(at, other="2"))

    head = world.workspace.landings.land(world.run, late.commit, late.onto)

    assert head == other.landed_commit == world.workspace.branches.head(world.run)
    assert not world.workspace.branches.branch_contains(world.run, late.commit)


@pytest.mark.spec("3.4", "3.5")
def test_landing_without_changes_succeeds(world: World) -> None:
    base = world.run.base

    assert world.workspace.landings.land(world.run, base, base) == base


@pytest.mark.spec("3.4", "0.2")
def test_a_commit_that_does_not_build_on_the_branch_never_lands(world: World) -> None:
    done = land_task(world, world.task(), lambda at: write(at, new="n"))

    with pytest.raises(GitFailed, match="would lose work"):
        world.workspace.landings.land(world.run, world.run.base, done.landed_commit)

    assert world.workspace.branches.head(world.run) == done.landed_commit


def at_last(land: Callable[[], str]) -> str:
    """Retry like a worker when the ref is locked for long."""
    for _ in range(20):
        with suppress(GitFailed):
            return land()
    return land()


@pytest.mark.spec("3.4", "0.3")
def test_exactly_one_of_two_concurrent_landings_succeeds(world: World) -> None:
    tasks = [run_attempt(world, world.task(n), adding(f"f{n}")) for n in range(1, 5)]
    found = [world.workspace.landings.build_candidate(world.run, task) for task in tasks]
    gate, heads = threading.Barrier(len(found)), dict[str, str]()

    def land(commit: str, onto: str) -> None:
        own = GitWorkspace(world.repo, world.root)
        gate.wait()
        heads[commit] = at_last(lambda: own.landings.land(world.run, commit, onto))

    threads = [threading.Thread(target=land, args=(one.commit, one.onto)) for one in found]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert set(heads.values()) == {world.workspace.branches.head(world.run)}
    assert [commit for commit, head in heads.items() if commit == head] == [
        world.workspace.branches.head(world.run)
    ]


@pytest.mark.spec("3.1")
def test_many_worktrees_are_added_and_removed_concurrently(world: World) -> None:
    failures: list[BaseException] = []

    def life(n: int) -> None:
        try:
            own = replace(world, workspace=GitWorkspace(world.repo, world.root))
            done = run_attempt(own, own.task(n), adding(f"f{n}"))
            own.workspace.worktrees.remove_worktree(done)
        except BaseException as failure:  # noqa: BLE001  # passed on to the test
            failures.append(failure)

    threads = [threading.Thread(target=life, args=(n,)) for n in range(1, 7)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert failures == []
    assert world.workspace.worktrees.tasks_with_worktree() == frozenset()
    saved = {work.task_id for work in world.workspace.recovery.list_saved_work()}
    assert saved == {f"ab12cd34-{n}" for n in range(1, 7)}


@pytest.mark.spec("0.2", "3.4")
def test_nothing_lands_under_a_checkout_of_the_run_branch(world: World) -> None:
    done = run_attempt(world, world.task(), lambda at: write(at, new="n"))
    found = world.workspace.landings.build_candidate(world.run, done)
    git(world.repo, "checkout", "-q", world.run.branch)

    with pytest.raises(GitFailed, match="is checked out at") as refused:
        world.workspace.landings.land(world.run, found.commit, found.onto)
    git(world.repo, "checkout", "-q", "main")

    assert "switch" in refused.value.hint
    assert not refused.value.transient
    assert world.workspace.landings.land(world.run, found.commit, found.onto) == found.commit


@pytest.mark.spec("0.6")
def test_a_deleted_run_branch_is_reported(world: World) -> None:
    git(world.repo, "branch", "-q", "-D", world.run.branch)

    with pytest.raises(GitFailed, match="the run branch yaoki/ab12cd34 is gone"):
        world.workspace.branches.head(world.run)


@pytest.mark.spec("8.2")
def test_the_work_of_a_removed_worktree_stays_reachable(world: World) -> None:
    done = land_task(world, world.task(), lambda at: write(at, new="n"))

    world.workspace.worktrees.remove_worktree(done)
    world.workspace.worktrees.remove_worktree(done)

    assert not Path(done.work.worktree).exists()
    assert git(world.repo, "worktree", "list").count("\n") == 0
    assert set(world.refs()) == {
        "refs/heads/main",
        "refs/heads/yaoki/ab12cd34",
        "refs/yaoki/runs/ab12cd34",
        "refs/yaoki/work/ab12cd34-1/1",
    }
    assert world.workspace.contents.is_reachable(done.work.head)


@pytest.mark.spec("8.2", "0.2")
def test_files_written_after_the_end_are_saved_before_the_worktree_is_removed(world: World) -> None:
    done = land_task(world, world.task(), lambda at: write(at, new="n"))
    write(Path(done.work.worktree), late="too late\n")

    world.workspace.worktrees.remove_worktree(done)

    assert not Path(done.work.worktree).exists()
    assert world.show("refs/yaoki/work/ab12cd34-1/1-late", "late") == "too late"


@pytest.mark.spec("8.2")
def test_unlanded_work_outlives_its_worktree(world: World) -> None:
    done = run_attempt(world, world.task(), lambda at: write(at, new="n"))
    found = world.workspace.landings.build_candidate(world.run, done)

    world.workspace.worktrees.remove_worktree(done)

    assert "refs/heads/yaoki/ab12cd34-1" not in world.refs()
    assert world.workspace.contents.is_reachable(done.work.head)
    assert world.workspace.contents.is_reachable(found.commit)


@pytest.mark.spec("8.2")
def test_a_worktree_with_read_only_folders_can_be_removed(world: World) -> None:
    def agent(at: Path) -> None:
        write(at / "pkg", x="x")
        (at / "pkg").chmod(0o500)

    done = run_attempt(world, world.task(), agent)

    world.workspace.worktrees.remove_worktree(done)

    assert not Path(done.work.worktree).exists()
    assert not list((world.root / ".trash").iterdir())


@pytest.mark.spec("3.7")
def test_the_kind_of_feedback_decides_about_markers(world: World) -> None:
    """Only a conflict merges the run branch; other retries continue unchanged."""
    mine = run_attempt(world, world.task(1), lambda at: write(at, a__txt="mine\n"))
    land_task(world, world.task(2), lambda at: write(at, a__txt="other\n"))
    failed = with_conflict(mine)
    assert failed.feedback is not None

    place = world.workspace.worktrees.prepare(
        world.run,
        replace(failed, feedback=replace(failed.feedback, kind=FailureKind.INCOMPLETE)),
        2,
    )

    assert (place.worktree / "a.txt").read_text() == "mine\n"
    assert place.base == world.run.base


def test_diffs_are_cut_at_a_limit(world: World) -> None:
    done = run_attempt(world, world.task(), lambda at: write(at, new="n\n", big="x" * (2 << 20)))

    text = world.workspace.contents.diff(world.run.base, done.work.head)

    assert "diff --git a/big b/big" in text
    assert "more bytes" in text
    assert len(text) < (1 << 20) + 1000
    assert "2 files changed" in world.workspace.contents.diff(
        world.run.base, done.work.head, stat=True
    )


@pytest.mark.spec("16.7")
def test_a_commit_can_take_some_files_of_another(world: World) -> None:
    """Files that the other commit lacks are removed; all others stay."""
    first = world.run.base
    write(world.repo, a__txt="other\n", b__txt="b2\n", new__txt="new\n")
    second = commit(world.repo, "second")

    made = world.workspace.contents.commit_with_files_of(second, first, ["a.txt", "new.txt"])

    assert world.show(made, "a.txt") == world.show(first, "a.txt")
    assert world.show(made, "b.txt") == "b2"
    assert git(world.repo, "ls-tree", "--name-only", made, "new.txt") == ""
