"""The evidence that the checks of an attempt prove something, from its history and its task's spec:
tests that fail without the change, hidden checks, mutants, tell-tales (rules 17.1 to 17.4).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from yaoki.core.decide.escalation import AGENTLESS_KINDS
from yaoki.core.hidden_checks import WITHOUT_FILES
from yaoki.core.lazy_dataclass import dataclass
from yaoki.core.model import (
    GAMED_CHECK,
    MUTANTS_CHECK,
    RED_FIRST_CHECK,
    CriterionLevel,
    FindingItem,
)

if TYPE_CHECKING:
    from yaoki.core.model import TaskSpec
    from yaoki.views.history.values import Attempt, CheckResult, MutantCounts

# The outcome of evidence that was not looked for, or not yet.
NOT_RUN = ""


@dataclass(frozen=True, slots=True)
class RedFirstEvidence:
    """The tests that fail without the change, or the reason why none was found."""

    is_asked: bool
    is_required: bool
    outcome: str = NOT_RUN
    tests: tuple[str, ...] = ()
    reason: str = ""


@dataclass(frozen=True, slots=True)
class HiddenCheckEvidence:
    """One hidden check.  `digest` identifies its files, and is empty if it has none."""

    check: str
    is_required: bool
    outcome: str = NOT_RUN
    digest: str = ""


@dataclass(frozen=True, slots=True)
class MutantEvidence:
    """The mutants of the changed lines, or the reason why none was judged."""

    is_asked: bool
    is_required: bool
    outcome: str = NOT_RUN
    counts: MutantCounts | None = None
    survivors: tuple[FindingItem, ...] = ()
    reason: str = ""


@dataclass(frozen=True, slots=True)
class TellTaleEvidence:
    """The places of the diff that satisfy a check instead of the task; without an outcome none was
    found, or the attempt did not come that far.
    """

    outcome: str = NOT_RUN
    places: tuple[FindingItem, ...] = ()


@dataclass(frozen=True, slots=True)
class ProofEvidence:
    """All evidence about one commit: the last that the attempt had verified."""

    commit: str
    red_first: RedFirstEvidence
    hidden_checks: tuple[HiddenCheckEvidence, ...]
    mutants: MutantEvidence
    tell_tales: TellTaleEvidence
    # All checks are known to pass without the work as well.
    is_indistinct: bool = False


def collect_evidence(attempt: Attempt, spec: TaskSpec) -> ProofEvidence:
    commit = attempt.checks[-1].commit if attempt.checks else ""
    results = {check.check: check for check in attempt.checks if check.commit == commit}
    return ProofEvidence(
        commit,
        _red_first(results.get(RED_FIRST_CHECK), spec),
        _hidden_checks(results, spec),
        _mutants(results.get(MUTANTS_CHECK), spec),
        _tell_tales(results.get(GAMED_CHECK), attempt),
        attempt.is_indistinct,
    )


def _red_first(result: CheckResult | None, spec: TaskSpec) -> RedFirstEvidence:
    if result is None:
        asked = spec.red is not CriterionLevel.OFF and spec.kind not in AGENTLESS_KINDS
        return RedFirstEvidence(asked, asked and spec.red is CriterionLevel.REQUIRED)
    reason = "" if result.fail_to_pass else result.message
    return RedFirstEvidence(
        True, result.required, result.outcome, tuple(result.fail_to_pass), reason
    )


def _hidden_checks(
    results: Mapping[str, CheckResult], spec: TaskSpec
) -> tuple[HiddenCheckEvidence, ...]:
    """Those of the plan, and those that ran and that the plan has no longer."""
    planned = {
        check.name: HiddenCheckEvidence(check.name, check.required, digest=check.hidden.digest)
        for check in spec.checks
        if check.hidden is not None
    }
    ran = {
        name: _hidden_check(result, planned.get(name))
        for name, result in results.items()
        if result.hidden or name in planned
    }
    return tuple({**planned, **ran}.values())


def _hidden_check(result: CheckResult, planned: HiddenCheckEvidence | None) -> HiddenCheckEvidence:
    """A waived check did not run: its files are those of the plan."""
    recorded = "" if result.hidden == WITHOUT_FILES else result.hidden
    digest = recorded if result.hidden or planned is None else planned.digest
    return HiddenCheckEvidence(result.check, result.required, result.outcome, digest)


def _mutants(result: CheckResult | None, spec: TaskSpec) -> MutantEvidence:
    rules = spec.mutants
    if result is None:
        asked = rules.count_max > 0 and spec.kind not in AGENTLESS_KINDS
        return MutantEvidence(asked, asked and rules.required)
    counts = result.mutants
    reason = "" if counts else result.message
    return MutantEvidence(True, result.required, result.outcome, counts, result.items, reason)


def _tell_tales(result: CheckResult | None, attempt: Attempt) -> TellTaleEvidence:
    """A waiver names no place: it is about those that were found before it."""
    if result is None:
        return TellTaleEvidence()
    found = [check.items for check in attempt.checks if check.check == GAMED_CHECK and check.items]
    return TellTaleEvidence(result.outcome, result.items or (found[-1] if found else ()))
