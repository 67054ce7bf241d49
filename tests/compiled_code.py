"""Compiled code for the processes that tests start: they find it, and write none beside sources.

A repository of a test must not get a `__pycache__`, so these processes have their own folder for
compiled code (`PYTHONPYCACHEPREFIX`).  An empty one would let each of them compile the standard
library, the packages and yaoki again; checks in a sandbox cannot even write it.
"""

from __future__ import annotations

import os
import shutil
import sysconfig
from pathlib import Path

SOURCE = Path(__file__).parents[1] / "src"
# Parts of the standard library that no program needs.
UNUSED = {"test", "idlelib", "lib2to3", "tkinter", "turtledemo", "site-packages", "dist-packages"}


def shared_folder(base: Path) -> Path:
    """A folder below `base` with links to all code that is compiled already.

    Test processes share it; the first one that has finished it gives it its name.
    """
    folder = base / "pycache"
    if not folder.exists():
        draft = base / f"pycache-{os.getpid()}"
        shutil.rmtree(draft, ignore_errors=True)
        for root in _roots():
            _link(root, draft)
        try:
            draft.rename(folder)
        except OSError:
            # Another process was first.
            shutil.rmtree(draft)
    return folder


def _roots() -> set[Path]:
    return {Path(sysconfig.get_path(name)) for name in ("stdlib", "purelib", "platlib")} | {SOURCE}


def _link(root: Path, folder: Path) -> None:
    """Python writes a new file over a link whose source has changed; the target stays."""
    for name, folders, files in os.walk(root):
        if name.endswith("__pycache__"):
            at = folder / Path(name).parent.relative_to("/")
            at.mkdir(parents=True, exist_ok=True)
            for file in files:
                (at / file).symlink_to(f"{name}/{file}")
        folders[:] = [one for one in folders if one not in UNUSED]
