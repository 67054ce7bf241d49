"""What a question says about a check that may be wrong itself, and how a person changes it."""

from __future__ import annotations

from yaoki.core.model import (
    BUILT_IN_CHECKS,
    FINAL_CHECK_NAME,
    NO_CHANGE_CHECK,
    Failure,
    FailureKind,
    Task,
    TaskKind,
)
from yaoki.core.model.outcome import (
    DOUBTFUL_PARAM,
    MISSING_PATH_PARAM,
    OUTSIDE_CHANGE_PARAM,
    TIMED_OUT_PARAM,
)
from yaoki.core.scope import paths_outside_scope
from yaoki.errors import FatalCode

# After this many attempts that failed in the same way outside their own change, the check may be
# wrong.
SAME_OUTSIDE_MIN = 2
_CHANGE = "change the check in the plan or yaoki.toml"


def suggest_check_change(task: Task, failure: Failure) -> str:
    """A sentence with a space before it; empty if nothing speaks against the check."""
    return (
        _unfit_check_remedy(task, failure)
        or _doubtful_check_remedy(task, failure)
        or _late_check_remedy(task, failure)
        or _final_check_remedy(task, failure)
    )


def _unfit_check_remedy(task: Task, failure: Failure) -> str:
    """A retry would run the same check: the run keeps its checks until they are taken over."""
    if not _is_check_at_fault(failure):
        return ""
    command = f"yaoki plan recheck {task.run_id}"
    return f" A retry runs the same check: change it in the plan or yaoki.toml, then: {command}."


def _is_check_at_fault(failure: Failure) -> bool:
    """Is the check itself the obstacle: unfit, or without its program?"""
    permanent = failure.is_our_fault and failure.kind is FailureKind.FATAL_ERROR
    return failure.code is FatalCode.CHECK_UNFIT or (permanent and bool(failure.check))


def _doubtful_check_remedy(task: Task, failure: Failure) -> str:
    """Work that a wrong check rejects can be right: only a person may change the check."""
    command = f"yaoki plan recheck {task.run_id}"
    doubtful = [one for one in failure.single_failures if one.params.get(DOUBTFUL_PARAM)]
    times = failure.params.get(OUTSIDE_CHANGE_PARAM, 0)
    if not doubtful and (times < SAME_OUTSIDE_MIN or failure.check in BUILT_IN_CHECKS):
        return ""
    check = doubtful[0].check if doubtful else failure.check
    if doubtful and (path := doubtful[0].params.get(MISSING_PATH_PARAM)):
        return f" {_missing_path_remedy(task, failure, check, path)}, then: {command}."
    alike = f" {times} attempts failed in the same way, in files that they did not change."
    remedy = _wrong_check_remedy(task, failure, check)
    return remedy if doubtful else f"{alike}{remedy}"


def _missing_path_remedy(task: Task, failure: Failure, check: str, path: str) -> str:
    """The check may be right where no work was done that could have created the file."""
    if may_create(task, failure, check, path):
        retry = f'yaoki retry {task.id} "words for the agent"'
        return f"The task has to create {path}: {retry}. If this path is wrong, {_CHANGE}"
    return f"Check {check} names {path}, which neither the base nor the work contains: {_CHANGE}"


def may_create(task: Task, failure: Failure, check: str, path: str) -> bool:
    """Was nothing changed, and would the scope of the task allow the file?"""
    is_idle = failure.pattern == NO_CHANGE_CHECK or not task.work.attempt_file_count
    folders = [one.cwd.strip("./") for one in task.spec.checks if one.name == check]
    place = "/".join(filter(None, (*folders[:1], path)))
    return is_idle and not paths_outside_scope([place], task.spec.scope)


def _late_check_remedy(task: Task, failure: Failure) -> str:
    """The work may be right, and its check slower than the plan expected."""
    late = [one.check for one in failure.single_failures if one.params.get(TIMED_OUT_PARAM)]
    if not late:
        return ""
    change = f"raise the timeout of {late[0]} in the plan or yaoki.toml"
    return f" If the check needs more time, {change}, then: yaoki plan recheck {task.run_id}."


def _final_check_remedy(task: Task, failure: Failure) -> str:
    """No agent works on a final check, so only a person can correct a wrong one."""
    final = task.spec.kind is TaskKind.CHECK and task.spec.name.startswith(FINAL_CHECK_NAME)
    failed = failure.check in {check.name for check in task.spec.checks}
    return _wrong_check_remedy(task, failure, failure.check) if final and failed else ""


def _wrong_check_remedy(task: Task, failure: Failure, check: str) -> str:
    subject = f"check {check} itself" if failure.failed_checks else "the check itself"
    command = f"yaoki plan recheck {task.run_id}"
    return f" If {subject} is wrong, change it in the plan or yaoki.toml, then: {command}."
