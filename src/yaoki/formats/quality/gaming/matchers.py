"""Objects of libraries that equal everything, and that a program gives as its result.

Tests compare calls with them (`unittest.mock.ANY`); a program has no use for them.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping

from yaoki.formats.quality.gaming.literals import fold_text
from yaoki.formats.quality.gaming.scopes import dotted

EQUALS_EVERYTHING = "gives a value that is equal to everything; compute the result"
# The matchers of these libraries, by module; a program may also find the module in `sys.modules`.
_MATCHERS: Mapping[str, frozenset[str]] = {
    "unittest.mock": frozenset({"ANY", "_ANY"}),
    "mock": frozenset({"ANY", "_ANY"}),
    "test.support": frozenset({"ALWAYS_EQ", "_ALWAYS_EQ"}),
    "hamcrest": frozenset({"anything", "IsAnything"}),
    "dirty_equals": frozenset({"AnyThing"}),
    "callee": frozenset({"Any"}),
}


def find_in_python(tree: ast.Module) -> Iterator[tuple[ast.AST, str]]:
    nodes = list(ast.walk(tree))
    imported = {
        f"{one.module}.{alias.name}"
        for one in nodes
        if isinstance(one, ast.ImportFrom) and one.module and not one.level
        for alias in one.names
    }
    modules = {alias.name for one in nodes if isinstance(one, ast.Import) for alias in one.names}
    texts = {text for one in nodes if (text := fold_text(one)) is not None and "." in text}
    used = {f"{one}." for one in (*imported, *modules, *texts)}
    known = [name for name in _MATCHERS if any(one.startswith(f"{name}.") for one in used)]
    wanted = frozenset[str]().union(*(_MATCHERS[name] for name in known))
    for node in nodes if wanted else ():
        if _names_matcher(node, wanted, known):
            yield node, EQUALS_EVERYTHING


def _names_matcher(node: ast.AST, wanted: frozenset[str], known: list[str]) -> bool:
    match node:
        case ast.ImportFrom(module=str(module), names=aliases, level=0):
            given = _MATCHERS.get(module, frozenset()) if module in known else frozenset()
            return any(alias.name in given for alias in aliases)
        case ast.Attribute(attr=attr):
            return attr in wanted and dotted(node.value).rpartition(".")[2] != "self"
        case ast.Constant(value=str(text)):
            return text in wanted
        case _:
            return False
