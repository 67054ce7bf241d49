"""What a plan must pass before anything of it is stored."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterable, Sequence
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING

from yaoki.adapters.processes.command import run_command
from yaoki.adapters.workspace import resolve_base
from yaoki.app.services import Services
from yaoki.core.decide.baseline import as_displayed_baseline
from yaoki.core.environment import BASIC_VARIABLES, filter_environment
from yaoki.core.text import format_count, one_line, strip_terminal_codes
from yaoki.errors import Fault, NotNow, PlanInvalid

if TYPE_CHECKING:
    from yaoki.core.model import CheckSpec, Finding, TaskSpec
    from yaoki.formats.plan import Plan, PlanEnvironment, PromptRequirements

SETUP_TIMEOUT = timedelta(minutes=10)
WORDS_CHARS_MAX = 200
SetupCommands = tuple[tuple[str, ...], ...]


class PlanPreflight(Services):
    """Refuses by name what could not run here."""

    def check_tags(self, specs: Iterable[TaskSpec], more: Sequence[str] = ()) -> None:
        """A task that needs what nobody declares would wait for ever, so it is refused by name."""
        wanted = [spec for spec in specs if spec.tags]
        if not wanted:
            return
        declared = [
            self.worker_tags(more),
            *(seen.worker.tags for seen in self.list_live_workers()),
        ]
        for spec in wanted:
            if not any(set(spec.tags) <= set(tags) for tags in declared):
                names = ", ".join(spec.tags)
                raise NotNow(
                    f"task {spec.name!r} needs a worker with the tags {names}, and none is there",
                    hint=f"start one first: yaoki worker {_tag_words(spec.tags)}",
                )

    def check_references(self, plan: Plan) -> None:
        """What a plan leans on besides itself: its readers and the project's prompts."""
        from yaoki.adapters.checks.readers import reader_defect

        named = ((c.name, reader_defect(c.reader)) for c in plan.catalogue.checks.values())
        defects = [f"checks.{name}.reader: {why}" for name, why in named if why]
        if defects:
            raise PlanInvalid(defects[0], hint="docs/reference/extractors.md", defects=defects)
        self.check_prompts(plan)

    @property
    def known_names(self) -> PlanEnvironment:
        """What a plan file may name besides what stands in it."""
        from yaoki.adapters.checks.readers import extractor_names
        from yaoki.formats.plan import PlanEnvironment

        return PlanEnvironment(extractor_names, self._prompt_defects)

    def _prompt_defects(self, asked: PromptRequirements) -> Sequence[str]:
        from yaoki.core.settings.settings import LANGUAGES
        from yaoki.formats.prompts import check_templates

        folder, own = self.yaoki_folder / "prompts", self.settings.patterns
        return check_templates(folder, LANGUAGES, own, asked.files, asked.params)

    def check_prompts(self, plan: Plan) -> None:
        """The project's own prompt files, before an agent would get them."""
        defects = self._prompt_defects(plan.prompt_requirements)
        if defects:
            found = format_count(len(defects), "defect")
            words = f"{self.yaoki_folder / 'prompts'}: {found} in the project's own prompts"
            raise PlanInvalid(words, hint="yaoki prompts test PATTERN", defects=defects)

    def run_base_checks(self, plan: Plan, base: str = "") -> dict[str, Finding]:
        """What the plan's commands and files say of the base, before anybody has worked on it.

        Judges cost money and git checks need a task, so neither is asked.  Each check is run after
        the set-up of the task that asks for it, in a worktree for that set-up alone.
        """
        self.trust.require_trusted()
        _, commit = resolve_base(self.repository, base or plan.base)
        looked = [c for c in plan.catalogue.checks.values() if c.type in {"command", "file"}]
        found: dict[str, Finding] = {}
        for setup, checks in _by_setup(plan, looked).items():
            found |= self._look_at_base(commit, setup, checks)
        return {spec.name: found[spec.name] for spec in looked}

    def _look_at_base(
        self, commit: str, setup: SetupCommands, checks: Sequence[CheckSpec]
    ) -> dict[str, Finding]:
        from yaoki.adapters.checks import CheckDispatcher
        from yaoki.app.base_checks import open_base_room

        checker = CheckDispatcher(self.processes, timedelta(0))
        opened = open_base_room(
            self.proof_rooms, checker, commit, setup, lambda at: _set_up(setup, at)
        )
        with opened as (room, words), tempfile.TemporaryDirectory() as logs:
            if words:
                return {spec.name: _unproven(spec, words) for spec in checks}
            return {
                spec.name: as_displayed_baseline(room.run_check(spec, Path(logs) / spec.name))
                for spec in checks
            }

    def check_programs(self, plan: Plan) -> None:
        """Before an agent costs anything: is the program of every check there?

        A path may be made by set-up or by a task, and a PATH of the check's own is not ours.
        """
        for spec in plan.catalogue.checks.values():
            program = spec.argv[0] if spec.argv and "PATH" not in spec.env else ""
            if program and "/" not in program and shutil.which(program) is None:
                raise PlanInvalid(
                    f"check {spec.name}: the program {program!r} is not on the PATH",
                    hint=f"install it, or change checks.{spec.name} in the plan or yaoki.toml",
                )

    def check_agents(self, plan: Plan) -> None:
        """Before anything is stored: can every agent of the plan run here at all?"""
        for spec in plan.catalogue.agents.values():
            try:
                self.find_agent(spec.preset).preflight(spec)
            except Fault as fault:
                raise PlanInvalid(fault.sentence, hint=fault.hint) from fault


def _by_setup(plan: Plan, checks: Sequence[CheckSpec]) -> dict[SetupCommands, list[CheckSpec]]:
    """The checks by the set-up they need: that of the first task that asks for the check.

    What only `done_when` asks is run after all of them, for it is about the work of all tasks.
    """
    every = tuple(dict.fromkeys(argv for spec in plan.specs for argv in spec.setup))
    found: dict[SetupCommands, list[CheckSpec]] = {}
    for check in checks:
        users = (s.setup for s in plan.specs if any(c.name == check.name for c in s.checks))
        found.setdefault(next(users, every), []).append(check)
    return found


def _set_up(commands: SetupCommands, place: Path) -> str:
    """Empty when every command succeeded; else what stopped the set-up."""
    for argv in commands:
        words = f"set-up command {' '.join(argv)!r}"
        try:
            done = run_command(
                argv,
                cwd=place,
                env=filter_environment(os.environ, BASIC_VARIABLES),
                timeout=SETUP_TIMEOUT,
            )
        except Fault as fault:
            return f"{words}: {fault.sentence}"
        if done.code != 0:
            said = (done.err or done.out).decode("utf-8", "replace").strip().splitlines()
            last = one_line(strip_terminal_codes(said[-1]), WORDS_CHARS_MAX) if said else ""
            return f"{words} ended with {done.code}" + (f": {last}" if last else "")
    return ""


def _unproven(spec: CheckSpec, words: str) -> Finding:
    from yaoki.core.model import Finding, Outcome

    return Finding(spec.name, Outcome.BROKEN, message=f"was not run: {words}")


def _tag_words(tags: Iterable[str]) -> str:
    return " ".join(f"--tag {tag}" for tag in tags)
