"""The expectations of tests: the inputs they give to a function, and the literal that results."""

from __future__ import annotations

import ast
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache

from yaoki.core.lazy_dataclass import dataclass
from yaoki.formats.quality.gaming.javascript import (
    ENDS,
    Token,
    closing,
    read_literal,
    tokens_of,
)
from yaoki.formats.quality.gaming.literals import UNKNOWN, Literal, canonical, python_literal
from yaoki.formats.quality.gaming.set_up_inputs import find_prepared_calls
from yaoki.formats.quality.python import parse_python
from yaoki.formats.quality.python_suites import last_name

ROWS_MAX, CALL_STEPS_MAX = 2_000, 50
_EQUAL_CALLS = frozenset({"assertEqual", "assertEquals", "assertIs", "assertListEqual"}) | {
    *("assertDictEqual", "assertTupleEqual", "assertSetEqual", "assertAlmostEqual", "assert_equal")
}
_NEAR_CALLS = frozenset({"isclose", "allclose", "array_equal", "eq", "cmp_equal"})
_RAISING = frozenset({"raises", "assertRaises", "assertRaisesRegex"})
_NODE_EQUAL = frozenset({"equal", "strictEqual", "deepEqual", "deepStrictEqual", "is", "same"})
_MATCHERS = frozenset({"toBe", "toEqual", "toStrictEqual", "toBeCloseTo", "toMatchObject"})
_EXPECTED_KEYS = frozenset({"expected", "want", "output", "result", "out", "answer", "exp"})
# Functions that run a coroutine or read a text: what they are given is tested.
_PASSING = frozenset({"run", "run_until_complete", "loads"})
_WRAPPERS = frozenset({"approx", "list", "tuple", "str", "dict", "set", "sorted"})


@dataclass(frozen=True, slots=True)
class Expectation:
    """`inputs` are the literals in a call of `function`; `expected` is its result."""

    function: str
    inputs: tuple[Literal, ...]
    expected: Literal


@lru_cache(maxsize=256)
def read_expectations(path: str, text: str) -> tuple[Expectation, ...]:
    try:
        if path.endswith(".py"):
            tree = parse_python(text)
            return (*_of_module(tree), *_of_states(tree)) if tree is not None else ()
        if path.endswith(ENDS):
            return tuple(_of_tokens(tokens_of(path, text)))
        if path.endswith(".json"):
            return tuple(_of_data(json.loads(text)))
    except (RecursionError, ValueError):
        return ()
    return ()


def _of_data(data: object) -> Iterator[Expectation]:
    """Cases in a data file: objects with a telling key, pairs, or results by input."""
    if isinstance(data, dict):
        expected = [key for key in data if key in _EXPECTED_KEYS]
        if len(expected) == 1:
            rest = [v for k, v in data.items() if k not in expected and k not in ("name", "title")]
            inputs = rest[0] if len(rest) == 1 and isinstance(rest[0], list) else rest
            yield Expectation("", tuple(map(canonical, inputs)), canonical(data[expected[0]]))
            return
        for key, value in data.items():
            if not isinstance(value, dict | list):
                yield Expectation("", (key,), canonical(value))
            yield from _of_data(value)
    elif isinstance(data, list):
        if len(data) > 1 and not any(isinstance(one, dict | list) for one in data[1:]):
            yield Expectation("", tuple(map(canonical, data[:-1])), canonical(data[-1]))
        for one in data[:ROWS_MAX]:
            yield from _of_data(one)


# ------------------------------------------------------------------ Python


def _of_module(tree: ast.Module) -> Iterator[Expectation]:
    constants = assigned_names(tree.body)
    yield from _of_block(tree.body, constants)
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            names = {**constants, **assigned_names(node.body)}
            rows = [row for one in node.decorator_list for row in parameter_rows(one, names)]
            for row in rows or [{}]:
                yield from _of_block(node.body, {**names, **row})


def assigned_names(body: Iterable[ast.stmt]) -> dict[str, ast.expr]:
    """Names that are bound by a plain assignment, with their last values.

    A name that is bound to a part of itself keeps the value before: `r = f(1)`, `r = r[0]`.
    """
    values: dict[str, ast.expr] = {}
    for node in body:
        match node:
            case (
                ast.Assign(targets=[ast.Name(id=name)], value=value)
                | ast.AnnAssign(target=ast.Name(id=name), value=ast.expr() as value)
            ) if not _is_part_of(value, name):
                values[name] = value
            case _:
                continue
    return values


def _is_part_of(value: ast.expr, name: str) -> bool:
    return any(isinstance(one, ast.Name) and one.id == name for one in ast.walk(value))


