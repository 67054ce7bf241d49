"""Agents that misuse git or the file system: their files are saved in every case."""

from __future__ import annotations

import os
import shutil
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

from tests.repositories import (
    World,
    a_repository,
    a_world,
    commit,
    git,
    run_attempt,
    start_attempt,
    user_state,
    write,
)
from yaoki.errors import GitFailed
from yaoki.ports import CommittedAttempt

pytestmark = pytest.mark.spec("3.2", "0.2")


@pytest.fixture
def world(tmp_path: Path) -> World:
    return a_world(tmp_path)


def kept_after(world: World, *acts: object) -> tuple[CommittedAttempt, Path]:
    begun = start_attempt(world, world.task())
    at = Path(begun.work.worktree)
    for act in acts:
        assert callable(act)
        act(at)
    return world.workspace.worktrees.commit_attempt(world.run, begun), at


def test_an_agents_commits_become_one_and_are_saved_under_a_ref(world: World) -> None:
    def agent(at: Path) -> None:
        write(at, one="1")
        commit(at, "my own words")
        write(at, two="2")

    kept, at = kept_after(world, agent)

    assert kept.changed == ("one", "two")
    assert git(world.repo, "log", "--format=%s", f"main..{kept.head}").splitlines() == [
        "task1: Do 1. (attempt 1)"
    ]
    assert "my own words" in git(world.repo, "show", "-s", "--format=%b", kept.head)
    history = "refs/yaoki/work/ab12cd34-1/1-history"
    assert git(world.repo, "log", "-1", "--format=%s", history) == "my own words"
    assert git(at, "log", "-1", "--format=%s") == "task1: Do 1. (attempt 1)"


def test_work_on_another_branch_is_committed_on_the_tasks_branch(world: World) -> None:
    def agent(at: Path) -> None:
        git(at, "checkout", "-q", "-b", "feature/mine")
        write(at, one="1")
        commit(at)
        write(at, two="2")

    kept, at = kept_after(world, agent)

    assert world.refs()["refs/heads/yaoki/ab12cd34-1"] == kept.head
    assert world.files(kept.head) >= {"one", "two"}
    assert git(at, "symbolic-ref", "HEAD") == "refs/heads/yaoki/ab12cd34-1"
    assert git(at, "status", "--porcelain") == ""


def test_a_detached_head_is_no_obstacle(world: World) -> None:
    def agent(at: Path) -> None:
        git(at, "checkout", "-q", "--detach")
        write(at, one="1")
        commit(at)

    kept, at = kept_after(world, agent)

    assert kept.changed == ("one",)
    assert git(at, "rev-parse", "HEAD") == kept.head


def test_rewritten_history_becomes_one_commit_on_the_base(world: World) -> None:
    """A new root commit shares nothing with the run branch; the agent's commits stay reachable."""

    def agent(at: Path) -> None:
        git(at, "checkout", "-q", "--orphan", "fresh")
        write(at, one="1")
        commit(at, "new root")

    kept, at = kept_after(world, agent)

    assert git(world.repo, "rev-parse", f"{kept.head}^") == world.run.base
    assert kept.changed == ("one",)
    assert "refs/yaoki/work/ab12cd34-1/1-history" in world.refs()
    assert git(at, "status", "--porcelain") == ""


def test_a_reset_behind_the_base_does_not_revert_landed_work(tmp_path: Path) -> None:
    repo = a_repository(tmp_path)
    write(repo, later="l")
    commit(repo, "second")
    world = a_world(tmp_path, repo)

    kept, _ = kept_after(
        world, lambda at: git(at, "reset", "-q", "--hard", "HEAD~1"), lambda at: write(at, one="1")
    )

    assert git(world.repo, "rev-parse", f"{kept.head}^") == world.run.base
    assert kept.changed == ("later", "one")


