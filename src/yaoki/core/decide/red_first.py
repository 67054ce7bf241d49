"""Red first: tests that fail without a change and pass with it show what it fixes (rule 17.1).

The tests that a task added or changed run on the commit before it.  A test that cannot be loaded
there shows nothing: it would fail whatever the change does.  A test that was there before is red
however it fails, because the task did not write it: also if its file cannot be loaded.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence

from yaoki.core.decide.baseline import (
    KNOWN_FAILURES,
    all_failures,
    exception_kind,
    incomplete_suite_reason,
)
from yaoki.core.decide.integrity import has_test_count
from yaoki.core.lazy_dataclass import dataclass
from yaoki.core.lazy_pattern import lazy_compile
from yaoki.core.model import RED_FIRST_CHECK, CriterionLevel, Finding, FindingItem, Outcome
from yaoki.core.text import format_count, list_some

NOT_RED_PATTERN = "not-red"
# The param of a passed finding that lists the tests.
FAIL_TO_PASS = "failToPass"
TESTS_MAX, NAMES_SHOWN = 100, 3
# The test could not even begin: what it uses does not exist without the change.
_LOAD_ERRORS = frozenset(
    {
        *("ImportError", "ModuleNotFoundError", "SyntaxError", "IndentationError", "NameError"),
        *("ReferenceError", "UnboundLocalError", "TabError"),
    }
)
_MISSING_NAME = lazy_compile(
    r"(?:AttributeError: )?module '[^']*' has no attribute|.{0,200}is not a function\b"
    r"|.{0,200}Cannot find (?:module|package)\b|.{0,200}does not provide an export named\b"
)

_WORD = lazy_compile(r"[\w-]+")
# unittest names a module that it cannot load so.
_FAILED_MODULE = "unittest.loader._FailedTest."
PASSES = "passes without the change"


@dataclass(frozen=True, slots=True)
class RedEvidence:
    """One check without the change: the tests that failed, or the reason why that shows nothing."""

    check: str
    red_tests: tuple[str, ...] = ()
    green_tests: tuple[str, ...] = ()
    why_not: str = ""
    # Not all could begin: what a test uses does not exist without the change.
    is_unloaded: bool = False


def compare_without_change(before: Finding, now: Finding, test_files: Sequence[str]) -> RedEvidence:
    """`before`: the check with the new tests and without the change; `now`: it passes with it.

    `test_files`: those that the change adds or changes.  Only their tests are named as passing.
    """
    # Only tests that exist with the change count; all do where their names are unknown.
    passing = frozenset(now.passing_tests)
    green = tuple(sorted(_tests_of(test_files, passing) & set(before.passing_tests)))[:TESTS_MAX]
    if before.outcome is not Outcome.FAILED:
        return _not_failed(before, now, green)
    items = [item for item in _new_failures(before, now) if not passing or item.name in passing]
    red = tuple(item.name for item in items if not _is_load_error(item.message))
    if red or not (before.items or incomplete_suite_reason(before)):
        # A check without named failures is one test itself.
        return RedEvidence(now.check, red[:TESTS_MAX] or (f"check {now.check}",), green)
    why = f"does not fail by an assertion without the change: {_load_failure(before)}"
    suite = before.params.get("missingModules") or before.params.get("loadError")
    is_unloaded = bool(suite) or any(_is_load_error(item.message) for item in before.items)
    return RedEvidence(now.check, green_tests=green, why_not=why, is_unloaded=is_unloaded)


def compare_with_base(base: Finding, now: Finding, moved: Collection[str]) -> RedEvidence:
    """`base`: the check on the commit before the change, with the tests as they were there.

    `moved`: the files that the change adds or deletes.  That a test file of them cannot be loaded
    without the change, or is not loaded with it, shows nothing.
    """
    if base.outcome is not Outcome.FAILED:
        return _not_failed(base, now)
    items = _new_failures(base, now)
    found = (name for item in items for name in _red_at_base(item, base, now, moved))
    red = tuple(dict.fromkeys(found))
    is_one_test = not has_test_count(now) or not incomplete_suite_reason(base)
    if red or (not base.items and is_one_test):
        return RedEvidence(now.check, red[:TESTS_MAX] or (f"check {now.check}",))
    why = f"has no test that fails without the change and passes with it: {_load_failure(base)}"
    return RedEvidence(now.check, why_not=why)


def _new_failures(before: Finding, now: Finding) -> list[FindingItem]:
    """The failures without those that are excused and stay: `now` passes although they fail."""
    excused = frozenset(now.params.get(KNOWN_FAILURES, ()))
    return [item for item in all_failures(before) if item.name not in excused]


def _not_failed(before: Finding, now: Finding, green: tuple[str, ...] = ()) -> RedEvidence:
    if before.outcome is Outcome.PASSED:
        return RedEvidence(now.check, green_tests=green, why_not=PASSES)
    return RedEvidence(now.check, why_not=f"cannot run without the change: {before.message}")


def _red_at_base(
    item: FindingItem, base: Finding, now: Finding, moved: Collection[str]
) -> Iterator[str]:
    """The tests of a failure at the base: itself, or those of a file that does not load there."""
    passing, is_load_error = now.passing_tests, _is_load_error(item.message)
    if item.unlisted_count or (is_load_error and _is_in_files(item.name, moved)):
        return
    if not passing or item.name in passing:
        yield item.name
    elif is_load_error:
        prefixes = (f"{item.name}::", f"{item.name.removeprefix(_FAILED_MODULE)}.")
        own = [name for name in passing if name.startswith(prefixes)]
        # Some runners do not name the file of a test.
        yield from own or ([item.name] if set(passing) - set(base.passing_tests) else ())


def _is_in_files(name: str, paths: Collection[str]) -> bool:
    """Is a test, a test file or a test module in one of these files?  Runners name it their way."""
    file = name.partition("::")[0].removeprefix(_FAILED_MODULE)
    modules = (path.rpartition(".")[0].replace("/", ".") for path in paths)
    return any(f"/{path}".endswith(f"/{file}") for path in paths) or any(
        f".{module}".endswith(f".{file}") or f"{file}.".startswith(f"{module}.")
        for module in modules
    )


def _tests_of(files: Sequence[str], tests: frozenset[str]) -> frozenset[str]:
    """The tests of these files; all tests where the runner names no file."""
    if not files:
        return frozenset()
    stems = {path.rpartition("/")[2].partition(".")[0] for path in files}
    own = (name for name in tests if stems & set(_WORD.findall(name.partition("::")[0])))
    return frozenset(own) or tests


def _is_load_error(message: str) -> bool:
    return exception_kind(message) in _LOAD_ERRORS or _MISSING_NAME.match(message) is not None


def _load_failure(before: Finding) -> str:
    """Why no test could fail; a missing module is one that the change adds, so none to install."""
    if missing := before.params.get("missingModules", ()):
        return f"No module named {', '.join(map(repr, missing))}"
    return incomplete_suite_reason(before) or before.message


def judge_red_first(
    evidence: Sequence[RedEvidence],
    level: CriterionLevel,
    test_files: Sequence[str],
    *,
    is_fix: bool = True,
) -> Finding:
    """One red test of one check is enough: others may guard what worked before.

    The tests of a new feature do not load without it: a task that is no `kind: fix` is told so.
    """
    red = [name for one in evidence for name in one.red_tests]
    required = level is CriterionLevel.REQUIRED
    if red:
        tests = format_count(len(red), "test fails", "tests fail")
        return Finding(
            RED_FIRST_CHECK,
            Outcome.PASSED,
            required=required,
            message=f"{tests} without the change and "
            f"{'passes' if len(red) == 1 else 'pass'} with it: {list_some(red, NAMES_SHOWN)}",
            params={FAIL_TO_PASS: red[:TESTS_MAX]},
        )
    if not test_files and all(one.why_not == PASSES for one in evidence):
        why = "no test was added or changed, and none fails without the change"
    elif not test_files:
        why = "; ".join(
            ["no test was added or changed"]
            + [f"check {one.check} {one.why_not}" for one in evidence if one.why_not != PASSES]
        )
    elif evidence:
        why = "; ".join(f"check {one.check} {one.why_not}" for one in evidence)
    else:
        why = "no check runs tests"
    green = [name for one in evidence for name in one.green_tests][:TESTS_MAX]
    is_misplaced = not is_fix and any(one.is_unloaded for one in evidence)
    note = " (red is for fixes of existing code)" if is_misplaced else ""
    return Finding(
        RED_FIRST_CHECK,
        Outcome.FAILED,
        required=required,
        pattern=NOT_RED_PATTERN,
        message=f"no test shows what the change fixes{note}: {why}",
        items=tuple(FindingItem(path, "does not test the fix", path) for path in test_files),
        params={
            "greenTests": [{"name": name, "message": "passes without it"} for name in green[:20]],
        },
    )
