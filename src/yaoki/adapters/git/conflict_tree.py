"""A merge with conflicts as a tree that an agent can resolve, and cannot resolve by doing nothing.

Text holds git's markers.  Of a file that cannot (binary, a link, deleted on one side) git leaves
one side in its place, which looks resolved; here both sides stand beside its place under names that
may not stay.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping

from yaoki.adapters.git.command import Git, GitLocation
from yaoki.adapters.git.commits import MARKERS
from yaoki.adapters.git.trees import TreeBuilder
from yaoki.core.lazy_dataclass import dataclass

OURS, THEIRS = "2", "3"
SIDES = {OURS: ".conflict-task", THEIRS: ".conflict-run-branch"}
FILE_BYTES_MAX = 1 << 20
_FILE, _SUBMODULE = "100644", "160000"


def is_conflict_side(path: str) -> bool:
    """Is it one side of a conflict that nobody resolved?"""
    return path.endswith(tuple(SIDES.values()))


@dataclass(frozen=True, slots=True)
class _Side:
    """One version of a path in conflict; `stage` is git's number for whose it is."""

    mode: str
    blob: str
    stage: str


class ConflictTrees:
    """Merges two commits for somebody who is to resolve what conflicts."""

    def __init__(self, git: Git, content: TreeBuilder) -> None:
        self._git, self._content = git, content

    def merge(self, ours: str, theirs: str) -> str:
        """The tree: `ours` is the task's work, `theirs` the run branch."""
        done = self._git.run("merge-tree", "--write-tree", "-z", ours, theirs, ok=(0, 1))
        tree, *rest = done.out.split(b"\0")
        found = tree.decode("ascii")
        paths = _stages(rest[: rest.index(b"")] if b"" in rest else rest)
        bare = {path: sides for path, sides in paths.items() if not self._has_markers(found, path)}
        if not bare:
            return found
        edits = (edit for path, sides in bare.items() for edit in self._edits(path, sides))
        with self._content.temporary_index("conflict") as index:
            at = GitLocation(self._git.common_dir, index=index)
            index.unlink(missing_ok=True)
            self._git.run("read-tree", found, at=at)
            self._git.run("update-index", "-z", "--index-info", at=at, stdin=b"".join(edits))
            return self._git.read_text("write-tree", at=at)

    def _has_markers(self, tree: str, path: str) -> bool:
        held = self._git.read_object(f"{tree}:{path}", FILE_BYTES_MAX)
        lines = held.content.split(b"\n") if held else []
        return all(any(line.startswith(mark.encode()) for line in lines) for mark in MARKERS)

    def _edits(self, path: str, sides: list[_Side]) -> Iterator[bytes]:
        """Lines for `git update-index`: the place empty, each side beside it."""
        yield _line("0", "0" * len(sides[0].blob), path)
        for side in sides:
            if side.stage not in SIDES:
                continue
            mode, blob = side.mode, side.blob
            if mode == _SUBMODULE:
                words = f"{blob}\n".encode()
                mode, blob = _FILE, self._git.read_text("hash-object", "-w", "--stdin", stdin=words)
            yield _line(mode, blob, path + SIDES[side.stage])


def _stages(rows: list[bytes]) -> Mapping[str, list[_Side]]:
    """Rows in the form of `git ls-files --unmerged`: `mode object stage\\tpath`."""
    found: dict[str, list[_Side]] = {}
    for row in rows:
        head, _, path = row.partition(b"\t")
        found.setdefault(os.fsdecode(path), []).append(_Side(*head.decode("ascii").split(" ")))
    return found


def _line(mode: str, blob: str, path: str) -> bytes:
    return f"{mode} {blob}\t".encode("ascii") + os.fsencode(path) + b"\0"
