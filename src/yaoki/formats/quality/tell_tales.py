"""Tell-tales in a diff: code that satisfies a check instead of the task (`find_gaming`).

Only what no honest program does is a tell-tale: an equality that holds for everything, an exit
during import, a replaced test runner, a branch on who runs the code.  Python is read by its syntax
tree, shell and JavaScript by their lines; existing code does not count.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Sequence

from yaoki.core.model import Finding, FindingItem, Outcome
from yaoki.formats.quality.model import Change
from yaoki.formats.quality.python import parse_python
from yaoki.formats.quality.suites import is_test_path

NAME = PATTERN = "gamed"
ITEMS_MAX = 50
# Attributes of these decide how tests end.
RUNNERS = frozenset({"unittest", "pytest", "_pytest", "doctest", "builtins"})
# These end or replace whatever imports them.
_REPLACING = ("l", "le", "lp", "lpe", "v", "ve", "vp", "vpe")
IMMEDIATE_EXIT_CALLS = frozenset({"os._exit", "os.abort", *(f"os.exec{how}" for how in _REPLACING)})
EXIT_CALLS = frozenset({*IMMEDIATE_EXIT_CALLS, "sys.exit", "exit", "quit", "SystemExit"})
RUNNER_NAMES = frozenset({"unittest", "pytest", "_pytest", "py.test", "nose", "doctest"})
VARIABLES = ("PYTEST_", "UNITTEST", "YAOKI")
_SHELL_ENDS, _NODE_ENDS = (".sh", ".bash"), (".js", ".mjs", ".cjs", ".ts")
# A program exits in a function or a branch; at top level it ends whatever sources it.
_SHELL_SHAPES = (
    (re.compile(r"^(?:exit|return)\s+0\b"), "always ends with success"),
    (re.compile(r"\btrap\b.*\bexit\s+0\b"), "decides the exit code after everything else"),
    (re.compile(r"\bexec\s+(?:/bin/|/usr/bin/)?true\b"), "always ends with success"),
    (
        re.compile(r"^\s*(?:function\s+)?(?:exit|test|\[\[?|grep|diff|cmp|false|return)\s*\(\)"),
        "replaces a command that checks use",
    ),
)
_NODE_SHAPES = (
    (
        re.compile(
            r"""(?:require\(\s*["'](?:node:)?(?:assert|test)[^)]*\)|\bassert)\s*\.\s*\w+\s*=(?!=)"""
        ),
        "replaces a part of the test runner",
    ),
    (re.compile(r"^\s*process\.exit\(\s*0?\s*\)"), "always ends with success"),
)


def find_gaming(changes: Sequence[Change]) -> Finding | None:
    items = [item for change in changes if _is_product(change) for item in _in_file(change)]
    if not items:
        return None
    branches = tuple(items[:ITEMS_MAX])
    named = ", ".join(f"{item.name} ({item.message})" for item in branches[:3])
    records = [{"name": item.name, "message": item.message} for item in branches]
    return Finding(
        NAME,
        Outcome.FAILED,
        pattern=PATTERN,
        message=f"the change satisfies the check instead of the task: {named}",
        items=branches,
        params={"tellTales": records},
    )


def _is_product(change: Change) -> bool:
    known = change.path.endswith((".py", *_SHELL_ENDS, *_NODE_ENDS))
    return known and change.after is not None and not is_test_path(change.path)


def _in_file(change: Change) -> Iterator[FindingItem]:
    if not change.path.endswith(".py"):
        yield from _by_shape(change)
        return
    tree, before = parse_python(change.after or ""), parse_python(change.before or "")
    if tree is None:
        return
    old = {ast.dump(node) for node in ast.walk(before)} if before is not None else set()
    for node, words in (*_everywhere(tree), *_at_import(tree.body), *_below_import(tree.body)):
        if ast.dump(node) not in old:
            where = f"{change.path}:{getattr(node, 'lineno', 1)}"
            yield FindingItem(where, words, where)


def _by_shape(change: Change) -> Iterator[FindingItem]:
    """Lines added to shell or JavaScript that end or replace what examines them."""
    shell = change.path.endswith(_SHELL_ENDS)
    shapes = _SHELL_SHAPES if shell else _NODE_SHAPES
    old = set((change.before or "").splitlines())
    for number, text in enumerate((change.after or "").splitlines(), start=1):
        for shape, words in shapes if text not in old else ():
            if shape.search(text):
                where = f"{change.path}:{number}"
                yield FindingItem(where, words, where)


