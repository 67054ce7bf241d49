"""Requirements that a plan must meet before it is stored."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING

from yaoki.adapters.git.repository import resolve_base
from yaoki.core.model.check_types import FILE_CHECKS
from yaoki.core.model.spec import list_chain
from yaoki.core.text import format_count
from yaoki.errors import FatalCode, Fault, NotNow, PlanInvalid

if TYPE_CHECKING:
    from yaoki.app.base_checks import BaseSetup, Progress
    from yaoki.app.missing_programs import MissingProgram
    from yaoki.app.repository import RepositoryContext
    from yaoki.app.services import Services
    from yaoki.core.model import AgentSpec, CheckSpec, Finding, TaskSpec
    from yaoki.formats.plan import Plan, PlanEnvironment, PromptRequirements


class PlanPreflight:
    """Refuses, by name, each part of a plan that could not run here."""

    def __init__(self, context: RepositoryContext, services: Services) -> None:
        self._context, self._services = context, services

    def check_tags(self, specs: Iterable[TaskSpec], more: Sequence[str] = ()) -> None:
        """Refuse a task whose tags no worker declares: it would wait forever."""
        wanted = [spec for spec in specs if spec.tags]
        if not wanted:
            return
        declared = [
            self._services.worker_tags(more),
            *(live.worker.tags for live in self._services.list_live_workers()),
        ]
        for spec in wanted:
            if not any(set(spec.tags) <= set(tags) for tags in declared):
                names = ", ".join(spec.tags)
                raise NotNow(
                    f"task {spec.name!r} needs a worker with the tags {names}; none is running",
                    hint=f"start one first: yaoki worker {_format_tags(spec.tags)}",
                )

    def check_references(self, plan: Plan) -> None:
        """Refuse readers and project prompts that do not exist."""
        if checks := [check for check in plan.catalogue.checks.values() if check.reader]:
            from yaoki.adapters.checks.readers import reader_defect

            problems = ((check.name, reader_defect(check.reader)) for check in checks)
            defects = [f"checks.{name}.reader: {words}" for name, words in problems if words]
            if defects:
                raise PlanInvalid(defects[0], hint="docs/reference/extractors.md", defects=defects)
        if any(check.hidden for check in plan.catalogue.checks.values()):
            self._context.hidden_checks.refuse_defects(plan)
        self.check_prompts(plan)

    @property
    def known_names(self) -> PlanEnvironment:
        """Names that a plan file may use besides its own."""
        from yaoki.formats.plan import PlanEnvironment

        return PlanEnvironment(_list_extractors, self._find_prompt_defects)

    def _find_prompt_defects(self, requirements: PromptRequirements) -> Sequence[str]:
        folder, own = self._context.yaoki_folder / "prompts", self._context.settings.patterns
        if not folder.is_dir():
            return ()  # without prompt files of the project the template engine is not needed
        from yaoki.core.settings.settings import LANGUAGES
        from yaoki.formats.prompts import check_templates

        return check_templates(folder, LANGUAGES, own, requirements.files, requirements.params)

    def check_prompts(self, plan: Plan) -> None:
        """Refuse defective prompt files of the project before an agent gets them."""
        defects = self._find_prompt_defects(plan.prompt_requirements)
        if defects:
            count = format_count(len(defects), "defect")
            words = (
                f"{self._context.yaoki_folder / 'prompts'}: {count} in the project's own prompts"
            )
            raise PlanInvalid(words, hint="yaoki prompts test PATTERN", defects=defects)

    def run_base_checks(self, plan: Plan, progress: Progress) -> dict[str, Finding]:
        """Run the plan's command and file checks on the base.

        Judges cost money and git checks need a task, so both are left out.  Each check runs after
        the set-up of the task that uses it, in a worktree for that set-up alone.
        """
        self._context.trust.require_trusted()
        _, commit = resolve_base(self._context.repository, plan.base)
        specs = [c for c in plan.catalogue.checks.values() if c.type in FILE_CHECKS]
        findings: dict[str, Finding] = {}
        for setup, checks in _group_by_setup(plan, specs).items():
            findings |= self._run_checks_on_base(commit, setup, checks, plan.specs, progress)
        return {spec.name: findings[spec.name] for spec in specs}

    def _run_checks_on_base(
        self,
        commit: str,
        setup: BaseSetup,
        checks: Sequence[CheckSpec],
        tasks: Sequence[TaskSpec],
        progress: Progress,
    ) -> dict[str, Finding]:
        import tempfile

        from yaoki.adapters.checks import CheckDispatcher
        from yaoki.app.base_checks import open_base_room
        from yaoki.app.new_tests import explain_new_tests
        from yaoki.app.trust import is_called_by_attempt
        from yaoki.core.decide.baseline import as_displayed_baseline
        from yaoki.core.hidden_checks import conceal_details

        checker = CheckDispatcher(
            self._context.processes,
            timedelta(0),
            checkout=self._context.repository.top,
            find_hidden=self._context.hidden_checks.find_now,
        )
        opened = open_base_room(self._context.proof_rooms, checker, commit, setup, progress)
        findings = {}
        with opened as (room, problem), tempfile.TemporaryDirectory() as logs:
            if problem is not None:
                return {spec.name: _make_broken_finding(spec, problem.words) for spec in checks}
            for spec in checks:
                with progress(f"check {spec.name}"):
                    finding = room.run_check(spec, Path(logs) / spec.name)
                shown = conceal_details(finding, spec) if is_called_by_attempt() else finding
                explained = explain_new_tests(shown, spec, tasks, room.room.files)
                findings[spec.name] = explained or as_displayed_baseline(shown)
        return findings

    def check_programs(self, plan: Plan, *, with_agents: bool) -> None:
        """Refuse a plan whose programs are missing, all of them at once."""
        from yaoki.app.missing_programs import refuse_missing_programs

        agents = self._unusable_agents(plan, plan.catalogue.agents.values()) if with_agents else ()
        refuse_missing_programs([*self.missing_programs(plan), *agents])

    def missing_programs(self, plan: Plan) -> list[MissingProgram]:
        """Programs of checks and set-ups that are not on the PATH, and missing environments."""
        from yaoki.app.missing_programs import find_missing_programs

        return list(find_missing_programs(plan, self._context))

    def missing_agents(self, plan: Plan) -> list[MissingProgram]:
        """Agents that cannot run here; fast if all of them are commands on the PATH."""
        from yaoki.app.missing_programs import has_command

        unsure = [spec for spec in plan.catalogue.agents.values() if not has_command(spec)]
        return list(self._unusable_agents(plan, unsure))

    def _unusable_agents(self, plan: Plan, specs: Iterable[AgentSpec]) -> Iterator[MissingProgram]:
        """Each agent, with each of its accounts; a missing program is named once."""
        from yaoki.app.missing_programs import MissingProgram, find_substitute

        unusable: dict[str, tuple[AgentSpec, Fault]] = {}
        for spec in list_chain(specs):
            try:
                self._context.find_agent(spec.preset).preflight(spec)
            except Fault as fault:
                unusable[spec.title] = (spec, fault)
        by_sentence = {cause.sentence: (spec, cause) for spec, cause in unusable.values()}
        for sentence, (spec, cause) in by_sentence.items():
            substitute = find_substitute(plan, spec, unusable)
            yield MissingProgram(
                sentence,
                cause.hint,
                is_agent=True,
                replaced_by=substitute,
                is_variable=cause.code is FatalCode.AUTHENTICATION_FAILED,
            )


def _list_extractors() -> Collection[str]:
    from yaoki.adapters.checks.readers import extractor_names

    return extractor_names()


def _group_by_setup(plan: Plan, checks: Sequence[CheckSpec]) -> dict[BaseSetup, list[CheckSpec]]:
    """The checks by the set-up of the first task that uses them.

    A check of `done_when` alone runs after all set-ups, because it is about the work of all tasks.
    """
    from yaoki.app.base_checks import BaseSetup

    commands = dict.fromkeys(argv for spec in plan.specs for argv in spec.setup)
    inputs = dict.fromkeys(glob for spec in plan.specs for glob in spec.setup_inputs)
    every = BaseSetup(tuple(commands), tuple(inputs))
    by_setup: dict[BaseSetup, list[CheckSpec]] = {}
    for check in checks:
        users = (
            BaseSetup(spec.setup, spec.setup_inputs)
            for spec in plan.specs
            if any(one.name == check.name for one in spec.checks)
        )
        by_setup.setdefault(next(users, every), []).append(check)
    return by_setup


def _make_broken_finding(spec: CheckSpec, words: str) -> Finding:
    from yaoki.core.model import Finding, Outcome

    return Finding(spec.name, Outcome.BROKEN, message=f"was not run: {words}")


def _format_tags(tags: Iterable[str]) -> str:
    return " ".join(f"--tag {tag}" for tag in tags)
