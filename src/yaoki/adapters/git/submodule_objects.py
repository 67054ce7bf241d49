"""Refs and objects of a submodule in an agent's worktree, read without its settings.

The agent owns the submodule's git folder, and a setting there can name a program that git starts.
So its refs are read as files, and its objects as alternates of the user's own repository.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from yaoki.adapters.git.command import Git
from yaoki.adapters.system.files import read_plain_bytes
from yaoki.adapters.system.folders import iter_paths_below
from yaoki.core.lazy_pattern import lazy_compile

REFS_MAX = 2_000
FILE_BYTES_MAX = 4 << 20
_FULL = lazy_compile(r"[0-9a-f]{40}(?:[0-9a-f]{24})?")


class SubmoduleObjects:
    """Reads one checked-out submodule at a time, given the folder of its files."""

    def __init__(self, git: Git) -> None:
        self._git = git

    def has_git_folder(self, folder: Path) -> bool:
        return find_git_folder(folder) is not None

    def is_published(self, folder: Path, commit: str) -> bool:
        """True when a remote of the submodule has the commit, as far as the submodule knows."""
        git_folder = find_git_folder(folder)
        if git_folder is None:
            return False
        pushed = tuple(dict.fromkeys(_remote_commits(git_folder)))[:REFS_MAX]
        if commit in pushed:
            return True
        stdin = "".join(f"{each}\n" for each in pushed).encode()
        # Only commits that exist: a missing one would make rev-list fail.
        rows = self._git.run_with_objects(
            git_folder / "objects", "cat-file", "--batch-check", stdin=stdin
        ).out
        heads = [row.split()[0] for row in rows.decode("ascii").splitlines() if " commit " in row]
        if not heads:
            return False
        args = ("rev-list", "-n", "1", commit, "--not", *heads[:REFS_MAX])
        result = self._git.run_with_objects(git_folder / "objects", *args, ok=(0, 128))
        return result.code == 0 and not result.out.strip()

    def import_commit(self, folder: Path, commit: str) -> bool:
        """Import the commit with its whole history; false when that is not possible.

        A shallow submodule lacks history, and a ref to an incomplete history would corrupt the
        user's repository.
        """
        git_folder = find_git_folder(folder)
        if git_folder is None:
            return False
        objects = git_folder / "objects"
        args = ("rev-list", "--objects", commit, "--not", "--all")
        listing = self._git.run_with_objects(objects, *args, ok=(0, 128))
        if listing.code:
            return False
        pack = self._git.run_with_objects(
            objects, "pack-objects", "--stdout", "-q", stdin=listing.out
        )
        stored = self._git.run("unpack-objects", "-q", stdin=pack.out, ok=(0, 1, 128))
        complete = ("rev-list", "--objects", "--quiet", *args[2:])
        return stored.code == 0 and self._git.run(*complete, ok=(0, 128)).code == 0


def find_git_folder(folder: Path) -> Path | None:
    """The git folder of the files in `folder`: `.git` itself, or the folder it points to."""
    link = folder / ".git"
    if link.is_symlink():
        return None
    if link.is_dir():
        return link
    text = (read_plain_bytes(link, 4096) or b"").decode("utf-8", "surrogateescape")
    if not text.startswith("gitdir: "):
        return None
    git_folder = Path(os.path.normpath(folder / text.removeprefix("gitdir: ").strip()))
    return git_folder if git_folder.is_dir() else None


def read_submodule_head(folder: Path) -> str:
    """The commit that is checked out in a submodule; empty when there is none."""
    git_folder = find_git_folder(folder)
    if git_folder is None:
        return ""
    head = _read_word(git_folder / "HEAD")
    if not head.startswith("ref: "):
        return head if _FULL.fullmatch(head) else ""
    name = head.removeprefix("ref: ")
    if ".." in name.split("/"):
        return ""
    if _FULL.fullmatch(loose := _read_word(git_folder / name)):
        return loose
    packed = read_plain_bytes(git_folder / "packed-refs", FILE_BYTES_MAX) or b""
    rows = (row.decode("utf-8", "replace").split(" ") for row in packed.splitlines())
    return next((row[0] for row in rows if row[1:] == [name] and _FULL.fullmatch(row[0])), "")


def _read_word(file: Path) -> str:
    try:
        return (read_plain_bytes(file, 4096) or b"").decode("utf-8", "replace").strip()
    except FileNotFoundError:
        return ""


def _remote_commits(git_folder: Path) -> Iterator[str]:
    """Commits of remote-tracking refs, loose refs first."""
    names = sorted(iter_paths_below(git_folder / "refs" / "remotes"))[:REFS_MAX]
    texts = [read_plain_bytes(name, 100) or b"" for name in names]
    packed = read_plain_bytes(git_folder / "packed-refs", FILE_BYTES_MAX) or b""
    texts += [row.split()[0] for row in packed.splitlines() if b" refs/remotes/" in row]
    for text in texts:
        if _FULL.fullmatch(word := text.decode("ascii", "replace").strip()):
            yield word
