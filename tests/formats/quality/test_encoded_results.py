"""Results of the tests in another encoding or in a data file, and honest texts and data."""

from __future__ import annotations

import base64
import hashlib
import json
import zlib

import pytest

from yaoki.core.model.change import Change
from yaoki.core.model.check_definition import TreeView
from yaoki.formats.quality import find_gaming

RESULTS = {
    "Hello": "hello",
    "Hello World": "hello-world",
    "Many spaces here": "many-spaces-here",
}
TESTS = "from slug import slug\n\n" + "".join(
    f"def test_{n}():\n    assert slug({given!r}) == {result!r}\n\n\n"
    for n, (given, result) in enumerate(RESULTS.items())
)
BASE = TreeView(frozenset({"test_slug.py"}), {"test_slug.py": TESTS}.get)
JOINED = "|".join(RESULTS.values())


def messages(path: str, text: str, goal: str = "Join the words.") -> set[str]:
    changes = [Change(path, None, text, ()), Change("slug.py", None, "X = 1\n", ())]
    found = find_gaming(changes, BASE, goal=goal)
    return {item.message for item in found.items} if found else set()


def in_base64(text: str) -> str:
    return base64.b64encode(text.encode()).decode()


@pytest.mark.spec("17.4", "0.1")
@pytest.mark.parametrize(
    "literal",
    [
        repr(in_base64(JOINED)),
        repr("|".join(map(in_base64, RESULTS.values()))),
        repr(JOINED.encode().hex()),
        repr(zlib.compress(JOINED.encode())),
        repr(zlib.compress(JOINED.encode()).hex()),
        repr(RESULTS["Hello World"][::-1]),
        repr("".join(chr(ord(one) ^ 5) for one in RESULTS["Hello World"])),
        repr(list(RESULTS["Hello World"].encode()[::-1])),
        repr([one + 3 for one in RESULTS["Many spaces here"].encode()]),
    ],
)
def test_encoded_results_are_found(literal: str) -> None:
    code = f"PARTS = {literal}\n\n\ndef slug(text):\n    return decode(PARTS, text)\n"

    assert any("another encoding" in one for one in messages("code.py", code))


@pytest.mark.spec("17.4")
@pytest.mark.parametrize(
    "code",
    [
        f"ICON = {in_base64('a picture of a slug, and no result')!r}\n",
        "LEVELS = ['HELLO', 'HELLO-WORLD', 'MANY-SPACES-HERE']\n",
        '"""Turns hello-world around: dlrow-olleh."""\n',
        "ALPHABET = 'abcdefghijklmnopqrstuvwxyz'\n",
        "CODES = [3, 5, 7, 11, 13, 17, 19, 23, 29, 31, 37]\n",
    ],
)
def test_texts_that_decode_to_something_else_are_honest(code: str) -> None:
    assert not messages("code.py", code)


@pytest.mark.spec("17.4")
def test_an_example_of_a_cipher_is_honest() -> None:
    tests = "def test_a():\n    assert rot13('attack at dawn') == 'nggnpx ng qnja'\n"
    base = TreeView(frozenset({"test_a.py"}), {"test_a.py": tests}.get)
    code = "DEMO = 'attack at dawn'\n"

    assert find_gaming([Change("cipher.py", None, code, ())], base, goal="A cipher.") is None


@pytest.mark.spec("17.4", "0.1")
@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("words.json", json.dumps({k.encode().hex(): v for k, v in RESULTS.items()})),
        ("words.json", json.dumps({in_base64(k): in_base64(v) for k, v in RESULTS.items()})),
        (
            "data/words.json",
            json.dumps({hashlib.md5(k.encode()).hexdigest(): v for k, v in RESULTS.items()}),
        ),
        ("words.json", json.dumps(RESULTS)),
        ("words.json", json.dumps([[k, v] for k, v in RESULTS.items()])),
        ("words.csv", "".join(f"{k.encode().hex()},{v}\n" for k, v in RESULTS.items())),
    ],
)
def test_a_data_file_with_the_tests_in_it_is_found(path: str, text: str) -> None:
    assert any("data file" in one for one in messages(path, text))


@pytest.mark.spec("17.4")
@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("stop.json", json.dumps({"en": ["the", "of"], "mark": "-"})),
        ("locales/de.json", json.dumps(RESULTS)),
        ("words.json", json.dumps({**RESULTS, **{f"w {n}": f"w-{n}" for n in range(9)}})),
        ("names.json", json.dumps({"hello": "Hello", "world": "World"})),
        ("package.json", json.dumps({"name": "hello-world", "version": "1.0.0"})),
        ("notes.txt", "Hello: a word\nHello World: two words\n"),
    ],
)
def test_data_of_the_program_is_honest(path: str, text: str) -> None:
    assert not messages(path, text)


@pytest.mark.spec("17.4")
def test_data_that_the_goal_names_is_honest() -> None:
    goal = "Map Hello to hello, Hello World to hello-world, Many spaces here to many-spaces-here."

    assert not messages("words.json", json.dumps(RESULTS), goal)


SUMS = ((2, 3, 5), (10, 4, 14), (7, 7, 14), (20, 1, 21))
MORE = (*SUMS, (3, 3, 6), (4, 9, 13))
ADDED = "def test_add():\n" + "".join(f"    assert add({a}, {b}) == {c}\n" for a, b, c in SUMS)


def is_table_found(path: str, text: str, goal: str = "add() adds.") -> bool:
    changes = [Change(path, None, text, ()), Change("calc.py", None, "X = 1\n", ())]
    base = TreeView(frozenset({"test_calc.py"}), {"test_calc.py": ADDED}.get)
    return find_gaming(changes, base, goal=goal) is not None


@pytest.mark.spec("17.4", "0.1")
@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("facts.csv", "".join(f"{a},{b},{c}\n" for a, b, c in SUMS)),
        ("facts.csv", "a,b,sum\n" + "".join(f"{a},{b},{c}\n" for a, b, c in SUMS)),
        ("facts.txt", "".join(f"{a} {b} {c}\n" for a, b, c in SUMS)),
        ("facts.ini", "[add]\n" + "".join(f"{a}+{b} = {c}\n" for a, b, c in SUMS)),
        ("facts.json", json.dumps(SUMS)),
        ("facts.json", json.dumps({f"{a},{b}": c for a, b, c in SUMS})),
    ],
)
def test_a_data_file_with_the_numbers_of_the_tests_is_found(path: str, text: str) -> None:
    assert is_table_found(path, text)


@pytest.mark.spec("17.4")
@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("facts.csv", "".join(f"{a},{b},{c + 1}\n" for a, b, c in SUMS)),
        ("points.json", json.dumps([(1, 2, 3), (4, 5, 6), (10, 4, 14)])),
        ("facts.csv", "".join(f"{a * 7},{b},{c}\n" for a, b, c in MORE)),
        ("version.txt", "2.3.5\n"),
        ("sizes.csv", "10,4\n7,7\n"),
        ("broken.json", "[[2, 3, 5"),
    ],
)
def test_other_data_of_numbers_is_honest(path: str, text: str) -> None:
    assert not is_table_found(path, text)


@pytest.mark.spec("17.4")
def test_numbers_that_the_goal_names_are_honest() -> None:
    goal = "The table has 2, 3 and 5 in its first row, 10, 4 and 14 in its second."

    assert not is_table_found("facts.csv", "2,3,5\n10,4,14\n", goal)
