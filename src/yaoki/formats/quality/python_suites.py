"""The tests of a Python file as pytest and unittest collect them, from its syntax tree."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from yaoki.core.lazy_dataclass import dataclass

SuiteFunctionNode = ast.FunctionDef | ast.AsyncFunctionDef
_FUNCTION = (ast.FunctionDef, ast.AsyncFunctionDef)
_ALWAYS = frozenset({"skip", "expectedFailure", "skipTest", "SkipTest", "xfail"})
_PERHAPS = frozenset({"skipif", "skipIf", "skipUnless", "importorskip"})
_CALLED = frozenset({"skip", "xfail", "importorskip", "skipTest", "SkipTest"})
_RUNNERS = frozenset({"pytest", "unittest", "self", "cls", "mark", "case"})
_SYSTEM = ("sys.platform", "os.name", "platform.system()")
_OTHER_SYSTEMS = frozenset({"win32", "win", "nt", "Windows", "darwin", "Darwin", "cygwin", "wasi"})
_HERE = frozenset({"linux", "Linux", "posix"})


@dataclass(frozen=True, slots=True)
class PythonSkip:
    """A skip: its test, its form, whether it is conditional, and its line."""

    owner: str
    word: str
    is_conditional: bool
    line: int


@dataclass(frozen=True, slots=True)
class PythonSuite:
    names: Counter[str]
    hollow_tests: frozenset[str]
    asserting_tests: frozenset[str]
    called_names: Mapping[str, frozenset[str]]
    skips: tuple[PythonSkip, ...]


def read_python_suite(tree: ast.Module) -> PythonSuite:
    try:
        tests = dict(_tests(tree.body, ""))
    except RecursionError:
        tests = {}
    named = {name: name.rpartition(".")[2] for name in tests}
    hollow = frozenset(named[n] for n, node in tests.items() if _checks_nothing(node))
    asks = frozenset(named[n] for n, node in tests.items() if _can_fail(node))
    called = {named[n]: _called(node) for n, node in tests.items()}
    bare = Counter(named.values())
    return PythonSuite(bare, hollow, asks, called, tuple(_skips(tree, bare)))


def _tests(body: Sequence[ast.stmt], owner: str) -> Iterator[tuple[str, SuiteFunctionNode]]:
    """The tests by full name, so that of two with one name only the last counts, as in Python."""
    for node in body:
        if isinstance(node, _FUNCTION) and node.name.startswith("test"):
            yield f"{owner}.{node.name}", node
        elif isinstance(node, ast.ClassDef):
            yield from _tests(node.body, f"{owner}.{node.name}")
        elif isinstance(node, ast.If):
            yield from () if never_holds(node.test) else _tests(node.body, owner)
            yield from () if surely_holds(node.test) else _tests(node.orelse, owner)
        elif isinstance(node, (ast.Try, ast.With)):
            yield from _tests(node.body, owner)


def never_holds(test: ast.expr) -> bool:
    return isinstance(test, ast.Constant) and not test.value


def surely_holds(test: ast.expr) -> bool:
    """An expression that is always true, whatever the program does."""
    if isinstance(test, ast.Constant):
        return bool(test.value)
    if isinstance(test, ast.Compare) and len(test.ops) == 1 and isinstance(test.ops[0], ast.Eq):
        one, other = test.left, test.comparators[0]
        both = isinstance(one, ast.Constant) and isinstance(other, ast.Constant)
        return both and ast.dump(one) == ast.dump(other)
    return (
        isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not) and never_holds(test.operand)
    )


# A call whose name contains one of these words asserts something.
ASSERTING_WORDS = (
    *("assert", "raises", "warns", "expect", "verify", "check", "should", "fail", "ensure"),
)
# ------------------------------------------------------------------ bodies


def _checks_nothing(node: SuiteFunctionNode) -> bool:
    body = [s for s in node.body if not _is_words(s)]
    return all(_idle(s) for s in body) or isinstance(body[0], ast.Return)


def _is_words(node: ast.stmt) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)


def _idle(node: ast.stmt) -> bool:
    match node:
        case ast.Pass():
            return True
        case ast.Assert(test=test):
            return surely_holds(test)
        case ast.Return(value=value):
            return value is None or isinstance(value, ast.Constant)
        case ast.If(test=test) if never_holds(test):
            return True
        case _:
            return _is_words(node)


def _can_fail(node: SuiteFunctionNode) -> bool:
    """Does it contain anything that can fail by design?"""
    for inner in ast.walk(node):
        if isinstance(inner, ast.Assert) and not surely_holds(inner.test):
            return True
        if isinstance(inner, ast.Call):
            name = last_name(inner.func).lower()
            if any(word in name for word in ASSERTING_WORDS):
                return True
    return False


def _called(node: SuiteFunctionNode) -> frozenset[str]:
    return frozenset(last_name(n.func) for n in ast.walk(node) if isinstance(n, ast.Call))


# ------------------------------------------------------------------ skips


def _skips(tree: ast.Module, tests: Counter[str]) -> Iterator[PythonSkip]:
    imported = {
        alias.asname or alias.name
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom) and node.module in {"pytest", "unittest"}
        for alias in node.names
    }
    todo: list[tuple[ast.AST, str, bool]] = [(tree, "", False)]
    while todo:
        node, owner, perhaps = todo.pop()
        if isinstance(node, (*_FUNCTION, ast.ClassDef)):
            yield from _decorating(node)
            known = node.name in tests or isinstance(node, ast.ClassDef)
            inside = node.name if known else f"{node.name}()"
        else:
            yield from _call_skips(node, owner, perhaps, imported)
            inside = owner
        shut = perhaps or isinstance(node, ast.ExceptHandler) or _may_be(node)
        decorators = {id(one) for one in getattr(node, "decorator_list", ())}
        for child in ast.iter_child_nodes(node):
            if id(child) not in decorators:
                todo.append((child, inside, shut))


def _may_be(node: ast.AST) -> bool:
    return isinstance(node, (ast.If, ast.IfExp)) and not surely_holds(node.test)


def _decorating(node: SuiteFunctionNode | ast.ClassDef) -> Iterator[PythonSkip]:
    for decorator in node.decorator_list:
        word = last_name(decorator)
        skips = word in _ALWAYS | _PERHAPS and not _from_another(decorator)
        if skips and not _applies_elsewhere(decorator, word):
            yield PythonSkip(node.name, word, _conditional(decorator, word), decorator.lineno)


def _applies_elsewhere(node: ast.expr, word: str) -> bool:
    """Does the skip apply only elsewhere: another system, an old Python?

    If the test is skipped here after all, the number of tests shows it (`core/integrity.fewer`).
    """
    if not isinstance(node, ast.Call) or word not in ("skipif", "skipIf", "skipUnless"):
        return False
    named = [k.value for k in node.keywords if k.arg == "condition"]
    condition = next(iter([*named, *node.args]), None)
    if not isinstance(condition, (ast.Compare, ast.Call)):
        return False
    about = ast.unparse(condition)
    values = {n.value for n in ast.walk(condition) if isinstance(n, ast.Constant)}
    if isinstance(condition, ast.Compare) and about.startswith("sys.version_info <"):
        return word != "skipUnless" and values <= {3, *range(5, 12)}
    plain = isinstance(condition, ast.Call) or isinstance(condition.ops[0], ast.Eq)
    known = _HERE if word == "skipUnless" else _OTHER_SYSTEMS
    return plain and about.startswith(_SYSTEM) and bool(values) and values <= known


def _from_another(node: ast.expr) -> bool:
    """`@parser.skip` of another library is not a skip."""
    while isinstance(node, ast.Call):
        node = node.func
    base = last_name(node.value) if isinstance(node, ast.Attribute) else "pytest"
    return base not in _RUNNERS and len(base) > 2


def _conditional(node: ast.expr, word: str) -> bool:
    if word not in _PERHAPS | {"xfail"} or not isinstance(node, ast.Call):
        return word in _PERHAPS
    named = [k.value for k in node.keywords if k.arg == "condition"]
    condition = next(iter([*named, *node.args]), None)
    if condition is None:
        return False
    sure = never_holds(condition) if word == "skipUnless" else surely_holds(condition)
    return not sure and not (word == "xfail" and isinstance(condition, ast.Constant))


def _call_skips(
    node: ast.AST, owner: str, perhaps: bool, imported: set[str]
) -> Iterator[PythonSkip]:
    """`pytest.skip()`, `self.skipTest()`, `raise SkipTest`, and marks that are only named."""
    if isinstance(node, ast.Call):
        func, word = node.func, last_name(node.func)
        is_runner = last_name(func.value) in _RUNNERS if isinstance(func, ast.Attribute) else False
        if word in _CALLED | _PERHAPS and (is_runner or word in imported or word == "skipTest"):
            maybe = perhaps or _conditional(node, word)
            yield PythonSkip(owner, word, maybe or word in _PERHAPS, node.lineno)
            return
    marked = isinstance(node, ast.Attribute) and node.attr in _ALWAYS | _PERHAPS
    if marked and isinstance(node, ast.Attribute) and last_name(node.value) == "mark":
        yield PythonSkip(owner, f"mark.{node.attr}", perhaps or node.attr in _PERHAPS, node.lineno)


def last_name(node: ast.expr) -> str:
    """The last name of `a.b.c(x)[0]` is c."""
    while isinstance(node, (ast.Call, ast.Subscript)):
        node = node.func if isinstance(node, ast.Call) else node.value
    if isinstance(node, ast.Attribute):
        return node.attr
    return node.id if isinstance(node, ast.Name) else ""