@pytest.mark.parametrize("how", ["removed", "garbage", "elsewhere", "own repository"])
def test_a_broken_dot_git_loses_no_file(world: World, how: str) -> None:
    def agent(at: Path) -> None:
        write(at, one="1")
        (at / ".git").unlink()
        if how == "garbage":
            write(at, __git="nonsense\n")
        if how == "elsewhere":
            write(at, __git=f"gitdir: {world.repo / '.git'}\n")
        if how == "own repository":
            git(at, "init", "-q")
            commit(at, "mine")

    before = user_state(world.repo)
    kept, at = kept_after(world, agent)
    found = world.workspace.landings.build_candidate(
        world.run, replace(world.task(), work=replace(world.task().work, head=kept.head))
    )

    assert kept.changed == ("one",)
    assert git(at, "rev-parse", "HEAD") == found.commit
    assert git(at, "status", "--porcelain") == ""
    assert user_state(world.repo) == before


def test_a_worktree_git_forgot_loses_no_file(world: World) -> None:
    """`git worktree prune` after the `.git` file was deleted: git has no record of it."""

    def agent(at: Path) -> None:
        write(at, one="1")
        (at / ".git").unlink()
        git(world.repo, "worktree", "prune")

    kept, _ = kept_after(world, agent)

    assert kept.changed == ("one",)
    assert world.show("refs/yaoki/work/ab12cd34-1/1", "one") == "1"


def test_a_destroyed_head_is_repaired(world: World) -> None:
    def agent(at: Path) -> None:
        write(at, one="1")
        (world.repo / ".git" / "worktrees" / "ab12cd34-1" / "HEAD").write_text("nonsense")

    kept, at = kept_after(world, agent)

    assert kept.changed == ("one",)
    assert git(at, "rev-parse", "HEAD") == kept.head


def test_a_deleted_worktree_counts_as_no_change(world: World) -> None:
    begun = start_attempt(world, world.task())
    shutil.rmtree(begun.work.worktree)

    kept = world.workspace.worktrees.commit_attempt(world.run, begun)

    assert kept.head == world.run.base
    with pytest.raises(GitFailed, match="the worktree of ab12cd34-1 is gone"):
        world.workspace.landings.build_candidate(world.run, begun)
    assert world.workspace.worktrees.prepare(world.run, begun, 2).fresh


def test_a_link_in_place_of_the_worktree_is_not_followed(world: World) -> None:
    """Following it would commit, and then clean, the user's own checkout."""
    begun = start_attempt(world, world.task())
    shutil.rmtree(begun.work.worktree)
    Path(begun.work.worktree).symlink_to(world.repo)
    write(world.repo, private="p")
    before = user_state(world.repo)

    kept = world.workspace.worktrees.commit_attempt(world.run, begun)
    with pytest.raises(GitFailed, match="is gone"):
        world.workspace.landings.build_candidate(world.run, begun)
    place = world.workspace.worktrees.prepare(world.run, begun, 2)

    assert kept.changed == ()
    assert place.fresh
    assert not place.worktree.is_symlink()
    assert user_state(world.repo) == before


@pytest.mark.parametrize("committed", [False, True], ids=["without a commit", "with a commit"])
def test_nested_repositories_are_saved_as_plain_files(world: World, committed: bool) -> None:
    def inner(folder: Path) -> None:
        git(folder, "init", "-q")
        if committed:
            commit(folder)

    def agent(at: Path) -> None:
        write(at / "lib [x]" / "deep", b="b")
        write(at / "lib [x]", a="a")
        inner(at / "lib [x]" / "deep")
        inner(at / "lib [x]")

    kept, at = kept_after(world, agent)

    assert kept.changed == ("lib [x]/a", "lib [x]/deep/b")
    assert git(world.repo, "ls-tree", "-r", kept.head).count("160000") == 0
    assert git(at, "status", "--porcelain") == ""


