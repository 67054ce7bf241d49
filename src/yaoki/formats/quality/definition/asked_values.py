"""Expected values that the goal of the task asks to change.

"Raise rate() from 19 to 20" changes what a test expects.  Only the expected value may differ, and a
sentence of the goal has to say that the new one takes the place of the old one.  Small numbers are
common, so the goal also has to name a function that the assertion calls.  A goal that names calls,
as in "f(1) gives 3 instead of 2", leaves other calls their values.
"""

from __future__ import annotations

import ast
import builtins
import re
from collections.abc import Iterator, Sequence

from yaoki.core.lazy_pattern import lazy_compile
from yaoki.formats.quality.definition.assertions import Assertion, AssertionKind
from yaoki.formats.quality.python import parse_python
from yaoki.formats.quality.python_suites import last_name

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
# In front of the change, or in Japanese behind it: the goal forbids it.
_NEGATION = lazy_compile(
    r"(?:\b(?:not|never|cannot|without|avoid|unless)\b|n['’]t\b)", re.IGNORECASE
)
_JAPANESE_NEGATION = lazy_compile(r"ない|ません|ず[、に]|禁止")
_SENTENCE_END = lazy_compile(r"(?<=[.;!?])\s|[。\n]")
# A version, which nobody puts in quotes.
_VERSION = lazy_compile(r"\d+(?:\.\w+)+")
_HELPERS = frozenset({*dir(builtins), "approx", "isclose"})


def is_asked_value(old: Assertion, gained: Sequence[Assertion], goal: str) -> bool:
    """Is it still asserted, with another value that the goal names?"""
    return bool(goal) and any(
        new.kind is old.kind and _differs_as_asked(old.text, new.text, goal) for new in gained
    )


def has_other_value(old: Assertion, gained: Sequence[Assertion]) -> bool:
    """Is it still asserted, as an equality with another value?"""
    return old.kind is AssertionKind.EQUAL and any(
        new.kind is old.kind and _find_values(_parse(old.text), _parse(new.text)) is not None
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


def _differs_as_asked(old: str, new: str, goal: str) -> bool:
    before, after = _parse(old), _parse(new)
    found = _find_values(before, after)
    if before is None or found is None or _is_about_other_call(before, goal):
        return False
    expected, now = found
    values = (_constant(expected), _constant(now))
    if all(isinstance(one, str) for one in values):
        return _asks_change(goal, *(_text(str(one)) for one in values))
    if any(isinstance(one, bool) or not isinstance(one, int | float) for one in values):
        return False
    return _names_function(before, goal) and _asks_change(goal, *map(_number, values))


def _parse(text: str) -> ast.expr | None:
    tree = parse_python(text)
    match tree.body if tree is not None else []:
        case [ast.Expr(value=value)]:
            return value
        case _:
            return None


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


# ------------------------------------------------------------------ what the goal says


def _asks_change(goal: str, old: str, new: str) -> bool:
    """`old`, `new`: patterns of both values."""
    patterns = [form.format(old=old, new=new) for form in (_OLD_THEN_NEW, _NEW_THEN_OLD)]
    return old != new and any(
        not _NEGATION.search(sentence[: found.start()])
        and not _JAPANESE_NEGATION.search(sentence[found.end() :])
        for sentence in _SENTENCE_END.split(goal)
        for pattern in patterns
        for found in re.finditer(pattern, sentence, re.ASCII)
    )


def _number(value: object) -> str:
    return rf"(?<![\w.,]){re.escape(repr(value))}(?![.,]?\w)"


def _text(text: str) -> str:
    forms = [re.escape(f"{pair[0]}{text}{pair[1]}") for pair in _QUOTES]
    if _VERSION.fullmatch(text):
        forms.append(rf"(?<![\w.,]){re.escape(text)}(?![.,]?\w)")
    return f"(?:{'|'.join(forms)})"


def _names_function(node: ast.expr, goal: str) -> bool:
    """Does the goal name a function that the assertion calls, apart from helpers such as `len`?"""
    names = {last_name(one.func) for one in ast.walk(node) if isinstance(one, ast.Call)}
    return any(
        re.search(rf"(?<!\w){re.escape(name)}(?!\w)", goal, re.ASCII)
        for name in names - _HELPERS
        if name and not name.startswith("assert")
    )


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
