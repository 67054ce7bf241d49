"""Journal notes: events without a class, found in the source code.

A note is written by passing its name to one of a few functions: as a string, a constant of
the module, or one of two by a condition.  Fields are known where the data is written as a table.
"""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path

SOURCE = Path(__file__).parents[2] / "src" / "yaoki"
NOTE_FUNCTIONS = {
    *("JournalNote", "note", "_note", "append_event", "update_run"),
}
# Functions that take the name as `event=`.
ADDERS = {"add_tasks", "pause"}
# They write a line of the journal by its row, not through a function.
ROWS = {
    "RUN_ARCHIVED": "adapters/store/tables/retention.py",
    "LINE_NOT_REPLAYED": "adapters/store/journal_file/checksummed_line.py",
}
FOREIGN = {"TEST"}


@cache
def journal_note_events() -> dict[str, set[str]]:
    """Names, each with the fields that could be seen."""
    found: dict[str, set[str]] = defaultdict(set)
    for file in sorted(SOURCE.rglob("*.py")):
        text = file.read_text(encoding="utf-8")
        if not any(f"{name}(" in text for name in NOTE_FUNCTIONS | ADDERS):
            continue
        tree = ast.parse(text)
        constants = _constants(tree.body)
        for scope in ast.walk(tree):
            if isinstance(scope, ast.FunctionDef | ast.AsyncFunctionDef):
                for name, data in _events_in(scope, constants):
                    found[name] |= data
    for name, path in ROWS.items():
        assert name in (SOURCE / path).read_text(encoding="utf-8"), f"{path} tells no {name}"
        found[name] |= set()
    return dict(found)


def _events_in(
    scope: ast.FunctionDef | ast.AsyncFunctionDef, constants: Mapping[str, str]
) -> Iterator[tuple[str, set[str]]]:
    tables = _tables(scope)
    named = {**constants, **_constants(scope.body)}
    for call in ast.walk(scope):
        if not isinstance(call, ast.Call):
            continue
        given = [*call.args, *(word.value for word in call.keywords)]
        for place, argument in enumerate(given):
            if not _names_an_event(call, argument):
                continue
            data = given[place + 1] if place + 1 < len(given) else None
            for name in _texts(argument, named):
                if _is_event(name) and name not in FOREIGN:
                    yield name, _keys(data, tables)


def _names_an_event(call: ast.Call, argument: ast.expr) -> bool:
    name = call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", "")
    if name in ADDERS:
        return any(word.arg == "event" and word.value is argument for word in call.keywords)
    return name in NOTE_FUNCTIONS


def _texts(node: ast.expr, constants: Mapping[str, str]) -> list[str]:
    match node:
        case ast.Constant(str(text)):
            return [text]
        case ast.Name(name):
            return [constants[name]] if name in constants else []
        case ast.IfExp(_, yes, no):
            return [*_texts(yes, constants), *_texts(no, constants)]
        case _:
            return []


def _is_event(text: str) -> bool:
    return len(text) > 3 and text.replace("_", "").isalpha() and text.isupper()


def _constants(body: Sequence[ast.stmt]) -> dict[str, str]:
    return {
        target.id: node.value.value
        for node in body
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Constant)
        for target in node.targets
        if isinstance(target, ast.Name) and isinstance(node.value.value, str)
    }


def _tables(scope: ast.AST) -> list[tuple[str, ast.Dict]]:
    """Tables that the function names before it hands them on."""
    return [
        (target.id, node.value)
        for node in ast.walk(scope)
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Dict)
        for target in node.targets
        if isinstance(target, ast.Name)
    ]


def _keys(node: ast.expr | None, tables: Sequence[tuple[str, ast.Dict]]) -> set[str]:
    match node:
        case ast.Dict(keys, values):
            own = {
                k.value for k in keys if isinstance(k, ast.Constant) and isinstance(k.value, str)
            }
            spread = (value for key, value in zip(keys, values, strict=True) if key is None)
            return own.union(*(_keys(one, tables) for one in spread))
        case ast.Name(name):
            # The newest of that name above the place where it is used.
            above = [held for known, held in tables if known == name and held.lineno < node.lineno]
            return _keys(max(above, key=lambda held: held.lineno, default=None), tables)
        case _:
            return set()
