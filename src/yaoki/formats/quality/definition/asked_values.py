"""Expected values that the goal of the task asks to change.

"Raise rate() from 19 to 20" changes what a test expects.  Only the expected value may differ, and a
sentence of the goal has to say that the new one takes the place of the old one.  Small numbers are
common, so the goal also has to name a function that the assertion calls.  A goal that names calls,
as in "f(1) gives 3 instead of 2", leaves other calls their values.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence

from yaoki.formats.quality.definition.assertions import Assertion, AssertionKind
from yaoki.formats.quality.definition.goal_sentences import (
    asks_change,
    is_about_other_call,
    names_function,
    number_pattern,
    parse_expression,
    quoted_text,
)
from yaoki.formats.quality.python_suites import last_name


def find_asked_value(
    old: Assertion, gained: Sequence[Assertion], goal: str, test: ast.AST | None = None
) -> Assertion | None:
    """The assertion that is the old one with another value, which the goal names."""
    alike = (new for new in gained if goal and new.kind is old.kind)
    return next((new for new in alike if _differs_as_asked(old.text, new.text, goal, test)), None)


def has_other_value(old: Assertion, gained: Sequence[Assertion]) -> bool:
    """Is it still asserted, as an equality with another value?"""
    return old.kind is AssertionKind.EQUAL and any(
        new.kind is old.kind
        and _find_values(parse_expression(old.text), parse_expression(new.text)) is not None
        for new in gained
    )


def _find_values(
    before: ast.expr | None, after: ast.expr | None
) -> tuple[ast.expr, ast.expr] | None:
    """The expected values of two assertions that differ in nothing else."""
    if before is None or after is None:
        return None
    expected, now = _expected(before), _expected(after)
    if expected is None or now is None or _rest(before) != _rest(after):
        return None
    return expected, now


def _differs_as_asked(old: str, new: str, goal: str, test: ast.AST | None) -> bool:
    before, after = parse_expression(old), parse_expression(new)
    found = _find_values(before, after)
    if before is None or found is None or is_about_other_call(before, goal, test):
        return False
    expected, now = found
    values = (_constant(expected), _constant(now))
    if all(isinstance(one, str) for one in values):
        return asks_change(goal, *(quoted_text(str(one)) for one in values))
    if any(isinstance(one, bool) or not isinstance(one, int | float) for one in values):
        return False
    return names_function(before, goal) and asks_change(goal, *map(number_pattern, values))


def _expected(node: ast.expr) -> ast.expr | None:
    """The expected value of an assertion: a side of `==` without a call, or `match=`."""
    match node:
        case ast.Compare(left=left, ops=[ast.Eq()], comparators=[right]):
            return _constant_side(left, right)
        case ast.Call(func=ast.Attribute(attr="assertEqual"), args=[left, right, *_]):
            return _constant_side(left, right)
        case ast.Call(keywords=keywords):
            return next((one.value for one in keywords if one.arg == "match"), None)
        case _:
            return None


def _constant_side(left: ast.expr, right: ast.expr) -> ast.expr | None:
    return next((one for one in (right, left) if _constant(one) is not None), None)


def _rest(node: ast.expr) -> list[str]:
    return list(_dump_without(node, _expected(node)))


def _dump_without(node: ast.AST, skipped: ast.expr | None) -> Iterator[str]:
    if node is skipped:
        yield "expected"
        return
    children = list(ast.iter_child_nodes(node))
    yield type(node).__name__ if children else ast.dump(node)
    for name, value in ast.iter_fields(node):
        if isinstance(value, str | int):
            yield f"{name}={value!r}"
    for child in children:
        yield from _dump_without(child, skipped)


def _constant(node: ast.expr) -> object:
    """Also of `approx(2.5)`; None for anything else."""
    match node:
        case ast.Call(func=func, args=[value], keywords=[]) if last_name(func) == "approx":
            node = value
    try:
        return ast.literal_eval(node)
    except (ValueError, TypeError, SyntaxError, RecursionError, MemoryError):
        return None
