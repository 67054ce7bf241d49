"""Which calls in a test run a function of a file, by the imports of the test.

Two functions with the same last name in different modules are different functions.  An import is
followed through modules that pass it on.
"""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from functools import cached_property
from posixpath import dirname, join, normpath

from yaoki.core.lazy_dataclass import dataclass, field
from yaoki.formats.quality.python import parse_python
from yaoki.formats.quality.python_suites import last_name

DEPTH_MAX = 4
_LOADERS = frozenset({"import_module", "__import__"})


@dataclass(frozen=True, slots=True)
class FunctionPlace:
    """`owner`: its class, if it is a method."""

    path: str
    name: str
    owner: str = ""

    @property
    def imported(self) -> str:
        return self.owner or self.name


@dataclass(slots=True)
class Callee:
    """The names that a test has for a function: itself or its class, and its module."""

    place: FunctionPlace
    names: set[str] = field(default_factory=set)
    modules: set[str] = field(default_factory=set)
    others: set[str] = field(default_factory=set)
    is_loaded: bool = False

    @property
    def is_known(self) -> bool:
        return bool(self.names or self.modules or self.is_loaded)

    def is_called_by(self, node: ast.AST) -> bool:
        match node:
            case ast.Call(func=ast.Name(id=name)):
                return not self.place.owner and name in self.names
            case ast.Call(func=ast.Attribute(value=value, attr=self.place.name)):
                text = ast.unparse(value)
                is_any = self.is_loaded or bool(self.place.owner)
                return text in self.modules or (is_any and text not in self.others)
            case _:
                return False


class PythonModules:
    """The Python files of a tree, found by the names under which programs import them."""

    def __init__(self, paths: Iterable[str], read: Callable[[str], str]) -> None:
        self._paths, self._read = [p for p in paths if p.endswith(".py")], read
        self._trees: dict[str, ast.Module | None] = {}

    def callee(self, test: str, tree: ast.Module, place: FunctionPlace) -> Callee:
        """What the test at the path `test` calls the function."""
        result = Callee(place)
        for node in ast.walk(tree):
            if isinstance(node, ast.Import):
                for alias in node.names:
                    self._add_module(result, alias.name, alias.asname or alias.name)
            elif isinstance(node, ast.ImportFrom):
                self._add_names(result, test, node)
            elif isinstance(node, ast.Call) and last_name(node.func) in _LOADERS:
                result.is_loaded |= any(self._gives(path, place) for path in self._loaded(node))
        return result

    def _add_module(self, callee: Callee, module: str, name: str) -> None:
        gives = any(self._gives(path, callee.place) for path in self._files(module))
        (callee.modules if gives else callee.others).add(name)

    def _add_names(self, callee: Callee, test: str, node: ast.ImportFrom) -> None:
        place, files = callee.place, self._sources(test, node)
        for alias in node.names:
            name = place.imported if alias.name == "*" else alias.name
            bound = place.imported if alias.name == "*" else alias.asname or alias.name
            inner = self._sources(test, node, alias.name)
            if any(self._means(path, name, place) for path in files):
                callee.names.add(bound)
            elif any(self._gives(path, place) for path in inner):
                callee.modules.add(bound)
            else:
                callee.others.add(bound)

    def _loaded(self, node: ast.Call) -> Iterator[str]:
        for one in node.args:
            if isinstance(one, ast.Constant) and isinstance(one.value, str):
                yield from self._files(one.value)

    def _gives(self, path: str, place: FunctionPlace) -> bool:
        return self._means(path, place.imported, place)

    def _means(self, path: str, name: str, place: FunctionPlace, depth: int = DEPTH_MAX) -> bool:
        """Is the name, in the file at `path`, the function or its class?"""
        if path == place.path:
            return name == place.imported
        tree = self._tree(path) if depth else None
        for node in ast.walk(tree) if tree is not None else ():
            for alias in node.names if isinstance(node, ast.ImportFrom) else ():
                if alias.name != "*" and (alias.asname or alias.name) != name:
                    continue
                inner = name if alias.name == "*" else alias.name
                files = self._sources(path, node)  # type: ignore[arg-type]
                if any(self._means(one, inner, place, depth - 1) for one in files):
                    return True
        return False

    def _sources(self, path: str, node: ast.ImportFrom, name: str = "") -> list[str]:
        """The files of the module from which the file at `path` imports."""
        module = ".".join(filter(None, (node.module, name)))
        if not node.level:
            return self._files(module)
        folder = join(dirname(path), *[".."] * (node.level - 1), *module.split("."))
        ends = {f"{normpath(folder)}.py", normpath(join(folder, "__init__.py"))}
        return [one for one in self._paths if one in ends]

    def _files(self, module: str) -> list[str]:
        """In any folder, because tests and packages set the search path."""
        tail = "/" + module.replace(".", "/")
        found = self._by_name.get(tail.rpartition("/")[2], ())
        return [one for one in found if f"/{one}".endswith((f"{tail}.py", f"{tail}/__init__.py"))]

    @cached_property
    def _by_name(self) -> dict[str, list[str]]:
        found: dict[str, list[str]] = defaultdict(list)
        for path in self._paths:
            module = path.removesuffix(".py").removesuffix("/__init__")
            found[module.rpartition("/")[2]].append(path)
        return found

    def _tree(self, path: str) -> ast.Module | None:
        if path not in self._trees:
            self._trees[path] = parse_python(self._read(path))
        return self._trees[path]
