"""The files and commits that an attempt left: its logs, those of its checks, its changes."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from yaoki.adapters.system.files import is_plain_file, open_plain_file
from yaoki.core.lazy_dataclass import dataclass
from yaoki.core.model import BUILT_IN_CHECKS
from yaoki.errors import NotNow, Unknown

if TYPE_CHECKING:
    from yaoki.app.build import App
    from yaoki.core.model import Task
    from yaoki.views.check_executions import CheckExecution

BYTES_SHOWN = 1 << 20
NAMES_SHOWN_MAX = 20
LOG_FILES: Mapping[str, str] = {"prompt": "prompt.md", "out": "out.log", "err": "err.log"}


def find_log_folder(app: App, task: Task, attempt: int) -> Path:
    """The folder of an attempt's agent."""
    return app.runs_folder / task.run_id / task.id / str(attempt)


def list_check_executions(app: App, task: Task, attempt: int) -> list[CheckExecution]:
    """The executions of the task's checks in an attempt, oldest first."""
    from yaoki.app.run_view import load_task_journal
    from yaoki.views.check_executions import list_executions, verdict_folders
    from yaoki.views.history import build_history

    places = sorted(_checks_home(app, task, attempt).glob("*-*"), key=_age_key)
    history = build_history(load_task_journal(app, task.id))
    # Several claims may have continued the attempt.
    claims = (claim for claim in history.attempts if claim.number == attempt)
    verdicts = verdict_folders(check for claim in claims for check in claim.checks)
    names = [check.name for check in task.spec.checks]
    return list(list_executions((place.name for place in places), names, verdicts))


def select_execution(
    executions: Sequence[CheckExecution], task: Task, attempt: int, check: str, name: str = ""
) -> CheckExecution:
    """The execution of a check with this name; by default the one that the verdict is based on."""
    from yaoki.views.check_executions import choose_execution

    ran = [one for one in executions if one.check == check]
    chosen = choose_execution([one for one in ran if name in {"", one.name}])
    if chosen is not None:
        return chosen
    if ran:
        raise Unknown(
            f"check {check} has no execution {name!r} in attempt {attempt} of {task.id}",
            hint=f"one of: {', '.join(one.name for one in ran[:NAMES_SHOWN_MAX])}",
        )
    if check in BUILT_IN_CHECKS:
        words = f"{check} is built in: it starts no program and writes no output"
        raise Unknown(words, hint=f"what it found: yaoki why {task.id}")
    names = sorted({one.check for one in executions})
    raise Unknown(
        f"no check {check!r} ran in attempt {attempt} of {task.id}",
        hint=f"these ran: {', '.join(names)}" if names else f"yaoki why {task.id}",
    )


def execution_folder(app: App, task: Task, attempt: int, execution: CheckExecution) -> Path:
    return _checks_home(app, task, attempt) / execution.name


def _checks_home(app: App, task: Task, attempt: int) -> Path:
    return find_log_folder(app, task, attempt) / "checks"


def _age_key(place: Path) -> tuple[int, int, str]:
    """Oldest first; of the same instant the higher number is newer."""
    return place.stat().st_mtime_ns, len(place.name), place.name


def find_log_file(
    app: App, task: Task, attempt: int, name: str, execution: CheckExecution | None = None
) -> Path:
    """One of `LOG_FILES`, of the agent or of an execution of a check; refused by name when it was
    never written.
    """
    folder = (
        execution_folder(app, task, attempt, execution)
        if execution
        else find_log_folder(app, task, attempt)
    )
    file = folder / LOG_FILES[name]
    if not is_plain_file(file):
        if not attempt:
            raise Unknown(f"{task.id} has not started yet", hint=f"yaoki why {task.id}")
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


def find_diff_ends(app: App, task: Task) -> DiffEnds:
    """The change that a task landed, or else the one its last attempt left.

    A task that starts anew, such as one whose landing was reverted, has only its attempts.
    """
    work = task.work
    if task.landed_commit:
        return DiffEnds(work.onto, task.landed_commit, True)
    if work.head:
        return DiffEnds(work.base, work.head, False)
    from yaoki.app.run_view import load_task_journal
    from yaoki.views.history import build_history

    history = build_history(load_task_journal(app, task.id))
    for attempt in reversed(history.numbered_attempts.values()):
        if attempt.base and attempt.head:
            return DiffEnds(attempt.base, attempt.head, False)
    raise NotNow(f"{task.id} has changed nothing yet", hint=f"yaoki why {task.id}")
