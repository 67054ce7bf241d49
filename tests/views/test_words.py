"""The words for decisions, ends and next commands."""

from __future__ import annotations

import inspect
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.builders import NOW
from tests.views.test_views import RUN, a_row
from yaoki.core.decide import retry, rules
from yaoki.core.model import Stage, State
from yaoki.engine.completion import recover
from yaoki.faces.cli.doctor.condition import edit_command
from yaoki.faces.text.explanation import explanation_lines
from yaoki.ports import JournalEntry
from yaoki.views import AttemptSummary, Explanation, build_run_view, explain
from yaoki.views.decisions import RULES, DecisionKind, ExplainedDecision

pytestmark = pytest.mark.spec("12.4")

BASE, HEAD = "a" * 40, "b" * 40


@pytest.mark.spec("10.1")
def test_each_rule_named_by_a_decision_has_a_description() -> None:
    source = "".join(inspect.getsource(module) for module in (retry, rules, recover))

    named = set(re.findall(r'"(\d+\.\d+)"', source))

    assert {"3.7", "5.1", "5.4", "8.3"} <= named
    assert named <= RULES.keys()


@pytest.mark.parametrize(
    ("kept", "words"),
    [
        (BASE, "cancelled; it had changed nothing"),
        (HEAD, "cancelled; its work is saved at bbbbbbbbbb"),
        ("", "cancelled"),
    ],
)
def test_a_cancelled_attempt_says_whether_it_left_work(kept: str, words: str) -> None:
    def entry(seq: int, event: str, **data: Any) -> JournalEntry:
        return JournalEntry(seq, NOW, RUN.id, "run00001-1", 1, event, data)

    entries = [
        entry(1, "ATTEMPT_STARTED", attempt=1, agent="s", base=BASE),
        entry(2, "TASK_CANCELLED", why="cancelled by a person", kept=kept),
    ]
    view = build_run_view(RUN, [a_row(1, State.CANCELLED, attempt=1)], {}, is_idle=True)

    assert [one.ended for one in explain(view.tasks[0], entries, NOW, {}).attempts] == [words]


@pytest.mark.spec("12.3", "17.7")
@pytest.mark.parametrize(
    ("purposes", "words"),
    [
        ((), ""),
        (("base",), ""),
        (
            ("candidate",),
            "its checks first ran on top of the work of 1 other task waiting to land;"
            " chance that all of it lands: 90%",
        ),
    ],
)
def test_only_checks_that_ran_have_a_place_in_the_merge_queue(
    purposes: tuple[str, ...], words: str
) -> None:
    def entry(seq: int, event: str, **data: Any) -> JournalEntry:
        return JournalEntry(seq, NOW, RUN.id, "run00001-1", 1, event, data)

    choice = {"ahead": 1, "enters": True, "land_chance": 0.9}
    runs = [{"check": "c", "purpose": one, "count": 1, "seconds": 1.0} for one in purposes]
    entries = [
        entry(1, "ATTEMPT_STARTED", attempt=1, agent="s", base=BASE),
        entry(2, "AGENT_FINISHED", exit={"code": 0}, head=HEAD, queue_choice=choice),
        *([entry(3, "CHECKS_RAN", runs=runs)] if runs else []),
    ]
    view = build_run_view(RUN, [a_row(1, State.ACTIVE, attempt=1)], {}, is_idle=False)

    (attempt,) = explain(view.tasks[0], entries, NOW, {}).attempts

    assert attempt.queue_words == words
    assert attempt.queue_choice == choice


@pytest.mark.spec("18.4")
@pytest.mark.parametrize(
    ("stage", "command"),
    [(Stage.PREPARE, "yaoki status run00001"), (Stage.WORK, "yaoki logs run00001-2")],
)
def test_the_next_command_of_a_race_names_a_log_that_exists(stage: Stage, command: str) -> None:
    """The racing task itself starts no agent."""

    def entry(seq: int, event: str, **data: Any) -> JournalEntry:
        return JournalEntry(seq, NOW, RUN.id, "run00001-1", 1, event, data)

    entries = [
        entry(1, "ATTEMPT_STARTED", attempt=1, agent="", base=BASE),
        entry(2, "RACE_STARTED", candidates=["run00001-2"]),
    ]
    racing = a_row(1, State.WAITING, attempt=1, awaiting_race=True)
    candidate = a_row(2, State.ACTIVE, name="t1~1.1", stage=stage, race_task=racing.id)
    view = build_run_view(RUN, [racing, candidate], {}, is_idle=False, is_carried=True)

    explanation = explain(view.tasks[0], entries, NOW, {}, {candidate.id: candidate})

    assert explanation.next_command == command
    assert any(text.startswith("  t1~1.1 (a): at work") for text in explanation_lines(explanation))


