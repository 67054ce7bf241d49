"""Code that finds out whether a test runs it: by variables, modules, arguments or its callers."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Sequence

from yaoki.core.lazy_pattern import lazy_compile
from yaoki.formats.quality.gaming.javascript import Token
from yaoki.formats.quality.gaming.scopes import Scope, dotted, scopes_of

DETECTS = "finds out whether a test runs it; behave the same for every caller"
RUNNERS = frozenset({"unittest", "pytest", "_pytest", "py.test", "nose", "doctest", "nose2"})
_VARIABLES = lazy_compile(r"(?:PYTEST_|UNITTEST|YAOKI|NODE_TEST_CONTEXT|JEST_WORKER_ID|VITEST)\w*")
_ENVIRONMENT = frozenset({"os.environ", "environ", "os.getenv", "getenv", "os.environb"})
_PROCESS = frozenset({"sys.modules", "sys.argv", "sys.orig_argv", "modules", "argv", "psutil"})
_PLACE = frozenset({"os.getcwd", "getcwd", "Path.cwd", "os.getppid", "__file__", "sys.path"})
_FRAMES = lazy_compile(
    r"(?:sys\.)?_getframe|(?:inspect\.)?(?:stack|currentframe)|(?:traceback\.)?(?:extract_stack"
    r"|format_stack|walk_stack)|sys\._current_frames"
)
_TEST_WORD = lazy_compile(r"(?:^|[^a-z])(?:test_?|tests|pytest|unittest|conftest)(?:[^a-z]|$)")
_RUNNER_WORD = lazy_compile(r"\b(?:_?pytest|py\.test|unittest|nose2?|doctest)\b")
_JS_VARIABLES = frozenset(
    {"NODE_TEST_CONTEXT", "JEST_WORKER_ID", "VITEST", "VITEST_WORKER_ID", "VITEST_POOL_ID"}
    | {"JEST_JASMINE", "AVA_PATH", "MOCHA_COLORS", "TAP_CHILD_ID"}
)
_JS_GLOBALS = frozenset({"describe", "it", "test", "jest", "vi", "expect", "beforeEach", "mocha"})
_JS_TEST_WORD = lazy_compile(
    r"(?:^|[^a-z])(?:tests?|--test|spec|jest|mocha|vitest|ava)(?:[^a-z]|$)"
)
_JS_SOURCES = frozenset(
    {"process.argv", "process.execArgv", "process.title", "process.argv0", "process.cwd"}
    | {"require.main", "module.parent", "require.cache", "module.children", "env.NODE_ENV"}
)
_JS_STACKS = frozenset({"stack", "captureStackTrace", "prepareStackTrace"})
_MARKS_NEAR = 24


def find_in_python(tree: ast.Module) -> Iterator[tuple[ast.AST, str]]:
    for scope in scopes_of(tree):
        if _detects(scope) or _imports_runner(scope.node):
            yield scope.node, DETECTS
    yield from _answers_anything(tree)


def _detects(scope: Scope) -> bool:
    words, names = scope.texts, scope.names
    if names & _ENVIRONMENT and any(_VARIABLES.match(w) or w in RUNNERS for w in words):
        return True
    if any(_VARIABLES.fullmatch(word) for word in words) and "_" in "".join(words):
        return not _only_named(scope)
    if names & _PROCESS and any(_RUNNER_WORD.search(word) for word in words):
        return True
    if names & _PLACE and any("yaoki" in word or "pytest" in word for word in words):
        return True
    frames = any(_FRAMES.fullmatch(name) for name in names)
    return frames and any(_TEST_WORD.search(word) for word in words)


def _only_named(scope: Scope) -> bool:
    """A list or a message that names a variable does not read it."""
    return not any(
        isinstance(n, ast.Compare | ast.Subscript | ast.Call) for n in ast.walk(scope.node)
    )


def _imports_runner(node: ast.stmt) -> bool:
    """A program needs no runner; `unittest` itself also contains tests beside the code."""
    for one in ast.walk(node):
        names = [alias.name for alias in one.names] if isinstance(one, ast.Import) else []
        if isinstance(one, ast.ImportFrom):
            names = [f"{one.module}.{alias.name}" for alias in one.names]
        if any(re.match(r"_?pytest\b|unittest\.mock\b", name) for name in names):
            return True
    return False


def _answers_anything(tree: ast.Module) -> Iterator[tuple[ast.AST, str]]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and dotted(node) == "mock.ANY":
            yield node, "gives a value that is equal to everything; compute the result"


# ------------------------------------------------------------------ JavaScript


def find_in_javascript(tokens: Sequence[Token]) -> Iterator[tuple[int, str]]:
    for at, token in enumerate(tokens):
        if _js_detects(tokens, at, token):
            yield token.line, DETECTS


def _js_detects(tokens: Sequence[Token], at: int, token: Token) -> bool:
    bare = token.text.strip("\"'`")
    if bare in _JS_VARIABLES:
        return True
    before = tokens[at - 1].text if at else ""
    if token.text in _JS_GLOBALS and before == "typeof":
        return True
    if token.text in _JS_GLOBALS and before in (".", "?."):
        return at > 1 and tokens[at - 2].text in ("globalThis", "global", "window", "self")
    owner = tokens[at - 2].text if at > 1 else ""
    known = bare in _JS_STACKS or f"{owner}.{bare}" in _JS_SOURCES
    if not known or not (before in (".", "?.") or before == "["):
        return False
    near = tokens[max(0, at - 8) : at + _MARKS_NEAR]
    texts = (t.text.strip("\"'`/") for t in near if t.kind in ("text", "regex"))
    if bare == "NODE_ENV":
        return "test" in texts
    return any(_JS_TEST_WORD.search(text.replace("\\", "")) for text in texts)
