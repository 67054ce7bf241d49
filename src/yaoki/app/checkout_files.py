"""The user's checkout as `yaoki init` sees it: its files, and the virtual environments in it."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from yaoki.adapters.git.checkout import list_checkout_files
from yaoki.core.environment import VIRTUAL_ENV
from yaoki.formats.discovery import (
    RepositoryFiles,
    is_text_needed,
    manager_programs,
    replaceable_programs,
)
from yaoki.formats.discovery.tree import TEXT_BYTES_MAX

if TYPE_CHECKING:
    from yaoki.app.build import App

ENVIRONMENT_NAMES = (".venv", "venv", "env")


def read_checkout(app: App) -> RepositoryFiles:
    """The files of the user's checkout that git tracks or would not ignore."""
    repository = app.repository
    paths = frozenset(path for path in list_checkout_files(repository) if not path.endswith("/"))
    wanted = sorted(path for path in paths if is_text_needed(path))
    folders = sorted({"", *(path.rpartition("/")[0] for path in wanted)})
    environments = tuple(_find_environments(repository.top, folders))
    places = [str(repository.top / one / "bin") for one in environments]
    own = users_path()
    search = os.pathsep.join((*places, own))
    absent = {name for name in manager_programs() if shutil.which(name, path=own) is None}
    absent |= {name for name in replaceable_programs() if shutil.which(name, path=search) is None}
    return RepositoryFiles(
        paths,
        {path: _text(repository.top / path) for path in wanted},
        environments,
        frozenset(absent),
    )


def users_path() -> str:
    """The PATH without yaoki's own environment: its programs are not what the user works with."""
    folders = os.environ.get("PATH", os.defpath).split(os.pathsep)
    if sys.prefix == sys.base_prefix:
        return os.pathsep.join(folders)
    own = (Path(sys.prefix) / "bin").resolve()
    return os.pathsep.join(one for one in folders if Path(one).resolve() != own)


def _text(file: Path) -> str:
    """A link may lead anywhere, and a tracked file may be missing."""
    if file.is_symlink() or not file.is_file():
        return ""
    with file.open("rb") as stream:
        return stream.read(TEXT_BYTES_MAX).decode("utf-8", errors="replace")


def _find_environments(top: Path, folders: Iterable[str]) -> list[str]:
    """The virtual environments in these folders, unless another one is active.

    yaoki's own environment does not count as active: it lacks the packages of the project.
    """
    active = os.environ.get(VIRTUAL_ENV, "")
    if active and active != sys.prefix and not Path(active).resolve().is_relative_to(top.resolve()):
        return []
    places = (f"{folder}/{name}".lstrip("/") for folder in folders for name in ENVIRONMENT_NAMES)
    return [place for place in places if _is_environment(top / place)]


def _is_environment(folder: Path) -> bool:
    return (folder / "pyvenv.cfg").is_file() and (folder / "bin" / "python").exists()
