"""The end of an agent as a failure: exit codes, signals and limits decide first, text last."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from yaoki.core.decide.failures import FATAL_CATALOGUE, make_failure, make_fatal, make_fault
from yaoki.core.lazy_dataclass import replace
from yaoki.core.model import (
    BUILT_IN_CHECKS,
    NO_CHANGE_CHECK,
    AgentExit,
    AgentLimit,
    EndCause,
    FailOverCause,
    Failure,
    FailureKind,
    Reason,
    Verdict,
)
from yaoki.core.model.outcome import END_WORDS
from yaoki.core.text import first_line, format_bytes, format_duration, list_some, shorten
from yaoki.errors import FatalCode

ERROR_LINES, ERROR_CHARS = 3, 300
SAID_CHARS = 500
SIDE_CHARS = 800
# The param that says where an agent without changes has worked.
ELSEWHERE_PARAM = "elsewhere"
# The param that names the waived checks of an agent without changes.
WAIVED_PARAM = "waivedChecks"
# The param that says with which tasks all changes of an attempt have landed.
SAME_WORK_PARAM = "sameWork"
PLACES_MAX, CHECKS_MAX = 5, 5
# The params with the new files of the agent that its scope left out, and with the scope.
OUTSIDE_PARAM, SCOPE_PARAM, OUTSIDE_MAX = "outsideFiles", "scope", 100
# The agent reports that it failed.
AGENT_FAILED_PATTERN = "agent-failed"
NOTHING_CHANGED = "nothing was changed"
TOO_LARGE_PATTERN, EXCESS_MAX = "too-large", 5
# No pattern of its own: the words of git say what is wrong.
GIT_REFUSAL_PATTERN = "check-failed"
# Values of `AgentExit.limit` that explain a failing check: temporary ones, and permanent ones.
_PASSING: Mapping[AgentLimit, tuple[FailureKind, str]] = {
    AgentLimit.RATE: (FailureKind.RATE_LIMIT, "the agent's service answered with a rate limit"),
    AgentLimit.OVERLOADED: (
        FailureKind.TRANSIENT_ERROR,
        "the agent's service was overloaded or unreachable",
    ),
    AgentLimit.BUSY: (
        FailureKind.TRANSIENT_ERROR,
        "the agent's own files were in use by another process of the same agent",
    ),
    AgentLimit.SESSION: (
        FailureKind.TRANSIENT_ERROR,
        "the agent's conversation is gone; the next attempt starts a new one",
    ),
}
# An agent with a wrong model name or a malformed request fails before it changes anything, so these
# limits explain only an attempt without a change.
_REFUSED: Mapping[AgentLimit, tuple[FatalCode, str]] = {
    AgentLimit.REQUEST: (
        FatalCode.REQUEST_REFUSED,
        FATAL_CATALOGUE[FatalCode.REQUEST_REFUSED].message,
    ),
    AgentLimit.NOT_FOUND: (
        FatalCode.RESOURCE_NOT_FOUND,
        "the agent, its model or a file that it needs was not found",
    ),
    AgentLimit.FORBIDDEN: (
        FatalCode.PERMISSION_DENIED,
        "the agent lacks the permission to run or read what it needs",
    ),
}
CUT_OFF_MESSAGES: Mapping[AgentLimit, str] = {
    AgentLimit.CONTEXT: "the conversation grew too long for the agent's model",
    AgentLimit.TURNS: "the agent reached its own limit of turns, cost or length",
    AgentLimit.UNFINISHED: "the agent ended without a final message",
}
# A shell reports a death by signal as 128 + its number; these signals end a process.
_SHELL_DEATHS = frozenset(128 + n for n in (1, 2, 3, 4, 6, 7, 8, 9, 11, 13, 14, 15, 24, 25, 31))


def classify_contradiction(goal: str, words: str) -> Failure:
    """Ask a person one question that quotes both sides; yaoki changes neither the task nor its
    checks.
    """
    task, agent = (shorten(text.strip(), SIDE_CHARS) for text in (goal, words))
    sides = f"The task:\n{task}\n\nThe agent:\n{agent}"
    return make_failure(
        FailureKind.ESCALATE_REQUIRED,
        f"The agent says that the task and its checks contradict each other.\n\n{sides}",
    )


def classify_oversize(excess: Sequence[str]) -> Failure:
    """The change exceeds the size limits: the agent tries again, and nothing lands."""
    words = "; ".join(excess[:EXCESS_MAX])
    failure = make_failure(
        FailureKind.INCOMPLETE, words, pattern=TOO_LARGE_PATTERN, check=TOO_LARGE_PATTERN
    )
    return replace(failure, params={"tooLarge": list(excess[:100])})


def classify_git_refusal(words: str) -> Failure:
    """git refuses a file or its attributes, both of which the agent writes: it tries again."""
    return make_failure(FailureKind.INCOMPLETE, words, pattern=GIT_REFUSAL_PATTERN)


def classify_before_verify(exit_: AgentExit) -> Failure | None:
    """Failures that are certain before verification: interrupted, asked, or could not start."""
    if exit_.was_cut_off:
        return make_failure(FailureKind.LOST, f"the agent {END_WORDS[exit_.ended_by]}")
    if exit_.question:
        return make_failure(FailureKind.ESCALATE_REQUIRED, exit_.question)
    if exit_.start_fault:
        return make_fault(f"the agent could not be started: {exit_.start_error}", transient=True)
    if exit_.start_error:
        code = FatalCode.PERMISSION_DENIED if exit_.start_denied else FatalCode.RESOURCE_NOT_FOUND
        missing = make_fatal(code, f"the agent did not start: {exit_.start_error}")
        return replace(missing, agent_problem=FailOverCause.MISSING_PROGRAM)
    if not exit_.retry_safe:
        words = f"the agent reported retry_safe: false: {_last_stderr_line(exit_)}"
        failure = make_failure(FailureKind.ESCALATE_REQUIRED, words)
        return Failure(
            failure.kind,
            failure.message,
            fingerprint=failure.fingerprint,
            retry_safe=False,
            replan=True,
        )
    return None


def classify_exit(exit_: AgentExit) -> Failure | None:
    """The failure that the exit itself explains, most reliable facts first; None if none.

    Called only when the work did not pass: an exit code alone neither proves nor refutes work.
    """
    if exit_.ended_by in {EndCause.DEADLINE, EndCause.HANG}:
        params = {"elapsedSeconds": round(exit_.seconds)}
        return replace(make_failure(FailureKind.TIMEOUT, _timeout_words(exit_)), params=params)
    if exit_.ended_by == EndCause.OUTPUT:
        limit = (
            f"; {format_bytes(exit_.output_bytes_max)} are allowed"
            if exit_.output_bytes_max
            else ""
        )
        words = f"the agent wrote {format_bytes(exit_.output_bytes)}{limit}"
        return make_failure(FailureKind.RESOURCE_EXHAUSTED, words)
    if exit_.ended_by == EndCause.TASK_BUDGET:
        words = "the agent was stopped because the budget of its task is used up"
        return make_failure(FailureKind.RESOURCE_EXHAUSTED, words)
    if exit_.ended_by == EndCause.RUN_BUDGET:
        words = "the agent was stopped because the budget of the run is used up"
        return make_failure(FailureKind.LOST, words)
    if exit_.limit in _PASSING:
        passing = replace(make_failure(*_PASSING[exit_.limit]), retry_after=exit_.retry_after)
        return _with_account_problem(passing, exit_)
    if exit_.limit == AgentLimit.AUTH:
        refused = make_fatal(
            FatalCode.AUTHENTICATION_FAILED,
            FATAL_CATALOGUE[FatalCode.AUTHENTICATION_FAILED].message,
        )
        return _with_account_problem(refused, exit_)
    if exit_.limit == AgentLimit.MONEY:
        empty = make_failure(
            FailureKind.RESOURCE_EXHAUSTED, "the agent's account has no money or credit left"
        )
        return _with_account_problem(empty, exit_)
    if exit_.ended_by == EndCause.WAITING and exit_.limit not in _REFUSED:
        words = "the agent waited too long for its service"
        return make_failure(FailureKind.TRANSIENT_ERROR, words)
    return None


def _with_account_problem(failure: Failure, exit_: AgentExit) -> Failure:
    """Add what the limit says about the account, in the words of its service.

    The words may differ each time, so they are not part of the fingerprint.
    """
    explained = _with_service_message(failure, exit_)
    return replace(explained, account_problem=exit_.limit.account_problem)


def _with_service_message(failure: Failure, exit_: AgentExit) -> Failure:
    said = first_line(exit_.service_message, ERROR_CHARS)
    words = f"{failure.message}: {said}" if said else failure.message
    return replace(failure, message=words, remedy=exit_.remedy)


def classify_unanswered(exit_: AgentExit) -> Failure | None:
    """The failure of an attempt that changed nothing because its service refused or was away.

    No check can say more about it.  If the model has answered before, the attempt counts.
    """
    if not exit_.limit.account_problem:
        return None
    failure = classify_exit(exit_)
    if failure is None or not failure.account_problem:
        return None
    return replace(failure, unanswered=not exit_.model_responded)


def _timeout_words(exit_: AgentExit) -> str:
    time = format_duration(exit_.seconds)
    if exit_.ended_by == EndCause.HANG:
        return f"the agent hung: no CPU, output or file change; ended after {time}"
    return f"the agent was still working at its deadline and was ended after {time}"


def classify_needless_run(exit_: AgentExit, waived: Sequence[str] = ()) -> Failure:
    """The agent changed nothing, and the checks pass without a change: its work is unknown.

    `waived` names the checks that did not pass, and that a person waived.
    """
    words = "nothing was changed; if nothing needs changing, say why"
    failure = make_failure(
        FailureKind.INCOMPLETE, words, pattern=NO_CHANGE_CHECK, check=NO_CHANGE_CHECK
    )
    said = exit_.output_tail.strip()[-SAID_CHARS:]
    params: dict[str, object] = {"agentSaid": said} if said else {}
    if waived:
        params[WAIVED_PARAM] = list(waived)
    return replace(failure, params=params, reason=Reason.NEEDS_HUMAN)


def describe_same_work(failure: Failure, exit_: AgentExit, names: Sequence[str]) -> Failure:
    """An attempt that changed something, of which nothing is left to land.

    `names`: the tasks that landed the same changes, as far as they are known.
    """
    landed = f"landed with {', '.join(names)}" if names else "landed"
    words = f"everything that was changed has already {landed}"
    message = f"{words}; if nothing else needs changing, say why"
    params = {**failure.params, SAME_WORK_PARAM: words}
    end = describe_failed_agent(exit_)
    return replace(failure, message=message, params=params, agent_end=end)


def describe_unchanged_checks(waived: Sequence[str], count: int) -> str:
    """The checks of work without a change, `count` in all: they pass, or were waived."""
    if not waived:
        return "its checks pass without a change"
    names = ", ".join(waived)
    verb = "was" if len(waived) == 1 else "were"
    if len(waived) < count:
        return f"its checks pass without a change, except {names}, which {verb} waived"
    return f"its only check, {names}, was waived" if count == 1 else f"all its checks {verb} waived"


def add_work_location(failure: Failure, elsewhere: tuple[str, ...]) -> Failure:
    """Add the places where the agent did work; otherwise it would work there again."""
    if failure.pattern != NO_CHANGE_CHECK or not elsewhere:
        return failure
    places = "; ".join(elsewhere[:PLACES_MAX])
    words = f"{failure.message}. The work is in another place: {places}; move it to this branch"
    params = {**failure.params, ELSEWHERE_PARAM: places}
    return replace(failure, message=words, params=params)


def add_left_out_files(failure: Failure, files: Sequence[str], scope: Sequence[str]) -> Failure:
    """Add the new files outside the scope: the agent and the person may think that they land."""
    if failure.pattern != NO_CHANGE_CHECK or not files:
        return failure
    words = (
        f"{failure.message}. New files outside the task's scope were left out: "
        f"{list_some(files, PLACES_MAX)}; its scope is {', '.join(scope)}"
    )
    listed = {OUTSIDE_PARAM: list(files[:OUTSIDE_MAX]), SCOPE_PARAM: list(scope)}
    return replace(failure, message=words, params={**failure.params, **listed})


def classify_no_change(exit_: AgentExit) -> Failure:
    """The agent changed nothing and its checks do not pass."""
    known = classify_exit(exit_)
    if known is not None:
        return known
    if exit_.limit in _REFUSED:
        refused = replace(make_fatal(*_REFUSED[exit_.limit]), agent_problem=FailOverCause.UNUSABLE)
        return _with_service_message(refused, exit_)
    if exit_.code in {126, 127}:
        code = FatalCode.PERMISSION_DENIED if exit_.code == 126 else FatalCode.RESOURCE_NOT_FOUND
        words = f"the agent's command ended with exit code {exit_.code}"
        missing = replace(make_fatal(code, words), agent_problem=FailOverCause.MISSING_PROGRAM)
        return _add_last_words(missing, exit_)
    if number := _signal_number(exit_):
        words = f"the agent was killed by signal {number}"
        return make_failure(FailureKind.TRANSIENT_ERROR, words)
    if exit_.limit and exit_.limit not in CUT_OFF_MESSAGES:
        return _needs_person(exit_)
    if exit_.reports_failure:
        return classify_own_report(exit_, f"{NOTHING_CHANGED}, and ")
    ended = "" if exit_.code == 0 else f"; it ended with exit code {exit_.code}"
    words = f"{NOTHING_CHANGED}{ended}"
    if exit_.limit:
        words = f"{words}; {CUT_OFF_MESSAGES[exit_.limit]}"
    failure = make_failure(FailureKind.INCOMPLETE, words, pattern="no-change")
    return _add_last_words(failure, exit_) if ended else failure


def name_failed_checks(verdict: Verdict) -> tuple[str, ...]:
    """One text with the names of the plan's failed checks; none if only one of them failed."""
    names = [one.check for one in verdict.all_failing if one.check not in BUILT_IN_CHECKS]
    return (f"failed: {list_some(names, CHECKS_MAX)}",) if len(names) > 1 else ()


