"""The mutations: what may be changed in the body of a function, one small change at a time.

Annotations, decorators, defaults, docstrings and assertions are left alone, and so are statements
of modules and classes: they run at import, before a mutant is chosen.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from types import CodeType
from typing import TypeVar

from yaoki.formats.quality.mutants.python import OPERATORS

T = TypeVar("T")
Slot = tuple[ast.AST, str, int | None]
FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)
SKIPPED_FIELDS = ("annotation", "returns", "decorator_list", "format_spec")

COMPARISONS: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
}
PAIRS = (
    ("lower", "upper"),
    ("lstrip", "rstrip"),
    ("find", "rfind"),
    ("index", "rindex"),
    ("ljust", "rjust"),
    ("partition", "rpartition"),
    ("removeprefix", "removesuffix"),
    ("startswith", "endswith"),
    ("any", "all"),
    ("min", "max"),
)
NAMES = {one: other for pair in PAIRS for one, other in (pair, pair[::-1])}
# `None` in their place is a `TypeError` or, for `cast`, no change at all.
UNCHANGED_ARGUMENTS = ("len", "isinstance", "cast", "range", "enumerate", "zip")


@dataclass(frozen=True)
class Mutant:
    """One change of one function; `lines` are those of the statement that it changes."""

    module: str
    function: str
    first_line: int
    line: int
    lines: range
    change: str
    slot: Slot = field(repr=False)
    replacement: ast.AST = field(repr=False)


@dataclass(frozen=True)
class Source:
    """A module of the core as a tree in which one place at a time can be replaced."""

    module: str
    filename: str
    tree: ast.Module

    def mutants(self) -> Iterator[Mutant]:
        for name, function in _functions(self.tree):
            for slot, lines in _places(function):
                node = _read(slot)
                for replacement in _replacements(node, slot):
                    ast.copy_location(replacement, node)
                    ast.fix_missing_locations(replacement)
                    change = f"{_words(node)} -> {_words(replacement)}"
                    yield Mutant(
                        self.module,
                        name,
                        _first_line(function),
                        getattr(node, "lineno", lines.start),
                        lines,
                        change,
                        slot,
                        replacement,
                    )

    def compile(self, mutant: Mutant) -> CodeType | None:
        """The changed code of the mutant's function; the tree is as before afterwards."""
        before = _read(mutant.slot)
        _write(mutant.slot, mutant.replacement)
        try:
            code = compile(self.tree, self.filename, "exec", dont_inherit=True)
        finally:
            _write(mutant.slot, before)
        wanted = (mutant.function, mutant.first_line)
        found = [each for each in codes(code) if (each.co_qualname, each.co_firstlineno) == wanted]
        return found[0] if len(found) == 1 else None


def codes(code: CodeType) -> Iterator[CodeType]:
    """Every code object in this one."""
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield constant
            yield from codes(constant)


def _functions(tree: ast.Module) -> Iterator[tuple[str, ast.AST]]:
    """Outermost functions with their qualified names; those inside them belong to them."""

    def below(node: ast.AST, prefix: str) -> Iterator[tuple[str, ast.AST]]:
        for child in ast.iter_child_nodes(node):
            if isinstance(child, FUNCTIONS):
                yield prefix + getattr(child, "name", "<lambda>"), child
            elif isinstance(child, ast.ClassDef):
                yield from below(child, f"{prefix}{child.name}.")
            elif not isinstance(child, ast.If) or "TYPE_CHECKING" not in ast.dump(child.test):
                yield from below(child, prefix)
            else:
                for each in child.orelse:
                    yield from below(ast.Module([each], []), prefix)

    return below(tree, "")


def _first_line(function: ast.AST) -> int:
    decorators = getattr(function, "decorator_list", [])
    return int(decorators[0].lineno if decorators else function.lineno)  # type: ignore[attr-defined]


def _places(function: ast.AST) -> Iterator[tuple[Slot, range]]:
    """Every place in the body of a function, with the lines of its innermost statement."""

    def below(node: ast.AST, lines: range) -> Iterator[tuple[Slot, range]]:
        for slot in _slots(node):
            child = _read(slot)
            near = _lines(child, lines)
            if not isinstance(child, ast.Assert) and not _is_docstring(node, slot):
                yield slot, near
                yield from below(child, near)

    whole = range(function.lineno, function.end_lineno + 1)  # type: ignore[attr-defined]
    return below(function, whole)


def _slots(node: ast.AST) -> Iterator[Slot]:
    for name, value in ast.iter_fields(node):
        is_signature = name == "args" and isinstance(node, FUNCTIONS)
        if name in SKIPPED_FIELDS or is_signature:
            continue
        if isinstance(value, list):
            yield from (
                (node, name, at) for at, one in enumerate(value) if isinstance(one, ast.AST)
            )
        elif isinstance(value, ast.AST):
            yield node, name, None


def _lines(node: ast.AST, outer: range) -> range:
    """A statement with a body counts with its head alone."""
    if not isinstance(node, ast.stmt):
        return outer
    body = getattr(node, "body", None) or getattr(node, "cases", None)
    end = node.end_lineno or node.lineno
    if body:
        first = body[0].pattern if isinstance(body[0], ast.match_case) else body[0]
        end = max(node.lineno, first.lineno - 1)
    return range(node.lineno, end + 1)


