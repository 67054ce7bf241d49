"""Facts about a run are derived from journal events in one place: `views/history`."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "src" / "yaoki"
PAGE = ROOT / "docs" / "decisions" / "history.md"
HISTORY = "views/history/"


def is_event_name(node: ast.AST) -> bool:
    """`entry.event` or `entry["event"]`."""
    if isinstance(node, ast.Subscript):
        return isinstance(node.slice, ast.Constant) and node.slice.value == "event"
    return isinstance(node, ast.Attribute) and node.attr == "event"


def uses(node: ast.AST) -> Iterator[ast.AST]:
    """The parts of a node by which the code chooses what to do."""
    match node:
        case ast.Compare(left=left, comparators=others):
            yield from (left, *others)
        case ast.Match(subject=subject):
            yield subject
        case ast.Subscript(slice=key):
            yield key
        case ast.Call(func=ast.Attribute(attr="get"), args=args):
            yield from args
        case _:
            pass


def modules_that_match_events() -> set[str]:
    return {
        file.relative_to(SOURCE).as_posix()
        for file in SOURCE.rglob("*.py")
        if "event" in (text := file.read_text(encoding="utf-8"))
        for node in ast.walk(ast.parse(text))
        if any(map(is_event_name, uses(node)))
    }


def test_every_module_that_matches_events_is_the_history_or_has_a_written_reason() -> None:
    reasons = set(re.findall(r"^\| `([\w/]+\.py)` \| .+ \|$", PAGE.read_text(), re.MULTILINE))

    outside = {name for name in modules_that_match_events() if not name.startswith(HISTORY)}

    assert len(reasons) > 10
    assert outside == reasons
