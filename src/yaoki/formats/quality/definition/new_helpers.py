"""Assertions that a change moves from a test into a new helper, which the test calls.

Whether the helper asserts the same cannot be read from its text for sure: such a test is undecided,
so the program also has to pass the test as it was.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Mapping

from yaoki.formats.quality.definition.assertions import Assertion, AssertionKind
from yaoki.formats.quality.definition.goal_sentences import parse_expression
from yaoki.formats.quality.definition.units import CodeUnit
from yaoki.formats.quality.python_suites import last_name

_WEAK = frozenset({AssertionKind.TRUTH, AssertionKind.OTHER})


def has_moved(
    one: Assertion, test: CodeUnit, gained: Iterable[Assertion], helpers: Mapping[str, CodeUnit]
) -> bool:
    """Does the test call a helper with the values, which compares what the assertion is about?"""
    names = one.names - _local_names(test)
    for call in gained:
        reached = _reached(call.names | _called_name(call), helpers)
        inner = [each for unit in reached for each in unit.assertions]
        values = call.constants.union(*(unit.constants for unit in reached))
        known = call.names.union(*(each.names for each in inner))
        is_strong = any(each.kind is one.kind or one.kind in _WEAK for each in inner)
        if is_strong and one.constants <= values and names <= known:
            return True
    return False


def _reached(names: frozenset[str], helpers: Mapping[str, CodeUnit]) -> list[CodeUnit]:
    """The helpers that are called, and those that they call."""
    todo, reached = list(names & helpers.keys()), dict[str, CodeUnit]()
    while todo:
        name = todo.pop()
        if name not in reached:
            reached[name] = helpers[name]
            for each in helpers[name].assertions:
                todo += (each.names | _called_name(each)) & helpers.keys()
    return list(reached.values())


def _called_name(call: Assertion) -> frozenset[str]:
    """The name of an assertion is not among its names."""
    node = parse_expression(call.text)
    return frozenset({last_name(node.func)}) if isinstance(node, ast.Call) else frozenset()


def _local_names(test: CodeUnit) -> frozenset[str]:
    nodes = ast.walk(test.node) if test.node is not None else ()
    return frozenset(
        n.id for n in nodes if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)
    )