def _is_docstring(parent: ast.AST, slot: Slot) -> bool:
    node = _read(slot)
    return (
        isinstance(parent, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef))
        and slot[1:] == ("body", 0)
        and isinstance(node, ast.Expr)
        and isinstance(node.value, ast.Constant)
    )


def _read(slot: Slot) -> ast.AST:
    owner, name, at = slot
    value = getattr(owner, name)
    return value if at is None else value[at]  # type: ignore[no-any-return]


def _write(slot: Slot, node: ast.AST) -> None:
    owner, name, at = slot
    if at is None:
        setattr(owner, name, node)
    else:
        getattr(owner, name)[at] = node


def _words(node: ast.AST) -> str:
    if isinstance(node, ast.match_case):
        return f"case {ast.unparse(node.pattern)}" + (" if False" if _is_false(node.guard) else "")
    text = ast.unparse(node).strip().splitlines()[0]
    return text if len(text) <= 100 else f"{text[:97]}..."


def _is_false(node: ast.AST | None) -> bool:
    return isinstance(node, ast.Constant) and node.value is False


# ------------------------------------------------------------------ replacements


def _replacements(node: ast.AST, slot: Slot) -> Iterator[ast.AST]:
    owner, name, _ = slot
    if isinstance(node, ast.expr):
        yield from _of_expression(node)
    if name in ("test", "ifs") and isinstance(owner, (ast.If, ast.While, ast.comprehension)):
        yield from _negated(node)
    if isinstance(node, ast.stmt):
        yield from _of_statement(node)
    if isinstance(node, ast.match_case) and isinstance(owner, ast.Match) and len(owner.cases) > 1:
        yield ast.match_case(node.pattern, ast.Constant(False), node.body)


def _of_expression(node: ast.expr) -> Iterator[ast.expr]:
    match node:
        case ast.Constant():
            yield from _of_constant(node)
        case ast.Compare():
            for at, operator in enumerate(node.ops):
                ops = [*node.ops[:at], COMPARISONS[type(operator)](), *node.ops[at + 1 :]]
                yield ast.Compare(node.left, ops, node.comparators)
        case ast.BoolOp():
            yield ast.BoolOp(ast.Or() if isinstance(node.op, ast.And) else ast.And(), node.values)
            if len(node.values) > 2:
                yield from (ast.BoolOp(node.op, rest) for rest in _each_left_out(node.values))
        case ast.UnaryOp(ast.Not() | ast.USub()):
            yield node.operand
        case ast.BinOp() if other := OPERATORS.get(type(node.op)):
            yield ast.BinOp(node.left, other(), node.right)
        case ast.IfExp():
            yield from (node.body, node.orelse)
        case ast.Lambda() if not isinstance(node.body, ast.Constant):
            yield ast.Lambda(node.args, ast.Constant(None))
        case ast.Call():
            yield from _of_call(node)
        case _:
            pass


def _of_constant(node: ast.Constant) -> Iterator[ast.expr]:
    value = node.value
    if isinstance(value, bool):
        yield ast.Constant(not value)
    elif isinstance(value, (int, float)):
        yield ast.Constant(value + 1)
    elif isinstance(value, str):
        yield ast.Constant(f"XX{value}XX")


def _of_call(node: ast.Call) -> Iterator[ast.expr]:
    called = node.func
    name = getattr(called, "attr", getattr(called, "id", ""))
    if other := NAMES.get(name):
        yield ast.Call(_renamed(called, other), node.args, node.keywords)
    if name in UNCHANGED_ARGUMENTS:
        return
    for at, value in enumerate(node.args):
        if not isinstance(value, (ast.Constant, ast.Starred, ast.GeneratorExp)):
            args = [*node.args[:at], ast.Constant(None), *node.args[at + 1 :]]
            yield ast.Call(called, args, node.keywords)
    for keywords in _each_left_out(node.keywords):
        yield ast.Call(called, node.args, keywords)


def _renamed(called: ast.expr, name: str) -> ast.expr:
    if isinstance(called, ast.Attribute):
        return ast.Attribute(called.value, name, ast.Load())
    return ast.Name(name, ast.Load())


def _each_left_out(values: list[T]) -> Iterable[list[T]]:
    return (values[:at] + values[at + 1 :] for at in range(len(values)))


def _negated(node: ast.AST) -> Iterator[ast.expr]:
    """Only where no other mutation turns the condition around."""
    if isinstance(node, ast.expr) and not isinstance(
        node, (ast.Compare, ast.BoolOp, ast.Constant, ast.UnaryOp)
    ):
        yield ast.UnaryOp(ast.Not(), node)


def _of_statement(node: ast.stmt) -> Iterator[ast.stmt]:
    none = ast.Constant(None)
    match node:
        case ast.Return(value) if value and not isinstance(value, ast.Constant):
            yield ast.Return(none)
        case ast.Assign(targets, value) if not isinstance(value, ast.Constant):
            yield ast.Assign(targets, none)
        case ast.AnnAssign(target, annotation, value, simple) if not isinstance(
            value, ast.Constant | None
        ):
            yield ast.AnnAssign(target, annotation, none, simple)
        case ast.AugAssign(target, op, value) if other := OPERATORS.get(type(op)):
            yield ast.AugAssign(target, other(), value)
        case ast.Expr(ast.Call()) | ast.Raise() if "super()" not in ast.unparse(node):
            # Without its `super()` a function has one free variable less and cannot be replaced.
            yield ast.Pass()
        case ast.Continue():
            yield ast.Break()
        case ast.Break():
            yield ast.Continue()
        case _:
            pass
