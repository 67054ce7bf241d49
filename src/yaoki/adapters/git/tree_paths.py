"""The paths of a commit with their modes and objects."""

from __future__ import annotations

import os
import threading
from collections import OrderedDict

from yaoki.adapters.git.batch import OBJECT_ID
from yaoki.adapters.git.command import Git
from yaoki.adapters.git.tree_diff import parse_raw_diff, read_raw_diff

LISTINGS_KEPT = 4
DELETED_MODE = "000000"


class TreePaths:
    """Lists commits of one repository.

    Commits of a run differ in few files, so most listings are made from another one and the
    difference, without a process and without reading the whole tree.
    """

    def __init__(self, git: Git) -> None:
        self._git = git
        self._lock = threading.Lock()
        self._kept: OrderedDict[str, dict[str, str]] = OrderedDict()

    def list_paths(self, commit: str) -> dict[str, str]:
        """`mode object` of every tracked path, submodules and links included."""
        if not OBJECT_ID.fullmatch(commit):
            return self._read(commit)  # a name may move, so nothing is kept for it
        with self._lock:
            found = self._kept.get(commit)
            newest = next(reversed(self._kept.items()), None)
        if found is None:
            found = self._derive(*newest, commit) if newest else self._read(commit)
        with self._lock:
            self._kept[commit] = found
            self._kept.move_to_end(commit)
            while len(self._kept) > LISTINGS_KEPT:
                self._kept.popitem(last=False)
        return found

    def _derive(self, other: str, listing: dict[str, str], commit: str) -> dict[str, str]:
        paths = dict(listing)
        for change in parse_raw_diff(read_raw_diff(self._git, other, commit)):
            if change.new_mode == DELETED_MODE:
                paths.pop(change.path, None)
            else:
                paths[change.path] = f"{change.new_mode} {change.object_id}"
        return paths

    def _read(self, commit: str) -> dict[str, str]:
        """From `git ls-tree`, whose lines are `mode type object\\tpath`."""
        paths = {}
        for line in self._git.run("ls-tree", "-r", "-z", "--full-tree", commit).out.split(b"\0"):
            head, _, path = line.partition(b"\t")
            if path:
                mode, _, sha = head.decode("ascii").split(" ")
                paths[os.fsdecode(path)] = f"{mode} {sha}"
        return paths
