"""The report of any run is limited in size and true; a receipt detects every changed byte."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from tests.builders import NOW, SECOND
from tests.views.test_views import RUN, a_row
from yaoki.app.check_output import StoredOutputs
from yaoki.core.model import (
    Catalogue,
    CheckSpec,
    Choice,
    Question,
    State,
    TaskId,
    TaskKind,
)
from yaoki.ports import BranchStep, JournalEntry, SavedWork, TaskRow
from yaoki.report import (
    EscalationDetails,
    ReportSources,
    RunBranchState,
    make_receipt,
    read_run_branch,
    receipt_text,
    render_markdown,
    render_page,
    render_text,
    report_document,
    verify_receipt,
)
from yaoki.report.canonical import seal
from yaoki.report.markdown import escape_markdown
from yaoki.report.wording import describe_reruns, format_cost, verdict_sentence
from yaoki.views import build_run_view
from yaoki.views.history import build_run_history

BASE, TREE = "b" * 40, "7" * 40
ASKED = Question("?", (Choice.RETRY, Choice.WAIVE))
CATALOGUE = Catalogue(checks={"tests": CheckSpec("tests", argv=("pytest", "-q"))})


def name(n: int) -> str:
    return f"{n:040x}"


def entry(seq: int, event: str, task: int = 0, attempt: int = 1, **data: Any) -> JournalEntry:
    task_id = f"{RUN.id}-{task}" if task else ""
    return JournalEntry(seq, NOW + seq * SECOND, RUN.id, task_id, attempt, event, data)


def a_story(task: int, seq: int, **exit_: Any) -> list[JournalEntry]:
    """A task that lands at once."""
    seen: dict[str, Any] = {
        "check": "tests",
        "outcome": "PASSED",
        "commit": name(task),
        "exit_code": 0,
    }
    spec = {"name": f"t{task}", "goal": "g", "checks": ["tests"], "policy": "default"}
    return [
        entry(seq, "TASK_SUBMITTED", task, 0, n=task, spec=spec),
        entry(seq, "TASK_CLAIMED", task, 0),
        entry(seq, "ATTEMPT_STARTED", task, agent="small"),
        entry(seq, "AGENT_FINISHED", task, exit={"seconds": 1.0, **exit_}),
        entry(seq, "CHECK_FINISHED", task, **seen, seconds=0.5, message="", log=""),
        entry(seq, "QUALITY_JUDGMENT", task, passed=True, commit=name(task), onto=name(task - 1)),
        entry(seq, "TASK_LANDED", task, commit=name(task)),
    ]


@dataclass
class HandGit:
    """Commits 1 to n in a row, each the landing of the task of its number."""

    steps: list[BranchStep]
    ref: str = "refs/heads/yaoki/run00001"
    more: dict[str, str] = field(default_factory=dict)

    def trees(self, commits: Sequence[str]) -> Mapping[str, str]:
        here = {BASE: TREE, **{step.commit: step.tree for step in self.steps}, **self.more}
        here[self.ref] = TREE
        return {commit: here[commit] for commit in commits if commit in here}

    def first_parents(self, base: str, head: str) -> list[BranchStep]:
        return self.steps

    def reachable(self, base: str, head: str) -> frozenset[str]:
        return frozenset(step.commit for step in self.steps)

    def refs_containing(self, commit: str, ref: str) -> list[str]:
        return [self.ref] if ref in {"", self.ref} else []


def a_branch(n: int) -> HandGit:
    before = [BASE, *(name(i) for i in range(1, n))]
    return HandGit(
        [
            BranchStep(name(i), f"{i + 500:040x}", before[i - 1], RUN.id, f"{RUN.id}-{i}")
            for i in range(1, n + 1)
        ]
    )


def report_of(
    rows: Sequence[TaskRow],
    entries: Iterator[JournalEntry] | Sequence[JournalEntry],
    git: HandGit,
    asked: Question = ASKED,
    **more: Any,
) -> tuple[dict[str, Any], RunBranchState]:
    questions = {row.id: asked for row in rows if row.question}
    needs = {row.id: () for row in rows}
    view = build_run_view(RUN, rows, needs, is_idle=True, questions=questions)
    head = git.steps[-1].commit if git.steps else BASE
    branch = read_run_branch(
        git, RUN.base, head, [row.landed_commit for row in rows if row.landed_commit]
    )
    history = build_run_history(entries, CATALOGUE)
    sources = ReportSources(
        view, history, branch, StoredOutputs(Path("/nowhere")), NOW, "yaoki test"
    )
    made = report_document(replace(sources, **more))
    return {**made, "receipt": make_receipt(made, branch)}, branch


def landed(n: int) -> list[TaskRow]:
    return [a_row(i, State.DONE, landed_commit=name(i), attempt=1) for i in range(1, n + 1)]


def checked(data: bytes, git: HandGit, **more: Any) -> dict[str, tuple[bool | None, str]]:
    lines = verify_receipt(data, git, measure=more.pop("measure", lambda _: None), **more)
    return {line.name: (line.ok, " ".join(line.places)) for line in lines}


def failed_lines(data: bytes, git: HandGit, **more: Any) -> dict[str, str]:
    return {name: at for name, (ok, at) in checked(data, git, **more).items() if ok is False}


# ------------------------------------------------------------------ what is told


@pytest.mark.spec("10.6")
def test_an_unreported_cost_is_unknown_and_a_partly_reported_one_is_a_lower_bound() -> None:
    silent, _ = report_of(landed(1), a_story(1, 1), a_branch(1))
    some, _ = report_of(landed(2), [*a_story(1, 1, cost=0.5), *a_story(2, 2)], a_branch(2))
    free, _ = report_of(landed(1), a_story(1, 1, cost=0.0, tokens=7), a_branch(1))

    assert (silent["numbers"]["cost"], silent["numbers"]["cost_untold"]) == (None, 1)
    for text in (render_markdown(silent), render_page(silent)):
        assert "$" not in text.partition("<style>")[0] + text.partition("</style>")[2]
        assert "reported its cost" in text, "a sentence, and no row of which nothing is known"
    assert (some["numbers"]["cost"], some["numbers"]["cost_untold"]) == (0.5, 1)
    assert "at least $0.50" in render_page(some)
    assert (free["numbers"]["cost"], format_cost(0.0)) == (0.0, "$0.00"), "told to be free"
    assert free["numbers"]["tokens"] == 7


@pytest.mark.spec("6.4")
@pytest.mark.parametrize(
    "told",
    [
        {"known": ["test_old", "test_older"]},
        {"message": "2 failures stood at the base already: test_old, test_older"},
    ],
)
def test_failures_of_the_base_are_read_from_old_journals_too(
    told: dict[str, Any],
) -> None:
    story = [
        replace(one, data={**one.data, **told}) if one.event == "CHECK_FINISHED" else one
        for one in a_story(1, 1)
    ]

    made, _ = report_of(landed(1), story, a_branch(1))

    (red,) = made["red_before"]
    assert (red["check"], red["failures"]) == ("tests", "test_old, test_older")


@pytest.mark.spec("0.1", "0.5")
def test_a_judgment_of_another_commit_does_not_verify_the_landed_one() -> None:
    rows = [a_row(1, State.DONE, landed_commit=name(2), attempt=1)]

    made, _ = report_of(rows, a_story(1, 1), a_branch(2))

    assert made["tasks"][0]["proof"] is None
    assert "| t1 | unknown | 1 | unknown |" in render_markdown(made)


@pytest.mark.spec("12.1")
def test_times_are_split_into_work_and_kinds_of_waiting() -> None:
    """Claimed after 10 s, failed after 5 more, retried 20 s later, then escalated."""
    failure = {"kind": "TIMEOUT", "message": "too late"}
    entries = [
        entry(0, "TASK_SUBMITTED", 1, 0, n=1, spec={"policy": "default"}),
        entry(10, "TASK_CLAIMED", 1, 0),
        entry(11, "ATTEMPT_STARTED", 1, agent="small"),
        entry(15, "RETRY_DECISION", 1, failure=failure),
        entry(35, "TASK_CLAIMED", 1),
        entry(40, "ESCALATE_DECISION", 1, failure=failure, blocked="MAX_RETRIES"),
    ]
    rows = [a_row(1, State.ESCALATED, question="?", reason="MAX_RETRIES")]

    made, _ = report_of(rows, entries, a_branch(0), now=NOW + timedelta(seconds=100))

    assert made["time"]["waiting"] == {
        "turn_s": 10.0,
        "retry_s": 20.0,
        "rerun_s": 0.0,
        "person_s": 60.0,
    }
    assert (made["time"]["wall_s"], made["run"]["finished_at"]) == (100.0, None)
    assert "| time so far | 1 min 40 s |" in render_markdown(made)
    assert "so far" in render_page(made)
    assert "from start to end" not in render_markdown(made) + render_page(made)
    assert made["retries"] == [{"kind": "TIMEOUT", "pattern": None, "count": 1}]
    assert made["not_retried"] == [{"kind": "TIMEOUT", "pattern": None, "count": 1}]
    assert "- 1 attempt not tried again: took too long or hung" in render_markdown(made)


@pytest.mark.spec("12.1")
@pytest.mark.parametrize(("cause", "turn", "retry"), [("TIMEOUT", 25, 5), ("RATE_LIMIT", 10, 20)])
def test_a_retry_that_is_due_waits_for_a_free_worker(cause: str, turn: int, retry: int) -> None:
    """It was due after 5 s; an account may open later than the date of the task."""
    failure = {"kind": cause, "message": "too late"}
    due = (NOW + timedelta(seconds=20)).isoformat()
    entries = [
        entry(0, "TASK_SUBMITTED", 1, 0, n=1, spec={"policy": "default"}),
        entry(10, "TASK_CLAIMED", 1, 0),
        entry(11, "ATTEMPT_STARTED", 1, agent="small"),
        entry(15, "RETRY_DECISION", 1, failure=failure, due_at=due),
        entry(35, "TASK_CLAIMED", 1),
    ]

    made, _ = report_of([a_row(1)], entries, a_branch(0))

    waiting = {"turn_s": float(turn), "retry_s": float(retry), "rerun_s": 0.0, "person_s": 0.0}
    assert made["time"]["waiting"] == waiting


@pytest.mark.spec("10.6", "12.1")
@pytest.mark.parametrize("tried_again", [False, True])
def test_a_retry_that_a_cancellation_forestalled_is_not_counted(tried_again: bool) -> None:
    """The run was interrupted, and its task cancelled before a worker claimed it again."""
    lost = {"kind": "LOST", "message": "the agent was stopped on request"}
    again = [entry(25, "TASK_CLAIMED", 1), entry(26, "ATTEMPT_STARTED", 1, 2, agent="small")]
    entries = [
        entry(0, "TASK_SUBMITTED", 1, 0, n=1, spec={"policy": "default"}),
        entry(10, "TASK_CLAIMED", 1, 0),
        entry(11, "ATTEMPT_STARTED", 1, agent="small"),
        entry(15, "RETRY_DECISION", 1, failure=lost),
        *(again if tried_again else []),
        entry(35, "TASK_CANCELLED", 1, 2 if tried_again else 1, why="cancelled by a person"),
    ]

    made, _ = report_of([a_row(1, State.CANCELLED)], entries, a_branch(0))

    counted = [{"kind": "LOST", "pattern": None, "count": 1}]
    attempts, retries = made["numbers"]["attempts"], made["numbers"]["retries"]
    assert (attempts, retries) == ((2, 1) if tried_again else (1, 0))
    assert (made["retries"], made["not_retried"]) == (
        (counted, []) if tried_again else ([], counted)
    )
    waited = {"turn_s": 10.0, "retry_s": 10.0} if tried_again else {"turn_s": 30.0, "retry_s": 0.0}
    assert made["time"]["waiting"] == {**waited, "rerun_s": 0.0, "person_s": 0.0}


@pytest.mark.spec("8.4", "12.1")
def test_the_wait_before_a_rerun_is_not_that_for_a_retry() -> None:
    """Held for 30 s until the other tasks had ended, then 5 s until a worker was free."""
    failure = {"kind": "TIMEOUT", "message": "too late"}
    entries = [
        entry(0, "TASK_SUBMITTED", 1, 0, n=1, spec={"policy": "default"}),
        entry(10, "TASK_CLAIMED", 1, 0),
        entry(11, "ATTEMPT_STARTED", 1, agent="small"),
        entry(15, "RERUN_HELD", 1, failure=failure, blocked="MAX_RETRIES"),
        entry(45, "RERUN_GRANTED", 1),
        entry(50, "TASK_CLAIMED", 1),
    ]

    made, _ = report_of([a_row(1)], entries, a_branch(0))

    waiting = {"turn_s": 15.0, "retry_s": 0.0, "rerun_s": 30.0, "person_s": 0.0}
    assert made["time"]["waiting"] == waiting
    words = "waiting for other tasks before a re-run from the run branch, added up | 30 s"
    assert words in render_markdown(made)
    assert "before a re-run 30 s" in render_page(made)


@pytest.mark.spec("10.6", "12.1")
def test_the_time_of_a_paused_run_was_spent_on_a_person() -> None:
    """The task waited 10 s for its turn before the pause and 20 s after it."""
    entries = [
        entry(0, "TASK_SUBMITTED", 1, 0, n=1, spec={"policy": "default"}),
        entry(10, "RUN_PAUSED", why="budget: used"),
        entry(50, "RUN_RESUMED"),
        entry(70, "TASK_CLAIMED", 1, 0),
    ]

    made, _ = report_of([a_row(1)], entries, a_branch(0))

    waiting = {"turn_s": 30.0, "retry_s": 0.0, "rerun_s": 0.0, "person_s": 40.0}
    assert made["time"]["waiting"] == waiting


@pytest.mark.spec("10.3", "10.4", "14.4")
def test_foreign_text_in_an_answer_command_is_quoted() -> None:
    rows = [a_row(1, State.ESCALATED, question="?", reason="MAX_RETRIES")]

    made, _ = report_of(
        rows, [], a_branch(0), escalation_of=lambda _: EscalationDetails("/w", "x; rm -rf ~")
    )

    commands = [answer["command"] for answer in made["asking"][0]["answers"]]
    assert commands == [
        'yaoki answer run00001-1 retry "words for the agent"',
        "yaoki answer run00001-1 waive --check 'x; rm -rf ~'",
    ]


@pytest.mark.spec("10.4")
def test_the_answer_for_a_task_without_an_agent_has_no_message() -> None:
    rows = [a_row(1, State.ESCALATED, kind="check", question="?", reason="MAX_RETRIES")]

    made, _ = report_of(
        rows, [], a_branch(0), escalation_of=lambda _: EscalationDetails("", "tests")
    )

    retry = made["asking"][0]["answers"][0]
    assert retry["command"] == "yaoki answer run00001-1 retry"
    assert retry["what"] == "its checks run again; no agent works on it"


@pytest.mark.spec("10.4", "14.4")
def test_a_command_in_the_meaning_of_an_answer_is_never_cut() -> None:
    """It stands at the end, behind the path of the worktree."""
    merge = "git merge refs/yaoki/work/run00001-1/2"
    details = EscalationDetails(f"/{'w' * 700}", "", earlier_work=f"to begin with it: {merge}")
    asked = Question("?", (Choice.DONE,))

    made, _ = report_of(
        [a_row(1, State.ESCALATED, question="?", reason="MAX_RETRIES")],
        [],
        a_branch(0),
        asked=asked,
        escalation_of=lambda _: details,
    )

    for document in (render_text(made), render_markdown(made), render_page(made)):
        assert merge in document


@pytest.mark.spec("6.6", "11.5")
def test_a_check_that_passed_with_a_nonzero_exit_code_has_its_reason() -> None:
    story = [
        replace(
            e, data={**e.data, "exit_code": 1, "message": "1 failure stood at the base already"}
        )
        if e.event == "CHECK_FINISHED"
        else e
        for e in a_story(1, 1)
    ]

    made, _ = report_of(landed(1), story, a_branch(1))

    assert "PASSED, exit 1 (1 failure stood at the base already)" in render_markdown(made)


@pytest.mark.spec("8.2")
def test_saved_work_is_listed_unless_it_is_on_the_run_branch() -> None:
    rows = [*landed(1), a_row(2, State.CANCELLED)]
    """The command names the ref of an attempt that was saved twice."""
    works = [
        SavedWork(f"{RUN.id}-{task}", attempt, f"refs/yaoki/work/{label}", commit, NOW, "s")
        for task, attempt, label, commit in (
            *((1, 1, "a", name(8)), (2, 1, "b", name(1)), (2, 1, "c", name(9))),
            (2, 2, "d", name(7)),
        )
    ]

    made, _ = report_of(rows, a_story(1, 1), a_branch(1), saved_work=works)

    assert [one["commit"] for one in made["kept"]["work"]] == [name(9), name(7)]
    text = render_markdown(made)
    assert "yaoki recover refs/yaoki/work/c --branch NAME" in text
    assert "yaoki recover run00001-2 --attempt 2 --branch NAME" in text
    assert "## Saved work that did not land" in render_markdown(made)
    assert "<h2>Saved work<small>" in render_page(made)


@pytest.mark.full
@pytest.mark.spec("11.5", "12.1")
def test_the_report_of_two_thousand_tasks_is_bounded_and_counts_the_rest() -> None:
    count = 2_000
    entries = (line for n in range(1, count + 1) for line in a_story(n, n))

    made, _ = report_of(landed(count), entries, a_branch(count))
    html, text = render_page(made), render_markdown(made)

    # One list of all tasks would be longer.
    assert len(html) < 300_000
    assert len(text) < 10_000
    for told in (
        "… 1,600 more tasks",
        "… 1,940 more tasks",
        "… 1,800 more, all listed in the receipt",
    ):
        assert told in html
    assert "… 1,900 more tasks" in text
    assert len(made["receipt"]["landed"]) == count
    assert not failed_lines(receipt_text(made["receipt"]).encode(), a_branch(count))


@pytest.mark.spec("10.3", "12.1")
def test_questions_over_the_limit_are_counted() -> None:
    asks = {"question": "?", "reason": "MAX_RETRIES"}
    rows = [a_row(n, State.ESCALATED, **asks) for n in range(1, 1101)]

    made, _ = report_of(rows, [], a_branch(0))

    assert (len(made["asking"]), made["asking_left_out"]) == (1000, 100)
    assert "… 1,050 more questions" in render_page(made)
    assert "… 1,070 more questions" in render_markdown(made)


@pytest.mark.spec("0.4")
def test_a_task_with_a_thousand_attempts_shows_the_last_ones_and_the_count() -> None:
    entries = [entry(n, "ATTEMPT_STARTED", 1, n, agent="small") for n in range(1, 1001)]

    made, _ = report_of([a_row(1)], entries, a_branch(0))

    tries = made["tasks"][0]["attempts"]
    assert (len(tries), tries[-1]["attempt"]) == (100, 1000)
    assert made["numbers"]["attempts"] == 1000


@pytest.mark.spec("0.6", "12.1")
@pytest.mark.parametrize(
    ("status", "numbers", "words"),
    [
        ("DONE", {"done": 3}, "The run is done: all 3 tasks are done, each proven by its checks."),
        (
            "DONE",
            {"done": 2, "cancelled": 1, "whole_proven": True},
            "The run is done: 2 of 3 tasks are done, including all required ones, each proven by"
            " its checks. The whole run was then verified again.",
        ),
        (
            "DONE",
            {"done": 2, "cancelled": 1, "dropped": 1},
            "The run is done: 2 of 3 tasks are done, each proven by its checks;"
            " 1 part of a group failed and was left out.",
        ),
        (
            "ESCALATED",
            {"done": 1, "asking": 1, "blocked": 1},
            "The run needs you: 1 of 3 tasks is done and proven, 1 waits for your answer"
            " and 1 cannot start before you answer.",
        ),
        (
            "PAUSED",
            {"done": 0, "open": 3},
            "The run is paused (budget: spent): 0 of 3 tasks are done and proven"
            " and 3 are still open.",
        ),
        (
            "CANCELLED",
            {"done": 1, "cancelled": 2},
            "The run ended without being done: 1 of 3 tasks is done and proven"
            " and 2 were cancelled.",
        ),
        (
            "ACTIVE",
            {"done": 2, "open": 1},
            "The run is not finished: 2 of 3 tasks are done and proven so far and 1 is still open.",
        ),
        (
            "DONE",
            {"done": 2, "lost": 1},
            "The run had ended, but the landed work of 1 task is no longer on its branch:"
            " 2 of 3 tasks are done and proven.",
        ),
        (
            "CANCELLED",
            {"tasks": 1, "done": 0, "cancelled": 1},
            "The run ended without being done: 0 of 1 task is done and proven and 1 was cancelled.",
        ),
        (
            "DONE",
            {"done": 3, "waived": 1},
            "The run is done: all 3 tasks are done, each proven by its checks,"
            " except 1 with checks that a person waived.",
        ),
        (
            "DONE",
            {"done": 3, "waived": 3},
            "The run is done: all 3 tasks are done, with checks that a person waived.",
        ),
        (
            "ACTIVE",
            {"done": 2, "waived": 1, "open": 1},
            "The run is not finished: 2 of 3 tasks are done (1 with checks that a person waived)"
            " so far and 1 is still open.",
        ),
    ],
)
def test_the_verdict_is_one_sentence_that_calls_no_failure_a_success(
    status: str, numbers: dict[str, int], words: str
) -> None:
    names = ("asking", "blocked", "cancelled", "dropped", "lost", "open", "whole_proven", "waived")
    none = dict.fromkeys(names, 0)

    assert verdict_sentence(status, {"tasks": 3, **none, **numbers}, "budget: spent") == words


# ------------------------------------------------------------------ the receipt


@pytest.fixture(scope="module")
def receipt() -> dict[str, Any]:
    made, _ = report_of(landed(2), [*a_story(1, 1), *a_story(2, 2)], a_branch(2))
    held: dict[str, Any] = made["receipt"]
    return held


def resealed(receipt: Mapping[str, Any], **more: Any) -> bytes:
    """Recompute the digests of a changed receipt."""
    body = {key: held for key, held in receipt.items() if key != "digest"} | more
    return receipt_text(seal(body)).encode()


@pytest.mark.spec("0.1", "12.1")
def test_an_unchanged_receipt_is_verified(receipt: dict[str, Any]) -> None:
    seen = checked(receipt_text(receipt).encode(), a_branch(2))

    assert {name: ok for name, (ok, _) in seen.items()} == {
        **dict.fromkeys(
            ("form", "digest", "commits", "trees", "line", "landed", "ref", "checks"), True
        ),
        "outputs": None,
    }


@pytest.mark.spec("0.6", "12.1")
def test_a_changed_byte_of_a_receipt_is_reported_with_its_place(receipt: dict[str, Any]) -> None:
    """Every byte is replaced once and deleted once."""
    data, git = receipt_text(receipt).encode(), a_branch(2)

    for at in range(len(data)):
        other = b"1" if data[at : at + 1] != b"1" else b"2"
        for changed in (data[:at] + other + data[at + 1 :], data[:at] + data[at + 1 :]):
            found = failed_lines(changed, git)
            assert found, f"byte {at} may be changed"
            assert all(found.values()), f"no place is told for byte {at}: {found}"


@pytest.mark.spec("12.1")
def test_a_report_is_verified_by_the_receipt_inside_it(receipt: dict[str, Any]) -> None:
    changed = {**receipt, "status": "ACTIVE"}

    assert not failed_lines(json.dumps({"schema": 1, "receipt": receipt}).encode(), a_branch(2))
    assert "digest" in failed_lines(
        json.dumps({"schema": 1, "receipt": changed}).encode(), a_branch(2)
    )


@pytest.mark.spec("0.6")
def test_a_change_inside_an_entry_is_found_in_that_entry(receipt: dict[str, Any]) -> None:
    second = {**receipt["landed"][1], "attempt": 9}
    data = receipt_text({**receipt, "landed": [receipt["landed"][0], second]}).encode()

    assert failed_lines(data, a_branch(2)) == {"digest": "landed 2: t2"}


@pytest.mark.spec("0.1", "0.3")
def test_a_receipt_with_recomputed_digests_is_refused_by_git(receipt: dict[str, Any]) -> None:
    first, second = receipt["landed"]
    line = receipt["line"]
    other = {**second, "tree": TREE}
    failed = {**second, "checks": [{**second["checks"][0], "outcome": "FAILED"}]}

    assert (
        "has the tree"
        in failed_lines(resealed(receipt, landed=[first, other]), a_branch(2))["trees"]
    )
    assert "git has 2 steps" in failed_lines(resealed(receipt, line=line[:1]), a_branch(2))["line"]
    assert (
        "line 1: git has" in failed_lines(resealed(receipt, line=line[::-1]), a_branch(2))["line"]
    )
    assert "does not list" in failed_lines(resealed(receipt, landed=[first]), a_branch(2))["landed"]
    assert (
        "is not the commit that landed it"
        in failed_lines(resealed(receipt, landed=[first] * 2), a_branch(2))["landed"]
    )
    assert (
        "did not pass"
        in failed_lines(resealed(receipt, landed=[first, failed]), a_branch(2))["checks"]
    )
    unproven = {**second, "checks": []}
    assert (
        "no check passed"
        in failed_lines(resealed(receipt, landed=[first, unproven]), a_branch(2))["checks"]
    )


@pytest.mark.spec("0.1")
def test_a_receipt_is_refused_in_a_repository_with_other_commits(receipt: dict[str, Any]) -> None:
    data = receipt_text(receipt).encode()
    foreign = a_branch(2)
    foreign.steps[1] = replace(foreign.steps[1], task="")
    loose = a_branch(2)
    loose.steps[0] = replace(loose.steps[0], parent=name(99))
    poor, lost = a_branch(1), a_branch(2)
    lost.ref = "refs/heads/main"
    lost.more["refs/heads/yaoki/run00001"] = TREE

    assert "names no task" in failed_lines(data, foreign)["line"]
    assert "does not follow" in failed_lines(data, loose)["line"]
    assert f"{name(2)} is not here" in failed_lines(data, poor)["commits"]
    assert "does not contain" in failed_lines(data, lost)["ref"]


@pytest.mark.spec("14.4")
@pytest.mark.parametrize(
    ("data", "place"),
    [
        (b"", "line 1, column 1"),
        (b"[]", "not a JSON object"),
        (b'{"form": "x"}', "form: 'x'"),
        (b'{"a": 1, "a": 2}', "'a' occurs twice"),
        (b'{"a": NaN}', "NaN is not a JSON number"),
        (b'{"a":\n"\xff"}', "line 2, byte 2: not UTF-8"),
        (b"[" * 100_000, ""),
        (b'{"form": "yaoki-receipt", "schema": 2}', "this yaoki reads 1, not 2"),
        (b'{"form": "yaoki-receipt", "schema": 1, "b": 1}', "b: is unknown"),
    ],
)
def test_an_invalid_receipt_is_reported_with_its_place(data: bytes, place: str) -> None:
    found = failed_lines(data, a_branch(0))

    assert list(found) == ["form"]
    assert place in found["form"]


@pytest.mark.parametrize(
    ("output", "versions"),
    [
        (
            "== starts ==\nplatform linux -- Python 3.11.7, pytest-9.2.0, pluggy-1.6.0",
            {"python": "3.11.7", "pytest": "9.2.0", "pluggy": "1.6.0"},
        ),
        ("mypy 1.11.2 (compiled: yes)\n", {"mypy": "1.11.2"}),
        ("> jest@29.7.0\n", {"jest": "29.7.0"}),
        ("go version 1.22.4\n", {"go": "1.22.4"}),
        ("SKIPPED [1] test_a.py:3: annotationlib is new in Python 3.14\n", {}),
        ("Python 3.14 is needed for this\n", {}),
        ("E   AssertionError: node v20.1.0 was expected\n", {}),
    ],
)
@pytest.mark.spec("10.2", "0.1")
def test_only_a_tool_that_names_itself_has_a_version(
    tmp_path: Path, output: str, versions: dict[str, str]
) -> None:
    folder = tmp_path / ".yaoki" / "runs" / "r" / "r-1" / "1" / "checks" / "1-tests"
    folder.mkdir(parents=True)
    (folder / "out.log").write_text(output)

    stored = StoredOutputs(tmp_path / ".yaoki")

    assert stored.versions(str(folder / "out.log")) == versions


@pytest.mark.spec("14.4")
def test_an_output_is_searched_only_below_its_folder(tmp_path: Path) -> None:
    home = tmp_path / ".yaoki"
    folder = home / "runs" / "r" / "r-1" / "1" / "checks" / "1-tests"
    folder.mkdir(parents=True)
    (folder / "out.log").write_text("platform linux -- Python 3.12.1, pytest-9.2.0\n")
    (home / "secret").write_text("x")
    (home / "runs" / "link").symlink_to(home / "secret")
    stored = StoredOutputs(home)
    log = "/elsewhere/.yaoki/runs/r/r-1/1/checks/1-tests/out.log"

    (output,) = stored.outputs(log)

    assert (output["file"], output["bytes"]) == ("runs/r/r-1/1/checks/1-tests/out.log", 46)
    assert stored.measure(output["file"]) == {k: output[k] for k in ("bytes", "sha256")}
    assert stored.versions(log) == {"python": "3.12.1", "pytest": "9.2.0"}
    for file in ("secret", "runs/../secret", "runs/link", "/etc/passwd", "runs/none"):
        assert stored.measure(file) is None


@pytest.mark.spec("14.4")
def test_markdown_shows_as_many_spaces_as_the_text_has() -> None:
    assert escape_markdown("'a  b' == 'a b', 'a   b'") == "'a &nbsp;b' == 'a b', 'a &nbsp;&nbsp;b'"


@pytest.mark.spec("14.4")
def test_foreign_text_is_escaped_in_markdown_and_html() -> None:
    hostile = "<b onclick=x>|`[a](b)`**\x1b[31m\u202e"
    rows = [replace(row, name=hostile) for row in landed(1)]

    made, _ = report_of(rows, a_story(1, 1), a_branch(1))

    html, text = render_page(made), render_markdown(made)
    assert "<b onclick" not in html
    assert "\x1b" not in html + text
    assert "\u202e" not in html + text
    (row,) = [line for line in text.splitlines() if line.startswith("| \\<b")]
    assert row.replace("\\|", "").count("|") == 5, "a name makes no cell"
    assert json.loads(json.dumps(made))["tasks"][0]["name"] == hostile


@pytest.mark.spec("12.4")
def test_a_final_check_that_was_replaced_is_not_among_work_that_did_not_land() -> None:
    (row,) = landed(1)
    old = replace(row, id=TaskId("r-2"), n=2, kind=TaskKind.CHECK, state=State.REPLACED)
    unlanded = replace(old, landed_commit="")

    made, _ = report_of([row, unlanded], a_story(1, 1), a_branch(1))

    assert "## Not landed" not in render_markdown(made)


@pytest.mark.spec("6.5", "12.4")
def test_a_check_that_failed_again_in_several_attempts_is_told_once() -> None:
    failed = {"name": "login", "check": "tests", "outcome": "FAILED", "seconds": [2.0, 3.0]}
    flaky = {**failed, "outcome": "FLAKY"}
    other = {**failed, "name": "logout"}
    unsteady = {**failed, "name": "search", "passes": 1}

    assert list(describe_reruns([failed, other, failed, failed, flaky, unsteady])) == [
        "check tests of login failed in 3 attempts, also when it was run again (15 s)",
        "check tests of logout failed, also when it was run again (5 s)",
        "check tests of login was flaky: failed in 2 s, run again 1 time in 3 s",
        "check tests of search failed, but passed in 1 re-run on the same commit (5 s)",
    ]


@pytest.mark.spec("12.1")
def test_failures_with_the_same_words_are_one_line_of_the_report() -> None:
    """A conflict has the same words with its pattern and without."""
    made, _ = report_of(landed(1), a_story(1, 1), a_branch(1))
    counts = [("CONFLICT", "merge-conflict", 3), ("TIMEOUT", None, 2), ("CONFLICT", None, 1)]
    listed = [{"kind": kind, "pattern": pattern, "count": n} for kind, pattern, n in counts]
    made |= {"retries": listed, "not_retried": listed}

    text, page = render_markdown(made), render_page(made)

    assert "- 4 retries: in conflict with other work\n- 2 retries: took too long or hung\n" in text
    assert text.count("in conflict with other work") == 2
    assert "- 4 attempts not tried again: in conflict with other work\n" in text
    assert "4 attempts not tried again: in conflict with other work" in page
    assert page.count("not tried again: in conflict with other work") == 1
