"""Reads the user's working tree: the files that differ from the last commit, and their times."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from yaoki.adapters.git.command import explain_failure, git_environment, run_git
from yaoki.adapters.git.repository import GitRepository

NAMED_MAX = 3
DIFF_BYTES_MAX = 200_000
# The number of fields before the path, by kind of line.
FIELDS: Mapping[str, int] = {"1": 8, "2": 9, "u": 10, "?": 1}


@dataclass(frozen=True, slots=True)
class WorkingTree:
    """`files` are those that differ from `head`; `stamps` the size and time of the tracked ones.

    Untracked files may come and go: checks leave reports and caches behind.
    """

    top: Path
    head: str
    pushed: bool
    changed_files: tuple[str, ...]
    stamps: Mapping[str, tuple[int, int]]

    def diff(self) -> str:
        args = ["diff", "--no-ext-diff", "--no-textconv", "HEAD"]
        done = run_git(args, cwd=self.top, env=git_environment())
        return done.out[:DIFF_BYTES_MAX].decode("utf-8", "replace")


def read_working_tree(repository: GitRepository) -> WorkingTree:
    """Read-only: git takes no lock and does not refresh its index."""
    args = ["status", "--porcelain=v2", "--branch", "-z", "--untracked-files=normal"]
    done = run_git(args, cwd=repository.top, env=git_environment())
    if done.code != 0:
        raise explain_failure(args, done)
    lines = done.out.decode("utf-8", "surrogateescape").split("\0")
    facts = dict(line[2:].partition(" ")[::2] for line in lines if line.startswith("# "))
    paths = dict(_paths(lines))
    stamps = {path: _stamp(repository.top / path) for path, kind in paths.items() if kind != "?"}
    pushed = facts.get("branch.ab", "").startswith("+0 ")
    return WorkingTree(repository.top, facts.get("branch.oid", ""), pushed, tuple(paths), stamps)


def _paths(lines: list[str]) -> Iterator[tuple[str, str]]:
    """Each path with the kind of its status line."""
    left = iter(lines)
    for line in left:
        kind, _, rest = line.partition(" ")
        if kind in FIELDS:
            yield rest.split(" ", FIELDS[kind] - 1)[-1], kind
        if kind == "2":
            next(left, None)  # the path before a rename


def _stamp(path: Path) -> tuple[int, int]:
    try:
        seen = path.lstat()
    except OSError:
        return (-1, -1)
    return (seen.st_size, seen.st_mtime_ns)


def describe_differences(before: WorkingTree, after: WorkingTree) -> str:
    """The tracked files that changed, in words; empty when none did."""
    paths = {*before.stamps, *after.stamps}
    found = sorted(p for p in paths if before.stamps.get(p) != after.stamps.get(p))
    if not found and before.head != after.head:
        return "another commit is checked out"
    more = f" and {len(found) - NAMED_MAX} more" if len(found) > NAMED_MAX else ""
    return ", ".join(found[:NAMED_MAX]) + more
