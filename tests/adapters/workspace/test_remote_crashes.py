"""After a kill between the push and the local copy, or anywhere else, the next call continues."""

from __future__ import annotations

import os
import pickle
import shutil
import signal
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.adapters.workspace.clones import Clones, clones, complete_task, land, open_workspace
from tests.repositories import World, approve, git, land_task, run_attempt, start_attempt, write
from yaoki.core.model import RunId
from yaoki.ports import CommittedAttempt

pytestmark = pytest.mark.spec("13.1", "13.3", "0.2")

# A git whose caller is killed right after the n-th command, or after its first push.
KILLING_GIT = """#!/bin/sh
. "${0%/*}/known"
"$REAL_GIT" "$@"
code=$?
KILL_AT=$(cat "$COUNT.kill")
case "$KILL_AT" in
    push) case " $* " in *" push "*) kill -9 $PPID;; esac;;
    *) n=$(($(cat "$COUNT") + 1)); echo $n > "$COUNT"; [ "$n" = "$KILL_AT" ] && kill -9 $PPID;;
esac
exit $code
"""
CALLER = """
import os, pickle, sys
from operator import attrgetter
from pathlib import Path
from yaoki.adapters.workspace import GitWorkspace
repo, root, file, count = map(Path, sys.argv[1:5])
method, args = pickle.loads(file.read_bytes())
for n in range(1, 60):
    if os.environ["WANTED"] != "push":
        count.write_text("0")
        Path(f"{count}.kill").write_text(str(n))
    if (pid := os.fork()) == 0:
        result = attrgetter(method)(GitWorkspace(repo, root, remote="origin"))(*args)
        file.write_bytes(pickle.dumps((n - 1, result)))
        os._exit(0)
    code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    if code != -9 or os.environ["WANTED"] == "push":
        sys.exit(-code if code < 0 else code)
sys.exit("more than 60 git commands")
"""


class Killer:
    """Calls a method of one machine's workspace, killed after every git command or after a push."""

    def __init__(self, world: World, folder: Path) -> None:
        self._world, self._folder = world, folder
        real = shutil.which("git")
        assert real
        (folder / "bin").mkdir()
        (folder / "bin" / "git").write_text(KILLING_GIT)
        (folder / "bin" / "known").write_text(f"REAL_GIT='{real}' COUNT='{folder / 'count'}'\n")
        (folder / "bin" / "git").chmod(0o755)
        path = f"{folder / 'bin'}{os.pathsep}{os.environ['PATH']}"
        self._env = {**os.environ, "PATH": path}
        self.kills = 0

    def after_push(self, method: str, *args: object) -> None:
        """Call once, killed as soon as the remote has the push."""
        assert self._called("push", method, args) == signal.SIGKILL

    def everywhere(self, method: str, *args: object) -> Any:
        """Call repeatedly, killed after the 1st, 2nd, 3rd … command, until one call ends."""
        assert self._called("", method, args) == 0
        # Our own words, just written.
        kills, result = pickle.loads((self._folder / "call").read_bytes())  # noqa: S301
        self.kills += kills
        return result

    def _called(self, wanted: str, method: str, args: object) -> int:
        file = self._folder / "call"
        file.write_bytes(pickle.dumps((method, args)))
        (self._folder / "count.kill").write_text(wanted)
        paths = (self._world.repo, self._world.root, file, self._folder / "count")
        done = subprocess.run(
            [sys.executable, "-c", CALLER, *map(str, paths)],
            env={**self._env, "WANTED": wanted},
            capture_output=True,
            check=False,
        )
        assert not done.stderr, done.stderr.decode()
        return done.returncode


@pytest.fixture
def two_clones(tmp_path: Path) -> Clones:
    return clones(tmp_path)


@pytest.mark.spec("3.4", "0.3")
def test_a_landing_killed_between_push_and_copy_counts_once(
    two_clones: Clones, tmp_path: Path
) -> None:
    one, other = two_clones.worlds
    task = run_attempt(one, one.task(), lambda at: write(at, new="n"))
    found = one.workspace.landings.build_candidate(one.run, task)
    killer = Killer(one, tmp_path)

    killer.after_push("landings.land", one.run, found.commit, found.onto)
    copy = git(one.repo, "rev-parse", one.run.branch)

    assert copy == found.onto
    assert two_clones.head() == found.commit
    again = open_workspace(one.repo, one.root)
    assert again.branches.branch_contains(one.run, found.commit)
    assert again.landings.land(one.run, found.commit, found.onto) == found.commit
    assert other.workspace.branches.branch_contains(other.run, found.commit)
    assert two_clones.steps() == ["task1: Do 1."]
    assert git(one.repo, "rev-parse", one.run.branch) == found.commit


