"""yaoki's own sentences are translated on the page."""

from __future__ import annotations

import json
import re
from datetime import timedelta
from pathlib import Path

import pytest

import yaoki.faces.web
from tests.builders import NOW, a_failure, a_spec, an_active_task
from yaoki.core.decide.escalation import build_escalation
from yaoki.core.decide.retry import RetryDecision, decide_retry
from yaoki.core.decide.rules import _checkout_note
from yaoki.core.model import Counts, Failure, FailureKind, Reason, Stage, Task, TaskKind, Work
from yaoki.views.decisions import DECISION_OF_EVENT, RULES

WORDS = Path(yaoki.faces.web.__file__).with_name("static") / "words"
SAID: list[tuple[str, str]] = [
    tuple(pair) for pair in json.loads((WORDS / "sentences.ja.json").read_text())
]
PLACE = re.compile(r"\{(\w+)\}")


def compile_pattern(pattern: str) -> re.Pattern[str]:
    """The pattern in Python's syntax for named groups."""
    return re.compile(pattern.replace("(?<", "(?P<"), re.DOTALL)


def is_translated(sentence: str) -> bool:
    return any(compile_pattern(pattern).fullmatch(sentence) for pattern, _ in SAID)


def a_stuck_task(kind: TaskKind = TaskKind.CHANGE, failed: int = 3, faults: int = 0) -> Task:
    return an_active_task(
        Stage.VERIFY,
        spec=a_spec("login", kind=kind),
        attempt=4,
        work=Work(head="head", worktree="/w/login"),
        counts=Counts(failures={"QUALITY_FAILURE": failed}, faults=faults),
    )


def decisions() -> list[tuple[Task, Failure, RetryDecision]]:
    tasks = [a_stuck_task(kind, n, n) for kind in TaskKind for n in (0, 1, 3, 50)]
    failures = [a_failure(kind, "it fell", check="tests") for kind in FailureKind]
    failures += [a_failure(FailureKind.RATE_LIMIT, retry_after=timedelta(seconds=5))]
    failures += [a_failure(is_our_fault=True), a_failure(retry_safe=False)]
    return [
        (task, failure, decide_retry(task, failure, same, 0.5))
        for task in tasks
        for failure in failures
        for same in (1, 3, 9)
    ]


def test_every_placeholder_of_a_sentence_is_filled() -> None:
    for pattern, words in SAID:
        assert set(PLACE.findall(words)) == set(compile_pattern(pattern).groupindex), pattern
        assert words.strip(), pattern


@pytest.mark.spec("12.5")
def test_the_reasoning_of_decisions_is_translated() -> None:
    made = [decision for _, _, decision in decisions()]
    said = {words for one in made for words in (one.reasoning, one.otherwise)}

    assert len(said) > 20
    assert {words for words in said if not is_translated(words)} == set()


@pytest.mark.spec("12.5")
def test_questions_of_yaoki_are_translated() -> None:
    asked = {
        build_escalation(task, failure, Reason.MAX_RETRIES, decision, NOW, ()).question.text
        for task, failure, decision in decisions()
        if failure.kind is not FailureKind.ESCALATE_REQUIRED
    }

    assert any("take over, waive or abort" in words for words in asked), asked
    assert {words for words in asked if not is_translated(words)} == set()
    can = {re.sub(r".*\. ([^.]+) or abort\?$", r"\1", words) for words in asked}
    assert {words for words in can if not is_translated(words)} == set()


def test_warnings_repairs_and_waivers_are_translated() -> None:
    warned = str(_checkout_note(("checkout/HEAD",)).data["message"])
    told = (warned, "waived by a person", "orphan worktree", "saved and removed", "stale lease")

    assert [words for words in told if not is_translated(words)] == []


def test_every_rule_and_decision_is_translated() -> None:
    rules = {key for key in json.loads((WORDS / "server.ja.json").read_text()) if "rule." in key}
    assert rules == {f"rule.{rule}" for rule in RULES}
    for language in ("en", "ja"):
        keys = json.loads((WORDS / f"{language}.json").read_text()).keys()
        assert {f"decision.{name}" for name in DECISION_OF_EVENT.values()} <= keys
