"""What git says in one repository, bare or not: all that a receipt is held against."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from yaoki.adapters.git.command import Git, environment, invoke
from yaoki.adapters.git.refs import Refs
from yaoki.errors import RepositoryUnfit

if TYPE_CHECKING:
    from yaoki.report import Step

_TRAILER = "%(trailers:key=Yaoki-{},valueonly,unfold,separator=%x2C)"
_FORM = "%x00".join(("%H", "%T", "%P", *(_TRAILER.format(key) for key in ("Run", "Task", "Undo"))))
REFS = ("refs/heads", "refs/remotes", "refs/tags")


class GitHere:
    """Fills `views.report.GitFacts`."""

    def __init__(self, common_dir: Path) -> None:
        self.common_dir = common_dir
        self._git = Git(common_dir)
        self._refs = Refs(self._git)

    @property
    def version(self) -> str:
        """Of the git that is asked here; empty where it says something else."""
        found = re.search(r"\d+(?:\.\d+)+", self._git.text("version"))
        return found[0] if found else ""

    def trees(self, commits: Sequence[str]) -> Mapping[str, str]:
        found = self._refs.commits(*commits) if commits else []
        return {name: c.tree for name, c in zip(commits, found, strict=True) if c}

    def line(self, base: str, head: str) -> list[Step]:
        from yaoki.report import Step  # the whole report, which few commands need

        args = ("--first-parent", "--reverse", f"--format={_FORM}", f"{base}..{head}", "--")
        rows = (row.split("\0") for row in self._git.text("log", *args).split("\n") if row)
        return [
            Step(commit, tree, parents.partition(" ")[0], run, "" if undo else task, undo)
            for commit, tree, parents, run, task, undo in rows
        ]

    def in_order(self, base: str, commits: Sequence[str]) -> list[str]:
        """The base and all that these commits add to it, each after its parents."""
        given = "".join(f"{name}\n" for name in (*commits, f"^{base}")).encode()
        args = ("rev-list", "--topo-order", "--reverse", "--stdin")
        return [base, *self._git.text(*args, given=given).split()]

    def reachable(self, base: str, head: str) -> frozenset[str]:
        return frozenset(self._git.text("rev-list", f"{base}..{head}", "--").split())

    def has(self, branch: str) -> bool:
        return self._refs.commits(f"refs/heads/{branch}")[0] is not None

    def checked_out(self, branch: str) -> Path | None:
        """Where somebody works on the branch: nobody else may move it."""
        return next(iter(self._refs.checked_out(f"refs/heads/{branch}")), None)

    def taken(self, branch: str, commits: Sequence[str], base: str) -> str:
        """The head of the branch when it holds all of these and they are more than the base."""
        head = self._refs.commits(f"refs/heads/{branch}")[0]
        more = bool(commits) and self.beyond(commits, base)
        return head.sha if head and more and not self.beyond(commits, head.sha) else ""

    def beyond(self, commits: Sequence[str], head: str) -> bool:
        """Do these commits hold anything that the head does not?"""
        given = "".join(f"{name}\n" for name in (*commits, f"^{head}")).encode()
        return bool(self._git.run("rev-list", "-n", "1", "--stdin", given=given).out.strip())

    def holding(self, commit: str, ref: str) -> list[str]:
        if not ref:
            return self._refs.holding(commit, *REFS)
        found = self._refs.commits(ref)[0] if ref.isprintable() else None
        return [ref] if found and self._refs.contains(commit, found.sha) else []


def facts_of(where: Path) -> GitHere:
    """Of the repository around `where`; a bare one serves as well."""
    args = ["rev-parse", "--path-format=absolute", "--git-common-dir"]
    done = invoke(args, cwd=where, env=environment()) if where.is_dir() else None
    if done is None or done.code != 0:
        raise RepositoryUnfit(f"{where} is not in a git repository", hint="yaoki verify --repo DIR")
    return GitHere(Path(done.out.decode("utf-8", "surrogateescape").strip()).resolve())
