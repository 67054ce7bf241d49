"""A Python file as named units: what each test, helper and the module itself asserts.

The last binding of a name counts, as in Python: a test that is defined again below, assigned over,
deleted, or set on its class is not the same test.
"""

from __future__ import annotations

import ast
import copy
from collections.abc import Iterator, Sequence
from dataclasses import field
from functools import cached_property

from yaoki.core.lazy_dataclass import dataclass
from yaoki.formats.quality.definition.assertions import (
    Assertion,
    AssertionKind,
    is_empty,
    live_assertions,
    table_rows,
)
from yaoki.formats.quality.definition.references import IMPORT
from yaoki.formats.quality.python import parse_python
from yaoki.formats.quality.python_suites import last_name, never_holds, surely_holds

MODULE = "<module>"
_CHANGES = frozenset(
    {"update", "setdefault", "pop", "popitem", "clear", "__setitem__", "__delitem__"}
)
_FUNCTION = (ast.FunctionDef, ast.AsyncFunctionDef)
FunctionNode = ast.FunctionDef | ast.AsyncFunctionDef


class CodeUnit:
    """A function, or the statements of the module itself.

    Most units of a changed file are unchanged, and their `text` shows it: everything else is
    computed only when needed.
    """

    def __init__(
        self, name: str, body: Sequence[ast.stmt], text: str, own: FunctionNode | None
    ) -> None:
        self.name, self.text = name, text
        self._body, self.node = body, own

    @cached_property
    def never_runs_because(self) -> str:
        """The reason why nothing in this function ever runs as a test."""
        return _unfit(self.node) if self.node is not None else ""

    @cached_property
    def assertions(self) -> tuple[Assertion, ...]:
        if self.never_runs_because:
            return ()
        cases = _cases(self.node) if self.node is not None else ()
        return (*cases, *live_assertions(self._body))

    @cached_property
    def statements(self) -> tuple[str, ...]:
        return tuple(ast.unparse(one) for one in self._body if not _is_words(one))

    @cached_property
    def decorators(self) -> tuple[str, ...]:
        nodes = self.node.decorator_list if self.node is not None else ()
        return tuple(ast.unparse(one) for one in nodes)

    @cached_property
    def shape(self) -> str:
        """The content without comments, documentation and formatting."""
        args = ast.unparse(self.node.args) if self.node is not None else ""
        return "\n".join((*self.decorators, args, *self.statements))

    @cached_property
    def constants(self) -> frozenset[str]:
        nodes = (n for one in self._body for n in ast.walk(one))
        return frozenset(repr(n.value) for n in nodes if isinstance(n, ast.Constant))


@dataclass(slots=True)
class PythonSource:
    """`bases`: of each class, by last name.  `values`: named constants of the module.

    `replaced`: statements that rebind a name that is not the file's own.
    """

    units: dict[str, CodeUnit] = field(default_factory=dict)
    bases: dict[str, tuple[str, ...]] = field(default_factory=dict)
    values: dict[str, tuple[Assertion, ...]] = field(default_factory=dict)
    replaced_names: list[tuple[str, int]] = field(default_factory=list)
    imported_names: dict[str, str] = field(default_factory=dict)
    module_statements: tuple[str, ...] = ()
    tree: ast.Module | None = None


def parse_source(text: str) -> PythonSource:
    """A text that cannot be parsed has no units."""
    tree = parse_python(text)
    return _read(tree, text.splitlines()) if tree is not None else PythonSource()


def _read(tree: ast.Module, lines: Sequence[str]) -> PythonSource:
    source = PythonSource(tree=tree)
    try:
        tree = inline_tables(tree)
        source.imported_names = _imported("\n".join(lines))
        _block(tree.body, "", source, lines)
        plain = [n for n in tree.body if not isinstance(n, (*_FUNCTION, ast.ClassDef))]
        rest = [n for n in plain if not _is_import(n) and not _is_words(n)]
        source.module_statements = tuple(ast.unparse(n) for n in rest)
        source.units[MODULE] = CodeUnit(MODULE, rest, "\n".join(source.module_statements), None)
        source.replaced_names += _rebound_names(rest, source)
    except RecursionError:
        return PythonSource()
    return source


def _is_import(node: ast.stmt) -> bool:
    return isinstance(node, (ast.Import, ast.ImportFrom))


