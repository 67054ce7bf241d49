"""A merge with conflicts as a tree that an agent has to resolve, and cannot by doing nothing.

Text files contain git's markers.  For other conflicts (binary, a link, deleted on one side) git
keeps one side, which looks resolved; here both sides are put next to the path, under names that
must not land.
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
    """True for one side of an unresolved conflict."""
    return path.endswith(tuple(SIDES.values()))


@dataclass(frozen=True, slots=True)
class _Side:
    """A version of a path in conflict; `stage` is git's number of the side."""

    mode: str
    blob: str
    stage: str


class ConflictTrees:
    """Merges two commits, conflicts included."""

    def __init__(self, git: Git, trees: TreeBuilder) -> None:
        self._git, self._trees = git, trees

    def merge(self, ours: str, theirs: str) -> str:
        """The merged tree; `ours` is the task's work, `theirs` the run branch."""
        result = self._git.run("merge-tree", "--write-tree", "-z", ours, theirs, ok=(0, 1))
        first, *rest = result.out.split(b"\0")
        tree = first.decode("ascii")
        paths = _parse_sides(rest[: rest.index(b"")] if b"" in rest else rest)
        unmarked = {p: sides for p, sides in paths.items() if not self._has_markers(tree, p)}
        if not unmarked:
            return tree
        edits = (edit for path, sides in unmarked.items() for edit in self._edits(path, sides))
        with self._trees.temporary_index("conflict") as index:
            at = GitLocation(self._git.common_dir, index=index)
            index.unlink(missing_ok=True)
            self._git.run("read-tree", tree, at=at)
            self._git.run("update-index", "-z", "--index-info", at=at, stdin=b"".join(edits))
            return self._git.read_text("write-tree", at=at)

    def _has_markers(self, tree: str, path: str) -> bool:
        blob = self._git.read_object(f"{tree}:{path}", FILE_BYTES_MAX)
        lines = blob.content.split(b"\n") if blob else []
        return all(any(line.startswith(mark.encode()) for line in lines) for mark in MARKERS)

    def _edits(self, path: str, sides: list[_Side]) -> Iterator[bytes]:
        """Lines for `git update-index`: remove the path, add each side next to it."""
        yield _line("0", "0" * len(sides[0].blob), path)
        for side in sides:
            if side.stage not in SIDES:
                continue
            mode, blob = side.mode, side.blob
            if mode == _SUBMODULE:
                text = f"{blob}\n".encode()
                mode, blob = _FILE, self._git.read_text("hash-object", "-w", "--stdin", stdin=text)
            yield _line(mode, blob, path + SIDES[side.stage])


def _parse_sides(rows: list[bytes]) -> Mapping[str, list[_Side]]:
    """Parse rows in the form of `git ls-files --unmerged`: `mode object stage\\tpath`."""
    sides: dict[str, list[_Side]] = {}
    for row in rows:
        head, _, path = row.partition(b"\t")
        sides.setdefault(os.fsdecode(path), []).append(_Side(*head.decode("ascii").split(" ")))
    return sides


def _line(mode: str, blob: str, path: str) -> bytes:
    return f"{mode} {blob}\t".encode("ascii") + os.fsencode(path) + b"\0"
