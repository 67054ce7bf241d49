"""`yaoki doctor` on those who work and what proves it: do the agents answer, can the checks run?"""

from __future__ import annotations

import os
import shutil
from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace
from datetime import timedelta
from typing import TYPE_CHECKING

from yaoki.core.counting import count
from yaoki.core.decide.baseline import KNOWN
from yaoki.errors import Fault
from yaoki.faces.cli.doctor.condition import Line, bad, command_in, edit

if TYPE_CHECKING:
    from yaoki.adapters.agents.availability import Answered
    from yaoki.app import App
    from yaoki.core.model import AgentSpec, CheckSpec, Finding

NO_AGENTS = "none in the settings, none known on the PATH; a plan may bring its own command"
NO_CHECKS = "none in the settings; each plan must bring its own"
CHECK_TIMEOUT = timedelta(minutes=10)


def examined(app: App, *, run_checks: bool) -> Iterator[Line]:
    """The agents and checks of the settings, each in a line."""
    from yaoki.formats.plan.settings_parts import settled

    held = settled(app.settings)
    yield from _agents(app, held.agents)
    yield from _checks(app, held.checks, run_checks=run_checks)


def _agents(app: App, specs: Sequence[AgentSpec]) -> Iterator[Line]:
    from yaoki.adapters.agents.availability import answering, on_path
    from yaoki.adapters.agents.preset import describe, known_names

    if not specs:
        here = [one for one in answering(on_path()) if one.answers]
        told = ", ".join(f"{one.about.name} ({one.words})" for one in here)
        yield Line("agents", True, f"on the PATH: {told}" if told else NO_AGENTS)
        return
    # One with a program of its own is another program than the one that is known.
    asked = {s.preset for s in specs if s.preset in known_names() and "program" not in s.options}
    said = {one.about.name: one for one in answering(describe(name) for name in sorted(asked))}
    for spec in specs:
        yield _agent(app, spec, said.get(spec.preset))


def _agent(app: App, spec: AgentSpec, said: Answered | None) -> Line:
    name = f"agent {spec.name}"
    try:
        app.find_agent(spec.preset).preflight(spec)
    except Fault as fault:
        install = command_in(said.about.install) if said else ""
        held = bad(name, fault, edit(app.repository.top))
        return replace(held, words=fault.sentence, next=install) if install else held
    if said is None:
        return Line(name, True, f"{spec.command[0] if spec.command else spec.preset} is there")
    if not said.answers:
        return Line(name, False, said.words, f"yaoki agents test {spec.preset}")
    return Line(name, True, f"{said.about.title}: {said.words}")


def _checks(app: App, specs: Sequence[CheckSpec], *, run_checks: bool) -> Iterator[Line]:
    if not specs:
        yield Line("checks", True, NO_CHECKS)
    lines = {spec.name: _check(app, spec) for spec in specs}
    python = {spec.name for spec in specs if spec.argv[:1] == ("python",)}
    yield from _python(python)
    if run_checks:
        from yaoki.app.try_checks import try_specs

        ready = [spec for spec in specs if lines[spec.name].ok]
        found = try_specs(app, ready, CHECK_TIMEOUT)
        guards = {spec.name for spec in specs if spec.baseline == KNOWN}
        lines |= {one.check: _finding(app, one, python, guards) for one in found}
    yield from lines.values()


def _check(app: App, spec: CheckSpec) -> Line:
    """Is the program there?  Of a shell line, a file or a judge nobody knows before it runs."""
    from yaoki.app.remedies import here
    from yaoki.formats.discovery import install_of

    name = f"check {spec.name}"
    if not spec.argv:
        return Line(name, True, spec.shell or spec.type)
    program = spec.argv[0]
    own = app.repository.top / spec.cwd / program
    there = os.access(own, os.X_OK) if "/" in program else shutil.which(program)
    if not there:
        words = f"{program} is not installed"
        if remedy := here(install_of(program)):
            return Line(name, False, words, remedy)
        words = f"{words}; install it, or drop checks.{spec.name}"
        return Line(name, False, words, edit(app.repository.top))
    return Line(name, True, " ".join(spec.argv))


def _python(used: Collection[str]) -> Iterator[Line]:
    """Good to know: it may well be meant, where yaoki is installed beside the project."""
    from yaoki.app.remedies import other_python, own_python

    if used and (own := own_python()):
        words = f"{own} is yaoki's own; if your packages are not there: {other_python()}"
        yield Line("PATH", True, words)


def _finding(app: App, finding: Finding, python: Collection[str], guards: Collection[str]) -> Line:
    """Only a check that ran, and is green or known to be red, can be relied upon."""
    from yaoki.app.remedies import other_python, own_python, python_last
    from yaoki.app.try_checks import RAN_NONE, ran_none
    from yaoki.core.decide.integrity import tests_told
    from yaoki.core.model import Outcome

    name, many = f"check {finding.check}", tests_told(finding)
    if ran_none(finding):
        return Line(name, False, RAN_NONE, "write a test and commit it")
    counted = f"{many}, " if many else ""
    if finding.outcome is Outcome.PASSED:
        return Line(name, True, f"green at the base, {counted}{finding.seconds:.1f} s")
    if finding.outcome is Outcome.BROKEN:
        if finding.check in python and own_python():
            return Line(name, False, f"{finding.message}; {other_python()}", python_last())
        remedy = str(finding.params.get("remedy", ""))
        words = finding.message if remedy else f"{finding.message}; fix checks.{finding.check}"
        return Line(name, False, words, remedy or edit(app.repository.top))
    if finding.check in guards:
        known = count(int(finding.params.get("failureCount", 0)), "known failure")
        return Line(name, True, f"red at the base: {counted}{known}: {finding.message}")
    return Line(name, False, f"red at the base: {finding.message}", edit(app.repository.top))
