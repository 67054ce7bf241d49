"""Files of git LFS: in a commit they are pointers, and their content is elsewhere."""

from __future__ import annotations

from yaoki.adapters.git.command import Git
from yaoki.adapters.git.repository import GitRepository

ATTRIBUTES = ".gitattributes"
CONTENT = ("lfs", "objects")


def lacks_lfs_content(repository: GitRepository, commit: str) -> bool:
    """Does the commit use git LFS, while nothing of its content was ever downloaded here?"""
    if repository.common_dir.joinpath(*CONTENT).is_dir():
        return False
    blob = ("cat-file", "blob", f"{commit}:{ATTRIBUTES}")
    text = Git(repository.common_dir).run(*blob, ok=(0, 128)).out
    return b"filter=lfs" in text