def classify_own_report(exit_: AgentExit, beginning: str = "") -> Failure:
    """Rule 16.8: passing checks never overrule an agent that reports a failure.

    Its words differ each time, so they are not part of the fingerprint.
    """
    known = classify_exit(exit_)
    if known is not None:
        return add_agent_claim(known, exit_)
    head = f"{beginning}{_own_report(exit_)}"
    failure = make_failure(FailureKind.INCOMPLETE, head, pattern=AGENT_FAILED_PATTERN)
    params = {"claim": exit_.failure_claim, "exitCode": exit_.code, "unreadable": exit_.unreadable}
    words = ": ".join(filter(None, (head, exit_.failure_claim)))
    # The agent's own note delays its own task; it says nothing about its account.
    return replace(failure, message=words, params=params, retry_after=exit_.retry_after)


def add_agent_claim(failure: Failure, exit_: AgentExit) -> Failure:
    """The failure with the agent's own words about it, if any."""
    if not exit_.failure_claim or exit_.failure_claim in failure.message:
        return failure
    claim = f"{_own_report(exit_)}: {exit_.failure_claim}"
    end = "; ".join(filter(None, (failure.agent_end, claim)))
    return replace(failure, message=f"{failure.message}; {claim}", agent_end=end)


def add_crash(failure: Failure, exit_: AgentExit) -> Failure:
    """The failure of a check with the signal that ended the agent before its work was complete."""
    number = _signal_number(exit_)
    if not number or exit_.ended_by or failure.agent_end:
        return failure
    end = f"the agent was killed by signal {number}, so its work may be incomplete"
    return replace(failure, message=f"{failure.message}; {end}", agent_end=end)


