"""Races in a plan: what is read, and what is refused with its position (rule 18.4)."""

from __future__ import annotations

from datetime import timedelta

import pytest

from tests.formats.plan.test_plan import defects, plan
from yaoki.core.model import RaceEnd, RaceRules, RaceStart

pytestmark = pytest.mark.spec("18.4", "2.2")

HEAD = """\
goal: Race
agents: {a: {command: agent-a}, b: {command: agent-b}}
checks: {tests: {run: [pytest]}}
"""


def racing(race: str, more: str = "agent: a", head: str = HEAD) -> str:
    return f"{head}tasks:\n  - {{id: one, goal: Do it., {more}, race: {race}}}\n"


def rules_of(race: str) -> RaceRules | None:
    text = racing(race).replace(", b: {command: agent-b}", "")
    return plan(text).specs[0].race


@pytest.mark.parametrize(
    ("race", "rules"),
    [
        ("{}", RaceRules(3)),
        ("{tries: 5}", RaceRules(5)),
        ("{tries: 2, start: at-once, until: all}", RaceRules(2, until=RaceEnd.ALL)),
        ("{tries: 2, start: after-failure}", RaceRules(2, RaceStart.AFTER_FAILURE)),
        (
            "{tries: 2, start: {after: 10m}}",
            RaceRules(2, RaceStart.AFTER, timedelta(minutes=10)),
        ),
        ("{tries: 1}", None),
        ("off", None),
    ],
)
def test_the_rules_of_a_race_are_read(race: str, rules: RaceRules | None) -> None:
    assert rules_of(race) == rules


def test_the_agents_of_a_race_are_those_of_the_task() -> None:
    spec = plan(racing("{tries: 3, agents: [b, a]}", "priority: 1")).specs[0]

    assert [agent.name for agent in spec.agents] == ["b", "a"]
    assert spec.race is not None
    assert spec.race.agents_take_turns


def test_the_judge_of_a_race_is_an_agent_of_the_run_and_no_candidate() -> None:
    made = plan(racing("{tries: 2, until: all, judge: b}"))

    assert made.specs[0].race == RaceRules(2, until=RaceEnd.ALL, judge="b")
    assert [agent.name for agent in made.specs[0].agents] == ["a"]
    assert set(made.catalogue.agents) == {"a", "b"}


def test_the_plans_race_may_have_a_judge() -> None:
    head = f"{HEAD}race: {{tries: 2, until: all, judge: b}}\nagent: a\n"
    tasks = "tasks:\n  - {id: one, goal: Do it.}\n"

    made = plan(head + tasks)

    assert made.specs[0].race == RaceRules(2, until=RaceEnd.ALL, judge="b")
    assert set(made.catalogue.agents) == {"a", "b"}
    found = defects((head + tasks).replace("until: all, ", ""))
    assert any("race.judge: a judge compares" in one for one in found), found


def test_the_plans_race_is_for_changes_and_fixes_and_a_task_may_switch_it_off() -> None:
    text = f"""\
{HEAD}race: {{tries: 2, agents: [a, b]}}
agent: a
tasks:
  - {{id: change, goal: Do it.}}
  - {{id: own, goal: Do it., agent: b}}
  - {{id: alone, goal: Do it., race: off}}
  - {{id: look, goal: Look., kind: report}}
  - {{id: prove, kind: check}}
"""
    made = {spec.name: spec for spec in plan(text).specs}

    assert made["change"].race == RaceRules(2, agents_take_turns=True)
    assert made["own"].race == RaceRules(2)
    assert [agent.name for agent in made["own"].agents] == ["b"]
    assert {made[name].race for name in ("alone", "look", "prove")} == {None}


REFUSED = {
    "{tries: 11}": "tasks.0.race.tries: must be at most 10",
    "{tries: 0}": "tasks.0.race.tries: must be at least 1",
    "{tries: 2, start: later}": "must be at-once, after-failure, or {after: 10m}",
    "{tries: 2, start: {after: 10m, failure: true}}": "must be at-once, after-failure, or {after",
    "{tries: 2, start: {after: 0s}}": "must be more than zero",
    "{tries: 2, until: best}": "tasks.0.race.until",
    "{tries: 2, agents: [c]}": "unknown agent 'c'",
    "{tries: 2, agents: [b, b]}": "'b' is named twice",
    "{tries: 2, agents: [b]}": "race.agents and agent both say who works; give only one",
    "{tries: 1, until: all}": "a race needs at least two candidates: tries: 2",
    "{tries: 2, runs: 3}": "unknown key",
    "often": "must be off, or a table with tries, agents, start, until, judge",
    "{tries: 2, until: all, judge: c}": "tasks.0.race.judge: unknown agent 'c'",
    "{tries: 2, until: all, judge: ''}": "tasks.0.race.judge: unknown agent ''",
    "{tries: 2, until: all, judge: [b]}": "tasks.0.race.judge",
    "{tries: 2, judge: b}": "a judge compares all proven candidates; write until: all",
    "{tries: 2, until: all, start: after-failure, judge: b}": "a judge compares nothing",
    "{tries: 1, judge: b}": "a race needs at least two candidates: tries: 2",
    "{tries: 2, start: {after: 2h}}": "is not below the timeout",
}


@pytest.mark.parametrize(("race", "words"), REFUSED.items(), ids=list(REFUSED))
def test_an_impossible_race_is_refused_with_its_reason(race: str, words: str) -> None:
    found = defects(racing(race))

    assert any(words in one and one.startswith("plan.yaml:") for one in found), found


def test_only_a_change_or_a_fix_can_be_raced_for() -> None:
    found = defects(racing("{tries: 2}", "agent: a, kind: report"))

    assert any("race is for a task of kind change or fix" in one for one in found), found