def _is_words(node: ast.stmt) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)


def _imported(text: str) -> dict[str, str]:
    """Every name that an import binds, and its module."""
    modules = {}
    for module, names, plain in IMPORT.findall(text):
        for name, _, other in (word.strip().partition(" as ") for word in plain.split(",")):
            modules[other.strip() or name.partition(".")[0]] = name
        for word in names.strip("()\\ ").split(",") if module else ():
            name, _, other = word.partition("#")[0].strip(" \n\t()\\").partition(" as ")
            modules[other.strip() or name] = f"{module}.{name}"
    return {name: module for name, module in modules.items() if name}


# ------------------------------------------------------------------ named tables


def inline_tables(tree: ast.Module) -> ast.Module:
    """The tree with the named tables of the module written where tests walk through them."""
    tables: dict[str, ast.expr] = {}
    for node in tree.body:
        if isinstance(node, ast.Assign) and isinstance(node.value, (ast.List, ast.Tuple)):
            for target in node.targets:
                if isinstance(target, ast.Name):
                    tables[target.id] = node.value
    return _TableWriter(tables).visit(copy.deepcopy(tree)) if tables else tree


class _TableWriter(ast.NodeTransformer):
    def __init__(self, tables: dict[str, ast.expr]) -> None:
        self.tables = tables

    def visit_For(self, node: ast.For) -> ast.For:
        node.iter = self._table(node.iter)
        self.generic_visit(node)
        return node

    def visit_Call(self, node: ast.Call) -> ast.Call:
        if last_name(node.func) == "parametrize":
            node.args = [self._table(arg) for arg in node.args]
        self.generic_visit(node)
        return node

    def _table(self, node: ast.expr) -> ast.expr:
        return self.tables.get(node.id, node) if isinstance(node, ast.Name) else node


# ------------------------------------------------------------------ bindings


def _block(
    body: Sequence[ast.stmt], owner: str, source: PythonSource, lines: Sequence[str]
) -> None:
    for node in body:
        if isinstance(node, _FUNCTION):
            _forget(source, f"{owner}{node.name}")
            name = f"{owner}{node.name}"
            source.units[name] = CodeUnit(name, node.body, _source_text(node, lines), node)
        elif isinstance(node, ast.ClassDef):
            _forget(source, f"{owner}{node.name}")
            source.bases[f"{owner}{node.name}"] = tuple(last_name(base) for base in node.bases)
            _block(node.body, f"{owner}{node.name}.", source, lines)
        elif isinstance(node, ast.If):
            _block([] if never_holds(node.test) else node.body, owner, source, lines)
            _block([] if surely_holds(node.test) else node.orelse, owner, source, lines)
        elif isinstance(node, (ast.Try, ast.With)):
            _block(node.body, owner, source, lines)
        else:
            _bind(node, owner, source)


def _bind(node: ast.stmt, owner: str, source: PythonSource) -> None:
    """Assignments and deletions: a name they affect is no longer a function."""
    targets: list[ast.expr] = []
    value: ast.expr | None = None
    match node:
        case ast.Assign():
            targets, value = list(node.targets), node.value
        case ast.AnnAssign():
            targets, value = [node.target], node.value
        case ast.Delete():
            targets = list(node.targets)
        case ast.Expr(value=ast.Call(func=func, args=[first, ast.Constant(value=str(name)), *_])):
            if last_name(func) in ("setattr", "delattr"):
                _forget(source, f"{owner}{last_name(first)}.{name}")
            return
        case _:
            return
    for target in targets:
        _rebind(target, value, owner, source)


def _rebind(target: ast.expr, value: ast.expr | None, owner: str, source: PythonSource) -> None:
    if isinstance(target, ast.Attribute):
        _forget(source, f"{owner}{last_name(target.value)}.{target.attr}")
    elif isinstance(target, ast.Name):
        _forget(source, f"{owner}{target.id}")
        if value is not None:
            rows = tuple(table_rows(value)) if not is_empty(value) else ()
            plain = isinstance(value, ast.Constant)
            source.values[f"{owner}{target.id}"] = rows or (_value(value) if plain else ())


def _value(node: ast.expr) -> tuple[Assertion, ...]:
    text = ast.unparse(node)
    return (Assertion(text, AssertionKind.ROW, frozenset({text}), frozenset(), node.lineno),)


