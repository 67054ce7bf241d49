"""Several clones of one bare remote, each a machine of its own with a worktree root of its own."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

from tests.repositories import START, World, a_repository, git, worked
from yaoki.adapters.workspace import GitWorkspace
from yaoki.core.model import Run, RunId, Task
from yaoki.errors import GitFailed, RemoteUnreachable


@dataclass(frozen=True, slots=True)
class Clones:
    """`worlds` share the run; `warned` holds what any of them warned of."""

    bare: Path
    worlds: tuple[World, ...]
    warned: list[str]

    @property
    def run(self) -> Run:
        return self.worlds[0].run

    def there(self) -> dict[str, str]:
        """The remote's refs."""
        lines = git(self.bare, "for-each-ref", "--format=%(refname) %(objectname)").splitlines()
        return dict(line.split(" ") for line in lines)

    def head(self) -> str:
        return self.there()[f"refs/heads/{self.run.branch}"]

    def steps(self) -> list[str]:
        """The first lines along the first parents of the remote's run branch, oldest first."""
        args = ("--first-parent", "--reverse", "--format=%s", f"{self.run.base}..{self.run.branch}")
        return git(self.bare, "log", *args).splitlines()

    def away(self) -> Path:
        """The remote is not reachable any more."""
        return self.bare.rename(self.bare.with_name("away.git"))

    def back(self) -> None:
        self.bare.with_name("away.git").rename(self.bare)


def clones(folder: Path, count: int = 2, *options: str) -> Clones:
    """The run is open; every clone has a remote named `origin`."""
    seed, bare = a_repository(folder), folder / "remote.git"
    git(folder, "clone", "-q", "--bare", str(seed), str(bare))
    git(bare, "config", "uploadpack.allowFilter", "true")
    base, warned = git(seed, "rev-parse", "main"), list[str]()
    run = Run(RunId("ab12cd34"), "Make it\nbetter", str(seed), "main", base, START)
    worlds = tuple(a_clone(folder, bare, run, n, warned, *options) for n in range(1, count + 1))
    worlds[0].workspace.branches.open_run_branch(run)
    return Clones(bare, worlds, warned)


def a_clone(folder: Path, bare: Path, run: Run, n: int, warned: list[str], *options: str) -> World:
    home = folder / f"machine{n}"
    home.mkdir()
    git(home, "clone", "-q", *options, f"file://{bare}", "repo")
    repo, root = home / "repo", home / "worktrees"
    return World(repo, root, opened(repo, root, warned), run)


def opened(repo: Path, root: Path, warned: list[str] | None = None) -> GitWorkspace:
    """Another process of the same machine."""
    told = [] if warned is None else warned
    return GitWorkspace(repo, root, remote="origin", warn=told.append)


def land(world: World, task: Task, tries: int = 50) -> int:
    """As the engine goes: prove and land until it is there; returns how often it was refused."""
    for refused in range(tries):
        try:
            if _landed(world, task):
                return refused
        except GitFailed as failed:
            # Of a lock that is held for long the engine takes no other notice.
            if isinstance(failed, RemoteUnreachable) or not failed.transient:
                raise
    raise AssertionError(f"refused {tries} times")


def _landed(world: World, task: Task) -> bool:
    found = world.workspace.landings.build_candidate(world.run, task)
    assert not found.conflicts
    head = world.workspace.landings.land(world.run, found.commit, found.onto)
    return head == found.commit or world.workspace.branches.branch_contains(world.run, found.commit)


def carried(world: World, n: int, act: Callable[[Path], object]) -> Task:
    """A whole life of a task on one machine."""
    task = worked(world, world.task(n), act)
    land(world, task)
    world.workspace.worktrees.remove_worktree(task)
    return replace(task, landed_commit=task.work.head)
