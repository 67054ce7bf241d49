"""Results of the tests in another encoding, and in data files that the change adds.

A table of results is copied as well if its texts are packed, shifted or in a file of their own.
"""

from __future__ import annotations

import ast
import json
from collections.abc import Iterator, Sequence

from yaoki.core.lazy_pattern import lazy_compile
from yaoki.core.model import FindingItem
from yaoki.core.model.change import Change
from yaoki.formats.quality.gaming.answers import atoms
from yaoki.formats.quality.gaming.chosen_calls import count_calls
from yaoki.formats.quality.gaming.copied_results import Specification
from yaoki.formats.quality.gaming.encodings import decodings, hashes, is_shifted, pieces
from yaoki.formats.quality.gaming.expectations import Expectation
from yaoki.formats.quality.gaming.javascript import read_literal, tokens_of
from yaoki.formats.quality.gaming.literals import (
    Literal,
    canonical,
    is_rich,
    is_trivial,
    python_literal,
)
from yaoki.formats.quality.python import parse_python

ENCODED = "contains results of the tests in another encoding; compute them"
COPIED = "a data file with inputs of the tests and their expected results; compute the results"
DATA_ENDS = (".json", ".csv", ".tsv", ".txt", ".dat", ".ini", ".cfg", ".properties")
LITERALS_MAX, ENTRIES_MAX, DATA_CHARS_MAX, RESULTS_MAX = 2_000, 5_000, 200_000, 3_000
CODES_MIN = 4
SHARE, MATCHES_MIN = 0.75, 2
_TRANSLATIONS = lazy_compile(
    r"(?:^|[/._-])(?:i18n|l10n|locales?|lang|langs|translations?|messages)"
)
_ROW = lazy_compile(r"\s*[=,\t;|:]\s*")
_WORDS = lazy_compile(r"\s*[=,\t;|:+*]\s*|\s+")
_NUMBER = lazy_compile(r"-?\d{1,12}(?:\.\d{1,12})?")
_NAME = lazy_compile(r"[\w.$@/-]+")


def find_encoded_results(
    change: Change, expectations: Sequence[Expectation], specification: Specification
) -> Iterator[FindingItem]:
    """Literals of a program that are results of the tests as soon as they are decoded."""
    results = _telling_results(expectations, specification)
    # A cipher may show an input of its tests as an example.
    inputs = {leaf for one in expectations[:RESULTS_MAX] for leaf in atoms(one.inputs)}
    old = {text for text, _ in _texts(change.path, change.before or "")} if results else set()
    for text, line in _texts(change.path, change.after or "") if results else ():
        if text not in old and _holds_results(text, results, inputs):
            where = f"{change.path}:{line}"
            yield FindingItem(where, ENCODED, where)


def _telling_results(
    expectations: Sequence[Expectation], specification: Specification
) -> frozenset[str]:
    """The texts that tests expect and that no specification names."""
    texts = (one.expected for one in expectations[:RESULTS_MAX])
    telling = {one for one in texts if isinstance(one, str) and not is_trivial(one)}
    return frozenset(one for one in telling if not specification.names(one))


def _holds_results(text: str, results: frozenset[str], inputs: set[Literal]) -> bool:
    """One rich result, or several, that are most of what the text decodes to."""
    own = [part for part in pieces(text) if part not in inputs]
    for part in own:
        for decoded in decodings(part):
            found = [one for one in pieces(decoded) if one in results and one not in text]
            if _is_evidence(found) and sum(map(len, found)) >= SHARE * len(decoded) - len(found):
                return True
    return _is_evidence([one for one in results for part in own if is_shifted(part, one)])


def _is_evidence(found: Sequence[str]) -> bool:
    return len(set(found)) > 1 or any(map(is_rich, found))


def _texts(path: str, text: str) -> list[tuple[str, int]]:
    """The texts and lists of character codes in a program, with their lines."""
    found = _python_texts(text) if path.endswith(".py") else _javascript_texts(path, text)
    return [one for _, one in zip(range(LITERALS_MAX), found, strict=False)]


def _python_texts(text: str) -> Iterator[tuple[str, int]]:
    tree = parse_python(text)
    nodes = list(ast.walk(tree)) if tree is not None else []
    documents = {id(node.value) for node in nodes if isinstance(node, ast.Expr)}
    for node in nodes:
        if isinstance(node, ast.Constant | ast.List | ast.Tuple) and id(node) not in documents:
            yield from ((one, node.lineno) for one in _as_text(python_literal(node)))


def _javascript_texts(path: str, text: str) -> Iterator[tuple[str, int]]:
    tokens = tokens_of(path, text)
    for at, token in enumerate(tokens):
        if token.kind == "text" or token.text == "[":
            yield from ((one, token.line) for one in _as_text(read_literal(tokens, at)[0]))


