"""Results of calls with several numbers, chosen by those numbers: `if (a, b) == (2, 3): return 5`.

A small number proves nothing alone.  All inputs of one call with the result of this call do, and so
do several results that are each chosen by an input of their call while nothing is computed.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence

from yaoki.core.lazy_pattern import lazy_compile
from yaoki.formats.quality.gaming.answers import Answer, KeyUse
from yaoki.formats.quality.gaming.expectations import Expectation
from yaoki.formats.quality.gaming.literals import Literal, is_trivial, leaves

SHARE, BRANCHES_MIN, NUMBERS_MIN = 0.75, 2, 2
_NUMBER = lazy_compile(r"(?<!\d)-?\d+(?:\.\d+)?|\d+(?:\.\d+)?")
_KEY = lazy_compile(r"-?\d+(?:\.\d+)?(?:[^\w.]{1,3}-?\d+(?:\.\d+)?)+")


def find_chosen_calls(
    answers: Sequence[Answer], expectations: Iterable[Expectation]
) -> Mapping[int, list[Answer]]:
    """By table, the answers that are the results of the tests' calls."""
    calls = [one for one in expectations if _is_call_of_numbers(one)]
    tables: dict[int, list[Answer]] = defaultdict(list)
    for one in dict.fromkeys(answers) if calls else ():
        tables[one.table].append(one)
    found = {table: _chosen(held, calls) for table, held in tables.items()}
    return {table: chosen for table, chosen in found.items() if chosen}


def count_calls(rows: Iterable[Sequence[Literal]], expectations: Iterable[Expectation]) -> int:
    """How many rows of data are all inputs of a test's call and its result?"""
    calls = [one for one in expectations if one.function and _is_call_of_numbers(one)]
    known = {(*one.inputs, one.expected) for one in calls}
    return sum(tuple(_numbers(row)) in known for row in rows) if known else 0


def has_numbers(expectation: Expectation) -> bool:
    """Is a number computed from a list or object with several numbers?"""
    numbers = [
        leaf
        for one in expectation.inputs
        if isinstance(one, tuple | frozenset)
        for leaf in leaves(one)
        if isinstance(leaf, float)
    ]
    return isinstance(expectation.expected, float) and len(numbers) >= NUMBERS_MIN


def _is_call_of_numbers(expectation: Expectation) -> bool:
    values = (*expectation.inputs, expectation.expected)
    is_telling = not is_trivial(expectation.expected)
    return len(values) > 2 and is_telling and all(isinstance(one, float) for one in values)


def _chosen(answers: Sequence[Answer], calls: Sequence[Expectation]) -> list[Answer]:
    whole = [one for one in answers if any(_is_whole(one, call) for call in calls)]
    named = (call for call in calls if call.function)
    if any(_is_whole(one, call) for call in named for one in whole):
        return whole
    # A row of numbers in a test may be no call.
    found = (
        whole
        if len(whole) >= BRANCHES_MIN
        else [one for one in answers if any(_chooses(one, call) for call in calls)]
    )
    keyed = [one for one in found if one.use is not KeyUse.REST]
    known = [one for one in answers if one.use is not KeyUse.FILLED]
    has_key = any(not is_trivial(key) for one in keyed for key in one.keys)
    is_most = len(found) >= max(BRANCHES_MIN, SHARE * len(known))
    return found if keyed and has_key and is_most else []


def _is_whole(answer: Answer, call: Expectation) -> bool:
    """All inputs of the call and its result."""
    if answer.use not in (KeyUse.WHOLE, KeyUse.PART) or answer.value != call.expected:
        return False
    given = _numbers(answer.keys)
    return any(not is_trivial(one) for one in given) and Counter(given) == Counter(call.inputs)


def _chooses(answer: Answer, call: Expectation) -> bool:
    if answer.value != call.expected:
        return False
    if answer.use is KeyUse.REST:
        return True
    if answer.use not in (KeyUse.WHOLE, KeyUse.PART) or not answer.keys:
        return False
    return not Counter(_numbers(answer.keys)) - Counter(call.inputs)


def _numbers(keys: Sequence[Literal]) -> list[Literal]:
    """The keys, and for a composed one (`"2+3"`) its parts."""
    found: list[Literal] = []
    for key in keys:
        is_composed = isinstance(key, str) and _KEY.fullmatch(key)
        found += map(float, _NUMBER.findall(key)) if is_composed else [key]
    return found
