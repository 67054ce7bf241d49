"""Comparisons that hold for everything, and functions of the language that are replaced."""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterator, Sequence

from yaoki.core.lazy_pattern import lazy_compile
from yaoki.formats.quality.gaming.assertion_modules import REPLACES as REPLACES_RUNNER
from yaoki.formats.quality.gaming.javascript import Token, closing, read_literal
from yaoki.formats.quality.gaming.literals import UNKNOWN, fold_text
from yaoki.formats.quality.gaming.loose_equality import find_loose_equalities
from yaoki.formats.quality.gaming.scopes import dotted
from yaoki.formats.quality.python_suites import last_name, surely_holds

ALWAYS_EQUAL = "an equality that holds for everything; compare the values"
EVERY_ERROR = "an exception class that every exception matches; define a class of its own"
COMPARES_PART = "an equality that ignores most of its own value; compare the whole values"
REPLACES_LIBRARY = (
    "replaces a function of the standard library for everyone; call your own function"
)
_RUNNERS = frozenset({"unittest", "pytest", "_pytest", "doctest", "builtins", "__builtins__"})
_HOLDS = {"__eq__": True, "__ne__": False, "__contains__": True, "__instancecheck__": True}
_HOLDS |= {"__subclasscheck__": True}
_BUILT_INS = frozenset(
    {"int", "float", "str", "list", "dict", "tuple", "set", "object", "bool"}
) | {*("complex", "bytes", "Number", "Decimal", "Real", "Iterable", "Mapping", "Sequence")}
# Subclasses of these are values, and tests compare them with plain ones.
_VALUES = frozenset({"int", "float", "str", "list", "dict", "tuple", "set", "bytes", "frozenset"})
# Modules that tests compute and compare with.
_COMPARING = frozenset({"math", "cmath", "operator", "json", "decimal", "fractions", "numbers"}) | {
    *("statistics", "time", "datetime", "random", "re", "copy", "difflib", "filecmp", "hashlib"),
    *("pprint", "functools", "itertools", "calendar", "string", "unicodedata", "collections"),
    *("base64", "binascii", "zlib", "gzip", "bz2", "lzma", "struct", "codecs", "html", "urllib"),
    *("textwrap", "bisect", "heapq", "array", "colorsys", "csv", "uuid", "ipaddress", "shlex"),
    *("hmac", "secrets", "ast", "tokenize", "dataclasses", "enum", "fnmatch", "glob", "quopri"),
}
# Names that only tests and their runners have, whatever object they are written to.
_ASSERTION = lazy_compile(
    r"assert[A-Z]\w+|add(?:Failure|Error|SubTest)|wasSuccessful|failureException|shouldStop"
    r"|pytest_\w+"
)
_JS_PROTOTYPES = lazy_compile(
    r"(?:Object|Array|String|Number|Boolean|Promise|Map|Set|Date|RegExp|Function|Error|AssertionError)"
)
_JS_LIBRARY = frozenset({"Object", "JSON", "Math", "Reflect", "Number", "Array", "Symbol", "Date"})
_JS_ASSERTS = frozenset({"assert", "expect", "chai", "should", "strict"})
_JS_GLOBALS = frozenset({"globalThis", "global", "window"})
_JS_RUNNER_NAMES = frozenset({"expect", "assert", "test", "it", "describe", "JSON", "Object"})


def find_in_python(tree: ast.Module) -> Iterator[tuple[ast.AST, str]]:
    modules = dict(_standard_modules(tree))
    yield from find_loose_equalities(tree)
    yield from ((node, EVERY_ERROR) for node in tree.body if _aliases_every_error(node))
    for node in ast.walk(tree):
        match node:
            case ast.FunctionDef(name=name) if name in _HOLDS and _accepts_all(node, _HOLDS[name]):
                yield node, ALWAYS_EQUAL
            case ast.Assign(targets=[ast.Name(id=name)], value=ast.Lambda() as own) if (
                name in _HOLDS and _accepts_all(own, _HOLDS[name])
            ):
                yield node, ALWAYS_EQUAL
            case ast.ClassDef(bases=bases, body=body) if _is_built_in(bases):
                yield from ((one, COMPARES_PART) for one in body if _compares_part(one))
            case ast.Call(
                func=ast.Name(id="type"), args=[_, ast.Tuple(elts=bases), ast.Dict() as made]
            ):
                yield from ((made, words) for words in _made_equalities(made, bases))
            case ast.Assign(targets=[*_, ast.Attribute(attr=attr)]) if _ASSERTION.fullmatch(attr):
                yield node, REPLACES_RUNNER
            case ast.Call(func=func, args=[_, key, _]) if last_name(func) in (
                "setattr",
                "__setattr__",
            ) and _ASSERTION.fullmatch(fold_text(key) or ""):
                yield node, REPLACES_RUNNER
            case ast.Assign(targets=targets, value=value):
                for target in targets:
                    if words := _replaced(target, modules, value):
                        yield node, words
            case ast.Call(func=func, args=[first, *_]) if last_name(func) in ("setattr", "delattr"):
                if words := _replaced_root(dotted(first), modules):
                    yield node, words
            case _:
                continue


