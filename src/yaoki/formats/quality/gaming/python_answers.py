"""Results that a Python program contains as literals, found in its syntax tree."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence

from yaoki.formats.quality.gaming.answers import PARTIAL_COMPARISONS, Answer, KeyUse
from yaoki.formats.quality.gaming.literals import UNKNOWN, Literal, is_rich, python_literal
from yaoki.formats.quality.python_suites import last_name

_FUNCTION = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)
# The literals that a branch of the program asks for, each with how it is compared.
Guard = tuple[KeyUse, Literal]


def python_answers(tree: ast.Module) -> Iterator[Answer]:
    looked_up = _looks_up(tree)
    for node in ast.walk(tree):
        match node:
            case ast.Dict(keys=keys, values=values) if looked_up:
                for key, value in zip(keys, values, strict=True):
                    yield from _pair(key, value, node.lineno)
                yield from _nested(node, (), node.lineno)
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


def _nested(table: ast.Dict, outer: tuple[Literal, ...], line: int) -> Iterator[Answer]:
    """`{2: {3: 5}}` gives 5 for the inputs 2 and 3; such pairs are a table of their own."""
    for key, value in zip(table.keys, table.values, strict=True):
        left = python_literal(key)
        if left is UNKNOWN:
            continue
        if isinstance(value, ast.Dict):
            yield from _nested(value, (*outer, left), line)
        right = python_literal(value) if outer else UNKNOWN
        if right is not UNKNOWN and any(isinstance(one, float) for one in (*outer, left)):
            yield Answer(KeyUse.WHOLE, (*outer, left), right, value.lineno, -line)


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
            return _is_input(part, names) or _is_composed(part, names)
        case ast.Call(func=ast.Attribute(attr="get" | "pop" | "setdefault"), args=[key, *_]):
            return _is_input(key, names) or _is_composed(key, names)
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
        case ast.Attribute(value=ast.Name(id="self")):
            return True
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


def _is_composed(node: ast.expr, names: set[str]) -> bool:
    """`str(a) + "+" + str(b)`, `"%s+%s" % (a, b)`: a text of several inputs."""
    if not isinstance(node, ast.BinOp) or not isinstance(node.op, ast.Add | ast.Mod):
        return False
    parts = list(ast.walk(node))
    has_text = any(isinstance(one, ast.Constant) and isinstance(one.value, str) for one in parts)
    return has_text and any(isinstance(one, ast.Name) and one.id in names for one in parts)


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
    yield from _filled(function, names)
    yield from _of_body(function.body, names, (), function.lineno)
    yield from _rest(function)
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


def _results(function: ast.AST) -> list[ast.expr]:
    """The values that the function returns, with both sides of a condition."""
    found = [n.value for n in ast.walk(function) if isinstance(n, ast.Return) and n.value]
    place = 0
    while place < len(found):
        one = found[place]
        found[place : place + 1] = [one.body, one.orelse] if isinstance(one, ast.IfExp) else [one]
        place += not isinstance(one, ast.IfExp)
    return found


def _rest(function: ast.FunctionDef | ast.AsyncFunctionDef) -> Iterator[Answer]:
    """The last result of a function that computes none: `if a == 3: return 12`, `return 10`."""
    results = _results(function)
    if len(results) > 1 and all(_result(one) is not UNKNOWN for one in results):
        last = results[-1]
        yield Answer(KeyUse.REST, (), _result(last), last.lineno, function.lineno)


def _filled(function: ast.FunctionDef | ast.AsyncFunctionDef, names: set[str]) -> Iterator[Answer]:
    """`return 50 if rows else 0`: one result for every input that is not empty."""
    results = _results(function)
    tests = [n.test for n in ast.walk(function) if isinstance(n, ast.If | ast.IfExp)]
    plain = [one.operand if isinstance(one, ast.UnaryOp) else one for one in tests]
    is_choice = len(tests) == 1 and isinstance(plain[0], ast.Name) and plain[0].id in names
    if is_choice and len(results) == 2 and all(_result(one) is not UNKNOWN for one in results):
        for one in results:
            yield Answer(KeyUse.FILLED, (), _result(one), one.lineno, -function.lineno)


def _result(node: ast.expr) -> Literal:
    """A literal, also as JSON."""
    if isinstance(node, ast.Call) and last_name(node.func) in ("dumps", "jsonify") and node.args:
        return python_literal(node.args[0])
    return python_literal(node)


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
    value = _result(node)
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
        case ast.Call(func=func, args=[*_, key]) if last_name(func) in PARTIAL_COMPARISONS:
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
