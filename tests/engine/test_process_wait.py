"""A worker that waits for a process: silence alone is no reason to end it."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import cast

import pytest

from yaoki.engine.claim_context import unclaimed_context
from yaoki.engine.stage_settings import StageSettings
from yaoki.engine.stages.processes import AttemptProcesses
from yaoki.ports import Processes, ProcessPhase, ProcessState

WARNING_AFTER = timedelta(minutes=5)


class SilentProcess:
    """A process that was silent for so many seconds whenever it is inspected, and then ends."""

    def __init__(self, *quiet_seconds: float) -> None:
        running = (ProcessState(ProcessPhase.RUNNING, quiet_seconds=each) for each in quiet_seconds)
        self._states: Iterator[ProcessState] = iter((*running, ProcessState(ProcessPhase.EXITED)))
        self.calls: list[str] = []

    def inspect(self, folder: Path) -> ProcessState:
        return next(self._states)

    def renew_lease(self, folder: Path) -> None:
        self.calls.append("renew")

    def pause(self, folder: Path, bound: timedelta) -> None:
        self.calls.append("pause")


@pytest.mark.spec("3.8")
def test_a_silent_process_causes_one_warning_keeps_its_lease_and_is_not_ended() -> None:
    process, warnings = SilentProcess(299.0, 300.0, 900.0, 2.0, 400.0), list[str]()
    settings = cast(StageSettings, SimpleNamespace(hang_warning=WARNING_AFTER))
    claim = unclaimed_context(lambda _, data: warnings.append(str(data)))

    processes = AttemptProcesses(cast(Processes, process), settings)
    state = processes.wait(Path("attempt"), claim, lambda: "")

    assert state.phase is ProcessPhase.EXITED
    assert process.calls == ["renew", "pause"] * 5
    (warning,) = warnings
    assert "silent for 5 min" in warning
