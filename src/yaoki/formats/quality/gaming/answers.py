"""Results that a program contains as literals: what it compares or looks up, and what it gives."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Sequence
from enum import Enum, auto

from yaoki.core.lazy_dataclass import dataclass
from yaoki.formats.quality.gaming.javascript import Token, closing, key_of, read_literal
from yaoki.formats.quality.gaming.literals import UNKNOWN, Literal, is_rich, leaves, python_literal
from yaoki.formats.quality.python_suites import last_name

_FUNCTION = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)
_PARTS = frozenset(
    {"startswith", "endswith", "startsWith", "endsWith", "includes", "count", "find"}
) | {*("index", "indexOf", "search", "match", "fullmatch", "test", "contains")}
_EQUAL_MARKS = frozenset({"===", "=="})
NEAR_TOKENS = 40


class KeyUse(Enum):
    """How a key is compared with the input: the whole of it, a part, or its length.  ALWAYS: the
    result does not depend on the input.  ORDER: on the number of the call.
    """

    WHOLE = auto()
    PART = auto()
    ALWAYS = auto()
    ORDER = auto()


@dataclass(frozen=True, slots=True)
class Answer:
    """`table` is the table or function that contains it; its answers are judged together."""

    use: KeyUse
    keys: tuple[Literal, ...]
    value: Literal
    line: int
    table: int


# ------------------------------------------------------------------ Python


def python_answers(tree: ast.Module) -> Iterator[Answer]:
    looked_up = _looks_up(tree)
    for node in ast.walk(tree):
        match node:
            case ast.Dict(keys=keys, values=values) if looked_up:
                for key, value in zip(keys, values, strict=True):
                    yield from _pair(key, value, node.lineno)
            case ast.List(elts=rows) | ast.Tuple(elts=rows) | ast.Set(elts=rows) if rows:
                yield from _row_pairs(rows, node.lineno, looked_up)
            case ast.Call(func=ast.Attribute(attr="replace"), args=[old, new]):
                yield from _pair(old, new, node.lineno)
            case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.Lambda():
                yield from _of_function(node)
            case _:
                continue


def _pair(key: ast.expr | None, value: ast.expr, table: int) -> Iterator[Answer]:
    left, right = python_literal(key), python_literal(value)
    if left is not UNKNOWN and right is not UNKNOWN:
        yield Answer(KeyUse.WHOLE, (left,), right, value.lineno, table)


def _row_pairs(rows: Sequence[ast.expr], table: int, looked_up: bool) -> Iterator[Answer]:
    for row in rows if looked_up else ():
        if isinstance(row, ast.Tuple | ast.List) and len(row.elts) >= 2:
            *keys, value = (python_literal(one) for one in row.elts)
            if UNKNOWN not in keys and value is not UNKNOWN:
                yield Answer(KeyUse.WHOLE, tuple(keys), value, row.lineno, table)


def _looks_up(tree: ast.Module) -> bool:
    """Does a function use its parameter, as it is, as the key of a table?

    A table that is only walked through serves a calculation.
    """
    for function in ast.walk(tree):
        if isinstance(function, _FUNCTION):
            names = {arg.arg for arg in _arguments(function)}
            if any(_is_lookup(node, names) for node in ast.walk(function)):
                return True
    return False


def _is_lookup(node: ast.AST, names: set[str]) -> bool:
    match node:
        case ast.Subscript(slice=key, ctx=ast.Load()):
            part = key.value if isinstance(key, ast.Subscript) and _has_literal(key.slice) else key
            return _is_input(part, names)
        case ast.Call(func=ast.Attribute(attr="get" | "pop" | "setdefault"), args=[key, *_]):
            return _is_input(key, names)
        case ast.Compare(left=left, ops=[ast.In() | ast.Eq()], comparators=[right]):
            # `for known, result in TABLE: if known == text`
            return (_is_input(left, names) and not _has_literal(right)) or (
                _is_input(right, names) and isinstance(left, ast.Name | ast.Subscript)
            )
        case ast.Call(func=ast.Name(id="next" | "dict"), args=[*_]):
            return False
        case _:
            return False


def _has_literal(node: ast.expr) -> bool:
    return python_literal(node) is not UNKNOWN


def _is_input(node: ast.expr, names: set[str]) -> bool:
    """A parameter, several of them, or their text or hash: not a part of it."""
    match node:
        case ast.Name(id=name):
            return name in names
        case ast.Tuple(elts=parts):
            return bool(parts) and all(_is_input(part, names) for part in parts)
        case ast.JoinedStr(values=parts):
            held = [part.value for part in parts if isinstance(part, ast.FormattedValue)]
            return bool(held) and all(_is_input(one, names) for one in held)
        case ast.Call(func=ast.Attribute(value=inner), args=[]):
            return _is_input(inner, names)
        case ast.Call(args=args) if args:
            return any(_is_input(arg, names) for arg in args)
        case _:
            return False


def _arguments(function: ast.AST) -> list[ast.arg]:
    args = getattr(function, "args", None)
    if not isinstance(args, ast.arguments):
        return []
    more = [one for one in (args.vararg, args.kwarg) if one is not None]
    named = [*args.posonlyargs, *args.args, *args.kwonlyargs, *more]
    return [arg for arg in named if arg.arg not in ("self", "cls")]


def _of_function(function: ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda) -> Iterator[Answer]:
    names = {arg.arg for arg in _arguments(function)}
    if isinstance(function, ast.Lambda):
        yield from _of_expression(function.body, names, (), function.lineno)
        return
    yield from _constant(function, names)
    yield from _of_body(function.body, names, (), function.lineno)
    yield from _in_order(function, function.lineno)


def _constant(
    function: ast.FunctionDef | ast.AsyncFunctionDef, names: set[str]
) -> Iterator[Answer]:
    """The same literal whatever it is called with."""
    body = [one for one in function.body if not isinstance(one, ast.Expr)]
    used = {n.id for one in body for n in ast.walk(one) if isinstance(n, ast.Name)}
    if names and not names & used and len(body) == 1 and isinstance(body[0], ast.Return):
        value = python_literal(body[0].value)
        if value is not UNKNOWN:
            yield Answer(KeyUse.ALWAYS, (), value, body[0].lineno, function.lineno)


Guard = tuple[KeyUse, Literal]


def _of_body(
    body: Sequence[ast.stmt], names: set[str], guards: tuple[Guard, ...], table: int
) -> Iterator[Answer]:
    for node in body:
        match node:
            case ast.If(test=test, body=inner, orelse=other):
                for alternative in _guards(test, names):
                    yield from _of_body(inner, names, (*guards, *alternative), table)
                yield from _of_body(other, names, guards, table)
            case ast.Match(subject=subject, cases=cases):
                for case in cases:
                    for found in _patterns(subject, case.pattern):
                        yield from _of_body(case.body, names, (*guards, *found), table)
            case ast.Return(value=ast.expr() as value) | ast.Assign(value=value):
                yield from _of_expression(value, names, guards, table)
            case ast.Raise(exc=ast.expr() as error) if guards:
                yield _guarded(guards, ("raises", last_name(error)), node.lineno, table)
            case ast.Expr(value=ast.Yield(value=ast.expr() as value)):
                yield from _of_expression(value, names, guards, table)
            case ast.For(body=inner) | ast.While(body=inner) | ast.With(body=inner):
                yield from _of_body(inner, names, guards, table)
            case ast.Try(body=inner, orelse=other, finalbody=last, handlers=handlers):
                for part in (inner, other, last, *(h.body for h in handlers)):
                    yield from _of_body(part, names, guards, table)
            case _:
                continue


def _of_expression(
    node: ast.expr, names: set[str], guards: tuple[Guard, ...], table: int
) -> Iterator[Answer]:
    if isinstance(node, ast.IfExp):
        for alternative in _guards(node.test, names):
            yield from _of_expression(node.body, names, (*guards, *alternative), table)
        yield from _of_expression(node.orelse, names, guards, table)
        return
    value = python_literal(node)
    if value is not UNKNOWN and guards:
        yield _guarded(guards, value, node.lineno, table)


def _guarded(guards: tuple[Guard, ...], value: Literal, line: int, table: int) -> Answer:
    whole = all(use is KeyUse.WHOLE for use, _ in guards)
    use = KeyUse.WHOLE if whole else KeyUse.PART
    return Answer(use, tuple(key for _, key in guards), value, line, table)


def _guards(test: ast.expr, names: set[str]) -> list[tuple[Guard, ...]]:
    """The literals that a condition asks for: one list for each alternative of an `or`."""
    match test:
        case ast.BoolOp(op=ast.And(), values=values):
            parts = [_guards(one, names)[0] for one in values]
            guards = tuple(guard for part in parts for guard in part)
            # Beside a calculation, only a key with much content shows a special case.
            is_open = not all(parts) and not any(is_rich(key) for _, key in guards)
            return [()] if is_open else [guards]
        case ast.BoolOp(op=ast.Or(), values=values):
            return [alternative for one in values for alternative in _guards(one, names)]
        case ast.Compare(left=left, ops=[ast.Eq() | ast.Is()], comparators=[right]):
            return _compared(left, right, names)
        case ast.Compare(left=key, ops=[ast.In()], comparators=[right]):
            return _contained(key, right, names)
        case ast.Call(func=func, args=[*_, key]) if last_name(func) in _PARTS:
            value = python_literal(key if python_literal(key) is not UNKNOWN else test.args[0])
            return [((KeyUse.PART, value),)] if value is not UNKNOWN else [()]
        case _:
            return [()]


def _compared(left: ast.expr, right: ast.expr, names: set[str]) -> list[tuple[Guard, ...]]:
    for subject, key in ((left, right), (right, left)):
        value = python_literal(key)
        if value is UNKNOWN or python_literal(subject) is not UNKNOWN:
            continue
        if isinstance(subject, ast.Tuple) and isinstance(value, tuple):
            plain = all(_is_input(part, names) for part in subject.elts)
            use = KeyUse.WHOLE if plain else KeyUse.PART
            return [tuple((use, one) for one in value)]
        if _is_input(subject, names) and not _is_length(subject):
            return [((KeyUse.WHOLE, value),)]
        is_remainder = any(isinstance(n, ast.BinOp) for n in ast.walk(subject))
        return [()] if is_remainder else [((KeyUse.PART, value),)]
    return [()]


def _is_length(node: ast.expr) -> bool:
    return isinstance(node, ast.Call) and last_name(node.func) in (
        "len",
        "sum",
        "hash",
        "ord",
        "type",
    )


def _contained(key: ast.expr, right: ast.expr, names: set[str]) -> list[tuple[Guard, ...]]:
    part = python_literal(key)
    if part is not UNKNOWN:
        return [((KeyUse.PART, part),)]
    values = python_literal(right)
    if isinstance(values, tuple) and _is_input(key, names):
        return [((KeyUse.WHOLE, one),) for one in values]
    return [()]


def _patterns(subject: ast.expr, pattern: ast.pattern) -> list[tuple[Guard, ...]]:
    use = KeyUse.WHOLE if isinstance(subject, ast.Name | ast.Tuple) else KeyUse.PART
    match pattern:
        case ast.MatchOr(patterns=patterns):
            return [found for one in patterns for found in _patterns(subject, one)]
        case ast.MatchValue(value=value):
            key = python_literal(value)
            return [((use, key),)] if key is not UNKNOWN else [()]
        case ast.MatchSequence(patterns=patterns):
            keys = [python_literal(p.value) for p in patterns if isinstance(p, ast.MatchValue)]
            whole = len(keys) == len(patterns) and UNKNOWN not in keys
            return [tuple((use, key) for key in keys)] if whole else [()]
        case _:
            return [()]


def _in_order(function: ast.AST, table: int) -> Iterator[Answer]:
    """`next(ANSWERS)`, `ANSWERS.pop(0)`: the results of one call after the other."""
    for node in ast.walk(function):
        match node:
            case ast.Call(func=ast.Name(id="next"), args=[ast.Name() | ast.Attribute(), *_]):
                yield Answer(KeyUse.ORDER, (), UNKNOWN, node.lineno, table)
            case ast.Call(func=ast.Attribute(attr="pop" | "popleft")):
                yield Answer(KeyUse.ORDER, (), UNKNOWN, node.lineno, table)
            case _:
                continue


def python_sequences(tree: ast.Module) -> Iterator[tuple[Literal, int]]:
    """Literal lists with at least three values, and their lines."""
    for node in ast.walk(tree):
        if isinstance(node, ast.List | ast.Tuple):
            value = python_literal(node)
            if isinstance(value, tuple) and len(value) > 2:
                yield value, node.lineno


# ------------------------------------------------------------------ JavaScript


def javascript_answers(tokens: Sequence[Token]) -> Iterator[Answer]:
    looked_up = _js_looks_up(tokens)
    for at, token in enumerate(tokens):
        if token.text == "case":
            yield from _js_case(tokens, at)
        elif token.text in _EQUAL_MARKS or token.text in _PARTS or token.kind == "regex":
            yield from _js_guard(tokens, at)
        elif token.text == "{" and looked_up:
            yield from _js_object(tokens, at)
        elif token.text == "[" and looked_up:
            yield from _js_rows(tokens, at)
        elif token.text in ("replace", "replaceAll") and at + 1 < len(tokens):
            old, end = read_literal(tokens, at + 2)
            new, _ = read_literal(tokens, end + 1)
            if old is not UNKNOWN and new is not UNKNOWN:
                yield Answer(KeyUse.WHOLE, (old,), new, token.line, token.line)


def _js_looks_up(tokens: Sequence[Token]) -> bool:
    """Is a table read by a name, by several, or by their JSON?"""
    for at, token in enumerate(tokens[:-2]):
        before = tokens[at - 1] if at else token
        is_read = before.kind == "name" or before.text in ("?.", ")", "]", "}")
        by_name = tokens[at + 1].kind in ("name", "text")
        if token.text == "[" and is_read and by_name and before.text not in ("of", "in", "return"):
            return True
        if token.text in ("get", "has", "find") and tokens[at + 1].text == "(":
            return True
    return False


def _js_case(tokens: Sequence[Token], at: int) -> Iterator[Answer]:
    """`case A: case B: return VALUE`, or an assignment of a literal."""
    key, end = read_literal(tokens, at + 1)
    if key is UNKNOWN:
        return
    for place in range(end, min(end + NEAR_TOKENS, len(tokens))):
        if tokens[place].text in ("return", "="):
            value, _ = read_literal(tokens, place + 1)
            if value is not UNKNOWN:
                yield Answer(KeyUse.WHOLE, (key,), value, tokens[place].line, 0)
            return
        if tokens[place].text in ("break", "default", "}"):
            return


def _js_guard(tokens: Sequence[Token], at: int) -> Iterator[Answer]:
    """The literals of a condition, and the literal that follows it."""
    start, end = _condition(tokens, at)
    keys: list[Literal] = []
    use = KeyUse.WHOLE
    for place in range(start, end):
        token = tokens[place]
        if token.text in _EQUAL_MARKS:
            key, _ = read_literal(tokens, place + 1)
            other = tokens[place - 1].literal if key is UNKNOWN else key
            keys += [other] if other is not UNKNOWN else []
            before = [t.text for t in tokens[max(start, place - 4) : place]]
            use = (
                KeyUse.PART if {".", "%", "&"} & set(before) and "stringify" not in before else use
            )
            if "%" in before:
                return
        elif token.text in _PARTS and tokens[place + 1].text == "(":
            key, _ = read_literal(tokens, place + 2)
            keys += [key] if key is not UNKNOWN else []
            use = KeyUse.PART
        elif token.kind == "regex":
            words = re.findall(r"\w{3,}", token.text)
            keys += words[:1]
            use = KeyUse.PART
    value = _js_result(tokens, end)
    if keys and value is not UNKNOWN:
        yield Answer(use, tuple(keys), value, tokens[at].line, 0)


def _condition(tokens: Sequence[Token], at: int) -> tuple[int, int]:
    """The bounds of the expression around a comparison: of `if (…)`, or before a `?`."""
    start = at
    while start and tokens[start - 1].text not in (
        ";",
        "{",
        "}",
        "return",
        "if",
        "?",
        ":",
        "=",
        "=>",
        "||",
    ):
        start -= 1
    end = at
    depth = 0
    while end < len(tokens) and tokens[end].text not in ("?", ";", "{", "}", "||"):
        depth += tokens[end].text == "("
        depth -= tokens[end].text == ")"
        if depth < 0 and start and tokens[start - 1].text == "if":
            return start, end
        end += 1
    return start, end


def _js_result(tokens: Sequence[Token], end: int) -> Literal:
    """`) return VALUE`, `) { return VALUE`, `? VALUE`."""
    place = end
    if place < len(tokens) and tokens[place].text == "||":
        while place < len(tokens) and tokens[place].text not in ("return", ";", "?"):
            place += 1
        return read_literal(tokens, place + 1)[0]
    if place < len(tokens) and tokens[place].text == "?":
        return read_literal(tokens, place + 1)[0]
    while place < len(tokens) and tokens[place].text in (")", "{"):
        place += 1
    if place < len(tokens) and tokens[place].text == "return":
        return read_literal(tokens, place + 1)[0]
    return UNKNOWN


def _js_object(tokens: Sequence[Token], at: int) -> Iterator[Answer]:
    """The pairs of an object whose keys and values are literals."""
    place, end = at + 1, closing(tokens, at)
    while place + 2 < end and tokens[place + 1].text == ":":
        key = key_of(tokens[place])
        value, after = read_literal(tokens, place + 2)
        if key is UNKNOWN or value is UNKNOWN:
            return
        yield Answer(KeyUse.WHOLE, (key,), value, tokens[place].line, tokens[at].line)
        place = after + 1


def _js_rows(tokens: Sequence[Token], at: int) -> Iterator[Answer]:
    """A list of pairs, as `new Map([[key, value]])` takes it."""
    rows, _ = read_literal(tokens, at)
    for row in rows if isinstance(rows, tuple) else ():
        if isinstance(row, tuple) and len(row) > 1 and row[0] not in ("call", "constant"):
            yield Answer(KeyUse.WHOLE, row[:-1], row[-1], tokens[at].line, tokens[at].line)


def javascript_sequences(tokens: Sequence[Token]) -> Iterator[tuple[Literal, int]]:
    for at, token in enumerate(tokens):
        if token.text == "[":
            value, _ = read_literal(tokens, at)
            if isinstance(value, tuple) and len(value) > 2:
                yield value, token.line


def javascript_takes_in_order(tokens: Sequence[Token]) -> int:
    """The line of `answers.shift()` or `answers[calls++]`; 0 if there is none."""
    for at, token in enumerate(tokens[:-2]):
        if token.text == "shift" and tokens[at + 1].text == "(":
            return token.line
        if token.text == "[" and tokens[at + 1].kind == "name" and tokens[at + 2].text == "++":
            return token.line
    return 0


def atoms(values: Sequence[Literal]) -> list[Literal]:
    return [leaf for value in values for leaf in leaves(value)]
