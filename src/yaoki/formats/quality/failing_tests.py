"""Makes every test of a Python file fail at its end, and changes nothing else of the file.

At its end, not at its beginning: a test that fails by itself fails as it did before, and code that
hides that failure hides it here, too; code that ends the process inside of a test never comes to
the end.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence

from yaoki.core.lazy_dataclass import dataclass
from yaoki.core.model.failing_tests import FailingTests
from yaoki.formats.quality.gaming.scopes import dotted
from yaoki.formats.quality.language_parts import FILE_CHARS_MAX
from yaoki.formats.quality.python import parse_python
from yaoki.formats.quality.python_suites import last_name
from yaoki.formats.quality.suites import is_collected_path, is_test_path

FAILS = b"raise AssertionError"
_FUNCTION = (ast.FunctionDef, ast.AsyncFunctionDef)
_INNER = (*_FUNCTION, ast.ClassDef, ast.Lambda)
# Besides the marks of pytest.  A failing test behind another decorator may count as passed.
_HARMLESS = frozenset(
    {
        *("patch", "object", "dict", "multiple", "given", "settings", "example", "seed"),
        *("skip", "skipIf", "skipUnless", "staticmethod", "classmethod", "override_settings"),
        *("freeze_time", "travel", "activate", "tag", "final"),
    }
)
# A character that is not UTF-8 was replaced when the file was read, so it cannot be written back.
_UNREADABLE = "\ufffd"


@dataclass(frozen=True, slots=True)
class _Insertion:
    """Replace the bytes from `start` to `end`."""

    start: int
    end: int
    text: bytes


def is_python_test_file(path: str) -> bool:
    return path.endswith(".py") and (is_test_path(path) or is_collected_path(path))


def make_tests_fail(path: str, text: str) -> FailingTests | None:
    """None where the file has no test that can be made to fail, or cannot be read."""
    if not path.endswith(".py") or len(text) > FILE_CHARS_MAX or _UNREADABLE in text:
        return None
    tree = parse_python(text)
    if tree is None:
        return None
    source = _Source(text.encode("utf-8", "surrogateescape"))
    module = path.removesuffix(".py").replace("/", ".")
    edits: list[_Insertion] = []
    names: set[str] = set()
    left_alone: set[str] = set()
    for name, node, is_plain in _tests(tree.body, module, is_plain=True):
        made = list(source.fail_at_end(node)) if is_plain and _can_be_made_to_fail(node) else []
        edits += made
        (names if made else left_alone).add(name)
    changed = source.apply(edits).decode("utf-8", "surrogateescape")
    # Python keeps only the last of two tests with one name, which the change may have left alone.
    names -= left_alone
    if not names or parse_python(changed) is None:
        return None
    return FailingTests(changed, frozenset(names), frozenset(left_alone))


def _tests(
    body: Sequence[ast.stmt], owner: str, *, is_plain: bool
) -> Iterator[tuple[str, ast.FunctionDef | ast.AsyncFunctionDef, bool]]:
    """The tests with their names.  `is_plain`: nothing around them changes what a failure means."""
    replaced = set(_assigned(body))
    for node in body:
        if isinstance(node, _FUNCTION) and node.name.startswith("test"):
            plain = is_plain and _is_harmless(node) and node.name not in replaced
            yield f"{owner}.{node.name}", node, plain
        elif isinstance(node, ast.ClassDef):
            plain = is_plain and _is_harmless(node) and node.name not in replaced
            yield from _tests(node.body, f"{owner}.{node.name}", is_plain=plain)
        elif isinstance(node, ast.If | ast.Try | ast.With):
            inner = [*node.body, *getattr(node, "orelse", ()), *getattr(node, "finalbody", ())]
            inner += [one for part in getattr(node, "handlers", ()) for one in part.body]
            yield from _tests(inner, owner, is_plain=is_plain)


def _assigned(body: Sequence[ast.stmt]) -> Iterator[str]:
    """`test_x = expectedFailure(test_x)`"""
    for node in body:
        targets = node.targets if isinstance(node, ast.Assign) else ()
        yield from (one.id for one in targets if isinstance(one, ast.Name))


def _is_harmless(node: ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef) -> bool:
    return all(
        last_name(one) in _HARMLESS or (".mark." in f".{dotted(one)}" and last_name(one) != "xfail")
        for one in node.decorator_list
    )


def _can_be_made_to_fail(node: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    """Not a generator, and no `return` whose replacement a `try` would catch."""
    inner = list(_own_nodes(node))
    if any(isinstance(one, ast.Yield | ast.YieldFrom) for one in inner):
        return False
    tries = [one for one in inner if isinstance(one, ast.Try | ast.TryStar)]
    return not any(isinstance(one, ast.Return) for part in tries for one in ast.walk(part))


def _own_nodes(node: ast.AST) -> Iterator[ast.AST]:
    """The nodes of a function without those of the functions and classes in it."""
    for child in ast.iter_child_nodes(node):
        if not isinstance(child, _INNER):
            yield child
            yield from _own_nodes(child)


class _Source:
    """A text by the lines and columns of its syntax tree, which count bytes."""

    def __init__(self, content: bytes) -> None:
        self._content = content
        self._starts = [0]
        for line in content.splitlines(keepends=True):
            self._starts.append(self._starts[-1] + len(line))

    def fail_at_end(self, node: ast.FunctionDef | ast.AsyncFunctionDef) -> Iterator[_Insertion]:
        first, last = node.body[0], node.body[-1]
        end = self._at(last.end_lineno or last.lineno, last.end_col_offset or 0)
        line = self._starts[first.lineno - 1]
        indent = self._content[line : line + first.col_offset]
        separator = b"; " if indent.strip() else b"\n" + indent
        for one in _own_nodes(node):
            if isinstance(one, ast.Return):
                start = self._at(one.lineno, one.col_offset)
                stop = self._at(one.end_lineno or one.lineno, one.end_col_offset or 0)
                yield _Insertion(start, stop, FAILS)
        yield _Insertion(end, end, separator + FAILS)

    def apply(self, edits: Sequence[_Insertion]) -> bytes:
        content = self._content
        for edit in sorted(edits, key=lambda one: (one.start, one.end), reverse=True):
            content = content[: edit.start] + edit.text + content[edit.end :]
        return content

    def _at(self, line: int, column: int) -> int:
        return self._starts[line - 1] + column
