"""`yaoki doctor` on agents and checks: do the agents answer, can the checks run?"""

from __future__ import annotations

import os
import shlex
import shutil
from collections.abc import Collection, Iterator, Sequence
from datetime import timedelta
from typing import TYPE_CHECKING

from yaoki.core.environment import VIRTUAL_ENV, check_search_path
from yaoki.core.lazy_dataclass import replace
from yaoki.core.model import BaselineMode
from yaoki.core.model.spec import list_chain
from yaoki.core.text import format_count, format_duration
from yaoki.errors import Fault
from yaoki.faces.cli.doctor.condition import Condition, command_in, edit_command, failed_condition

if TYPE_CHECKING:
    from yaoki.adapters.agents.availability import AgentAvailability
    from yaoki.app.build import App
    from yaoki.core.model import AgentSpec, CheckSpec, Finding

NO_AGENTS = "none in the settings and none known on the PATH; a plan may name its own command"
NO_CHECKS = "none in the settings; each plan must have its own"
ASIDE_SHOWN = 3
CHECK_TIMEOUT = timedelta(minutes=10)
SETUP = "set-up"


def examine_agents_and_checks(app: App, *, run_checks: bool) -> Iterator[Condition]:
    """The agents and checks of the settings, each in a line."""
    from yaoki.formats.plan.settings_parts import read_settings_parts

    parts = read_settings_parts(app.settings)
    yield from _agents(app, parts.agents)
    yield from _checks(app, parts.checks, run_checks=run_checks)


def _agents(app: App, specs: Sequence[AgentSpec]) -> Iterator[Condition]:
    from yaoki.adapters.agents.availability import find_presets_on_path, probe_presets
    from yaoki.adapters.agents.preset import load_preset, shipped_preset_names

    if not specs:
        here = [one for one in probe_presets(find_presets_on_path()) if one.is_responding]
        names = ", ".join(f"{one.preset.name} ({one.version_or_reason})" for one in here)
        yield Condition("agents", True, f"on the PATH: {names}" if names else NO_AGENTS)
        return
    # An agent with its own program is not the known one.
    asked = {
        s.preset for s in specs if s.preset in shipped_preset_names() and "program" not in s.options
    }
    availability = {
        one.preset.name: one for one in probe_presets(load_preset(name) for name in sorted(asked))
    }
    for spec in list_chain(specs):
        yield _agent(app, spec, availability.get(spec.preset))


def _agent(app: App, spec: AgentSpec, availability: AgentAvailability | None) -> Condition:
    name = f"agent {spec.title}"
    try:
        app.context.find_agent(spec.preset).preflight(spec)
    except Fault as fault:
        install = command_in(availability.preset.install) if availability else ""
        condition = failed_condition(name, fault, edit_command(app.repository.top))
        return (
            replace(condition, words=fault.sentence, next_command=install) if install else condition
        )
    if availability is None:
        return Condition(name, True, f"{spec.command[0] if spec.command else spec.preset} is found")
    if not availability.is_responding:
        return Condition(
            name, False, availability.version_or_reason, f"yaoki agents test {spec.preset}"
        )
    return Condition(name, True, f"{availability.preset.title}: {availability.version_or_reason}")


def _checks(app: App, specs: Sequence[CheckSpec], *, run_checks: bool) -> Iterator[Condition]:
    if not any(map(_runs_tests, specs)) and (warning := _commented_tests(app)):
        yield warning
    elif not specs:
        yield _without_checks(app)
    lines = {spec.name: _check(app, spec) for spec in specs}
    setup = _setup(app)
    python = {
        spec.name for spec in specs if spec.argv[:1] == ("python",) and VIRTUAL_ENV not in spec.env
    }
    yield from _python(python)
    if run_checks and all(one.ok for one in setup):
        from yaoki.app.try_checks import try_written_checks
        from yaoki.faces.text.progress import report_progress

        ready = [spec for spec in specs if lines[spec.name].ok]
        problem, found = try_written_checks(app, ready, CHECK_TIMEOUT, report_progress)
        if problem is not None:
            setup = [Condition(SETUP, False, problem.words, problem.remedy)]
            lines |= {
                spec.name: replace(lines[spec.name], words="not run: set-up failed")
                for spec in ready
            }
        guards = {spec.name for spec in specs if spec.baseline is BaselineMode.KNOWN}
        lines |= {one.check: _finding(app, one, python, guards) for one in found}
    yield from setup
    yield from lines.values()


