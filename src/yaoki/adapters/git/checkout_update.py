"""Moves a branch together with the checkout that has it, as `git merge --ff-only` does.

Only a clean checkout: a person's uncommitted work is never mixed with that of a run.
"""

from __future__ import annotations

import re
from pathlib import Path

from yaoki.adapters.git.command import Git, GitLocation, git_environment, run_git
from yaoki.core.lazy_dataclass import dataclass
from yaoki.core.text import format_count, list_some

# In git's folder of a checkout while an operation of a person is not finished.
UNFINISHED = (
    *("MERGE_HEAD", "CHERRY_PICK_HEAD", "REVERT_HEAD", "BISECT_LOG", "sequencer"),
    *("rebase-merge", "rebase-apply"),
)
NAMES_SHOWN = 5


@dataclass(frozen=True, slots=True)
class CheckoutObstacle:
    """The reason why a checkout must stay as it is, and what a person can do about it."""

    words: str
    remedy: str


UNFINISHED_OPERATION = CheckoutObstacle("an operation of git is not finished there", "finish it")


class CheckoutUpdate:
    """Fast-forwards one checkout at a time, given its folder."""

    def __init__(self, git: Git) -> None:
        self._git = git

    def find_obstacle(
        self, folder: Path, ref: str, known: GitLocation | None = None
    ) -> CheckoutObstacle | None:
        """The reason why the checkout must stay as it is; None if it may be moved.

        `known`: the git folder of the checkout, if git need not be asked for it.
        """
        at = known or _location(folder)
        if at is None or any((at.git_dir / name).exists() for name in UNFINISHED):
            return UNFINISHED_OPERATION
        if self._is_sparse(at):
            return CheckoutObstacle("it is a sparse checkout", "switch it to another branch")
        facts = ("--branch", "--no-ahead-behind", "--untracked-files=no", "--no-renames")
        head, *rows = self._git.read_names("status", "--porcelain", "-z", *facts, at=at)
        if not _is_on(head, ref):
            return UNFINISHED_OPERATION
        changed = [row[3:] for row in rows]
        if not changed:
            return None
        files = format_count(len(changed), "uncommitted file")
        words = f"it has {files}: {list_some(changed, NAMES_SHOWN)}"
        return CheckoutObstacle(words, f"commit or stash {'them' if len(changed) > 1 else 'it'}")

    def fast_forward(self, folder: Path, commit: str) -> CheckoutObstacle | None:
        """Move branch, index and files to the commit; git's reason if it refuses, and then nothing
        has changed.
        """
        at = _location(folder)
        if at is None:
            return CheckoutObstacle("that folder is gone", "git worktree prune")
        result = self._git.run("merge", "--ff-only", "-q", commit, at=at, ok=(0, 1, 2, 128))
        error = result.err.decode("utf-8", "replace").strip()
        names = re.findall(r"^\t(.+)$", error, re.MULTILINE)
        if result.code and names:
            words = f"untracked files would be overwritten: {list_some(names, NAMES_SHOWN)}"
            return CheckoutObstacle(words, "move them away")
        words = error or f"git merge ended with {result.code}"
        return CheckoutObstacle(words, "resolve that") if result.code else None

    def _is_sparse(self, at: GitLocation) -> bool:
        """Does the user's setting leave files out?  yaoki's own setting for this call does not
        count.
        """
        if not (at.git_dir / "info" / "sparse-checkout").exists():
            # git leaves no file out without this list, and most checkouts have none.
            return False
        words = ("config", "--type=bool", "--show-scope", "--get-all", "core.sparseCheckout")
        found = self._git.run(*words, at=at, ok=(0, 1)).out.decode("utf-8", "replace")
        settings = [line.split("\t") for line in found.splitlines()]
        given = [value for scope, value in settings if scope != "command"]
        return given[-1:] == ["true"]


def _is_on(head: str, ref: str) -> bool:
    """True if git's line about the branch of a checkout names this one: `## main...origin/main`."""
    branch = ref.removeprefix("refs/heads/")
    return head == f"## {branch}" or head.startswith(f"## {branch}...")


def _location(folder: Path) -> GitLocation | None:
    """The git folder of a checkout of the user; None for a folder that is none."""
    args = ["rev-parse", "--path-format=absolute", "--absolute-git-dir", "--show-toplevel"]
    result = run_git(args, cwd=folder, env=git_environment()) if folder.is_dir() else None
    lines = result.out.decode("utf-8", "surrogateescape").splitlines() if result else []
    return GitLocation(Path(lines[0]), Path(lines[1])) if len(lines) == 2 else None