def _aliases_every_error(node: ast.stmt) -> bool:
    """`ParseError = Exception`; in a `try` it is what code does without a library."""
    match node:
        case ast.Assign(targets=[ast.Name(id=name)], value=ast.Name(id=kind)):
            is_error = name.endswith(("Error", "Exception")) and name[:1].isupper()
            return is_error and kind in {"Exception", "BaseException"}
        case _:
            return False


def _standard_modules(tree: ast.Module) -> Iterator[tuple[str, str]]:
    """The names under which this file knows modules of the standard library."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                top = alias.name.partition(".")[0]
                if top in sys.stdlib_module_names or top in _RUNNERS:
                    yield alias.asname or top, top
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            top = node.module.partition(".")[0]
            if top in sys.stdlib_module_names or top in _RUNNERS:
                yield from ((alias.asname or alias.name, top) for alias in node.names)


def _accepts_all(node: ast.FunctionDef | ast.Lambda, holds: bool) -> bool:
    """Does its result not depend on the other value, or only on a built-in type?"""
    args = node.args.args
    other = args[1].arg if len(args) > 1 else ""
    if isinstance(node, ast.Lambda):
        returned: list[ast.expr | None] = [node.body]
        tests: list[ast.expr] = []
    else:
        returned = [n.value for n in ast.walk(node) if isinstance(n, ast.Return)]
        tests = [n.test for n in ast.walk(node) if isinstance(n, ast.If | ast.IfExp | ast.Assert)]
    results = [one for one in returned if one is not None]
    if other and not any(isinstance(n, ast.Name) and n.id == other for n in ast.walk(node)):
        return bool(results) and not all(_declines(one, holds) for one in results)
    asks = any(not _is_vague(test, other) for test in tests)
    if not results or (asks and any(_declines(one, holds) for one in results)):
        return False
    telling = [one for one in results if not _declines(one, holds)]
    vague = node.name == "__eq__" if isinstance(node, ast.FunctionDef) else True
    return bool(telling) and all(
        _is_certain(one, holds) or (vague and _is_vague(one, other)) for one in telling
    )


def _is_built_in(bases: Sequence[ast.expr]) -> bool:
    return any(last_name(base) in _VALUES for base in bases)


def _compares_part(node: ast.stmt) -> bool:
    return isinstance(node, ast.FunctionDef) and node.name == "__eq__" and _ignores_itself(node)


def _made_equalities(made: ast.Dict, bases: Sequence[ast.expr]) -> Iterator[str]:
    """`type("Slug", (str,), {"__eq__": lambda self, other: True})`"""
    for key, value in zip(made.keys, made.values, strict=True):
        name = fold_text(key) if key is not None else None
        if name not in _HOLDS or not isinstance(value, ast.Lambda):
            continue
        if _accepts_all(value, _HOLDS[name]):
            yield ALWAYS_EQUAL
        elif name == "__eq__" and _is_built_in(bases) and _ignores_itself(value):
            yield COMPARES_PART


def _ignores_itself(node: ast.FunctionDef | ast.Lambda) -> bool:
    """Does it use nothing of its own value, or only an item, a slice or the length?"""
    args = [*node.args.posonlyargs, *node.args.args]
    own = args[0].arg if len(args) > 1 else ""
    nodes = list(ast.walk(node))
    partial = {id(n.value) for n in nodes if isinstance(n, ast.Subscript)}
    partial |= {
        id(arg)
        for n in nodes
        if isinstance(n, ast.Call) and last_name(n.func) in {"len", "type", "isinstance", "bool"}
        for arg in n.args
    }
    uses = [n for n in nodes if isinstance(n, ast.Name) and n.id == own and id(n) not in partial]
    return bool(own) and not uses and "super" not in {getattr(n, "id", "") for n in nodes}


def _declines(node: ast.expr, holds: bool) -> bool:
    if isinstance(node, ast.Constant):
        return bool(node.value) is not holds
    return isinstance(node, ast.Name) and node.id == "NotImplemented"


def _is_certain(node: ast.expr, holds: bool) -> bool:
    match node:
        case ast.Constant(value=value):
            return bool(value) is holds
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            return _is_certain(operand, not holds)
        case ast.BoolOp(op=ast.Or(), values=values):
            return holds and any(_is_certain(one, True) for one in values)
        case ast.BoolOp(op=ast.And(), values=values):
            return not holds and any(_is_certain(one, False) for one in values)
        case ast.IfExp(body=body, orelse=orelse):
            return _is_certain(body, holds) and _is_certain(orelse, holds)
        case ast.Compare(left=left, ops=[ast.Eq() | ast.Is()], comparators=[right]):
            return holds and ast.dump(left) == ast.dump(right)
        case ast.Call(func=ast.Name(id="bool"), args=[inner]):
            return _is_certain(inner, holds)
        case _:
            return holds and surely_holds(node)


def _is_vague(node: ast.expr, other: str) -> bool:
    """`isinstance(other, str)`: true for every text."""
    match node:
        case ast.Call(func=ast.Name(id="isinstance"), args=[ast.Name(id=name), kinds]) if (
            name == other
        ):
            parts = kinds.elts if isinstance(kinds, ast.Tuple) else [kinds]
            return all(last_name(part) in _BUILT_INS for part in parts)
        case _:
            return False


def _replaced(target: ast.expr, modules: dict[str, str], value: ast.expr) -> str:
    if isinstance(target, ast.Subscript):
        inner = target.value
        held = (
            inner.value if isinstance(inner, ast.Attribute) and inner.attr == "__dict__" else None
        )
        return _replaced_root(dotted(held), modules) if held is not None else ""
    if not isinstance(target, ast.Attribute):
        return ""
    if dotted(target) == "sys.exit":
        return REPLACES_RUNNER
    if any(isinstance(one, ast.Call) for one in ast.walk(target)):
        return ""
    if isinstance(value, ast.Constant) and modules.get(dotted(target.value)) not in _RUNNERS:
        return ""
    return _replaced_root(dotted(target), modules)


def _replaced_root(name: str, modules: dict[str, str]) -> str:
    root = name.partition(".")[0]
    if name.startswith("builtins._") or not name:
        return ""
    module = modules.get(root, root if root == "__builtins__" else "")
    if module in _RUNNERS:
        return REPLACES_RUNNER
    return REPLACES_LIBRARY if module in _COMPARING else ""


# ------------------------------------------------------------------ JavaScript


def find_in_javascript(tokens: Sequence[Token]) -> Iterator[tuple[int, str]]:
    for at, token in enumerate(tokens):
        following = [one.text for one in tokens[at + 1 : at + 5]]
        if token.text == "=" and (words := _js_replaced(tokens, at)):
            yield token.line, words
        elif token.text in ("defineProperty", "assign") and following[:1] == ["("]:
            first = [one.text for one in tokens[at + 2 : at + 5]]
            built_in = _JS_PROTOTYPES.fullmatch(first[0]) and "prototype" in first
            if first[0] in _JS_ASSERTS or built_in:
                yield token.line, REPLACES_LIBRARY
        elif token.text in ("valueOf", "toPrimitive", "hasInstance") and _js_varies(tokens, at):
            yield token.line, "a value that changes with each comparison; give a plain value"


def _js_replaced(tokens: Sequence[Token], at: int) -> str:
    """The name before `=`: `assert.equal`, `Object.is`, `Array.prototype.includes`."""
    start = at
    while start and tokens[start - 1].line == tokens[at].line and _is_target(tokens[start - 1]):
        start -= 1
        if tokens[start].text in ("const", "let", "var"):
            return ""
    target = [token.text for token in tokens[start:at]]
    texts = [word.strip("\"'`") for word in target]
    if "." not in target and "[" not in target:
        return ""
    if "require" in target and any(
        re.match(r"(?:node:)?(?:assert|test)\b", text) for text in texts
    ):
        return REPLACES_RUNNER
    if texts[0] in _JS_ASSERTS or "AssertionError" in texts:
        return REPLACES_RUNNER
    if texts[0] in _JS_GLOBALS and len(texts) > 2 and texts[2] in _JS_RUNNER_NAMES:
        return REPLACES_RUNNER
    if texts[:3] == ["process", ".", "exit"] or texts[:3] == ["process", ".", "emit"]:
        return REPLACES_RUNNER
    if "prototype" in texts and _JS_PROTOTYPES.fullmatch(texts[0]):
        return REPLACES_LIBRARY
    return REPLACES_LIBRARY if texts[0] in _JS_LIBRARY and len(texts) == 3 else ""


def _is_target(token: Token) -> bool:
    return token.kind in ("name", "text") or token.text in (".", ")", "(", "]", "[")


def _js_varies(tokens: Sequence[Token], at: int) -> bool:
    """Does `valueOf` give a literal, or another value each time?"""
    place = at + 1
    while place < len(tokens) and tokens[place].text not in ("{", ";", "=>"):
        place += 1
    if place >= len(tokens) or tokens[place].text == ";":
        return False
    if tokens[place].text == "=>" and tokens[place + 1].text != "{":
        return read_literal(tokens, place + 1)[0] is not UNKNOWN
    place += tokens[place].text == "=>"
    body = tokens[place + 1 : closing(tokens, place)]
    texts = [token.text for token in body]
    if {"++", "--", "+=", "shift", "pop", "now"} & set(texts):
        return True
    literal = len(body) > 1 and texts[0] == "return" and body[1].literal is not UNKNOWN
    return literal and len(body) <= 3
