"""The failure of a doctest in pytest's report, which begins with the text of the docstring."""

from __future__ import annotations

from collections.abc import Sequence

from yaoki.core.text import shorten

VALUE_CHARS = 200
FAILED, RAISED, EXAMPLE = ": DocTestFailure", "UNEXPECTED EXCEPTION: ", ">>> "


def describe_doctest(text: str) -> str:
    """`f(1): expected 2, got 3`; empty if the text is of no doctest."""
    lines = text.splitlines()
    place = next((n for n, line in enumerate(lines) if line.startswith(RAISED)), None)
    if place is not None:
        return f"{_example(lines[:place])}{lines[place].removeprefix(RAISED)}"
    end = next((n for n, line in enumerate(lines) if line.endswith(FAILED)), None)
    if end is None:
        return ""
    got, expected = _last(lines[:end], "Got"), _last(lines[:end], "Expected")
    if got is None or expected is None or expected > got:
        return ""
    values = (_value(lines[expected + 1 : got]), _value(lines[got + 1 : end]))
    return f"{_example(lines[:expected])}expected {values[0]}, got {values[1]}"


def _last(lines: Sequence[str], word: str) -> int | None:
    heads = {f"{word}:", f"{word} nothing"}
    return next((n for n in reversed(range(len(lines))) if lines[n] in heads), None)


def _example(lines: Sequence[str]) -> str:
    """The code of the last example, which is the one that failed."""
    code = next((line.partition(EXAMPLE)[2] for line in reversed(lines) if EXAMPLE in line), "")
    return f"{shorten(code.strip(), VALUE_CHARS)}: " if code else ""


def _value(lines: Sequence[str]) -> str:
    return shorten(" ".join(" ".join(lines).split()), VALUE_CHARS) or "nothing"