def _forget(source: PythonSource, name: str) -> None:
    for known in [k for k in source.units if k == name or k.startswith(f"{name}.")]:
        del source.units[known]


def _source_text(node: FunctionNode, lines: Sequence[str]) -> str:
    first = min((one.lineno for one in node.decorator_list), default=node.lineno)
    return "\n".join(lines[first - 1 : node.end_lineno])


def _cases(node: FunctionNode) -> Iterator[Assertion]:
    """The rows of `parametrize`, and the tables of other decorators."""
    for decorator in node.decorator_list:
        if isinstance(decorator, ast.Call) and last_name(decorator) in ("parametrize", "expand"):
            for arg in (*decorator.args[-1:], *(k.value for k in decorator.keywords)):
                yield from table_rows(arg)


def _unfit(node: FunctionNode) -> str:
    if node.name.startswith("test"):
        own = _own_nodes(node)
        if any(isinstance(inner, (ast.Yield, ast.YieldFrom)) for inner in own):
            return "it became a generator, which no runner runs"
    empty = (d for d in node.decorator_list if isinstance(d, ast.Call) and len(d.args) > 1)
    if any(last_name(d) == "parametrize" and is_empty(d.args[1]) for d in empty):
        return "its table of cases is empty"
    return ""


def _own_nodes(node: FunctionNode) -> Iterator[ast.AST]:
    todo: list[ast.AST] = list(node.body)
    while todo:
        one = todo.pop()
        yield one
        if not isinstance(one, (*_FUNCTION, ast.Lambda, ast.ClassDef)):
            todo += ast.iter_child_nodes(one)


# ------------------------------------------------------------------ replaced names


def _rebound_names(body: Sequence[ast.stmt], source: PythonSource) -> Iterator[tuple[str, int]]:
    """Names of other modules that the file rebinds when it is loaded."""
    for node in (inner for one in body for inner in ast.walk(one)):
        if isinstance(node, (ast.Assign, ast.AugAssign, ast.Delete)):
            targets = node.targets if not isinstance(node, ast.AugAssign) else [node.target]
            for target in targets:
                if words := _foreign(target, source):
                    yield words, node.lineno
        elif isinstance(node, ast.Call) and node.args:
            name = last_name(node.func)
            first = node.args[0]
            if name in ("setattr", "delattr") and _root(first) in source.imported_names:
                yield ast.unparse(node)[:120], node.lineno
        if isinstance(node, ast.Call) and _updated_namespace(node) in source.imported_names:
            yield f"{_updated_namespace(node)}.__dict__", node.lineno


def _foreign(target: ast.expr, source: PythonSource) -> str:
    if isinstance(target, ast.Attribute) and _root(target) in source.imported_names:
        return ast.unparse(target)
    if isinstance(target, ast.Subscript):
        if (owner := _namespace_owner(target.value)) in source.imported_names:
            return f"{owner}.__dict__"
        text = ast.unparse(target)
        if text.startswith(("sys.modules[", "globals()[", "builtins.", "__builtins__")):
            return text
    return ""


def _updated_namespace(call: ast.Call) -> str:
    """The module whose names `vars(calc).update(…)` or `calc.__dict__.pop(…)` changes."""
    func = call.func
    is_change = isinstance(func, ast.Attribute) and func.attr in _CHANGES
    return _namespace_owner(func.value) if is_change and isinstance(func, ast.Attribute) else ""


def _namespace_owner(node: ast.expr) -> str:
    match node:
        case ast.Call(func=ast.Name(id="vars"), args=[owner]):
            return _root(owner)
        case ast.Attribute(attr="__dict__", value=owner):
            return _root(owner)
        case _:
            return ""


def _root(node: ast.expr) -> str:
    while isinstance(node, (ast.Attribute, ast.Subscript, ast.Call)):
        node = node.func if isinstance(node, ast.Call) else node.value
    return node.id if isinstance(node, ast.Name) else ""


def find_replaced_names(node: ast.AST, imported: dict[str, str]) -> Iterator[str]:
    """Find names that a function rebinds: hooks and fixtures run for every test."""
    source = PythonSource(imported_names=imported)
    body = [one for one in ast.iter_child_nodes(node) if isinstance(one, ast.stmt)]
    yield from (words for words, _ in _rebound_names(body, source))
