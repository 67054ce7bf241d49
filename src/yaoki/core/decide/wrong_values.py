"""Judges a control with wrong values: do the tests notice a wrong result? (rule 17.9)

A test compares what the program gives with what it expects, and the program may define how its
values compare.  A value that equals a wrong one as well proves nothing.
"""

from __future__ import annotations

from collections.abc import Sequence

from yaoki.core.decide.negative_control import GAMED_PATTERN, NAMES_SHOWN, PLACES_MAX
from yaoki.core.lazy_dataclass import dataclass
from yaoki.core.model import Finding, FindingItem, OnFailure, Outcome
from yaoki.core.model.names import WRONG_VALUE_ERROR, WRONG_VALUES_CHECK
from yaoki.core.text import list_some


@dataclass(frozen=True, slots=True)
class WrongValueRun:
    """The execution of one check with tests that compare with wrong values."""

    check: str
    result: Finding
    is_hidden: bool = False
    # The tests that pass without wrong values.
    passing_tests: tuple[str, ...] = ()

    @property
    def blind_tests(self) -> tuple[str, ...]:
        """The tests with a comparison that holds for a wrong value."""
        return tuple(item.name for item in self.result.items if WRONG_VALUE_ERROR in item.message)

    @property
    def is_blind(self) -> bool:
        """Also where the check names no test."""
        return WRONG_VALUE_ERROR in self.result.output or bool(self.blind_tests)

    @property
    def is_sound(self) -> bool:
        """Also where all tests pass again, and the check fails for something else (coverage)."""
        passes = self.result.outcome in {Outcome.PASSED, Outcome.FLAKY, Outcome.WAIVED}
        names = set(self.passing_tests)
        return passes or (bool(names) and names.issubset(self.result.passing_tests))


def judge_wrong_values(
    runs: Sequence[WrongValueRun],
    places: Sequence[FindingItem],
    seconds: float,
    unread: Sequence[str] = (),
    *,
    is_decisive: bool = False,
) -> Finding | None:
    """None if no check was run with wrong values; `places` are the lines that made it necessary.

    `unread`: sentences about tests that could not be rewritten.  `is_decisive`: the places alone
    could make a value equal to a wrong one, so a control that is missing must not pass.
    """
    if not runs and not unread:
        return None
    blind = [_name(one) for one in runs if one.is_blind]
    if not blind:
        missing = (*_missing_controls(runs), *unread)
        if missing and is_decisive:
            return _ask(missing, places, seconds)
        return _describe_sighted(runs, missing, seconds)
    shown = tuple(places[:PLACES_MAX])
    message = (
        "values of the changed code are equal to wrong values as well, so the tests would accept"
        f" any result: {'; '.join(blind)}"
    )
    return Finding(
        WRONG_VALUES_CHECK,
        Outcome.FAILED,
        pattern=GAMED_PATTERN,
        message=message,
        items=shown,
        params={"tellTales": [{"name": one.name, "message": one.message} for one in shown]},
        seconds=seconds,
    )


def _ask(missing: Sequence[str], places: Sequence[FindingItem], seconds: float) -> Finding:
    """No further attempt can tell, so a person decides."""
    message = (
        "the changed code decides how its values compare, so it is unknown whether the tests notice"
        f" wrong values: {'; '.join(missing)}"
    )
    shown = tuple(places[:PLACES_MAX])
    return Finding(
        WRONG_VALUES_CHECK,
        Outcome.FAILED,
        on_failure=OnFailure.ABORT,
        message=message,
        items=shown,
        seconds=seconds,
    )


def _missing_controls(runs: Sequence[WrongValueRun]) -> tuple[str, ...]:
    others = [one.check for one in runs if not one.is_sound]
    if not others:
        return ()
    names = list_some(others, NAMES_SHOWN)
    why = "its tests fail for another reason when they are rewritten"
    return (f"check {names} has no control with wrong values: {why}",)


def _describe_sighted(
    runs: Sequence[WrongValueRun], missing: Sequence[str], seconds: float
) -> Finding:
    sound = [one.check for one in runs if one.is_sound]
    names = list_some(sound, NAMES_SHOWN)
    parts = [f"the tests of check {names} notice wrong values"] if sound else []
    outcome = Outcome.PASSED if sound else Outcome.SKIPPED
    message = "; ".join((*parts, *missing))
    return Finding(WRONG_VALUES_CHECK, outcome, message=message, seconds=seconds)


def describe_unread(check: str, files: Sequence[str], *, is_hidden: bool = False) -> str:
    """Names of hidden files are not for the agent."""
    named = "hidden files" if is_hidden else list_some(files, NAMES_SHOWN)
    return f"check {check} has tests that cannot be rewritten: {named}"


def _name(run: WrongValueRun) -> str:
    """Names of hidden tests are not for the agent."""
    named = run.blind_tests if not run.is_hidden else ()
    return f"check {run.check}" + (f" ({list_some(named, NAMES_SHOWN)})" if named else "")
