"""The files and commits that an attempt left: its logs, those of its checks, its changes."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from yaoki.adapters.system.files import is_plain_file, open_plain_file
from yaoki.core.lazy_dataclass import dataclass
from yaoki.core.model import BUILT_IN_CHECKS
from yaoki.errors import NotNow, Unknown

if TYPE_CHECKING:
    from yaoki.app.build import App
    from yaoki.core.model import Task

BYTES_SHOWN = 1 << 20
LOG_FILES: Mapping[str, str] = {"prompt": "prompt.md", "out": "out.log", "err": "err.log"}


def find_log_folder(app: App, task: Task, attempt: int, check: str = "") -> Path:
    """The folder of an attempt's agent, or of the newest run of one of its checks."""
    home = app.runs_folder / task.run_id / task.id / str(attempt)
    if not check:
        return home
    ran = find_check_folders(home, task)
    folder = ran.get(check)
    if folder is None:
        if check in BUILT_IN_CHECKS:
            words = f"{check} is built in: it starts no program and writes no output"
            raise Unknown(words, hint=f"what it found: yaoki why {task.id}")
        names = sorted(ran)
        raise Unknown(
            f"no check {check!r} ran in attempt {attempt} of {task.id}",
            hint=f"these ran: {', '.join(names)}" if names else f"yaoki why {task.id}",
        )
    return folder


def find_check_folders(home: Path, task: Task) -> dict[str, Path]:
    """The newest folder of each of the task's checks that ran in an attempt.

    A repeated check, on the same commit or after a retry of the stage, gets another folder with a
    suffix.  Runs on the base are not about the attempt.
    """
    names = sorted((check.name for check in task.spec.checks), key=len)
    folders: dict[str, Path] = {}
    for place in sorted((home / "checks").glob("[0-9]*-*"), key=_age_key):
        label = place.name.partition("-")[2]
        for name in (name for name in reversed(names) if f"{label}-".startswith(f"{name}-")):
            if "base" not in label.removeprefix(name).split("-"):
                folders[name] = place
            break
    return folders


def _age_key(place: Path) -> tuple[int, int, str]:
    """Oldest first; of the same instant the higher number is newer."""
    return place.stat().st_mtime_ns, len(place.name), place.name


def find_log_file(app: App, task: Task, attempt: int, name: str, check: str = "") -> Path:
    """One of `LOG_FILES`; refused by name when it was never written."""
    file = find_log_folder(app, task, attempt, check) / LOG_FILES[name]
    if not is_plain_file(file):
        raise Unknown(
            f"attempt {attempt} of {task.id} wrote no {LOG_FILES[name]}",
            hint=f"yaoki recover {task.id}, or yaoki why {task.id}",
        )
    return file


def read_log_tail(file: Path, start: int, most: int = BYTES_SHOWN) -> tuple[str, int]:
    """The text after `start`, at most its last `most` bytes, and the size of the file."""
    with open_plain_file(file) as stream:
        if stream is None:  # a link or a pipe is in its place, or it is gone
            return "", start
        size = stream.seek(0, os.SEEK_END)
        stream.seek(max(start, size - most))
        return stream.read(size - stream.tell()).decode("utf-8", errors="replace"), size


@dataclass(frozen=True, slots=True)
class DiffEnds:
    """Two commits to compare."""

    old: str
    new: str
    is_landed: bool


def find_diff_ends(task: Task) -> DiffEnds:
    """The change that a task landed, or else the one its last attempt left."""
    work = task.work
    if task.landed_commit:
        return DiffEnds(work.onto, task.landed_commit, True)
    if not work.head:
        raise NotNow(f"{task.id} has left nothing yet", hint=f"yaoki why {task.id}")
    return DiffEnds(work.base, work.head, False)
