"""The difference of two trees as values, and paths as printable text."""

from __future__ import annotations

import os
from collections.abc import Sequence
from enum import StrEnum, unique
from functools import lru_cache
from hashlib import sha256
from typing import TYPE_CHECKING

from yaoki.adapters.git.batch import OBJECT_ID, RAW_DIFF
from yaoki.core.lazy_dataclass import dataclass

if TYPE_CHECKING:
    from yaoki.adapters.git.command import Git

LINK = "120000"
GITLINK = "160000"
DIFFS_KEPT = 8


@unique
class ChangeStatus(StrEnum):
    """git's letter for the change of one path; without renames there are no others."""

    ADDED = "A"
    DELETED = "D"
    MODIFIED = "M"
    TYPE_CHANGED = "T"


@dataclass(frozen=True, slots=True)
class TreeChange:
    """A path that differs between two trees."""

    status: ChangeStatus
    path: str
    old_mode: str
    new_mode: str
    # The new file; empty when the path is deleted or is no regular file.
    blob_id: str = ""
    # The new object of any kind: a file, a link, a commit of a submodule.
    object_id: str = ""

    @property
    def is_new_gitlink(self) -> bool:
        """A repository at a path that was none before."""
        return self.new_mode == GITLINK and self.old_mode != GITLINK

    @property
    def is_moved_gitlink(self) -> bool:
        """A submodule that points at another commit now."""
        return self.new_mode == self.old_mode == GITLINK


def digest_changes(changes: Sequence[TreeChange]) -> str:
    """Identifies the changes independently of the base.

    The old content of the files is left out: other tasks may have landed there.
    """
    lines = sorted(f"{each.new_mode} {each.object_id} {each.path}" for each in changes)
    return sha256(os.fsencode("\0".join(lines))).hexdigest()


def read_raw_diff(git: Git, old: str, new: str) -> bytes:
    """git's raw diff; cached for object ids, which never change, and not for names."""
    immutable = OBJECT_ID.fullmatch(old) and OBJECT_ID.fullmatch(new)
    return _cached_diff(git, old, new) if immutable else _diff(git, old, new)


def _diff(git: Git, old: str, new: str) -> bytes:
    trees = git.read_tree_ids(old, new)
    output = _cached_tree_diff(git, *trees) if len(trees) == 2 else None
    if output is not None:
        return output
    return git.run(*RAW_DIFF, old, new, "--").out


def _diff_trees(git: Git, old: str, new: str) -> bytes | None:
    return git.batch.diff_trees(old, new)


_cached_diff = lru_cache(maxsize=DIFFS_KEPT)(_diff)
# Other commits often have the same trees: the attempt, and the same work on the run branch.
_cached_tree_diff = lru_cache(maxsize=DIFFS_KEPT)(_diff_trees)


def parse_raw_diff(out: bytes) -> tuple[TreeChange, ...]:
    """Parse git's raw format with -z: `:mode mode sha sha letter`, then the path."""
    fields = out.split(b"\0")
    pairs = zip(fields[0::2], fields[1::2], strict=False)
    return tuple(
        TreeChange(
            ChangeStatus(status),
            os.fsdecode(path),
            old[1:],
            new,
            blob if new.startswith("100") else "",
            blob,
        )
        for head, path in pairs
        if len(columns := head.decode("ascii").split()) == 5
        for old, new, _, blob, status in [columns]
    )


def printable_path(path: str) -> str:
    """A path that can be stored and shown; bytes that are not text become escapes."""
    return os.fsencode(path).decode("utf-8", "backslashreplace")
