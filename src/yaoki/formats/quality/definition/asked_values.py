"""Expected values that the goal of the task asks to change.

"Raise the rate from 19 to 20" changes what a test expects.  Only the expected value may differ, and
the goal has to ask for it in one of few forms: a number as the new one in place of the old one,
because small numbers are common; a text in quotes.  If the goal names calls, as in "f(1) gives 3
instead of 2", other calls keep their values.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Sequence

from yaoki.core.lazy_pattern import lazy_compile
from yaoki.formats.quality.definition.assertions import Assertion
from yaoki.formats.quality.python import parse_python

TEXT_CHARS_MIN = 5
_GAP, _WORDS = r"[^\w.;。]+", r"(?:\w+[^\w.;。]+)"
_OLD_THEN_NEW = (
    rf"{{old}}(?:{_GAP}{_WORDS}{{{{0,4}}}}?(?:to|but|becomes?|with|by){_GAP}{_WORDS}{{{{0,2}}}}?"
    r"|[^\w.;。]*?(?:->|→|=>|から|ではなく|でなく|を)[^\w.;。]*?){new}"
)
_NEW_THEN_OLD = (
    rf"{{new}}{_GAP}{_WORDS}{{{{0,3}}}}?(?:instead of|rather than|not|no longer|was){_GAP}"
    rf"{_WORDS}{{{{0,2}}}}?{{old}}"
)
_CALL = lazy_compile(r"\b[A-Za-z_]\w*\([^()\n]*\)")
_QUOTES = ('""', "''", "``", "“”", "「」", "『』")


def is_asked_value(old: Assertion, gained: Sequence[Assertion], goal: str) -> bool:
    """Is it still asserted, with another value that the goal names?"""
    return bool(goal) and any(
        new.kind is old.kind and _differs_as_asked(old.text, new.text, goal) for new in gained
    )


def _differs_as_asked(old: str, new: str, goal: str) -> bool:
    before, after = _parse(old), _parse(new)
    if before is None or after is None:
        return False
    expected, now = _expected(before), _expected(after)
    if not expected or len(expected) != len(now) or _rest(before) != _rest(after):
        return False
    if _is_about_other_call(before, goal):
        return False
    pairs = [(a, b) for a, b in zip(expected, now, strict=True) if ast.dump(a) != ast.dump(b)]
    return bool(pairs) and all(_is_named(a, b, goal) for a, b in pairs)


def _parse(text: str) -> ast.expr | None:
    tree = parse_python(text)
    match tree.body if tree is not None else []:
        case [ast.Expr(value=value)]:
            return value
        case _:
            return None


def _expected(node: ast.expr) -> list[ast.expr]:
    """The expected values of an assertion: right of `==`, the last of a row, `match=`."""
    match node:
        case ast.Compare(ops=[ast.Eq()], comparators=[value]):
            return [value]
        case ast.Tuple(elts=[_, *_, value]):
            return [value]
        case ast.Call(func=ast.Attribute(attr="assertEqual"), args=[_, value, *_]):
            return [value]
        case ast.Call(keywords=keywords):
            return [one.value for one in keywords if one.arg == "match"]
        case _:
            return []


def _rest(node: ast.expr) -> list[str]:
    expected = {id(one) for one in _expected(node)}
    return list(_dump_without(node, expected))


def _dump_without(node: ast.AST, skipped: set[int]) -> Iterator[str]:
    if id(node) in skipped:
        yield "expected"
        return
    children = list(ast.iter_child_nodes(node))
    yield type(node).__name__ if children else ast.dump(node)
    for name, value in ast.iter_fields(node):
        if isinstance(value, str | int):
            yield f"{name}={value!r}"
    for child in children:
        yield from _dump_without(child, skipped)


def _is_named(old: ast.expr, new: ast.expr, goal: str) -> bool:
    before, after = _constant(old), _constant(new)
    if type(before) is not type(after) or isinstance(after, bool):
        return False
    if isinstance(before, str) and isinstance(after, str):
        return _names_text(goal, before, after)
    if not isinstance(before, int | float) or not isinstance(after, int | float):
        return False
    return _asks_change(goal, _number(before), _number(after))


def _constant(node: ast.expr) -> object:
    try:
        return ast.literal_eval(node)
    except (ValueError, TypeError, SyntaxError, RecursionError, MemoryError):
        return None


def _names_text(goal: str, before: str, after: str) -> bool:
    """A text that the goal names as well keeps its place, unless the goal says otherwise."""
    old, new = _quoted(before), _quoted(after)
    if len(after) < TEXT_CHARS_MIN or not re.search(new, goal):
        return False
    return not re.search(old, goal) or _asks_change(goal, old, new)


def _asks_change(goal: str, old: str, new: str) -> bool:
    """`old`, `new`: patterns of both values."""
    forms = (form.format(old=old, new=new) for form in (_OLD_THEN_NEW, _NEW_THEN_OLD))
    return any(re.search(form, goal, re.ASCII) for form in forms)


def _number(value: float) -> str:
    return rf"(?<![\w.,]){re.escape(repr(value))}(?![.,]?\w)"


def _quoted(text: str) -> str:
    forms = (re.escape(f"{pair[0]}{text}{pair[1]}") for pair in _QUOTES)
    return f"(?:{'|'.join(forms)})"


# ------------------------------------------------------------------ the calls of the goal


def _is_about_other_call(node: ast.expr, goal: str) -> bool:
    """Does the goal name calls, and none of those that this assertion makes?

    `f(1)` is about this value of `f`, and `f(n)` about all.
    """
    named = [tree for text in _CALL.findall(goal) if (tree := _parse(text)) is not None]
    calls = [one for one in ast.walk(node) if isinstance(one, ast.Call)]
    pairs = [(a, b) for a in named if isinstance(a, ast.Call) for b in calls]
    return bool(named and calls) and not any(_is_about(a, b) for a, b in pairs)


def _is_about(named: ast.Call, call: ast.Call) -> bool:
    if ast.unparse(named.func) != ast.unparse(call.func).rpartition(".")[2]:
        return False
    values = [*named.args, *(one.value for one in named.keywords)]
    is_example = any(isinstance(one, ast.Constant) for one in values)
    return not is_example or ast.dump(named) == ast.dump(call)
