"""Python code that a program has as a text and runs by `exec`, `eval` or `compile`.

What it defines is a part of the program, so the tell-tales read it as well.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from yaoki.formats.quality.gaming.literals import fold_text
from yaoki.formats.quality.gaming.scopes import dotted
from yaoki.formats.quality.python import parse_python

_RUNS = frozenset({"exec", "eval", "compile"})
_OWNERS = frozenset({"builtins", "__builtins__"})
TEXTS_MAX, DEPTH_MAX = 100, 3
# Shorter texts define nothing.
_CHARS_MIN = len("def f():0")


def runs_composed_code(node: ast.AST) -> bool:
    """`exec`, `builtins.exec`; not `re.compile`, nor a method of the same name."""
    if isinstance(node, ast.Name):
        return node.id in _RUNS
    name = dotted(node) if isinstance(node, ast.Attribute) else ""
    return name.rpartition(".")[0] in _OWNERS and name.rpartition(".")[2] in _RUNS


def parse_composed_code(tree: ast.Module, depth: int = DEPTH_MAX) -> Iterator[ast.Module]:
    """The texts of a program that are code with a definition, at the lines where they begin."""
    nodes = list(ast.walk(tree))
    if not depth or not any(map(runs_composed_code, nodes)):
        return
    texts = ((node, fold_text(node)) for node in nodes)
    wanted = [
        (node, text) for node, text in texts if text and len(text) >= _CHARS_MIN and "_" in text
    ]
    for node, text in wanted[:TEXTS_MAX]:
        inner = parse_python(text)
        if inner is None or not any(isinstance(one, _DEFINITION) for one in ast.walk(inner)):
            continue
        moved = ast.parse(text)
        for one in ast.walk(moved):
            if hasattr(one, "lineno"):
                one.lineno = getattr(node, "lineno", 1)
        yield moved
        yield from parse_composed_code(moved, depth - 1)


_DEFINITION = (ast.ClassDef, ast.FunctionDef, ast.Lambda, ast.Assign)
