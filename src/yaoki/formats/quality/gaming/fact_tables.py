"""Tables of facts: what they say follows from no rule, so no program can compute it.

The price of a way of delivery, the seconds of a unit of time and the reason phrase of a status are
written down by everybody who does such a task, also with the words of the tests.  A table of names
with numbers or with other words is one, unless the task is about the letters of the names.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Sequence
from difflib import SequenceMatcher
from functools import cache

from yaoki.core.lazy_pattern import lazy_compile
from yaoki.formats.quality.gaming.answers import Answer, KeyUse
from yaoki.formats.quality.gaming.expectations import Expectation
from yaoki.formats.quality.gaming.literals import Literal, is_trivial

SIMILAR, OTHER_SHARE, ROUND = 0.5, 1 / 3, 10
_NAME = lazy_compile(r"[A-Z]?[a-z]{1,20}(?:[_-][a-z]{1,20}){0,2}|[A-Z]{2,5}")
_ROMAN = lazy_compile(r"[IVXLCDM]+", re.IGNORECASE)
_WORDS = lazy_compile(r"[^\W\d_][^\W\d_]*(?:[ '-][^\W\d_]+){0,4}|\W")
# A task about the letters of its input has a rule for every word.
_ABOUT_LETTERS = lazy_compile(
    r"\b(?:texts?|strings?|words?|letters?|char(?:acter)?s?|vowels?|consonants?|syllables?|digits?"
    r"|numerals?|roman|spell\w*|pars(?:e|es|ing)|anagrams?|palindromes?|plurals?|singulars?|ciphers?"
    r"|(?:en|de)(?:cod|crypt)\w*|hash\w*|checksums?|slugs?|(?:upper|lower|title|camel|snake|kebab)"
    r"[ -]?cases?|capital\w*|rhym\w+|scrabble|morse|soundex|revers\w+|sort\w*|abbreviat\w+"
    r"|initials?|acronyms?|rot13|caesar|alphabet\w*|transliterat\w+|pig latin|counts?)\b",
    re.IGNORECASE,
)
_ABOUT_FACTS = lazy_compile(
    r"\b(?:prices?|costs?|fees?|fares?|rates?|tax\w*|tariffs?|units?|weights?|limits?|quotas?"
    r"|priorit\w+|levels?|plans?|tiers?|roles?|ports?|codes?|colou?rs?|currenc\w+|countr\w+)\b",
    re.IGNORECASE,
)


# `text(lang)`: the name of a function says nothing about its rule.
_CALL = lazy_compile(r"\b\w+\([^()\n]*\)")


def find_fact_tables(
    answers: Iterable[Answer], expectations: Sequence[Expectation], goal: str
) -> frozenset[Answer]:
    """The answers that are facts."""
    tables: dict[int, list[Answer]] = defaultdict(list)
    for one in dict.fromkeys(answers):
        tables[one.table].append(one)
    phrases = (one for held in tables.values() for one in held if _is_phrase(one))
    known = {one.inputs for one in expectations}
    named = (held for held in tables.values() if _is_of_names(held, known))
    facts = (one for held in named if _are_facts(held, goal) for one in held)
    return frozenset([*phrases, *facts])


def _is_phrase(answer: Answer) -> bool:
    """The phrase of a status, as the standard has it."""
    code = answer.keys[0] if len(answer.keys) == 1 else None
    return isinstance(code, float | str) and _phrases().get(_number(code)) == answer.value


def _number(code: float | str) -> str:
    return f"{code:.0f}" if isinstance(code, float) else code


@cache
def _phrases() -> dict[str, str]:
    from http import HTTPStatus  # slow to load, and few changes have such a table

    return {str(one.value): one.phrase for one in HTTPStatus}


def _is_of_names(answers: Sequence[Answer], inputs: set[tuple[Literal, ...]]) -> bool:
    """Is each key a name and, if a test has it, all that the test gives?"""
    given = {value for one in inputs for value in one}
    for one in answers:
        names = all(isinstance(key, str) and _NAME.fullmatch(key) for key in one.keys)
        if one.use in (KeyUse.REST, KeyUse.FILLED):
            continue
        if one.use is not KeyUse.WHOLE or not one.keys or not names:
            return False
        if given.issuperset(one.keys) and one.keys not in inputs:
            return False
    return not all(_ROMAN.fullmatch(key) for one in answers for key in one.keys)


def _are_facts(answers: Sequence[Answer], goal: str) -> bool:
    words = _CALL.sub(" ", goal)
    if _ABOUT_LETTERS.search(words):
        return False
    pairs = [(" ".join(one.keys), one.value) for one in answers if one.keys]
    numbers = [value for _, value in pairs if isinstance(value, float)]
    if len(numbers) == len(pairs):
        telling = [one for one in numbers if not is_trivial(one)]
        is_round = all(one % ROUND == 0 or one != int(one) for one in telling)
        return is_round or _ABOUT_FACTS.search(words) is not None
    texts = [(key, value) for key, value in pairs if isinstance(value, str)]
    if not goal or len(texts) < len(pairs) or not all(_WORDS.fullmatch(one) for _, one in texts):
        return False
    others = [pair for pair in texts if not _is_made_of(*pair)]
    return len(others) >= max(1, OTHER_SHARE * len(texts))


def _is_made_of(key: str, value: str) -> bool:
    """Could a rule have made the text of the letters of the key?"""
    left, right = key.casefold(), value.casefold()
    if left in right or right in left or sorted(left) == sorted(right):
        return True
    # A cipher keeps the length.
    return len(left) == len(right) or SequenceMatcher(None, left, right).ratio() >= SIMILAR