def _runs_tests(spec: CheckSpec) -> bool:
    """By its pattern, its command, or the name of its script or target."""
    from yaoki.core.commands.test_runners import find_test_runners
    from yaoki.formats.discovery import KINDS

    words = f"{' '.join(spec.argv)} {spec.shell}"
    named = spec.pattern == KINDS["tests"] or bool(find_test_runners(spec.argv, spec.shell))
    return named or "test" in words or "tox" in words or "nox" in words


def _commented_tests(app: App) -> Condition | None:
    """The tests of the project are only a comment, and so nothing runs them."""
    from yaoki.formats.discovery import commented_out_checks

    file = app.context.loaded_settings.file
    aside = commented_out_checks(file.read_text(encoding="utf-8")) if file else []
    tests = [one for one in aside if one.runs_tests]
    if file is None or not tests:
        return None
    edit = edit_command(app.repository.top, file.name)
    again = edit if all(one.needs_edit for one in tests) else "yaoki init --again"
    words = "; ".join(one.words for one in tests[:ASIDE_SHOWN])
    return Condition(
        "checks", True, f"no check runs tests; in {file.name} {words}", again, is_warning=True
    )


def _without_checks(app: App) -> Condition:
    """A person has to write or change a check where `init` would find none that can run."""
    from yaoki.app.checkout_files import read_checkout
    from yaoki.formats.discovery import commented_out_checks, find_checks

    file = app.context.loaded_settings.file
    if file is None:
        return Condition("checks", True, NO_CHECKS, "yaoki init")
    edit = edit_command(app.repository.top, file.name)
    aside = [
        one for one in commented_out_checks(file.read_text(encoding="utf-8")) if one.needs_edit
    ]
    if aside:
        words = "; ".join(one.words for one in aside[:ASIDE_SHOWN])
        return Condition("checks", True, f"none in the settings; in {file.name} {words}", edit)
    found = find_checks(read_checkout(app)).checks
    return Condition("checks", True, NO_CHECKS, "yaoki init --again" if found else edit)


def _setup(app: App) -> list[Condition]:
    """Do the programs of the set-up exist?"""
    from yaoki.app.base_checks import suggest_install

    commands = app.settings.setup.commands
    for argv in commands:
        if "/" not in argv[0] and shutil.which(argv[0]) is None:
            words = f"{argv[0]} is not installed, so {shlex.join(argv)} cannot run"
            return [Condition(SETUP, False, words, suggest_install(argv[0]))]
    shown = "; ".join(shlex.join(argv) for argv in commands)
    return [Condition(SETUP, True, shown)] if commands else []


def _check(app: App, spec: CheckSpec) -> Condition:
    """Does its program exist?  For a shell line, a file or a judge this is unknown."""
    from yaoki.app.remedies import choose_local_command, install_for_environment
    from yaoki.formats.discovery import install_command

    name = f"check {spec.name}"
    if (spec.argv or spec.shell) and (missing := _missing_environment(app, spec)):
        return missing
    if not spec.argv:
        return Condition(name, True, spec.shell or spec.type)
    program = spec.argv[0]
    own = app.repository.top / spec.cwd / program
    path = check_search_path(os.environ, spec.env, str(app.repository.top))
    # A path may be output of set-up, which this checkout need not have.
    is_made = "/" in program and bool(app.settings.setup.commands)
    found = os.access(own, os.X_OK) if "/" in program else shutil.which(program, path=path)
    there = is_made or found
    if not there:
        words = f"{program} is not installed"
        if remedy := choose_local_command(install_command(program)):
            install = install_for_environment(remedy, spec.env, app.repository.top)
            return Condition(name, False, words, install)
        words = f"{words}; install it, or remove checks.{spec.name}"
        return Condition(name, False, words, edit_command(app.repository.top))
    return Condition(name, True, " ".join(spec.argv))


def _missing_environment(app: App, spec: CheckSpec) -> Condition | None:
    """Nothing of the check can run without the folder of its `VIRTUAL_ENV`."""
    from yaoki.app.missing_environments import look_for_environment

    lacking = look_for_environment(spec.env, app.context)
    if lacking is None:
        return None
    name, words = f"check {spec.name}", lacking.sentence
    if lacking.setting:
        other = f"use that of another checkout: {lacking.setting} in env of checks.{spec.name}"
        words = f"{words}; {other}; or create it"
    return Condition(name, False, words, lacking.command)


