"""Functions that empty what a test passes in, so that the test compares nothing with nothing.

`assert unique(xs) == set(xs)` computes its right side after the call.  A function that fills the
object again, or that a test compares with literals only, is honest.
"""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterator, Mapping, Sequence

from yaoki.formats.quality.gaming.imported_functions import (
    Callee,
    FunctionPlace,
    PythonModules,
)
from yaoki.formats.quality.gaming.literals import UNKNOWN, python_literal
from yaoki.formats.quality.python_suites import last_name

EMPTIES = (
    "it empties its argument, from which a test then computes the expected value; leave the"
    " argument as it is"
)
_FUNCTION = (ast.FunctionDef, ast.AsyncFunctionDef)
_REMOVES = frozenset({"pop", "popleft", "popitem", "remove"})
_FILLS = frozenset({"extend", "append", "appendleft", "insert", "add", "update", "extendleft"})
_EQUAL_CALLS = frozenset({"assertEqual", "assertCountEqual", "assertListEqual", "assertDictEqual"})


def find_emptied_arguments(
    path: str,
    before: ast.Module | None,
    after: ast.Module,
    tests: Mapping[str, ast.Module],
    modules: PythonModules,
) -> Iterator[tuple[int, str]]:
    """In the file at `path`; the trees of the tests are by their paths."""
    old = {ast.dump(node) for node in _functions(before)} if before is not None else set()
    names, owners = _emptying(after), _owners(after)
    for function in _functions(after):
        if function.name not in names or ast.dump(function) in old:
            continue
        place = FunctionPlace(path, function.name, owners.get(function, ""))
        callees = ((tree, modules.callee(test, tree, place)) for test, tree in tests.items())
        if any(callee.is_known and _compares_argument(tree, callee) for tree, callee in callees):
            yield function.lineno, EMPTIES


def _owners(tree: ast.Module) -> dict[ast.AST, str]:
    """The classes of methods."""
    classes = (node for node in ast.walk(tree) if isinstance(node, ast.ClassDef))
    return {method: one.name for one in classes for method in one.body}


def _functions(tree: ast.AST) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
    yield from (node for node in ast.walk(tree) if isinstance(node, _FUNCTION))


def _emptying(tree: ast.Module) -> frozenset[str]:
    """The functions that empty a parameter, also by calling another one of them."""
    functions = list(_functions(tree))
    names: frozenset[str] = frozenset()
    for _ in functions:
        found = frozenset(one.name for one in functions if _empties(one, names))
        if found == names:
            break
        names = found
    return names


def _empties(function: ast.FunctionDef | ast.AsyncFunctionDef, others: Collection[str]) -> bool:
    args = function.args
    every = [*args.posonlyargs, *args.args, *args.kwonlyargs]
    names = {arg.arg for arg in every if arg.arg not in ("self", "cls")}
    for node in ast.walk(function):
        match node:
            case ast.Assign(targets=[ast.Name(id=name)], value=ast.Name(id=value)) if (
                value in names
            ):
                names.add(name)
            case ast.For(target=ast.Name(id=name), iter=ast.Name(id=value)) if value in names:
                names.add(name)
            case _:
                continue
    emptied = {name for node in ast.walk(function) for name in _emptied_by(node, others)} & names
    return any(not _is_filled(function, name) for name in emptied)


def _emptied_by(node: ast.AST, others: Collection[str]) -> Iterator[str]:
    match node:
        case ast.Call(func=ast.Attribute(value=ast.Name(id="list" | "dict" | "set"), attr="clear")):
            yield from (arg.id for arg in node.args if isinstance(arg, ast.Name))
        case ast.Call(func=ast.Attribute(value=value, attr="clear"), args=[]):
            yield _root(value)
        case ast.Delete(targets=targets):
            yield from (_root(one) for one in targets if _is_whole(one))
        case ast.Assign(targets=[target], value=value) if _is_whole(target):
            if python_literal(value) is not UNKNOWN or _is_little(value):
                yield _root(target)
        case ast.AugAssign(target=ast.Name(id=name), op=ast.Mult(), value=ast.Constant(value=0)):
            yield name
        case ast.While(test=ast.Constant(value=value), body=body) if value:
            yield from _removed_from(body)
        case ast.While(test=test, body=body) | ast.For(iter=test, body=body):
            # A loop with a condition keeps something: it is a filter.
            name = _only_name(test)
            if all(isinstance(one, ast.Expr | ast.Assign) for one in body):
                yield from [name] if any(_has_call(one, name, _REMOVES) for one in body) else []
        case ast.Call(func=func, args=args) if last_name(func) in others:
            yield from (arg.id for arg in args if isinstance(arg, ast.Name))
        case _:
            return


def _only_name(node: ast.expr) -> str:
    """The one name that `while xs`, `while len(xs) > 0` or `for _ in range(len(xs))` depend on."""
    if any(isinstance(one, ast.BoolOp | ast.Subscript) for one in ast.walk(node)):
        return ""
    names = _names(node) - {"len", "range", "list", "tuple"}
    return names.pop() if len(names) == 1 else ""


def _root(node: ast.expr) -> str:
    while isinstance(node, ast.Subscript):
        node = node.value
    return node.id if isinstance(node, ast.Name) else ""


