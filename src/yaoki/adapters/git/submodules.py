"""The submodules of a commit, and their repositories in the user's own checkout.

A worktree has no submodules by itself.  Their files are taken from the repositories that git keeps
for the user's checkout, so nothing is fetched.
"""

from __future__ import annotations

from pathlib import Path, PurePosixPath

from yaoki.adapters.git.command import Git
from yaoki.adapters.git.repository import GitRepository
from yaoki.core.lazy_dataclass import dataclass

GITLINK = "160000"
FILE = ".gitmodules"
PATHS = r"^submodule\..*\.path$"


@dataclass(frozen=True, slots=True)
class Submodule:
    """A submodule: its name in `.gitmodules`, its folder, and the commit it is linked to."""

    name: str
    path: str
    commit: str


def list_submodules(git: Git, commit: str) -> tuple[Submodule, ...]:
    """The submodules that the commit links to; links that `.gitmodules` lacks are none."""
    words = ("config", "--blob", f"{commit}:{FILE}", "-z", "--get-regexp", PATHS)
    out = git.run(*words, ok=(0, 1, 128)).out.decode("utf-8", "surrogateescape")
    pairs = (entry.partition("\n") for entry in out.split("\0") if entry)
    names = {path: key[len("submodule.") : -len(".path")] for key, _, path in pairs}
    rows = git.read_names("ls-tree", "-z", commit, "--", *names) if names else []
    links = (row.partition("\t") for row in rows if row.startswith(GITLINK))
    return tuple(
        Submodule(names[path], path, facts.split()[2])
        for facts, _, path in links
        if path in names and _is_plain(names[path])
    )


def find_repository(git_folders: tuple[Path, ...], name: str) -> Path | None:
    """The repository of a submodule of the user's checkout; None if it was never initialised."""
    folders = (folder / "modules" / name for folder in git_folders)
    return next((folder for folder in folders if (folder / "objects").is_dir()), None)


def list_missing_submodules(repository: GitRepository, commit: str) -> list[str]:
    """The folders of submodules of the commit that the user's checkout does not have."""
    git = Git(repository.common_dir)
    if not git.read_names("ls-tree", "--name-only", "-z", commit, "--", FILE):
        return []
    return [
        submodule.path
        for submodule in list_submodules(git, commit)
        if not _is_present(repository, submodule)
    ]


def _is_present(repository: GitRepository, submodule: Submodule) -> bool:
    folder = find_repository((repository.git_dir, repository.common_dir), submodule.name)
    if folder is None:
        return False
    return Git(folder).run("cat-file", "-e", submodule.commit, ok=(0, 1, 128)).code == 0


def _is_plain(name: str) -> bool:
    """A name becomes a path below git's folder, so it must not lead out of it."""
    path = PurePosixPath(name)
    return bool(name) and not path.is_absolute() and ".." not in path.parts