def add_agent_end(failure: Failure, exit_: AgentExit) -> Failure:
    """The failure of a trivial change with the agent's last words, or with its own failure.

    An agent that was killed or gave up has not decided that nothing needs changing.
    """
    said = exit_.output_tail.strip()[-SAID_CHARS:]
    params = {**failure.params, "agentSaid": said} if said else failure.params
    failure = replace(failure, params=params)
    end = _describe_end(exit_, ERROR_LINES)
    return replace(failure, message=f"{failure.message}; {end}", agent_end=end) if end else failure


def describe_failed_agent(exit_: AgentExit) -> str:
    """In one line how an agent failed, with the last line of its errors; else empty."""
    report = (_own_report(exit_), exit_.failure_claim) if exit_.reports_failure else ()
    return "; ".join(filter(None, (": ".join(filter(None, report)), _describe_end(exit_, 1))))


def _describe_end(exit_: AgentExit, lines: int) -> str:
    """How an agent ended that was cut off or failed, with the last `lines` that it wrote."""
    words = (CUT_OFF_MESSAGES.get(exit_.limit, ""), _describe_exit(exit_, lines))
    return "; ".join(filter(None, words))


def _describe_exit(exit_: AgentExit, lines: int) -> str:
    if exit_.code == 0:
        return ""
    number = _signal_number(exit_)
    end = f"was killed by signal {number}" if number else f"ended with exit code {exit_.code}"
    excerpt = _last_words(exit_, lines)
    return f"the agent {end}: {excerpt}" if excerpt else f"the agent {end}"


