"""Old failures and new ones: failures of the base are reported and do not count.

This needs a base whose test suite ran completely.  A test that fails there in the same way may fail
again; a test that passed there must pass again (core/decide/integrity.py).
"""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Sequence
from fnmatch import fnmatchcase
from typing import Any

from yaoki.core.lazy_dataclass import replace
from yaoki.core.lazy_pattern import lazy_compile
from yaoki.core.machine.value_codec import to_data
from yaoki.core.model import CheckSpec, Finding, FindingItem, Outcome
from yaoki.core.model.outcome import (
    DOUBTFUL_PARAM,
    ITEMS_MAX,
    PASSED_ON_BASE_PARAM,
    bound_items,
)
from yaoki.core.text import format_count

# The param that lists the failures which the base has as well.
KNOWN_FAILURES = "known"
# The param of a baseline that says why old failures cannot be distinguished from new ones.
INCOMPARABLE = "incomparable"
# The param of a failure for which the output names warnings alone: they may not be its cause.
ONLY_WARNINGS = "onlyWarnings"
RAW = ("errorOutput", "stdout", "stderr")
# Params that the output readers set, with one entry for each item.
LISTS = ("failedTests", "typeErrors", "lintErrors", "unformattedFiles")
COUNT, PASSED = "failureCount", "passedCount"
TEST = "test-failed"
# A reader writes this before the error of a test file that could not be loaded.
DOES_NOT_LOAD = "does not load: "
_ASSERTION = lazy_compile(r"assert\b|(?:[\w.]{1,200}\.)?AssertionError\b")
# An assertion without a message of its own: its text is the same for different causes.
_BARE_ASSERTION = lazy_compile(r"(?:AssertionError:? *)?(?:assert\b|$)")
_EXCEPTION = lazy_compile(
    r"([A-Za-z_][\w.]{0,200}(?:Error|Exception|Warning|Exit|Interrupt|Failure|Fault))\b"
)


def command_key(spec: CheckSpec, setup: Sequence[Sequence[str]] = ()) -> str:
    """A key for the command and its conditions; the name of the check is not part of it."""
    parts = (
        spec.type,
        spec.argv,
        spec.shell,
        spec.path,
        spec.file,
        spec.git,
        spec.success,
        spec.reader,
    )
    more: tuple[Any, ...] = (spec.cwd, dict(spec.env), spec.entry, spec.options, setup)
    more += (spec.hidden.digest,) if spec.hidden else ()
    more += (("inputs", *spec.inputs),) if spec.inputs else ()
    more += (("judge", spec.ask, spec.agent),) if spec.ask or spec.agent else ()
    text = json.dumps(to_data([*parts, *more]), sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:24]


def as_baseline(finding: Finding) -> Finding:
    """The finding on the base; a suite that did not run completely is no baseline (rule 16.5).

    Without at least one passing test, old failures cannot be distinguished from new ones.
    """
    if finding.outcome is not Outcome.FAILED:
        return finding
    reason = _incomparable_reason(finding)
    if not reason:
        return finding
    params = {**finding.params, INCOMPARABLE: reason}
    broken = replace(finding, outcome=Outcome.BROKEN, transient=False, message=reason)
    return replace(broken, items=(), unlisted=(), params=params)


def as_displayed_baseline(finding: Finding) -> Finding:
    """The baseline as people see it: a complete run counts as failed even if no test passed."""
    return as_baseline(finding) if incomplete_suite_reason(finding) else finding


def incomplete_suite_reason(finding: Finding) -> str:
    """The reason why the suite did not run completely; empty when it did."""
    missing = finding.params.get("missingModules", ())
    if missing:
        named = ", ".join(repr(name) for name in missing)
        return f"cannot run: No module named {named}: {finding.params.get('remedy', '')}"
    if finding.params.get("loadError"):
        return f"cannot run: its tests did not load: {finding.message}"
    early = finding.params.get("stoppedEarly")
    if early:
        return (
            f"did not run to its end ({early}), so the results of the remaining tests are unknown"
        )
    return ""


