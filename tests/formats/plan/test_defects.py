"""Defects beside others: what nothing uses, and text that a comma has split."""

from __future__ import annotations

import pytest

from yaoki.core.settings.settings import Settings
from yaoki.errors import PlanInvalid
from yaoki.formats.plan_file import parse_plan

HEAD = """\
goal: x
agents: {m: {command: my-agent}}
agent: m
checks: {a: {run: [x]}, b: {run: [y]}, u: {run: [z]}}
tasks:
"""
UNUSED = "plan.yaml:4:40: checks.u: nothing uses check 'u'"
HINT = "unknown key; a comma inside { } ends the text: put the text in quotes"


def defects(tasks: str) -> tuple[str, ...]:
    with pytest.raises(PlanInvalid) as refused:
        parse_plan(HEAD + tasks, "plan.yaml", Settings())
    return tuple(refused.value.defects)


@pytest.mark.spec("2.2")
@pytest.mark.parametrize(
    ("second", "found"),
    [
        ("{id: s, goal: g, checks: [b], needs: [t, no]}", True),
        ("{id: s, goal: g, cheks: [b]}", True),
        ("{id: s, goal: g, check: b, agent: no}", True),
        ("{id: s, goal: g, cheks: [b, u]}", False),
        ("{id: s, goal: g, cheks: {b: u}}", False),
        ("{id: s, goal: g, checks: 5}", False),
        ("{id: s, goal: g, needs: [no]}", False),
    ],
    ids=["need", "misspelt", "one", "used", "mapping", "unreadable", "all"],
)
def test_an_unused_check_is_reported_beside_other_defects(second: str, found: bool) -> None:
    """Not where a part that cannot be read might use it; without checks a task uses all."""
    lines = defects(f"  - {{id: t, goal: g, checks: [a]}}\n  - {second}\n")

    assert (UNUSED in lines) is found
    assert len(lines) > found


@pytest.mark.spec("2.2")
@pytest.mark.parametrize(
    ("task", "key", "hinted"),
    [
        ("{id: t, goal: Add peek(cache, key) with tests., checks: [a, b, u]}", "key) with t", True),
        ("{id: t, goal: Add one, other}", "other", True),
        ("{\n    id: t,\n    goal: Add one, and the other,\n    }", "and the other", True),
        ("{id: t, goal: Add one, other: two}", "other", False),
        ("{id: t, goal: Add one, checkz}", "checkz", False),
        ("id: t\n    goal: g\n    other:\n", "other", False),
    ],
    ids=["blanks", "word", "lines", "value", "near", "block"],
)
def test_text_that_a_comma_has_split_gets_the_hint_to_quote_it(
    task: str, key: str, hinted: bool
) -> None:
    (line,) = (line for line in defects(f"  - {task}\n") if f".{key}" in line)

    assert line.endswith(HINT) is hinted
