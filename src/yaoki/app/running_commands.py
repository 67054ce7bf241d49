"""The set-up command or check that a task waits for, found in the process folders of its run.

Every worker on this machine writes them, so that any command can show them.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from yaoki.core.lazy_dataclass import dataclass
from yaoki.core.lazy_pattern import lazy_compile
from yaoki.core.model import Stage
from yaoki.ports import SETUP_REASON
from yaoki.views.check_executions import read_execution

if TYPE_CHECKING:
    from yaoki.app.build import App
    from yaoki.core.model import RunId
    from yaoki.ports import TaskRow

STARTED, EXIT = "started.json", "exit.json"
_SETUP = lazy_compile(r"setup-(\d+)(?:-\d+)?")
# `own-`: the commit needs set-up of its own.
_ROOM = lazy_compile(r"room-(?P<own>own-)?(?P<key>[^-]+)")
# Below the folder of an attempt; its other folders belong to the agent.
_SETUP_PLACES = ("setup-*", "room-*/setup-*", "checks/room-*/setup-*")
_CHECK_PLACES = ("checks/*",)


@dataclass(frozen=True, slots=True)
class RunningCommand:
    """A command of yaoki's that runs for a task; `folder` identifies it."""

    task_id: str
    task_name: str
    attempt: int
    words: str
    seconds: float
    folder: Path


def list_running_commands(app: App, run_id: RunId) -> list[RunningCommand]:
    """The set-up commands and checks that run now; reads active tasks only."""
    from yaoki.adapters.store.tables import run_changes

    rows = run_changes.reload_rows(app.store.database, run_id, ())
    found = (find_running_command(app, row) for row in rows if row.stage != Stage.WORK)
    return [command for command in found if command is not None]


def find_running_command(app: App, row: TaskRow) -> RunningCommand | None:
    """The newest one that has not ended."""
    running = list(_running_folders(app.runs_folder / row.run_id / row.id, row))
    if not running:
        return None
    started_at, attempt, folder = max(running, key=lambda one: one[0])
    words = _describe(app, row, folder)
    seconds = max(0.0, app.clock.now().timestamp() - started_at)
    return RunningCommand(row.id, row.name, attempt, words, seconds, folder) if words else None


def _running_folders(home: Path, row: TaskRow) -> Iterator[tuple[float, int, Path]]:
    """An attempt is counted once its agent starts, so set-up runs in the folder of the next."""
    preparing = row.stage == Stage.PREPARE
    attempt = row.attempt + 1 if preparing else row.attempt
    places = _SETUP_PLACES if preparing else (*_SETUP_PLACES, *_CHECK_PLACES)
    for folder in (one for place in places for one in (home / str(attempt)).glob(place)):
        try:
            started_at = (folder / STARTED).stat().st_mtime
        except OSError:
            continue
        if not (folder / EXIT).exists():
            yield started_at, attempt, folder


def _describe(app: App, row: TaskRow, folder: Path) -> str:
    spec = app.reads.task(row.id).spec
    if hit := _SETUP.fullmatch(folder.name):
        number = int(hit[1])
        known = number <= len(spec.setup)
        command = shlex.join(spec.setup[number - 1]) if known else ""
        return f"preparing: {command} ({describe_setup_place(folder)})" if known else ""
    return describe_check_folder(folder.name, [check.name for check in spec.checks])


def describe_setup_place(folder: Path) -> str:
    """For which folder set-up runs, and why: the engine names the process folder after it."""
    room = _ROOM.fullmatch(folder.parent.name)
    if room is None:
        return "for its new worktree"
    why = _read_reason(folder.parent) if room["own"] else "first use"
    return f"for proof room {room['key']}: {why}"


def _read_reason(place: Path) -> str:
    """Workers of an earlier version wrote none."""
    try:
        reason = (place / SETUP_REASON).read_text("utf-8", "replace")
    except OSError:
        reason = ""
    return reason or "its set-up differs from that of the run branch"


def describe_check_folder(folder: str, checks: Sequence[str]) -> str:
    """`check tests on the base` for `1-tests-base`; nothing for the folder of something else."""
    execution = read_execution(folder, checks)
    if execution is None:
        return ""
    return f"check {execution.check} {execution.words}".rstrip()
