"""The processes of an attempt: start, wait while the lease is renewed, end."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from datetime import timedelta
from pathlib import Path

from yaoki.core.model import EndCause, Task
from yaoki.core.redact import mask, secret_values
from yaoki.core.text import format_duration, one_line, strip_terminal_codes
from yaoki.engine.claim_context import ClaimContext, ClaimSuperseded, StopReason
from yaoki.engine.stage_settings import StageSettings
from yaoki.ports import Launch, Processes, ProcessPhase, ProcessState

POLL = timedelta(milliseconds=5)
POLL_MAX = timedelta(milliseconds=250)
TAIL_BYTES = 4096


class AttemptProcesses:
    """A worker that waits for a process also renews its lease, and ends it when it must stop."""

    def __init__(self, processes: Processes, settings: StageSettings) -> None:
        self._processes, self._settings = processes, settings

    def folder(self, task: Task, attempt: int) -> Path:
        """The folder of an attempt's prompt, logs and exit, named so that it can be found again."""
        return self._settings.folder / task.run_id / task.id / str(attempt)

    def agent_started_at(self, task: Task) -> float:
        """The time at which the agent of the attempt got its prompt; zero when it got none."""
        return self._written_at(task, "prompt.md", task.attempt)

    def work_started_at(self, task: Task) -> float:
        """The time at which the newest agent of the task got its prompt; a person who took the
        task over worked after it.
        """
        attempts = range(task.attempt, 0, -1) if task.taken_over else (task.attempt,)
        times = (self._written_at(task, "prompt.md", attempt) for attempt in attempts)
        return next(filter(None, times), 0.0)

    def agent_ended_at(self, task: Task) -> float:
        """The time at which the agent of the attempt ended; zero when that is unknown."""
        return self._written_at(task, "exit.json", task.attempt)

    def _written_at(self, task: Task, name: str, attempt: int) -> float:
        try:
            return (self.folder(task, attempt) / name).lstat().st_mtime
        except OSError:
            return 0.0

    def end_leftovers(self, task: Task) -> None:
        """End what still runs for this or the next attempt: agent, set-up or checks."""
        for attempt in (task.attempt, task.attempt + 1):
            for started in self.folder(task, attempt).glob("**/started.json"):
                if self._processes.inspect(started.parent).phase in {
                    ProcessPhase.RUNNING,
                    ProcessPhase.GONE,
                }:
                    self._processes.end(started.parent, EndCause.CANCEL)

    def run_to_end(
        self,
        folder: Path,
        argv: tuple[str, ...],
        cwd: Path,
        claim: ClaimContext,
        secret_variables: Sequence[str],
    ) -> tuple[Path, ProcessState]:
        """Run a command of yaoki; an earlier run that a crash interrupted is ended first.

        Returns the folder of this run.  Values of `secret_variables` are masked in its logs.
        """
        folder = self._unused_folder(folder)
        launch = Launch(
            argv=argv,
            cwd=str(cwd),
            env={**self._settings.environment, **claim.environment},
            deadline=self._settings.setup_timeout,
            lease=self._settings.lease,
            secrets=secret_values(self._settings.worker_environment, secret_variables),
        )
        self._processes.start(folder, launch)
        return folder, self.wait(folder, claim, lambda: "")

    def last_output_line(self, folder: Path, secret_variables: Sequence[str]) -> str:
        """The last line of a command's output; standard error first."""
        texts = (_tail(folder / name) for name in ("err.log", "out.log"))
        lines = [line for text in texts for line in strip_terminal_codes(text).splitlines()[-1:]]
        secrets = secret_values(self._settings.worker_environment, secret_variables)
        return mask(one_line(lines[0]), secrets) if lines else ""

    def _unused_folder(self, folder: Path) -> Path:
        for n in range(1, 1000):
            candidate = folder if n == 1 else folder.with_name(f"{folder.name}-{n}")
            if self._processes.inspect(candidate).phase == ProcessPhase.ABSENT:
                return candidate
            self._processes.end(candidate, EndCause.STOP)
        raise AssertionError(f"a thousand tries in {folder}")

    def wait(self, folder: Path, claim: ClaimContext, stop_if: Callable[[], str]) -> ProcessState:
        """Wait until the process tree has ended, and renew the shim's lease meanwhile."""
        warned = False
        for pause in _pauses():
            state = self._processes.inspect(folder)
            if state.phase != ProcessPhase.RUNNING:
                return state
            if state.quiet_seconds >= self._settings.hang_warning.total_seconds() and not warned:
                warned = True
                quiet = format_duration(state.quiet_seconds)
                claim.warn(f"silent for {quiet}: no CPU, output or file change")
            stop_reason = claim.stop_reason()
            if stop_reason is StopReason.LOST:
                # The next worker may wait for the same process tree, so leave it running.
                raise ClaimSuperseded
            reason = stop_reason or stop_if()
            if reason:
                return self._processes.end(folder, EndCause(reason))
            self._processes.renew_lease(folder)
            self._processes.pause(folder, pause)
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
