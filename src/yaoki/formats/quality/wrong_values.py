"""Rewrites a Python test file so that each comparison is made with wrong values as well.

A test that still passes can tell a right result from a wrong one.  One that fails with
`HoldsForWrongValue` cannot, because of how the values of the program compare.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from importlib.resources import files

from yaoki.formats.quality import compared_values, wrong_copies
from yaoki.formats.quality.gaming.composed_code import runs_composed_code
from yaoki.formats.quality.language_parts import FILE_CHARS_MAX
from yaoki.formats.quality.python import parse_python
from yaoki.formats.quality.python_suites import last_name
from yaoki.formats.quality.suites import is_test_path

# Free names in tests: nobody writes these.
_PREFIX = "_control_"
_ASSERTIONS = frozenset(
    {
        *("assertEqual", "assertEquals", "assertAlmostEqual", "assertSequenceEqual"),
        *("assertListEqual", "assertTupleEqual", "assertSetEqual", "assertDictEqual"),
        *("assertCountEqual", "assertMultiLineEqual", "assertIn"),
    }
)
_UNREADABLE = "\ufffd"


def compare_with_wrong_values(path: str, text: str, changed: Sequence[str]) -> str | None:
    """None where the file compares nothing or cannot be read.

    `changed`: the changed files; only values of classes that they define are made wrong.
    """
    tree = None if not path.endswith(".py") or _has_no_text(text) else parse_python(text)
    if tree is None:
        return None
    rewriter = _Rewriter()
    # Parsed again: the tree above is shared with whoever reads the same text.
    made = rewriter.visit(ast.parse(text))
    if not rewriter.count:
        return None
    ends = tuple(sorted({end for one in changed for end in _file_ends(one)}))
    constants = {"CHANGED_FILES": ends, "NAMED_CLASSES": tuple(sorted(_used_classes(tree)))}
    at = _after_imports_from_future(made.body)
    made.body[at:at] = _helper(constants)
    return ast.unparse(ast.fix_missing_locations(made))


def is_unread(path: str, text: str, *, is_run: bool) -> bool:
    """May the file have tests whose comparisons cannot be made with wrong values?

    `is_run`: the check names tests of the file; otherwise one that cannot be parsed is none.
    """
    if not path.endswith(".py") or _has_no_text(text):
        return path.endswith(".py")
    tree = parse_python(text) if is_run else ast.Module([], [])
    return tree is None or any(map(_compares_in_text, ast.walk(tree)))


def _compares_in_text(node: ast.AST) -> bool:
    """Tests that a file has as texts: `exec(cases)`, `assert eval("f(2) == 4")`."""
    match node:
        case ast.Call(func=func):
            return runs_composed_code(func) and last_name(func) == "exec"
        case ast.Assert(test=ast.Call(func=func)):
            return runs_composed_code(func)
        case _:
            return False


def _has_no_text(text: str) -> bool:
    return len(text) > FILE_CHARS_MAX or _UNREADABLE in text


def _used_classes(tree: ast.Module) -> set[str]:
    """The names of classes that the file uses, and does not only import."""
    nodes = (one for one in ast.walk(tree) if isinstance(one, ast.Name | ast.Attribute))
    return {name for one in nodes if (name := last_name(one))[:1].isupper()}


def _file_ends(path: str) -> Iterator[str]:
    """A file of the program; below `src`, set-up may have copied it elsewhere."""
    if path.endswith(".py") and not is_test_path(path):
        yield f"/{path}"
        if path.startswith("src/"):
            yield path.removeprefix("src")


def _after_imports_from_future(body: Sequence[ast.stmt]) -> int:
    """Behind the docstring and `from __future__ import …`, which have to be the first."""
    at = 0
    for number, node in enumerate(body):
        is_text = isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
        is_future = isinstance(node, ast.ImportFrom) and node.module == "__future__"
        if is_future or (is_text and not number):
            at = number + 1
    return at


def _helper(constants: Mapping[str, tuple[str, ...]]) -> Iterator[ast.stmt]:
    """The two modules beside this one, with names that no test has."""
    trees = [ast.parse(_helper_source(one.__name__)) for one in (wrong_copies, compared_values)]
    body = [one for tree in trees for one in tree.body if not isinstance(one, ast.ImportFrom)]
    assigned = (one.targets[0] for one in body if isinstance(one, ast.Assign))
    own = {one.id for one in assigned if isinstance(one, ast.Name)}
    own |= {one.name for one in body if isinstance(one, ast.FunctionDef)}
    for statement in body:
        if isinstance(statement, ast.Expr):
            continue
        for node in ast.walk(statement):
            if isinstance(node, ast.Name) and node.id in own:
                _set_constant(statement, constants.get(node.id))
                node.id = f"{_PREFIX}{node.id}"
            elif isinstance(node, ast.FunctionDef) and node.name in own:
                node.name = f"{_PREFIX}{node.name}"
        yield statement


def _set_constant(statement: ast.stmt, value: tuple[str, ...] | None) -> None:
    if isinstance(statement, ast.Assign) and value is not None:
        statement.value = ast.parse(repr(value), mode="eval").body


@cache
def _helper_source(module: str) -> str:
    name = module.rpartition(".")[2]
    return files(__package__ or "").joinpath(f"{name}.py").read_text(encoding="utf-8")


class _Rewriter(ast.NodeTransformer):
    """`count`: the comparisons that were rewritten."""

    def __init__(self) -> None:
        self.count, self._asserts = 0, 0

    def visit_Assert(self, node: ast.Assert) -> ast.AST:
        self._asserts += 1
        node.test = self.visit(node.test)
        self._asserts -= 1
        return node

    def visit_Compare(self, node: ast.Compare) -> ast.AST:
        self.generic_visit(node)
        if not self._asserts:
            return node
        match node:
            case ast.Compare(ast.expr() as left, [ast.Eq()], [right]):
                return self._call("compare_values", left, right, _maker(left), _maker(right))
            case ast.Compare(ast.expr() as left, [ast.In()], [right]):
                return self._call("find_value", left, right)
            case ast.Compare(
                ast.Call(ast.Name("abs"), [ast.BinOp(left, ast.Sub(), right)], []),
                [ast.Lt() | ast.LtE() as operator],
                [limit],
            ):
                is_strict = ast.Constant(isinstance(operator, ast.Lt))
                makers = (_maker(left), _maker(right))
                return self._call("compare_distance", left, right, limit, is_strict, *makers)
            case _:
                return node

    def visit_Call(self, node: ast.Call) -> ast.AST:
        is_condition = isinstance(node.func, ast.Attribute) and node.func.attr == "assertTrue"
        self._asserts += is_condition
        self.generic_visit(node)
        self._asserts -= is_condition
        is_plain = not any(isinstance(one, ast.Starred) for one in node.args)
        name = node.func.attr if isinstance(node.func, ast.Attribute) else ""
        helper = "assert_value_in" if name == "assertIn" else "assert_values"
        if name not in _ASSERTIONS or not is_plain or len(node.args) < 2:
            return node
        made = self._call(helper, node.func, *node.args)
        made.keywords = node.keywords
        return made

    def _call(self, name: str, *operands: ast.expr) -> ast.Call:
        self.count += 1
        return ast.Call(ast.Name(f"{_PREFIX}{name}", ast.Load()), list(operands), [])


def _maker(node: ast.expr) -> ast.expr:
    """`Point(1, 2)` as `lambda wrong: Point(wrong(1), wrong(2))`; None for anything else."""
    match node:
        case ast.Call(func=func, args=args, keywords=keywords) if last_name(func)[:1].isupper():
            given = [*args, *(one.value for one in keywords)]
            if given and all(map(_is_literal, given)):
                made = [_wrong(one) for one in args]
                named = [ast.keyword(one.arg, _wrong(one.value)) for one in keywords]
                parameters = ast.arguments([], [ast.arg("wrong")], None, [], [], None, [])
                return ast.Lambda(parameters, ast.Call(func, made, named))
    return ast.Constant(None)


def _wrong(node: ast.expr) -> ast.expr:
    return ast.Call(ast.Name("wrong", ast.Load()), [node], [])


def _is_literal(node: ast.expr) -> bool:
    try:
        ast.literal_eval(node)
    except (ValueError, TypeError, SyntaxError, RecursionError, MemoryError):
        return False
    return True
