"""A Chromium for the tests of the page: `python browser.py FOLDER`.

One that is installed is used.  Else Playwright's own is fetched into the folder; where the whole
machine may be changed (INSTALL=yes, or a build server), the system's packages are asked first.
It is installed beside the tests; those of the page wait for it.
Without any the tests are skipped and say so; where CI is true they fail, and so does this.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
FETCHED = ("chrome-headless-shell", "headless_shell", "chrome")
BOUND_S = 240
TRIES = 3
PACKAGES = (
    ("apt-get", "update", "-qq"),
    ("apt-get", "install", "-y", "-qq", "--no-install-recommends", "chromium"),
)
FETCH = ("-m", "playwright", "install", "--only-shell", "chromium")


def found(folder: Path) -> str:
    """The browser on this machine, or the one in the folder; empty when there is none."""
    fetched = (file for name in FETCHED for file in sorted(folder.glob(f"*/*/{name}")))
    runs = (str(file) for file in fetched if os.access(file, os.X_OK))
    return next(filter(None, map(shutil.which, NAMES)), "") or next(runs, "")


@contextmanager
def installation(folder: Path) -> Iterator[None]:
    """One at a time; whoever is waiting finds a whole browser or none."""
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def main(folder: Path) -> int:
    with installation(folder):
        if found(folder) or any(way and found(folder) for way in ways(folder)):
            return 0
    print("no Chromium: the tests of the page are skipped", file=sys.stderr)
    return 1 if os.environ.get("CI") == "true" else 0


def ways(folder: Path) -> Iterator[bool]:
    """Each was tried when it is given; true says that it went well."""
    wanted = os.environ.get("INSTALL") == "yes" or os.environ.get("CI") == "true"
    if wanted and os.geteuid() == 0 and shutil.which("apt-get"):
        yield any(all(run(words) for words in PACKAGES) for _ in range(TRIES))
    yield run((sys.executable, *FETCH), PLAYWRIGHT_BROWSERS_PATH=str(folder))


def run(words: Sequence[str], **more: str) -> bool:
    try:
        done = subprocess.run(
            words,
            env={**os.environ, **more},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            timeout=BOUND_S,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return False
    return done.returncode == 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
