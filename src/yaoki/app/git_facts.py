"""Facts of one git repository, bare or not, that receipts and views are compared with."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from yaoki.adapters.git.command import Git, git_environment, run_git
from yaoki.adapters.git.refs import Refs, commits_beyond, target_branch_ref
from yaoki.errors import RepositoryUnusable

if TYPE_CHECKING:
    from yaoki.core.model import Run
    from yaoki.report import BranchStep

_TRAILER = "%(trailers:key=Yaoki-{},valueonly,unfold,separator=%x2C)"
_FORM = "%x00".join(("%H", "%T", "%P", *(_TRAILER.format(key) for key in ("Run", "Task", "Undo"))))
REFS = ("refs/heads", "refs/remotes", "refs/tags")


class LocalGitFacts:
    """Implements `report.GitFacts`."""

    def __init__(self, common_dir: Path) -> None:
        self.common_dir = common_dir
        self._git = Git(common_dir)
        self._refs = Refs(self._git)

    @property
    def version(self) -> str:
        """The version of git; empty where its output is not understood."""
        found = re.search(r"\d+(?:\.\d+)+", self._git.read_text("version"))
        return found[0] if found else ""

    def trees(self, commits: Sequence[str]) -> Mapping[str, str]:
        found = self._refs.read_commits(*commits) if commits else []
        return {name: c.tree for name, c in zip(commits, found, strict=True) if c}

    def first_parents(self, base: str, head: str) -> list[BranchStep]:
        from yaoki.report import BranchStep  # the whole report, which few commands need

        args = ("--first-parent", "--reverse", f"--format={_FORM}", f"{base}..{head}", "--")
        rows = (row.split("\0") for row in self._git.read_text("log", *args).split("\n") if row)
        return [
            BranchStep(commit, tree, parents.partition(" ")[0], run, "" if undo else task, undo)
            for commit, tree, parents, run, task, undo in rows
        ]

    def order_commits(self, base: str, commits: Sequence[str]) -> list[str]:
        """The base and the commits that these add to it, each after its parents."""
        given = "".join(f"{name}\n" for name in (*commits, f"^{base}")).encode()
        args = ("rev-list", "--topo-order", "--reverse", "--stdin")
        return [base, *self._git.read_text(*args, stdin=given).split()]

    def reachable(self, base: str, head: str) -> frozenset[str]:
        return frozenset(self._git.read_text("rev-list", f"{base}..{head}", "--").split())

    def has_branch(self, branch: str) -> bool:
        return self._refs.read_commits(f"refs/heads/{branch}")[0] is not None

    def find_checkout(self, branch: str) -> Path | None:
        """The worktree that has the branch checked out: nothing else may move it."""
        return next(iter(self._refs.checkouts_of(f"refs/heads/{branch}")), None)

    def find_head_with_all(self, branch: str, commits: Sequence[str], base: str) -> str:
        """The head of the branch when it holds all of the commits and they add to the base."""
        head = self._refs.read_commits(f"refs/heads/{branch}")[0]
        more = bool(commits) and self.has_commits_beyond(commits, base)
        return head.sha if head and more and not self.has_commits_beyond(commits, head.sha) else ""

    def has_commits_beyond(self, commits: Sequence[str], head: str) -> bool:
        """Do these commits hold anything that the head does not?"""
        given = "".join(f"{name}\n" for name in (*commits, f"^{head}")).encode()
        return bool(self._git.run("rev-list", "-n", "1", "--stdin", stdin=given).out.strip())

    def missing_commits(self, run: Run, commits: Sequence[str]) -> tuple[str, ...]:
        """Which of the commits the run branch does not hold; a deleted branch holds none."""
        head = self._refs.read_commits(target_branch_ref(run))[0]
        return commits_beyond(self._git, commits, head.sha) if head else tuple(commits)

    def refs_containing(self, commit: str, ref: str) -> list[str]:
        if not ref:
            return self._refs.refs_containing(commit, *REFS)
        found = self._refs.read_commits(ref)[0] if ref.isprintable() else None
        return [ref] if found and self._refs.is_ancestor(commit, found.sha) else []


def open_git_facts(where: Path) -> LocalGitFacts:
    """For the repository around `where`, which may be bare."""
    args = ["rev-parse", "--path-format=absolute", "--git-common-dir"]
    done = run_git(args, cwd=where, env=git_environment()) if where.is_dir() else None
    if done is None or done.code != 0:
        raise RepositoryUnusable(
            f"{where} is not in a git repository", hint="yaoki verify --repo DIR"
        )
    return LocalGitFacts(Path(done.out.decode("utf-8", "surrogateescape").strip()).resolve())
