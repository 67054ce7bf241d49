"""Refs and objects of a submodule in an agent's worktree, read without obeying its settings.

The agent owns the submodule's git folder, and a setting there can name a program that git starts.
So its refs are read as files, and its objects are lent to a git that works with the settings of the
user's own repository.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path

from yaoki.adapters.git.command import Git
from yaoki.adapters.system.files import read_plain_bytes
from yaoki.adapters.system.folders import iter_paths_below

REFS_MAX = 2_000
FILE_BYTES_MAX = 4 << 20
_FULL = re.compile(r"[0-9a-f]{40}(?:[0-9a-f]{24})?")


class SubmoduleObjects:
    """Asked about one checked-out submodule at a time, by the folder of its files."""

    def __init__(self, git: Git) -> None:
        self._git = git

    def has_git_folder(self, folder: Path) -> bool:
        return find_git_folder(folder) is not None

    def is_published(self, folder: Path, commit: str) -> bool:
        """Does a remote of the submodule have the commit, as far as the submodule knows?"""
        place = find_git_folder(folder)
        if place is None:
            return False
        known = tuple(dict.fromkeys(_remote_commits(place)))[:REFS_MAX]
        if commit in known:
            return True
        given = "".join(f"{one}\n" for one in known).encode()
        # Each that we have: one that is missing must not make the answer fail.
        there = self._git.run_with_objects(
            place / "objects", "cat-file", "--batch-check", stdin=given
        ).out
        heads = [row.split()[0] for row in there.decode("ascii").splitlines() if " commit " in row]
        if not heads:
            return False
        asked = ("rev-list", "-n", "1", commit, "--not", *heads[:REFS_MAX])
        done = self._git.run_with_objects(place / "objects", *asked, ok=(0, 128))
        return done.code == 0 and not done.out.strip()

    def import_commit(self, folder: Path, commit: str) -> bool:
        """Have the commit among our objects with its whole history: a shallow submodule cannot
        give that, and a ref on half of it would break our repository.
        """
        place = find_git_folder(folder)
        if place is None:
            return False
        objects = place / "objects"
        asked = ("rev-list", "--objects", commit, "--not", "--all")
        listed = self._git.run_with_objects(objects, *asked, ok=(0, 128))
        if listed.code:
            return False
        pack = self._git.run_with_objects(
            objects, "pack-objects", "--stdout", "-q", stdin=listed.out
        )
        stored = self._git.run("unpack-objects", "-q", stdin=pack.out, ok=(0, 1, 128))
        whole = ("rev-list", "--objects", "--quiet", *asked[2:])
        return stored.code == 0 and self._git.run(*whole, ok=(0, 128)).code == 0


def find_git_folder(folder: Path) -> Path | None:
    """The git folder of the files in `folder`: `.git` itself, or where that file leads."""
    inside = folder / ".git"
    if inside.is_symlink():
        return None
    if inside.is_dir():
        return inside
    said = (read_plain_bytes(inside, 4096) or b"").decode("utf-8", "surrogateescape")
    if not said.startswith("gitdir: "):
        return None
    place = Path(os.path.normpath(folder / said.removeprefix("gitdir: ").strip()))
    return place if place.is_dir() else None


def _remote_commits(place: Path) -> Iterator[str]:
    """Commits that refs of remotes name, loose ones first."""
    names = sorted(iter_paths_below(place / "refs" / "remotes"))[:REFS_MAX]
    texts = [read_plain_bytes(name, 100) or b"" for name in names]
    packed = read_plain_bytes(place / "packed-refs", FILE_BYTES_MAX) or b""
    texts += [row.split()[0] for row in packed.splitlines() if b" refs/remotes/" in row]
    for text in texts:
        if _FULL.fullmatch(word := text.decode("ascii", "replace").strip()):
            yield word
