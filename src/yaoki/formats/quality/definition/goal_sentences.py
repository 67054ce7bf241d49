"""Sentences of a goal that say that one thing takes the place of another, and where."""

from __future__ import annotations

import ast
import builtins
import re

from yaoki.core.lazy_pattern import lazy_compile
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
HELPERS = frozenset({*dir(builtins), "approx", "isclose"})


def parse_expression(text: str) -> ast.expr | None:
    tree = parse_python(text)
    match tree.body if tree is not None else []:
        case [ast.Expr(value=value)]:
            return value
        case _:
            return None


def asks_change(goal: str, old: str, new: str) -> bool:
    """`old`, `new`: patterns of both values."""
    patterns = [form.format(old=old, new=new) for form in (_OLD_THEN_NEW, _NEW_THEN_OLD)]
    return old != new and any(
        says(sentence, re.compile(pattern, re.ASCII))
        for sentence in sentences_of(goal)
        for pattern in patterns
    )


def sentences_of(goal: str) -> list[str]:
    return _SENTENCE_END.split(goal)


def says(sentence: str, pattern: re.Pattern[str]) -> bool:
    """Does the sentence say this, and does not forbid it?"""
    return any(
        not _NEGATION.search(sentence[: found.start()])
        and not _JAPANESE_NEGATION.search(sentence[found.end() :])
        for found in pattern.finditer(sentence)
    )


def number_pattern(value: object) -> str:
    return rf"(?<![\w.,]){re.escape(repr(value))}(?![.,]?\w)"


def quoted_text(text: str) -> str:
    forms = [re.escape(f"{pair[0]}{text}{pair[1]}") for pair in _QUOTES]
    if _VERSION.fullmatch(text):
        forms.append(rf"(?<![\w.,]){re.escape(text)}(?![.,]?\w)")
    return f"(?:{'|'.join(forms)})"


def names_function(node: ast.expr, goal: str) -> bool:
    """Does the goal name a function that the assertion calls, apart from helpers such as `len`?"""
    names = {last_name(one.func) for one in ast.walk(node) if isinstance(one, ast.Call)}
    return any(
        re.search(rf"(?<!\w){re.escape(name)}(?!\w)", goal, re.ASCII)
        for name in names - HELPERS
        if name and not name.startswith("assert")
    )


def is_about_other_call(node: ast.expr, goal: str, test: ast.AST | None = None) -> bool:
    """Does the goal name calls, and none of those that this assertion makes?

    `f(1)` is about this value of `f`, and `f(n)` about all.  What `str(error)` is depends on the
    calls of the whole test.
    """
    named = calls_of_goal(goal)
    known = HELPERS - {last_name(one) for one in named}
    calls = [one for one in ast.walk(node) if isinstance(one, ast.Call)]
    if test is not None and calls and all(last_name(one) in known for one in calls):
        calls = [one for one in ast.walk(test) if isinstance(one, ast.Call)]
    return bool(named and calls) and not any(is_about(a, b) for a in named for b in calls)


def calls_of_goal(goal: str) -> list[ast.Call]:
    """The calls that the goal writes out, as in "f(1) gives 3"."""
    trees = (parse_expression(text) for text in _CALL.findall(goal))
    return [tree for tree in trees if isinstance(tree, ast.Call)]


def is_about(named: ast.Call, call: ast.Call) -> bool:
    if ast.unparse(named.func) != ast.unparse(call.func).rpartition(".")[2]:
        return False
    values = [*named.args, *(one.value for one in named.keywords)]
    is_example = any(isinstance(one, ast.Constant) for one in values)
    return not is_example or ast.dump(named) == ast.dump(call)
