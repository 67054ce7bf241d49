"""The checks of a session, run on the working tree as it stands, which is not ours to change."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

from yaoki.core.decide.classification import of_verdict
from yaoki.core.excerpt import clip_bytes
from yaoki.core.machine.codec import from_data
from yaoki.core.model import CONTENT, CheckSpec, Failure, Finding, Outcome, Verdict
from yaoki.core.prompt import BUDGETS, what_failed
from yaoki.core.redact import mask, secret_values
from yaoki.errors import Unknown
from yaoki.faces.hooks.state import Phase, Unproven
from yaoki.faces.hooks.tree import Tree, differences, look_at

if TYPE_CHECKING:
    from yaoki.app import App

LOGS_KEPT = 20
LEASE_MAX = timedelta(seconds=15)
SUMMARY_CHARS = 300
TASK = {"id": "session", "goal": "session", "kind": "check"}


@dataclass(frozen=True, slots=True)
class Look:
    """One look at the tree: by when it has to be over, and where its logs go."""

    app: App
    phase: Phase
    until: datetime
    limit_s: float

    @property
    def over(self) -> bool:
        return self.app.clock.now() >= self.until

    @property
    def left(self) -> timedelta:
        return self.until - self.app.clock.now()


def unproven(look: Look) -> Unproven | None:
    """None when every check passed on a tree that stayed as it was; else what is wrong."""
    specs = checks_of(look.app, look.phase)
    if not specs:
        words = "no check is configured, so nothing can be proven"
        return _ours(f"{words}: name some under [checks] in yaoki.toml (yaoki init guesses them)")
    before = look_at(look.app.repository)
    findings = tuple(_findings(look, specs, before))
    if look.over and not Verdict(findings).passed:
        return _ours(_too_long(look, findings))
    if changed := differences(before, look_at(look.app.repository)):
        return _ours(f"files changed while the checks ran, so nothing is proven: {changed}")
    verdict = Verdict(findings)
    return None if verdict.passed else _told(look.app, of_verdict(verdict, None))


def checks_of(app: App, phase: Phase) -> tuple[CheckSpec, ...]:
    """Those that were frozen when the phase began, else all of the settings."""
    if phase.checks is not None:
        return tuple(from_data(CheckSpec, held) for held in phase.checks)
    return settings_checks(app)


def settings_checks(app: App, names: Sequence[str] = ()) -> tuple[CheckSpec, ...]:
    """The checks of the settings as any plan would get them; `PlanInvalid` if they are unsound."""
    from yaoki.formats.plan import parse_plan

    if unknown := [name for name in names if name not in app.settings.checks]:
        known = ", ".join(app.settings.checks) or "none"
        raise Unknown(
            f"the settings have no check {unknown[0]!r}",
            hint=f"those there are: {known}; yaoki config show",
        )
    if not app.settings.checks:
        return ()
    task = {**TASK, **({"checks": list(names)} if names else {})}
    text = json.dumps({"goal": "session", "tasks": [task]})
    plan = parse_plan(text, app.settings.source, app.settings, app.known)
    return plan.specs[0].checks


def _findings(look: Look, specs: Sequence[CheckSpec], tree: Tree) -> Iterator[Finding]:
    """In order; the first required one that fails stops the list."""
    check, seen = _checker(look, tree), list[Finding]()
    for n, spec in enumerate(specs, start=1):
        if spec.git == "merged":
            yield Finding(spec.name, Outcome.SKIPPED, message="a session has no run branch")
            continue
        finding = check(spec, f"{n}-{spec.name}", tuple(seen))
        if _doubtful(look, spec, finding):
            again = check(spec, f"{n}-{spec.name}-again", tuple(seen))
            if again.outcome is Outcome.PASSED:
                finding = replace(finding, outcome=Outcome.FLAKY)
        seen.append(finding)
        yield finding
        if not finding.settled or look.over:
            return


def _doubtful(look: Look, spec: CheckSpec, finding: Finding) -> bool:
    """A failing command is looked at twice, where there is time for it."""
    time = look.left.total_seconds() > 2 * finding.seconds + 1
    return finding.outcome is Outcome.FAILED and spec.rerun and spec.type == "command" and time


def _checker(look: Look, tree: Tree) -> Callable[[CheckSpec, str, tuple[Finding, ...]], Finding]:
    from yaoki.adapters.checks import Checks

    app = look.app
    lease = min(timedelta(seconds=app.settings.limits.lease_s), LEASE_MAX)
    checks, folder = Checks(app.processes, lease, find_agent=app.find_agent), _folder(app)
    facts = _facts(look, tree)

    def check(spec: CheckSpec, name: str, seen: tuple[Finding, ...]) -> Finding:
        told = {**facts, "findings": seen}
        place = app.repository.top
        return checks.check(spec, place, folder / name, facts=told, stop=lambda: look.over)

    return check


def _facts(look: Look, tree: Tree) -> Mapping[str, Any]:
    name = look.phase.subtask or look.phase.name or "session"
    return {
        "run": "hook",
        "task": "hook",
        "task_name": name,
        "attempt": 1,
        "epoch": 0,
        "goal": name,
        "commit": tree.head,
        "base": tree.head,
        "onto": tree.head,
        "changed": tree.files,
        "dirty": tree.files,
        "scope": (),
        "branch": "",
        "pushed": tree.pushed,
        "diff": tree.diff,
    }


def _folder(app: App) -> Path:
    """A new folder for the logs; the oldest go."""
    logs = app.home / "hooks" / "logs"
    logs.mkdir(parents=True, exist_ok=True)
    for old in sorted(logs.iterdir())[: -LOGS_KEPT + 1]:
        shutil.rmtree(old, ignore_errors=True)
    return logs / f"{app.clock.now():%Y%m%dT%H%M%S.%f}-{os.getpid()}"


def _told(app: App, failure: Failure) -> Unproven:
    """The words that an attempt of a task would get for this failure."""
    if failure.kind not in CONTENT:
        final = not failure.ours
        return _ours(f"check {failure.check} {failure.message}", final=final)
    from yaoki.formats.prompts import PromptTree

    hints = app.settings.policy.hints
    told = PromptTree(app.home / "prompts", app.settings.language).tell(failure, hints)
    words = clip_bytes((told.text or what_failed(failure, hints)).strip(), BUDGETS["failed"])
    return Unproven(
        _masked(f"# What failed in the last try\n\n{words}"),
        _masked(f"{failure.check}: {failure.message}")[:SUMMARY_CHARS],
        failure.pattern,
        failure.check,
    )


def _ours(words: str, *, final: bool = False) -> Unproven:
    words = _masked(words)
    return Unproven(words, words[:SUMMARY_CHARS], ours=True, final=final)


def _masked(text: str) -> str:
    return mask(text, secret_values(os.environ))


def _too_long(look: Look, findings: Sequence[Finding]) -> str:
    last = findings[-1].check if findings else "the checks"
    return (
        f"check {last} was still running when the time for this hook was over "
        f"({look.limit_s:g} s in all); a person can give it more: "
        "yaoki hook install AGENT --timeout SECONDS, or name quicker checks: yaoki hook begin"
    )
