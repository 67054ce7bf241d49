"""`.worktreeinclude`: ignored files of the user's checkout that are copied to new worktrees."""

from __future__ import annotations

import os
import shutil
from collections.abc import Sequence
from pathlib import Path

from yaoki.adapters.git.command import Git, GitLocation
from yaoki.adapters.git.repository import GitRepository
from yaoki.core.text import format_count
from yaoki.errors import WorkspaceError

FILE = ".worktreeinclude"
FILES_MAX = 2_000
BYTES_MAX = 200 << 20


def copy_included(git: Git, repository: GitRepository, worktree: Path) -> list[str]:
    """Copy the files that match the patterns and that git ignores.

    A file that is only untracked is not copied, because it would be committed with the agent's
    work.
    """
    names = find_included(git, repository)
    return [name for name in names if _copy(repository.top, worktree, name)]


def find_included(git: Git, repository: GitRepository) -> list[str]:
    """The ignored files of the user's checkout that match the patterns."""
    patterns = repository.top / FILE
    if not patterns.is_file():
        return []
    names = _list_matching(git, repository, patterns)
    _refuse_too_much(repository.top, names)
    return names


def filter_ignored(git: Git, repository: GitRepository, names: Sequence[str]) -> tuple[str, ...]:
    """The given paths that git ignores in the user's checkout."""
    if not names:
        return ()
    stdin = b"".join(os.fsencode(name) + b"\0" for name in names)
    at = GitLocation(repository.git_dir, repository.top)
    result = git.run("check-ignore", "-z", "--stdin", at=at, stdin=stdin, ok=(0, 1))
    return tuple(os.fsdecode(name) for name in result.out.split(b"\0") if name)


def _list_matching(git: Git, repository: GitRepository, patterns: Path) -> list[str]:
    at = GitLocation(repository.git_dir, repository.top)
    matches = git.read_names("ls-files", "-o", "-i", "-z", f"--exclude-from={patterns}", at=at)
    return list(
        filter_ignored(git, repository, [name for name in matches if not name.endswith("/")])
    )


def _refuse_too_much(top: Path, names: Sequence[str]) -> None:
    size = sum((top / name).lstat().st_size for name in names)
    if len(names) > FILES_MAX or size > BYTES_MAX:
        raise WorkspaceError(
            f"{FILE} names {format_count(len(names), 'file')} of "
            f"{format_count(size, 'byte')} together; "
            f"{format_count(FILES_MAX, 'file')} and {format_count(BYTES_MAX, 'byte')} are allowed",
            hint=f"narrow {FILE}, or create the files in a set-up command",
        )


def _copy(top: Path, worktree: Path, name: str) -> bool:
    """Never over an existing file, and never through a link to another place."""
    source, target = top / name, worktree / name
    if source.is_symlink() and not _stays_inside(top, source):
        return False
    if os.path.lexists(target) or not target.parent.resolve().is_relative_to(worktree.resolve()):
        return False
    target.parent.mkdir(parents=True, exist_ok=True)
    shutil.copy2(source, target, follow_symlinks=False)
    return True


def _stays_inside(top: Path, link: Path) -> bool:
    """An absolute link would lead the agent into the user's own files."""
    return not link.readlink().is_absolute() and link.resolve().is_relative_to(top.resolve())
