"""Prompts: fixed sections, bounded, identical for the same task."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.builders import a_check, a_failure, a_spec, a_task, an_agent
from yaoki.core.model import (
    CheckSpec,
    CheckType,
    Failure,
    FailureKind,
    FindingItem,
    GitCheck,
    PlanningBrief,
    PlanningRole,
    Task,
    TaskKind,
)
from yaoki.core.planner_prompt import PLANNER_RULES, answer_form
from yaoki.core.prompt import (
    BUDGETS,
    GENERIC_HINT,
    ITEMS_SHOWN,
    compose_prompt,
    describe_failure,
    fence,
    plain_check_commands,
)

TITLES = [
    "# Rules",
    "# Task",
    "# The last failure",
    "# What a person said",
    "# How it will be checked",
]


def full_task() -> Task:
    return a_task(
        feedback=a_failure(message="test_login failed"), answer_text="Use the other door."
    )


def headings(text: str) -> list[str]:
    return [line for line in text.splitlines() if line in TITLES]


@pytest.mark.spec("7.3")
def test_the_sections_of_a_prompt_are_in_order() -> None:
    text = compose_prompt(full_task()).text

    assert headings(text) == TITLES
    assert "Make login work." in text
    assert "test_login failed" in text
    assert "Use the other door." in text
    assert "- tests: `true`" in text


@pytest.mark.spec("7.3", "12.7")
@pytest.mark.parametrize(("language", "words"), [("en", "do not guess"), ("ja", "推測せず")])
def test_an_agent_that_can_ask_is_told_so_instead_of_being_alone(language: str, words: str) -> None:
    task = a_task(spec=a_spec(language=language))

    told, alone = compose_prompt(task, can_ask=True).text, compose_prompt(task).text

    assert words in told
    assert words not in alone
    assert "no one answers questions" in alone
    assert "no one answers questions" not in told


@pytest.mark.spec("12.8", "14.4")
def test_only_commands_without_a_meaning_as_a_pattern_may_be_run_by_a_limited_agent() -> None:
    lines = (
        "pytest -q",
        "make lint",
        "rm *",
        "a; b",
        "x (y)",
        "a, b",
        "a $(b)",
        'a "b"',
        "a\nb",
        "",
    )
    shells = [CheckSpec(f"c{n}", shell=line) for n, line in enumerate(lines)]
    words = CheckSpec("w", argv=("python", "-m", "pytest"))
    elsewhere = CheckSpec("e", argv=("true",), cwd="web")
    file = CheckSpec("f", type=CheckType.FILE, path="x")

    commands = plain_check_commands([*shells, words, elsewhere, file, words])

    assert commands == ("pytest -q", "make lint", "python -m pytest")


@pytest.mark.spec("7.3", "6.2")
def test_an_agent_can_run_the_command_of_a_check_that_writes_a_report() -> None:
    """As a placeholder, the report became a file of its work."""
    argv = ("pytest", "-q", "--rootdir={worktree}", "--junit-xml", "{report}")
    check = CheckSpec("tests", argv=argv)
    task = a_task(spec=a_spec(checks=(check,)))

    line = "pytest -q --rootdir=. --junit-xml /dev/null"
    assert f"- tests: `{line}`" in compose_prompt(task).text
    assert plain_check_commands([check]) == (line,)


@pytest.mark.spec("7.3")
def test_the_prompt_of_a_first_attempt_has_no_failure_section() -> None:
    assert headings(compose_prompt(a_task()).text) == [
        "# Rules",
        "# Task",
        "# How it will be checked",
    ]


@pytest.mark.spec("7.3", "5.5")
def test_the_same_task_gives_the_same_prompt() -> None:
    assert compose_prompt(full_task()) == compose_prompt(full_task())


@pytest.mark.spec("5.5")
@pytest.mark.parametrize(
    "kind", [FailureKind.TRANSIENT_ERROR, FailureKind.RATE_LIMIT, FailureKind.LOST]
)
def test_a_repeat_after_a_transient_error_has_the_same_prompt(kind: FailureKind) -> None:
    """The prompt contains only `feedback`, which transient errors do not change."""
    before = full_task()
    after = replace(before, failure=a_failure(kind), attempt=3, epoch=9)

    assert compose_prompt(after).text == compose_prompt(before).text


@pytest.mark.spec("7.3")
def test_every_section_keeps_to_its_budget() -> None:
    task = a_task(
        spec=a_spec(
            goal="g" * 200_000,
            scope=tuple(f"src/{n}/**" for n in range(5_000)),
            checks=tuple(a_check(f"c{n}", argv=("x" * 100,)) for n in range(500)),
        ),
        feedback=a_failure(message="m" * 100_000),
        answer_text="w" * 100_000,
    )

    text = compose_prompt(task).text
    starts = [text.index(title) for title in TITLES] + [len(text)]
    sizes = [len(text[a:b].encode()) for a, b in pairwise(starts)]

    keys = ("rules", "task", "failed", "person", "checked")
    for size, title, key in zip(sizes, TITLES, keys, strict=True):
        assert size <= BUDGETS[key] + len(title) + 4


@pytest.mark.spec("7.3", "14.4")
def test_bytes_that_are_not_utf_8_do_not_break_the_prompt() -> None:
    task = a_task(
        feedback=a_failure(message="conflict in \udcff.py"),
        answer_text="\ud800",
        spec=a_spec(goal="\ud800"),
    )

    prompt = compose_prompt(task)

    assert prompt.fault == ""
    prompt.text.encode()


@pytest.mark.spec("5.8")
def test_a_failure_text_that_cannot_be_rendered_is_replaced_and_reported() -> None:
    def broken(failure: Failure, _: Mapping[FailureKind, str]) -> str:
        raise KeyError(failure.kind)

    prompt = compose_prompt(full_task(), broken)

    assert GENERIC_HINT in prompt.text
    assert headings(prompt.text) == TITLES
    assert prompt.fault.startswith("KeyError")


@pytest.mark.spec("6.9")
def test_the_prompt_reports_only_the_last_failure() -> None:
    items = tuple(FindingItem(f"test_{n}", "assert 1 == 2", f"a.py:{n}") for n in range(3))
    failure = a_failure(message="3 failed", check="tests", items=items, output="the log")

    text = describe_failure(failure, {})

    assert "QUALITY_FAILURE: 3 failed" in text
    assert "Failing check: tests" in text
    assert "- test_2 (a.py:2): assert 1 == 2" in text
    assert "```\nthe log\n```" in text


@pytest.mark.spec("5.5", "15")
def test_hints_of_the_settings_precede_the_built_in_text() -> None:
    text = describe_failure(a_failure(), {FailureKind.QUALITY_FAILURE: "Run make check first."})

    assert text.startswith("Run make check first.")


@pytest.mark.spec("7.3")
def test_details_beyond_the_limit_are_counted() -> None:
    items = tuple(FindingItem(f"test_{n}") for n in range(ITEMS_SHOWN + 5))

    text = describe_failure(a_failure(items=items), {})

    assert "- and 5 more" in text
    assert f"test_{ITEMS_SHOWN}" not in text


@pytest.mark.spec("7.2", "14.4")
@given(st.text(alphabet="`a\n", max_size=60))
def test_no_text_can_close_its_own_fence(text: str) -> None:
    fenced = fence(text)
    bar = fenced.split("\n", 1)[0]

    assert set(bar) == {"`"}
    assert bar not in text
    assert fenced == f"{bar}\n{text}\n{bar}"


@pytest.mark.spec("1.2", "7.3")
def test_the_prompt_of_a_report_says_where_to_write_it() -> None:
    assert "standard output" in compose_prompt(a_task(spec=a_spec(kind=TaskKind.REPORT))).text
    assert "standard output" not in compose_prompt(a_task()).text


@pytest.mark.spec("7.3")
@pytest.mark.parametrize(
    ("check", "said"),
    [
        (CheckSpec("a", argv=("pytest", "-q")), "- a: `pytest -q`"),
        (CheckSpec("a", argv=("pytest", "-k", "x or y")), "- a: `pytest -k 'x or y'`"),
        (CheckSpec("a", shell="mypy src | tail"), "- a: `mypy src | tail`"),
        (CheckSpec("a", type=CheckType.GIT, git=GitCheck.CLEAN), "- a: git clean"),
        (
            CheckSpec("a", type=CheckType.FILE, path="x.md", file={"exists": True}),
            "- a: file x.md exists",
        ),
    ],
)
def test_every_kind_of_check_is_described(check: CheckSpec, said: str) -> None:
    assert said in compose_prompt(a_task(spec=a_spec(checks=(check,)))).text


# ------------------------------------------------------------------ the whole text


@pytest.mark.spec("7.3", "7.4")
def test_a_complete_prompt_has_this_text() -> None:
    failure = a_failure(
        message="2 failed",
        check="tests",
        items=(FindingItem("t1", "boom", "a.py"), FindingItem("t2")),
        output=" raw ",
    )
    spec = a_spec(scope=("src/**", "tests/**"), kind=TaskKind.REPORT)
    task = a_task(spec=spec, feedback=failure, answer_text="use b")

    prompt = compose_prompt(task, context="Checks: none")

    assert prompt.fault == ""
    assert prompt.text == (
        "# Rules\n\n"
        "- You work alone in your own git worktree; no one answers questions while you work.\n"
        "- Change files in the current directory only. Do not switch branches, push, or touch git "
        "configuration. Do not use git stash: all worktrees share it.\n"
        "- Claims prove nothing: when you stop, the checks below run on what you left."
        "\n- Write your report to standard output, or to a file if the task names one.\n"
        "- Stay within these paths: src/**, tests/**\n\n"
        "# Task\n\nMake login work.\n\n"
        "# Context\n\nChecks: none\n\n"
        "# The last failure\n\n"
        "The work does not pass its checks. Fix exactly what failed.\n\n"
        "QUALITY_FAILURE: 2 failed\n\n"
        "Failing check: tests\n\n"
        "- t1 (a.py): boom\n- t2\n\n"
        "Its output (cut):\n```\nraw\n```\n\n"
        "# What a person said\n\nuse b\n\n"
        "# How it will be checked\n\n- tests: `true`\n"
    )
    resumed = compose_prompt(task, context="Checks: none", session_resumed=True).text
    assert [line for line in resumed.splitlines() if line.startswith("# ")] == [
        "# The last failure",
        "# What a person said",
    ]
    first = replace(task, feedback=None)
    assert compose_prompt(first, session_resumed=True) == compose_prompt(first)


@pytest.mark.spec("9.2", "7.3")
def test_a_complete_planner_prompt_has_this_text() -> None:
    brief = PlanningBrief(PlanningRole.GOAL, kinds=(TaskKind.CHANGE,), tasks_max=3)
    task = a_task(spec=a_spec(kind=TaskKind.PLAN, planning_brief=brief))

    text = compose_prompt(task, context="Checks: none").text

    assert text == (
        f"# Rules\n\n{PLANNER_RULES}\n\n# Task\n\nMake login work.\n\n"
        f"# Context\n\nChecks: none\n\n# Your answer\n\n{answer_form(brief)}\n"
    )


@pytest.mark.spec("5.8")
def test_a_broken_template_is_reported_and_replaced_by_the_generic_text() -> None:
    def broken(_failure: Failure, _hints: object) -> str:
        raise ValueError("no such name")

    prompt = compose_prompt(a_task(feedback=a_failure()), broken)

    assert prompt.fault == "ValueError: no such name"
    assert "The last attempt was not accepted. Fix what failed, then stop." in prompt.text


@pytest.mark.spec("7.3")
def test_checks_of_packages_and_judges_are_described() -> None:
    judge = CheckSpec("a", type=CheckType.JUDGE, agent=an_agent("big"), ask=" Is it ```good```? ")
    plugin = CheckSpec("b", type=CheckType.PYTHON, entry="plugin:it")
    files = CheckSpec("c", type=CheckType.FILE, path="x", file={"exists": True, "contains": "y"})

    text = compose_prompt(a_task(spec=a_spec(checks=(judge, plugin, files)))).text

    assert text.endswith(
        "# How it will be checked\n\n"
        "- a: another agent judges whether this holds:\n````\nIs it ```good```?\n````\n"
        "- b: a check of an installed package, 'plugin:it'\n"
        "- c: file x exists True, contains y\n"
    )


@pytest.mark.spec("7.3")
def test_a_failure_without_details_has_a_short_description() -> None:
    assert describe_failure(a_failure(FailureKind.LOST, "cut off"), {}) == "LOST: cut off"
    long = describe_failure(a_failure(output="x" * 9_000), {})
    assert 5_900 < len(long.partition("```")[2]) < 6_100
