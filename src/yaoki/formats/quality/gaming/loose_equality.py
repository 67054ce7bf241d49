"""Equalities of a program's own that hold for values which are not equal.

A test compares what the program gives with a plain value, so `__eq__ = str.__ge__` makes it pass
for many wrong results.  Honest ones compare for equality after a conversion, or with a tolerance.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Mapping, Sequence

from yaoki.core.lazy_dataclass import dataclass, replace
from yaoki.formats.quality.gaming.literals import fold_text, python_literal
from yaoki.formats.quality.gaming.scopes import dotted
from yaoki.formats.quality.python_suites import last_name

LOOSE = "an equality that holds for values that differ; compare the values for equality"
# Values that differ by more are not equal in any unit that a test would use.
TOLERANCE_MAX = 1.0
_EQUAL = "__eq__"
_ORDER = (ast.Lt, ast.LtE, ast.Gt, ast.GtE)
_ORDER_NAMES = frozenset({"lt", "le", "gt", "ge", "ne"}) | {
    *("__lt__", "__le__", "__gt__", "__ge__", "__ne__", "not_"),
}
# A part of a text or a collection is not the whole.
_PART_NAMES = frozenset({"startswith", "endswith", "__contains__", "contains", "issubset"}) | {
    *("issuperset", "isdisjoint", "search", "match", "fullmatch", "find", "count", "index"),
}
_DISTANCES = frozenset({"abs", "fabs", "dist", "hypot", "distance", "norm", "max"})
_VALUES = frozenset({"int", "float", "str", "list", "dict", "tuple", "set", "bytes"}) | {
    *("frozenset", "complex", "Decimal", "Fraction", "date", "datetime", "time", "timedelta"),
    *("UserString", "UserList", "UserDict", "OrderedDict", "Counter", "defaultdict", "bytearray"),
    *("Path", "PurePath", "PosixPath"),
}


def find_loose_equalities(tree: ast.Module) -> Iterator[tuple[ast.AST, str]]:
    judge = _Judge(
        {n.name: n for n in ast.walk(tree) if isinstance(n, ast.FunctionDef)}, _assigned(tree.body)
    )
    for node in ast.walk(tree):
        match node:
            case ast.ClassDef(bases=bases, body=body):
                is_value = any(last_name(base) in _VALUES for base in bases)
                own = replace(judge, is_value=is_value)
                yield from ((one, LOOSE) for one in body if own.is_loose_member(one))
            case ast.Assign(targets=[ast.Attribute(attr="__eq__")], value=value):
                if judge.is_loose_value(value):
                    yield node, LOOSE
            case ast.Assign(targets=[ast.Subscript(slice=key)], value=value):
                if fold_text(key) == _EQUAL and judge.is_loose_value(value):
                    yield node, LOOSE
            case ast.keyword(arg="__eq__", value=value) if judge.is_loose_value(value):
                yield value, LOOSE
            case ast.Call(func=ast.Name(id="setattr"), args=[_, key, value]):
                if fold_text(key) == _EQUAL and judge.is_loose_value(value):
                    yield node, LOOSE
            case ast.Call(func=ast.Name(id="type"), args=[_, _, ast.Dict(keys=keys, values=made)]):
                members = zip(keys, made, strict=True)
                equal = [one for key, one in members if key and fold_text(key) == _EQUAL]
                if any(map(judge.is_loose_value, equal)):
                    yield node, LOOSE
            case _:
                continue


def _assigned(body: Iterable[ast.stmt]) -> dict[str, ast.expr]:
    return {
        target.id: one.value
        for one in body
        if isinstance(one, ast.Assign)
        for target in one.targets
        if isinstance(target, ast.Name)
    }


@dataclass(frozen=True, slots=True)
class _Judge:
    """`functions` and `names` are those of the file; `is_value`: a subclass of a built-in value."""

    functions: Mapping[str, ast.FunctionDef]
    names: Mapping[str, ast.expr]
    is_value: bool = True

    def is_loose_member(self, node: ast.stmt) -> bool:
        match node:
            case ast.FunctionDef(name="__eq__"):
                return self._is_loose_function(node)
            case ast.Assign(targets=targets, value=value):
                named = any(isinstance(one, ast.Name) and one.id == _EQUAL for one in targets)
                return named and self.is_loose_value(value)
            case ast.AnnAssign(target=ast.Name(id="__eq__"), value=ast.expr() as value):
                return self.is_loose_value(value)
            case _:
                return False

    def is_loose_value(self, node: ast.expr) -> bool:
        """`__eq__ = str.__ge__`, a lambda, or the name of a function of the same file."""
        if isinstance(node, ast.Lambda):
            return self._is_loose(node.body)
        name = dotted(node).rpartition(".")[2]
        if name in self.functions and isinstance(node, ast.Name):
            return self._is_loose_function(self.functions[name])
        words = (dotted(one).rpartition(".")[2] for one in ast.walk(node))
        return any(map(self._is_loose_name, words))

    def _is_loose_name(self, name: str) -> bool:
        return name in _ORDER_NAMES or (self.is_value and name in _PART_NAMES)

    def _is_loose_function(self, node: ast.FunctionDef) -> bool:
        inner = [one for one in ast.walk(node) if isinstance(one, ast.stmt)]
        judge = replace(self, names={**self.names, **_assigned(inner)})
        returned = (one.value for one in inner if isinstance(one, ast.Return))
        if any(judge._is_loose(one) for one in returned if one is not None):
            return True
        branches = [one for one in inner if isinstance(one, ast.If)]
        if any(_gives(one.body, True) and judge._is_loose(one.test) for one in branches):
            return True
        refusing = [one.test for one in branches if _gives(one.body, False)]
        holds = _gives(node.body[-1:], True)
        return bool(refusing) and holds and all(map(_is_order_only, refusing))

    def _is_loose(self, node: ast.expr) -> bool:
        """Does the result hold for values that differ?  What is unknown is not loose."""
        match node:
            case ast.Name(id=name) if name in self.names:
                rest = {key: value for key, value in self.names.items() if key != name}
                return replace(self, names=rest)._is_loose(self.names[name])
            case ast.Call(func=ast.Name(id="bool"), args=[inner]):
                return self._is_loose(inner)
            case ast.IfExp(test=test, body=ast.Constant(value=True)):
                return self._is_loose(test)
            case ast.IfExp(body=body, orelse=orelse):
                return self._is_loose(body) or self._is_loose(orelse)
            case ast.BoolOp(op=ast.Or(), values=values):
                return any(map(self._is_loose, values))
            case ast.BoolOp(values=values):
                return self._is_loose_conjunction(values)
            case ast.UnaryOp(op=ast.Not(), operand=ast.Compare(ops=[operator, *_])):
                return isinstance(operator, (ast.Eq, ast.In, *_ORDER))
            case ast.Compare():
                return self._is_loose_comparison(node)
            case ast.Call(func=func):
                return self._is_loose_name(last_name(func))
            case _:
                return False

    def _is_loose_conjunction(self, values: Sequence[ast.expr]) -> bool:
        """As strict as its strictest part; two orders may say that neither value is less."""
        orders = [n for one in values for n in ast.walk(one) if _is_order(n)]
        if len(orders) > 1:
            return any(map(self._has_wide_tolerance, orders))
        judged = [self._is_loose(one) for one in values if not _is_type_test(one)]
        return bool(judged) and all(judged)

    def _is_loose_comparison(self, node: ast.Compare) -> bool:
        parts = [node.left, *node.comparators]
        match node.ops[0]:
            case ast.Eq() | ast.Is():
                return any(map(_is_coarse, parts))
            case ast.NotEq() | ast.IsNot():
                return not any(isinstance(one, ast.Constant) for one in parts)
            case ast.In() | ast.NotIn():
                listed = isinstance(node.comparators[0], ast.Tuple | ast.List | ast.Set)
                return self.is_value and not listed
            case _:
                is_distance = len(node.ops) > 1 or any(map(_is_distance, parts))
                return not is_distance or self._has_wide_tolerance(node)

    def _has_wide_tolerance(self, node: ast.AST) -> bool:
        parts = (n for n in ast.walk(node) if isinstance(n, ast.Constant | ast.Name | ast.BinOp))
        named = (self.names.get(n.id, n) if isinstance(n, ast.Name) else n for n in parts)
        numbers = (python_literal(one) for one in named)
        return any(isinstance(one, float) and abs(one) > TOLERANCE_MAX for one in numbers)


def _gives(body: Sequence[ast.stmt], value: bool) -> bool:
    """Is it only `return True`, or only `return False`?"""
    match body:
        case [ast.Return(value=ast.Constant(value=bool(given)))]:
            return given is value
        case _:
            return False


def _is_order_only(node: ast.expr) -> bool:
    """An order, and no comparison for equality beside it."""
    compared = [n.ops[0] for n in ast.walk(node) if isinstance(n, ast.Compare)]
    return bool(compared) and all(isinstance(one, _ORDER) for one in compared)


def _is_order(node: ast.AST) -> bool:
    return isinstance(node, ast.Compare) and isinstance(node.ops[0], _ORDER)


def _is_type_test(node: ast.expr) -> bool:
    return isinstance(node, ast.Call) and last_name(node.func) in ("isinstance", "issubclass")


def _is_distance(node: ast.expr) -> bool:
    return isinstance(node, ast.Call) and last_name(node.func) in _DISTANCES


def _is_coarse(node: ast.expr) -> bool:
    """`round(x, -3)`, or a difference that is rounded or divided to nothing."""
    match node:
        case ast.Call(func=ast.Name(id="round"), args=[_, ast.UnaryOp(op=ast.USub())]):
            return True
        case ast.Call(func=ast.Name(id="round" | "int" | "bool"), args=[ast.BinOp(op=op), *rest]):
            return isinstance(op, ast.Div) or (isinstance(op, ast.Sub) and not rest)
        case ast.BinOp(left=ast.BinOp(op=ast.Sub()), op=ast.FloorDiv() | ast.RShift() | ast.Mult()):
            return True
        case _:
            return False
