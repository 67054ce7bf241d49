"""Runs the processes of one check to their end, renews their lease, stops them on request."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import timedelta
from functools import cached_property
from pathlib import Path

from yaoki.adapters.checks.findings import TRANSIENT_ERRNOS
from yaoki.adapters.processes.sandbox import refuse_links
from yaoki.core.environment import filter_environment
from yaoki.core.lazy_dataclass import dataclass
from yaoki.core.model import EndCause
from yaoki.core.redact import secret_values
from yaoki.core.text import format_duration
from yaoki.errors import Fault
from yaoki.ports import Launch, Processes, ProcessPhase, ProcessState

TRIES_MAX = 1000
UNENDED_PHASES = (ProcessPhase.RUNNING, ProcessPhase.GONE)
PAUSE_MIN, PAUSE_MAX = timedelta(milliseconds=10), timedelta(milliseconds=200)


@dataclass(frozen=True, slots=True)
class ProcessResult:
    """The end of a command, and the folder of its logs."""

    folder: Path
    state: ProcessState
    was_stopped: bool = False

    def find_interruption(self, timeout: timedelta) -> tuple[str, bool] | None:
        """The reason why the process did not end by itself, and whether a retry may help; None if
        it did.
        """
        state = self.state
        if self.was_stopped:
            return "stopped", True
        if state.start_error:
            return state.start_error, state.start_errno in TRANSIENT_ERRNOS
        if state.phase != ProcessPhase.EXITED:
            return "its process was lost", True
        if state.ended_by == EndCause.DEADLINE:
            return f"timed out after {format_duration(timeout.total_seconds())}", True
        if state.ended_by not in {EndCause.NONE, EndCause.OUTPUT}:
            return f"ended by {state.ended_by}", True
        return None


class CheckProcesses:
    """The processes of one check; their logs are in `folder`."""

    def __init__(
        self,
        processes: Processes,
        lease: timedelta,
        folder: Path,
        environ: Mapping[str, str],
        stop: Callable[[], bool],
        passed_names: Sequence[str] = (),
        checkout: Path = Path(),
    ) -> None:
        """`passed_names`: names and globs of the variables that the agents of the run get.
        `checkout`: the user's own, which may have a virtual environment.
        """
        self._processes, self._stop = processes, stop
        self.lease, self.folder, self.environ = lease, folder, environ
        self._handed, self.checkout = tuple(passed_names), checkout

    def secrets(self, *more: Mapping[str, str]) -> tuple[str, ...]:
        """Secret values in our environment and in these variables of the check."""
        others = (value for each in more for value in secret_values(each, self._handed))
        return (*self._own_secrets, *others)

    @cached_property
    def _own_secrets(self) -> tuple[str, ...]:
        return secret_values(self.environ, self._handed)

    def visible_secrets(self, *more: Mapping[str, str]) -> tuple[str, ...]:
        """Secret values that the check can see, and that must not remain in its logs."""
        visible = filter_environment(self.environ, self._handed)
        return tuple(
            v for variables in (visible, *more) for v in secret_values(variables, self._handed)
        )

    def next_free_folder(self, suffix: str = "") -> Path:
        """A folder that does not exist yet.  A process that an earlier try left running is ended.

        An existing folder without a process may be the agent's and is not used.
        """
        name = self.folder.name + suffix
        for n in range(1, TRIES_MAX):
            folder = self.folder.with_name(name if n == 1 else f"{name}-{n}")
            refuse_links(folder)
            if not folder.exists():
                return folder
            if self._processes.inspect(folder).phase in UNENDED_PHASES:
                self._processes.end(folder, EndCause.STOP)
        raise Fault(f"all {TRIES_MAX} folders for {self.folder} are in use", transient=False)

    def run(self, folder: Path, launch: Launch) -> ProcessResult:
        """Starts the process and waits for its end."""
        refuse_links(folder)
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        self._processes.start(folder, launch)
        try:
            return self._wait(folder)
        except BaseException:  # an interrupt, too, must leave no process behind
            self._processes.end(folder, EndCause.STOP)
            raise

    def _wait(self, folder: Path) -> ProcessResult:
        pause = PAUSE_MIN
        while (state := self._processes.inspect(folder)).phase == ProcessPhase.RUNNING:
            if self._stop():
                return ProcessResult(
                    folder, self._processes.end(folder, EndCause.STOP), was_stopped=True
                )
            self._processes.renew_lease(folder)
            self._processes.pause(folder, pause)
            pause = min(pause * 1.5, PAUSE_MAX)
        return ProcessResult(folder, state)
