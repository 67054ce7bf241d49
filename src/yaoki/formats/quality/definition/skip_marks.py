"""Marks that skip a test or expect it to fail: a test without its mark asks for more than before.

A strict mark also has to go as soon as the program is right, so the file as it was would fail.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Sequence

from yaoki.core.lazy_pattern import lazy_compile
from yaoki.formats.quality.definition.goal_sentences import parse_expression
from yaoki.formats.quality.python import parse_python
from yaoki.formats.quality.python_suites import last_name

_MARKS = frozenset({"skip", "skipif", "skipIf", "skipUnless", "xfail", "expectedFailure"})
_OWNERS = frozenset({"", "mark", "unittest", "pytest"})
# `test.failing(…)`, `it.skip(…)`, and a test of Node with `{ todo: true }`.
_JAVASCRIPT = lazy_compile(
    r"(?<=\bit)\.(?:skip|todo|failing|fails)\b|(?<=\btest)\.(?:skip|todo|failing|fails)\b"
    r"|(?<=\bdescribe)\.(?:skip|todo)\b"
    r"|\{\s*(?:skip|todo)\s*:\s*(?:true|'[^'\n]*'|\"[^\"\n]*\")\s*,?\s*\}\s*,\s*"
)


def is_skip_mark(text: str) -> bool:
    """A decorator, or the `pytestmark` of a module, that consists of such marks alone."""
    tree = parse_python(text)
    match tree.body if tree is not None else []:
        case [ast.Assign(targets=[ast.Name(id="pytestmark")], value=value)]:
            return all(map(_is_mark, _each(value)))
        case [ast.Expr(value=value)]:
            return _is_mark(value)
        case _:
            return False


def _is_mark(node: ast.expr) -> bool:
    bare = node.func if isinstance(node, ast.Call) else node
    owner = last_name(bare.value) if isinstance(bare, ast.Attribute) else ""
    return last_name(bare) in _MARKS and owner in _OWNERS


def has_lost_marks(old: str, rows: Iterable[str]) -> bool:
    """Is a case with such a mark among these rows without it?

    `pytest.param(1, 2, id="a")` is the row `(1, 2)`.
    """
    match parse_expression(old):
        case ast.Call(keywords=keywords) as call if last_name(call.func) == "param":
            marks = [mark for one in keywords if one.arg == "marks" for mark in _each(one.value)]
            values = _values(call) if marks and all(map(_is_mark, marks)) else None
            return values is not None and values in map(_unmarked_values, rows)
        case _:
            return False


def _each(node: ast.expr) -> Sequence[ast.expr]:
    return node.elts if isinstance(node, ast.List | ast.Tuple) else [node]


def _unmarked_values(text: str) -> list[str] | None:
    node = parse_expression(text)
    has_marks = isinstance(node, ast.Call) and any(one.arg == "marks" for one in node.keywords)
    return None if node is None or has_marks else _values(node)


def _values(node: ast.expr) -> list[str]:
    match node:
        case ast.Call(func=func, args=args) if last_name(func) == "param":
            return [ast.unparse(one) for one in args]
        case ast.Tuple(elts=elts) | ast.List(elts=elts):
            return [ast.unparse(one) for one in elts]
        case _:
            return [ast.unparse(node)]


def without_skip_marks(line: str) -> str:
    """A line of a JavaScript test as it is when the test runs."""
    return _JAVASCRIPT.sub("", line)
