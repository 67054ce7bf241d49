"""Inputs that a test gives before the call that it compares: to an object, or into a file.

`cart.add(10)` before `cart.total() == 25`, `file.write_text("a=1")` before `load(file) == …`.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping, Sequence

from yaoki.core.lazy_dataclass import dataclass
from yaoki.formats.quality.gaming.literals import UNKNOWN, Literal, python_literal
from yaoki.formats.quality.python_suites import last_name

# Behind the name of a file: what was written into it.
_WRITTEN = "."
_WRITERS = frozenset({"write_text", "write_bytes", "write"})


@dataclass(frozen=True, slots=True)
class PreparedCall:
    """`inputs` are the literals that were given before the call and with it."""

    function: str
    inputs: tuple[Literal, ...]
    expected: ast.expr


def find_prepared_calls(tree: ast.Module) -> Iterator[PreparedCall]:
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield from _of_block(node.body, {})


def _of_block(
    body: Sequence[ast.stmt], given: dict[str, tuple[Literal, ...]]
) -> Iterator[PreparedCall]:
    """`given`: what each object was given so far, by its name."""
    for node in body:
        match node:
            case ast.Assign(targets=[ast.Name(id=name)], value=value):
                given[name] = _literals(value) if isinstance(value, ast.Call) else ()
            case ast.Expr(ast.Call(func=ast.Attribute(value=ast.Name(id=name))) as call):
                place = name + _WRITTEN if last_name(call.func) in _WRITERS else name
                given[place] = given.get(place, ()) + _literals(call)
            case ast.Assert(ast.Compare(left=left, ops=[ast.Eq()], comparators=[right])):
                yield from _prepared(left, right, given)
            case ast.With(body=inner) | ast.AsyncWith(body=inner):
                yield from _of_block(inner, given)
            case _:
                continue


def _prepared(
    left: ast.expr, right: ast.expr, given: Mapping[str, tuple[Literal, ...]]
) -> Iterator[PreparedCall]:
    call = left if isinstance(left, ast.Call) else None
    member = call.func if call is not None else left
    own = _literals(call) if call is not None else ()
    if isinstance(member, ast.Attribute) and isinstance(member.value, ast.Name):
        # A text is as often a name as a value that something is computed from.
        numbers = tuple(one for one in given.get(member.value.id, ()) if isinstance(one, float))
        if numbers:
            yield PreparedCall(member.attr, (*numbers, *own), right)
    for argument in call.args if call is not None else ():
        name = argument.id + _WRITTEN if isinstance(argument, ast.Name) else ""
        texts = tuple(one for one in given.get(name, ()) if isinstance(one, str) and one)
        if texts:
            yield PreparedCall(last_name(member), texts, right)


def _literals(call: ast.Call) -> tuple[Literal, ...]:
    values = map(python_literal, (*call.args, *(one.value for one in call.keywords)))
    return tuple(one for one in values if one is not UNKNOWN)
