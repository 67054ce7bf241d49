"""The rule that every task needs at least one required check that can fail (rule 16.4)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from yaoki.core.commands.vacuous_checks import why_vacuous
from yaoki.core.model.check_types import TYPE_BY_PLAN_KEY
from yaoki.formats.plan.build import check_spec

if TYPE_CHECKING:
    from yaoki.formats.plan.draft import Draft, PlacedTask
    from yaoki.formats.plan.model import CheckModel

_NO_REQUIRED_CHECK = "no required check"
_REMEDY = "; add a check that can fail, such as shell: test -f FILE or run: [pytest]"


def judge_proof(draft: Draft, placed: PlacedTask) -> None:
    """A task without a check, or with checks that cannot fail, proves nothing."""
    task = placed.task
    draft.add_references("check", placed.path_of("checks"), task.checks, draft.check_names)
    if task.kind in {"report", "plan"} or ("checks",) in draft.defects.broken_paths:
        return
    broken = () if task.is_given("checks") else draft.check_names.difference(draft.checks)
    reason = _why_unproven(draft, (*draft.checks_of(task), *broken))
    if reason:
        message = f"{reason}: nothing would prove this {task.kind}{_REMEDY}"
        draft.defects.add_missing(
            placed.path, message, "checks", "kind", lacks_settings=reason == _NO_REQUIRED_CHECK
        )


def judge_done_when(draft: Draft) -> None:
    names = draft.plan.done_when
    reason = _why_unproven(draft, names) if names else ""
    if reason:
        message = f"{reason}: nothing would be proven{_REMEDY}"
        draft.defects.add_missing(
            ("done_when",), message, lacks_settings=reason == _NO_REQUIRED_CHECK
        )


def _why_unproven(draft: Draft, names: Sequence[str]) -> str:
    """The reason why these checks prove nothing; empty when one of them is required and
    can fail.
    """
    # An unknown or defective check is already a defect, and might be the required one.
    if any(name not in draft.checks or _is_defective(draft.checks[name]) for name in names):
        return ""
    required = [name for name in names if draft.checks[name].required]
    if not required:
        return _NO_REQUIRED_CHECK
    reason = {name: why_vacuous(check_spec(name, draft.checks[name])) for name in required}
    if not all(reason.values()):
        return ""
    name, first = next(iter(reason.items()))
    return f"check {name}: {first}" if len(reason) == 1 else f"no check can fail ({name}: {first})"


def _is_defective(check: CheckModel) -> bool:
    """Has it no kind, several, or an empty command?  Then that is the defect to mend."""
    given = [key for key in TYPE_BY_PLAN_KEY if check.is_given(key)]
    return len(given) != 1 or is_empty(check, given[0])


def is_empty(check: CheckModel, key: str) -> bool:
    """Is this key of a check given without a value?"""
    match key:
        case "run":
            return not any(check.run[:1])
        case "shell" | "git" | "python":
            return not str(getattr(check, key)).strip()
        case _:
            return False