def _signal_number(exit_: AgentExit) -> int:
    """The signal that ended the agent or its shell; 0 if none did."""
    if exit_.signal is not None or exit_.code in _SHELL_DEATHS:
        return exit_.signal or (exit_.code or 0) - 128
    return 0


def _own_report(exit_: AgentExit) -> str:
    if exit_.unreadable:
        return f"the agent's result file cannot be read ({exit_.unreadable})"
    return "the agent reported that it failed"


def _add_last_words(failure: Failure, exit_: AgentExit) -> Failure:
    """Add the last lines of the agent's errors, or else of its output.

    They are not part of the fingerprint, since they differ each time.
    """
    excerpt = _last_words(exit_)
    return replace(failure, message=f"{failure.message}: {excerpt}") if excerpt else failure


def _last_words(exit_: AgentExit, count: int = ERROR_LINES) -> str:
    """The last lines of stderr, or of the output of a program that writes nothing to stderr."""
    text = exit_.stderr_tail.strip() or exit_.output_tail.strip()
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return " | ".join(lines[-count:])[-ERROR_CHARS:]


def _needs_person(exit_: AgentExit) -> Failure:
    """The failure of an agent that was denied permission, or that no rule explains: a person
    decides.
    """
    if exit_.limit == AgentLimit.REFUSAL:
        said = exit_.service_message or _last_stderr_line(exit_)
        words = f"the agent's model declined the task: {first_line(said, ERROR_CHARS)}"
        declined = make_failure(FailureKind.ESCALATE_REQUIRED, words)
        return replace(declined, agent_problem=FailOverCause.REFUSAL)
    if exit_.limit == AgentLimit.DENIED:
        denied = make_failure(FailureKind.ESCALATE_REQUIRED, _last_stderr_line(exit_))
        return replace(denied, agent_problem=FailOverCause.UNUSABLE)
    words = f"the agent failed for a reason that yaoki does not know: {_last_stderr_line(exit_)}"
    unknown = make_failure(FailureKind.ESCALATE_REQUIRED, words)
    return replace(unknown, reason=Reason.UNKNOWN, agent_problem=FailOverCause.UNUSABLE)


def _last_stderr_line(exit_: AgentExit) -> str:
    """The last line of its stderr."""
    lines = exit_.stderr_tail.strip().splitlines()
    return lines[-1] if lines else "no reason given"
