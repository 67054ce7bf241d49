"""Several clones of one bare remote; each stands for a machine with its own worktree root."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

from tests.repositories import START, World, a_repository, git, run_attempt
from yaoki.adapters.workspace import GitWorkspace
from yaoki.core.model import Run, RunId, Task
from yaoki.errors import GitFailed, RemoteUnreachable


@dataclass(frozen=True, slots=True)
class Clones:
    """`worlds` share the run; `warnings` are those of all clones."""

    bare: Path
    worlds: tuple[World, ...]
    warnings: list[str]

    @property
    def run(self) -> Run:
        return self.worlds[0].run

    def remote_refs(self) -> dict[str, str]:
        lines = git(self.bare, "for-each-ref", "--format=%(refname) %(objectname)").splitlines()
        return dict(line.split(" ") for line in lines)

    def head(self) -> str:
        return self.remote_refs()[f"refs/heads/{self.run.branch}"]

    def steps(self) -> list[str]:
        """The subjects of the first parents of the remote's run branch, oldest first."""
        args = ("--first-parent", "--reverse", "--format=%s", f"{self.run.base}..{self.run.branch}")
        return git(self.bare, "log", *args).splitlines()

    def disconnect(self) -> Path:
        """Make the remote unreachable."""
        return self.bare.rename(self.bare.with_name("away.git"))

    def reconnect(self) -> None:
        self.bare.with_name("away.git").rename(self.bare)


def clones(folder: Path, count: int = 2, *options: str) -> Clones:
    """Clones with an open run; every clone has a remote named `origin`."""
    seed, bare = a_repository(folder), folder / "remote.git"
    git(folder, "clone", "-q", "--bare", str(seed), str(bare))
    git(bare, "config", "uploadpack.allowFilter", "true")
    base, warnings = git(seed, "rev-parse", "main"), list[str]()
    run = Run(RunId("ab12cd34"), "Make it\nbetter", str(seed), "main", base, START)
    worlds = tuple(a_clone(folder, bare, run, n, warnings, *options) for n in range(1, count + 1))
    worlds[0].workspace.branches.open_run_branch(run)
    return Clones(bare, worlds, warnings)


def a_clone(
    folder: Path, bare: Path, run: Run, n: int, warnings: list[str], *options: str
) -> World:
    home = folder / f"machine{n}"
    home.mkdir()
    git(home, "clone", "-q", *options, f"file://{bare}", "repo")
    repo, root = home / "repo", home / "worktrees"
    return World(repo, root, open_workspace(repo, root, warnings), run)


def open_workspace(repo: Path, root: Path, warnings: list[str] | None = None) -> GitWorkspace:
    """The workspace of another process on the same machine."""
    messages = [] if warnings is None else warnings
    return GitWorkspace(repo, root, remote="origin", warn=messages.append)


def land(world: World, task: Task, tries: int = 50) -> int:
    """Build and land like the engine until it succeeds; returns the number of refusals."""
    for refusals in range(tries):
        try:
            if _try_to_land(world, task):
                return refusals
        except GitFailed as error:
            # The engine retries after a lock timeout.
            if isinstance(error, RemoteUnreachable) or not error.transient:
                raise
    raise AssertionError(f"refused {tries} times")


def _try_to_land(world: World, task: Task) -> bool:
    candidate = world.workspace.landings.build_candidate(world.run, task)
    assert not candidate.conflicts
    commit = candidate.commit
    head = world.workspace.landings.land(world.run, commit, candidate.onto)
    return head == commit or world.workspace.branches.branch_contains(world.run, commit)


def complete_task(world: World, n: int, act: Callable[[Path], object]) -> Task:
    """Execute a task from preparation to removal on one machine."""
    task = run_attempt(world, world.task(n), act)
    land(world, task)
    world.workspace.worktrees.remove_worktree(task)
    return replace(task, landed_commit=task.work.head)