def test_a_repository_in_a_tracked_folder_or_over_a_file_is_saved(world: World) -> None:
    def agent(at: Path) -> None:
        git(at / "src", "init", "-q")
        write(at / "src", new__py="new")
        (at / "b.txt").unlink()
        write(at / "b.txt", inside="i")
        git(at / "b.txt", "init", "-q")

    kept, _ = kept_after(world, agent)

    assert kept.changed == ("b.txt", "b.txt/inside", "src/new.py")


def test_a_committed_gitlink_becomes_files(world: World) -> None:
    def agent(at: Path) -> None:
        write(at / "lib", a="a")
        git(at / "lib", "init", "-q")
        commit(at / "lib")
        commit(at, "with a link nobody else can follow")

    kept, _ = kept_after(world, agent)

    assert world.show(kept.head, "lib/a") == "a"


@pytest.mark.full
@pytest.mark.spec("8.2")
@pytest.mark.parametrize("pushed", [False, True], ids=["unpushed", "pushed"])
def test_an_unpublished_submodule_commit_is_saved_and_reported(
    tmp_path: Path, pushed: bool
) -> None:
    repo, allow = with_submodule(tmp_path)
    world = a_world(tmp_path, repo)
    begun = start_attempt(world, world.task())
    at = Path(begun.work.worktree)
    git(at, *allow, "--quiet", "update", "--init")
    write(at / "lib", a__txt="changed inside\n")
    commit(at / "lib", "inside")
    inside = git(at / "lib", "rev-parse", "HEAD")
    if pushed:
        git(at / "lib", "push", "-q", "origin", "HEAD:refs/heads/new")

    kept = world.workspace.worktrees.commit_attempt(world.run, begun)
    world.workspace.worktrees.remove_worktree(begun)

    refs = git(repo, "for-each-ref", "--format=%(refname)", f"--points-at={inside}")
    if pushed:
        assert (kept.warnings, refs) == ((), "")
        return
    (warned,) = kept.warnings
    assert refs == "refs/yaoki/work/ab12cd34-1/1-submodule"
    assert git(repo, "show", f"{inside}:a.txt") == "changed inside"
    git(repo, "fsck", "--connectivity-only")
    assert warned.startswith(f"submodule lib points at {inside}")
    way = warned.partition("push it: ")[2]
    subprocess.run(["sh", "-ec", way], cwd=repo, check=True, capture_output=True, timeout=60)
    library = tmp_path / "library"
    assert git(library, "rev-parse", "refs/heads/ab12cd34-1") == inside


@pytest.mark.spec("8.2")
def test_a_commit_in_a_shallow_submodule_is_reported_and_harmless(tmp_path: Path) -> None:
    repo, allow = with_submodule(tmp_path)
    for text in ("more", "still more"):
        write(tmp_path / "library", more=text)
        commit(tmp_path / "library", text)
    git(repo / "lib", "pull", "-q")
    commit(repo, "a newer one")
    # The user's checkout does not have it, so the agent clones it.
    git(repo, "submodule", "--quiet", "deinit", "-f", "lib")
    shutil.rmtree(repo / ".git" / "modules")
    world = a_world(tmp_path, repo)
    begun = start_attempt(world, world.task())
    at = Path(begun.work.worktree)
    git(repo, "config", "submodule.lib.url", f"file://{tmp_path}/library")
    git(at, *allow, "--quiet", "update", "--init", "--depth", "1")
    write(at / "lib", a__txt="changed inside\n")
    commit(at / "lib", "inside")

    kept = world.workspace.worktrees.commit_attempt(world.run, begun)
    world.workspace.worktrees.remove_worktree(begun)

    (warned,) = kept.warnings
    assert warned.endswith("its history is shallow: only its files are saved")
    assert world.show("refs/yaoki/work/ab12cd34-1/1-submodules", "lib/a.txt") == "changed inside"
    git(repo, "fsck", "--connectivity-only")