def parameter_rows(
    decorator: ast.expr, names: Mapping[str, ast.expr]
) -> Iterator[dict[str, ast.expr]]:
    match decorator:
        case ast.Call(args=[titles, table, *_]) if last_name(decorator.func) == "parametrize":
            words = python_literal(titles)
            parts = words.replace(",", " ").split() if isinstance(words, str) else words
            if isinstance(parts, list | tuple):
                yield from _rows([str(part) for part in parts], table, names)
        case _:
            return


def _rows(
    targets: Sequence[str], table: ast.expr, names: Mapping[str, ast.expr]
) -> Iterator[dict[str, ast.expr]]:
    table = resolve_name(table, names)
    if isinstance(table, ast.Call) and isinstance(table.func, ast.Attribute):
        table = resolve_name(table.func.value, names)
    if isinstance(table, ast.Dict):
        table = ast.List(
            [
                ast.Tuple([k, v], ast.Load())
                for k, v in zip(table.keys, table.values, strict=True)
                if k
            ]
        )
    if not isinstance(table, ast.List | ast.Tuple):
        return
    for row in table.elts[:ROWS_MAX]:
        values = row.args if isinstance(row, ast.Call) else getattr(row, "elts", None)
        if len(targets) == 1:
            yield {targets[0]: values[0] if isinstance(row, ast.Call) and values else row}
        elif values is not None and len(values) == len(targets):
            yield dict(zip(targets, values, strict=True))


def resolve_name(node: ast.expr, names: Mapping[str, ast.expr]) -> ast.expr:
    for _ in range(5):
        if not isinstance(node, ast.Name) or node.id not in names:
            break
        node = names[node.id]
    return node


def _of_states(tree: ast.Module) -> Iterator[Expectation]:
    constants = assigned_names(tree.body)
    for one in find_prepared_calls(tree):
        expected = _literal(one.expected, constants)
        if expected is not UNKNOWN:
            yield Expectation(one.function, one.inputs, expected)


def _of_block(body: Iterable[ast.stmt], names: Mapping[str, ast.expr]) -> Iterator[Expectation]:
    names = {**names, **assigned_names(body)}
    for node in body:
        match node:
            case ast.Assert(test=test):
                yield from _of_test(test, names)
            case ast.Expr(value=ast.Call(func=func, args=[one, other, *_])) if (
                last_name(func) in _EQUAL_CALLS
            ):
                yield from _of_pair(one, other, names)
            case ast.For(target=target, iter=table, body=inner):
                for row in _rows(_targets(target), table, names):
                    yield from _of_block(inner, {**names, **row})
            case ast.With(items=[ast.withitem(context_expr=context)], body=inner) if (
                last_name(context) in _RAISING
            ):
                yield from _of_error(context, inner, names)
            case ast.With(body=inner) | ast.If(body=inner) | ast.Try(body=inner):
                yield from _of_block(inner, names)
            case _:
                continue


def _of_error(
    context: ast.expr, body: Sequence[ast.stmt], names: Mapping[str, ast.expr]
) -> Iterator[Expectation]:
    error = context.args[0] if isinstance(context, ast.Call) and context.args else None
    last = body[-1].value if isinstance(body[-1], ast.Expr | ast.Assign) else None
    if error is not None and isinstance(last, ast.Call):
        inputs = (_literal(arg, names) for arg in last.args)
        known = tuple(one for one in inputs if one is not UNKNOWN)
        yield Expectation(last_name(last.func), known, ("raises", last_name(error)))


def _targets(target: ast.expr) -> list[str]:
    parts = target.elts if isinstance(target, ast.Tuple) else [target]
    return [part.id for part in parts if isinstance(part, ast.Name)]


def _of_test(test: ast.expr, names: Mapping[str, ast.expr]) -> Iterator[Expectation]:
    match test:
        case ast.BoolOp(op=ast.And(), values=values):
            for one in values:
                yield from _of_test(one, names)
        case ast.Compare(left=left, ops=[ast.Eq() | ast.Is()], comparators=[right]):
            yield from _of_pair(left, right, names)
        case ast.Compare(
            left=ast.Call(func=ast.Name(id="abs"), args=[ast.BinOp(left=left, right=right)])
        ):
            yield from _of_pair(left, right, names)
        case ast.Call(func=func, args=[left, right, *_]) if last_name(func) in _NEAR_CALLS:
            yield from _of_pair(left, right, names)
        case _:
            return


def _of_pair(
    left: ast.expr, right: ast.expr, names: Mapping[str, ast.expr]
) -> Iterator[Expectation]:
    for subject, result in ((left, right), (right, left)):
        result = resolve_name(result, names)
        if isinstance(result, ast.Call) and last_name(result.func) == "approx" and result.args:
            result = result.args[0]
        expected = _literal(result, names)
        call = _call(resolve_name(subject, names), names)
        if expected is not UNKNOWN and call is not None:
            inputs = tuple(
                _literal(arg, names) for arg in (*call.args, *(k.value for k in call.keywords))
            )
            known = tuple(one for one in inputs if one is not UNKNOWN)
            yield Expectation(last_name(call.func), known, expected)
            return