def _incomparable_reason(finding: Finding) -> str:
    """The reason why old failures cannot be distinguished from new ones; empty when they can."""
    if reason := incomplete_suite_reason(finding):
        return reason
    counted = PASSED in finding.params
    if counted and not finding.params[PASSED]:
        return f"cannot run: no test passes: {finding.message}"
    if not counted and finding.pattern == TEST and finding.items:
        return f"cannot run: it does not say which tests pass: {finding.message}"
    return ""


def weigh(now: Finding, base: Finding, fixes: Sequence[str], *, guard: bool = True) -> Finding:
    """The finding of a check compared with the base, which is `as_baseline`.

    A guard fails only on new failures and on those that the task was to fix.  Failures without
    names cannot be compared, so the finding stays.  If the base lacks the same module, the check is
    BROKEN rather than failed.  This holds for a guard, and for any other check if the project
    declares the module; otherwise the task may be to create it.
    """
    if now.outcome is not Outcome.FAILED:
        return now
    if _missing_anyway(now, base, guard=guard):
        why = _incomparable_reason(now)
        broken = replace(now, outcome=Outcome.BROKEN, transient=False, message=why)
        return replace(broken, items=(), unlisted=())
    if base.outcome is Outcome.PASSED:
        # The check can pass, so the work is at fault.
        params = {name: one for name, one in now.params.items() if name != DOUBTFUL_PARAM}
        return replace(now, params={**params, PASSED_ON_BASE_PARAM: True})
    if not guard and now.params.get(DOUBTFUL_PARAM) and base.params.get(DOUBTFUL_PARAM):
        fails = base.outcome is Outcome.FAILED
        words = f"it fails on the base, too: {now.message}"
        return replace(now, message=words) if fails else now
    if not guard or incomplete_suite_reason(now):
        return now
    if base.outcome is not Outcome.FAILED:
        reason = base.params.get(INCOMPARABLE, "cannot run")
        return replace(now, message=f"{now.message} (on the base the check {reason})")
    if not knows_all_failures(now) or not knows_all_failures(base):
        words = (
            f"{now.message} (the base fails too, and old and new failures cannot be distinguished)"
        )
        return replace(now, message=words)
    return _split_failures(now, base, fixes)


def has_all_names(finding: Finding) -> bool:
    """Does a finding that failed list each of its failures?"""
    return knows_all_failures(finding) and not is_shortened(finding)


def knows_all_failures(finding: Finding) -> bool:
    """Does a finding that failed name each of its failures, listed or not?"""
    explained = not finding.params.get(ONLY_WARNINGS, False)
    unlisted = sum(item.unlisted_count for item in finding.items)
    named = bool(finding.items) and explained and unlisted == len(finding.unlisted)
    return finding.outcome is Outcome.FAILED and named and not incomplete_suite_reason(finding)


def all_failures(finding: Finding) -> tuple[FindingItem, ...]:
    """The failures of a finding that are known by name, listed or not."""
    return (*(item for item in finding.items if not item.unlisted_count), *finding.unlisted)


def fails_as_before(now: Finding, before: Finding) -> bool:
    """Did the check fail before, too?  Where both name their failures, each of them must be old."""
    if before.is_acceptable:
        return False
    base = as_baseline(before)
    comparable = knows_all_failures(now) and knows_all_failures(base)
    return not comparable or weigh(now, base, ()).is_acceptable


def _missing_anyway(now: Finding, base: Finding, *, guard: bool) -> bool:
    missing = set(now.params.get("missingModules", ()))
    if not guard and not missing <= set(now.params.get("declaredModules", ())):
        return False
    return bool(missing) and missing <= set(base.params.get("missingModules", ()))


