"""Prompts after several failed checks, and the rules of particular tasks."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import pytest

from tests.builders import a_failure, a_policy, a_spec, a_task
from yaoki.core.model import CriterionLevel, FailedCheck, Failure, FailureKind, Task, TaskKind, Work
from yaoki.core.model.outcome import LANDED_SINCE_PARAM
from yaoki.core.prompt import (
    BUDGETS,
    NO_EARLIER_CHANGES,
    PASSED_ALONE,
    RED_RULES,
    compose_prompt,
    fence,
)

HINT = "Run make check first."


def failed_task(*failed: FailedCheck, language: str = "en", agent_end: str = "") -> Task:
    policy = a_policy(hints={FailureKind.QUALITY_FAILURE: HINT})
    return a_task(
        spec=a_spec(policy=policy, language=language),
        feedback=a_failure(failed_checks=failed, agent_end=agent_end),
    )


def failure_section(task: Task) -> str:
    text = compose_prompt(task).text
    return text.partition("# The last failure\n\n")[2].partition("\n\n# ")[0]


@pytest.mark.spec("7.3")
@pytest.mark.parametrize(
    ("language", "intro"),
    [
        ("en", "2 checks failed, and all of them must pass: lint, tests"),
        ("fr", "2 checks failed, and all of them must pass: lint, tests"),
        ("ja", "2 個のチェックが失敗しました。すべてに合格する必要があります: lint, tests"),
    ],
)
def test_all_failed_checks_are_named_and_the_hint_of_the_settings_is_given_once(
    language: str, intro: str
) -> None:
    failed = (FailedCheck("lint", "1 error"), FailedCheck("tests", "2 failed"))

    section = failure_section(failed_task(*failed, language=language, agent_end="it gave up"))

    built_in = "The work does not pass its checks. Fix exactly what failed."
    assert section == (
        f"{intro}\n\nIt gave up.\n\n"
        f"{HINT}\n\nQUALITY_FAILURE: 1 error\n\nFailing check: lint\n\n"
        f"{built_in}\n\nQUALITY_FAILURE: 2 failed\n\nFailing check: tests"
    )


@pytest.mark.spec("15", "7.3")
def test_the_writer_of_a_single_failure_gets_the_hints_of_the_settings() -> None:
    def write(failure: Failure, hints: Mapping[FailureKind, str]) -> str:
        return f"hint: {hints[failure.kind]}"

    assert f"hint: {HINT}" in compose_prompt(failed_task(), write).text


@pytest.mark.spec("7.3")
def test_a_long_failure_leaves_room_for_the_others() -> None:
    failed = [FailedCheck(name, name[0] * 50_000) for name in ("lint", "tests", "types")]

    section = failure_section(failed_task(*failed))

    for name in ("lint", "tests", "types"):
        assert name[0] * 1_000 in section
        assert name[0] * (BUDGETS["failed"] // 4) not in section
    assert len(section.encode()) <= BUDGETS["failed"]


@pytest.mark.spec("17.1")
@pytest.mark.parametrize(("language", "text"), [("en", "en"), ("ja", "ja"), ("fr", "en")])
def test_a_task_with_the_red_first_criterion_is_told_to_write_a_failing_test(
    language: str, text: str
) -> None:
    task = a_task(spec=a_spec(red=CriterionLevel.REQUIRED, language=language))

    assert f"\n- {RED_RULES[text]}\n" in compose_prompt(task).text


@pytest.mark.spec("7.1", "7.3")
@pytest.mark.parametrize(
    ("language", "words"), [("fr", "do not guess"), ("ja", "`ask` で質問してください")]
)
def test_an_agent_that_can_ask_gets_english_where_its_language_has_no_text(
    language: str, words: str
) -> None:
    task = a_task(spec=a_spec(language=language))

    assert words in compose_prompt(task, can_ask=True).text
    assert words not in compose_prompt(task).text


@pytest.mark.spec("7.2", "14.4")
@pytest.mark.parametrize(
    ("text", "bar"),
    [("plain", 3), ("``", 3), ("```", 4), ("a``b``c", 3), ("`a`b`c`d`", 3), ("`````x", 6)],
)
def test_a_fence_is_no_longer_than_its_text_demands(text: str, bar: int) -> None:
    assert fence(text).split("\n", 1)[0] == "`" * bar


@pytest.mark.spec("7.2", "3.4")
@pytest.mark.parametrize("language", ["en", "ja", "fr"])
def test_an_agent_reads_that_its_work_fails_only_with_what_landed_meanwhile(language: str) -> None:
    since = {LANDED_SINCE_PARAM: f"{'a' * 40}..{'b' * 40}"}
    failure = a_failure(message="1 test failed", params=since)
    task = a_task(spec=a_spec(language=language), feedback=failure)
    words = PASSED_ALONE.get(language, PASSED_ALONE["en"]).partition("`")[0]
    command = f"`git diff {'a' * 12}..{'b' * 12}`"

    for resumed in (True, False):
        text = compose_prompt(task, session_resumed=resumed).text
        assert 0 < text.index(words) < text.index(command) < text.index("1 test failed")
    assert words not in compose_prompt(replace(task, feedback=a_failure())).text


@pytest.mark.spec("7.3")
def test_only_a_worktree_with_changes_has_earlier_changes() -> None:
    task = a_task(feedback=a_failure(), work=Work(base="0123456789abcdef" * 2 + "01234567"))
    words = "`git checkout 0123456789ab -- FILE`"

    left = ("a.py",)
    assert words in compose_prompt(task, changed_files=left).text
    assert words in compose_prompt(task, changed_files=left, session_resumed=True).text
    assert "git checkout" not in compose_prompt(task).text
    assert NO_EARLIER_CHANGES["en"] in compose_prompt(task).text
    report = replace(task, spec=replace(task.spec, kind=TaskKind.REPORT))
    assert "Earlier changes" not in compose_prompt(report, changed_files=left).text
    for other in (replace(task, feedback=None), replace(task, work=Work())):
        assert "git checkout" not in compose_prompt(other, changed_files=left).text
