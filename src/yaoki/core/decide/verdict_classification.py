"""A verdict as a failure: the findings of checks, and what the end of the agent explains."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from yaoki.core.decide.exit_classification import (
    CUT_OFF_MESSAGES,
    add_agent_claim,
    add_agent_end,
    add_crash,
    classify_exit,
    classify_own_report,
)
from yaoki.core.decide.failures import make_failure, make_fault
from yaoki.core.decide.fingerprint import fingerprint
from yaoki.core.decide.waived_failures import needs_answer
from yaoki.core.lazy_dataclass import replace
from yaoki.core.model import (
    NO_CHANGE_CHECK,
    AgentExit,
    FailedCheck,
    Failure,
    FailureKind,
    Finding,
    OnFailure,
    Outcome,
    Reason,
    Verdict,
    Work,
)
from yaoki.core.model.outcome import (
    LANDED_SINCE_PARAM,
    OUTSIDE_CHANGE_PARAM,
    PASSED_ON_BASE_PARAM,
)
from yaoki.core.model.patterns import PATTERNS
from yaoki.core.text import clip_bytes
from yaoki.errors import FatalCode

FAILURE_OUTPUT_BYTES_MAX = 6000
# Patterns of unfinished work, as opposed to bad work.
INCOMPLETE_PATTERNS = frozenset(
    pattern.name for pattern in PATTERNS.values() if pattern.kind is FailureKind.INCOMPLETE
)


def _merge_findings(verdict: Verdict) -> Finding | None:
    """All failing findings as one, so that one attempt can fix all of them."""
    failing = verdict.all_failing
    if len(failing) < 2 or failing[0].outcome is Outcome.BROKEN:
        return verdict.first_failing
    first, *others = failing
    params: dict[str, Any] = {}
    for finding in reversed(failing):
        params.update(finding.params)
    aborts = any(finding.on_failure is OnFailure.ABORT for finding in failing)
    return replace(
        first,
        message="; ".join((first.message, *(f"{f.check}: {f.message}" for f in others))),
        items=tuple(item for finding in failing for item in finding.items),
        params=params,
        replan=any(finding.replan for finding in failing),
        on_failure=OnFailure.ABORT if aborts else first.on_failure,
    )


def _list_failed_checks(verdict: Verdict) -> tuple[FailedCheck, ...]:
    """Each failed check with its own pattern and output; none if only one failed."""
    failing = verdict.all_failing
    if len(failing) < 2:
        return ()
    share = FAILURE_OUTPUT_BYTES_MAX // len(failing)
    return tuple(
        FailedCheck(f.check, f.message, f.pattern, f.items, f.params, clip_bytes(f.output, share))
        for f in failing
    )


def classify_verdict(verdict: Verdict, exit_: AgentExit | None) -> Failure:
    """Classify a verdict that did not pass, or a passing one that does not count."""
    if verdict.passed and exit_ is not None and exit_.reports_failure:
        return classify_own_report(exit_)
    finding = _merge_findings(verdict)
    if finding is None:
        return make_failure(
            FailureKind.QUALITY_FAILURE, f"nothing was proven: {_without_proof(verdict)}"
        )
    if finding.outcome is Outcome.BROKEN:
        return _of_broken_check(finding)
    failure = replace(_of_finding(finding), failed_checks=_list_failed_checks(verdict))
    if exit_ is None or finding.on_failure is OnFailure.ABORT or finding.replan:
        # A check that ends the retries does so however the agent ended.
        return failure
    known = classify_exit(exit_)
    if known is not None and not _limit_explains_nothing(known, exit_):
        return known
    if finding.check == NO_CHANGE_CHECK:
        failure = add_agent_end(failure, exit_)
    return add_agent_claim(add_crash(_as_incomplete(failure, exit_), exit_), exit_)


def count_outside_change(
    failure: Failure, before: Failure | None, changed: Sequence[str]
) -> Failure:
    """Count the attempts that met the same failure in files that the task did not change.

    `before` is the last failure of the work, whichever agent made it.  Not counted is a failure
    without a place, one whose words name a changed file, or one of a check that passed on the base:
    there the work is at fault.
    """
    files = {item.where.partition(":")[0] for item in failure.items if item.where}
    if not files or not changed or files.intersection(changed):
        return failure
    if any(path in item.message for item in failure.items for path in changed):
        return failure
    if failure.params.get(PASSED_ON_BASE_PARAM):
        return failure
    is_same = before is not None and before.fingerprint == failure.fingerprint
    earlier = before.params.get(OUTSIDE_CHANGE_PARAM, 0) if before and is_same else 0
    return replace(failure, params={**failure.params, OUTSIDE_CHANGE_PARAM: earlier + 1})


def name_landed_since(failure: Failure, work: Work, onto: str) -> Failure:
    """Name what has landed since the same work passed: only together with that it fails."""
    passed = work.passed_onto
    if not passed or passed == onto or not failure.check or failure.is_our_fault:
        return failure
    return replace(failure, params={**failure.params, LANDED_SINCE_PARAM: f"{passed}..{onto}"})


def _without_proof(verdict: Verdict) -> str:
    """No check failed, but no required check that can fail has passed."""
    skipped = [f.check for f in verdict.findings if f.outcome is Outcome.SKIPPED]
    skipped_part = f"; skipped: {', '.join(skipped)}" if skipped else ""
    return f"no required check that can fail has passed{skipped_part}"


def _of_broken_check(finding: Finding) -> Failure:
    """The check could not run.  A judge whose service reports a limit waits, as an agent does."""
    is_unfit = finding.code == FatalCode.CHECK_UNFIT
    problem = "its result cannot be trusted" if is_unfit else "could not run"
    words = f"{problem}: {finding.message}"
    if finding.account:
        limited = make_failure(FailureKind.RATE_LIMIT, words, check=finding.check)
        return replace(limited, retry_after=finding.retry_after, account=finding.account)
    code = FatalCode.NONE if finding.transient else finding.code or FatalCode.RESOURCE_NOT_FOUND
    return replace(make_fault(words, transient=finding.transient, code=code), check=finding.check)


def _limit_explains_nothing(known: Failure, exit_: AgentExit) -> bool:
    """Is the agent's limit unrelated to the failing check?  An agent that ended cleanly has left
    work, so of all limits only a rate limit explains it.

    A rejected key or a network error of some tool would otherwise stop the task, or repeat it
    without telling the agent what failed.  Words on stdout may be those of the model.
    """
    if exit_.limit_is_unsure:
        return True
    return exit_.code == 0 and not exit_.ended_by and known.kind is not FailureKind.RATE_LIMIT


def _as_incomplete(failure: Failure, exit_: AgentExit) -> Failure:
    """Half of the work is not bad work: the failure is reported as INCOMPLETE."""
    if exit_.limit not in CUT_OFF_MESSAGES or failure.kind is not FailureKind.QUALITY_FAILURE:
        return failure
    end = CUT_OFF_MESSAGES[exit_.limit]
    kind, words = FailureKind.INCOMPLETE, f"{end}; {failure.message}"
    mark = fingerprint(kind.value, failure.pattern, failure.check, words, failure.items)
    return replace(failure, kind=kind, message=words, fingerprint=mark, agent_end=end)


def _of_finding(finding: Finding) -> Failure:
    kind = (
        FailureKind.INCOMPLETE
        if finding.pattern in INCOMPLETE_PATTERNS
        else FailureKind.QUALITY_FAILURE
    )
    if finding.on_failure is OnFailure.ABORT or finding.replan:
        # The plan, or a judge, forbids another attempt after a failure of this check.
        kind = FailureKind.ESCALATE_REQUIRED
    is_for_person = finding.check == NO_CHANGE_CHECK or needs_answer(finding.params)
    failure = make_failure(
        kind, finding.message, pattern=finding.pattern, check=finding.check, items=finding.items
    )
    return Failure(
        failure.kind,
        failure.message,
        pattern=failure.pattern,
        check=failure.check,
        items=failure.items,
        reason=Reason.NEEDS_HUMAN if is_for_person else None,
        params=finding.params,
        output=clip_bytes(finding.output, FAILURE_OUTPUT_BYTES_MAX),
        fingerprint=failure.fingerprint,
        replan=finding.replan,
    )
