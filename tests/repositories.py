"""Real repositories for tests: a user's checkout, a run on it, and the stages of a task."""

from __future__ import annotations

import hashlib
import os
import subprocess
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path

from yaoki.adapters.workspace import GitWorkspace
from yaoki.core.model import Failure, FailureKind, Run, RunId, Task, TaskId, TaskSpec, Work

START = datetime(2026, 1, 1, tzinfo=UTC)
USER = {
    "GIT_AUTHOR_NAME": "Una",
    "GIT_AUTHOR_EMAIL": "una@example.org",
    "GIT_COMMITTER_NAME": "Una",
    "GIT_COMMITTER_EMAIL": "una@example.org",
    "GIT_CONFIG_GLOBAL": "/dev/null",
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_OPTIONAL_LOCKS": "0",
}
# Where yaoki may write below `.git`; everything else is the user's.
OWN_PATHS = ("objects", "worktrees", "refs/yaoki", "refs/heads/yaoki", "logs/refs/heads/yaoki")


def git(folder: Path, *args: str, code: int = 0) -> str:
    """Run git as a person or an agent would in a shell."""
    env = {key: value for key, value in os.environ.items() if not key.startswith("GIT_")} | USER
    done = subprocess.run(
        ["git", *args],
        cwd=folder,
        env=env,
        capture_output=True,
        check=False,
        stdin=subprocess.DEVNULL,
    )
    assert done.returncode == code, f"git {args}: {os.fsdecode(done.stderr)}"
    return os.fsdecode(done.stdout).strip("\n")


def approve(*_: object) -> None:
    """Approve every merge and undo: their verification belongs to the engine."""


def write(folder: Path, **files: str) -> None:
    """`write(folder, a__py="x")` writes `a.py`."""
    for name, text in files.items():
        path = folder / name.replace("__", ".")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")


def commit(folder: Path, message: str = "change") -> str:
    git(folder, "add", "-A")
    git(folder, "commit", "-q", "-m", message)
    return git(folder, "rev-parse", "HEAD")


def a_repository(folder: Path) -> Path:
    """Six tracked files on `main`."""
    git(folder, "init", "-q", "-b", "main", "repo")
    repo = folder / "repo"
    write(repo, README="hello\n", a__txt="a1\na2\na3\n", b__txt="b\n", __gitignore="*.log\n.env\n")
    write(repo / "src", one__py="one = 1\n", two__py="two = 2\n")
    commit(repo, "first")
    return repo


@dataclass(frozen=True, slots=True)
class World:
    repo: Path
    root: Path
    workspace: GitWorkspace
    run: Run

    def task(self, n: int = 1, **fields: object) -> Task:
        spec = TaskSpec(f"task{n}", f"Do {n}.\nMore words.")
        return replace(Task(TaskId(f"{self.run.id}-{n}"), self.run.id, n, spec), **fields)  # type: ignore[arg-type]

    def show(self, revision: str, path: str) -> str:
        return git(self.repo, "show", f"{revision}:{path}")

    def files(self, revision: str) -> set[str]:
        names = git(self.repo, "ls-tree", "-r", "-z", "--name-only", revision)
        return {name for name in names.split("\0") if name}

    def refs(self) -> dict[str, str]:
        lines = git(self.repo, "for-each-ref", "--format=%(refname) %(objectname)").splitlines()
        return dict(line.split(" ") for line in lines)


def a_world(folder: Path, repo: Path | None = None) -> World:
    checkout = repo or a_repository(folder)
    base = git(checkout, "rev-parse", "main")
    run = Run(RunId("ab12cd34"), "Make it\nbetter", str(checkout), "main", base, START)
    root = folder / "state" / "worktrees"
    world = World(checkout, root, GitWorkspace(checkout, root), run)
    world.workspace.branches.open_run_branch(run)
    return world


def start_attempt(world: World, task: Task) -> Task:
    """Prepare a worktree; returns the task in its new attempt."""
    prepared = world.workspace.worktrees.prepare(world.run, task, task.attempt + 1)
    work = Work(base=prepared.base, worktree=str(prepared.worktree))
    return replace(
        task, attempt=task.attempt + 1, work=work, needs_fresh_worktree=False, feedback=None
    )


def run_attempt(world: World, task: Task, act: Callable[[Path], object]) -> Task:
    """Start an attempt, let `act` be the agent, and commit the attempt."""
    begun = start_attempt(world, task)
    act(Path(begun.work.worktree))
    attempt = world.workspace.worktrees.commit_attempt(world.run, begun)
    return replace(begun, work=replace(begun.work, head=attempt.head, tree=attempt.tree))


def land_task(world: World, task: Task, act: Callable[[Path], object]) -> Task:
    """Run an attempt and land it on the run branch."""
    done = run_attempt(world, task, act)
    candidate = world.workspace.landings.build_candidate(world.run, done)
    assert not candidate.conflicts
    assert (
        world.workspace.landings.land(world.run, candidate.commit, candidate.onto)
        == candidate.commit
    )
    return replace(done, landed_commit=candidate.commit)


def with_conflict(task: Task) -> Task:
    return replace(task, feedback=Failure(FailureKind.CONFLICT, "does not merge"))


def user_state(repo: Path) -> dict[str, object]:
    """All of the user's state, to the byte: files, index, HEAD, refs, reflogs, config, hooks."""
    return {
        str(path.relative_to(repo)): _facts(path)
        for path in sorted(repo.rglob("*"))
        if not _is_own(path.relative_to(repo))
    }


def _is_own(path: Path) -> bool:
    inside = path.relative_to(".git") if path.parts[0] == ".git" else None
    return inside is not None and any(inside.is_relative_to(own) for own in OWN_PATHS)


def _facts(path: Path) -> object:
    if path.is_symlink():
        return ("link", str(path.readlink()))
    if path.is_dir():
        return "folder"
    facts = path.stat()
    return (facts.st_mode, facts.st_mtime_ns, hashlib.sha256(path.read_bytes()).hexdigest())
