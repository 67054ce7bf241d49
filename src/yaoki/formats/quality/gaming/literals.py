"""Literal values of Python and JavaScript in one form, so that tests and programs can be compared.

Text is `str`, numbers are `float`, lists and tuples are `tuple`, objects are `frozenset`; a
call of a constructor, as in `date(2024, 3, 1)`, is a literal as well.  What is none is `UNKNOWN`.
"""

from __future__ import annotations

import ast
import json
from collections.abc import Iterator, Sequence
from typing import Any, Final

Literal = Any
UNKNOWN: Final = object()
# Values that so many honest programs compare and return that they prove nothing.
TRIVIAL_NUMBERS = frozenset({-1.0, 0.0, 1.0, 2.0})
LITERAL_CHARS_MAX = 4_000
_CONSTRUCTORS = frozenset({"date", "datetime", "timedelta", "time", "Decimal", "Fraction", "Path"})
_COLLECTIONS = frozenset({"list", "tuple", "set", "frozenset", "dict", "sorted"})


def python_literal(node: ast.expr | None) -> Literal:
    """The value of a constant expression; UNKNOWN if it is none."""
    match node:
        case ast.Constant(value=value):
            return canonical(value)
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            value = python_literal(operand)
            return -value if isinstance(value, float) else UNKNOWN
        case ast.List(elts=elements) | ast.Tuple(elts=elements) | ast.Set(elts=elements):
            return _sequence(elements)
        case ast.Dict(keys=keys, values=values):
            pairs = [
                (python_literal(k), python_literal(v)) for k, v in zip(keys, values, strict=True)
            ]
            return _object(pairs)
        case ast.BinOp(left=left, op=op, right=right):
            return _fold(python_literal(left), op, python_literal(right))
        case ast.Call() | ast.JoinedStr() | ast.Subscript() if (
            text := fold_text(node)
        ) is not None:
            return text
        case ast.Call(func=func, args=args, keywords=[]):
            return _constructed(func, args)
        case _:
            return UNKNOWN


def canonical(value: object) -> Literal:
    if isinstance(value, bool) or value is None:
        return ("constant", value)
    if isinstance(value, int | float):
        return float(value) if abs(value) < 2**1000 else UNKNOWN
    if isinstance(value, bytes):
        return value.decode("latin-1")
    if isinstance(value, list | tuple):
        return tuple(canonical(one) for one in value)
    if isinstance(value, dict):
        return _object([(canonical(k), canonical(v)) for k, v in value.items()])
    return value if isinstance(value, str) else UNKNOWN


def _sequence(elements: list[ast.expr]) -> Literal:
    values = tuple(python_literal(one) for one in elements)
    return UNKNOWN if UNKNOWN in values else values


def _object(pairs: list[tuple[Literal, Literal]]) -> Literal:
    if any(UNKNOWN in pair for pair in pairs):
        return UNKNOWN
    return frozenset(pairs)


def _fold(left: Literal, op: ast.operator, right: Literal) -> Literal:
    """`540 * 10` and `"user" + "Id"` are the values that they hide."""
    numbers = isinstance(left, float) and isinstance(right, float)
    match op:
        case ast.Add() if numbers or (isinstance(left, str) and isinstance(right, str)):
            return left + right
        case ast.Sub() if numbers:
            return left - right
        case ast.Mult() if numbers:
            return left * right
        case _:
            return UNKNOWN


def _constructed(func: ast.expr, args: list[ast.expr]) -> Literal:
    name = func.attr if isinstance(func, ast.Attribute) else getattr(func, "id", "")
    values = _sequence(args)
    if values is UNKNOWN:
        return UNKNOWN
    if name in _COLLECTIONS and len(values) == 1 and isinstance(values[0], tuple):
        return values[0]
    return ("call", name, *values) if name in _CONSTRUCTORS or name[:1].isupper() else UNKNOWN


def fold_text(node: ast.AST) -> str | None:
    """The text that an expression of constants gives: `"_ex" + "it"`, `"".join(["_", "exit"])`."""
    match node:
        case ast.Constant(value=str(text)):
            return text
        case ast.BinOp(left=left, op=ast.Add(), right=right):
            return _joined("", [left, right])
        case ast.JoinedStr(values=parts):
            return _joined("", parts)
        case ast.FormattedValue(value=value):
            return fold_text(value)
        case ast.Call(func=ast.Name(id="chr"), args=[ast.Constant(value=int(code))]):
            return chr(code) if 0 <= code < 0x110000 else None
        case ast.Call(
            func=ast.Attribute(value=ast.Constant(value=str(between)), attr="join"),
            args=[ast.List(elts=parts) | ast.Tuple(elts=parts)],
        ):
            return _joined(between, parts)
        case ast.Subscript(
            value=value, slice=ast.Slice(lower=None, upper=None, step=ast.UnaryOp(op=ast.USub()))
        ):
            turned = fold_text(value)
            return turned[::-1] if turned is not None else None
        case _:
            return None


def _joined(between: str, parts: Sequence[ast.expr]) -> str | None:
    texts = [fold_text(part) for part in parts]
    known = [text for text in texts if text is not None]
    return between.join(known) if len(known) == len(texts) else None


def is_trivial(value: Literal) -> bool:
    """Empty, a truth value, nothing, or one of the numbers that every program contains."""
    if isinstance(value, float):
        return value in TRIVIAL_NUMBERS
    if isinstance(value, str):
        return len(value.strip()) < 2
    if isinstance(value, tuple) and value[:1] == ("constant",):
        return True
    if isinstance(value, tuple | frozenset):
        return not value or (len(value) == 1 and all(is_trivial(one) for one in value))
    return value is UNKNOWN


def is_unmistakable(value: Literal) -> bool:
    """A whole output or structure, which no specification names by a word."""
    if isinstance(value, str):
        has_digit = any(map(str.isdigit, value))
        return "\n" in value.strip() or (len(value) > 11 and " " in value and has_digit)
    if isinstance(value, tuple | frozenset):
        return len(value) > 1 and value[0:1] != ("raises",) if isinstance(value, tuple) else True
    return isinstance(value, float) and (abs(value) >= 100 or value != int(value))


def is_rich(value: Literal) -> bool:
    """So much content that nobody writes it by chance."""
    if isinstance(value, tuple) and value[:1] == ("raises",):
        return False
    if isinstance(value, float):
        return abs(value) >= 20 or value != int(value)
    if isinstance(value, str):
        return len(value) > 9 or (len(value) > 4 and not value.isalpha())
    return isinstance(value, tuple | frozenset) and not is_trivial(value)


def leaves(value: Literal) -> Iterator[Literal]:
    """The texts and numbers in a value, with the value itself."""
    yield value
    if isinstance(value, tuple | frozenset):
        for one in value:
            yield from leaves(one)


def decoded(value: Literal) -> Literal:
    """A text that contains JSON or a Python literal, as its value; otherwise the value itself."""
    if not isinstance(value, str) or value[:1] not in ("[", "{", "(", '"') or len(value) > 2_000:
        return value
    for read in (json.loads, ast.literal_eval):
        try:
            return canonical(read(value))
        except (ValueError, SyntaxError, RecursionError, MemoryError):
            continue
    return value
