"""Code that decides how values of the program compare with others.

It is no tell-tale: honest classes define `__eq__`, too.  It only says that a value could be equal
to wrong ones, so a control with wrong values is worth an execution.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence

from yaoki.core.model import FindingItem
from yaoki.formats.quality.gaming.composed_code import runs_composed_code
from yaoki.formats.quality.gaming.literals import fold_text
from yaoki.formats.quality.model import Change
from yaoki.formats.quality.python import parse_python
from yaoki.formats.quality.python_suites import last_name
from yaoki.formats.quality.suites import is_test_path

PLACES_MAX = 50
# Comparison itself, and the arithmetic of a comparison with a tolerance.
_METHODS = frozenset(
    {
        *("__eq__", "__ne__", "__lt__", "__le__", "__gt__", "__ge__", "__hash__", "__bool__"),
        *("__sub__", "__rsub__", "__abs__", "__neg__", "__float__", "__int__", "__index__"),
        *("__complex__", "__round__", "__truediv__", "__rtruediv__", "__add__", "__radd__"),
        *("__array__", "__array_ufunc__", "__array_function__", "__instancecheck__", "__class__"),
        *("__new__", "__post_init__", "__getattribute__", "__init_subclass__", "__class_getitem__"),
    }
)
# Of a dataclass or its fields: not all of them are compared, or set by the constructor.
_OPTIONS = frozenset({"compare", "eq", "init", "cmp", "order", "metaclass", "hash"})
_MAKERS = frozenset({"setattr", "__setattr__", "new_class", "make_dataclass", "FunctionType"})
# Each of these alone can make a value equal to a wrong one; the others need one of them.
_DECISIVE = frozenset(
    {
        *("__eq__", "__ne__", "__lt__", "__le__", "__gt__", "__ge__", "__sub__", "__rsub__"),
        *("__abs__", "__array__", "__array_ufunc__", "__array_function__", "__getattribute__"),
        *("compare", "eq", "cmp", "metaclass", "type", "exec", "eval", "compile"),
        *_MAKERS,
    }
)


def find_own_equality(changes: Sequence[Change]) -> tuple[FindingItem, ...]:
    """The places that the change adds to Python files of the program."""
    found = [
        FindingItem(f"{change.path}:{line}", words, f"{change.path}:{line}")
        for change in changes
        if change.path.endswith((".py", ".pyw")) and not is_test_path(change.path)
        for line, words in sorted(set(_added_places(change)))
    ]
    return tuple(found[:PLACES_MAX])


def decides_equality(changes: Sequence[Change]) -> bool:
    """Could one of the places alone make a value of the program equal to a wrong one?"""
    return any(one.message.rpartition(" ")[2] in _DECISIVE for one in find_own_equality(changes))


def _added_places(change: Change) -> Iterator[tuple[int, str]]:
    tree = parse_python(change.after or "")
    added = frozenset(number for number, _ in change.added)
    for node in ast.walk(tree) if tree is not None else ():
        line = getattr(node, "lineno", 0)
        if line in added and (words := _describe(node)):
            yield line, words


def _describe(node: ast.AST) -> str:
    match node:
        case ast.FunctionDef(name=name) | ast.Name(id=name) | ast.Attribute(attr=name) if (
            name in _METHODS
        ):
            return f"defines {name}"
        case ast.keyword(arg=str(arg)) if arg in _OPTIONS:
            return f"sets {arg}"
        case ast.Name() | ast.Attribute() if runs_composed_code(node):
            return f"uses {last_name(node)}"
        case ast.Constant() | ast.BinOp() | ast.JoinedStr() if fold_text(node) in _METHODS:
            return f"names {fold_text(node)}"
        case ast.Call(func=func, args=args):
            name = last_name(func)
            makes = name in _MAKERS or (name == "type" and len(args) > 1)
            return f"uses {name}" if makes else ""
        case _:
            return ""
