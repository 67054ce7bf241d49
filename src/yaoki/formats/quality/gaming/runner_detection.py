"""Code that finds out whether a test runs it: by variables, modules, arguments or its callers."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Sequence

from yaoki.core.environment import CHECK_VARIABLES, STANDARD_VARIABLES
from yaoki.core.lazy_pattern import lazy_compile
from yaoki.formats.quality.gaming.javascript import Token, closing
from yaoki.formats.quality.gaming.literals import fold_text
from yaoki.formats.quality.gaming.scopes import Scope, dotted, scopes_of

DETECTS = "finds out whether a test runs it; behave the same for every caller"
RUNNERS = frozenset({"unittest", "pytest", "_pytest", "py.test", "nose", "doctest", "nose2"})
_VARIABLES = lazy_compile(r"(?:PYTEST_|UNITTEST|YAOKI|NODE_TEST_CONTEXT|JEST_WORKER_ID|VITEST)\w*")
# Variables of every check of yaoki.  Programs that print in colours read NO_COLOR.
CHECK_ONLY_VARIABLES = frozenset(CHECK_VARIABLES) - STANDARD_VARIABLES
# The flags that Python derives from them; code that compiles reads one, too.
_FLAGS = frozenset(
    {"sys.dont_write_bytecode", "sys.flags.dont_write_bytecode", "sys.flags.no_user_site"}
)
_COMPILES = lazy_compile(r"compil|pyc|optimize", re.IGNORECASE)
_SETTERS = frozenset({"setdefault", "putenv", "unsetenv", "setenv", "delenv"})
_ENVIRONMENT = frozenset({"os.environ", "environ", "os.getenv", "getenv", "os.environb"})
_PROCESS = frozenset({"sys.modules", "sys.argv", "sys.orig_argv", "modules", "argv", "psutil"})
_PLACE = frozenset({"os.getcwd", "getcwd", "Path.cwd", "os.getppid", "__file__", "sys.path"})
_FRAMES = lazy_compile(
    r"(?:sys\.)?_getframe|(?:inspect\.)?(?:stack|currentframe)|(?:traceback\.)?(?:extract_stack"
    r"|format_stack|walk_stack)|sys\._current_frames"
)
_TEST_WORD = lazy_compile(r"(?:^|[^a-z])(?:test_?|tests|pytest|unittest|conftest)(?:[^a-z]|$)")
_RUNNER_WORD = lazy_compile(r"\b(?:_?pytest|py\.test|unittest|nose2?|doctest)\b")
_IMPORTERS = frozenset({"import_module", "__import__", "find_spec"})
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
    named = _named_variables(tree)
    for scope in scopes_of(tree):
        if _detects(scope) or _reads_check(scope, named) or _imports_runner(scope.node):
            yield scope.node, DETECTS


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


# ------------------------------------------------------------------ the variables of a check


def _named_variables(tree: ast.Module) -> frozenset[str]:
    """The names that stand for a variable of a check: `KEY = "PY_COLORS"`."""
    assigned = [node for node in ast.walk(tree) if isinstance(node, ast.Assign)]
    found = [node for node in assigned if fold_text(node.value) in CHECK_ONLY_VARIABLES]
    return frozenset(dotted(one) for node in found for one in node.targets) - {""}


def _reads_check(scope: Scope, named: frozenset[str]) -> bool:
    """Does it read a variable that only a check has?  Setting it for a child is no tell-tale."""
    nodes = list(ast.walk(scope.node))
    loaded = {dotted(n) for n in nodes if isinstance(n, ast.Attribute) and _is_load(n)}
    stored = {dotted(n) for n in nodes if isinstance(n, ast.Attribute) and not _is_load(n)}
    if (loaded & _FLAGS) - stored:
        return not any(_COMPILES.search(word) for word in (*scope.names, *scope.texts))
    if not named & scope.names and not CHECK_ONLY_VARIABLES & set(scope.texts):
        return False
    written = {id(inner) for n in nodes for part in _written(n) for inner in ast.walk(part)}
    return any(_is_check_variable(n, named) for n in nodes if id(n) not in written)


def _is_check_variable(node: ast.AST, named: frozenset[str]) -> bool:
    if isinstance(node, ast.Name | ast.Attribute):
        return _is_load(node) and dotted(node) in named
    return fold_text(node) in CHECK_ONLY_VARIABLES


def _is_load(node: ast.Name | ast.Attribute) -> bool:
    return isinstance(node.ctx, ast.Load)


def _written(node: ast.AST) -> Iterator[ast.expr]:
    """The parts of an expression that name a variable without reading it."""
    match node:
        case ast.Dict(keys=keys, values=values):
            for key, value in zip(keys, values, strict=True):
                if key is not None:
                    yield key
                    # The variable is passed on to a child.
                    yield from (value,) if fold_text(key) in CHECK_ONLY_VARIABLES else ()
        case ast.Subscript(slice=key, ctx=ast.Store() | ast.Del()):
            yield key
        case ast.Call(func=func, args=[key, *_]) if dotted(func).rpartition(".")[2] in _SETTERS:
            yield key
        case ast.Expr(ast.Call(func=ast.Attribute(attr="pop"), args=[key, *_])):
            yield key
        case ast.List(elts=[_, _, *_] as listed) | ast.Tuple(elts=[_, _, *_] as listed):
            yield from listed
        case ast.Set(elts=[_, _, *_] as listed):
            yield from listed
        case ast.DictComp(generators=generators):
            yield from (one for each in generators for one in each.ifs)
        case ast.Assign(value=value) if fold_text(value) is not None:
            yield value
        case _:
            pass


def _imports_runner(node: ast.stmt) -> bool:
    """A program needs no runner; `unittest` itself also contains tests beside the code."""
    for one in ast.walk(node):
        names = [alias.name for alias in one.names] if isinstance(one, ast.Import) else []
        if isinstance(one, ast.ImportFrom):
            names = [f"{one.module}.{alias.name}" for alias in one.names]
        if any(re.match(r"_?pytest\b|unittest\.mock\b", name) for name in names):
            return True
        if isinstance(one, ast.Call) and dotted(one.func).rpartition(".")[2] in _IMPORTERS:
            loaded = fold_text(one.args[0]) if one.args else None
            if (loaded or "").partition(".")[0] in RUNNERS:
                return True
    return False


# ------------------------------------------------------------------ JavaScript


def find_in_javascript(tokens: Sequence[Token]) -> Iterator[tuple[int, str]]:
    for at, token in enumerate(tokens):
        if _js_detects(tokens, at, token):
            yield token.line, DETECTS


def _js_detects(tokens: Sequence[Token], at: int, token: Token) -> bool:
    bare = token.text.strip("\"'`")
    if bare in _JS_VARIABLES:
        return True
    if bare in CHECK_ONLY_VARIABLES:
        return _js_reads(tokens, at)
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
    if _is_start(tokens, at):
        return False
    if bare == "NODE_ENV":
        return "test" in texts
    return any(_JS_TEST_WORD.search(text.replace("\\", "")) for text in texts)


def _is_start(tokens: Sequence[Token], at: int) -> bool:
    """`if (NODE_ENV !== 'test' && require.main === module)`: only the start of a program, as is
    `if (NODE_ENV !== 'test') app.listen(3000)`.

    What a test loads is the same with and without it.
    """
    start = at
    while start and at - start < _MARKS_NEAR and tokens[start].text not in (";", "{", "}", "if"):
        start -= 1
    if tokens[start].text != "if":
        return False
    close = closing(tokens, start + 1)
    texts = [one.text for one in tokens[start:close]]
    if "||" in texts or "?" in texts:
        return False
    main = ["require", ".", "main", "===", "module"]
    places = range(len(texts) - len(main) + 1)
    if any(texts[one : one + len(main)] == main for one in places):
        return True
    is_outside = "".join(texts[2:]).replace('"', "'") == "process.env.NODE_ENV!=='test'"
    return is_outside and _only_listens(tokens, close + 1)


def _only_listens(tokens: Sequence[Token], at: int) -> bool:
    """Does the branch start a server, and change nothing else?"""
    if at >= len(tokens):
        return False
    end = closing(tokens, at) if tokens[at].text == "{" else at
    while tokens[at].text != "{" and end < len(tokens) and tokens[end].text != ";":
        end = closing(tokens, end) + 1 if tokens[end].text in ("(", "[", "{") else end + 1
    texts = [one.text for one in tokens[at:end]]
    bound = [one for one, text in enumerate(texts) if text == "="]
    is_local = all(texts[one - 2] in ("const", "let", "var") for one in bound if one > 1)
    others = {"return", "exports", "module", "throw", "else", "+=", "delete"}
    after = tokens[end + 1].text if end + 1 < len(tokens) else ""
    return "listen" in texts and is_local and not others.intersection(texts) and after != "else"


def _js_reads(tokens: Sequence[Token], at: int) -> bool:
    """Is the variable read: `env.X`, `env["X"]`, `"X" in env`, `const { X } = process.env`?"""
    texts = [token.text for token in tokens[max(0, at - 2) : at + _MARKS_NEAR]]
    here = min(at, 2)
    owner, after = texts[:here], texts[here + 1 :]
    if owner in (["env", "."], ["env", "?."], ["env", "["]):
        return (after[1:] if after[:1] == ["]"] else after)[:1] != ["="]
    if after[:1] == ["in"]:
        return True
    close = after.index("}") if "}" in after else len(after)
    return owner[-1:] in (["{"], [","]) and after[close + 1 : close + 5] == [
        *("=", "process", ".", "env"),
    ]
