"""Runs the checks of a session on the user's working tree, which yaoki must not change."""

from __future__ import annotations

import json
import os
import shlex
import shutil
from collections.abc import Callable, Iterator, Sequence
from datetime import datetime, timedelta
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING

from yaoki.adapters.git.checkout import WorkingTree, read_working_tree
from yaoki.core.decide.verdict_classification import classify_verdict
from yaoki.core.lazy_dataclass import dataclass, replace
from yaoki.core.machine.codec import from_data
from yaoki.core.model import (
    CONTENT_KINDS,
    CheckSpec,
    Failure,
    Finding,
    GitCheck,
    Outcome,
    Verdict,
)
from yaoki.core.prompt import BUDGETS, describe_failure
from yaoki.core.redact import mask, secret_values
from yaoki.core.text import clip_bytes, format_duration
from yaoki.errors import FatalCode, Unknown
from yaoki.faces.hooks.state import SessionPhase, UnprovenStop
from yaoki.ports import CheckFacts

if TYPE_CHECKING:
    from yaoki.app.build import App

# Runs a check; the folder of its logs gets this name, and the check sees these findings.
RunCheck = Callable[[CheckSpec, str, tuple[Finding, ...]], Finding]

LOGS_KEPT = 20
LEASE_MAX = timedelta(seconds=15)
SUMMARY_CHARS = 300
SESSION_TASK = {"id": "session", "goal": "session", "kind": "check"}


@dataclass(frozen=True, slots=True)
class StopInspection:
    """One inspection of the tree: its deadline, and the folder for its logs."""

    app: App
    phase: SessionPhase
    deadline: datetime
    limit_s: float

    @property
    def is_over(self) -> bool:
        return self.app.clock.now() >= self.deadline

    @property
    def time_left(self) -> timedelta:
        return self.deadline - self.app.clock.now()


NAMED_MAX = 3


def inspect_stop(inspection: StopInspection) -> UnprovenStop | None:
    """None when every check passed on an unchanged tree; else the failure."""
    specs = phase_checks(inspection.app, inspection.phase)
    if not specs:
        words = "no check is configured, so nothing can be proven"
        return _is_our_fault(
            f"{words}: add some under [checks] in yaoki.toml (yaoki init proposes them)"
        )
    before = read_working_tree(inspection.app.repository)
    findings = tuple(_findings(inspection, specs, before))
    if inspection.is_over and not Verdict(findings).passed:
        return _is_our_fault(_too_long(inspection, findings))
    if changed := describe_differences(before, read_working_tree(inspection.app.repository)):
        return _is_our_fault(f"files changed while the checks ran, so nothing is proven: {changed}")
    verdict = Verdict(findings)
    return (
        None if verdict.passed else _prompt_words(inspection.app, classify_verdict(verdict, None))
    )


def phase_checks(app: App, phase: SessionPhase) -> tuple[CheckSpec, ...]:
    """The checks that were frozen when the phase began, else all checks of the settings."""
    if phase.checks is not None:
        return tuple(from_data(CheckSpec, data) for data in phase.checks)
    return settings_checks(app)


def settings_checks(app: App, names: Sequence[str] = ()) -> tuple[CheckSpec, ...]:
    """The checks of the settings, as a plan would get them; `PlanInvalid` if they are invalid."""
    from yaoki.formats.plan_file import parse_plan

    if unknown := [name for name in names if name not in app.settings.checks]:
        known = ", ".join(app.settings.checks) or "none"
        raise Unknown(
            f"the settings have no check {unknown[0]!r}",
            hint=f"those there are: {known}; yaoki config show",
        )
    if not app.settings.checks:
        return ()
    task = {**SESSION_TASK, **({"checks": list(names)} if names else {})}
    text = json.dumps({"goal": "session", "tasks": [task]})
    plan = parse_plan(text, app.settings.source, app.settings, app.preflight.known_names)
    return plan.specs[0].checks


def _findings(
    inspection: StopInspection, specs: Sequence[CheckSpec], tree: WorkingTree
) -> Iterator[Finding]:
    """Runs the checks in order and stops at the first required one that fails."""
    check, seen = _checker(inspection, tree), list[Finding]()
    for n, spec in enumerate(specs, start=1):
        if spec.git is GitCheck.MERGED:
            yield Finding(spec.name, Outcome.SKIPPED, message="a session has no run branch")
            continue
        if spec.hidden is not None:
            # The agent of the session would see its files and read its output.
            yield Finding(spec.name, Outcome.SKIPPED, message="a session has no hidden checks")
            continue
        finding = check(spec, f"{n}-{spec.name}", tuple(seen))
        if finding.outcome is Outcome.FAILED:
            finding = _repeat(inspection, spec, finding, check, f"{n}-{spec.name}", tuple(seen))
        seen.append(finding)
        yield finding
        if not finding.is_acceptable or inspection.is_over:
            return


