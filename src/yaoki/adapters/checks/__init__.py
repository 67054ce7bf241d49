"""Checks: what must hold, looked at on one commit, told as a finding.

Fail closed: what cannot be looked at is BROKEN, what is not understood does not pass.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import astuple, replace
from datetime import timedelta
from pathlib import Path
from typing import Any

from yaoki.adapters.checks.command import check_command
from yaoki.adapters.checks.entry_point import check_entry_point
from yaoki.adapters.checks.files import check_files
from yaoki.adapters.checks.findings import TRANSIENT_ERRNOS, make_broken, mask_data
from yaoki.adapters.checks.git import check_git
from yaoki.adapters.checks.judge import FindAgent, check_judge
from yaoki.adapters.checks.runner import CheckProcesses
from yaoki.adapters.checks.selection import narrow_to_failures
from yaoki.core.model import CheckSpec, Finding, FindingItem, OnFailure, Outcome
from yaoki.core.redact import confidential_variables, mask, secret_values
from yaoki.errors import Fault
from yaoki.ports import Processes


class CheckDispatcher:
    """The one `Checker`: commands in their own process tree, files and git facts by a look.

    `find_agent` is for judges only; without it there are none.
    """

    def __init__(
        self,
        processes: Processes,
        lease: timedelta,
        environ: Mapping[str, str] = os.environ,
        find_agent: FindAgent | None = None,
    ) -> None:
        self._processes, self._lease, self._environ = processes, lease, environ
        self._find_agent = find_agent

    def check(
        self,
        spec: CheckSpec,
        worktree: Path,
        folder: Path,
        *,
        facts: Mapping[str, Any],
        stop: Callable[[], bool],
    ) -> Finding:
        handed = facts.get("handed", ())
        place = folder.absolute()
        runner = CheckProcesses(self._processes, self._lease, place, self._environ, stop, handed)
        try:
            return _weighed(self._look(spec, worktree.absolute(), runner, facts))
        except OSError as fault:
            later = fault.errno in TRANSIENT_ERRNOS
            return make_broken(spec, f"it could not run: {fault}", transient=later)
        except Fault as fault:
            return make_broken(spec, fault.sentence, transient=fault.transient)

    def narrow(self, spec: CheckSpec, finding: Finding) -> CheckSpec | None:
        """The check for just the tests that failed; None where they cannot be run alone."""
        return narrow_to_failures(spec, finding)

    def mask_finding(self, finding: Finding, handed: Sequence[str]) -> Finding:
        """A finding about the change itself, without the values that agents are `handed`."""
        secrets = secret_values(self._environ, handed)
        return replace(
            finding,
            message=mask(finding.message, secrets),
            output=mask(finding.output, secrets),
            items=tuple(FindingItem(*mask_data(astuple(item), secrets)) for item in finding.items),
            params=mask_data(finding.params, secrets),
        )

    def confidential_variables(
        self, handed: Sequence[str], written: Mapping[str, str]
    ) -> Mapping[str, str]:
        """The variables whose value has no place in a commit: of ours, and those of the plan."""
        return confidential_variables({**self._environ, **written}, handed)

    def _look(
        self, spec: CheckSpec, worktree: Path, runner: CheckProcesses, facts: Mapping[str, Any]
    ) -> Finding:
        match spec.type:
            case "command":
                return check_command(spec, worktree, runner, facts)
            case "file":
                return check_files(spec, worktree, runner)
            case "git":
                return check_git(spec, facts)
            case "judge":
                return check_judge(spec, worktree, runner, facts, self._find_agent)
            case "python":
                return check_entry_point(spec, worktree, runner, facts)
            case _:
                return make_broken(spec, f"there is no check of type {spec.type!r}")


def _weighed(finding: Finding) -> Finding:
    """A failure the plan lets pass is told as skipped, never as passed."""
    if finding.outcome is Outcome.FAILED and finding.on_failure is OnFailure.SKIP:
        return replace(finding, outcome=Outcome.SKIPPED)
    return finding
