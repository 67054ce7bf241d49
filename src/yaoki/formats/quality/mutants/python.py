"""Faults in Python: from the syntax tree, as edits of the text, so that all other lines stay.

Left alone is what no test should have to notice: docstrings, annotations, decorators, imports,
assertions, messages of errors, logging, names for type checkers, `__all__` and `__version__`.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Sequence

from yaoki.formats.quality.gaming.literals import fold_text
from yaoki.formats.quality.mutants.edit import Edit, Rank, becomes, is_removed

_NEGATED: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Lt: ast.GtE,
    ast.LtE: ast.Gt,
    ast.Gt: ast.LtE,
    ast.GtE: ast.Lt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
}
_BOUNDARY: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
}
OPERATORS: dict[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Div,
    ast.Div: ast.Mult,
    ast.FloorDiv: ast.Mult,
    ast.Mod: ast.Mult,
    ast.Pow: ast.Mult,
    ast.BitAnd: ast.BitOr,
    ast.BitOr: ast.BitAnd,
    ast.BitXor: ast.BitAnd,
    ast.LShift: ast.RShift,
    ast.RShift: ast.LShift,
}
_BIT_OPERATORS = (ast.BitAnd, ast.BitOr, ast.BitXor)
# Calls that are for people who watch, or for type checkers.
_LOG_METHODS = frozenset(
    {"debug", "info", "warning", "warn", "error", "exception", "critical", "log", "sleep", "print"}
)
_LOG_OWNERS = frozenset({"log", "logger", "logging", "_log", "_logger", "warnings", "time"})
_TYPE_CALLS = frozenset(
    {"TypeVar", "ParamSpec", "NewType", "cast", "namedtuple", "NamedTuple", "TypedDict"}
)
# An assertion or a message with one of these is part of the program.
_CHANGING_CALLS = frozenset(
    {"append", "extend", "insert", "remove", "pop", "popitem", "clear", "sort", "reverse", "add"}
    | {"discard", "update", "setdefault", "setattr", "delattr", "write", "exec", "eval"}
    | {"__setitem__", "__setattr__"}
)
_UNTESTED_DECORATORS = frozenset({"overload", "abstractmethod"})
_TIMES = ("timeout", "delay", "interval", "size", "width", "indent", "stacklevel")


def python_edits(text: str, lines: frozenset[int]) -> Iterator[Edit]:
    """The faults in these lines; none in a file that this Python cannot read."""
    try:
        tree = ast.parse(text)
        yield from _Source(text, lines).statements(tree.body, inside=False)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return


def python_hidden_code(text: str, lines: frozenset[int]) -> list[tuple[int, str]]:
    """The places in these lines at which `exec` or `eval` runs a text that is no literal, or is
    used under another name, each with its line; also where only the text is in these lines.
    """
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return []
    nodes = list(ast.walk(tree))
    called = {id(node.func): node for node in nodes if isinstance(node, ast.Call)}
    changed_names = {
        _last_name(target)
        for node in nodes
        if isinstance(node, ast.Assign) and lines & _lines_of(node)
        for target in node.targets
    }
    own = _own_functions(tree)
    found = []
    for node in nodes:
        name, line = _running_name(node), getattr(node, "lineno", 1)
        call = called.get(id(node))
        code = call.args[0] if call and call.args else None
        words = _hidden_words(node, name, call, code) if name else ""
        is_changed = bool(lines & _lines_of(call or node)) or _last_name(code) in changed_names
        if words and is_changed and line <= own.get(name, line):
            found.append((line, words))
    return sorted(found)


def _own_functions(tree: ast.Module) -> dict[str, int]:
    """The lines of functions and classes of the module; a deleted one is none."""
    deleted = {
        _last_name(target)
        for node in ast.walk(tree)
        if isinstance(node, ast.Delete)
        for target in node.targets
    }
    defined = (
        one
        for one in tree.body
        if isinstance(one, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef)
    )
    return {one.name: one.lineno for one in defined if one.name not in deleted}


def _running_name(node: ast.AST) -> str:
    """`exec` or `eval` of Python itself, not a method of that name; else empty."""
    match node:
        case ast.Name("exec" | "eval" as name, ast.Load()):
            return str(name)
        case ast.Attribute(ast.Name("builtins" | "__builtins__"), "exec" | "eval" as name):
            return str(name)
        case _:
            return ""


def _hidden_words(node: ast.AST, name: str, call: ast.Call | None, code: ast.expr | None) -> str:
    """Empty for a text that is mutated."""
    if isinstance(node, ast.Attribute):
        return f"builtins.{name}"
    if call is None:
        return f"{name} under another name"
    if code is not None and fold_text(code) is not None:
        return ""
    return f"{name} of a name" if isinstance(code, ast.Name) else f"{name} of a computed text"


def _lines_of(node: ast.AST) -> frozenset[int]:
    first = getattr(node, "lineno", 0)
    return frozenset(range(first, (getattr(node, "end_lineno", None) or first) + 1))


class _Source:
    def __init__(self, text: str, lines: frozenset[int]) -> None:
        self._lines = lines
        self._text = [line.encode() for line in text.split("\n")]
        self._starts = [0]
        for line in text.split("\n"):
            self._starts.append(self._starts[-1] + len(line) + 1)

    # ------------------------------------------------------------------ statements

    def statements(self, body: Sequence[ast.stmt], *, inside: bool) -> Iterator[Edit]:
        """`inside`: of a function.  Outside, a removed value would only break the import."""
        for statement in body:
            yield from self._statement(statement, inside)

    def _statement(self, node: ast.stmt, inside: bool) -> Iterator[Edit]:
        match node:
            case ast.FunctionDef() | ast.AsyncFunctionDef():
                if not _UNTESTED_DECORATORS & {_last_name(one) for one in node.decorator_list}:
                    yield from self._expressions([*node.args.defaults, *node.args.kw_defaults])
                    yield from self.statements(node.body, inside=True)
            case ast.ClassDef():
                yield from self.statements(node.body, inside=False)
            case ast.If() | ast.While():
                yield from self._branch(node, inside)
            case ast.For() | ast.AsyncFor():
                yield from self._expression(node.iter)
                yield from self.statements([*node.body, *node.orelse], inside=inside)
            case ast.With() | ast.AsyncWith():
                yield from self._expressions(item.context_expr for item in node.items)
                yield from self.statements(node.body, inside=inside)
            case ast.Try() | ast.TryStar():
                handlers = [each for handler in node.handlers for each in handler.body]
                every = [*node.body, *handlers, *node.orelse, *node.finalbody]
                yield from self.statements(every, inside=inside)
            case ast.Match():
                yield from self._expression(node.subject)
                for case in node.cases:
                    yield from self._expressions([case.guard])
                    yield from self.statements(case.body, inside=inside)
            case _:
                yield from self._simple(node, inside)

    def _branch(self, node: ast.If | ast.While, inside: bool) -> Iterator[Edit]:
        if _is_for_others(node.test):
            yield from self.statements(node.orelse, inside=inside)
            return
        if not isinstance(node.test, ast.Compare | ast.BoolOp | ast.UnaryOp | ast.Constant):
            yield from self._replace(node.test, ast.UnaryOp(ast.Not(), node.test), Rank.OPERATOR)
        if isinstance(node.test, ast.Compare) and _is_clamp(node.test, node.body):
            yield from self._compared(node.test, boundary=False)
        elif not isinstance(node.test, ast.Constant):
            yield from self._expression(node.test)
        yield from self.statements([*node.body, *node.orelse], inside=inside)

    def _simple(self, node: ast.stmt, inside: bool) -> Iterator[Edit]:
        match node:
            case ast.Return(value) if value is not None:
                if not isinstance(value, ast.Constant) or _is_text(value):
                    yield from self._edit(value, "None", Rank.STATEMENT, "it returns None")
                yield from self._expression(value)
            case ast.Raise(error) if inside and _last_name(error) != "NotImplementedError":
                yield from self._remove(node)
            case ast.Assert(test) if _has_effect(test):
                yield from self._expression(test)
            case ast.Expr(ast.Call() as call) if not _is_for_people(call):
                if inside:
                    yield from self._remove(node)
                yield from self._expression(call)
            case ast.Expr(ast.Await() | ast.Yield() | ast.YieldFrom() as value):
                yield from self._expression(value)
            case ast.Assign(targets, value) if not _is_dunder(targets[0]):
                yield from self._assigned(value, inside)
            case ast.AnnAssign(target, _, value) if value and not _is_dunder(target):
                yield from self._assigned(value, inside)
            case ast.AugAssign(target, operator, value):
                yield from self._augmented(node, target, operator, value)
            case ast.Break():
                yield from self._edit(node, "continue", Rank.CONSTANT, becomes("break", "continue"))
            case ast.Continue():
                yield from self._edit(node, "break", Rank.CONSTANT, becomes("continue", "break"))
            case _:
                pass

    def _assigned(self, value: ast.expr, inside: bool) -> Iterator[Edit]:
        if not inside and _is_type_expression(value):
            return
        yield from self._expression(value)
        if inside and not isinstance(value, ast.Constant):
            fault = becomes(ast.unparse(value), "None")
            yield from self._edit(value, "None", Rank.CONSTANT, fault)

    def _augmented(
        self, node: ast.stmt, target: ast.expr, operator: ast.operator, value: ast.expr
    ) -> Iterator[Edit]:
        if other := OPERATORS.get(type(operator)):
            new = ast.unparse(ast.AugAssign(target, other(), value))  # type: ignore[arg-type]
            yield from self._edit(node, new, Rank.OPERATOR, becomes(ast.unparse(node), new))
        yield from self._expression(value)

    def _remove(self, node: ast.stmt) -> Iterator[Edit]:
        yield from self._edit(node, "pass", Rank.STATEMENT, is_removed(ast.unparse(node)))

    # ------------------------------------------------------------------ expressions

    def _expressions(self, nodes: Iterable[ast.expr | None]) -> Iterator[Edit]:
        for node in nodes:
            if node is not None:
                yield from self._expression(node)

    def _expression(self, node: ast.expr) -> Iterator[Edit]:
        match node:
            case ast.Call() if _is_for_people(node) or _last_name(node.func) in _TYPE_CALLS:
                return
            case ast.Call(ast.Name("exec" | "eval"), [code, *_]) if fold_text(code) is not None:
                yield from self._executed(node, code)
                return
            case ast.Call():
                yield from self._expressions([node.func, *node.args])
                for keyword in node.keywords:
                    if not any(word in (keyword.arg or "") for word in _TIMES):
                        yield from self._expression(keyword.value)
                return
            case ast.JoinedStr():
                # Before Python 3.12 the positions inside are wrong.
                return
            case ast.Constant():
                yield from self._constant(node)
            case ast.Compare():
                yield from self._compared(node)
            case ast.BoolOp():
                other = ast.Or() if isinstance(node.op, ast.And) else ast.And()
                yield from self._replace(node, ast.BoolOp(other, node.values), Rank.OPERATOR)
            case ast.UnaryOp(ast.Not(), operand):
                yield from self._replace(node, operand, Rank.OPERATOR)
            case ast.UnaryOp(ast.USub(), operand) if not isinstance(operand, ast.Constant):
                yield from self._replace(node, operand, Rank.BOUNDARY)
            case ast.BinOp(left, ast.Mod(), _) if _is_text(left):
                return
            case ast.BinOp(left, operator, right) if other_one := OPERATORS.get(type(operator)):
                yield from self._replace(node, ast.BinOp(left, other_one(), right), Rank.OPERATOR)
            case ast.IfExp(test, body, orelse):
                yield from self._replace(node, ast.IfExp(test, orelse, body), Rank.OPERATOR)
            case ast.Lambda():
                yield from self._expression(node.body)
                return
            case _:
                pass
        yield from self._expressions(_inner_expressions(node))

    def _executed(self, call: ast.Call, code: ast.expr) -> Iterator[Edit]:
        """The faults of a program in a text, each as another text."""
        start = "_ = " if _last_name(call) == "eval" else ""
        text = start + (fold_text(code) or "").lstrip()
        for edit in python_edits(text, frozenset(range(1, text.count("\n") + 2))):
            new = edit.apply(text).removeprefix(start)
            yield from self._edit(code, repr(new), edit.rank, edit.fault)

    def _constant(self, node: ast.Constant) -> Iterator[Edit]:
        value = node.value
        if isinstance(value, bool):
            yield from self._replace(node, ast.Constant(not value), Rank.BOUNDARY)
        elif isinstance(value, int | float):
            yield from self._replace(node, ast.Constant(value + 1), Rank.CONSTANT)

    def _compared(self, node: ast.Compare, *, boundary: bool = True) -> Iterator[Edit]:
        tables = ((_NEGATED, Rank.OPERATOR), (_BOUNDARY, Rank.BOUNDARY))
        for table, rank in tables if boundary else tables[:1]:
            for at, operator in enumerate(node.ops):
                if other := table.get(type(operator)):
                    ops = [*node.ops[:at], other(), *node.ops[at + 1 :]]
                    new = ast.Compare(node.left, ops, node.comparators)
                    yield from self._replace(node, new, rank)

    # ------------------------------------------------------------------ edits

    def _replace(self, node: ast.expr, new: ast.expr, rank: Rank) -> Iterator[Edit]:
        code = ast.unparse(new)
        written = code if isinstance(new, ast.Constant) else f"({code})"
        yield from self._edit(node, written, rank, becomes(ast.unparse(node), code))

    def _edit(self, node: ast.expr | ast.stmt, code: str, rank: Rank, fault: str) -> Iterator[Edit]:
        if node.lineno not in self._lines or node.end_lineno is None:
            return
        start = self._offset(node.lineno, node.col_offset)
        end = self._offset(node.end_lineno, node.end_col_offset or 0)
        yield Edit(node.lineno, rank, start, end, code, fault)

    def _offset(self, line: int, column: int) -> int:
        """Columns of the syntax tree count bytes."""
        before = self._text[line - 1][:column].decode()
        return self._starts[line - 1] + len(before)


def _inner_expressions(node: ast.expr) -> Iterator[ast.expr]:
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.expr):
            yield child
        elif isinstance(child, ast.comprehension):
            yield from (child.iter, *child.ifs)


def _is_text(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and isinstance(node.value, str | bytes)


def _last_name(node: ast.AST | None) -> str:
    """`TypeVar` of `typing.TypeVar("T")`."""
    if isinstance(node, ast.Call):
        return _last_name(node.func)
    return str(getattr(node, "attr", getattr(node, "id", "")))


def _is_log_call(node: ast.Call) -> bool:
    called = node.func
    if isinstance(called, ast.Attribute):
        owner = _last_name(called.value).lower()
        return called.attr in _LOG_METHODS and (owner in _LOG_OWNERS or owner.endswith("logger"))
    return _last_name(called) in {"print", "sleep"}


def _is_for_people(node: ast.Call) -> bool:
    """A call for logging whose arguments change nothing."""
    return _is_log_call(node) and not any(map(_has_effect, ast.iter_child_nodes(node)))


def _has_effect(node: ast.AST) -> bool:
    """Does it bind a name, or call a method that changes its object?"""
    return any(
        isinstance(one, ast.NamedExpr)
        or (isinstance(one, ast.Call) and _last_name(one) in _CHANGING_CALLS)
        for one in ast.walk(node)
    )


def _is_dunder(target: ast.expr) -> bool:
    name = _last_name(target)
    return name.startswith("__") and name.endswith("__")


def _is_for_others(test: ast.expr) -> bool:
    """Code for type checkers or for the start as a program."""
    words = {_last_name(node) for node in ast.walk(test)}
    return bool(words & {"TYPE_CHECKING", "__name__", "version_info"})


def _is_clamp(test: ast.Compare, body: Sequence[ast.stmt]) -> bool:
    """`if rate > 50: rate = 50`: at the boundary both ways give the same."""
    value = getattr(body[0], "value", None) if len(body) == 1 else None
    operands = {ast.dump(one) for one in (test.left, *test.comparators)}
    return value is not None and ast.dump(value) in operands


def _is_type_expression(value: ast.expr) -> bool:
    """`int | None` and `Mapping[str, int]`: values of modules and classes for type checkers."""
    if isinstance(value, ast.BinOp):
        return isinstance(value.op, _BIT_OPERATORS)
    return isinstance(value, ast.Subscript)
