"""Git's commits and refs as values, and the moves of refs."""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, datetime
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from yaoki.adapters.git.ref_names import OWN_PREFIXES
from yaoki.core.lazy_dataclass import dataclass
from yaoki.core.lazy_pattern import lazy_compile
from yaoki.errors import GitFailed

if TYPE_CHECKING:
    from yaoki.adapters.git.command import Git

RUN_TRAILER = lazy_compile(rb"^Yaoki-Run: ([a-z0-9-]{1,99})$", re.MULTILINE)
TASK_TRAILER = lazy_compile(rb"^Yaoki-Task: ([a-z0-9-]{1,99})$", re.MULTILINE)
MOVED = lazy_compile(r"but expected|reference already exists|unable to resolve reference")

COMMITS_KEPT = 1024

# Landings are frequent, so the batch has a process for them.
LAND_REASON = "yaoki: land"


@dataclass(frozen=True, slots=True)
class GitCommit:
    sha: str
    tree: str
    parents: tuple[str, ...]
    # From yaoki's trailers; empty for commits that yaoki did not make.
    run: str = ""
    task: str = ""


@dataclass(frozen=True, slots=True)
class Ref:
    name: str
    commit: str
    at: datetime
    subject: str


@dataclass(frozen=True, slots=True)
class RefMove:
    """A ref to move.  `old` is its required current value: empty for "does not exist", None for
    any.  An empty `new` deletes the ref.
    """

    ref: str
    new: str
    old: str | None = None

    @property
    def update_ref_commands(self) -> str:
        """Lines for `git update-ref --stdin`.

        A ref of yaoki's may have been turned into a symbolic ref to a branch of the user's.
        `no-deref` replaces the symbolic ref and leaves the user's branch alone.
        """
        option = "option no-deref\n" if self.ref.startswith(OWN_PREFIXES) else ""
        return option + self._command

    @property
    def _command(self) -> str:
        if not self.new:
            return f"delete {self.ref} {self.old or ''}".rstrip()
        if self.old == "":
            return f"create {self.ref} {self.new}"
        return f"update {self.ref} {self.new} {self.old or ''}".rstrip()


class BranchRefs(Protocol):
    """The refs of branches that yaoki moves: `Refs` in one repository, `SharedRefs` over a remote.

    Every move is one transaction.
    """

    def read_commits(self, *revisions: str) -> list[GitCommit | None]:
        """Each revision as a commit, None where it does not exist."""

    def move(self, *moves: RefMove, reason: str = "") -> bool:
        """Move all refs or none; false when one was not at its required old value."""

    def overwrite(self, move: RefMove) -> bool: ...

    def is_ancestor(self, ancestor: str, descendant: str) -> bool: ...

    def refs_containing(self, commit: str, *prefixes: str) -> list[str]: ...

    def checkouts_of(self, ref: str) -> list[Path]: ...

    def manual_command(self, *moves: RefMove, source_refs: Sequence[str] = ()) -> str:
        """The shell command by which a person makes these moves.

        `source_refs` hold the commits, for clones that lack them.
        """


def require_commit(refs: BranchRefs, revision: str, description: str) -> GitCommit:
    """Read a commit that must exist."""
    commit = refs.read_commits(revision)[0]
    if commit is None:
        hint = f"git log --all shows whether {description} is left"
        raise GitFailed(f"{description} is gone", hint=hint)
    return commit


def move_or_fail(refs: BranchRefs, *moves: RefMove, reason: str = "") -> None:
    """Move refs that only yaoki moves; a foreign move is a failure."""
    if not refs.move(*moves, reason=reason):
        raise GitFailed(f"{moves[0].ref} was moved by another process", transient=True)


def refuse_checked_out(
    refs: BranchRefs,
    ref: str,
    *,
    except_at: Path | None = None,
    error_type: type[GitFailed] = GitFailed,
) -> None:
    """Refuse to move a branch under a checkout: every file there would look changed."""
    folders = [folder for folder in refs.checkouts_of(ref) if folder != except_at]
    if folders:
        branch, folder = ref.removeprefix("refs/heads/"), shlex.quote(str(folders[0]))
        raise error_type(
            f"the branch {branch} is checked out at {folders[0]}",
            hint=f"release it there: git -C {folder} switch --detach",
        )


