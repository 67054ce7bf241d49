"""`python3` for the processes that tests start: the interpreter, not a script that looks for it.

A version manager puts a shell script named `python3` on the PATH, and each start of it costs as
much processor time as ten interpreters.  Checks and agents of tests start hundreds of them.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

NAME = "python3"


def path_to_interpreter(path: str) -> str:
    """The PATH with the folder first that a script named `python3` would lead to."""
    found = shutil.which(NAME, path=path)
    if found is None or not _is_script(Path(found)):
        return path
    leads_to = subprocess.run(
        (found, "-c", "import sys; print(sys.executable)"),
        env={**os.environ, "PATH": path},
        capture_output=True,
        text=True,
        check=False,
    )
    if leads_to.returncode:
        # No interpreter is chosen here: tests that start one will say so.
        return path
    folder = Path(leads_to.stdout.strip()).parent
    return f"{folder}{os.pathsep}{path}"


def _is_script(file: Path) -> bool:
    with file.open("rb") as opened:
        return opened.read(2) == b"#!"
