"""Python code in scopes: the names and texts that one function or statement uses together."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from yaoki.core.lazy_dataclass import dataclass
from yaoki.formats.quality.gaming.literals import fold_text


@dataclass(frozen=True, slots=True)
class Scope:
    """A top-level function, method or statement with its dotted names and its texts."""

    node: ast.stmt
    names: frozenset[str]
    texts: tuple[str, ...]


def scopes_of(tree: ast.Module) -> Iterator[Scope]:
    for node in tree.body:
        inner = node.body if isinstance(node, ast.ClassDef) else [node]
        for one in inner:
            nodes = [n for n in ast.walk(one) if not _is_docstring(one, n)]
            names = (dotted(n) for n in nodes if is_reference(n))
            texts = (fold_text(n) for n in nodes)
            yield Scope(one, frozenset(names), tuple(t for t in texts if t is not None))


def _is_docstring(owner: ast.stmt, node: ast.AST) -> bool:
    body = getattr(owner, "body", None)
    first = body[0] if isinstance(body, list) and body else None
    return isinstance(first, ast.Expr) and first.value is node


def is_reference(node: ast.AST) -> bool:
    """A name, an attribute, or `getattr` with a constant name."""
    is_lookup = isinstance(node, ast.Call) and dotted(node.func) == "getattr"
    return is_lookup or isinstance(node, ast.Name | ast.Attribute)


def dotted(node: ast.AST | None) -> str:
    match node:
        case ast.Name(id=name):
            return name
        case ast.Attribute(value=value, attr=name):
            return f"{dotted(value)}.{name}"
        case ast.Call(func=ast.Name(id="getattr"), args=[owner, key, *_]) if (
            attribute := fold_text(key)
        ) is not None:
            return f"{dotted(owner)}.{attribute}"
        case ast.Call(func=func):
            return dotted(func)
        case _:
            return ""