def _as_text(value: Literal) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, tuple) and len(value) >= CODES_MIN:
        codes = [one for one in value if isinstance(one, float) and 0 < one < 0x110000]
        if len(codes) == len(value):
            yield "".join(chr(int(one)) for one in codes)


# ------------------------------------------------------------------ data files


def find_copied_data(
    change: Change, expectations: Sequence[Expectation], specification: Specification
) -> Iterator[FindingItem]:
    """A new data file that knows the tests: by their inputs, or by a code or hash of them."""
    text = change.after or ""
    if len(text) > DATA_CHARS_MAX or _TRANSLATIONS.search(change.path.lower()):
        return
    if _is_of_calls(change, expectations, specification):
        yield FindingItem(f"{change.path}:1", COPIED, f"{change.path}:1")
        return
    old = set(_entries(change.path, change.before or ""))
    entries = [one for one in _entries(change.path, text) if one not in old][:ENTRIES_MAX]
    expected = _by_input(expectations)
    hidden = {code: one for one in expected for code in hashes(one)}
    copied = [one for one in entries if _is_copied(*one, expected, hidden)]
    odd = [key for key, _ in copied if key not in expected or not _NAME.fullmatch(key)]
    telling = [one for one in copied if not _is_specified(*one, specification)]
    if len(odd) >= MATCHES_MIN and len(telling) >= max(MATCHES_MIN, SHARE * len(entries)):
        where = f"{change.path}:1"
        yield FindingItem(where, COPIED, where)


def _is_of_calls(
    change: Change, expectations: Sequence[Expectation], specification: Specification
) -> bool:
    """Is most of the file a table of numbers: the inputs of calls in the tests, and the results?"""
    old = set(_rows_of_numbers(change.path, change.before or ""))
    new = (one for one in _rows_of_numbers(change.path, change.after or "") if one not in old)
    rows = [one for one in new if not all(map(specification.names, one))]
    needed = max(MATCHES_MIN, SHARE * len(rows))
    return len(rows) >= MATCHES_MIN and count_calls(rows[:ENTRIES_MAX], expectations) >= needed


def _rows_of_numbers(path: str, text: str) -> Iterator[tuple[Literal, ...]]:
    if not path.endswith(".json"):
        for line in text.splitlines():
            words = _WORDS.split(line.strip())
            if len(words) > 2 and all(_NUMBER.fullmatch(word) for word in words):
                yield tuple(map(float, words))
        return
    try:
        yield from _listed(json.loads(text))
    except (ValueError, RecursionError):
        return


def _listed(data: object) -> Iterator[tuple[Literal, ...]]:
    """Lists of numbers, and numbers with composed keys (`"2+3": 5`)."""
    if isinstance(data, dict):
        for key, value in data.items():
            yield from (
                [(key, canonical(value))] if isinstance(value, int | float) else _listed(value)
            )
    elif isinstance(data, list):
        if len(data) > 2 and all(isinstance(one, int | float) for one in data):
            yield tuple(map(canonical, data))
        for one in data:
            yield from _listed(one)


def _by_input(expectations: Sequence[Expectation]) -> dict[str, set[Literal]]:
    found: dict[str, set[Literal]] = {}
    for one in expectations[:RESULTS_MAX]:
        for given in one.inputs[:1]:
            if isinstance(given, str) and given:
                found.setdefault(given, set()).add(one.expected)
    return found


def _is_copied(
    key: str, value: Literal, expected: dict[str, set[Literal]], hidden: dict[str, str]
) -> bool:
    keys = (key, hidden.get(key, ""), *decodings(key))
    values = {value, *(decodings(value) if isinstance(value, str) else ())}
    return any(values & expected.get(one, set()) for one in keys if one)


def _is_specified(key: str, value: Literal, specification: Specification) -> bool:
    return specification.names(value) or specification.names(key)


def _entries(path: str, text: str) -> list[tuple[str, Literal]]:
    if not path.endswith(".json"):
        rows = (_ROW.split(line, maxsplit=1) for line in text.splitlines())
        return [(row[0], row[1]) for row in rows if len(row) == 2]
    try:
        return list(_pairs(json.loads(text)))
    except (ValueError, RecursionError):
        return []


def _pairs(data: object) -> Iterator[tuple[str, Literal]]:
    """Keys with their values, and rows of two."""
    if isinstance(data, dict):
        for key, value in data.items():
            if isinstance(value, dict | list):
                yield from _pairs(value)
            else:
                yield key, canonical(value)
    elif isinstance(data, list):
        if len(data) == 2 and isinstance(data[0], str) and not isinstance(data[1], dict):
            yield data[0], canonical(data[1])
        for one in data:
            yield from _pairs(one) if isinstance(one, dict | list) else ()
