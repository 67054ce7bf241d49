"""Python through its own parser: broken syntax, documentation, and bodies that are only `...`."""

from __future__ import annotations

import ast
import sys
import threading
import warnings
from collections.abc import Iterator
from functools import lru_cache

from yaoki.core.lazy_dataclass import dataclass
from yaoki.core.lazy_pattern import lazy_compile
from yaoki.formats.quality.balance import SyntaxProblem

_ENDLESS = ("was never closed", "unterminated triple-quoted", "unexpected EOF")
# Python's warning filters are global, so one thread at a time may change them.
_QUIET = threading.Lock()
_NEWER = lazy_compile(
    r"\s*type\s+\w+.*=|\s*(?:async\s+)?(?:def|class)\s+\w+\[|\s*except\s[^:]*,|.*\b[tT][rR]?[\"']"
)
_OLD = lazy_compile(r"#![^\n]{0,80}python2")
_EXEMPT_DECORATORS = frozenset(
    {"overload", "abstractmethod", "abstractproperty", "group", "callback", "singledispatch"}
    # Decorators whose docstring is the program: a model or a plug-in fills the body.
    | {"fn", "simple", "prompt", "hookspec", "ai_fn", "singledispatchmethod"}
)
_FUNCTION = (ast.FunctionDef, ast.AsyncFunctionDef)
_TEST_FILE = lazy_compile(r"(?:^|/)(?:tests?/|test_[^/]*\Z|conftest\.py\Z)|_test\.py\Z")


@dataclass(frozen=True, slots=True)
class HollowBody:
    """A place where `...` replaces code that was not written."""

    line: int
    owner: str


@lru_cache(maxsize=16)
def parse_python(text: str) -> ast.Module | None:
    """The syntax tree; None when the text cannot be parsed, for any reason."""
    try:
        return _parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None


def _parse(text: str) -> ast.Module:
    with _QUIET, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return ast.parse(text)


def find_python_problem(text: str) -> SyntaxProblem | None:
    if _OLD.match(text):
        return None
    try:
        _parse(text)
    except SyntaxError as wrong:
        return _problem_of(wrong, text)
    except ValueError as wrong:
        return SyntaxProblem(1, str(wrong))
    except (RecursionError, MemoryError):
        return None
    return None


def _problem_of(wrong: SyntaxError, text: str) -> SyntaxProblem | None:
    line, message = wrong.lineno or 1, str(wrong.msg)
    lines = text.split("\n")
    if _newer(message, lines[min(line, len(lines)) - 1]):
        return None
    last = len(text.rstrip().split("\n"))
    at_end = any(word in message for word in _ENDLESS)
    at_end = at_end or (message.startswith("expected an indented block") and line >= last)
    if at_end:
        message = f"the file ends in the middle: {message}"
    return SyntaxProblem(line, message, at_end)


def _newer(message: str, line: str) -> bool:
    """May this be syntax of a newer Python than ours?"""
    if sys.version_info < (3, 12) and message.startswith("f-string"):
        return True
    generic = ("invalid syntax", "expected '('", "multiple exception types")
    return sys.version_info < (3, 14) and message.startswith(generic) and bool(_NEWER.match(line))


def docstring_lines(tree: ast.Module) -> Iterator[tuple[int, str]]:
    """Documentation is for people, so a mark in it counts as in a comment."""
    for node in ast.walk(tree):
        if isinstance(node, (ast.Module, ast.ClassDef, *_FUNCTION)) and node.body:
            text = _docstring(node.body[0])
            yield from enumerate((text or "").split("\n"), node.body[0].lineno)


def find_hollow_bodies(tree: ast.Module, path: str) -> list[HollowBody]:
    """Functions whose whole body is `...`, and `...` between other statements."""
    if path.endswith(".pyi"):
        return []
    try:
        return list(_in_block(tree.body, "", only_tests=bool(_TEST_FILE.search(path))))
    except RecursionError:
        return []  # nested deeper than people write: generated


def _in_block(body: list[ast.stmt], owner: str, *, only_tests: bool) -> Iterator[HollowBody]:
    if not owner or not only_tests:
        yield from _between(body, owner)
    for node in body:
        name = f"{owner}.{getattr(node, 'name', '')}"
        if isinstance(node, _FUNCTION):
            yield from _in_function(node, name, only_tests=only_tests)
        elif isinstance(node, ast.ClassDef) and not _is_protocol(node):
            yield from _in_block(node.body, name, only_tests=only_tests)
        elif isinstance(node, ast.If) and not _for_types(node.test):
            yield from _in_block(node.body, owner, only_tests=only_tests)
            yield from _in_block(node.orelse, owner, only_tests=only_tests)


