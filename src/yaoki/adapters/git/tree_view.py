"""One commit as a `TreeView`: its tracked files from the object store, without a worktree."""

from __future__ import annotations

import os
from functools import lru_cache

from yaoki.adapters.git.command import Git
from yaoki.core.model.check_definition import TreeView

FILE_BYTES_MAX = 1 << 20
_LINK, _SUBMODULE = "120000", "160000"


def read_tree_view(git: Git, commit: str) -> TreeView:
    ids = _ids(git, commit)

    @lru_cache(maxsize=2_000)
    def read(path: str) -> str | None:
        mode, _, sha = ids.get(path, "").partition(" ")
        if not sha or mode in (_LINK, _SUBMODULE):
            return None
        found = git.read_object(sha, FILE_BYTES_MAX)
        whole = found is not None and found.size == len(found.content)
        if found is None or not whole or b"\0" in found.content:
            return None
        return found.content.decode("utf-8", "replace")

    return TreeView(frozenset(ids), read, ids)


# What one task lands is what the next one builds on.
@lru_cache(maxsize=4)
def _ids(git: Git, commit: str) -> dict[str, str]:
    """`mode hash` of every tracked path, in the form of `git ls-tree`: `mode type hash\\tpath`."""
    found = {}
    for line in git.run("ls-tree", "-r", "-z", "--full-tree", commit).out.split(b"\0"):
        head, _, path = line.partition(b"\t")
        if path:
            mode, _, sha = head.decode("ascii").split(" ")
            found[os.fsdecode(path)] = f"{mode} {sha}"
    return found
