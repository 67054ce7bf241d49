"""Facts about one repository, bare or not, that receipts and views are compared with."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from yaoki.adapters.git.command import Git, GitLocation, git_environment, run_git
from yaoki.adapters.git.reachability import commits_not_reachable, has_commits_beyond
from yaoki.adapters.git.ref_names import target_branch_ref
from yaoki.adapters.git.refs import Refs
from yaoki.errors import RepositoryUnusable

if TYPE_CHECKING:
    from yaoki.adapters.git.checkout_update import CheckoutObstacle
    from yaoki.adapters.git.repository import GitRepository
    from yaoki.core.model import Run
    from yaoki.ports import BranchStep

USER_REFS = ("refs/heads", "refs/remotes", "refs/tags")


class LocalGitFacts:
    """`report.GitFacts` over the git command."""

    def __init__(self, common_dir: Path, checkout: GitRepository | None = None) -> None:
        """`checkout`: the user's own, which git then need not look for."""
        self.common_dir = common_dir
        self._checkout = checkout
        self._git = Git(common_dir)
        self._refs = Refs(self._git)

    @property
    def version(self) -> str:
        """The version of git; empty when its answer has another form."""
        match = re.search(r"\d+(?:\.\d+)+", self._git.read_text("version"))
        return match[0] if match else ""

    def trees(self, commits: Sequence[str]) -> Mapping[str, str]:
        commits_read = self._refs.read_commits(*commits) if commits else []
        return {name: c.tree for name, c in zip(commits, commits_read, strict=True) if c}

    def first_parents(self, base: str, head: str) -> Sequence[BranchStep]:
        from yaoki.adapters.git.history import read_first_parents

        return read_first_parents(self._git, base, head)

    def order_commits(self, base: str, commits: Sequence[str]) -> list[str]:
        """The base and all commits that these add to it, each after its parents."""
        stdin = "".join(f"{name}\n" for name in (*commits, f"^{base}")).encode()
        args = ("rev-list", "--topo-order", "--reverse", "--stdin")
        return [base, *self._git.read_text(*args, stdin=stdin).split()]

    def reachable(self, base: str, head: str) -> frozenset[str]:
        return frozenset(self._git.read_text("rev-list", f"{base}..{head}", "--").split())

    def has_branch(self, branch: str) -> bool:
        return self._refs.read_commits(f"refs/heads/{branch}")[0] is not None

    def find_obstructed_checkout(self, branch: str) -> tuple[Path, CheckoutObstacle] | None:
        """The folder where the branch is checked out, and why `yaoki merge` would not move it."""
        from yaoki.adapters.git.checkout_update import CheckoutUpdate

        ref = f"refs/heads/{branch}"
        own, update = self._checkout, CheckoutUpdate(self._git)
        if own is not None and _is_at(own, ref):
            obstacle = update.find_obstacle(own.top, ref, GitLocation(own.git_dir, own.top))
            return (own.top, obstacle) if obstacle else None
        for folder in self._refs.checkouts_of(ref)[:1]:
            obstacle = update.find_obstacle(folder, ref)
            return (folder, obstacle) if obstacle else None
        return None

    def find_head_with_all(self, branch: str, commits: Sequence[str], base: str) -> str:
        """The branch's head if it contains all these commits and they add to the base; or empty."""
        head = self._refs.read_commits(f"refs/heads/{branch}")[0]
        # A branch that is still at the base contains nothing that was added to it.
        if head is None or not commits or head.sha == base:
            return ""
        if not self.has_commits_beyond(commits, base):
            return ""
        return "" if self.has_commits_beyond(commits, head.sha) else head.sha

    def has_commits_beyond(self, commits: Sequence[str], head: str) -> bool:
        """True when these commits hold anything that the head does not."""
        return has_commits_beyond(self._git, commits, head)

    def missing_commits(self, run: Run, commits: Sequence[str]) -> tuple[str, ...]:
        """The given commits that the run branch does not contain: all if it is deleted."""
        head = self._refs.read_commits(target_branch_ref(run))[0]
        return commits_not_reachable(self._git, commits, head.sha) if head else tuple(commits)

    def find_tasks_to_revert(self, run: Run, branch: str) -> list[str]:
        """The tasks whose landings the run branch reverts and the given branch still contains."""
        there, head = self._refs.read_commits(f"refs/heads/{branch}", target_branch_ref(run))
        return self._find_undone(run, there.sha, head.sha) if there and head else []

    def find_tasks_undone_since(self, run: Run, commit: str) -> list[str]:
        """The tasks whose landings the run branch reverts and the commit still contains."""
        head = self._refs.read_commits(target_branch_ref(run))[0]
        return self._find_undone(run, commit, head.sha) if head else []

    def _find_undone(self, run: Run, commit: str, head: str) -> list[str]:
        from yaoki.adapters.git.history import read_undone_landings

        # A commit that is still the base contains no landing.
        if commit in {run.base, head}:
            return []
        undone = read_undone_landings(self._git, commit, head)
        missing = commits_not_reachable(self._git, [*undone], commit) if undone else ()
        return [task for landed, task in undone.items() if landed not in missing]

    def refs_containing(self, commit: str, ref: str) -> list[str]:
        if not ref:
            return self._refs.refs_containing(commit, *USER_REFS)
        head = self._refs.read_commits(ref)[0] if ref.isprintable() else None
        return [ref] if head and self._refs.is_ancestor(commit, head.sha) else []


def _is_at(checkout: GitRepository, ref: str) -> bool:
    try:
        return (checkout.git_dir / "HEAD").read_bytes().strip() == f"ref: {ref}".encode()
    except OSError:
        return False


def open_git_facts(folder: Path) -> LocalGitFacts:
    """The facts of the repository around `folder`.

    A bare repository must be `folder` itself: git finds none by searching, because a tracked
    folder can be a bare repository with settings of its own.
    """
    args = ["rev-parse", "--path-format=absolute", "--git-common-dir"]
    for explicit in ({}, {"GIT_DIR": str(folder)}):
        env = git_environment() | explicit
        result = run_git(args, cwd=folder, env=env) if folder.is_dir() else None
        if result is not None and result.code == 0:
            common_dir = result.out.decode("utf-8", "surrogateescape").strip()
            return LocalGitFacts(Path(common_dir).resolve())
    raise RepositoryUnusable(f"{folder} is not in a git repository", hint="yaoki verify --repo DIR")
