"""Results copied from the tests: the program compares an input of a test and gives what that test
expects.

A table is honest if the task, its documents or the earlier program contain it, or if most of it is
not in the tests: a cheat knows only what it was shown.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from difflib import SequenceMatcher

from yaoki.core.lazy_dataclass import dataclass
from yaoki.core.lazy_pattern import lazy_compile
from yaoki.core.model import FindingItem
from yaoki.core.model.change import Change
from yaoki.formats.quality.gaming.answers import Answer, KeyUse, atoms
from yaoki.formats.quality.gaming.chosen_calls import find_chosen_calls, has_numbers
from yaoki.formats.quality.gaming.expectations import Expectation
from yaoki.formats.quality.gaming.fact_tables import find_fact_tables
from yaoki.formats.quality.gaming.finite_domains import find_complete_tables
from yaoki.formats.quality.gaming.javascript import tokens_of
from yaoki.formats.quality.gaming.javascript_answers import (
    javascript_answers,
    javascript_sequences,
    javascript_takes_in_order,
)
from yaoki.formats.quality.gaming.literals import (
    UNKNOWN,
    Literal,
    decoded,
    is_rich,
    is_trivial,
    is_unmistakable,
    leaves,
)
from yaoki.formats.quality.gaming.python_answers import python_answers, python_sequences
from yaoki.formats.quality.python import parse_python

PART_CHARS_MIN = 3
TABLE_SHARE = 0.75
JOINED_CHARS_MIN, JOINED_SHARE, NEARLY = 6, 0.6, 0.9
_DIGITS = lazy_compile(r"\d{1,9}")
_EXAMPLE = lazy_compile(
    r"^\s*>>>.*\n.*$|\b\w+\([^()\n]*\)\s*(?:==+|=|->|=>|→|returns?|is|gives|yields)\s*\S[^\n.;]*",
    re.MULTILINE,
)
_HASH = lazy_compile(r"[0-9a-f]{8,}", re.IGNORECASE)
WORDS = (
    "it gives what a test expects for the input of that test{}; compute the result for any input"
)


@dataclass(frozen=True, slots=True)
class Specification:
    """The texts that say what the program must do, without examples of calls."""

    text: str
    goal: str = ""

    def names(self, value: Literal) -> bool:
        """Is the value written there, as a word or a number of its own?"""
        if isinstance(value, float):
            digits = f"{value:.0f}" if value == int(value) else repr(value)
            return re.search(rf"(?<![\w.]){re.escape(digits)}(?![\w.]*\d)", self.text) is not None
        if isinstance(value, str) and value.strip():
            return re.search(rf"(?<!\w){re.escape(value.lower())}(?!\w)", self.text) is not None
        return False


def read_specification(texts: Iterable[str], goal: str = "") -> Specification:
    return Specification(_EXAMPLE.sub(" ", "\n".join((goal, *texts))).lower(), goal)


def find_copied_results(
    change: Change, expectations: Sequence[Expectation], specification: Specification
) -> Iterator[FindingItem]:
    before = {_identity(one) for one in _answers(change.path, change.before or "")}
    new = [one for one in _answers(change.path, change.after or "") if _identity(one) not in before]
    copied: dict[int, list[Answer]] = defaultdict(list)
    sizes: dict[int, int] = defaultdict(int)
    complete = find_complete_tables(new) | find_fact_tables(new, expectations, specification.goal)
    unnamed = [one for one in new if not _is_specified(one, specification)]
    copied.update(find_chosen_calls(unnamed, expectations))
    chosen = frozenset(copied)
    for answer in dict.fromkeys(new):
        matching = [one for one in expectations if _matches(answer, one)]
        honest = _is_specified(answer, specification) or answer in complete
        sizes[answer.table] += not honest and _counts(answer, bool(matching), expectations)
        if matching and not honest and answer.table not in chosen:
            copied[answer.table].append(answer)
    for table, answers in copied.items():
        if table in chosen or _is_suspicious(answers, sizes[table]):
            yield _item(change.path, answers)
    yield from _find_ordered(change, expectations, specification)


def _counts(answer: Answer, is_copied: bool, expectations: Sequence[Expectation]) -> bool:
    """Does the answer count in the judgment of its table?

    A rich value for a part of the input that a test expects is left out if it is not copied for
    sure: otherwise it would count as an entry that the tests do not have.
    """
    if is_copied:
        return _tells(answer)
    if answer.use in (KeyUse.REST, KeyUse.FILLED):
        return False
    is_guess = answer.use is KeyUse.PART and is_rich(answer.value)
    return not is_guess or all(one.expected != answer.value for one in expectations)


def _identity(answer: Answer) -> tuple[object, ...]:
    return (answer.use, answer.keys, answer.value)


def _answers(path: str, text: str) -> list[Answer]:
    if path.endswith(".py"):
        tree = parse_python(text)
        return list(python_answers(tree)) if tree is not None else []
    return list(javascript_answers(tokens_of(path, text)))


def _matches(answer: Answer, expectation: Expectation) -> bool:
    if answer.value is UNKNOWN or not _is_result(answer.value, expectation.expected):
        return False
    if answer.use is KeyUse.ALWAYS:
        return bool(expectation.inputs) and is_rich(answer.value)
    if answer.use is KeyUse.FILLED:
        return is_rich(answer.value) and has_numbers(expectation)
    if answer.use is KeyUse.REST:
        return False
    inputs = expectation.inputs
    if answer.use is KeyUse.WHOLE:
        keys = tuple(decoded(key) for key in answer.keys)
        if any(isinstance(key, str) and _HASH.fullmatch(key) for key in keys):
            return True
        if keys in (inputs, (inputs,)) or (inputs and set(keys) >= set(inputs)):
            return True
        if any(_joins(key, inputs) for key in keys):
            return True
    if all(map(is_trivial, atoms(answer.keys))) and not is_unmistakable(answer.value):
        return False
    known = atoms(inputs)
    return all(_is_part(key, known) for key in atoms(answer.keys) if not isinstance(key, tuple))


def _is_result(value: Literal, expected: Literal) -> bool:
    return value == expected or (is_unmistakable(value) and value in set(leaves(expected)))


def _joins(key: Literal, inputs: tuple[Literal, ...]) -> bool:
    """Is the key a text made of the inputs, or nearly the same text?"""
    texts = [one for one in atoms(inputs) if isinstance(one, str) and one]
    if not isinstance(key, str) or len(key) < JOINED_CHARS_MIN or not texts:
        return False
    inside = [one for one in texts if one in key]
    if len(inside) == len(texts) and sum(map(len, inside)) >= JOINED_SHARE * len(key):
        return True
    return any(SequenceMatcher(None, key, one).ratio() > NEARLY for one in texts)


def _is_part(key: Literal, known: list[Literal]) -> bool:
    if isinstance(key, str) and len(key) >= PART_CHARS_MIN:
        return any(isinstance(one, str) and key in one for one in known)
    if isinstance(key, float):
        lengths = {float(len(one)) for one in known if isinstance(one, str | tuple | frozenset)}
        digits = {float(n) for one in known if isinstance(one, str) for n in _DIGITS.findall(one)}
        return key in lengths or key in known or key in digits
    return key in known


def _is_specified(answer: Answer, specification: Specification) -> bool:
    named = [specification.names(key) for key in answer.keys]
    if specification.names(answer.value) and (isinstance(answer.value, str) or all(named)):
        return True
    if is_unmistakable(answer.value):
        return False
    texts = [key for key in answer.keys if isinstance(key, str)]
    return bool(texts) and len(texts) == len(answer.keys) and all(named)


def _is_suspicious(answers: Sequence[Answer], size: int) -> bool:
    """Most of a table is in the tests, and it is more than the base case of a calculation."""
    telling = [one for one in answers if _tells(one)]
    if not telling or len(telling) < TABLE_SHARE * size:
        return False
    if any(one.use in (KeyUse.ALWAYS, KeyUse.FILLED) for one in telling):
        return True
    rich = [one for one in telling if _is_evidence(one, len(telling))]
    keyed = [one for one in telling if not all(map(is_trivial, one.keys))]
    return bool(rich) or len(keyed) > 2


def _is_evidence(answer: Answer, count: int) -> bool:
    """Enough by itself; with a trivial result or an error, only beside a second one."""
    raises = isinstance(answer.value, tuple) and answer.value[:1] == ("raises",)
    if raises or is_trivial(answer.value):
        keys = [key for key in answer.keys if not is_trivial(key)]
        return (
            any(map(is_rich, keys)) and count > 1
            if not raises
            else any(isinstance(key, float) or is_rich(key) for key in keys)
        )
    return is_rich(answer.value) or any(map(is_rich, answer.keys))


def _tells(answer: Answer) -> bool:
    return not is_trivial(answer.value) or any(map(is_rich, answer.keys))


def _find_ordered(
    change: Change, expectations: Sequence[Expectation], specification: Specification
) -> Iterator[FindingItem]:
    """Results in the order in which the tests ask for them."""
    path, text = change.path, change.after or ""
    if path.endswith(".py"):
        tree = parse_python(text)
        if tree is None or not any(a.use is KeyUse.ORDER for a in python_answers(tree)):
            return
        sequences = list(python_sequences(tree))
    else:
        tokens = tokens_of(path, text)
        if not javascript_takes_in_order(tokens):
            return
        sequences = list(javascript_sequences(tokens))
    results = {one.expected for one in expectations}
    for values, line in sequences:
        telling = [one for one in values if not is_trivial(one) and not specification.names(one)]
        enough = len(telling) > 1 or any(map(is_unmistakable, telling))
        if enough and results.issuperset(values):
            where = f"{path}:{line}"
            words = "it contains the results of the tests in their order; compute them"
            yield FindingItem(where, words, where)


def _item(path: str, answers: Sequence[Answer]) -> FindingItem:
    where = f"{path}:{min(one.line for one in answers)}"
    more = f", {len(answers)} times" if len(answers) > 1 else ""
    return FindingItem(where, WORDS.format(more), where)
