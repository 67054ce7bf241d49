"""Lines about set-up commands and checks that run for long, so that a silence is explained."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING

from yaoki.core.progress import next_report_after
from yaoki.faces.text.progress import progress_line
from yaoki.faces.text.render import clean_line

if TYPE_CHECKING:
    from yaoki.app.build import App
    from yaoki.core.model import Run

# How often the process folders are looked at.
EVERY_S = 1.0


class RunProgress:
    """Remembers what was reported, and when the next report is due."""

    def __init__(self, app: App, run: Run) -> None:
        self._app, self._run_id = app, run.id
        self._look_at = time.monotonic() + next_report_after(0)
        self._due: dict[Path, float] = {}

    def due_lines(self) -> list[str]:
        """One line for each command that has been running for another interval."""
        if time.monotonic() < self._look_at:
            return []
        self._look_at = time.monotonic() + EVERY_S
        from yaoki.app.running_commands import list_running_commands

        running = list_running_commands(self._app, self._run_id)
        self._due = {one.folder: self._due.get(one.folder, next_report_after(0)) for one in running}
        lines = []
        for one in running:
            if one.seconds >= self._due[one.folder]:
                self._due[one.folder] = next_report_after(one.seconds)
                words = progress_line(one.words, one.seconds)
                lines.append(f"{clean_line(one.task_name, 60)}  attempt {one.attempt}  {words}")
        return lines
