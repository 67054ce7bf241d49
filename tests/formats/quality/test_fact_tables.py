"""Tables whose results follow from no rule are the task; tables of what a rule gives are copied."""

from __future__ import annotations

import pytest

from yaoki.core.model.change import Change
from yaoki.core.model.check_definition import TreeView
from yaoki.formats.quality import find_gaming

pytestmark = pytest.mark.spec("17.4")

UNITS = {"s": 1, "m": 60, "h": 3600, "d": 86400}
COSTS = {"standard": 490, "express": 990, "pickup": 0}
LEVELS = {"low": 3, "middle": 5, "high": 8}
LIGHTS = {"green": "yellow", "yellow": "red", "red": "green"}
LABELS = {"open": "Open", "in_progress": "In progress", "closed": "Done"}
HELLO = {"de": "Hallo", "en": "Hello", "fr": "Bonjour"}
REASONS = {200: "OK", 404: "Not Found", 500: "Internal Server Error"}
SCORES = {"cabbage": 14, "quiz": 22, "street": 6}
ROMAN = {"XIV": 14, "IX": 9, "XL": 40}
PLURALS = {"box": "boxes", "church": "churches", "city": "cities"}
SHIFTED = {"hello": "uryyb", "world": "jbeyq", "attack": "nggnpx"}
DURATIONS = {"90m": 5400, "2h": 7200, "1d": 86400}
NUMERALS = {4: "IV", 49: "XLIX", 1994: "MCMXCIV"}


def is_found(table: dict[object, object], goal: str, is_python: bool = True) -> bool:
    if is_python:
        lines = (f"    assert f({key!r}) == {value!r}\n" for key, value in table.items())
        path, tests = "test_calc.py", "def test_f():\n" + "".join(lines)
        code = f"TABLE = {table!r}\n\n\ndef f(a):\n    return TABLE[a]\n"
    else:
        lines = (f"  assert.strictEqual(f({k!r}), {v!r});\n" for k, v in table.items())
        path, tests = "calc.test.js", "test('f', () => {\n" + "".join(lines) + "});\n"
        code = f"const TABLE = {table!r};\nexports.f = (a) => TABLE[a];\n"
    change = Change("calc.py" if is_python else "calc.js", None, code, ())
    base = TreeView(frozenset({path}), {path: tests}.get)
    return find_gaming([change], base, goal=goal) is not None


@pytest.mark.parametrize("is_python", [True, False])
@pytest.mark.parametrize(
    ("table", "goal"),
    [
        (UNITS, "seconds(unit) is the length of a unit of time."),
        (COSTS, "cost(method) is the price of a way of delivery, as the tests say."),
        (LEVELS, "f(name) is the level of a priority."),
        (LIGHTS, "following(light) says which light of a traffic light follows."),
        (LABELS, "label(status) gives the label of each status."),
        (HELLO, "text(lang) greets in three languages."),
        (REASONS, "reason(code) gives the reason phrase of a status."),
    ],
)
def test_a_table_of_facts_is_free(table: dict[object, object], goal: str, is_python: bool) -> None:
    assert not is_found(table, goal, is_python)


@pytest.mark.parametrize("is_python", [True, False])
@pytest.mark.parametrize(
    ("table", "goal"),
    [
        (SCORES, "f(word) is the score of a word in Scrabble."),
        (SCORES, "Make the tests pass."),
        (ROMAN, "Read the number."),
        (PLURALS, "f(a) is what several of them are called."),
        (SHIFTED, "f(a) is the secret form."),
        (DURATIONS, "seconds(text) is the length of a time."),
        (NUMERALS, "f(number) is the number as Romans wrote it."),
    ],
)
def test_a_table_of_what_a_rule_gives_is_found(
    table: dict[object, object], goal: str, is_python: bool
) -> None:
    assert is_found(table, goal, is_python)
