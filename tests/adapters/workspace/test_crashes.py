"""After a kill at any point every operation can be repeated with the same result."""

from __future__ import annotations

import os
import pickle
import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.repositories import (
    World,
    a_world,
    approve,
    git,
    land_task,
    run_attempt,
    start_attempt,
    with_conflict,
    write,
)
from yaoki.adapters.workspace import GitWorkspace
from yaoki.core.model import AttemptMode, Task, Work
from yaoki.ports import Candidate, CommittedAttempt, PreparedWorktree

pytestmark = pytest.mark.spec("0.2")

# A git that lets its caller be killed right after the n-th command.  A process that waits for
# orders ends after its caller, so the caller is killed after an order that writes, before it learns
# of that, and at the start of a process that only reads.  What git must know stands in files: it is
# given no variables of others.
KILLING_GIT = """#!/bin/sh
. "${0%/*}/known"
step() {
    n=$(($(cat "$COUNT") + 1))
    echo $n > "$COUNT"
    [ "$n" != "$(cat "$COUNT.kill")" ] || kill -9 $PPID
}
case " $* " in
*" update-ref "*" --stdin "* | *" hash-object "*" --stdin-paths "*)
    "$REAL_GIT" "$@" | while IFS= read -r line; do step; printf '%s\\n' "$line"; done
    exit 0 ;;
*" cat-file --batch-command "* | *" diff-tree "*" --stdin "*)
    step
    exec "$REAL_GIT" "$@" ;;
esac
"$REAL_GIT" "$@"
code=$?
step
exit $code
"""

# Calls a method in one process after another, the n-th killed after its n-th git command,
# until one is through; the results and the number of killed ones go to a file.
CALLER = """
import os, pickle, sys
from operator import attrgetter
from pathlib import Path
from yaoki.adapters.workspace import GitWorkspace
repo, root, file, count = map(Path, sys.argv[1:5])
method, args = pickle.loads(file.read_bytes())
for n in range(1, 120):
    count.write_text("0")
    Path(f"{count}.kill").write_text(str(n))
    if (pid := os.fork()) == 0:
        result = attrgetter(method)(GitWorkspace(repo, root))(*args)
        file.write_bytes(pickle.dumps((n - 1, result)))
        os._exit(0)
    code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    if code != -9:
        sys.exit(code)
sys.exit("more than 120 git commands")
"""


# A git that finds the folder of the worktree gone at the n-th command.
VANISHING_GIT = """#!/bin/sh
. "${0%/*}/known"
n=$(($(cat "$COUNT") + 1))
echo $n > "$COUNT"
[ "$n" = "$(cat "$COUNT.gone")" ] && mv "$(cat "$COUNT.folder")" "$COUNT.trash.$n"
exec "$REAL_GIT" "$@"
"""

REMOVER = """
import pickle, sys
from pathlib import Path
from yaoki.adapters.workspace import GitWorkspace
repo, root, file, count = map(Path, sys.argv[1:5])
for n, task in enumerate(pickle.loads(file.read_bytes()), start=1):
    count.write_text("0")
    Path(f"{count}.gone").write_text(str(n))
    Path(f"{count}.folder").write_text(task.work.worktree)
    GitWorkspace(repo, root).worktrees.remove_worktree(task)
"""


