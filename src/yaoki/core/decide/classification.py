"""From facts to a failure: exit codes, signals, limits and findings first, words last."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from yaoki.core.decide.fingerprint import fingerprint
from yaoki.core.excerpt import clip_bytes
from yaoki.core.model import (
    NO_CHANGE,
    AgentExit,
    Failure,
    Finding,
    Item,
    Kind,
    OnFailure,
    Outcome,
    Reason,
    Verdict,
)

OUTPUT_KEPT = 6000
ERROR_LINES, ERROR_CHARS = 3, 300
SAID_CHARS = 500
SIDE_CHARS = 800
# Patterns that say the work is not whole, rather than not good.
UNFINISHED = frozenset({"no-change", "omission", "syntax-error"})
# The param that says where the work of an idle agent is.
ELSEWHERE = "elsewhere"
PLACES_MAX = 5
# The agent itself says that it failed.
AGENT_FAILED = "agent-failed"
TOO_LARGE, EXCESS_MAX = "too-large", 5
UNDELIVERED = "UNDELIVERED"
# The check is not fit for what the plan asks of it.
UNFIT = "CHECK_UNFIT"
# The param of a finding whose check was ended at its deadline.
TIMED_OUT = "timedOut"


@dataclass(frozen=True, slots=True)
class Fatal:
    """An entry of the fatal catalogue."""

    message: str
    actions: tuple[str, ...]


FATAL: Mapping[str, Fatal] = {
    "AUTHENTICATION_FAILED": Fatal(
        "the agent's service refused the credentials",
        (
            "check the agent's key or log in again",
            "name the key's variable in the agent's pass_env",
        ),
    ),
    "PERMISSION_DENIED": Fatal(
        "a command or file may not be used",
        ("check who may execute or read it",),
    ),
    "RESOURCE_NOT_FOUND": Fatal(
        "a command or file that is needed is not there",
        ("check the name and the path", "install what is missing"),
    ),
    UNFIT: Fatal(
        "a check is not fit for what the plan asks of it",
        (
            "change the check's command: it must only look, and leave a report that can be read",
            "the run keeps the checks it began with: cancel it, then run the changed plan with "
            "--base set to its run branch",
        ),
    ),
    "REQUEST_REFUSED": Fatal(
        "the agent's service refused the request as malformed",
        ("check the agent's model and options", "update the agent"),
    ),
}

# What `AgentExit.limit` says when it explains a failing check: mends itself, or never does.
_PASSING: Mapping[str, tuple[Kind, str]] = {
    "rate": (Kind.RATE_LIMIT, "the agent's service answered with a rate limit"),
    "overloaded": (Kind.TRANSIENT_ERROR, "the agent's service was overloaded or out of reach"),
    "session": (Kind.TRANSIENT_ERROR, "the agent's conversation is gone; the next try begins anew"),
}
# A wrong name, a bad request: such agents fail before they change anything, so these words explain
# only that nothing was done.
_REFUSED: Mapping[str, tuple[str, str]] = {
    "request": ("REQUEST_REFUSED", FATAL["REQUEST_REFUSED"].message),
    "notfound": ("RESOURCE_NOT_FOUND", "the agent, its model or a file it needs is not there"),
    "forbidden": ("PERMISSION_DENIED", "the agent may not run or read what it needs"),
}
_CUT: Mapping[str, str] = {
    "context": "the conversation grew too long for the agent's model",
    "turns": "the agent was cut off by its own bound on turns, cost or length",
    "unfinished": "the agent ended without a last word",
}
# A shell tells a death by signal as 128 + its number: these signals end a process.
_SHELL_DEATHS = frozenset(128 + n for n in (1, 2, 3, 4, 6, 7, 8, 9, 11, 13, 14, 15, 24, 25, 31))


def failed(
    kind: Kind, message: str, *, pattern: str = "", check: str = "", items: tuple[Item, ...] = ()
) -> Failure:
    """A failure with its fingerprint."""
    mark = fingerprint(kind.value, pattern, check, message, items)
    return Failure(kind, message, pattern=pattern, check=check, items=items, fingerprint=mark)


def fault(message: str, *, transient: bool, code: str = "") -> Failure:
    """A failure of our own infrastructure; the agent is not to blame."""
    if transient:
        mark = fingerprint("TRANSIENT_ERROR", "", "", message, ())
        return Failure(
            Kind.TRANSIENT_ERROR,
            message,
            fingerprint=mark,
            ours=True,
            reason=Reason.SYSTEM_ERROR_TRANSIENT,
        )
    failure = fatal(code or "RESOURCE_NOT_FOUND", message, ours=True)
    if code == UNDELIVERED:
        return replace(failure, reason=Reason.SYSTEM_ERROR_TRANSIENT)
    return failure


def fatal(code: str, message: str, *, ours: bool = False) -> Failure:
    mark = fingerprint("FATAL_ERROR", code, "", message, ())
    return Failure(
        Kind.FATAL_ERROR,
        message,
        pattern="",
        fingerprint=mark,
        ours=ours,
        reason=Reason.SYSTEM_ERROR_PERMANENT,
        code=code,
    )


def contradicted(goal: str, words: str) -> Failure:
    """One question with both sides: neither the task nor its checks is changed by us."""
    sides = f"The task:\n{_clipped(goal)}\n\nThe agent:\n{_clipped(words)}"
    return failed(
        Kind.ESCALATE_REQUIRED,
        f"The agent says that the task and its checks contradict each other.\n\n{sides}",
    )


def _clipped(text: str) -> str:
    text = text.strip()
    return text if len(text) <= SIDE_CHARS else f"{text[:SIDE_CHARS]}…"


def too_large(excess: Sequence[str]) -> Failure:
    """What exceeds the bounds on a change goes back to whoever made it; none of it lands."""
    words = "; ".join(excess[:EXCESS_MAX])
    failure = failed(Kind.INCOMPLETE, words, pattern=TOO_LARGE, check=TOO_LARGE)
    return replace(failure, params={"tooLarge": list(excess[:100])})


def before_verify(exit_: AgentExit) -> Failure | None:
    """Failures that need no look at the work: it was cut off, asked, or could not run at all."""
    if exit_.cut_off:
        return failed(Kind.LOST, f"the agent was cut off in the middle ({exit_.ended_by})")
    if exit_.question:
        return failed(Kind.ESCALATE_REQUIRED, exit_.question)
    if exit_.start_fault:
        return fault(f"the agent could not be started: {exit_.start_error}", transient=True)
    if exit_.start_error:
        code = "PERMISSION_DENIED" if exit_.start_denied else "RESOURCE_NOT_FOUND"
        return fatal(code, f"the agent did not start: {exit_.start_error}")
    if not exit_.retry_safe:
        words = f"the agent reported retry_safe: false: {_said(exit_)}"
        failure = failed(Kind.ESCALATE_REQUIRED, words)
        return Failure(
            failure.kind,
            failure.message,
            fingerprint=failure.fingerprint,
            retry_safe=False,
            replan=True,
        )
    return None


def of_exit(exit_: AgentExit) -> Failure | None:
    """What the exit says by itself, in the order of trust; None when it explains nothing.

    Called only when the work was not proven: an exit code neither proves nor refutes.
    """
    if exit_.ended_by in {"deadline", "hang"}:
        params = {"elapsedSeconds": round(exit_.seconds)}
        return replace(failed(Kind.TIMEOUT, _timeout_words(exit_)), params=params)
    if exit_.ended_by == "output":
        limit = f"; {exit_.output_bytes_max} are allowed" if exit_.output_bytes_max else ""
        words = f"the agent wrote {exit_.output_bytes} bytes{limit}"
        return failed(Kind.RESOURCE_EXHAUSTED, words)
    if exit_.limit in _PASSING:
        return replace(failed(*_PASSING[exit_.limit]), retry_after=exit_.retry_after)
    if exit_.limit == "auth":
        return fatal("AUTHENTICATION_FAILED", FATAL["AUTHENTICATION_FAILED"].message)
    if exit_.limit == "money":
        return failed(Kind.RESOURCE_EXHAUSTED, "the agent's account has no money or credit left")
    if exit_.ended_by == "waiting" and exit_.limit not in _REFUSED:
        return failed(Kind.TRANSIENT_ERROR, "the agent kept waiting for its service")
    return None


def _timeout_words(exit_: AgentExit) -> str:
    if exit_.ended_by == "hang":
        return f"the agent hung: no CPU, output or file change; ended after {exit_.seconds:.0f} s"
    return f"the agent was still working at its deadline and was ended after {exit_.seconds:.0f} s"


def of_idleness(exit_: AgentExit) -> Failure:
    """The agent changed nothing, and the checks pass without it: nobody knows what it did."""
    words = "nothing was changed; if nothing needs changing, say why"
    failure = failed(Kind.INCOMPLETE, words, pattern=NO_CHANGE, check=NO_CHANGE)
    said = {"agentSaid": exit_.said.strip()[-SAID_CHARS:]} if exit_.said.strip() else {}
    return replace(failure, params=said, reason=Reason.NEEDS_HUMAN)


def located(failure: Failure, elsewhere: tuple[str, ...]) -> Failure:
    """With the places where the agent did work: told only "nothing", it would do the same again."""
    if failure.pattern != NO_CHANGE or not elsewhere:
        return failure
    places = "; ".join(elsewhere[:PLACES_MAX])
    words = f"{failure.message}. The work is elsewhere: {places}; bring it to this branch"
    params = {**failure.params, ELSEWHERE: places}
    return replace(failure, message=words, params=params)


def of_nothing(exit_: AgentExit) -> Failure:
    """The agent changed nothing and its task is not satisfied."""
    known = of_exit(exit_)
    if known is not None:
        return known
    if exit_.limit in _REFUSED:
        return fatal(*_REFUSED[exit_.limit])
    if exit_.code in {126, 127}:
        code = "PERMISSION_DENIED" if exit_.code == 126 else "RESOURCE_NOT_FOUND"
        return _telling(
            fatal(code, f"the agent's command ended with exit code {exit_.code}"), exit_
        )
    if exit_.signal is not None or exit_.code in _SHELL_DEATHS:
        number = exit_.signal or (exit_.code or 0) - 128
        return failed(Kind.TRANSIENT_ERROR, f"the agent died by signal {number}")
    if exit_.limit and exit_.limit not in _CUT:
        return _for_a_person(exit_)
    if exit_.failed:
        return of_own_report(exit_, "nothing was changed, and ")
    ended = "" if exit_.code == 0 else f"; it ended with exit code {exit_.code}"
    words = f"nothing was changed{ended}"
    if exit_.limit:
        words = f"{words}; {_CUT[exit_.limit]}"
    failure = failed(Kind.INCOMPLETE, words, pattern="no-change")
    return _telling(failure, exit_) if ended else failure


def of_own_report(exit_: AgentExit, beginning: str = "") -> Failure:
    """Rule 16.8: passing checks never overrule an agent that says that it failed.

    Its words differ from try to try, so they are no part of the fingerprint.
    """
    known = of_exit(exit_)
    if known is not None:
        return _claimed(known, exit_)
    head = f"{beginning}{_own_report(exit_)}"
    failure = failed(Kind.INCOMPLETE, head, pattern=AGENT_FAILED)
    params = {"claim": exit_.claim, "exitCode": exit_.code, "unreadable": exit_.unreadable}
    words = ": ".join(filter(None, (head, exit_.claim)))
    return replace(failure, message=words, params=params)


def _claimed(failure: Failure, exit_: AgentExit) -> Failure:
    """The failure, with the agent's own words about it where there are any."""
    if not exit_.claim or exit_.claim in failure.message:
        return failure
    words = f"{failure.message}; {_own_report(exit_)}: {exit_.claim}"
    return replace(failure, message=words)


