"""A clone as `python3 dev.py demo` leaves it: yaoki with a separate environment."""

from __future__ import annotations

import sys
import sysconfig
import venv
from contextlib import suppress
from pathlib import Path

from tests.documents import ROOT

# Packages that a user's Python has and yaoki's environment has not.
EXCLUDED_PACKAGES = ("pytest", "_pytest")
SCRIPT = """\
#!{python}
import sys
from yaoki.faces.cli.main import main

sys.exit(main())
"""


def create_clone(folder: Path, pycache: Path) -> Path:
    """With `.venv/bin/yaoki` and `.venv/bin/python`; the first works, the second lacks pytest."""
    home = folder / "clone" / ".venv"
    venv.create(home, symlinks=True, with_pip=False)
    site = Path(sysconfig.get_path("purelib", vars={"base": str(home)}))
    (site / "ours.pth").write_text(f"{_packages(pycache)}\n{ROOT / 'src'}\n")
    script = home / "bin" / "yaoki"
    script.write_text(SCRIPT.format(python=home / "bin" / "python"))
    script.chmod(0o755)
    return home.parent


def _packages(pycache: Path) -> Path:
    """The packages that yaoki needs, in one folder because bytecode is cached by path."""
    project = pycache.with_name("alone")
    project.mkdir(parents=True, exist_ok=True)
    for held in Path(sysconfig.get_path("purelib")).iterdir():
        if not held.name.startswith(EXCLUDED_PACKAGES) and not held.name.endswith(".pth"):
            link = project / held.name
            if link.is_symlink() and not link.exists():
                link.unlink(missing_ok=True)  # of a checkout that is gone
            with suppress(FileExistsError):
                link.symlink_to(held)
    return project


def create_python_with_pytest(folder: Path) -> Path:
    """A folder with a `python` that has pytest."""
    folder.mkdir(parents=True, exist_ok=True)
    program = folder / "python"
    program.write_text(f'#!/bin/sh\nexec "{sys.executable}" "$@"\n')
    program.chmod(0o755)
    return folder
