"""Parts of a repository that a run cannot have or handles in its own way, said before it starts."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from yaoki.adapters.git.command import Git
from yaoki.adapters.git.submodules import FILE, find_repository, list_submodules
from yaoki.core.text import list_some

if TYPE_CHECKING:
    from yaoki.app.build import App
    from yaoki.core.model import Run

SHOWN = 5
LFS_OBJECTS = ("lfs", "objects")


def repository_notes(app: App, run: Run) -> Iterator[str]:
    """Sentences about submodules and large files at the base of the run."""
    git = Git(app.repository.common_dir)
    names = git.read_names("ls-tree", "--name-only", "-z", run.base)
    if FILE in names:
        yield from _submodule_note(app, git, run)
    if ".gitattributes" in names:
        yield from _lfs_note(app, git, run)


def _submodule_note(app: App, git: Git, run: Run) -> Iterator[str]:
    folders = (app.repository.git_dir, app.repository.common_dir)
    missing = [
        submodule.path
        for submodule in list_submodules(git, run.base)
        if (folder := find_repository(folders, submodule.name)) is None
        or Git(folder).run("cat-file", "-e", submodule.commit, ok=(0, 1, 128)).code != 0
    ]
    if missing:
        yield (
            f"note: agents and checks have no files of submodules that your checkout lacks: "
            f"{list_some(missing, SHOWN)}; first: git submodule update --init --recursive"
        )


def _lfs_note(app: App, git: Git, run: Run) -> Iterator[str]:
    """Large files are only pointers where their content was never downloaded."""
    text = git.run("cat-file", "blob", f"{run.base}:.gitattributes", ok=(0, 128)).out
    if b"filter=lfs" not in text:
        return
    if not app.repository.common_dir.joinpath(*LFS_OBJECTS).is_dir():
        yield (
            "note: files of git LFS are pointers here, so agents and checks see no content of them;"
            " first: git lfs pull"
        )
