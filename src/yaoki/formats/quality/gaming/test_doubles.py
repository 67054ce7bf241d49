"""Tests that prove nothing: the subject is a mock, or no assertion can fail."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence

from yaoki.core.lazy_pattern import lazy_compile
from yaoki.formats.quality.definition.assertions import AssertionKind
from yaoki.formats.quality.definition.file_index import FileIndex
from yaoki.formats.quality.definition.units import CodeUnit, parse_source
from yaoki.formats.quality.gaming.javascript import Token, closing
from yaoki.formats.quality.gaming.scopes import dotted
from yaoki.formats.quality.python_suites import ASSERTING_WORDS, last_name

SUBJECT = "the test replaces {} and then asserts on it; test the real one"
CANNOT_FAIL = "the test cannot fail: no assertion depends on the program; assert its result"
_REPEATS = lazy_compile(r"determin|stable|same|repeat|idempot|cache|twice|again|pure|consisten")
_MOCKS = frozenset({"Mock", "MagicMock", "AsyncMock", "NonCallableMock", "create_autospec"})
_JS_TESTS = frozenset({"test", "it", "specify"})
_JS_STUBS = frozenset({"method", "spyOn", "stub", "replace", "fn", "getter"})


# ------------------------------------------------------------------ Python


def find_in_python(before: str, after: str, base: FileIndex) -> Iterator[tuple[int, str]]:
    """Look at the tests that are new or changed."""
    old, new = parse_source(before), parse_source(after)
    for name, unit in new.units.items():
        known = old.units.get(name)
        bare = name.rpartition(".")[2]
        if unit.node is None or not bare.startswith("test"):
            continue
        if known is None or known.shape != unit.shape:
            yield from _judge_test(unit, unit.node, base)


def _judge_test(
    unit: CodeUnit, node: ast.FunctionDef | ast.AsyncFunctionDef, base: FileIndex
) -> Iterator[tuple[int, str]]:
    replaced = dict(_replaced(node, base))
    asked = list(_asserted_calls(node))
    for call in asked:
        target = dotted(call.func)
        bare = target.rpartition(".")[2]
        if target in replaced or bare in replaced.values():
            yield node.lineno, SUBJECT.format(bare)
            return
    if _claims_to_assert(node) and not _live(unit) and not _REPEATS.search(unit.name):
        yield node.lineno, CANNOT_FAIL


def _live(unit: CodeUnit) -> bool:
    return any(one.kind not in (AssertionKind.CALL, AssertionKind.ROW) for one in unit.assertions)


def _claims_to_assert(node: ast.AST) -> bool:
    for one in ast.walk(node):
        if isinstance(one, ast.Assert):
            return True
        if isinstance(one, ast.Call):
            name = last_name(one.func)
            if name.startswith("assert") and any(word in name.lower() for word in ASSERTING_WORDS):
                return True
    return False


def _replaced(node: ast.AST, base: FileIndex) -> Iterator[tuple[str, str]]:
    """Names that the test replaces: how it writes them, and their last part."""
    for one in ast.walk(node):
        match one:
            case ast.Call(func=func, args=[ast.Constant(value=str(name)), *_]) if _patches(func):
                if _is_own(name.partition(".")[0], base):
                    yield name, name.rpartition(".")[2]
            case ast.Call(func=func, args=[owner, ast.Constant(value=str(name)), *_]) if _patches(
                func
            ):
                if _is_own(dotted(owner).partition(".")[0], base):
                    yield f"{dotted(owner)}.{name}", name
            case ast.Assign(targets=[ast.Attribute(value=ast.Name(id=owner), attr=name)]):
                if _is_own(owner, base):
                    yield f"{owner}.{name}", name
            case ast.Assign(targets=[ast.Name(id=name)], value=ast.Call(func=func)):
                if last_name(func) in _MOCKS:
                    yield name, f"<{name}>"
            case ast.withitem(context_expr=ast.Call(func=func), optional_vars=ast.Name(id=name)):
                if _patches(func):
                    yield name, f"<{name}>"
            case _:
                continue


def _patches(func: ast.expr) -> bool:
    name = dotted(func)
    last = name.rpartition(".")[2]
    return last in ("patch", "setattr") or name.endswith("patch.object")


def _is_own(module: str, base: FileIndex) -> bool:
    """Is it a module or package of the repository, or a name that no module has?"""
    paths = {path.removeprefix("src/") for path in base.paths}
    return any(path == f"{module}.py" or path.startswith(f"{module}/") for path in paths) or (
        any(path.rpartition("/")[2] == f"{module}.py" for path in paths)
    )


def _asserted_calls(node: ast.AST) -> Iterator[ast.Call]:
    """Calls whose result is compared, directly or through a name."""
    results = {
        one.targets[0].id: one.value
        for one in ast.walk(node)
        if isinstance(one, ast.Assign) and isinstance(one.targets[0], ast.Name)
    }
    for one in ast.walk(node):
        asserted: list[ast.expr] = []
        if isinstance(one, ast.Assert):
            asserted = [one.test]
        elif isinstance(one, ast.Call) and last_name(one.func).startswith(
            ("assertEqual", "assertT")
        ):
            asserted = list(one.args[:2])
        for part in asserted:
            for inner in ast.walk(part):
                value = results.get(inner.id) if isinstance(inner, ast.Name) else inner
                value = value.value if isinstance(value, ast.Await) else value
                if isinstance(value, ast.Call):
                    yield value


# ------------------------------------------------------------------ JavaScript


def find_in_javascript(old: Sequence[Token], new: Sequence[Token]) -> Iterator[tuple[int, str]]:
    stubs = dict(_js_stubs(new))
    known = dict(_js_stubs(old))
    called = {name for at, name in _js_asserted_calls(new)}
    for name, line in stubs.items():
        if name not in known and name in called:
            yield line, SUBJECT.format(name)
    tests_before = {name: body for name, _, body in _js_tests(old)}
    for name, line, body in _js_tests(new):
        is_known = [t.text for t in tests_before.get(name, ())] == [t.text for t in body]
        if not is_known and _js_cannot_fail(body):
            yield line, CANNOT_FAIL


def _js_stubs(tokens: Sequence[Token]) -> Iterator[tuple[str, int]]:
    """`mock.method(status, 'reason')`, `jest.mock('../src/x')`, `status.reason = …`."""
    mocked: list[str] = []
    for at, token in enumerate(tokens[:-4]):
        following = tokens[at + 1].text
        if token.text in _JS_STUBS and following == "(" and tokens[at + 4].kind == "text":
            yield tokens[at + 4].text.strip("\"'`"), token.line
        elif token.text in ("mock", "doMock", "module") and following == "(":
            if tokens[at + 2].kind == "text" and tokens[at + 2].text[1:2] == ".":
                mocked.append(tokens[at + 2].text[1:-1])
        elif (
            token.text == "="
            and at > 2
            and tokens[at - 2].text == "."
            and tokens[at - 3].kind == "name"
        ):
            owner = tokens[at - 3].text
            if owner not in ("module", "exports", "this", "process") and _is_imported(
                tokens, owner
            ):
                yield tokens[at - 1].text, token.line
    for path in mocked:
        yield from _names_from(tokens, path)


def _is_imported(tokens: Sequence[Token], name: str) -> bool:
    for at, token in enumerate(tokens):
        if token.text in ("require", "from"):
            line = [one.text for one in tokens[max(0, at - 8) : at + 4]]
            if name in line and any(word[1:2] == "." for word in line if word[:1] in "\"'`"):
                return True
    return False


def _names_from(tokens: Sequence[Token], path: str) -> Iterator[tuple[str, int]]:
    """The names that the test file imports from a module that is mocked as a whole."""
    for at, token in enumerate(tokens):
        if token.kind == "text" and token.text[1:-1] == path:
            start = at
            while start and tokens[start].text not in (";", "import", "const", "let", "var"):
                start -= 1
            if tokens[start].text in ("import", "const", "let", "var"):
                for one in tokens[start + 1 : at]:
                    if one.kind == "name" and one.text not in ("from", "require", "as"):
                        yield one.text, one.line


def _js_asserted_calls(tokens: Sequence[Token]) -> Iterator[tuple[int, str]]:
    for at, token in enumerate(tokens[:-2]):
        is_assert = token.text == "expect" or (at > 1 and tokens[at - 2].text == "assert")
        if is_assert and tokens[at + 1].text == "(":
            end = closing(tokens, at + 1)
            for place in range(at + 2, min(end, len(tokens) - 1)):
                if tokens[place].kind == "name" and tokens[place + 1].text == "(":
                    yield place, tokens[place].text
                    if place > 1 and tokens[place - 1].text == ".":
                        yield place, tokens[place - 2].text


def _js_tests(tokens: Sequence[Token]) -> Iterator[tuple[str, int, Sequence[Token]]]:
    """Each test with its title, its line and its body."""
    for at, token in enumerate(tokens[:-3]):
        if token.text in _JS_TESTS and tokens[at + 1].text == "(" and tokens[at + 2].kind == "text":
            yield tokens[at + 2].text, token.line, tokens[at + 3 : closing(tokens, at + 1)]


def _js_cannot_fail(body: Sequence[Token]) -> bool:
    verdicts = [_js_is_idle(body, at) for at, token in enumerate(body) if _js_asserts(body, at)]
    return bool(verdicts) and all(verdicts)


def _js_asserts(body: Sequence[Token], at: int) -> bool:
    if body[at].text not in ("assert", "expect"):
        return False
    return at + 1 < len(body) and body[at + 1].text in (".", "(")


def _js_is_idle(body: Sequence[Token], at: int) -> bool:
    """An assertion that holds by itself, or that nobody waits for."""
    place = at + 1
    while place < len(body) and body[place].text != "(":
        place += 1
    end = closing(body, place)
    texts = [token.text for token in body[place + 1 : end]]
    matcher = [token.text for token in body[end + 1 : end + 12]]
    before = [token.text for token in body[max(0, at - 2) : at]]
    waits = before[-1:] in (["await"], ["return"], ["=>"])
    if body[at].text == "expect":
        if not matcher or matcher[0] != ".":
            return True
        if matcher[1] in ("resolves", "rejects"):
            return not waits
        compared = matcher[matcher.index("(") + 1 :] if "(" in matcher else []
        given = compared[: compared.index(")")] if ")" in compared else compared
        return texts == given or (texts == ["true"] and "toBeTruthy" in matcher)
    name = body[place - 1].text
    if name in ("rejects", "doesNotReject"):
        return not waits
    parts = _split(texts)
    if len(parts) > 1 and name.lower().endswith("equal") and not name.startswith("not"):
        return parts[0] == parts[1]
    return parts[:1] in ([["true"]], [["1"]]) or (
        len(parts) == 1 and parts[0][-2:] == ["||", "true"]
    )


def _split(texts: Sequence[str]) -> list[list[str]]:
    """Arguments at the commas outside of brackets."""
    parts: list[list[str]] = [[]]
    depth = 0
    for text in texts:
        depth += text in ("(", "[", "{")
        depth -= text in (")", "]", "}")
        if text == "," and depth == 0:
            parts.append([])
        else:
            parts[-1].append(text)
    return parts
