"""Functions of the program by which older tests compare: `assert nearly(add(2, 3), 5)`.

Such a function decides whether the tests pass, although it is a part of the program.  Only names of
comparisons count: other predicates, as in `assert may_read(User("a"), "b")`, are what is tested.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from yaoki.core.lazy_pattern import lazy_compile
from yaoki.core.model import FindingItem
from yaoki.core.model.change import Change
from yaoki.formats.quality.definition.comparison import Judgement
from yaoki.formats.quality.definition.file_index import FileIndex
from yaoki.formats.quality.definition.goal_sentences import HELPERS
from yaoki.formats.quality.definition.units import FunctionNode
from yaoki.formats.quality.python import parse_python
from yaoki.formats.quality.python_suites import last_name
from yaoki.formats.quality.suites import is_test_path

TESTS_MAX = 2_000
LOOSENED = "a comparison that the tests use looks at fewer values"
_COMPARES = lazy_compile(
    r"(?:^|_)(?:is_?)?(?:nearly|almost|roughly|close|isclose|allclose|approx\w*|equals?|eq|equivalent"
    r"|identical|same_values?)(?:_|$)"
)
_FUNCTION = (ast.FunctionDef, ast.AsyncFunctionDef)


def judge_comparisons(change: Change, base: FileIndex, goal: str, judgement: Judgement) -> None:
    """A comparison that the goal names is the work itself."""
    if not change.path.endswith(".py") or is_test_path(change.path):
        return
    old, new = parse_python(change.before or ""), parse_python(change.after or "")
    if old is None or new is None:
        return
    before, after = dict(_comparisons(old)), dict(_comparisons(new))
    for name in sorted(before.keys() & after.keys()):
        is_changed = ast.dump(before[name]) != ast.dump(after[name])
        if not is_changed or re.search(rf"(?<!\w){name}(?!\w)", goal) or not _decides(name, base):
            continue
        if _used_places(before[name]) - _used_places(after[name]):
            judgement.items.append(FindingItem(name, LOOSENED, change.path))
        elif _rest(old, name) == _rest(new, name):
            judgement.is_unsure = True


def _comparisons(tree: ast.Module) -> Iterator[tuple[str, FunctionNode]]:
    for node in tree.body:
        if isinstance(node, _FUNCTION) and _COMPARES.search(node.name):
            yield node.name, node


def _used_places(node: FunctionNode) -> frozenset[int]:
    """The parameters that its code reads, by their places."""
    names = [one.arg for one in (*node.args.posonlyargs, *node.args.args)]
    read = {n.id for one in node.body for n in ast.walk(one) if isinstance(n, ast.Name)}
    return frozenset(at for at, name in enumerate(names) if name in read)


def _rest(tree: ast.Module, name: str) -> list[str]:
    """The file without this function: what else changed is the work itself."""
    return [ast.dump(one) for one in tree.body if getattr(one, "name", "") != name]


def _decides(name: str, base: FileIndex) -> bool:
    """Does a test of the base compare the result of another function by it?"""
    tests = [path for path in sorted(base.paths) if path.endswith(".py") and is_test_path(path)]
    texts = (base.text(path) for path in tests[:TESTS_MAX])
    return any(name in text and _compares_by(name, parse_python(text)) for text in texts)


def _compares_by(name: str, tree: ast.Module | None) -> bool:
    for node in ast.walk(tree) if tree is not None else ():
        match node:
            case ast.Assert(test=ast.Call() as call):
                pass
            case ast.Call(func=ast.Attribute(attr="assertTrue"), args=[ast.Call() as call, *_]):
                pass
            case _:
                continue
        if last_name(call.func) == name and len(call.args) > 1 and _has_result(call, name):
            return True
    return False


def _has_result(call: ast.Call, name: str) -> bool:
    inner = (one for arg in call.args for one in ast.walk(arg) if isinstance(one, ast.Call))
    return any(last_name(one.func) not in {*HELPERS, name} for one in inner)