def _split_failures(now: Finding, base: Finding, fixes: Sequence[str]) -> Finding:
    """Old failures have the same name and fail in the same way."""
    old = {(item.name, exception_kind(item.message)) for item in all_failures(base)}
    failures = all_failures(now)
    is_blamed = [
        (item.name, exception_kind(item.message)) not in old or _is_to_fix(item, fixes)
        for item in failures
    ]
    blamed = tuple(item for item, new in zip(failures, is_blamed, strict=True) if new)
    known = tuple(item.name for item, new in zip(failures, is_blamed, strict=True) if not new)
    if not blamed:
        verb = format_count(len(known), "failure already exists", "failures already exist")
        words = f"{verb} on the base: {', '.join(known[:5])}"
        params = {**now.params, KNOWN_FAILURES: list(known)}
        passed = replace(now, outcome=Outcome.PASSED, message=words, params=params)
        return replace(passed, items=(), unlisted=())
    number = format_count(len(blamed), "failure counts", "failures count")
    words = f"{number} against this task: {_describe_item(blamed[0])}"
    params = {**_params_of_new(now, is_blamed), KNOWN_FAILURES: list(known)}
    now = replace(now, items=bound_items(blamed, len(blamed)), unlisted=blamed[ITEMS_MAX:])
    if not known:
        return replace(now, message=words, params=params)
    # The raw output includes old failures, so the agent gets only the names of the new ones.
    named = {key: value for key, value in params.items() if key not in RAW}
    return replace(now, message=words, params=named, output="")


def exception_kind(message: str) -> str:
    """The kind of a failure: the name of an exception, an assertion, or empty if unknown."""
    if _ASSERTION.match(message):
        return "AssertionError"
    hit = _EXCEPTION.match(message.removeprefix(DOES_NOT_LOAD))
    return hit[1].rpartition(".")[2] if hit else ""


def unmatched_fixes(fixes: Sequence[str], bases: Sequence[Finding]) -> tuple[str, ...]:
    """The names to fix that are no failure of the base; empty if its list was cut."""
    failed = [base for base in bases if base.outcome is Outcome.FAILED]
    if any(is_shortened(base) and not base.unlisted for base in failed):
        return ()
    items = [item for base in failed for item in all_failures(base)]
    return tuple(name for name in fixes if not any(_is_to_fix(item, (name,)) for item in items))


def _params_of_new(now: Finding, is_blamed: Sequence[bool]) -> dict[str, Any]:
    """The params of only the new failures; readers list all params in the same order, and of many
    failures only the first.
    """
    cut = is_shortened(now)
    lists = {
        name: [one for one, new in zip(value, is_blamed, strict=False) if new]
        for name, value in now.params.items()
        if name in LISTS and (len(value) == len(is_blamed) or (cut and len(value) < len(is_blamed)))
    }
    count = {COUNT: sum(is_blamed)} if COUNT in now.params else {}
    return {**now.params, **lists, **count}


def _describe_item(item: FindingItem) -> str:
    return f"{item.name}: {item.message}" if item.message else item.name


def _is_to_fix(item: FindingItem, fixes: Sequence[str]) -> bool:
    return any(item.name == name or fnmatchcase(item.name, name) for name in fixes)


def describe_alike_failures(finding: Finding) -> str:
    """`the first 20 of 1719 failures are alike: …`, if nine of ten listed failures are; else empty.

    Code rarely breaks each test with the same message; a missing variable or service does.
    """
    messages = [item.message for item in finding.items if not item.unlisted_count]
    message, times = Counter(messages).most_common(1)[0] if messages else ("", 0)
    if _BARE_ASSERTION.match(message) or times * 10 < len(messages) * 9:
        return ""
    some = f"{times} of " if times < len(messages) else ""
    count = finding.params.get(COUNT, len(messages))
    return f"{some}the first {len(messages)} of {count} failures are alike: {message}"


def is_shortened(finding: Finding) -> bool:
    """Are there more failures than the finding lists?"""
    return any(item.unlisted_count for item in finding.items)


def is_too_red(finding: Finding) -> bool:
    """Is the check of no use as it is?  Of its many failures some are unknown, or nearly all have
    one cause outside the code.
    """
    is_unknown = not knows_all_failures(finding)
    return is_shortened(finding) and (is_unknown or bool(describe_alike_failures(finding)))