def _own_report(exit_: AgentExit) -> str:
    if exit_.unreadable:
        return f"the agent's result file cannot be read ({exit_.unreadable})"
    return "the agent reported that it failed"


def _telling(failure: Failure, exit_: AgentExit) -> Failure:
    """With the last lines of the agent's error channel.

    They are no part of the fingerprint, for such words differ from try to try.
    """
    lines = [line.strip() for line in exit_.error.strip().splitlines() if line.strip()]
    said = " | ".join(lines[-ERROR_LINES:])[-ERROR_CHARS:]
    return replace(failure, message=f"{failure.message}: {said}") if said else failure


def _for_a_person(exit_: AgentExit) -> Failure:
    """It was not allowed to go on, or failed as no rule explains: not retried, a person decides."""
    if exit_.limit == "denied":
        return failed(Kind.ESCALATE_REQUIRED, _said(exit_))
    words = f"the agent failed as no rule explains: {_said(exit_)}"
    return replace(failed(Kind.ESCALATE_REQUIRED, words), reason=Reason.UNKNOWN)


def _said(exit_: AgentExit) -> str:
    """The last line of its error channel."""
    lines = exit_.error.strip().splitlines()
    return lines[-1] if lines else "no reason given"


def _together(verdict: Verdict) -> Finding | None:
    """Everything that stopped the verdict as one finding, so that one try can mend all of it."""
    stopped = [finding for finding in verdict.findings if not finding.settled]
    if len(stopped) < 2:
        return verdict.failing
    params: dict[str, Any] = {}
    for finding in reversed(stopped):
        params.update(finding.params)
    return replace(
        stopped[0],
        message="; ".join(finding.message for finding in stopped),
        items=tuple(item for finding in stopped for item in finding.items),
        params=params,
        replan=any(finding.replan for finding in stopped),
    )


