"""Finds equivalent Python assertions: two that fail for the same reasons.

Only certainty counts.  Equal constants prove nothing: `sub(3, 1) == 2` and `sub(1, 3) == 2` have
the same ones, and so have `2` and `-2`.
"""

from __future__ import annotations

import ast
import copy
from collections.abc import Iterator, Mapping, Sequence

from yaoki.formats.quality.definition.units import CodeUnit, FunctionNode
from yaoki.formats.quality.python_suites import last_name

ROWS_MAX = 2_000
Form = str | frozenset[str]
Binding = Mapping[str, ast.expr]


def form_of(node: ast.expr) -> Form:
    """A form that is equal for `a == b`, `b == a` and `assertEqual(a, b)`."""
    match node:
        case ast.Compare(left=left, ops=[ast.Eq()], comparators=[right]):
            return frozenset({ast.unparse(left), ast.unparse(right)})
        case ast.Call(func=func, args=[one, other, *_]) if last_name(func) == "assertEqual":
            return frozenset({ast.unparse(one), ast.unparse(other)})
        case ast.Call(func=func, args=[one, *_]) if last_name(func) == "assertTrue":
            return form_of(one)
        case _:
            return ast.unparse(node)


def form_of_text(text: str) -> Form:
    """The form of an assertion stored as text; an unparsable one equals only itself."""
    try:
        return form_of(ast.parse(text, mode="eval").body)
    except (SyntaxError, RecursionError, ValueError):
        return text


def table_forms(unit: CodeUnit) -> frozenset[Form]:
    """Every assertion of a test on the cases of its tables, with the values filled in."""
    return loop_forms(unit) | _parametrized(unit)


def loop_forms(unit: CodeUnit) -> frozenset[Form]:
    """The forms of assertions in loops, whose cases a runner counts as one test."""
    body = unit.node.body if unit.node is not None else ()
    forms: set[Form] = set()
    for one in body:
        # Any other statement before a loop may end the test, or change what it compares.
        if isinstance(one, ast.For) and not one.orelse:
            forms |= _collect_questions(one.body, _row_bindings(one.target, one.iter))
        elif not _questions([one]):
            return frozenset(forms)
    return frozenset(forms)


def _parametrized(unit: CodeUnit) -> frozenset[Form]:
    node = unit.node
    tables = [d for d in (node.decorator_list if node else ()) if last_name(d) == "parametrize"]
    if node is None or len(tables) != 1:
        return frozenset()
    return frozenset(_collect_questions(node.body, _decorator_bindings(tables[0], node)))


def _decorator_bindings(table: ast.expr, node: FunctionNode) -> Iterator[Binding]:
    match table:
        case ast.Call(args=[names, ast.List() | ast.Tuple() as rows], keywords=more) if all(
            one.arg == "ids" for one in more
        ):
            match names:
                case ast.Constant(value=str(words)):
                    parts = [part.strip() for part in words.split(",") if part.strip()]
                case ast.Tuple(elts=elts) | ast.List(elts=elts):
                    parts = [str(e.value) for e in elts if isinstance(e, ast.Constant)]
                case _:
                    return
            params = {arg.arg for arg in node.args.args}
            if not parts or not params >= set(parts):
                return
            targets: list[ast.expr] = [ast.Name(part, ast.Store()) for part in parts]
            target = targets[0] if len(targets) == 1 else ast.Tuple(targets, ast.Store())
            yield from _row_bindings(target, rows)
        case _:
            return


def _row_bindings(target: ast.expr, over: ast.expr) -> Iterator[Binding]:
    """The values that each case of a literal table assigns to names."""
    if not isinstance(over, (ast.List, ast.Tuple)) or len(over.elts) > ROWS_MAX:
        return
    for one in over.elts:
        # `pytest.param(1, 2, id="…")` is the row `(1, 2)`.
        is_param = isinstance(one, ast.Call) and last_name(one.func) == "param"
        row = ast.Tuple(one.args, ast.Load()) if is_param and isinstance(one, ast.Call) else one
        match target, row:
            case ast.Name(id=name), _ if not isinstance(row, ast.Starred):
                yield {name: row}
            case ast.Tuple(elts=names), ast.Tuple(elts=values) | ast.List(elts=values):
                pairs = [*zip(names, values, strict=False)]
                plain = all(isinstance(n, ast.Name) for n in names)
                if plain and len(names) == len(values):
                    yield {n.id: v for n, v in pairs if isinstance(n, ast.Name)}
            case _:
                continue


def _collect_questions(body: Sequence[ast.stmt], cases: Iterator[Binding]) -> set[Form]:
    questions = _questions(body)
    return {form_of(_substitute(one, case)) for case in cases for one in questions}


def _questions(body: Sequence[ast.stmt]) -> list[ast.expr]:
    """The assertions of a block that contains nothing else; none otherwise."""
    assertions: list[ast.expr] = []
    for one in body:
        match one:
            case ast.Expr(value=ast.Constant()):
                continue
            case ast.Assert(test=ast.BoolOp(op=ast.And(), values=values)):
                assertions += values
            case ast.Assert(test=test):
                assertions.append(test)
            case ast.Expr(value=ast.Call(func=func) as call) if _asserts(func):
                assertions.append(call)
            case ast.With(items=[ast.withitem(context_expr=ast.Call(func=func))], body=inner) if (
                last_name(func) == "subTest"
            ):
                inner_assertions = _questions(inner)
                if not inner_assertions:
                    return []
                assertions += inner_assertions
            case _:
                return []
    return assertions


def _asserts(func: ast.expr) -> bool:
    match func:
        case ast.Attribute(value=ast.Name(id="self"), attr=name):
            return name.startswith("assert")
        case _:
            return False


def _substitute(question: ast.expr, case: Binding) -> ast.expr:
    class Values(ast.NodeTransformer):
        def visit_Name(self, node: ast.Name) -> ast.expr:
            return copy.deepcopy(case[node.id]) if node.id in case else node

    substituted = Values().visit(copy.deepcopy(question))
    assert isinstance(substituted, ast.expr)
    return substituted
