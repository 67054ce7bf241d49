"""Behaviour that depends on a date in the code: it is right today, while it is checked."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from yaoki.core.lazy_pattern import lazy_compile
from yaoki.formats.quality.gaming.literals import UNKNOWN, Literal, python_literal
from yaoki.formats.quality.gaming.scopes import dotted

WORDS = "compares the clock with a date in the code; behave the same on every day"
_CLOCKS = frozenset({"time.time", "time.time_ns", "time.localtime", "time.gmtime", "time.ctime"})
_MOMENTS = frozenset({"now", "utcnow", "today"})
_DATE_TEXT = lazy_compile(r"(?:19|20)\d\d(?:[-/.]?\d\d){0,2}")
EPOCH_MIN, YEARS = 1e9, range(1990, 2200)
_JS_CLOCK = (
    r"(?:Date\.now\(\)|\+?\(?new Date\(\)\)?"
    r"(?:\.(?:getTime|valueOf|getFullYear|toISOString|getUTCFullYear)\(\))?)"
)
_JS_DATE = (
    r"(?:new Date\(\s*[\"'\d][^()]*\)(?:\.\w+\(\))?|Date\.(?:parse|UTC)\([^()]*\)"
    r"|\d[\d_]{11,}|1[.\d]*e12|20\d\d\b|[\"']20\d\d[^\"']*[\"'])"
)
_JS_NAMED = lazy_compile(rf"(?:const|let|var)\s+(\w+)\s*=\s*({_JS_CLOCK}|{_JS_DATE})\s*;?")


def find_in_python(tree: ast.Module) -> Iterator[tuple[ast.AST, str]]:
    bound = dict(_bindings(tree))
    for node in ast.walk(tree):
        if isinstance(node, ast.Compare):
            sides = [node.left, *node.comparators]
            clocks = [one for one in sides if _reads_clock(one, bound)]
            others = [one for one in sides if one not in clocks]
            if clocks and others and all(_is_date(one, bound) for one in others):
                yield node, WORDS


def _bindings(tree: ast.Module) -> Iterator[tuple[str, ast.expr]]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
            yield node.targets[0].id, node.value
        elif isinstance(node, ast.NamedExpr):
            yield node.target.id, node.value


def _reads_clock(node: ast.expr, bound: dict[str, ast.expr], depth: int = 3) -> bool:
    """A moment, not a span: `time.time() - start` is a span."""
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Sub):
        return False
    if isinstance(node, ast.Name) and node.id in bound and depth:
        return _reads_clock(bound[node.id], bound, depth - 1)
    for one in ast.walk(node):
        if isinstance(one, ast.BinOp) and isinstance(one.op, ast.Sub):
            return False
        if isinstance(one, ast.Call):
            name = dotted(one.func)
            last = name.rpartition(".")[2]
            if name in _CLOCKS or last in _MOMENTS or (last == "strftime" and not _has_inputs(one)):
                return True
        named = isinstance(one, ast.Name) and one is not node and depth and bound.get(one.id)
        if named and _reads_clock(named, bound, depth - 1):
            return True
    return False


def _has_inputs(call: ast.Call) -> bool:
    """`strftime("%Y")` has none; `due.strftime(form)` has."""
    return any(
        python_literal(arg) is UNKNOWN and not isinstance(arg, ast.Attribute) for arg in call.args
    )


def _is_date(node: ast.expr, bound: dict[str, ast.expr]) -> bool:
    if isinstance(node, ast.Name) and node.id in bound:
        node = bound[node.id]
    if isinstance(node, ast.Call) and dotted(node.func).endswith(("fromisoformat", "strptime")):
        return bool(node.args) and isinstance(python_literal(node.args[0]), str)
    if isinstance(node, ast.Call) and _is_constructed(node):
        return True
    return is_date(python_literal(node))


def _is_constructed(node: ast.Call) -> bool:
    """`datetime(2027, 1, 1, tzinfo=UTC)`."""
    name = dotted(node.func).rpartition(".")[2]
    return (
        name in ("date", "datetime", "timestamp")
        and bool(node.args)
        and all(isinstance(arg, ast.Constant) for arg in node.args)
    )


def is_date(value: Literal) -> bool:
    if isinstance(value, float):
        return value >= EPOCH_MIN or value in YEARS
    if isinstance(value, str):
        return _DATE_TEXT.match(value) is not None
    if isinstance(value, tuple) and value:
        return value[0] == "call" or (isinstance(value[0], float) and value[0] in YEARS)
    return False


def find_in_javascript(bare: str) -> Iterator[tuple[int, str]]:
    """`bare` is the source without comments."""
    clocks, dates = [_JS_CLOCK], [_JS_DATE]
    for name, value in _JS_NAMED.findall(bare):
        kind = clocks if re.fullmatch(_JS_CLOCK, value) else dates
        kind.append(rf"\b{name}(?:\.(?:getTime|getFullYear|valueOf)\(\))?(?!\w)")
    clock, date = "|".join(clocks), "|".join(dates)
    compared = re.compile(
        rf"(?:{clock})\s*(?:[<>]=?|===?)\s*(?:{date})|(?:{date})\s*(?:[<>]=?|===?)\s*(?:{clock})"
    )
    for hit in compared.finditer(bare):
        yield bare.count("\n", 0, hit.start()) + 1, WORDS