def _repeat(
    inspection: StopInspection,
    spec: CheckSpec,
    finding: Finding,
    check: RunCheck,
    name: str,
    seen: tuple[Finding, ...],
) -> Finding:
    """Run a failing command again, as often as there is time for it."""
    from yaoki.core.decide.quarantine import FAILURES_TO_COMPARE
    from yaoki.core.decide.repeated_check import RepeatedCheck, is_repeatable

    if not is_repeatable(spec, finding):
        return finding
    numbers = count(1)

    def run_again() -> Finding | None:
        if inspection.time_left.total_seconds() <= 2 * finding.seconds + 1:
            return None
        return check(spec, f"{name}-again-{next(numbers)}", seen)

    # A session has no base on which a test that seldom passes could be compared.
    repeated = RepeatedCheck(spec, run_again, reruns_max=FAILURES_TO_COMPARE - 1)
    app = inspection.app
    return repeated.judge(finding, app.settings.quarantine, app.clock.now())


def _checker(inspection: StopInspection, tree: WorkingTree) -> RunCheck:
    from yaoki.adapters.checks import CheckDispatcher

    app = inspection.app
    lease = min(timedelta(seconds=app.settings.limits.lease_s), LEASE_MAX)
    checks, folder = (
        CheckDispatcher(
            app.context.processes,
            lease,
            find_agent=app.context.find_agent,
            checkout=app.repository.top,
        ),
        _folder(app),
    )
    facts = _facts(inspection, tree)

    def check(spec: CheckSpec, name: str, seen: tuple[Finding, ...]) -> Finding:
        check_facts = replace(facts, findings=seen)
        place = app.repository.top
        return checks.check(
            spec, place, folder / name, facts=check_facts, stop=lambda: inspection.is_over
        )

    return check


def _facts(inspection: StopInspection, tree: WorkingTree) -> CheckFacts:
    name = inspection.phase.subtask or inspection.phase.name or "session"
    return CheckFacts(
        commit=tree.head,
        base=tree.head,
        onto=tree.head,
        verified_below=tree.head,
        baseline_commit=tree.head,
        changed=tree.changed_files,
        scope=(),
        dirty=tree.changed_files,
        pushed=tree.pushed,
        merged=None,
        run="hook",
        task="hook",
        task_name=name,
        attempt=1,
        epoch=0,
        goal=name,
        branch="",
        diff=tree.diff,
        environment={},
        passed_names=(),
    )


def _folder(app: App) -> Path:
    """A new folder for the logs; the oldest ones are deleted."""
    logs = app.yaoki_folder / "hooks" / "logs"
    logs.mkdir(parents=True, exist_ok=True)
    for old in sorted(logs.iterdir())[: -LOGS_KEPT + 1]:
        shutil.rmtree(old, ignore_errors=True)
    return logs / f"{app.clock.now():%Y%m%dT%H%M%S.%f}-{os.getpid()}"


def _prompt_words(app: App, failure: Failure) -> UnprovenStop:
    """The prompt that an attempt of a task would get for this failure."""
    if failure.kind not in CONTENT_KINDS:
        final, hint = not failure.is_our_fault, _setup_hint(app, failure)
        return _is_our_fault(f"check {failure.check} {failure.message}{hint}", final=final)
    from yaoki.formats.prompts import PromptLibrary

    hints = app.settings.retry_policy.hints
    prompt = PromptLibrary(app.yaoki_folder / "prompts", app.settings.language).write(
        failure, hints
    )
    words = clip_bytes((prompt.text or describe_failure(failure, hints)).strip(), BUDGETS["failed"])
    return UnprovenStop(
        _masked(f"# The last failure\n\n{words}"),
        _masked(f"{failure.check}: {failure.message}")[:SUMMARY_CHARS],
        failure.pattern,
        failure.check,
    )


def _setup_hint(app: App, failure: Failure) -> str:
    """The set-up is only named: yaoki must not change the user's checkout."""
    commands = app.settings.setup.commands
    if not commands or failure.code != FatalCode.RESOURCE_NOT_FOUND:
        return ""
    return (
        f"; the set-up of this repository may install it: {' && '.join(map(shlex.join, commands))}"
    )


def _is_our_fault(words: str, *, final: bool = False) -> UnprovenStop:
    words = _masked(words)
    return UnprovenStop(words, words[:SUMMARY_CHARS], is_our_fault=True, is_final=final)


def _masked(text: str) -> str:
    return mask(text, secret_values(os.environ))


def _too_long(inspection: StopInspection, findings: Sequence[Finding]) -> str:
    last = findings[-1].check if findings else "the checks"
    return (
        f"check {last} was still running when the time limit of this hook was reached "
        f"({format_duration(inspection.limit_s)} in all); a person can raise the limit: "
        "yaoki hook install AGENT --timeout SECONDS, or choose faster checks: yaoki hook begin"
    )


def describe_differences(before: WorkingTree, after: WorkingTree) -> str:
    """The tracked files that are not as they were, in words; nothing when all are."""
    paths = {*before.stamps, *after.stamps}
    found = sorted(p for p in paths if before.stamps.get(p) != after.stamps.get(p))
    if not found and before.head != after.head:
        return "another commit is checked out"
    more = f" and {len(found) - NAMED_MAX} more" if len(found) > NAMED_MAX else ""
    return ", ".join(found[:NAMED_MAX]) + more
