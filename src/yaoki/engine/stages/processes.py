"""The processes of an attempt: started, waited for with the lease kept alive, ended."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from datetime import timedelta
from pathlib import Path

from yaoki.core.model import Task
from yaoki.core.redact import mask, secret_values
from yaoki.core.text import one_line, strip_terminal_codes
from yaoki.engine.claim_context import ClaimContext, ClaimSuperseded
from yaoki.engine.stage_settings import StageSettings
from yaoki.ports import Clock, Launch, Processes, ProcessState

POLL = timedelta(milliseconds=5)
POLL_MAX = timedelta(milliseconds=250)
TAIL_BYTES = 4096


class AttemptProcesses:
    """Whoever waits for a process answers for it."""

    def __init__(self, processes: Processes, clock: Clock, settings: StageSettings) -> None:
        self._processes, self._clock, self._settings = processes, clock, settings

    def folder(self, task: Task, attempt: int) -> Path:
        """Where an attempt keeps its prompt, logs and exit; named so that it is found again."""
        return self._settings.folder / task.run_id / task.id / str(attempt)

    def agent_started_at(self, task: Task) -> float:
        """When the agent of the attempt was given its prompt; zero when none was."""
        try:
            return (self.folder(task, task.attempt) / "prompt.md").lstat().st_mtime
        except OSError:
            return 0.0

    def end_leftovers(self, task: Task) -> None:
        """Whatever still runs for this or the coming attempt: agent, set-up or checks."""
        for attempt in (task.attempt, task.attempt + 1):
            for started in self.folder(task, attempt).glob("**/started.json"):
                if self._processes.inspect(started.parent).phase in {"running", "gone"}:
                    self._processes.end(started.parent, "cancel")

    def run_to_end(
        self,
        folder: Path,
        argv: tuple[str, ...],
        cwd: Path,
        hold: ClaimContext,
        handed: Sequence[str],
    ) -> tuple[Path, ProcessState]:
        """A command of ours; an earlier try that a crash cut off is ended first.

        Returns the folder of this try.  What agents are `handed` is not to stay in its logs.
        """
        folder = self._unused(folder)
        launch = Launch(
            argv=argv,
            cwd=str(cwd),
            env={**self._settings.environment, **hold.environment},
            deadline=self._settings.setup_timeout,
            lease=self._settings.lease,
            secrets=secret_values(self._settings.worker_environment, handed),
        )
        self._processes.start(folder, launch)
        return folder, self.wait(folder, hold, lambda: "")

    def last_output_line(self, folder: Path, handed: Sequence[str]) -> str:
        """The last line that a command said, its complaints before all else."""
        texts = (_tail(folder / name) for name in ("err.log", "out.log"))
        lines = [line for text in texts for line in strip_terminal_codes(text).splitlines()[-1:]]
        secrets = secret_values(self._settings.worker_environment, handed)
        return mask(one_line(lines[0]), secrets) if lines else ""

    def _unused(self, folder: Path) -> Path:
        for n in range(1, 1000):
            place = folder if n == 1 else folder.with_name(f"{folder.name}-{n}")
            if self._processes.inspect(place).phase == "absent":
                return place
            self._processes.end(place, "stop")
        raise AssertionError(f"a thousand tries in {folder}")

    def wait(self, folder: Path, hold: ClaimContext, stop_if: Callable[[], str]) -> ProcessState:
        """Until the tree has ended.  Whoever waits keeps the shim's lease alive."""
        warned = False
        for pause in _pauses():
            look = self._processes.inspect(folder)
            if look.phase != "running":
                return look
            if look.quiet_seconds >= self._settings.hang_warning.total_seconds() and not warned:
                warned = True
                hold.warn(f"silent for {look.quiet_seconds:.0f} s: no CPU, output or file change")
            why = hold.stop_reason()
            if why == "lost":
                # A successor may wait for the very same tree, so it is left alone.
                raise ClaimSuperseded
            why = why or stop_if()
            if why:
                return self._processes.end(folder, why)
            self._processes.renew_lease(folder)
            self._clock.sleep(pause)
        raise AssertionError("the pauses never end")


def _tail(log: Path) -> str:
    try:
        with log.open("rb") as stream:
            stream.seek(max(0, stream.seek(0, os.SEEK_END) - TAIL_BYTES))
            return stream.read(TAIL_BYTES).decode("utf-8", "replace").strip()
    except FileNotFoundError:
        return ""


def _pauses() -> Iterator[timedelta]:
    pause = POLL
    while True:
        yield pause
        pause = min(pause * 1.2, POLL_MAX)
