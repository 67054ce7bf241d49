"""The environment of a check: what any command on this machine has, and nothing of yaoki's."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from pathlib import Path

from yaoki.adapters.checks.runner import CheckProcesses
from yaoki.adapters.system.files import read_plain_bytes
from yaoki.adapters.system.folders import walk_folders
from yaoki.core.environment import BASIC_VARIABLES, filter_environment
from yaoki.core.redact import mask
from yaoki.ports import RoomFolders

REPORT_BYTES_MAX = 64 << 20
# Code under test must not be able to tell a check from a person's terminal by its name.
TERMINAL = "xterm-256color"


def build_check_environment(runner: CheckProcesses, room: RoomFolders | None) -> dict[str, str]:
    """In a proof room with a private home and temporary folder."""
    private = {"HOME": str(room.home), "TMPDIR": str(room.temporary)} if room else {}
    return {
        **filter_environment(runner.environ, (*BASIC_VARIABLES, "VIRTUAL_ENV", "TERM")),
        **({} if "TERM" in runner.environ else {"TERM": TERMINAL}),
        # Files that an earlier run compiled, or that are installed for the user alone, are in no
        # commit.
        "PYTHONDONTWRITEBYTECODE": "1",
        "PYTHONNOUSERSITE": "1",
        **private,
    }


def find_copied_report(worktree: Path, report: Path, began: datetime) -> str:
    """The file from before the check that a report is a copy of; empty when it is of its own.

    A suite may write a report that the next command copies; one that was there before is none.
    """
    content = read_plain_bytes(report, REPORT_BYTES_MAX)
    for folder, folders, files in walk_folders(worktree) if content else ():
        folders[:] = [name for name in folders if name != ".git"]
        for path in (Path(folder) / name for name in files):
            facts = path.lstat()
            old = facts.st_mtime < began.timestamp() and facts.st_size == len(content or b"")
            if old and read_plain_bytes(path, REPORT_BYTES_MAX) == content:
                return str(path.relative_to(worktree))
    return ""


def save_report(made: Path, target: Path, secrets: Iterable[str]) -> None:
    """Keep the report of a check with its logs, without what may not be told.

    Only a plain file that the check wrote counts.
    """
    content = read_plain_bytes(made, REPORT_BYTES_MAX)
    if content is not None:
        told = mask(content.decode("utf-8", "surrogateescape"), tuple(secrets))
        target.write_bytes(told.encode("utf-8", "surrogateescape"))
