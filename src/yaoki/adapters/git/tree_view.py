"""A commit as a `TreeView`: its tracked files from the object store, without a worktree."""

from __future__ import annotations

import os
from functools import lru_cache

from yaoki.adapters.git.command import Git
from yaoki.core.model.check_definition import TreeView

FILE_BYTES_MAX = 1 << 20
_LINK, _SUBMODULE = "120000", "160000"


def read_tree_view(git: Git, commit: str) -> TreeView:
    ids = _list_ids(git, commit)

    @lru_cache(maxsize=2_000)
    def read(path: str) -> str | None:
        mode, _, sha = ids.get(path, "").partition(" ")
        if not sha or mode in (_LINK, _SUBMODULE):
            return None
        blob = git.read_object(sha, FILE_BYTES_MAX)
        if blob is None or blob.size != len(blob.content) or b"\0" in blob.content:
            return None
        return blob.content.decode("utf-8", "replace")

    return TreeView(frozenset(ids), read, ids)


# Cached: the commit that one task lands is the base of the next.
@lru_cache(maxsize=4)
def _list_ids(git: Git, commit: str) -> dict[str, str]:
    """`mode hash` of every tracked path, in the form of `git ls-tree`: `mode type hash\\tpath`."""
    ids = {}
    for line in git.run("ls-tree", "-r", "-z", "--full-tree", commit).out.split(b"\0"):
        head, _, path = line.partition(b"\t")
        if path:
            mode, _, sha = head.decode("ascii").split(" ")
            ids[os.fsdecode(path)] = f"{mode} {sha}"
    return ids