def _python(used: Collection[str]) -> Iterator[Condition]:
    """For information: it may be intended, where yaoki is installed beside the project."""
    from yaoki.app.remedies import find_own_python, suggest_project_python

    if used and (own := find_own_python()):
        words = f"{own} belongs to yaoki; if it lacks your packages: {suggest_project_python()}"
        yield Condition("PATH", True, words)


def _finding(
    app: App, finding: Finding, python: Collection[str], guards: Collection[str]
) -> Condition:
    """Only a check that ran, and passed or is known to fail, can be relied upon."""
    from yaoki.app.ignored_files import IGNORED_FILES
    from yaoki.app.remedies import (
        REMEDY,
        find_own_python,
        suggest_path_order,
        suggest_project_python,
    )
    from yaoki.app.try_checks import NO_TESTS_MESSAGE, ran_no_tests
    from yaoki.core.decide.baseline import (
        describe_alike_failures,
        is_too_red,
        knows_all_failures,
    )
    from yaoki.core.decide.integrity import describe_test_count
    from yaoki.core.model import Outcome
    from yaoki.core.model.outcome import MISSING_COMMAND_PARAM

    name, many = f"check {finding.check}", describe_test_count(finding)
    if ran_no_tests(finding):
        return Condition(name, False, NO_TESTS_MESSAGE, "write a test and commit it")
    counted = f"{many}, " if many else ""
    if finding.outcome is Outcome.PASSED:
        return Condition(
            name, True, f"green at the base, {counted}{format_duration(finding.seconds)}"
        )
    ignored_files_remedy = finding.params[REMEDY] if IGNORED_FILES in finding.params else ""
    if finding.outcome is Outcome.BROKEN and not ignored_files_remedy:
        if finding.check in python and find_own_python():
            return Condition(
                name, False, f"{finding.message}; {suggest_project_python()}", suggest_path_order()
            )
        if missing := str(finding.params.get(MISSING_COMMAND_PARAM, "")):
            return _missing_command(app, finding, missing)
        remedy = str(finding.params.get(REMEDY, ""))
        if remedy:
            return Condition(name, False, finding.message.removesuffix(f": {remedy}"), remedy)
        words = f"{finding.message}; fix checks.{finding.check}"
        return Condition(name, False, words, edit_command(app.repository.top))
    is_known = finding.check in guards and knows_all_failures(finding)
    if is_too_red(finding) and not is_known and not ignored_files_remedy:
        words = f"red at the base, with too many failures to recognise new ones: {finding.message}"
        own = f"checks.{finding.check}{_find_place(app, finding.check)}"
        remedy = f"narrow {own} to files that pass"
        if alike := describe_alike_failures(finding):
            words = f"red at the base: {alike}"
            remedy = f"probably the environment: fix it, or set a variable in env of {own}"
        return Condition(name, False, f"{words}; {remedy}", edit_command(app.repository.top))
    if finding.check in guards and finding.outcome is Outcome.FAILED:
        known = format_count(int(finding.params.get("failureCount", 0)), "known failure")
        return Condition(name, True, f"red at the base: {counted}{known}: {finding.message}")
    state = "cannot run" if finding.outcome is Outcome.BROKEN else "red at the base"
    remedy = str(ignored_files_remedy) or edit_command(app.repository.top)
    return Condition(name, False, f"{state}: {finding.message}", remedy)


def _find_place(app: App, check: str) -> str:
    """The line of the check in the settings; empty if it is unknown."""
    from yaoki.formats.config.key_lines import find_settings_line

    source = app.settings.source
    line = find_settings_line(app.settings.source_text, source, f"checks.{check}")
    return f" ({source}:{line})" if line else ""


def _missing_command(app: App, finding: Finding, command: str) -> Condition:
    """A command that the check starts is missing: there is no set-up, or it must be installed."""
    from yaoki.app.checkout_files import read_checkout
    from yaoki.app.remedies import choose_local_command
    from yaoki.formats.discovery import find_checks, install_command

    name = f"check {finding.check}"
    found = find_checks(read_checkout(app)).checks if not app.settings.setup.commands else ()
    if setup := next((one.setup for one in found if one.setup), ()):
        words = f"{finding.message}; the settings have no set-up: {' '.join(setup)}"
        return Condition(name, False, words, "yaoki init --again")
    if install := choose_local_command(install_command(command)):
        return Condition(name, False, finding.message, install)
    words = f"{finding.message}; install {command}, or change checks.{finding.check} or [setup]"
    return Condition(name, False, words, edit_command(app.repository.top))
