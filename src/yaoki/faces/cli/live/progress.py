"""Lines about set-up commands and checks that run for long, so that a pause is explained."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING

from yaoki.core.progress import next_report_after
from yaoki.faces.text.progress import progress_line
from yaoki.faces.text.render import clean_line, local_time

if TYPE_CHECKING:
    from yaoki.app.build import App
    from yaoki.core.model import Run

# How often the process folders are read.
EVERY = timedelta(seconds=1)


class RunProgress:
    """Remembers what was reported, and when the next report is due."""

    def __init__(self, app: App, run: Run) -> None:
        self._app, self._run_id = app, run.id
        self._look_at = app.clock.now() + timedelta(seconds=next_report_after(0))
        self._due: dict[Path, float] = {}

    def due_lines(self) -> list[str]:
        """One line for each command that has been running for another interval."""
        now = self._app.clock.now()
        if now < self._look_at:
            return []
        self._look_at = now + EVERY
        from yaoki.app.running_commands import list_running_commands

        running = list_running_commands(self._app, self._run_id)
        self._due = {one.folder: self._due.get(one.folder, next_report_after(0)) for one in running}
        lines = []
        for one in running:
            if one.seconds >= self._due[one.folder]:
                self._due[one.folder] = next_report_after(one.seconds)
                name = clean_line(one.task_name, 60)
                words = progress_line(one.words, one.seconds)
                lines.append(f"{local_time(now)} {name}  attempt {one.attempt}  {words}")
        return lines
