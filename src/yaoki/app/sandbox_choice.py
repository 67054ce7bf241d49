"""Which commands of a task run inside the sandbox: what the settings ask, and what can be had."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping
from functools import cached_property
from pathlib import Path

from yaoki.adapters.agents import works_in_sandbox
from yaoki.adapters.processes.sandbox import Sandbox
from yaoki.core.model import Run, Task
from yaoki.core.settings.settings import SandboxSettings
from yaoki.errors import Fault, SettingsInvalid, Unknown

# For a machine as a whole, where the settings leave it open.
MODE_VARIABLE = "YAOKI_SANDBOX_MODE"
MODES = ("auto", "off", "on")
AUTO, OFF, ON = MODES
HAVE = 'to have one: sandbox.mode = "on" in yaoki.toml'


class SandboxChoice:
    """With `auto` a task is walled in, its checks and set-up as well, where a sandbox can be had
    and its agent is known to work there.

    `folder` holds a folder for each run, and in it one for each task; `task` and `run` find them.
    """

    def __init__(
        self,
        settings: SandboxSettings,
        sandbox: Sandbox,
        folder: Path,
        task: Callable[[str], Task],
        run: Callable[[str], Run],
        environ: Mapping[str, str] = os.environ,
    ) -> None:
        self.mode = _asked(environ) if settings.mode == AUTO else settings.mode
        self._sandbox, self._folder, self._task, self._run = sandbox, folder, task, run

    @property
    def sandbox(self) -> Sandbox | None:
        """None where nothing is ever walled in."""
        return (
            None
            if self.mode == OFF or (self.mode == AUTO and self.unavailable_reason)
            else self._sandbox
        )

    @cached_property
    def unavailable_reason(self) -> str:
        """Why no sandbox can be had here; empty when one can."""
        try:
            self._sandbox.check_available()
        except Fault as fault:
            return fault.sentence.partition(": ")[2]
        return ""

    def applies_to_agent(self, preset: str) -> bool:
        return self.mode == ON or (self.sandbox is not None and works_in_sandbox(preset))

    def applies_to_folder(self, folder: Path) -> bool:
        """Is what is started in this folder walled in?  What belongs to no task is as its run."""
        if self.mode == ON:
            return True
        if self.sandbox is None or not folder.is_relative_to(self._folder):
            return False
        run_id, task_id, *_ = (*folder.relative_to(self._folder).parts, "", "")
        presets = self._presets(run_id, task_id)
        return bool(presets) and all(works_in_sandbox(preset) for preset in presets)

    def _presets(self, run_id: str, task_id: str) -> list[str]:
        """Of the task's agent; of all agents of the run where it has none."""
        try:
            agent = self._task(task_id).agent
        except Unknown:
            agent = None
        if agent is not None:
            return [agent.preset]
        try:
            return [agent.preset for agent in self._run(run_id).catalogue.agents.values()]
        except Unknown:
            return []

    def explain_unsandboxed(self, presets: Iterable[str]) -> str:
        """One line for whoever starts a run of these agents; empty when all of them are inside."""
        if self.mode != AUTO:
            return ""
        if self.unavailable_reason:
            return f"no sandbox: {self.unavailable_reason}; to have one: yaoki doctor"
        strange = sorted({preset for preset in presets if not works_in_sandbox(preset)})
        if not strange:
            return ""
        return f"no sandbox for {', '.join(strange)}, never seen to work there; {HAVE}"


def _asked(environ: Mapping[str, str]) -> str:
    """The machine's own word; one that is none would leave agents outside unseen."""
    word = environ.get(MODE_VARIABLE) or AUTO
    if word not in MODES:
        sentence = f"{MODE_VARIABLE} is {word!r}, which is none of {', '.join(MODES)}"
        raise SettingsInvalid(sentence, hint=f"unset {MODE_VARIABLE}, or give it one of them")
    return word