def with_submodule(tmp_path: Path) -> tuple[Path, tuple[str, ...]]:
    """A repository with the submodule `lib`, and the option that allows a local submodule."""
    library = a_repository(tmp_path)
    library.rename(tmp_path / "library")
    repo = a_repository(tmp_path)
    allow = ("-c", "protocol.file.allow=always", "submodule")
    git(repo, *allow, "--quiet", "add", "../library", "lib")
    commit(repo, "with a submodule")
    return repo, allow


@pytest.mark.spec("8.2")
def test_files_in_submodules_are_saved_before_the_worktree_is_removed(tmp_path: Path) -> None:
    repo, allow = with_submodule(tmp_path)
    world = a_world(tmp_path, repo)
    begun = start_attempt(world, world.task())
    at = Path(begun.work.worktree)
    git(at, *allow, "--quiet", "update", "--init")
    write(at / "lib", a__txt="changed inside\n")

    kept = world.workspace.worktrees.commit_attempt(world.run, begun)
    world.workspace.worktrees.remove_worktree(begun)

    assert kept.changed == ()
    assert world.show("refs/yaoki/work/ab12cd34-1/1-submodules", "lib/a.txt") == "changed inside"


def test_names_links_modes_and_empty_files_survive(world: World) -> None:
    names = ["with space", "new\nline", "ünï-日本", '"quoted"', "-dash", "[glob]*", ":(top)x"]

    def agent(at: Path) -> None:
        for name in names:
            (at / name).write_text(name, encoding="utf-8")
        (at / "empty").touch()
        (at / "script").write_text("#!/bin/sh\n")
        (at / "script").chmod(0o755)
        (at / "link").symlink_to("a.txt")
        (at / "outside").symlink_to("/etc/passwd")
        (at / "broken").symlink_to("nowhere")
        (at / os.fsdecode(b"latin-\xe9")).write_text("bytes")

    kept, at = kept_after(world, agent)
    found = world.workspace.landings.build_candidate(
        world.run, replace(world.task(), work=replace(world.task().work, head=kept.head))
    )

    rows = git(world.repo, "ls-tree", "-r", "-z", found.commit).split("\0")
    modes = {row.split("\t")[1]: row.split(" ")[0] for row in rows if row}
    assert set(names) | {"empty", "script", "link", "outside", "broken"} <= set(modes)
    assert set(names) <= set(kept.changed)
    assert "latin-\\xe9" in kept.changed
    assert modes["script"] == "100755"
    assert [modes[name] for name in ("link", "outside", "broken")] == ["120000"] * 3
    assert (at / "outside").readlink() == Path("/etc/passwd")
    assert world.workspace.landings.build_candidate(world.run, world.task()).onto == found.onto
    for path in kept.changed:
        path.encode("utf-8")


def test_an_unfinished_merge_is_saved_and_dropped(world: World) -> None:
    def agent(at: Path) -> None:
        write(at, a__txt="one\n")
        commit(at)
        git(at, "checkout", "-q", "-b", "side", "HEAD~1")
        write(at, a__txt="two\n")
        commit(at)
        git(at, "merge", "-q", "yaoki/ab12cd34-1", code=1)

    kept, at = kept_after(world, agent)

    assert "<<<<<<<" in world.show(kept.head, "a.txt")
    assert git(at, "status").splitlines() == [
        "On branch yaoki/ab12cd34-1",
        "nothing to commit, working tree clean",
    ]


def test_files_hidden_from_git_status_are_saved(world: World) -> None:
    """Flags in the agent's index could hide changes from a reader of that index."""

    def agent(at: Path) -> None:
        git(at, "update-index", "--assume-unchanged", "a.txt")
        git(at, "update-index", "--skip-worktree", "b.txt")
        write(at, a__txt="hidden a\n", b__txt="hidden b\n")

    kept, _ = kept_after(world, agent)

    assert kept.changed == ("a.txt", "b.txt")


