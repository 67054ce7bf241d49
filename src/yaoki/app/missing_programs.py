"""Programs and environments that this machine lacks, found before an agent costs anything.

Of checks and set-up only names are looked for: a path may be in the repository, or be made by
set-up or by a task.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from yaoki.core.commands.installers import list_installed_folders
from yaoki.core.commands.needed_programs import list_needed_programs
from yaoki.core.environment import VIRTUAL_ENV, check_search_path
from yaoki.core.lazy_dataclass import dataclass
from yaoki.core.model.spec import list_chain
from yaoki.core.text import format_count
from yaoki.errors import PlanInvalid

if TYPE_CHECKING:
    from yaoki.app.missing_environments import MissingEnvironment
    from yaoki.app.repository import RepositoryContext
    from yaoki.core.model import AgentSpec, CheckSpec, TaskSpec
    from yaoki.formats.plan import Plan


@dataclass(frozen=True, slots=True)
class MissingProgram:
    """A sentence that names the program and what needs it, and how to get it.

    `replaced_by`: the agent that works instead, in every chain with the missing one.
    `is_variable`: its program is there, and a variable with its key is not set.
    `is_environment`: a folder of `VIRTUAL_ENV` is missing, and with it all of its programs.
    """

    sentence: str
    remedy: str
    is_agent: bool = False
    replaced_by: str = ""
    is_variable: bool = False
    is_environment: bool = False


def refuse_missing_programs(missing: Sequence[MissingProgram]) -> None:
    """Raises `PlanInvalid` with all that nothing replaces; nothing if there is none."""
    missing = [one for one in missing if not one.replaced_by]
    if not missing:
        return
    first = missing[0]
    if len(missing) == 1:
        raise PlanInvalid(first.sentence, hint=first.remedy)
    defects = [f"{one.sentence}; {one.remedy}" for one in missing]
    hint = "each line ends with its remedy; then run the command again"
    raise PlanInvalid(_count_missing(missing), hint=hint, defects=defects)


def _count_missing(missing: Sequence[MissingProgram]) -> str:
    environments = [one for one in missing if one.is_environment]
    programs = [one for one in missing if not one.is_variable and not one.is_environment]
    parts = []
    if environments:
        words = format_count(
            len(environments), "folder of VIRTUAL_ENV is", "folders of VIRTUAL_ENV are"
        )
        parts.append(f"{words} missing")
    if programs:
        # An agent may be there and not usable, for example hidden by the sandbox.
        more = " or cannot run here" if any(one.is_agent for one in programs) else ""
        parts.append(f"{format_count(len(programs), 'program is', 'programs are')} missing{more}")
    if unset := sum(one.is_variable for one in missing):
        words = format_count(unset, "variable of an agent is", "variables of agents are")
        parts.append(f"{words} not set")
    return ", and ".join(parts)


def has_command(agent: AgentSpec) -> bool:
    """Is the agent a command of its own that is on the PATH?  False also where only its preset
    knows, or where a variable may be missing.
    """
    if agent.preset != "command" or not agent.command or "PATH" in agent.env:
        return False
    if agent.env_from or agent.accounts:
        return False
    program = agent.command[0]
    return "/" not in program and not _is_missing(program, os.environ.get("PATH", os.defpath))


def find_substitute(plan: Plan, agent: AgentSpec, unusable: Collection[str]) -> str:
    """The agent that works instead of this one; empty if a chain has none, or a judge is asked by
    name.  `unusable` are the titles of the agents that cannot run here.
    """
    checks = (check for spec in plan.specs for check in spec.checks)
    judges = {check.agent.name for check in checks if check.agent is not None}
    judges |= {spec.race.judge for spec in plan.specs if spec.race is not None}
    chains = [
        *(spec.agents for spec in plan.specs),
        *(_named_chain(plan, names) for names in (plan.planner_agents, plan.default_agents)),
    ]
    used = [chain for chain in chains if any(one.title == agent.title for one in chain)]
    usable = [next((one.title for one in chain if one.title not in unusable), "") for chain in used]
    return "" if agent.name in judges or not all(usable) else next(iter(usable), "")


def _named_chain(plan: Plan, names: Sequence[str]) -> tuple[AgentSpec, ...]:
    known = plan.catalogue.agents
    return list_chain(known[name] for name in names if name in known)


def find_missing_programs(plan: Plan, context: RepositoryContext) -> Iterator[MissingProgram]:
    """Programs of checks and of set-up, and the environments that checks name."""
    # A task with tags may run on another machine.
    local = [spec for spec in plan.specs if not spec.tags]
    for program, command in dict.fromkeys(filter(None, map(_first_setup_program, local))):
        if _is_missing(program, os.environ.get("PATH", os.defpath)):
            words = f"set-up {command}: the program {program!r} is not on the PATH"
            remedy = _remedy(program, "setup in the plan or yaoki.toml", {}, context)
            yield MissingProgram(words, remedy)
    without: dict[MissingEnvironment, list[str]] = {}
    for check in _list_local_checks(plan, local):
        if lacking := _find_missing_environment(check, context):
            without.setdefault(lacking, []).append(check.name)
            continue
        for program in _missing_of(check, str(context.repository.top)):
            words = f"check {check.name}: the program {program!r} is not on the PATH"
            place = f"checks.{check.name} in the plan or yaoki.toml"
            yield MissingProgram(words, _remedy(program, place, check.env, context))
    yield from (_name_checks(lacking, names) for lacking, names in without.items())


def _list_local_checks(plan: Plan, local: Sequence[TaskSpec]) -> Iterator[CheckSpec]:
    """The checks that run on this machine, and whose programs no set-up may bring."""
    for check in plan.catalogue.checks.values():
        users = [spec for spec in plan.specs if any(c.name == check.name for c in spec.checks)]
        if users and not any(spec in local for spec in users) and check.name not in plan.done_when:
            continue
        if not any(_may_bring_programs(spec) for spec in users or plan.specs):
            yield check


def _find_missing_environment(
    check: CheckSpec, context: RepositoryContext
) -> MissingEnvironment | None:
    if VIRTUAL_ENV not in check.env or not (check.argv or check.shell):
        return None
    from yaoki.app.missing_environments import look_for_environment

    return look_for_environment(check.env, context)


def _name_checks(lacking: MissingEnvironment, checks: Sequence[str]) -> MissingProgram:
    """One defect for all checks with the same environment."""
    named = ", ".join(checks)
    words = f"{'checks' if len(checks) > 1 else 'check'} {named}: {lacking.sentence}"
    remedy = f"create it: {lacking.command}"
    if lacking.setting:
        remedy = f"use that of another checkout instead: {lacking.setting}, or {remedy}"
    return MissingProgram(words, remedy, is_environment=True)


def _first_setup_program(spec: TaskSpec) -> tuple[str, str] | None:
    """Later commands may start what the first ones installed."""
    if not spec.setup:
        return None
    programs = list_needed_programs(spec.setup[0], "")
    return (programs[0], " ".join(spec.setup[0])) if programs else None


def _may_bring_programs(spec: TaskSpec) -> bool:
    """Package managers of a project put nothing on the PATH; any other command may."""
    return bool(spec.setup) and not list_installed_folders(spec.setup)


def _missing_of(check: CheckSpec, checkout: str) -> list[str]:
    own = check_search_path(os.environ, check.env, checkout)
    path = own or os.environ.get("PATH", os.defpath)
    needed = list_needed_programs(check.argv, check.shell)
    return [program for program in needed if _is_missing(program, path)]


def _is_missing(program: str, path: str) -> bool:
    """A relative entry of the PATH leads into the checkout, whose content is not known yet."""
    if "/" in program or "{" in program:
        return False
    entries = [entry for entry in path.split(os.pathsep) if entry]
    if not all(entry.startswith("/") for entry in entries):
        return False
    return not any(_is_program(f"{entry}/{program}") for entry in entries)


def _is_program(file: str) -> bool:
    """As `shutil.which`, whose module is slow to import."""
    return os.path.isfile(file) and os.access(file, os.X_OK)  # noqa: PTH113  a string throughout


def _remedy(program: str, place: str, env: Mapping[str, str], context: RepositoryContext) -> str:
    from yaoki.app.remedies import choose_local_command, install_for_environment
    from yaoki.formats.discovery import install_command

    command = choose_local_command(install_command(program))
    install = install_for_environment(command, env, context.repository.top)
    return f"{install}, or change {place}" if install else f"install it, or change {place}"
