"""Messages and questions to a person when a task cannot continue; hints for a retry."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from enum import StrEnum, unique
from typing import Any

from yaoki.core.decide.check_remedies import suggest_check_change
from yaoki.core.decide.exit_classification import (
    AGENT_FAILED_PATTERN,
    ELSEWHERE_PARAM,
    OUTSIDE_PARAM,
    PLACES_MAX,
    SAME_WORK_PARAM,
    SCOPE_PARAM,
    WAIVED_PARAM,
    describe_unchanged_checks,
)
from yaoki.core.decide.failures import FATAL_CATALOGUE
from yaoki.core.decide.integrity import WEAKENED_PATTERN as WEAKENED
from yaoki.core.decide.red_first import NOT_RED_PATTERN
from yaoki.core.decide.retry_decision import BUDGET_RULE, RetryDecision
from yaoki.core.lazy_dataclass import dataclass
from yaoki.core.model import (
    BUILT_IN_CHECKS,
    GIT_CONFIG_CHECK,
    NO_CHANGE_CHECK,
    AccountProblem,
    Choice,
    Failure,
    FailureKind,
    Question,
    Reason,
    Task,
    TaskKind,
)
from yaoki.core.model.names import CONFLICT_MARKERS_CHECK, explain_check_name
from yaoki.core.model.outcome import (
    MARKED_FILES_PARAM,
)
from yaoki.core.model.run import landing_branch
from yaoki.core.text import (
    as_sentence,
    first_line,
    format_count,
    last_line,
    list_some,
    quote_path,
    shorten,
)

MESSAGE_MAX = 500
# No agent works on these kinds, so no agent would read an answer.
AGENTLESS_KINDS = frozenset({TaskKind.CHECK, TaskKind.GROUP})
QUESTION_MAX = 2000
GIVEN_UP_MAX = 160
# An attempt without a change never fails by these.
WORK_REJECTED = frozenset({FailureKind.QUALITY_FAILURE.value, FailureKind.CONFLICT.value})
MARKED_SHOWN = 3
CHECKS_SHOWN = 3
COMMENTS_REMEDY = "If the task is to write comments, add a check that fails without them (grep)."


@unique
class EscalationType(StrEnum):
    """The four kinds of message to a person."""

    MAX_RETRIES = "MAX_RETRIES"
    FATAL_ERROR = "FATAL_ERROR"
    HUMAN_JUDGMENT = "HUMAN_JUDGMENT"
    RESOURCE_EXHAUSTED = "RESOURCE_EXHAUSTED"


@dataclass(frozen=True, slots=True)
class EscalationReport:
    """An escalation in the form of rule 10.3."""

    type: EscalationType
    description: str
    summary: Mapping[str, Any]
    message: str
    actions: tuple[str, ...]
    question: Question


ESCALATION_TEMPLATES: Mapping[str, Mapping[EscalationType, str]] = {
    "en": {
        EscalationType.MAX_RETRIES: "{task}: not done after {tries}.\nMain problem: {issue}\n"
        "What you can do:\n{actions}\nDetails: yaoki why {id}",
        EscalationType.FATAL_ERROR: "{task}: an error that no retry can fix.\nError: {issue}\n"
        "What you can do:\n{actions}\nDetails: yaoki why {id}",
        EscalationType.HUMAN_JUDGMENT: "{task}: needs your judgment.\nReason: {issue}\n"
        "What you can do:\n{actions}\nDetails: yaoki why {id}",
        EscalationType.RESOURCE_EXHAUSTED: "{task}: stopped at a resource limit.\nLimit: {issue}\n"
        "What you can do:\n{actions}\nDetails: yaoki why {id}",
    },
    "ja": {
        EscalationType.MAX_RETRIES: "{task}: {attempts} 回試行しましたが完了できませんでした。\n"
        "主な問題: {issue}\nできること:\n{actions}\n詳細: yaoki why {id}",
        EscalationType.FATAL_ERROR: "{task}: 再試行では直らないエラーです。\nエラー: {issue}\n"
        "できること:\n{actions}\n詳細: yaoki why {id}",
        EscalationType.HUMAN_JUDGMENT: "{task}: あなたの判断が必要です。\n理由: {issue}\n"
        "できること:\n{actions}\n詳細: yaoki why {id}",
        EscalationType.RESOURCE_EXHAUSTED: "{task}: リソースの上限で停止しました。\n上限: {issue}\n"
        "できること:\n{actions}\n詳細: yaoki why {id}",
    },
}

_ACCOUNT_REMEDIES: Mapping[AccountProblem, str] = {
    AccountProblem.KEY_REFUSED: "give the agent a valid key, or log in again",
    AccountProblem.KEY_MISSING: "set the variable with its key in yaoki's environment",
    AccountProblem.NO_CREDIT: "add credit to the account",
}
_TYPE: Mapping[Reason, EscalationType] = {
    Reason.MAX_RETRIES: EscalationType.MAX_RETRIES,
    Reason.MAX_RETRIES_INTEGRATION: EscalationType.MAX_RETRIES,
    Reason.CONFLICT: EscalationType.MAX_RETRIES,
    Reason.SYSTEM_ERROR_TRANSIENT: EscalationType.MAX_RETRIES,
    Reason.SYSTEM_ERROR_PERMANENT: EscalationType.FATAL_ERROR,
    Reason.MANUAL: EscalationType.HUMAN_JUDGMENT,
    Reason.DEPENDENCY_FAILED: EscalationType.HUMAN_JUDGMENT,
    Reason.NEEDS_HUMAN: EscalationType.HUMAN_JUDGMENT,
    Reason.RESOURCE_EXHAUSTED: EscalationType.RESOURCE_EXHAUSTED,
    Reason.UNKNOWN: EscalationType.HUMAN_JUDGMENT,
}


def build_escalation(
    task: Task,
    failure: Failure,
    blocked: Reason,
    decision: RetryDecision,
    now: datetime,
    kinds: tuple[str, ...],
) -> EscalationReport:
    """`kinds` are the failures of the task so far in order, this one included."""
    type_ = _TYPE[blocked]
    actions = _actions(task, failure)
    issue = _issue(task, failure, decision)
    words = _message(task, type_, issue, actions)
    return EscalationReport(
        type_,
        decision.reasoning,
        _summary(task, failure, now, kinds),
        words,
        actions,
        Question(_question_text(task, failure, issue), _choices(task, failure)),
    )


def _summary(task: Task, failure: Failure, now: datetime, kinds: tuple[str, ...]) -> dict[str, Any]:
    return {
        "total_attempts": task.attempt,
        "failure_types": list(kinds),
        "last_failure": {
            "type": failure.kind.value,
            "message": first_line(failure.message, 300),
            "timestamp": now.isoformat(),
        },
    }


def _choices(task: Task, failure: Failure) -> tuple[Choice, ...]:
    """Only possible answers: a task without a worktree, or a check, cannot be taken over."""
    only_checks = task.spec.kind in {TaskKind.CHECK, TaskKind.GROUP, TaskKind.PLAN}
    waivable = _is_blocked_by_check(task, failure) and failure.check in waivable_check_names(task)
    waivable = waivable and (only_checks or bool(task.work.head))
    can = {
        Choice.RETRY: True,
        Choice.DONE: bool(task.work.worktree) and not only_checks,
        Choice.WAIVE: waivable,
        Choice.ABORT: True,
    }
    return tuple(choice for choice, possible in can.items() if possible)


def _is_blocked_by_check(task: Task, failure: Failure) -> bool:
    """Does a check block the task?

    The failure of an agent may name a check that failed as well, but without that check the agent
    would have failed too.
    """
    exit_ = task.work.exit
    match failure.kind:
        case FailureKind.QUALITY_FAILURE:
            is_check_failure = True
        case FailureKind.INCOMPLETE:
            by_agent = failure.pattern in {"no-change", AGENT_FAILED_PATTERN}
            is_check_failure = not by_agent or exit_ is None or exit_.ended_cleanly
        case FailureKind.ESCALATE_REQUIRED:
            is_check_failure = bool(failure.pattern) or failure.check == GIT_CONFIG_CHECK
        case _:
            is_check_failure = failure.is_our_fault or bool(failure.account)
    return is_check_failure and bool(failure.check)


def waivable_check_names(task: Task) -> frozenset[str]:
    """The checks of the plan and the built-in checks."""
    return frozenset((*(check.name for check in task.spec.checks), *BUILT_IN_CHECKS))


def further_waivers(task: Task, failure: Failure) -> str:
    """The other failed checks, which one waiver does not cover; empty if there are none."""
    known = waivable_check_names(task) - {failure.check}
    names = dict.fromkeys(one.check for one in failure.failed_checks if one.check in known)
    if not names:
        return ""
    listed = list_some(tuple(names), CHECKS_SHOWN)
    return f"also failed: {listed}; each check needs its own waiver, when the task asks again"


def _actions(task: Task, failure: Failure) -> tuple[str, ...]:
    listed = FATAL_CATALOGUE[failure.code].actions if failure.code in FATAL_CATALOGUE else ()
    known = [action.replace("recheck RUN", f"recheck {task.run_id}") for action in listed]
    first = [failure.remedy] if failure.remedy else known
    # No agent reads words about its account.
    reads = task.spec.kind not in AGENTLESS_KINDS and not failure.account_problem
    words = ' "words for the agent"' if reads else ""
    actions = [*first, f"yaoki answer {task.id} retry{words}"]
    if Choice.DONE in _choices(task, failure):
        folder = quote_path(task.work.worktree)
        start = _takeover_start(task, failure)
        actions.append(f"work in {folder}{start}, then: yaoki answer {task.id} done")
    if Choice.WAIVE in _choices(task, failure):
        further = further_waivers(task, failure)
        note = f"  # {further}" if further else ""
        actions.append(f"yaoki answer {task.id} waive --check {failure.check}{note}")
    actions.append(f"yaoki answer {task.id} abort")
    return tuple(actions)


def _takeover_start(task: Task, failure: Failure) -> str:
    """Git shows a clean worktree, so the message says what it contains and how to begin."""
    marked = list_some(_marked_files(failure), MARKED_SHOWN)
    markers = f"conflict markers are in {marked}" if marked else ""
    if failure.kind is FailureKind.CONFLICT:
        command = f"git merge {landing_branch(task.run_id, task.parent or '')}"
        return f" ({'; '.join(filter(None, (command, markers)))})"
    if markers:
        return f" ({markers})"
    return " (the agent's work is committed there)" if task.work.attempt_file_count else ""


def _question_text(task: Task, failure: Failure, issue: str) -> str:
    if failure.kind is FailureKind.ESCALATE_REQUIRED:
        # All of the agent's own words: the choice is often in the last line.
        lines = (line.rstrip() for line in failure.message.strip().split("\n"))
        return shorten("\n".join(lines), QUESTION_MAX)
    if failure.check == NO_CHANGE_CHECK:
        return _acceptance_question(task, failure)
    # A fault of ours includes the command that fixes it, and red first its reason at the end.
    is_whole = failure.is_our_fault or failure.pattern == NOT_RED_PATTERN
    issue = first_line(issue, 800 if is_whole else 240).rstrip(".")
    idle = failure.pattern == NO_CHANGE_CHECK
    waive = "accept it as done without a change (waive)" if idle else "waive"
    words = {Choice.RETRY: "try again", Choice.DONE: "take over", Choice.WAIVE: waive}
    can = ", ".join(words[c] for c in _choices(task, failure) if c in words).capitalize()
    remedy = (
        _plan_permission(task, failure)
        or _red_first_remedy(task, failure)
        or suggest_check_change(task, failure)
        or _account_remedy(task, failure)
        or _conflict_remedy(task, failure)
    )
    rejected = _rejected_work(task) if idle else ""
    others = f"{_further_checks(failure, issue)}{_given_up_words(task)}{rejected}"
    end = "" if issue.endswith("…") else "."
    return f"{task.spec.name} is not done: {issue}{end}{others}{remedy} {can} or abort?"


def _further_checks(failure: Failure, issue: str) -> str:
    """The names of the failed checks that the shortened issue lacks."""
    names = dict.fromkeys(
        one.check
        for one in failure.failed_checks
        if one.check != failure.check and f"; {one.check}: " not in issue
    )
    if not names:
        return ""
    return f" Also failed: {list_some([explain_check_name(name) for name in names], CHECKS_SHOWN)}."


def _conflict_remedy(task: Task, failure: Failure) -> str:
    """The worktree is clean for git: it has the work as it was before the conflict."""
    if Choice.DONE not in _choices(task, failure):
        return ""
    marked = list_some(_marked_files(failure), MARKED_SHOWN)
    markers = f" The work has conflict markers in {marked}." if marked else ""
    if failure.kind is not FailureKind.CONFLICT:
        return f"{markers} To take over, resolve them in its worktree." if marked else ""
    command = f"git merge {landing_branch(task.run_id, task.parent or '')}"
    return f"{markers} To take over, run `{command}` in its worktree and resolve the conflict."


def _marked_files(failure: Failure) -> list[str]:
    """The files in which the work has conflict markers, by a conflict or the built-in check."""
    if failure.kind is FailureKind.CONFLICT:
        return list(failure.params.get(MARKED_FILES_PARAM, ()))
    checks = (one for one in failure.single_failures if one.check == CONFLICT_MARKERS_CHECK)
    return [item.name for one in checks for item in one.items]


def _given_up_words(task: Task) -> str:
    """The causes that stopped the other agents of the chain, so that one answer covers all."""
    words = [
        f"{one.name}: {first_line(one.message, GIVEN_UP_MAX).rstrip('.') or one.cause.value}"
        for one in task.given_up_agents
        if one.index != task.agent_index
    ]
    return f" Other agents failed before: {'; '.join(words)}." if words else ""


def _plan_permission(task: Task, failure: Failure) -> str:
    """The plan key that allows the finding: a task may be meant to change tests."""
    if failure.pattern != WEAKENED:
        return ""
    keys = "allow_weaker_tests: true and a scope"
    command = f"yaoki plan recheck {task.run_id}"
    return f" The plan can allow this for a task: {keys}, then: {command}."


def _red_first_remedy(task: Task, failure: Failure) -> str:
    """A test of a new feature cannot run without it, so more attempts hardly help."""
    if failure.pattern != NOT_RED_PATTERN or task.spec.kind is TaskKind.FIX:
        return ""
    return " Give a new feature a check that runs its own tests instead of red: true."


def _account_remedy(task: Task, failure: Failure) -> str:
    """One answer is enough for all tasks of the account."""
    words = failure.remedy or _ACCOUNT_REMEDIES.get(failure.account_problem, "")
    remedy = f" {as_sentence(words)}" if words else ""
    if not failure.closure:
        return remedy
    return f"{remedy} All tasks that use {task.account} wait for your answer."


def _checks_of_unchanged(task: Task, failure: Failure) -> str:
    return describe_unchanged_checks(
        tuple(failure.params.get(WAIVED_PARAM, ())), len(task.spec.checks)
    )


def _left_out_words(failure: Failure) -> str:
    files = failure.params.get(OUTSIDE_PARAM, ())
    if not files:
        return ""
    scope = ", ".join(failure.params.get(SCOPE_PARAM, ()))
    return f" New files outside its scope ({scope}) were left out: {list_some(files, PLACES_MAX)}."


def _acceptance_question(task: Task, failure: Failure) -> str:
    """Only a person can say whether a task without changes is done."""
    explanation = last_line(str(failure.params.get("agentSaid", "")), 300)
    end = "" if explanation.endswith((".", "!", "?", "…")) else "."
    said = f' The agent says: "{explanation}"{end}'
    ended = f" {as_sentence(failure.agent_end.rstrip('.'))}" if failure.agent_end else ""
    agent = f"{ended}{said}" if explanation else ended or " The agent does not say why."
    same = _same_work(task, failure)
    # A file that differs only in blank lines and comments counts as unchanged.
    trivial = task.work.attempt_file_count > 0 and not same
    what = "only blank lines, comments or empty files were" if trivial else "nothing was"
    # If comments are the task, only a check can tell that they are there.
    remedy = f" {COMMENTS_REMEDY}" if trivial else ""
    places = str(failure.params.get(ELSEWHERE_PARAM, ""))
    work = f" The agent worked in another place: {places}." if places else ""
    work += _left_out_words(failure)
    words = {Choice.WAIVE: "accept it as done (waive)", Choice.RETRY: "try again"}
    words |= {Choice.DONE: "take over"}
    possible = _choices(task, failure)
    can = ", ".join(text for choice, text in words.items() if choice in possible)
    return shorten(
        f"{task.spec.name}: {same or f'{what} changed'}, and "
        f"{_checks_of_unchanged(task, failure)}.{work}{agent}{remedy}"
        f"{_rejected_work(task)} {can[0].upper()}{can[1:]} or abort?",
        QUESTION_MAX,
    )


def _same_work(task: Task, failure: Failure) -> str:
    """With which tasks the same changes have landed; empty if the attempts changed nothing."""
    if now := str(failure.params.get(SAME_WORK_PARAM, "")):
        return now
    if task.feedback is None or task.work.attempt_file_count:
        return ""
    before = task.feedback.params.get(SAME_WORK_PARAM, "")
    return f"{before}; nothing else was changed" if before else ""


def _rejected_work(task: Task) -> str:
    """After an attempt without a change, the person must hear of the work that others had left."""
    last = task.feedback
    left_work = (
        last is not None
        and last.kind is FailureKind.INCOMPLETE
        and last.pattern not in {NO_CHANGE_CHECK, AGENT_FAILED_PATTERN}
    )
    if not left_work and WORK_REJECTED.isdisjoint(task.failure_kinds):
        return ""
    return f" Earlier attempts left work that was rejected: yaoki recover {task.id}."


def _issue(task: Task, failure: Failure, decision: RetryDecision) -> str:
    """The obstacle and the check that reports it; an exhausted budget comes first."""
    limit = f"{decision.reasoning}; " if decision.rule == BUDGET_RULE else ""
    where = (
        f"check {explain_check_name(failure.check)}: "
        if _is_blocked_by_check(task, failure)
        else ""
    )
    return f"{limit}{where}{failure.message}"


def _message(task: Task, type_: EscalationType, issue: str, actions: tuple[str, ...]) -> str:
    """The message within its limit: the issue is shortened, never the next command."""
    template = ESCALATION_TEMPLATES.get(task.spec.language, ESCALATION_TEMPLATES["en"])[type_]
    most = min(task.spec.policy.message_max, MESSAGE_MAX)
    if not task.spec.policy.trace_link:
        template = template.rsplit("\n", 1)[0]
    listed = [f"- {action}" for action in actions]
    for issue_max, shown in ((160, 4), (100, 3), (80, 2), (60, 1)):
        words = template.format(
            task=first_line(task.spec.name, 40),
            id=task.id,
            attempts=task.attempt,
            tries=format_count(task.attempt, "attempt"),
            issue=first_line(issue, issue_max),
            actions="\n".join(listed[:shown]),
        )
        if len(words) <= most:
            return words
    return f"{first_line(task.spec.name, 30)}: yaoki why {task.id}"


_HINTS: Mapping[FailureKind, str] = {
    FailureKind.INCOMPLETE: "The work is incomplete. Write every file in full; leave nothing out.",
    FailureKind.QUALITY_FAILURE: "The work does not pass its checks. Fix exactly what failed.",
    FailureKind.TIMEOUT: "The last attempt ran out of time. Work in smaller steps; do not start a "
    "process that never ends.",
    FailureKind.CONFLICT: "The work conflicts with the run branch. Resolve the files named below "
    "so that both changes keep their purpose; leave no conflict markers, and do not simply take "
    "one side's version of a file.",
}


def retry_hint(failure: Failure | None, own: Mapping[FailureKind, str] | None = None) -> str:
    """The change that the agent should make; empty for failures that repeat the identical prompt.

    `own` are hints from the settings, which win over ours.
    """
    if failure is None or failure.kind not in _HINTS:
        return ""
    return (own or {}).get(failure.kind) or _HINTS[failure.kind]