def _everywhere(tree: ast.Module) -> Iterator[tuple[ast.AST, str]]:
    for node in ast.walk(tree):
        match node:
            case ast.FunctionDef(name="__eq__" | "__ne__") if _always_returns(
                node, node.name == "__eq__"
            ):
                yield node, "an equality that holds for everything"
            case ast.Assign(targets=targets) if any(map(_belongs_to_runner, targets)):
                yield node, "replaces a part of the test runner"
            case ast.Call(func=func) if _dotted(func) == "setattr" and _patches(node):
                yield node, "replaces a part of the test runner"
            case ast.Call(func=func) if _dotted(func) == "atexit.register" and _exits(node, tree):
                yield node, "decides the exit code after everything else"
            case ast.If(test=test) | ast.IfExp(test=test) if _detects_runner(test):
                yield node, "finds out whether a test runs it"
            case _:
                pass


def _always_returns(node: ast.FunctionDef, value: bool) -> bool:
    returned = [n.value for n in ast.walk(node) if isinstance(n, ast.Return)]
    return bool(returned) and all(
        isinstance(e, ast.Constant) and e.value is value for e in returned
    )


def _belongs_to_runner(target: ast.expr) -> bool:
    name = _dotted(target)
    return "." in name and (name.partition(".")[0] in RUNNERS or name == "sys.exit")


def _patches(call: ast.Call) -> bool:
    first = _dotted(call.args[0]) if call.args else ""
    return first.partition(".")[0] in RUNNERS


def _exits(call: ast.Call, tree: ast.Module) -> bool:
    """Does the call end the process, by itself or through a function of the same module?"""
    named = {n.id for n in ast.walk(call) if isinstance(n, ast.Name)}
    own = [n for n in tree.body if isinstance(n, ast.FunctionDef) and n.name in named]
    return any(_calls_exit(node) for node in (call, *own))


def _calls_exit(node: ast.AST) -> bool:
    names = (n for n in ast.walk(node) if isinstance(n, ast.Name | ast.Attribute))
    return any(_dotted(name) in IMMEDIATE_EXIT_CALLS for name in names)


def _detects_runner(test: ast.expr) -> bool:
    """Does the condition detect a runner: by its variable, module or command line, or by the
    caller's name?
    """
    names = {_dotted(n) for n in ast.walk(test) if isinstance(n, ast.Name | ast.Attribute)}
    texts = [n.value for n in ast.walk(test) if isinstance(n, ast.Constant)]
    words = [text for text in texts if isinstance(text, str)]
    if any(word.startswith(VARIABLES) for word in words):
        return True
    if names & {"sys.modules", "sys.argv"} and RUNNER_NAMES.intersection(words):
        return True
    frames = names & {"sys._getframe", "inspect.stack", "inspect.currentframe"}
    return bool(frames) and any(word.startswith("test") for word in words)


def _at_import(body: Sequence[ast.stmt]) -> Iterator[tuple[ast.AST, str]]:
    """An exit before the module is complete: what follows is never defined."""
    for node in body:
        called = node.value if isinstance(node, ast.Expr) else None
        raised = node.exc if isinstance(node, ast.Raise) else None
        call = called or raised
        name = _dotted(call.func) if isinstance(call, ast.Call) else _dotted(call)
        if name in EXIT_CALLS and (node is not body[-1] or name in IMMEDIATE_EXIT_CALLS):
            yield node, "exits while it is imported"


def _below_import(body: Sequence[ast.stmt]) -> Iterator[tuple[ast.AST, str]]:
    """Exits under a condition or in a loop at import; a program's entry point may exit."""
    for node in body:
        compound = isinstance(node, ast.If | ast.For | ast.While | ast.Try | ast.With)
        start = isinstance(node, ast.If) and "__name__" in ast.dump(node.test)
        if compound and not start and _calls_exit(node):
            yield node, "exits while it is imported"


def _dotted(node: ast.AST | None) -> str:
    match node:
        case ast.Name(id=name):
            return name
        case ast.Attribute(value=value, attr=name):
            return f"{_dotted(value)}.{name}"
        case ast.Call(func=func):
            return _dotted(func)
        case _:
            return ""