def of_verdict(verdict: Verdict, exit_: AgentExit | None) -> Failure:
    """Why a verdict did not pass, or why a passed one does not count."""
    if verdict.passed and exit_ is not None and exit_.failed:
        return of_own_report(exit_)
    finding = _together(verdict)
    if finding is None:
        return failed(Kind.QUALITY_FAILURE, f"nothing was proven: {_no_proof(verdict)}")
    if finding.outcome is Outcome.BROKEN:
        return _of_broken(finding)
    if exit_ is None or finding.on_failure is OnFailure.ABORT or finding.replan:
        # A check that ends the tries does so however the agent ended.
        return _of_finding(finding)
    known = of_exit(exit_)
    if known is not None and not _overstated(known, exit_):
        return known
    return _claimed(_cut_off(_of_finding(finding), exit_), exit_)


def _no_proof(verdict: Verdict) -> str:
    """No required check that can fail has passed, though none stopped the list."""
    skipped = [f.check for f in verdict.findings if f.outcome is Outcome.SKIPPED]
    beside = f"; skipped: {', '.join(skipped)}" if skipped else ""
    return f"no required check that can fail has passed{beside}"


def _of_broken(finding: Finding) -> Failure:
    """Nobody's bad work.  A judge whose service named a limit waits for it as an agent does."""
    said = "is not fit" if finding.code == UNFIT else "could not run"
    words = f"{said}: {finding.message}"
    if finding.account:
        limited = failed(Kind.RATE_LIMIT, words, check=finding.check)
        return replace(limited, retry_after=finding.retry_after, account=finding.account)
    code = "" if finding.transient else finding.code or "RESOURCE_NOT_FOUND"
    return replace(fault(words, transient=finding.transient, code=code), check=finding.check)