def _removed_from(body: Sequence[ast.stmt]) -> Iterator[str]:
    """In a loop that only the end of the object ends."""
    for one in body:
        if isinstance(one, ast.Try):
            yield from _removed_from(one.body)
    if all(isinstance(one, ast.Expr | ast.Assign | ast.Try | ast.Break) for one in body):
        names = {name for one in body for name in _names(one)}
        yield from (name for name in names if any(_has_call(one, name, _REMOVES) for one in body))


def _is_whole(node: ast.expr) -> bool:
    """`xs[:]`, `xs[0:len(xs)]`, and all but a fixed number: `xs[1:]`, `xs[:-1]`."""
    match node:
        case ast.Subscript(slice=ast.Slice(lower=lower, upper=upper, step=None)):
            first, last = _bound(lower), _bound(upper)
            to_end = upper is None or (
                isinstance(upper, ast.Call) and last_name(upper.func) == "len"
            )
            from_start = lower is None or first == 0
            return (to_end and (lower is None or (first is not None and first >= 0))) or (
                from_start and last is not None and last < 0
            )
        case _:
            return False


def _is_little(node: ast.expr) -> bool:
    """`list()`, or a fixed number of elements: `xs[:0]`, `xs[:1]`."""
    match node:
        case ast.Call(func=ast.Name(id="list" | "tuple" | "set" | "dict"), args=[], keywords=[]):
            return True
        case ast.Subscript(slice=ast.Slice(lower=lower, upper=upper, step=None)):
            first, last = _bound(lower), _bound(upper)
            if upper is None:
                return first is not None and first < 0
            return (lower is None or first is not None) and last is not None and last >= 0
        case _:
            return False


def _bound(node: ast.expr | None) -> int | None:
    match node:
        case ast.Constant(value=int(value)):
            return value
        case ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=int(value))):
            return -value
        case _:
            return None


def _has_call(tree: ast.AST, name: str, methods: Collection[str]) -> bool:
    return any(True for _ in _calls(tree, name, methods))


def _calls(tree: ast.AST, name: str, methods: Collection[str]) -> Iterator[ast.Call]:
    for node in ast.walk(tree):
        match node:
            case ast.Call(func=ast.Attribute(value=ast.Name(id=one), attr=attr)) if (
                one == name and attr in methods
            ):
                yield node
            case _:
                continue


def _is_filled(function: ast.AST, name: str) -> bool:
    """With something that is computed."""
    if any(_is_computed(call.args) for call in _calls(function, name, _FILLS)):
        return True
    for node in ast.walk(function):
        match node:
            case ast.Assign(targets=[ast.Subscript(value=ast.Name(id=one))], value=value):
                is_filled = one == name and _is_computed([value])
            case ast.AugAssign(target=ast.Name(id=one), op=ast.Add() | ast.BitOr(), value=value):
                is_filled = one == name and _is_computed([value])
            case _:
                continue
        if is_filled:
            return True
    return False


def _is_computed(values: Sequence[ast.expr]) -> bool:
    return any(python_literal(value) is UNKNOWN and not _is_little(value) for value in values)


# ------------------------------------------------------------------ tests


def _compares_argument(tree: ast.Module, function: Callee) -> bool:
    return any(_compares_in(test, function) for test in _functions(tree))


def _compares_in(test: ast.AST, function: Callee) -> bool:
    """After a name was passed to the function, is something computed from it compared?"""
    passed, first, results = set[str](), 0, set[str]()
    for node in ast.walk(test):
        if isinstance(node, ast.Call) and function.is_called_by(node):
            passed |= {arg.id for arg in node.args if isinstance(arg, ast.Name)}
            passed |= {k.value.id for k in node.keywords if isinstance(k.value, ast.Name)}
            first = min(first or node.lineno, node.lineno)
        if isinstance(node, ast.Assign) and _calls_function(node.value, function):
            results |= _names(node)
    passed = _with_aliases(test, passed, first)
    return any(
        node.lineno >= first and _relates(left, right, function, passed, results)
        for node in ast.walk(test)
        for left, right in _compared(node)
        if isinstance(node, ast.expr)
    )


def _with_aliases(test: ast.AST, passed: set[str], first: int) -> set[str]:
    """`expected = xs` is the same object; `list(xs)` before the call is none of it."""
    names = set(passed)
    for node in ast.walk(test):
        match node:
            case ast.Assign(targets=[ast.Name(id=name)], value=value):
                is_alias = isinstance(value, ast.Name) and value.id in names
                is_later = node.lineno > first and bool(_names(value) & names)
                names |= {name} if is_alias or is_later else set()
            case _:
                continue
    return names


def _compared(node: ast.AST) -> Iterator[tuple[ast.expr, ast.expr]]:
    match node:
        case ast.Compare(left=left, ops=[ast.Eq()], comparators=[right]):
            yield from ((left, right), (right, left))
        case ast.Call(func=func, args=[left, right, *_]) if last_name(func) in _EQUAL_CALLS:
            yield from ((left, right), (right, left))
        case _:
            return


def _relates(
    result: ast.expr, expected: ast.expr, function: Callee, passed: set[str], results: set[str]
) -> bool:
    """Is the result of the function, or what it was given, compared with the other name?"""
    gives = _calls_function(result, function) or bool(_names(result) & (results | passed))
    return gives and bool(_names(expected) & passed) and not _calls_function(expected, function)


def _calls_function(node: ast.AST, function: Callee) -> bool:
    return any(function.is_called_by(one) for one in ast.walk(node))


def _names(node: ast.AST) -> set[str]:
    return {one.id for one in ast.walk(node) if isinstance(one, ast.Name)}
