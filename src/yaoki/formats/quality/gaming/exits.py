"""Code that ends the tests before they have run."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence

from yaoki.formats.quality.gaming.javascript import Token
from yaoki.formats.quality.gaming.scopes import dotted, is_reference

AT_IMPORT = "exits while it is imported; exit only from the program's entry point"
AT_END = "decides the exit code after everything else; let the runner decide it"
SKIPS = "skips the test that calls it; a program must not know its tests"
IN_CODE = "ends the process with success in the middle of the work; return to the caller"
# These end or replace whatever imports them.
_REPLACING = ("l", "le", "lp", "lpe", "v", "ve", "vp", "vpe")
IMMEDIATE = frozenset({"os._exit", "os.abort", *(f"os.exec{how}" for how in _REPLACING)})
_SKIPS = frozenset({"SkipTest", "Skipped", "pytest.skip", "pytest.xfail", "pytest.importorskip"})
EXITS = frozenset({*IMMEDIATE, "sys.exit", "exit", "quit", "SystemExit", "os.kill"})
_JS_LATER = frozenset({"setTimeout", "setImmediate", "nextTick", "queueMicrotask", "on", "once"})
_JS_HEADS = frozenset({"if", "for", "while", "switch", "catch", "with"})
_JS_MAIN = frozenset({"main", "meta", "parent"})


def find_in_python(tree: ast.Module) -> Iterator[tuple[ast.AST, str]]:
    own = {n.name: n for n in tree.body if isinstance(n, ast.FunctionDef)}
    for node in ast.walk(tree):
        last = isinstance(node, ast.Call) and dotted(node.func) == "atexit.register"
        if last and _ends(node, own):
            yield node, AT_END
    for node in tree.body:
        if not _is_entry_point(node) and _ends_at_import(node, tree.body, own):
            yield node, AT_IMPORT
    for function in own.values():
        yield from _ends_inside(function)
    yield from ((node, SKIPS) for node in ast.walk(tree) if _skips(node))


def _skips(node: ast.AST) -> bool:
    """`raise unittest.SkipTest("later")`, `pytest.skip("later")`"""
    match node:
        case ast.Raise(exc=ast.Call(func=raised)) | ast.Raise(exc=ast.expr() as raised):
            return dotted(raised).rpartition(".")[2] in _SKIPS
        case ast.Call(func=func):
            return dotted(func) in _SKIPS or dotted(func).endswith(".skipTest")
        case _:
            return False


def _ends(node: ast.AST, own: dict[str, ast.FunctionDef]) -> bool:
    """Does it mention an immediate end, by itself or through a function of the same module?"""
    named = {n.id for n in ast.walk(node) if isinstance(n, ast.Name)}
    return any(_mentions_end(one) for one in (node, *(own[n] for n in named & own.keys())))


def _mentions_end(node: ast.AST) -> bool:
    return any(dotted(n) in IMMEDIATE for n in ast.walk(node) if is_reference(n))


def _is_entry_point(node: ast.stmt) -> bool:
    return isinstance(node, ast.If) and "__name__" in ast.dump(node.test)


def _ends_at_import(
    node: ast.stmt, body: Sequence[ast.stmt], own: dict[str, ast.FunctionDef]
) -> bool:
    """An exit before the module is complete: what follows is never defined."""
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef | ast.Import):
        return False
    call = node.value if isinstance(node, ast.Expr) else None
    call = node.exc if isinstance(node, ast.Raise) else call
    name = dotted(call)
    if name in EXITS:
        return node is not body[-1] or name in IMMEDIATE
    if isinstance(node, ast.If | ast.For | ast.While | ast.Try | ast.With):
        return _mentions_end(node) or any(_leaves_well(one) for one in ast.walk(node))
    called = isinstance(call, ast.Call)
    if called and dotted(call) == "atexit.register":
        return False
    return called and _ends(node, own)


def _leaves_well(node: ast.AST) -> bool:
    """`sys.exit()` or `sys.exit(0)`; an exit with an error helps no test to pass."""
    if not isinstance(node, ast.Call) or dotted(node.func) not in ("sys.exit", "exit", "quit"):
        return False
    first = node.args[0] if node.args else ast.Constant(0)
    return isinstance(first, ast.Constant) and first.value in (0, None)


def _ends_inside(function: ast.FunctionDef) -> Iterator[tuple[ast.AST, str]]:
    """`os._exit(0)` where nothing was forked."""
    if any("fork" in dotted(n) for n in ast.walk(function) if isinstance(n, ast.Attribute)):
        return
    for node in ast.walk(function):
        if isinstance(node, ast.Call) and dotted(node.func) == "os._exit" and node.args:
            first = node.args[0]
            if isinstance(first, ast.Constant) and first.value == 0:
                yield node, IN_CODE


# ------------------------------------------------------------------ JavaScript


def find_in_javascript(tokens: Sequence[Token]) -> Iterator[tuple[int, str]]:
    for at, token in enumerate(tokens):
        words = [one.text for one in tokens[max(0, at - 2) : at]]
        if words != ["process", "."] and words != ["process", "?."]:
            continue
        if token.text in ("exit", "reallyExit") and _succeeds(tokens, at + 1):
            if token.text == "reallyExit":
                yield token.line, IN_CODE
            elif reason := _js_reason(tokens, at):
                yield token.line, reason
        elif token.text == "exitCode" and _sets_zero(tokens, at) and _js_is_late(tokens, at):
            yield token.line, AT_END


def _succeeds(tokens: Sequence[Token], at: int) -> bool:
    words = [one.text for one in tokens[at : at + 3]]
    return words[:2] == ["(", ")"] or words == ["(", "0", ")"]


def _sets_zero(tokens: Sequence[Token], at: int) -> bool:
    return [one.text for one in tokens[at + 1 : at + 3]] == ["=", "0"]


def _js_reason(tokens: Sequence[Token], at: int) -> str:
    around = list(_blocks(tokens, at))
    functions = [place for place in around if _is_function(tokens, place)]
    if _js_is_late(tokens, at):
        return AT_END
    if functions:
        return ""
    heads = (_head(tokens, place) for place in around)
    guarded = any(_JS_MAIN & set(head) or {"argv", "1"} <= set(head) for head in heads)
    line = {one.text for one in tokens[max(0, at - 14) : at]}
    return "" if guarded or _JS_MAIN & line else AT_IMPORT


def _js_is_late(tokens: Sequence[Token], at: int) -> bool:
    """Is it in a callback that runs later, or when the process ends?"""
    near = [one.text for one in tokens[max(0, at - 16) : at]]
    calls = [n for n, word in enumerate(near[:-1]) if word in _JS_LATER and near[n + 1] == "("]
    if not calls:
        return False
    head = near[calls[-1] :]
    if head[0] in ("on", "once"):
        return bool({"'exit'", '"exit"', "'beforeExit'", '"beforeExit"'} & set(head))
    return not any(_is_function(tokens, place) for place in list(_blocks(tokens, at))[1:])


def _blocks(tokens: Sequence[Token], at: int) -> Iterator[int]:
    """The places of the braces around it, the innermost first."""
    depth = 0
    for place in range(at, -1, -1):
        text = tokens[place].text if tokens[place].kind == "mark" else ""
        depth += text == "}"
        if text == "{":
            if depth == 0:
                yield place
            else:
                depth -= 1


def _is_function(tokens: Sequence[Token], brace: int) -> bool:
    if brace and tokens[brace - 1].text == "=>":
        return True
    head = _head(tokens, brace)
    return bool(head) and tokens[brace - 1].text == ")" and head[0] not in _JS_HEADS


def _head(tokens: Sequence[Token], brace: int) -> list[str]:
    """The words before a block: `if ( … )`, `function name ( … )`."""
    start = brace
    depth = 0
    while start:
        text = tokens[start - 1].text
        depth += text == ")"
        depth -= text == "("
        if depth < 0 or (depth == 0 and text in (";", "{", "}")):
            break
        start -= 1
    return [one.text for one in tokens[start:brace]]
