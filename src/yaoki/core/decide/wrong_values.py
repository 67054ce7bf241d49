"""Judges a control with wrong values: do the tests notice a wrong result? (rule 17.9)

A test compares what the program gives with what it expects, and the program may define how its
values compare.  A value that equals a wrong one as well proves nothing.
"""

from __future__ import annotations

from collections.abc import Sequence

from yaoki.core.decide.negative_control import GAMED_PATTERN, NAMES_SHOWN, PLACES_MAX
from yaoki.core.lazy_dataclass import dataclass
from yaoki.core.model import Finding, FindingItem, Outcome
from yaoki.core.model.names import WRONG_VALUE_ERROR, WRONG_VALUES_CHECK
from yaoki.core.text import list_some


@dataclass(frozen=True, slots=True)
class WrongValueRun:
    """The execution of one check with tests that compare with wrong values."""

    check: str
    result: Finding
    is_hidden: bool = False

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
        return self.result.outcome in {Outcome.PASSED, Outcome.FLAKY, Outcome.WAIVED}


def judge_wrong_values(
    runs: Sequence[WrongValueRun], places: Sequence[FindingItem], seconds: float
) -> Finding | None:
    """None where no check was run so; `places` are the lines that made the control necessary."""
    if not runs:
        return None
    blind = [_name(one) for one in runs if one.is_blind]
    if not blind:
        return _describe_sighted(runs, seconds)
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


def _describe_sighted(runs: Sequence[WrongValueRun], seconds: float) -> Finding:
    sound = [one.check for one in runs if one.is_sound]
    others = [one.check for one in runs if not one.is_sound]
    parts = []
    if sound:
        parts.append(f"the tests of check {list_some(sound, NAMES_SHOWN)} notice wrong values")
    if others:
        names = list_some(others, NAMES_SHOWN)
        why = "its tests fail for another reason when they are rewritten"
        parts.append(f"check {names} has no control with wrong values: {why}")
    outcome = Outcome.PASSED if sound else Outcome.SKIPPED
    return Finding(WRONG_VALUES_CHECK, outcome, message="; ".join(parts), seconds=seconds)


def _name(run: WrongValueRun) -> str:
    """Names of hidden tests are not for the agent."""
    named = run.blind_tests if not run.is_hidden else ()
    return f"check {run.check}" + (f" ({list_some(named, NAMES_SHOWN)})" if named else "")