@pytest.mark.spec("9.6", "0.3")
def test_an_undo_killed_between_push_and_copy_counts_once(
    two_clones: Clones, tmp_path: Path
) -> None:
    one, _ = two_clones.worlds
    task = land_task(one, one.task(), lambda at: write(at, new="n"))

    Killer(one, tmp_path).after_push(
        "landings.undo", one.run, {task.id: task.landed_commit}, approve
    )
    head = open_workspace(one.repo, one.root).landings.undo(
        one.run, {task.id: task.landed_commit}, approve=approve
    )

    assert head == two_clones.head()
    assert two_clones.steps() == ["task1: Do 1.", "Undo task1: Do 1."]


@pytest.mark.full
@pytest.mark.spec("8.3")
def test_a_group_roll_back_killed_between_push_and_copy_happens_once(
    two_clones: Clones, tmp_path: Path
) -> None:
    one, other = two_clones.worlds
    line = one.workspace.groups.open_group_branch(one.run, "ab12cd34-9")
    land(replace(one, run=line), run_attempt(replace(one, run=line), one.task(), _new))
    held = one.workspace.branches.head(line)

    Killer(one, tmp_path).after_push("groups.roll_back_group_branch", one.run, "ab12cd34-9", held)
    _, to = other.workspace.groups.roll_back_group_branch(
        other.run, "ab12cd34-9", other.workspace.branches.head(line)
    )

    assert to == other.run.base == open_workspace(one.repo, one.root).branches.head(line)
    kept = [ref for ref in two_clones.remote_refs() if "rollback" in ref]
    assert [two_clones.remote_refs()[ref] for ref in kept] == [held]


def _new(at: Path) -> None:
    write(at, new="n")


@pytest.mark.spec("9.1")
def test_a_run_opening_killed_between_push_and_copy_happens_once(tmp_path: Path) -> None:
    farm = clones(tmp_path)
    one, other = farm.worlds
    run = replace(one.run, id=RunId("ef56gh78"))

    Killer(one, tmp_path).after_push("branches.open_run_branch", run)
    for world in farm.worlds:
        open_workspace(world.repo, world.root).branches.open_run_branch(run)

    assert farm.remote_refs()["refs/heads/yaoki/ef56gh78"] == run.base
    assert other.workspace.branches.describe_drift(run) == ""


@pytest.mark.spec("8.2")
def test_saved_work_of_a_killed_process_is_pushed_by_the_next_call(
    two_clones: Clones, tmp_path: Path
) -> None:
    """The remote is unreachable and the worker is killed; a later worker pushes the work."""
    one, other = two_clones.worlds
    begun = start_attempt(one, one.task())
    write(Path(begun.work.worktree), new="n\n")
    two_clones.disconnect()
    Killer(one, tmp_path).after_push("worktrees.commit_attempt", one.run, begun)
    two_clones.reconnect()
    assert "refs/yaoki/work/ab12cd34-1/1" not in two_clones.remote_refs()

    complete_task(
        replace(one, workspace=open_workspace(one.repo, one.root)), 2, lambda at: write(at, b="b")
    )
    open_workspace(one.repo, one.root).branches.open_run_branch(one.run)

    assert {work.task_id for work in other.workspace.recovery.list_saved_work()} == {
        "ab12cd34-1",
        "ab12cd34-2",
    }


@pytest.mark.full
@pytest.mark.spec("3.1", "3.2", "3.3", "3.4", "8.2", "0.3")
def test_a_task_killed_after_any_git_command_lands_once_at_the_remote(
    two_clones: Clones, tmp_path: Path
) -> None:
    one, other = two_clones.worlds
    complete_task(other, 2, lambda at: write(at, other="o"))
    begun = start_attempt(one, one.task())
    write(Path(begun.work.worktree), new="n\n")
    killer = Killer(one, tmp_path)

    kept: CommittedAttempt = killer.everywhere("worktrees.commit_attempt", one.run, begun)
    task = replace(begun, work=replace(begun.work, head=kept.head))
    found = killer.everywhere("landings.build_candidate", one.run, task)
    head = killer.everywhere("landings.land", one.run, found.commit, found.onto)
    killer.everywhere("worktrees.remove_worktree", task)

    assert killer.kills > 20
    assert head == found.commit == two_clones.head() == other.workspace.branches.head(other.run)
    assert two_clones.steps() == ["task2: Do 2.", "task1: Do 1."]
    assert [
        w.commit for w in other.workspace.recovery.list_saved_work() if w.task_id == task.id
    ] == [kept.head]
    assert "refs/heads/yaoki/ab12cd34-1" not in two_clones.remote_refs()
    assert git(two_clones.bare, "fsck", "--no-dangling") == ""
