"""Judges mutants: does a test fail when a changed line has a fault? (rule 17.3)

A mutant is killed by a test that fails or by a check that takes far too long.  A mutant that cannot
be loaded is not judged: every test would fail, whatever it tests.  Code that no mutant reaches
counts as a survivor and is a failure, whatever share may survive.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import timedelta
from enum import StrEnum, unique

from yaoki.core.decide.baseline import KNOWN_FAILURES, all_failures, exception_kind
from yaoki.core.decide.integrity import has_test_count
from yaoki.core.lazy_dataclass import dataclass
from yaoki.core.model import MUTANTS_CHECK, Finding, FindingItem, OnFailure, Outcome
from yaoki.core.model.mutant import HiddenCode, Mutant, MutantRules
from yaoki.core.model.outcome import TIMED_OUT_PARAM
from yaoki.core.text import format_count, format_duration, list_some

MUTANT_SURVIVED_PATTERN = "mutant-survived"
# The param of a finding with the numbers of mutants.
MUTANTS = "mutants"
SURVIVORS_SHOWN = 20
PLACES_SHOWN = 3
# Below this duration a check is mostly the start of its runner.
OWN_TESTS_WORTH_SECONDS, OWN_TESTS_MAX = 5.0, 50
_LOAD_ERRORS = frozenset({"ImportError", "ModuleNotFoundError", "SyntaxError", "IndentationError"})
# A mutant may do more than the original, and the machine may be busier: a limit that is too short
# would count a slow run as killed.
_TIMES_SLOWER, _FREE = 5, timedelta(seconds=5)


@unique
class MutantOutcome(StrEnum):
    """KILLED: a test noticed the fault.  TIMED_OUT: the check took far too long with it.
    UNJUDGED: the run says nothing about the tests.
    """

    KILLED = "killed"
    TIMED_OUT = "timed-out"
    SURVIVED = "survived"
    UNJUDGED = "unjudged"

    @property
    def is_kill(self) -> bool:
        return self in {MutantOutcome.KILLED, MutantOutcome.TIMED_OUT}


@dataclass(frozen=True, slots=True)
class MutantResult:
    """A mutant and what the checks said about it."""

    mutant: Mutant
    outcome: MutantOutcome
    seconds: float = 0.0


def mutant_deadline(normal_seconds: float, timeout: timedelta) -> timedelta:
    """How long a check may take on a mutant, by its duration without one."""
    return min(timeout, _FREE + timedelta(seconds=normal_seconds * _TIMES_SLOWER))


def judge_run(run: Finding, normal: Finding) -> MutantOutcome:
    """One check on a mutant; `normal` is its finding without the fault."""
    if run.outcome is Outcome.PASSED:
        return MutantOutcome.SURVIVED
    if run.outcome is not Outcome.FAILED or run.params.get("loadError"):
        return MutantOutcome.UNJUDGED
    if run.params.get(TIMED_OUT_PARAM):
        return MutantOutcome.TIMED_OUT
    known = frozenset(normal.params.get(KNOWN_FAILURES, ()))
    failed = [item for item in all_failures(run) if item.name not in known]
    if not failed:
        # Where tests are counted, something else than a test failed: the style, a changed file.
        counted = known or has_test_count(normal)
        return MutantOutcome.UNJUDGED if counted else MutantOutcome.KILLED
    if all(exception_kind(item.message) in _LOAD_ERRORS for item in failed):
        return MutantOutcome.UNJUDGED
    return MutantOutcome.KILLED


def combine_runs(outcomes: Sequence[MutantOutcome]) -> MutantOutcome:
    """One check that notices the fault is enough."""
    kill = next((outcome for outcome in outcomes if outcome.is_kill), None)
    if kill is not None:
        return kill
    alone = set(outcomes) == {MutantOutcome.SURVIVED}
    return MutantOutcome.SURVIVED if alone else MutantOutcome.UNJUDGED


def judge_mutants(
    results: Sequence[MutantResult],
    rules: MutantRules,
    mutants_made: int,
    *,
    has_tests: bool,
    hidden: Sequence[HiddenCode] = (),
) -> Finding:
    """`mutants_made` may be more than the results: no mutant starts after the time limit."""
    survived = [one.mutant for one in results if one.outcome is MutantOutcome.SURVIVED]
    numbers = _count(results, mutants_made, len(hidden))
    survivors, seconds = numbers["survived"], sum(one.seconds for one in results)
    counted = numbers["killed"] + survivors
    if not mutants_made and not hidden:
        return _finding(Outcome.PASSED, rules, "no changed line can be mutated", seconds=0.0)
    if not counted:
        # No test can change this, so a person decides.
        why = "with each of them the code cannot load" if has_tests else "no check runs tests"
        message = f"{format_count(mutants_made, 'mutant')}, but none could be judged: {why}"
        return _finding(Outcome.FAILED, rules, message, seconds=seconds, on_failure=OnFailure.ABORT)
    too_many = survivors > rules.survivors_max * counted
    verb = "survives" if survivors == 1 else "survive"
    message = f"{survivors} of {format_count(counted, 'mutant')} {verb}"
    message += f" (limit {rules.survivors_max:.0%})".replace("%", " %")
    return _finding(
        Outcome.FAILED if too_many or hidden else Outcome.PASSED,
        rules,
        message + _left_out(numbers, rules) + _hidden_words(hidden),
        [*map(_hidden_item, hidden), *map(_survivor_item, survived)],
        numbers,
        seconds=seconds,
    )


def _hidden_words(hidden: Sequence[HiddenCode]) -> str:
    places = [f"{one.words} in {one.path}:{one.line}" for one in hidden]
    return f"; not mutated: {list_some(places, PLACES_SHOWN)}" if places else ""


def _hidden_item(one: HiddenCode) -> FindingItem:
    return FindingItem(f"{one.path}:{one.line}", f"not mutated: {one.words}", one.path)


def _survivor_item(one: Mutant) -> FindingItem:
    return FindingItem(f"{one.path}:{one.line}", f"no test notices if {one.fault}", one.path)


def _count(results: Sequence[MutantResult], mutants_made: int, hidden: int) -> dict[str, int]:
    """Those that timed out are killed as well; only `killed` and `survived` are judged."""
    outcomes = [one.outcome for one in results]
    return {
        "killed": sum(outcome.is_kill for outcome in outcomes),
        "survived": outcomes.count(MutantOutcome.SURVIVED) + hidden,
        "timed_out": outcomes.count(MutantOutcome.TIMED_OUT),
        "unjudged": outcomes.count(MutantOutcome.UNJUDGED),
        "untried": mutants_made - len(results),
    }


def _left_out(numbers: Mapping[str, int], rules: MutantRules) -> str:
    words = ""
    if unjudged := numbers["unjudged"]:
        words += f"; {unjudged} more could not be judged"
    if untried := numbers["untried"]:
        limit = format_duration(rules.timeout.total_seconds())
        words += f"; {untried} more were not tried within {limit}"
    return words


def _finding(
    outcome: Outcome,
    rules: MutantRules,
    message: str,
    items: Sequence[FindingItem] = (),
    numbers: dict[str, int] | None = None,
    *,
    seconds: float,
    on_failure: OnFailure = OnFailure.RETRY,
) -> Finding:
    shown = [{"name": item.name, "message": item.message} for item in items[:SURVIVORS_SHOWN]]
    return Finding(
        MUTANTS_CHECK,
        outcome,
        required=rules.required,
        on_failure=on_failure,
        pattern=MUTANT_SURVIVED_PATTERN if outcome is Outcome.FAILED else "",
        message=message,
        items=tuple(items),
        params={"survivors": shown, **({MUTANTS: numbers} if numbers else {})},
        seconds=seconds,
    )