def _overstated(known: Failure, exit_: AgentExit) -> bool:
    """Work was left and the agent ended well: of all words only a rate limit still explains it.

    A refused key or a network error that some tool met on the way would stop the task, or repeat
    it without telling the agent what failed.
    """
    return exit_.code == 0 and not exit_.ended_by and known.kind is not Kind.RATE_LIMIT


def _cut_off(failure: Failure, exit_: AgentExit) -> Failure:
    """Half of the work is not bad work: what failed is told, as incomplete."""
    if exit_.limit not in _CUT or failure.kind is not Kind.QUALITY_FAILURE:
        return failure
    kind, words = Kind.INCOMPLETE, f"{_CUT[exit_.limit]}; {failure.message}"
    mark = fingerprint(kind.value, failure.pattern, failure.check, words, failure.items)
    return replace(failure, kind=kind, message=words, fingerprint=mark)


def _of_finding(finding: Finding) -> Failure:
    kind = Kind.INCOMPLETE if finding.pattern in UNFINISHED else Kind.QUALITY_FAILURE
    if finding.on_failure is OnFailure.ABORT or finding.replan:
        # The plan, or a judge, says that no further try may follow this check's failure.
        kind = Kind.ESCALATE_REQUIRED
    failure = failed(
        kind, finding.message, pattern=finding.pattern, check=finding.check, items=finding.items
    )
    return Failure(
        failure.kind,
        failure.message,
        pattern=failure.pattern,
        check=failure.check,
        items=failure.items,
        reason=Reason.NEEDS_HUMAN if finding.check == NO_CHANGE else None,
        params=finding.params,
        output=clip_bytes(finding.output, OUTPUT_KEPT),
        fingerprint=failure.fingerprint,
        replan=finding.replan,
    )
