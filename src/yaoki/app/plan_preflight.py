"""What a plan must pass before anything of it is stored."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterable, Sequence
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING

from yaoki.adapters.processes.command import run
from yaoki.adapters.workspace import resolve_base
from yaoki.app.services import Parts
from yaoki.core.counting import count
from yaoki.core.decide.baseline import at_base
from yaoki.core.display import one_line, plain
from yaoki.core.environment import BASIC, allowed
from yaoki.errors import Fault, NotNow, PlanInvalid

if TYPE_CHECKING:
    from yaoki.core.model import CheckSpec, Finding, Spec
    from yaoki.formats.plan import Asked, Known, Plan

SETUP_TIMEOUT = timedelta(minutes=10)
WORDS_CHARS_MAX = 200
Setup = tuple[tuple[str, ...], ...]


class Gate(Parts):
    """Refuses by name what could not run here."""

    def check_tags(self, specs: Iterable[Spec], more: Sequence[str] = ()) -> None:
        """A task that needs what nobody declares would wait for ever, so it is refused by name."""
        wanted = [spec for spec in specs if spec.tags]
        if not wanted:
            return
        declared = [self.tags(more), *(seen.worker.tags for seen in self.workers())]
        for spec in wanted:
            if not any(set(spec.tags) <= set(tags) for tags in declared):
                names = ", ".join(spec.tags)
                raise NotNow(
                    f"task {spec.name!r} needs a worker with the tags {names}, and none is there",
                    hint=f"start one first: yaoki worker {_tag_words(spec.tags)}",
                )

    def check(self, plan: Plan) -> None:
        """What a plan leans on besides itself: its readers and the project's prompts."""
        from yaoki.adapters.checks.readers import reader_defect

        named = ((c.name, reader_defect(c.reader)) for c in plan.catalogue.checks.values())
        defects = [f"checks.{name}.reader: {why}" for name, why in named if why]
        if defects:
            raise PlanInvalid(defects[0], hint="docs/reference/extractors.md", defects=defects)
        self.check_prompts(plan)

    @property
    def known(self) -> Known:
        """What a plan file may name besides what stands in it."""
        from yaoki.adapters.checks.readers import extractor_names
        from yaoki.formats.plan import Known

        return Known(extractor_names, self._prompt_defects)

    def _prompt_defects(self, asked: Asked) -> Sequence[str]:
        from yaoki.core.settings.settings import LANGUAGES
        from yaoki.formats.prompts import check_tree

        folder, own = self.home / "prompts", self.settings.patterns
        return check_tree(folder, LANGUAGES, own, asked.files, asked.params)

    def check_prompts(self, plan: Plan) -> None:
        """The project's own prompt files, before an agent would get them."""
        defects = self._prompt_defects(plan.asked)
        if defects:
            found = count(len(defects), "defect")
            words = f"{self.home / 'prompts'}: {found} in the project's own prompts"
            raise PlanInvalid(words, hint="yaoki prompts test PATTERN", defects=defects)

    def baseline(self, plan: Plan, base: str = "") -> dict[str, Finding]:
        """What the plan's commands and files say of the base, before anybody has worked on it.

        Judges cost money and git checks need a task, so neither is asked.  Each check is run after
        the set-up of the task that asks for it, in a worktree for that set-up alone.
        """
        self.trust.refuse()
        _, commit = resolve_base(self.repository, base or plan.base)
        looked = [c for c in plan.catalogue.checks.values() if c.type in {"command", "file"}]
        found: dict[str, Finding] = {}
        for setup, checks in _by_setup(plan, looked).items():
            found |= self._look_at_base(commit, setup, checks)
        return {spec.name: found[spec.name] for spec in looked}

    def _look_at_base(
        self, commit: str, setup: Setup, checks: Sequence[CheckSpec]
    ) -> dict[str, Finding]:
        from yaoki.adapters.checks import Checks
        from yaoki.app.base_checks import base_room

        checker = Checks(self.processes, timedelta(0))
        opened = base_room(self.rooms, checker, commit, setup, lambda at: _set_up(setup, at))
        with opened as (room, words), tempfile.TemporaryDirectory() as logs:
            if words:
                return {spec.name: _unproven(spec, words) for spec in checks}
            return {
                spec.name: at_base(room.finding(spec, Path(logs) / spec.name)) for spec in checks
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


def _by_setup(plan: Plan, checks: Sequence[CheckSpec]) -> dict[Setup, list[CheckSpec]]:
    """The checks by the set-up they need: that of the first task that asks for the check.

    What only `done_when` asks is run after all of them, for it is about the work of all tasks.
    """
    every = tuple(dict.fromkeys(argv for spec in plan.specs for argv in spec.setup))
    found: dict[Setup, list[CheckSpec]] = {}
    for check in checks:
        users = (s.setup for s in plan.specs if any(c.name == check.name for c in s.checks))
        found.setdefault(next(users, every), []).append(check)
    return found


def _set_up(commands: Setup, place: Path) -> str:
    """Empty when every command succeeded; else what stopped the set-up."""
    for argv in commands:
        words = f"set-up command {' '.join(argv)!r}"
        try:
            done = run(argv, cwd=place, env=allowed(os.environ, BASIC), timeout=SETUP_TIMEOUT)
        except Fault as fault:
            return f"{words}: {fault.sentence}"
        if done.code != 0:
            said = (done.err or done.out).decode("utf-8", "replace").strip().splitlines()
            last = one_line(plain(said[-1]), WORDS_CHARS_MAX) if said else ""
            return f"{words} ended with {done.code}" + (f": {last}" if last else "")
    return ""


def _unproven(spec: CheckSpec, words: str) -> Finding:
    from yaoki.core.model import Finding, Outcome

    return Finding(spec.name, Outcome.BROKEN, message=f"was not run: {words}")


def _tag_words(tags: Iterable[str]) -> str:
    return " ".join(f"--tag {tag}" for tag in tags)
