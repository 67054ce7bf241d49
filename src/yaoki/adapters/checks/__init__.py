"""Checks: each inspects one commit and returns a finding.

Fail closed: a check that cannot run is BROKEN, and an answer that is not understood does not pass.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import astuple
from datetime import timedelta
from pathlib import Path

from yaoki.adapters.checks.command import check_command
from yaoki.adapters.checks.entry_point import check_entry_point
from yaoki.adapters.checks.files import check_files
from yaoki.adapters.checks.findings import TRANSIENT_ERRNOS, make_broken, mask_data
from yaoki.adapters.checks.git import check_git
from yaoki.adapters.checks.judge import FindAgent, check_judge
from yaoki.adapters.checks.runner import CheckProcesses
from yaoki.adapters.checks.selection import narrow_to_failures
from yaoki.adapters.checks.tool_identity import identify_tools
from yaoki.adapters.system.hidden_files import HiddenContent
from yaoki.core.hidden_checks import keep_declared
from yaoki.core.lazy_dataclass import replace
from yaoki.core.model import (
    CheckSpec,
    CheckType,
    Finding,
    FindingItem,
    HiddenFiles,
    OnFailure,
    Outcome,
)
from yaoki.core.redact import confidential_variables, mask, secret_values
from yaoki.errors import FatalCode, Fault
from yaoki.ports import CheckFacts, Processes

FindHidden = Callable[[HiddenFiles], HiddenContent | None]


class CheckDispatcher:
    """Runs each check by its type: commands in a process tree, files and git facts directly.

    Judges need `find_agent`, hidden checks `find_hidden`; without it such a check is BROKEN.
    `checkout` is the user's own.  `surroundings` describes the sandbox.
    """

    def __init__(
        self,
        processes: Processes,
        lease: timedelta,
        environ: Mapping[str, str] = os.environ,
        find_agent: FindAgent | None = None,
        checkout: Path = Path(),
        find_hidden: FindHidden | None = None,
        surroundings: str = "",
    ) -> None:
        self._processes, self._lease = processes, lease
        # Each reading of `os.environ` decodes a value; the worker's environment never changes.
        self._environ = dict(environ)
        self._find_agent, self._checkout = find_agent, checkout
        self._find_hidden, self._surroundings = find_hidden, surroundings
        self._running: list[str] = []

    @property
    def running_checks(self) -> tuple[str, ...]:
        """The names of the checks that run at this moment, for a person who waits for them."""
        return tuple(self._running)

    def check(
        self,
        spec: CheckSpec,
        worktree: Path,
        folder: Path,
        *,
        facts: CheckFacts,
        stop: Callable[[], bool],
    ) -> Finding:
        logs = folder.absolute()
        runner = CheckProcesses(
            self._processes,
            self._lease,
            logs,
            self._environ,
            stop,
            facts.passed_names,
            self._checkout,
        )
        self._running.append(spec.name)
        try:
            content = self._hidden_content(spec)
            if content is None:
                return _apply_tolerance(self._run(spec, worktree.absolute(), runner, facts))
            if facts.rewrite_hidden is not None:
                content = content.rewritten(facts.rewrite_hidden)
            with content.laid_over(worktree.absolute()):
                finding = _apply_tolerance(self._run(spec, worktree.absolute(), runner, facts))
            return _keep_declared_names(finding, content)
        except OSError as fault:
            is_transient = fault.errno in TRANSIENT_ERRNOS
            return make_broken(spec, f"it could not run: {fault}", transient=is_transient)
        except Fault as fault:
            return make_broken(spec, fault.sentence, transient=fault.transient)
        finally:
            self._running.remove(spec.name)

    def _hidden_content(self, spec: CheckSpec) -> HiddenContent | None:
        if spec.hidden is None or not spec.hidden.folder:
            return None
        content = self._find_hidden(spec.hidden) if self._find_hidden else None
        if content is None:
            raise Fault(
                f"its hidden files are missing: {spec.hidden.digest[:12]} of {spec.hidden.folder}",
                transient=False,
                code=FatalCode.RESOURCE_NOT_FOUND,
                hint="yaoki plan recheck RUN reads the folder again",
            )
        return content

    def identify_tools(self, spec: CheckSpec) -> str:
        """Identifies the programs that a command starts, by file, size and time."""
        return identify_tools(spec, self._environ, self._checkout, self._surroundings)

    def narrow(self, spec: CheckSpec, finding: Finding) -> CheckSpec | None:
        """The check for the failed tests alone; None if they cannot be run alone."""
        return narrow_to_failures(spec, finding)

    def mask_finding(self, finding: Finding, passed_names: Sequence[str]) -> Finding:
        """Masks in a finding the values of the variables that agents get (`passed_names`)."""
        secrets = secret_values(self._environ, passed_names)
        return replace(
            finding,
            message=mask(finding.message, secrets),
            output=mask(finding.output, secrets),
            items=_mask_items(finding.items, secrets),
            unlisted=_mask_items(finding.unlisted, secrets),
            params=mask_data(finding.params, secrets),
        )

    def confidential_variables(
        self, passed_names: Sequence[str], written: Mapping[str, str]
    ) -> Mapping[str, str]:
        """Variables of our environment and of the plan whose values must not be committed."""
        return confidential_variables({**self._environ, **written}, passed_names)

    def _run(
        self, spec: CheckSpec, worktree: Path, runner: CheckProcesses, facts: CheckFacts
    ) -> Finding:
        match spec.type:
            case CheckType.COMMAND:
                return check_command(spec, worktree, runner, facts)
            case CheckType.FILE:
                return check_files(spec, worktree, runner)
            case CheckType.GIT:
                return check_git(spec, facts)
            case CheckType.JUDGE:
                return check_judge(spec, worktree, runner, facts, self._find_agent)
            case CheckType.PYTHON:
                return check_entry_point(spec, worktree, runner, facts)


def _mask_items(items: Sequence[FindingItem], secrets: tuple[str, ...]) -> tuple[FindingItem, ...]:
    return tuple(FindingItem(*mask_data(astuple(item), secrets)) for item in items)


def _keep_declared_names(finding: Finding, content: HiddenContent) -> Finding:
    """The code under test runs in the process of the tests, and could rename them: only names that
    the hidden files define are reported.
    """
    declared = content.declared_names
    items = tuple(
        replace(item, name=name)
        for item in finding.items
        if (name := keep_declared(item.name, declared))
    )
    return replace(finding, items=items, unlisted=())


def _apply_tolerance(finding: Finding) -> Finding:
    """A failure that the plan tolerates is reported as skipped, never as passed."""
    if finding.outcome is Outcome.FAILED and finding.on_failure is OnFailure.SKIP:
        return replace(finding, outcome=Outcome.SKIPPED)
    return finding
