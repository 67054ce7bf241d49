"""Tables that are complete: the names of all weekdays, months and similar things by their numbers.

Such a table computes nothing and is no guess: it is right for every input, whatever the tests ask.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache

from yaoki.formats.quality.gaming.answers import Answer, KeyUse
from yaoki.formats.quality.gaming.literals import Literal

# The first one of a week may be any; other domains have one order.
_WEEKS = (
    "monday tuesday wednesday thursday friday saturday sunday",
    "montag dienstag mittwoch donnerstag freitag samstag sonntag",
    "lundi mardi mercredi jeudi vendredi samedi dimanche",
    "lunes martes miércoles jueves viernes sábado domingo",
    "月曜日 火曜日 水曜日 木曜日 金曜日 土曜日 日曜日",
)
_ORDERED = (
    "january february march april may june july august september october november december",
    "januar februar märz april mai juni juli august september oktober november dezember",
    "janvier février mars avril mai juin juillet août septembre octobre novembre décembre",
    "enero febrero marzo abril mayo junio julio agosto septiembre octubre noviembre diciembre",
    "睦月 如月 弥生 卯月 皐月 水無月 文月 葉月 長月 神無月 霜月 師走",
    "zero one two three four five six seven eight nine",
    "spring summer autumn winter",
    "north east south west",
)
# How many letters a short name has.
_LETTERS = (1, 2, 3)
_START_MAX = 1


def find_complete_tables(answers: Iterable[Answer]) -> frozenset[Answer]:
    """The answers of all tables that are complete."""
    tables: dict[int, list[Answer]] = {}
    for one in answers:
        tables.setdefault(one.table, []).append(one)
    return frozenset[Answer]().union(*map(_find_complete, tables.values()))


def _find_complete(answers: Sequence[Answer]) -> frozenset[Answer]:
    """The answers of one table that give all names of a domain for its numbers, or all numbers for
    its names.
    """
    uses = (KeyUse.WHOLE, KeyUse.PART)
    plain = [one for one in answers if one.use in uses and len(one.keys) == 1]
    for by_key in (True, False):
        pairs = dict(_numbered(plain, by_key=by_key))
        if pairs and _is_complete({number: name for number, (name, _) in pairs.items()}):
            return frozenset(one for _, one in pairs.values())
    return frozenset()


def _numbered(
    answers: Sequence[Answer], *, by_key: bool
) -> Iterator[tuple[int, tuple[str, Answer]]]:
    for one in answers:
        key, value = (one.keys[0], one.value) if by_key else (one.value, one.keys[0])
        number = _number(key)
        if number is not None and isinstance(value, str) and _number(value) is None:
            yield number, (value.strip().casefold(), one)


def _number(value: Literal) -> int | None:
    if isinstance(value, float):
        return int(value) if value.is_integer() else None
    is_digits = isinstance(value, str) and value.strip().isdecimal()
    return int(str(value)) if is_digits else None


def _is_complete(names: Mapping[int, str]) -> bool:
    start = min(names)
    ordered = tuple(names[number] for number in sorted(names))
    is_consecutive = max(names) - start + 1 == len(names) and 0 <= start <= _START_MAX
    return is_consecutive and ordered in _domains()


@cache
def _domains() -> frozenset[tuple[str, ...]]:
    weeks = [tuple(words.split()) for words in _WEEKS]
    turned = [week[at:] + week[:at] for week in weeks for at in range(len(week))]
    whole = [*turned, *(tuple(words.split()) for words in _ORDERED)]
    short = [tuple(word[:count] for word in words) for words in whole for count in _LETTERS]
    return frozenset([*whole, *short])
