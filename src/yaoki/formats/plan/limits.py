"""The limits of a plan: text sizes, number of tasks, timeouts, retries."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

from yaoki.core.lazy_dataclass import replace
from yaoki.core.model import Backoff, FailureKind
from yaoki.core.model.treatment import ConversationMode, LearningMode
from yaoki.core.settings.override import (
    backoff_defect,
    merge_backoff,
    retries_defect,
    with_cause,
    with_iterations,
    with_max_retries,
    within_iterations,
)
from yaoki.core.settings.retry import (
    RETRYABLE_KINDS,
    KindRetrySettings,
    RetrySettings,
    with_always_retryable,
)
from yaoki.core.text import format_count

if TYPE_CHECKING:
    from yaoki.formats.plan.defects import KeyPath
    from yaoki.formats.plan.draft import Draft, PlacedTask
    from yaoki.formats.plan.limit_models import BackoffModel
    from yaoki.formats.plan.model import PlanModel, TaskModel


def judge_limits(draft: Draft) -> None:
    limits, defects = draft.settings.limits, draft.defects
    if len(draft.tasks) > limits.pending_tasks:
        tasks = format_count(len(draft.tasks), "task is", "tasks are")
        defects.add(("tasks",), f"{tasks} over the limit of {limits.pending_tasks}")
    _text(draft, ("goal",), draft.plan.goal)
    for placed in draft.tasks:
        _text(draft, placed.path_of("goal"), placed.task.goal)
        _text(draft, placed.path_of("prompt"), placed.task.prompt)
        _times(draft, placed)
        _race_times(draft, placed)
        _retry(draft, placed)
    _check_times(draft)


def _text(draft: Draft, path: KeyPath, text: str) -> None:
    size, most = len(text.encode()), draft.settings.limits.task_text_bytes
    if size > most:
        draft.defects.add(path, f"{size} bytes of text are over the limit of {most}")


# ------------------------------------------------------------------ times


def task_timeout(draft: Draft, task: TaskModel) -> timedelta:
    return task.timeout or timedelta(seconds=draft.settings.limits.deadline_s)


def task_hang(draft: Draft, task: TaskModel) -> timedelta:
    """An agent cannot be silent for longer than it may run."""
    default = timedelta(seconds=draft.settings.limits.hang_s)
    return min(task.hang or default, task_timeout(draft, task))


def _times(draft: Draft, placed: PlacedTask) -> None:
    """A `hang` of the task's own must be below its timeout; without one, a short task just reaches
    its timeout first.
    """
    task, timeout = placed.task, task_timeout(draft, placed.task)
    if task.hang and timeout <= task.hang:
        origin = "" if task.timeout else " (limits.deadline_s)"
        reason = f"hang {duration_text(task.hang)} is not below timeout {duration_text(timeout)}"
        draft.defects.add(placed.path_of("hang"), f"{reason}{origin}")


def _race_times(draft: Draft, placed: PlacedTask) -> None:
    """A later start would never come: the candidate before it has ended by its timeout."""
    task, timeout = placed.task, task_timeout(draft, placed.task)
    race = draft.race_of(task)
    if race is None or not race.start.after or race.start.after < timeout:
        return
    is_own = task.is_given("race")
    path = placed.path_of("race", "start", "after") if is_own else ("race", "start", "after")
    late, limit = duration_text(race.start.after), duration_text(timeout)
    reason = f"after {late} is not below the timeout {limit} of {task.id}: write after-failure"
    draft.defects.add(path, reason)


def _check_times(draft: Draft) -> None:
    """A check may not take longer than the tasks that use it; one defect per check."""
    for name, placed in _shortest(draft).items():
        check, timeout = draft.checks.get(name), task_timeout(draft, placed.task)
        if check is not None and check.timeout > timeout:
            reason = f"check {name!r} may take {duration_text(check.timeout)}, "
            reason += f"longer than the {duration_text(timeout)} of task {placed.task.id!r}"
            own = name in draft.plan.checks
            draft.defects.add(
                ("checks", name, "timeout") if own else placed.path_of("timeout"), reason
            )


def _shortest(draft: Draft) -> dict[str, PlacedTask]:
    """The task with the shortest timeout for each check."""
    shortest: dict[str, PlacedTask] = {}
    ordered = sorted(draft.tasks, key=lambda placed: task_timeout(draft, placed.task))
    for placed in ordered:
        for name in placed.task.checks:
            shortest.setdefault(name, placed)
    # Tasks that name no check use all of them; the shortest of these tasks is enough.
    for placed in [placed for placed in ordered if not placed.task.is_given("checks")][:1]:
        for name in draft.checks_of(placed.task):
            known = shortest.setdefault(name, placed)
            shortest[name] = min(known, placed, key=lambda one: task_timeout(draft, one.task))
    return shortest


def duration_text(duration: timedelta) -> str:
    """`1h30m`, as people write it."""
    total = duration.total_seconds()
    hours, rest = divmod(total, 3_600)
    minutes, seconds = divmod(rest, 60)
    parts = ((f"{hours:.0f}h", hours), (f"{minutes:.0f}m", minutes), (f"{seconds:g}s", seconds))
    return "".join(text for text, amount in parts if amount) or "0s"


# ------------------------------------------------------------------ retries


def plan_retry(draft: Draft) -> RetrySettings:
    """The retry rules of the settings, with the overrides of the plan."""
    return _with_treatment(draft.settings.retry, draft.plan)


def _with_treatment(retry: RetrySettings, model: PlanModel | TaskModel) -> RetrySettings:
    if model.is_given("conversation"):
        retry = replace(retry, conversation=ConversationMode(model.conversation))
    if model.is_given("learn"):
        retry = replace(retry, learn=LearningMode(model.learn))
    return retry


def task_retry(draft: Draft, task: TaskModel) -> RetrySettings:
    """The retry rules of the plan, with the overrides of the task."""
    retry, own = _with_treatment(plan_retry(draft), task), task.retry
    if own.is_given("retryable_failures"):
        kinds = tuple(
            FailureKind(name) for name in own.retryable_failures if name in RETRYABLE_KINDS
        )
        retry = replace(retry, retryable_failures=with_always_retryable(kinds))
    if own.is_given("max_retries"):
        retry = with_max_retries(retry, own.max_retries)
    if own.is_given("backoff"):
        retry = replace(retry, default_backoff=overlay_backoff(retry.default_backoff, own.backoff))
    for name, cause in own.cause_specific.items():
        if name in RETRYABLE_KINDS:
            kind = FailureKind(name)
            waits = overlay_backoff(retry.rule_for(kind).backoff, cause.backoff)
            most = cause.max_retries if cause.is_given("max_retries") else None
            new = KindRetrySettings(
                most, waits if cause.is_given("backoff") else None, cause.modification_hint
            )
            retry = with_cause(retry, kind, new)
    if task.is_given("max_iterations"):
        bound = within_iterations if task.is_given("retry") else with_iterations
        retry = bound(retry, task.max_iterations)
    if task.budget.attempts:
        most = min(retry.max_total_attempts, task.budget.attempts)
        retry = replace(retry, max_total_attempts=most)
    return retry


def overlay_backoff(base: Backoff, model: BackoffModel) -> Backoff:
    return merge_backoff(base, model.model_dump(exclude_unset=True))


def _retry(draft: Draft, placed: PlacedTask) -> None:
    task, retry = placed.task, draft.settings.retry
    path, total = placed.path_of("retry"), retry.max_total_attempts
    _backoff(draft, (*path, "backoff"), retry.default_backoff, task.retry.backoff)
    _retries(draft, (*path, "max_retries"), task.retry.max_retries, total)
    _retries(draft, placed.path_of("max_iterations"), task.max_iterations - 1, total)
    for index, name in enumerate(task.retry.retryable_failures):
        if name not in RETRYABLE_KINDS:
            _unknown_kind(draft, (*path, "retryable_failures", index), name)
    for name, cause in task.retry.cause_specific.items():
        at = (*path, "cause_specific", name)
        if name not in RETRYABLE_KINDS:
            _unknown_kind(draft, at, name)
            continue
        _backoff(draft, (*at, "backoff"), retry.rule_for(FailureKind(name)).backoff, cause.backoff)
        if name != FailureKind.LOST:
            _retries(draft, (*at, "max_retries"), cause.max_retries, total)


def _unknown_kind(draft: Draft, path: KeyPath, name: str) -> None:
    if name in set(FailureKind):
        draft.defects.add(path, f"{name} is never retried", at=draft.defects.keys.get(path))
    else:
        draft.defects.add_unknown(
            path, "kind of failure", name, [kind.value for kind in RETRYABLE_KINDS]
        )


def _backoff(draft: Draft, path: KeyPath, base: Backoff, model: BackoffModel) -> None:
    if model.model_fields_set and (reason := backoff_defect(overlay_backoff(base, model))):
        draft.defects.add(path, reason)


def _retries(draft: Draft, path: KeyPath, most: int, total: int) -> None:
    if reason := retries_defect(most, total):
        draft.defects.add(path, reason)