def _in_function(
    node: ast.FunctionDef | ast.AsyncFunctionDef, name: str, *, only_tests: bool
) -> Iterator[HollowBody]:
    if only_tests and not node.name.startswith("test"):
        return
    rest = _without_docstring(node.body)
    if rest and all(_is_ellipsis(statement) for statement in rest):
        if not _exempt(node):
            yield HollowBody(rest[0].lineno, name)
        return
    yield from _inside(node.body, name)


def _inside(body: list[ast.stmt], name: str) -> Iterator[HollowBody]:
    """Branches and loops of a real function; functions inside it are often only dummies."""
    yield from _between(body, name)
    for node in body:
        if isinstance(node, (*_FUNCTION, ast.ClassDef)):
            continue
        for inner in _blocks(node):
            if len(inner) == 1 and _is_ellipsis(inner[0]) and _wants_more(node, inner, body):
                yield HollowBody(inner[0].lineno, name)
            yield from _inside(inner, name)


def _wants_more(node: ast.stmt, block: list[ast.stmt], around: list[ast.stmt]) -> bool:
    """A loop or a `with` that names its value and then does nothing with it."""
    match node:
        case ast.If():
            return True
        case ast.Try(body=body):
            return block is body
        case ast.For(target=target) | ast.AsyncFor(target=target):
            return not _used_after(node, target, around)
        case ast.With(items=items) | ast.AsyncWith(items=items):
            return any(item.optional_vars is not None for item in items)
        case _:
            return False


def _used_after(node: ast.stmt, target: ast.expr, around: list[ast.stmt]) -> bool:
    """`for last in items: ...` only advances to the end; so does a loop without a name."""
    names = {one.id for one in ast.walk(target) if isinstance(one, ast.Name)}
    later = around[around.index(node) + 1 :]
    used = {n.id for one in later for n in ast.walk(one) if isinstance(n, ast.Name)}
    return all(name.startswith("_") for name in names) or bool(names & used)


def _blocks(node: ast.stmt) -> Iterator[list[ast.stmt]]:
    for field in ("body", "orelse", "finalbody"):
        block = getattr(node, field, None)
        if isinstance(block, list) and block:
            yield block
    for part in (*getattr(node, "handlers", ()), *getattr(node, "cases", ())):
        yield part.body


def _between(body: list[ast.stmt], owner: str) -> Iterator[HollowBody]:
    """`...` beside statements that do something."""
    rest = _without_docstring(body)
    if any(not _is_ellipsis(statement) for statement in rest):
        yield from (HollowBody(node.lineno, owner) for node in rest if _is_ellipsis(node))


def _without_docstring(body: list[ast.stmt]) -> list[ast.stmt]:
    return body[1:] if body and _docstring(body[0]) is not None else body


def _docstring(node: ast.stmt) -> str | None:
    value = node.value if isinstance(node, ast.Expr) else None
    if isinstance(value, ast.Constant) and isinstance(value.value, str):
        return value.value
    return None


def _is_ellipsis(node: ast.stmt) -> bool:
    value = node.value if isinstance(node, ast.Expr) else None
    return isinstance(value, ast.Constant) and value.value is Ellipsis


def _exempt(node: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    names = {_last_name(decorator) for decorator in node.decorator_list}
    # A command without parameters may exist for its help text only.
    idle = "command" in names and not [a for a in ast.walk(node.args) if isinstance(a, ast.arg)]
    return idle or bool(names & _EXEMPT_DECORATORS)


def _is_protocol(node: ast.ClassDef) -> bool:
    names = [_last_name(base) for base in node.bases]
    return any(name.endswith("Protocol") or name == "Interface" for name in names)


def _for_types(test: ast.expr) -> bool:
    return _last_name(test) == "TYPE_CHECKING"


def _last_name(node: ast.expr) -> str:
    """`typing.Protocol[T]` is a Protocol, `click.group()` a group."""
    while isinstance(node, (ast.Call, ast.Subscript)):
        node = node.func if isinstance(node, ast.Call) else node.value
    if isinstance(node, ast.Attribute):
        return node.attr
    return node.id if isinstance(node, ast.Name) else ""
