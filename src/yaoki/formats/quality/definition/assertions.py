"""The assertions of a Python function that can still fail, in a form that can be compared.

An assertion is dead after a `return`, in a `try` that swallows it, in a loop over nothing, under a
condition that never holds, or in an inner function that is never called.  Dead assertions do not
count.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from enum import Enum, auto

from yaoki.core.lazy_dataclass import dataclass
from yaoki.formats.quality.python_suites import (
    ASSERTING_WORDS,
    last_name,
    never_holds,
    surely_holds,
)

TEXT_CHARS_MAX = 120
ANY_ERROR = frozenset({"AssertionError", "Exception", "BaseException"})
_EQUAL = ("equal", "tobe", "eq", "assertis", "same", "match_array", "countequal", "approx")
_LOOSE = ("isnotnone", "istrue", "true", "isinstance", "assertin", "greater", "less", "isnot")
_TOLERANCES = frozenset({"abs", "rel", "delta", "places", "rel_tol", "abs_tol"})
_FUNCTION = (ast.FunctionDef, ast.AsyncFunctionDef)
_ENDS = (ast.Return, ast.Raise, ast.Continue, ast.Break)
_TABLES = (ast.List, ast.Tuple, ast.Set, ast.Dict)


class AssertionKind(Enum):
    """The kind of comparison that an assertion makes.  SAME: with itself, so that the result of a
    call is the same each time.  ROW: one case of a table.  CALL: a call that discards its result,
    so it may contain assertions.
    """

    EQUAL = auto()
    SAME = auto()
    OTHER = auto()
    TRUTH = auto()
    RAISES = auto()
    ROW = auto()
    CALL = auto()


@dataclass(frozen=True, slots=True)
class Assertion:
    """`constants` are the compared values, `names` what is called or read."""

    text: str
    kind: AssertionKind
    constants: frozenset[str]
    names: frozenset[str]
    line: int


def live_assertions(body: Sequence[ast.stmt]) -> Iterator[Assertion]:
    """The assertions that are reached, in order.  Statements after a `return` or `raise` in the
    same block never are.
    """
    for node in body:
        yield from _statement_assertions(node, body)
        if isinstance(node, _ENDS):
            return


def _statement_assertions(node: ast.stmt, around: Sequence[ast.stmt]) -> Iterator[Assertion]:
    match node:
        case ast.Assert(test=test):
            if not surely_holds(test) and not _is_always_true(test):
                yield from _conjuncts(test)
        case ast.If(test=test, body=body, orelse=orelse):
            yield from () if never_holds(test) else live_assertions(body)
            yield from () if surely_holds(test) else live_assertions(orelse)
        case ast.For(iter=over, body=body) | ast.AsyncFor(iter=over, body=body):
            if not is_empty(over):
                yield from table_rows(over)
                yield from live_assertions(body)
        case ast.While(test=test, body=body):
            yield from () if never_holds(test) else live_assertions(body)
        case ast.Try():
            yield from _try_assertions(node)
        case ast.With(items=items, body=body) | ast.AsyncWith(items=items, body=body):
            yield from _with_assertions(items, body)
        case ast.FunctionDef(name=name, body=body) | ast.AsyncFunctionDef(name=name, body=body):
            if _is_used(name, around, node):
                yield from live_assertions(body)
        case ast.ClassDef():
            return
        case ast.Match(cases=cases):
            for case in cases:
                yield from live_assertions(case.body)
        case ast.Raise(exc=exc) if exc is not None:
            yield _assertion(exc, AssertionKind.RAISES, node.lineno)
        case _:
            yield from _call_assertions(node)


def _try_assertions(node: ast.Try) -> Iterator[Assertion]:
    leaves = any(isinstance(inner, ast.Return) for one in node.finalbody for inner in ast.walk(one))
    if not leaves and not any(_swallows(handler) for handler in node.handlers):
        yield from live_assertions(node.body)
        yield from live_assertions(node.orelse)
    for handler in node.handlers:
        yield from live_assertions(handler.body)
    yield from live_assertions(node.finalbody)


def _swallows(handler: ast.ExceptHandler) -> bool:
    """Does it catch a failed assertion silently?"""
    kinds = handler.type.elts if isinstance(handler.type, ast.Tuple) else [handler.type]
    named = {last_name(kind) for kind in kinds if kind is not None}
    if handler.type is not None and not named & ANY_ERROR:
        return False
    speaks = (n for one in handler.body for n in ast.walk(one))
    return not any(
        isinstance(n, (ast.Raise, ast.Assert))
        or (isinstance(n, ast.Call) and last_name(n.func) in ("fail", "exit", "_exit", "abort"))
        for n in speaks
    )


def _with_assertions(
    items: Sequence[ast.withitem], body: Sequence[ast.stmt]
) -> Iterator[Assertion]:
    for item in items:
        context = item.context_expr
        name = last_name(context).lower()
        if isinstance(context, ast.Call) and any(word in name for word in ASSERTING_WORDS):
            yield _assertion(context, AssertionKind.RAISES, context.lineno)
    heads = [item.context_expr for item in items if isinstance(item.context_expr, ast.Call)]
    swallowed = any(
        last_name(head) == "suppress"
        or (last_name(head) in ("raises", "assertRaises") and _any_error(head))
        for head in heads
    )
    if not swallowed:
        yield from live_assertions(body)


def _any_error(head: ast.Call) -> bool:
    """`raises(AssertionError)` around an assertion inverts it."""
    return any(last_name(one) in ANY_ERROR for one in head.args[:1])


def _is_same(one: ast.expr, other: ast.expr) -> bool:
    return ast.dump(one) == ast.dump(other)


def has_call(node: ast.expr) -> bool:
    """May two evaluations of it differ, as those of `f(1) == f(1)` or `await next`?"""
    return any(isinstance(inner, ast.Call | ast.Await) for inner in ast.walk(node))


def _conjuncts(test: ast.expr) -> Iterator[Assertion]:
    parts = test.values if isinstance(test, ast.BoolOp) and isinstance(test.op, ast.And) else [test]
    for part in parts:
        yield _assertion(part, _kind(part), part.lineno)


def _kind(test: ast.expr) -> AssertionKind:
    if isinstance(test, ast.Compare) and all(isinstance(o, (ast.Eq, ast.Is)) for o in test.ops):
        if any(_is_same(test.left, one) for one in test.comparators):
            return AssertionKind.SAME
        return (
            AssertionKind.OTHER if any(map(_tolerates, test.comparators)) else AssertionKind.EQUAL
        )
    return AssertionKind.OTHER if isinstance(test, ast.Compare) else AssertionKind.TRUTH


def _tolerates(node: ast.expr) -> bool:
    """`approx(5, abs=100)`: a stated tolerance makes the value meaningless."""
    named = isinstance(node, ast.Call) and any(k.arg in _TOLERANCES for k in node.keywords)
    return named and "approx" in last_name(node).lower()


def _is_always_true(test: ast.expr) -> bool:
    """`x or True`, `(x, "message")`, `x == x`: true for any x."""
    if isinstance(test, ast.BoolOp) and isinstance(test.op, ast.Or):
        return any(surely_holds(value) for value in test.values)
    if isinstance(test, ast.Compare) and len(test.ops) == 1 and isinstance(test.ops[0], ast.Eq):
        return _is_same(test.left, test.comparators[0]) and not has_call(test)
    return (isinstance(test, _TABLES) and not is_empty(test)) or isinstance(test, ast.Lambda)


def _call_assertions(node: ast.stmt) -> Iterator[Assertion]:
    """Calls that may fail by design, and any call whose result is discarded."""
    inner: list[ast.AST] = [node]
    has_assertion = False
    while inner:
        one = inner.pop(0)
        if isinstance(one, ast.Lambda):
            continue
        if isinstance(one, ast.Call):
            name = last_name(one.func).lower()
            if name != "xfail" and any(word in name for word in ASSERTING_WORDS):
                has_assertion = True
                if kind := _call_kind(name, one):
                    yield _assertion(one, kind, one.lineno, but=one.func)
                continue
        inner += ast.iter_child_nodes(one)
    value = node.value if isinstance(node, ast.Expr) else None
    value = value.value if isinstance(value, ast.Await) else value
    if isinstance(value, ast.Call) and not has_assertion:
        yield _assertion(value, AssertionKind.CALL, node.lineno)


def _call_kind(name: str, call: ast.Call) -> AssertionKind | None:
    if name == "asserttrue" and call.args:
        return (
            None
            if surely_holds(call.args[0]) or _is_always_true(call.args[0])
            else _kind(call.args[0])
        )
    if any(word in name for word in _EQUAL) and len(call.args) > 1:
        one, other = call.args[:2]
        if _is_same(one, other):
            return AssertionKind.SAME if has_call(one) else None
    if any(word in name for word in _LOOSE) or any(k.arg in _TOLERANCES for k in call.keywords):
        return AssertionKind.OTHER
    return AssertionKind.EQUAL if any(word in name for word in _EQUAL) else AssertionKind.TRUTH


def _assertion(
    node: ast.AST, kind: AssertionKind, line: int, but: ast.AST | None = None
) -> Assertion:
    """`but`: the name of the assertion itself, which is not part of its subject."""
    parts = list(_walk_but(node, but))
    constants = frozenset(repr(n.value) for n in parts if isinstance(n, ast.Constant))
    names = {n.id for n in parts if isinstance(n, ast.Name)}
    names |= {n.attr for n in parts if isinstance(n, ast.Attribute)}
    return Assertion(_text(node), kind, constants, frozenset(names) - {"self"}, line)


def _walk_but(node: ast.AST, skip: ast.AST | None) -> Iterator[ast.AST]:
    todo = [node]
    while todo:
        one = todo.pop()
        if one is not skip:
            yield one
            todo += ast.iter_child_nodes(one)


def _text(node: ast.AST) -> str:
    try:
        return ast.unparse(node)
    except (RecursionError, ValueError):
        return ast.dump(node)[:4_000]


def _is_used(name: str, around: Sequence[ast.stmt], own: ast.stmt) -> bool:
    others = (n for one in around if one is not own for n in ast.walk(one))
    return any(isinstance(n, ast.Name) and n.id == name for n in others)


# ------------------------------------------------------------------ tables


def is_empty(node: ast.expr) -> bool:
    """A literal, call or slice that is certainly empty."""
    match node:
        case ast.List(elts=elements) | ast.Tuple(elts=elements) | ast.Set(elts=elements):
            return not elements
        case ast.Dict(keys=keys):
            return not keys
        case ast.Constant(value=value):
            return not value
        case ast.Call(func=func, args=args, keywords=[]):
            name = last_name(func)
            if name == "range":
                return all(isinstance(a, ast.Constant) and a.value == 0 for a in args)
            wraps = name in ("list", "tuple", "set", "dict", "iter", "enumerate", "zip", "sorted")
            return wraps and all(is_empty(arg) for arg in args)
        case ast.Subscript(slice=ast.Slice(upper=ast.Constant(value=0))):
            return True
        case _:
            return False


def table_rows(node: ast.expr) -> Iterator[Assertion]:
    """The cases of a literal table, one by one."""
    if isinstance(node, ast.Dict):
        for key, value in zip(node.keys, node.values, strict=True):
            pair = ast.Tuple([key or ast.Constant("**"), value], ast.Load())
            yield _assertion(pair, AssertionKind.ROW, node.lineno)
    elif isinstance(node, (ast.List, ast.Tuple, ast.Set)):
        for one in node.elts:
            yield _assertion(one, AssertionKind.ROW, one.lineno)
    elif isinstance(node, ast.Call) and node.args:
        yield from table_rows(node.args[0])