def _call(node: ast.expr, names: Mapping[str, ast.expr]) -> ast.Call | None:
    """The call whose result is compared, through wrappers, attributes and subscripts.

    The search is bounded, because two names may refer to each other.
    """
    for _ in range(CALL_STEPS_MAX):
        match node:
            case ast.Call(func=func, args=[inner, *_]) if last_name(func) in _WRAPPERS:
                node = resolve_name(inner, names)
            case ast.Call(func=func, args=[inner, *_]) if last_name(func) in _PASSING:
                resolved = resolve_name(inner, names)
                if not isinstance(resolved, ast.Call):
                    return node
                node = resolved
            case ast.Call():
                return node
            case ast.Attribute(value=inner) | ast.Subscript(value=inner) | ast.Await(value=inner):
                node = resolve_name(inner, names)
            case _:
                return None
    return None


def _literal(node: ast.expr, names: Mapping[str, ast.expr]) -> Literal:
    node = resolve_name(node, names)
    if isinstance(node, ast.Call) and last_name(node.func) == "dumps" and node.args:
        node = resolve_name(node.args[0], names)
    return python_literal(node)


# ------------------------------------------------------------------ JavaScript


def _of_tokens(tokens: Sequence[Token]) -> Iterator[Expectation]:
    for at, token in enumerate(tokens):
        following = tokens[at + 1].text if at + 1 < len(tokens) else ""
        if token.text in _NODE_EQUAL and following == "(":
            yield from _of_equal(tokens, at + 2)
        elif token.text == "expect" and following == "(":
            yield from _of_expect(tokens, at + 2)
        elif token.text in ("[", "{"):
            yield from _of_row(tokens, at)


def _of_equal(tokens: Sequence[Token], at: int) -> Iterator[Expectation]:
    call, end = _read_call(tokens, at)
    if call is not None and end < len(tokens) and tokens[end].text == ",":
        expected, _ = read_literal(tokens, end + 1)
        if expected is not UNKNOWN:
            yield Expectation(*call, expected)


def _of_expect(tokens: Sequence[Token], at: int) -> Iterator[Expectation]:
    call, end = _read_call(tokens, at)
    words = [token.text for token in tokens[end : end + 4]]
    if call is not None and words[:2] == [")", "."] and words[2:3] and words[2] in _MATCHERS:
        expected, _ = read_literal(tokens, end + 4)
        if expected is not UNKNOWN:
            yield Expectation(*call, expected)


def _read_call(
    tokens: Sequence[Token], at: int
) -> tuple[tuple[str, tuple[Literal, ...]] | None, int]:
    """`await a.b.call(1, 'x')`: the last name and its literal arguments."""
    name = ""
    while at < len(tokens) and (tokens[at].kind == "name" or tokens[at].text == "."):
        name = tokens[at].text
        at += 1
    if not name or at >= len(tokens) or tokens[at].text != "(":
        return None, at
    end = closing(tokens, at)
    inputs: list[Literal] = []
    place = at + 1
    while place < end:
        start = place
        value, place = read_literal(tokens, place)
        if value is UNKNOWN and tokens[start].text == "[":
            value, place = _opaque(tokens, start)
        if value is not UNKNOWN:
            inputs.append(value)
        while place < end and tokens[place].text != ",":
            place = (
                closing(tokens, place) + 1 if tokens[place].text in ("(", "[", "{") else place + 1
            )
        place += 1
    return (name, tuple(inputs)), end + 1


def _opaque(tokens: Sequence[Token], at: int) -> tuple[Literal, int]:
    """A list of functions: only its length is known."""
    end, place, count = closing(tokens, at), at + 1, 1
    while place < end:
        count += tokens[place].text == ","
        place = closing(tokens, place) + 1 if tokens[place].text in ("(", "[", "{") else place + 1
    return ("opaque",) * count, end + 1


def _of_row(tokens: Sequence[Token], at: int) -> Iterator[Expectation]:
    """A row of a table of cases: its last value, or the one with a telling key, is expected."""
    value, _ = read_literal(tokens, at)
    if isinstance(value, tuple) and len(value) > 1 and tokens[at].text == "[":
        if at and tokens[at - 1].text in ("[", ","):
            yield Expectation("", value[:-1], value[-1])
    elif isinstance(value, frozenset) and len(value) > 1:
        expected = [v for k, v in value if k in _EXPECTED_KEYS]
        if len(expected) == 1:
            inputs = tuple(
                v for k, v in value if k not in _EXPECTED_KEYS and k not in ("name", "title")
            )
            yield Expectation("", inputs, expected[0])
