"""Tests of nothing but what the goal of the task asks to remove from the program.

Every assertion of such a test is about the removed name, and the test uses no other name of the
program: otherwise it also checks something that is still there.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator, Mapping

from yaoki.core.lazy_dataclass import dataclass
from yaoki.core.lazy_pattern import lazy_compile
from yaoki.formats.quality.definition.file_index import FileIndex
from yaoki.formats.quality.definition.goal_sentences import HELPERS
from yaoki.formats.quality.definition.product import REACHES_OUT
from yaoki.formats.quality.definition.program_names import ProgramName, code_of, is_javascript
from yaoki.formats.quality.definition.references import module_paths, python_imports
from yaoki.formats.quality.definition.shapes import assertions_of_test, body_of_test, span_of_test
from yaoki.formats.quality.definition.units import CodeUnit, PythonSource
from yaoki.formats.quality.python_suites import last_name

_RUNS_CODE = frozenset({"exec", "eval", "compile", "__import__", "globals", "locals", "vars"})
_NAME = lazy_compile(r"(?<![\w$])[A-Za-z_$][\w$]*")
_JS_IMPORT = lazy_compile(
    r"(?:\bimport\s+(?:type\s+)?([^'\"`;]{1,2000}?)\s+from\s*|\b(?:const|let|var)\s+([^=;]{1,2000}?)"
    r"\s*=\s*require\s*\(\s*)['\"`](\.[^'\"`\n]{0,300})['\"`]"
)
_JS_MEMBER = lazy_compile(r"(?<![\w$.])([\w$]+)\s*\.\s*([\w$]+)")
_JS_CALL = lazy_compile(r"(?<![\w$.])([A-Za-z_$][\w$]*)\s*\(")
# Everything else may be a function of the test file that uses the program.
_JS_KNOWN_CALLS = frozenset(
    {
        "expect",
        "assert",
        "strictEqual",
        "deepStrictEqual",
        "equal",
        "deepEqual",
        "throws",
        "rejects",
    }
    | {"ok", "async", "function", "Number", "String", "BigInt", "Array", "if", "for"}
)


@dataclass(frozen=True, slots=True)
class RemovedSubject:
    """A name that is gone, as the goal asks, and the tree of the base."""

    name: ProgramName
    base: FileIndex

    def covers(self, path: str, unit: CodeUnit, source: PythonSource) -> bool:
        """Is the Python test about this name alone?"""
        if is_javascript(self.name.path) or unit.node is None or REACHES_OUT.search(unit.text):
            return False
        return _PythonTest(self, path, unit, source).is_about_it()

    def covers_javascript(self, path: str, title: str, text: str) -> bool:
        if not is_javascript(self.name.path) or not is_javascript(path):
            return False
        body = body_of_test(text, title)
        code = code_of(path, body)
        names = set(_NAME.findall(code))
        imported, modules = _js_imports(text)
        members = _JS_MEMBER.findall(code)
        others = {attr for root, attr in members if root in modules} | (names & imported)
        others |= {name for name in names & modules if re.search(_alone(name), code)}
        asked = assertions_of_test(body)
        return (
            bool(asked)
            and others == {self.name.bare}
            and set(_JS_CALL.findall(code)) <= _JS_KNOWN_CALLS | {self.name.bare}
            and all(self.name.bare in one for one in asked)
        )


def without_tests(text: str, titles: Iterable[str], subjects: Iterable[RemovedSubject]) -> str:
    """A JavaScript test file without these tests and without the names in its imports."""
    for title in titles:
        text = text.replace(span_of_test(text, title), "", 1)
    for one in subjects:
        name = re.escape(one.name.bare)
        listed = re.compile(rf"(?:,\s*{name}(?![\w$])|(?<![\w$]){name}\s*,\s*)")
        for found in reversed(list(_JS_IMPORT.finditer(text))):
            text = text[: found.start()] + listed.sub("", found[0], count=1) + text[found.end() :]
    return text


def _alone(name: str) -> str:
    return rf"(?<![\w$.]){re.escape(name)}(?![\w$])(?!\s*\.)"


def _js_imports(text: str) -> tuple[set[str], set[str]]:
    """Names from files of the repository, and the names of such files as a whole."""
    names: set[str] = set()
    modules: set[str] = set()
    for imported, required, _ in _JS_IMPORT.findall(text):
        bound = (imported or required).strip()
        listed = re.search(r"\{([^{}]*)\}", bound)
        if listed:
            names |= {
                one.split()[-1].rpartition(":")[2] for one in listed[1].split(",") if one.strip()
            }
        modules |= set(_NAME.findall(re.sub(r"\{[^{}]*\}|\*\s*as\b", " ", bound)))
    return names, modules


class _PythonTest:
    def __init__(
        self, subject: RemovedSubject, path: str, unit: CodeUnit, source: PythonSource
    ) -> None:
        self.subject, self.path, self.unit, self.source = subject, path, unit, source
        assert unit.node is not None
        self.node = unit.node
        self.values = dict(_assigned(unit.node))
        self.parameters = {arg.arg for arg in ast.walk(unit.node.args) if isinstance(arg, ast.arg)}

    def is_about_it(self) -> bool:
        checks = list(self._checks(self.node.body))
        return (
            bool(checks)
            and all(self._mentions(one, frozenset()) for one in checks)
            and not any(self._is_foreign(one) for one in self._nodes())
        )

    def _nodes(self) -> Iterator[ast.AST]:
        for one in (*self.node.decorator_list, *self.node.body):
            yield from ast.walk(one)

    def _checks(self, body: list[ast.stmt]) -> Iterator[ast.AST]:
        """What can fail: assertions, blocks that expect an exception, and bare calls."""
        for node in body:
            match node:
                case ast.With(items=items) | ast.AsyncWith(items=items) if any(
                    last_name(item.context_expr) != "subTest" for item in items
                ):
                    yield node
                case ast.Expr(value=ast.Constant()):
                    continue
                case ast.Assert() | ast.Expr() | ast.Raise():
                    yield node
                case _:
                    yield from self._checks(_inner_statements(node))

    def _mentions(self, node: ast.AST, seen: frozenset[str]) -> bool:
        """Does it use the removed name, itself or through a variable of the test?"""
        for one in ast.walk(node):
            if _name_of(one) == self.subject.name.bare:
                return True
            if isinstance(one, ast.Name) and one.id in self.values and one.id not in seen:
                inner = seen | {one.id}
                if any(self._mentions(value, inner) for value in self.values[one.id]):
                    return True
        return False

    def _is_foreign(self, node: ast.AST) -> bool:
        """Is it another name of the program, or a call of something that may use one?"""
        if isinstance(node, ast.Call):
            return not self._is_known_call(node)
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load):
            return self._is_of_program(node.id) and not self._is_own(node.id)
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            is_module = self._is_module(node.value.id)
            return is_module and not self._is_own(node.attr)
        return isinstance(node, (ast.Import, ast.ImportFrom))

    def _is_known_call(self, call: ast.Call) -> bool:
        match call.func:
            case ast.Name(id=name):
                foreign = name in self.source.units or self._is_of_program(name)
                known = name in HELPERS - _RUNS_CODE or name in self.source.imported_names
                return self._is_own(name) or (known and not foreign)
            case ast.Attribute(value=value, attr=name):
                if name == self.subject.name.bare or self._mentions(value, frozenset()):
                    return True
                root = _root(value)
                if root == "self" and name not in self._own_methods():
                    return name.startswith("assert") or name == "subTest"
                is_library = root in self.source.imported_names and not self._is_of_program(root)
                return is_library or self._is_own(name) or isinstance(value, ast.Constant)
            case _:
                return False

    def _own_methods(self) -> set[str]:
        return {name.rpartition(".")[2] for name in self.source.units}

    def _is_own(self, name: str) -> bool:
        """The removed name, its class, or the module that contains it."""
        known = self.subject.name
        parts = {known.bare, *filter(None, known.owner.split("."))}
        return name in parts or self._is_module(name)

    def _is_module(self, name: str) -> bool:
        module = self.source.imported_names.get(name, "")
        return bool(module) and any(module_paths(module.lstrip("."), self.path, self.subject.base))

    def _is_of_program(self, name: str) -> bool:
        if name in self.parameters or name in self.values:
            return False
        module = self.source.imported_names.get(name)
        if module is None:
            return False
        line = f"import {module}" if "." not in module else _import_line(module)
        return any(python_imports(line, self.path, self.subject.base)) or module.startswith(".")


def _import_line(module: str) -> str:
    owner, _, name = module.rpartition(".")
    return f"from {owner or '.'} import {name}"


def _name_of(node: ast.AST) -> str:
    match node:
        case ast.Name(id=name) | ast.Attribute(attr=name):
            return name
        case _:
            return ""


def _root(node: ast.expr) -> str:
    while isinstance(node, (ast.Attribute, ast.Subscript, ast.Call)):
        node = node.func if isinstance(node, ast.Call) else node.value
    return node.id if isinstance(node, ast.Name) else ""


def _inner_statements(node: ast.stmt) -> list[ast.stmt]:
    inner: list[ast.stmt] = []
    for _, value in ast.iter_fields(node):
        for one in value if isinstance(value, list) else ():
            inner += [one] if isinstance(one, ast.stmt) else getattr(one, "body", [])
    return inner


def _assigned(function: ast.AST) -> Mapping[str, list[ast.AST]]:
    """The values that the variables of a test take."""
    values: dict[str, list[ast.AST]] = {}
    pairs: list[tuple[ast.expr, ast.AST]]
    for node in ast.walk(function):
        match node:
            case ast.Assign(targets=targets, value=value):
                pairs = [(target, value) for target in targets]
            case (
                ast.AnnAssign(target=target, value=ast.expr() as value)
                | ast.AugAssign(target=target, value=value)
                | ast.For(target=target, iter=value)
                | ast.NamedExpr(target=target, value=value)
            ):
                pairs = [(target, value)]
            case ast.With(items=items) | ast.AsyncWith(items=items):
                pairs = [(i.optional_vars, node) for i in items if i.optional_vars is not None]
            case _:
                continue
        for target, one in pairs:
            for name in ast.walk(target):
                if isinstance(name, ast.Name):
                    values.setdefault(name.id, []).append(one)
    return values
