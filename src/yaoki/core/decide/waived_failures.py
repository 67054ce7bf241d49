"""Failures that a person waived for landed work: the task that is built on it did not cause them.

Only a failure with a name that fails on the task's base and failed at that landing, both in the
same way, is excused.  Any other failure counts.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from yaoki.core.decide.baseline import (
    INCOMPARABLE,
    KNOWN_FAILURES,
    exception_kind,
    has_all_names,
    weigh,
)
from yaoki.core.decide.fingerprint import fingerprint
from yaoki.core.lazy_dataclass import replace
from yaoki.core.model import Finding, FindingItem, Outcome
from yaoki.core.text import list_some

# The param that names the tasks for whose landed work a person waived the check.
WAIVED_FOR = "waivedFor"
NAMES_SHOWN = 5


def weigh_waived(
    now: Finding, base: Finding, landings: Mapping[str, Finding], fixes: Sequence[str]
) -> Finding:
    """The finding of a check without the failures that a person waived for landed work.

    `base` is the finding on the task's base and `landings` the one at each landing with this
    waiver, by the name of its task; all are `as_baseline`.  A finding without any other failure is
    WAIVED.  Failures without names stay, and the finding says that they may be the waived ones.
    """
    failing = {name: one for name, one in landings.items() if _fails(one)}
    if now.outcome is not Outcome.FAILED or not _fails(base) or not failing:
        return now
    if not all(map(has_all_names, (now, base, *failing.values()))):
        return _unexplained(now, tuple(failing))
    waived = {_key(item) for one in failing.values() for item in one.items}
    items = tuple(item for item in base.items if _key(item) in waived)
    weighed = weigh(now, replace(base, items=items), fixes) if items else now
    known = frozenset(weighed.params.get(KNOWN_FAILURES, ()))
    if not known:
        return now
    tasks = _tasks_of(known, failing)
    if weighed.outcome is Outcome.PASSED:
        params = {**weighed.params, WAIVED_FOR: list(tasks)}
        excused = replace(weighed, outcome=Outcome.WAIVED, params=params)
        return replace(excused, message=f"{describe_waiver(excused)}: {now.message}")
    others = list_some(sorted(known), NAMES_SHOWN)
    words = f"not counted, because a person waived them for {', '.join(tasks)}: {others}"
    return replace(weighed, message=f"{weighed.message}; {words}")


def is_explained(now: Finding, landings: Sequence[Finding]) -> bool:
    """Did each failure of the check fail in the same way at a landing with a waiver for it?

    `landings` are the findings at these landings, `as_baseline`.  Failures without names must be
    the same as a whole.
    """
    failing = [one for one in landings if _fails(one)]
    if all(map(has_all_names, (now, *failing))):
        waived = {_key(item) for one in failing for item in one.items}
        return all(_key(item) in waived for item in now.items)
    return any(_words(now) == _words(one) for one in failing)


def _words(finding: Finding) -> str:
    return fingerprint("", finding.pattern, finding.check, finding.message, finding.items)


def describe_waiver(finding: Finding) -> str:
    """The words for a finding that counts as waived because of landed work."""
    tasks = ", ".join(finding.params[WAIVED_FOR])
    return f"waived for {tasks} by a person; it fails on the base as well"


def needs_answer(params: Mapping[str, object]) -> bool:
    """May a failure be the one that a person waived?  Then only a person can say so."""
    return WAIVED_FOR in params


def _fails(finding: Finding) -> bool:
    return finding.outcome is Outcome.FAILED or INCOMPARABLE in finding.params


def _unexplained(now: Finding, tasks: Sequence[str]) -> Finding:
    words = f"has failed since {', '.join(tasks)} landed, for which a person waived it"
    message = f"{words}, so leave that work as it is: {now.message}"
    return replace(now, message=message, params={**now.params, WAIVED_FOR: list(tasks)})


def _tasks_of(known: frozenset[str], landings: Mapping[str, Finding]) -> tuple[str, ...]:
    """The tasks at whose landing one of these failed first."""
    tasks: list[str] = []
    for task, finding in landings.items():
        explained = known.intersection(item.name for item in finding.items)
        if explained:
            tasks.append(task)
            known -= explained
    return tuple(tasks)


def _key(item: FindingItem) -> tuple[str, str]:
    """Old failures have the same name and fail in the same way."""
    return item.name, exception_kind(item.message)
