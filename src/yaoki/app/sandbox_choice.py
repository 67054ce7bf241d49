"""Which commands of a task run inside the sandbox, by the settings and by what is available."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping
from functools import cached_property
from pathlib import Path

from yaoki.adapters.agents import works_in_sandbox
from yaoki.adapters.processes.sandbox import Sandbox
from yaoki.core.model import Run, Task
from yaoki.core.settings.settings import SandboxMode, SandboxSettings
from yaoki.errors import Fault, SandboxUnavailable, SettingsInvalid, Unknown

# The default of the whole machine, where the settings leave it open.
MODE_VARIABLE = "YAOKI_SANDBOX_MODE"
HAVE = 'to use one: sandbox.mode = "on" in yaoki.toml'
OUTSIDE = "agents run with your rights, outside a sandbox"


class SandboxChoice:
    """With `auto` a task runs in the sandbox, with its checks and set-up, where a sandbox is
    available and its agent is known to work in it.

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
        is_open = settings.mode is SandboxMode.AUTO
        self.mode = _mode_of_machine(environ) if is_open else settings.mode
        self._setting = MODE_VARIABLE if is_open else "sandbox.mode"
        self._sandbox, self._folder, self._task, self._run = sandbox, folder, task, run

    @property
    def sandbox(self) -> Sandbox | None:
        """None where the sandbox is never used."""
        if self.mode is SandboxMode.OFF:
            return None
        if self.mode is SandboxMode.AUTO and self.unavailable_reason:
            return None
        return self._sandbox

    @cached_property
    def unavailable_reason(self) -> str:
        """The reason why no sandbox is available here; empty when one is."""
        try:
            self._sandbox.check_available()
        except SandboxUnavailable as unavailable:
            return unavailable.reason
        except Fault as fault:
            return fault.sentence
        return ""

    def applies_to_agent(self, preset: str) -> bool:
        if self.mode is SandboxMode.ON:
            return True
        return self.sandbox is not None and works_in_sandbox(preset)

    def applies_to_folder(self, folder: Path) -> bool:
        """Does a process of this folder run in the sandbox?  One without a task follows its run."""
        if self.mode is SandboxMode.ON:
            return True
        if self.sandbox is None or not folder.is_relative_to(self._folder):
            return False
        run_id, task_id, *_ = (*folder.relative_to(self._folder).parts, "", "")
        presets = self._presets(run_id, task_id)
        return bool(presets) and all(works_in_sandbox(preset) for preset in presets)

    def _presets(self, run_id: str, task_id: str) -> list[str]:
        """The preset of the task's agent; those of all agents of the run where it has none."""
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
        """One line about agents that run outside the sandbox; empty when there is none."""
        used = sorted(set(presets))
        if not used or self.mode is SandboxMode.ON:
            return ""
        if self.mode is SandboxMode.OFF:
            return f"{OUTSIDE} ({self._setting} is off); to use one: yaoki doctor"
        if self.unavailable_reason:
            return f"{OUTSIDE} ({self.unavailable_reason}); to use one: yaoki doctor"
        strange = [preset for preset in used if not works_in_sandbox(preset)]
        if not strange:
            return ""
        names = ", ".join(strange)
        return f"{OUTSIDE} (preset {names}: not tried in it); {HAVE}"


def _mode_of_machine(environ: Mapping[str, str]) -> SandboxMode:
    """The setting of the machine; an unknown value would silently leave agents outside."""
    word = environ.get(MODE_VARIABLE) or SandboxMode.AUTO
    if word not in tuple(SandboxMode):
        sentence = f"{MODE_VARIABLE} is {word!r}, which is not one of {', '.join(SandboxMode)}"
        raise SettingsInvalid(sentence, hint=f"unset {MODE_VARIABLE}, or give it one of them")
    return SandboxMode(word)