def test_a_worktree_removed_by_its_agent_is_reported(world: World) -> None:
    kept, _ = kept_after(world, shutil.rmtree)

    assert kept.changed == ()
    assert kept.worktree_missing


def test_deleting_every_file_is_reported(world: World) -> None:
    def agent(at: Path) -> None:
        for path in at.iterdir():
            if path.name != ".git":
                shutil.rmtree(path) if path.is_dir() else path.unlink()

    begun = run_attempt(world, world.task(), agent)
    found = world.workspace.landings.build_candidate(world.run, begun)

    assert (found.deleted_count, found.tracked_count) == (6, 6)
    assert world.files(begun.work.head) == set()


def test_a_checked_out_task_branch_is_not_moved(world: World) -> None:
    begun = start_attempt(world, world.task())
    at = Path(begun.work.worktree)
    git(at, "checkout", "-q", "--detach")
    write(at, one="1")
    git(world.repo, "checkout", "-q", "yaoki/ab12cd34-1")
    before = user_state(world.repo)

    with pytest.raises(GitFailed, match="is checked out at"):
        world.workspace.worktrees.commit_attempt(world.run, begun)
    after = user_state(world.repo)
    git(world.repo, "checkout", "-q", "main")

    assert after == before
    assert (at / "one").exists()
    assert world.workspace.worktrees.commit_attempt(world.run, begun).changed == ("one",)


@pytest.mark.spec("3.2")
def test_a_second_attempt_with_a_nested_repository_continues(world: World) -> None:
    def agent(at: Path) -> None:
        write(at / "lib", a="a")
        git(at / "lib", "init", "-q")

    first = run_attempt(world, world.task(), agent)
    again = run_attempt(world, first, lambda at: write(at / "lib", b="b"))
    found = world.workspace.landings.build_candidate(world.run, again)

    assert found.changed == ("lib/a", "lib/b")


@pytest.mark.parametrize(
    ("value", "words"),
    [
        ("=UTF-16", "fatal: BOM is required in"),
        ("=NO-SUCH", "fatal: failed to encode"),
        ("", "fatal: true/false are no valid working-tree-encodings"),
    ],
)
def test_files_that_git_cannot_convert_are_saved_as_they_are(
    world: World, value: str, words: str
) -> None:
    def agent(at: Path) -> None:
        write(at, **{"one.py": "1\n", "two.txt": "2\n"})
        (at / ".gitattributes").write_text(f"*.py working-tree-encoding{value}\n")
        (at / "one.py").chmod(0o755)
        (at / "link.py").symlink_to("one.py")
        (at / "old\nline.py").write_text("3\n")
        (at / "nested").mkdir()
        git(at / "nested", "init", "-q")
        write(at / "nested", inner="4\n")

    kept, _ = kept_after(world, agent)

    assert words in kept.git_refusal
    assert git(world.repo, "show", f"{kept.head}:one.py") == "1"
    assert git(world.repo, "show", f"{kept.head}:link.py") == "one.py"
    assert git(world.repo, "show", f"{kept.head}:old\nline.py") == "3"
    modes = git(world.repo, "ls-tree", kept.head, "one.py", "two.txt").split()
    assert modes[::4] == ["100755", "100644"]
    listed = git(world.repo, "ls-tree", "-r", "--name-only", kept.head)
    assert "nested/inner" in listed.splitlines()


def test_a_removed_file_is_removed_though_git_cannot_convert_another_one(world: World) -> None:
    def agent(at: Path) -> None:
        name = git(at, "ls-files").splitlines()[0]
        (at / name).unlink()
        write(at, **{"one.py": "1\n", ".gitattributes": "*.py working-tree-encoding=UTF-16\n"})

    before = git(world.repo, "ls-files").splitlines()[0]
    kept, _ = kept_after(world, agent)

    assert kept.git_refusal
    assert before not in git(world.repo, "ls-tree", "-r", "--name-only", kept.head).splitlines()