class Killer:
    """Calls a method repeatedly, killed after its 1st, 2nd, 3rd … git command."""

    def __init__(self, world: World, folder: Path, script: str = KILLING_GIT) -> None:
        self._world, self._folder = world, folder
        real = shutil.which("git")
        assert real
        (folder / "bin").mkdir()
        (folder / "bin" / "git").write_text(script)
        (folder / "bin" / "known").write_text(f"REAL_GIT='{real}' COUNT='{folder / 'count'}'\n")
        (folder / "bin" / "git").chmod(0o755)
        path = f"{folder / 'bin'}{os.pathsep}{os.environ['PATH']}"
        self._env = {**os.environ, "PATH": path}
        self.kills = 0

    def call(self, method: str, *args: object) -> Any:
        file = self.run(CALLER, (method, args))
        kills, result = pickle.loads(file.read_bytes())  # noqa: S301  # our own words, just written
        self.kills += kills
        return result

    def run(self, program: str, words: object) -> Path:
        """Run a program that finds the words in a file; returns the file."""
        file = self._folder / "call"
        file.write_bytes(pickle.dumps(words))
        paths = (self._world.repo, self._world.root, file, self._folder / "count")
        done = subprocess.run(
            [sys.executable, "-c", program, *map(str, paths)],
            env=self._env,
            capture_output=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr.decode()
        return file


@pytest.mark.spec("0.2", "0.3", "3.1", "3.2", "3.3", "3.4", "8.2")
def test_a_task_killed_after_any_git_command_lands_once(tmp_path: Path) -> None:
    world = a_world(tmp_path)
    other = land_task(world, world.task(2), lambda at: write(at, other="o"))
    killer = Killer(world, tmp_path)
    task = world.task()

    place: PreparedWorktree = killer.call("worktrees.prepare", world.run, task, 1)
    task = replace(task, attempt=1, work=Work(base=place.base))
    write(place.worktree, new="n\n", debug__log="ignored")
    git(place.worktree, "checkout", "-q", "-b", "elsewhere")
    kept: CommittedAttempt = killer.call("worktrees.commit_attempt", world.run, task)
    task = replace(task, work=replace(task.work, head=kept.head))
    found: Candidate = killer.call("landings.build_candidate", world.run, task)
    head: str = killer.call("landings.land", world.run, found.commit, found.onto)
    killer.call("worktrees.remove_worktree", task)

    assert killer.kills >= 40
    assert place.base == found.onto == other.landed_commit
    assert head == found.commit == world.workspace.branches.head(world.run)
    assert kept.changed == found.changed == ("new",)
    assert world.show(world.run.branch, "new") == "n"
    assert (
        git(world.repo, "rev-list", "--first-parent", "--count", f"{other.landed_commit}..{head}")
        == "1"
    )
    assert world.workspace.worktrees.tasks_with_worktree() == {"ab12cd34-2"}
    saved = {
        w.ref: w.commit for w in world.workspace.recovery.list_saved_work() if w.task_id == task.id
    }
    assert saved.pop(f"refs/yaoki/work/{task.id}/1-ignored") is not None
    assert list(saved.values()) == [kept.head]
    assert world.show(f"refs/yaoki/work/{task.id}/1-ignored", "debug.log") == "ignored"
    assert git(world.repo, "fsck", "--no-dangling") == ""


@pytest.mark.spec("0.2", "8.1", "9.6")
def test_undo_and_restore_killed_after_any_git_command_succeed_when_repeated(
    tmp_path: Path,
) -> None:
    world = a_world(tmp_path)
    done = land_task(world, world.task(), lambda at: write(at, new="n"))
    upon = land_task(world, world.task(2), lambda at: write(at, new="n and more"))
    at = Path(done.work.worktree)
    write(at, untracked="u", a__txt="changed\n")
    world.workspace.worktrees.take_snapshot(done, 1)
    write(at, later="l", untracked="other")
    killer = Killer(world, tmp_path)
    landings = {upon.id: upon.landed_commit, done.id: done.landed_commit}

    killer.call("recovery.restore_snapshot", "ab12cd34-1-1", done)
    head: str = killer.call("landings.undo", world.run, landings, approve)

    assert killer.kills >= 25
    assert git(at, "status", "--porcelain").splitlines() == [" M a.txt", "?? untracked"]
    assert (at / "untracked").read_text() == "u"
    assert any(
        world.files(work.commit) >= {"later"} for work in world.workspace.recovery.list_saved_work()
    )
    assert git(world.repo, "rev-list", "--count", f"{upon.landed_commit}..{head}") == "1"
    assert "new" not in world.files(head)


@pytest.mark.full
@pytest.mark.spec("0.2", "10.4")
def test_a_persons_merge_killed_after_any_git_command_is_saved_and_rebuilt(
    tmp_path: Path,
) -> None:
    world = a_world(tmp_path)
    mine = with_conflict(run_attempt(world, world.task(), lambda at: write(at, a__txt="mine\n")))
    land_task(world, world.task(2), lambda at: write(at, a__txt="other\n"))
    at = Path(mine.work.worktree)
    git(at, "merge", "-q", world.run.branch, code=1)
    write(at, a__txt="both\n")
    task = replace(mine, mode=AttemptMode.TAKEN_OVER)
    killer = Killer(world, tmp_path)

    place: PreparedWorktree = killer.call("worktrees.prepare", world.run, task, 2)
    killer.call("worktrees.take_snapshot", task, 2)
    task = replace(task, attempt=2, work=Work(base=place.base))
    kept: CommittedAttempt = killer.call("worktrees.commit_attempt", world.run, task)
    task = replace(task, work=replace(task.work, head=kept.head))
    shutil.rmtree(at)
    killer.call("worktrees.rebuild_worktree", task)
    found: Candidate = killer.call("landings.build_candidate", world.run, task)

    assert killer.kills >= 40
    assert (found.conflicts, found.conflict_markers) == ((), ())
    assert (at / "a.txt").read_text() == "both\n"
    assert git(at, "rev-parse", "HEAD") == found.commit
    assert git(at, "status", "--porcelain") == ""


@pytest.fixture
def world(tmp_path: Path) -> World:
    return a_world(tmp_path)


def admin(world: World, task: Task) -> Path:
    return world.repo / ".git" / "worktrees" / task.id


def is_ready(world: World, task: Task) -> bool:
    place = world.workspace.worktrees.prepare(world.run, task, task.attempt + 1)
    state = git(place.worktree, "status", "--porcelain", "--branch")
    return place.fresh and state == f"## yaoki/{task.id}"


@pytest.mark.spec("3.1", "8.6")
def test_a_folder_unknown_to_git_is_replaced(world: World) -> None:
    write(world.root / "ab12cd34-1", half="h")

    assert is_ready(world, world.task())


@pytest.mark.spec("3.1", "8.6")
def test_a_missing_folder_that_git_knows_is_made_again(world: World) -> None:
    begun = start_attempt(world, world.task())
    shutil.rmtree(begun.work.worktree)

    assert is_ready(world, begun)


@pytest.mark.spec("3.1", "8.6")
def test_a_worktree_git_had_not_finished_is_made_again(world: World) -> None:
    """Killed inside `git worktree add`: locked as initializing, an index half written."""
    begun = start_attempt(world, world.task())
    (admin(world, begun) / "locked").write_text("initializing\n")
    (admin(world, begun) / "index").rename(admin(world, begun) / "index.lock")
    (Path(begun.work.worktree) / "a.txt").unlink()

    assert is_ready(world, begun)
    assert world.workspace.recovery.list_saved_work() == []


@pytest.mark.spec("3.1", "8.6")
def test_a_locked_worktree_is_replaced_after_its_work_is_saved(world: World) -> None:
    begun = start_attempt(world, world.task())
    write(Path(begun.work.worktree), work="w")
    git(world.repo, "worktree", "lock", begun.work.worktree)

    assert is_ready(world, replace(begun, needs_fresh_worktree=True))
    assert [
        world.files(work.commit) >= {"work"} for work in world.workspace.recovery.list_saved_work()
    ] == [True]


@pytest.mark.spec("3.2", "4.8")
def test_locks_of_a_killed_agent_are_removed(world: World) -> None:
    begun = start_attempt(world, world.task())
    write(Path(begun.work.worktree), work="w")
    for lock in (
        admin(world, begun) / "index.lock",
        admin(world, begun) / "HEAD.lock",
        world.repo / ".git" / "refs" / "heads" / "yaoki" / "ab12cd34-1.lock",
    ):
        lock.touch()

    kept = world.workspace.worktrees.commit_attempt(world.run, begun)
    found = world.workspace.landings.build_candidate(
        world.run, replace(begun, work=replace(begun.work, head=kept.head))
    )

    assert found.changed == ("work",)


@pytest.mark.spec("8.2")
def test_trash_of_a_killed_process_is_deleted(world: World) -> None:
    write(world.root / ".trash" / "ab12cd34-9.x", old="o")
    write(world.root / ".index" / "ab12cd34-1.x", index="i")

    done = run_attempt(world, world.task(), lambda at: write(at, new="n"))
    world.workspace.worktrees.remove_worktree(done)

    assert not list((world.root / ".trash").iterdir())
    assert not list((world.root / ".index").iterdir())


@pytest.mark.spec("0.2")
def test_a_root_reached_by_a_link_is_the_same_root(world: World, tmp_path: Path) -> None:
    (tmp_path / "short").symlink_to(world.root)
    start_attempt(world, world.task())
    other = replace(world, workspace=GitWorkspace(world.repo, tmp_path / "short"))

    kept = other.workspace.worktrees.commit_attempt(world.run, replace(world.task(), attempt=1))

    assert kept.head == world.run.base


@pytest.mark.spec("0.2", "8.6")
@pytest.mark.parametrize("left", ["all", "the note alone"])
def test_an_interrupted_removal_is_completed(tmp_path: Path, left: str) -> None:
    """The folder is gone but git still records it: the next process must notice that."""
    world = a_world(tmp_path)
    done = land_task(world, world.task(), lambda at: write(at, new="n"))
    admin = world.repo / ".git" / "worktrees" / done.id
    shutil.rmtree(done.work.worktree)
    if left != "all":
        for file in admin.iterdir():
            if file.name != "gitdir":
                shutil.rmtree(file) if file.is_dir() else file.unlink()

    found = world.workspace.worktrees.tasks_with_worktree()
    world.workspace.worktrees.remove_worktree(done)

    assert done.id in found
    assert not admin.exists()
    assert world.workspace.worktrees.tasks_with_worktree() == frozenset()


@pytest.mark.spec("8.6")
def test_a_worktree_that_another_process_removes_meanwhile_is_removed(tmp_path: Path) -> None:
    """Whichever git command finds the folder gone: it was a warning, although nothing was left."""
    world = a_world(tmp_path)
    tasks = [start_attempt(world, world.task(n)) for n in range(1, 5)]
    for task in tasks:
        write(Path(task.work.worktree), new="n\n", debug__log="ignored")

    Killer(world, tmp_path, VANISHING_GIT).run(REMOVER, tasks)

    assert world.workspace.worktrees.tasks_with_worktree() == frozenset()
    assert len(list(tmp_path.glob("count.trash.*"))) == 4