class Refs:
    """Reads and moves refs of one repository; every move is one git transaction."""

    def __init__(self, git: Git) -> None:
        self._git = git

    def read_commits(self, *revisions: str) -> list[GitCommit | None]:
        """Each revision as a commit, None where it does not exist."""
        found = self._git.read_commits([one for one in revisions if one])
        return [_parse_commit(*found[one]) if one in found else None for one in revisions]

    def move(self, *moves: RefMove, reason: str = "") -> bool:
        """Move all refs or none; false when one was not at its required old value.

        `reason` goes into the reflog of branches that people read; yaoki's own refs need none.
        """
        commands = [move.update_ref_commands for move in moves]
        if reason in ("", LAND_REASON) and self._git.batch.move_refs(commands, reason or "yaoki"):
            return True
        stdin = "".join(f"{command}\n" for command in commands).encode()
        try:
            self._git.run("update-ref", "-m", reason or "yaoki", "--stdin", stdin=stdin)
        except GitFailed as error:
            if MOVED.search(error.sentence):
                return False
            raise
        return True

    def delete_symbolic_ref(self, ref: str) -> None:
        """Delete a symbolic ref, for git commands that would follow it to another branch."""
        if self._is_symbolic(ref):
            self._git.run("symbolic-ref", "--delete", ref)

    def _is_symbolic(self, ref: str) -> bool:
        common = self._git.common_dir
        if (common / "reftable").is_dir():
            return self._git.succeeds("symbolic-ref", "-q", ref)
        file = common / ref
        return file.is_file() and _read_file(file).startswith(b"ref:")

    def overwrite(self, move: RefMove) -> bool:
        """Move a ref whose old value does not matter.

        A crash may leave the ref's file empty; git refuses to move such a ref, so the file goes.
        """
        if not self.move(move):
            (self._git.common_dir / move.ref).unlink(missing_ok=True)
            move_or_fail(self, move)
        return True

    def is_ancestor(self, ancestor: str, descendant: str) -> bool:
        """Usually both are equal or parent and child, which needs no process."""
        if ancestor == descendant or self._is_parent(ancestor, descendant):
            return True
        if self._is_parent(descendant, ancestor):
            return False
        return self._git.succeeds("merge-base", "--is-ancestor", ancestor, descendant)

    def _is_parent(self, parent: str, child: str) -> bool:
        commit = self.read_commits(child)[0]
        return commit is not None and parent in commit.parents

    def refs_containing(self, commit: str, *prefixes: str) -> list[str]:
        """The refs at or below these names from which the commit can be reached."""
        args = ("--format=%(refname)", f"--contains={commit}", *prefixes)
        return self._git.read_text("for-each-ref", *args).splitlines()

    def list_refs(self, *prefixes: str) -> list[Ref]:
        form = "%(refname)%00%(objectname)%00%(committerdate:unix)%00%(subject)"
        lines = self._git.read_text("for-each-ref", f"--format={form}", *prefixes).split("\n")
        rows = (line.split("\0", 3) for line in lines if line)
        return [Ref(r, c, datetime.fromtimestamp(int(at), UTC), s) for r, c, at, s in rows]

    def checkouts_of(self, ref: str) -> list[Path]:
        """The worktrees that have the branch checked out, or return to it after a rebase."""
        if not self._may_be_checked_out(ref):
            return list(self._rebase_folders(ref))
        folders = [folder for folder, lines in self._worktrees() if f"branch {ref}" in lines]
        return folders or list(self._rebase_folders(ref))

    def _worktrees(self) -> Iterator[tuple[Path, list[str]]]:
        """Each worktree with what git says about it."""
        out = os.fsdecode(self._git.run("worktree", "list", "--porcelain", "-z").out)
        for block in out.split("\0\0"):
            first, *more = block.split("\0")
            if first.startswith("worktree "):
                yield Path(first.removeprefix("worktree ")), more

    def manual_command(self, *moves: RefMove, source_refs: Sequence[str] = ()) -> str:
        """The shell command by which a person makes these moves.

        In one repository every commit is present, so `source_refs` are not needed.
        """
        branches = [move.ref for move in moves if move.ref.startswith("refs/heads/")]
        folders = dict.fromkeys(folder for ref in branches for folder in self.checkouts_of(ref))
        # git moves no branch under a checkout; `--detach` keeps changed files as they are.
        detach = [f"git -C {shlex.quote(str(folder))} switch --detach" for folder in folders]
        return " && ".join((*detach, *(_shell_command(move) for move in moves)))

    def _may_be_checked_out(self, ref: str) -> bool:
        """Read the HEAD files first: git is only started when one of them may name the branch."""
        common = self._git.common_dir
        heads = [_read_file(file) for file in (common / "HEAD", *common.glob("worktrees/*/HEAD"))]
        # With reftable, HEAD files contain a placeholder, so git has to be asked.
        return any(f"ref: {ref}".encode() == h.strip() or b"/.invalid" in h for h in heads)

    def _rebase_folders(self, ref: str) -> Iterable[Path]:
        """Git folders with an unfinished rebase of this branch: their HEAD does not name it."""
        common = self._git.common_dir
        for name in ("rebase-merge/head-name", "rebase-apply/head-name"):
            for file in (common / name, *common.glob(f"worktrees/*/{name}")):
                if _read_file(file).strip() == ref.encode():
                    yield file.parents[1]


def _read_file(file: Path) -> bytes:
    """The file's content; empty when another process has removed it since it was listed."""
    try:
        return file.read_bytes()
    except (FileNotFoundError, NotADirectoryError):
        return b""


def _shell_command(move: RefMove) -> str:
    branch = move.ref.removeprefix("refs/heads/")
    if branch == move.ref:
        return f"git update-ref {move.ref} {move.new}"
    return f"git branch -f {branch} {move.new}"


@lru_cache(maxsize=COMMITS_KEPT)
def _parse_commit(sha: str, body: bytes) -> GitCommit:
    headers = [line.split(b" ", 1) for line in body.partition(b"\n\n")[0].splitlines()]
    trees = [value.decode("ascii") for key, *rest in headers if key == b"tree" for value in rest]
    parents = [v.decode("ascii") for key, *rest in headers if key == b"parent" for v in rest]
    run, task = (_read_trailer(pattern, body) for pattern in (RUN_TRAILER, TASK_TRAILER))
    return GitCommit(sha, trees[0], tuple(parents), run, task)


def _read_trailer(pattern: re.Pattern[bytes], body: bytes) -> str:
    match = pattern.search(body)
    return match[1].decode("ascii") if match else ""
