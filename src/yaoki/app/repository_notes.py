"""Parts of a repository that a run cannot have, said before it starts."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from yaoki.adapters.git.large_files import lacks_lfs_content
from yaoki.adapters.git.submodules import list_missing_submodules
from yaoki.core.text import list_some

if TYPE_CHECKING:
    from yaoki.app.build import App
    from yaoki.core.model import Run

SHOWN = 5


def repository_notes(app: App, run: Run) -> Iterator[str]:
    """Sentences about submodules and large files at the base of the run."""
    if missing := list_missing_submodules(app.repository, run.base):
        yield (
            "note: agents and checks have no files of submodules that your checkout lacks: "
            f"{list_some(missing, SHOWN)}; first: git submodule update --init --recursive"
        )
    if lacks_lfs_content(app.repository, run.base):
        yield (
            "note: files of git LFS are pointers here, so agents and checks see no content of them;"
            " first: git lfs pull"
        )