@pytest.mark.parametrize("state", [State.WAITING, State.ACTIVE])
def test_the_next_command_of_a_task_that_no_worker_runs_resumes_its_run(state: State) -> None:
    view = build_run_view(RUN, [a_row(1, state, attempt=1)], {}, is_idle=False)

    assert explain(view.tasks[0], [], NOW, {}).next_command == f"yaoki resume {RUN.id}"


def test_the_next_command_names_only_this_run() -> None:
    merged = replace(RUN, base=BASE, merged_commit=HEAD)

    over = build_run_view(RUN, [a_row(1, State.CANCELLED, attempt=1)], {}, is_idle=True)
    unstarted = build_run_view(RUN, [a_row(1, State.CANCELLED, attempt=0)], {}, is_idle=True)
    done = build_run_view(merged, [a_row(1, State.DONE, landed_commit=HEAD)], {}, is_idle=True)

    assert over.next_command == f"yaoki recover {RUN.id}"
    assert unstarted.next_command == f"yaoki forget {RUN.id}"
    assert done.next_command == f"git log {BASE[:10]}..{HEAD[:10]}"


def test_settings_that_are_no_file_are_not_opened_in_an_editor(tmp_path: Path) -> None:
    file = edit_command(tmp_path)
    (tmp_path / "yaoki.toml").mkdir()

    assert file.endswith(f" {tmp_path}/yaoki.toml")
    assert edit_command(tmp_path) == f"mv {tmp_path}/yaoki.toml {tmp_path}/yaoki.toml.old"


@pytest.mark.spec("18.6")
def test_the_rule_about_accounts_is_about_limits_as_well_as_outages() -> None:
    assert RULES["18.6"].startswith("a limit, an outage or a refusal by its service closes")


def a_decision(decision: DecisionKind, rule: str, reasoning: str) -> ExplainedDecision:
    return ExplainedDecision(NOW, 3, decision, "", "", "", reasoning, rule, {}, ())


@pytest.mark.spec("4.6", "8.4")
@pytest.mark.parametrize(
    "later",
    [
        (DecisionKind.ESCALATE,),
        (DecisionKind.RERUN,),
        (DecisionKind.ESCALATE, DecisionKind.RERUN),
    ],
)
def test_why_names_what_ended_the_retries_before_a_decision_about_the_re_run(
    later: tuple[DecisionKind, ...],
) -> None:
    (view,) = build_run_view(RUN, [a_row(1)], {}, is_idle=True).tasks
    held = a_decision(DecisionKind.HOLD, "4.6", "the same failure 3 times in a row")
    first = a_decision(DecisionKind.RETRY, "5.1", "retry 1")
    decisions = (*(a_decision(one, "8.4", "nothing landed") for one in later), held, first)

    lines = list(explanation_lines(Explanation(view, "WAITING", "", decisions, ())))

    at = lines.index("what ended the retries:")
    assert lines[at + 1].startswith("  rule      4.6: the same failure with the same work")
    assert lines[at + 2] == "  reasoning the same failure 3 times in a row"


@pytest.mark.spec("8.4")
@pytest.mark.parametrize(
    "kinds",
    [
        (DecisionKind.HOLD,),
        (DecisionKind.RETRY, DecisionKind.HOLD),
        (DecisionKind.ESCALATE, DecisionKind.RETRY, DecisionKind.HOLD),
        (DecisionKind.ESCALATE,),
    ],
)
def test_why_names_the_last_decision_only_once(kinds: tuple[DecisionKind, ...]) -> None:
    (view,) = build_run_view(RUN, [a_row(1)], {}, is_idle=True).tasks
    decisions = tuple(a_decision(one, "5.1", "x") for one in kinds)

    lines = list(explanation_lines(Explanation(view, "WAITING", "", decisions, ())))

    assert "what ended the retries:" not in lines


@pytest.mark.spec("4.4")
def test_why_names_a_quality_criterion_in_words() -> None:
    (view,) = build_run_view(RUN, [a_row(1)], {}, is_idle=True).tasks
    attempt = AttemptSummary(1, NOW, "a", check_words={"Q5": "FAILED", "tests": "PASSED"})

    lines = list(explanation_lines(Explanation(view, "WAITING", "", (), (attempt,))))

    assert "[Q5 (no evidence) FAILED, tests PASSED]" in lines[-1]
