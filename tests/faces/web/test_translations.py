"""yaoki's own sentences are translated on the page."""

from __future__ import annotations

import ast
import inspect
import json
import re
import shutil
import subprocess
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

import yaoki.faces.web
from tests.builders import (
    NOW,
    RUN_ID,
    a_check,
    a_failure,
    a_finding,
    a_policy,
    a_spec,
    an_active_task,
    an_agent,
    an_exit,
)
from yaoki.core.decide import race, race_judge
from yaoki.core.decide.agent_notes import _checkout_note
from yaoki.core.decide.escalation import build_escalation
from yaoki.core.decide.exit_classification import add_left_out_files, classify_needless_run
from yaoki.core.decide.failure_response import (
    ClockAndChance,
    escalate_without_rerun,
    plan_retry_or_escalate,
)
from yaoki.core.decide.mutants import MutantOutcome, MutantResult, judge_mutants
from yaoki.core.decide.next_try import FRESH, choose_next_try
from yaoki.core.decide.red_first import (
    compare_with_base,
    compare_without_change,
    judge_red_first,
)
from yaoki.core.decide.retry import decide_retry
from yaoki.core.decide.retry_decision import RetryDecision
from yaoki.core.hidden_checks import conceal_details
from yaoki.core.machine.events import EscalationDecided, RetryDecided
from yaoki.core.model import (
    AccountClosure,
    AccountProblem,
    CandidateOutcome,
    ClosedAccount,
    Counts,
    CriterionLevel,
    Failure,
    FailureKind,
    FindingItem,
    HiddenFiles,
    Outcome,
    Reason,
    RefusalCause,
    Stage,
    Task,
    TaskKind,
    Work,
)
from yaoki.core.model.mutant import HiddenCode, Mutant, MutantRules
from yaoki.core.model.outcome import DOUBTFUL_PARAM, TIMED_OUT_PARAM
from yaoki.core.model.treatment import (
    AttemptConversation,
    ConversationMode,
    LearningMode,
    Treatment,
    TreatmentOutcome,
)
from yaoki.core.model.verdict_key import PART_WORDS
from yaoki.core.race_judge_prompt import read_judge_answer
from yaoki.engine.completion import recover
from yaoki.formats.quality import gaming, tell_tales
from yaoki.formats.quality.definition import comparison
from yaoki.formats.quality.gaming import copied_results
from yaoki.formats.quality.mutants.edit import becomes, is_removed
from yaoki.views import entry_text
from yaoki.views.decisions import DECISION_OF_EVENT, RULES
from yaoki.views.plain_words import CRITERIA

WORDS = Path(yaoki.faces.web.__file__).with_name("static") / "words"
SAID: list[tuple[str, str]] = [
    tuple(pair) for pair in json.loads((WORDS / "sentences.ja.json").read_text())
]
PLACE = re.compile(r"\{(\w+)\}")
ENGLISH = re.compile(r"\b[a-z]{2,} [a-z]{2,}\b")


def compile_pattern(pattern: str) -> re.Pattern[str]:
    """The pattern in Python's syntax for named groups."""
    return re.compile(pattern.replace("(?<", "(?P<"), re.DOTALL)


def is_translated(sentence: str) -> bool:
    return any(compile_pattern(pattern).fullmatch(sentence) for pattern, _ in SAID)


def translate(sentence: str, deep: int = 3) -> str:
    """The sentence as the page shows it: `translate` of translation.js."""
    matches = ((compile_pattern(pattern).fullmatch(sentence), words) for pattern, words in SAID)
    match, words = next((one for one in matches if one[0]), (None, ""))
    if match is None or not deep:
        return sentence
    return PLACE.sub(lambda place: translate(match[place[1]] or "", deep - 1), words)


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


@pytest.mark.spec("12.5", "18.3", "18.5")
def test_the_choice_of_the_next_try_is_translated() -> None:
    """The pattern of a plain retry matches as well, and would leave the choice in English."""
    failure = a_failure(FailureKind.QUALITY_FAILURE, "it fell", pattern="test-failed")
    of_lint = replace(failure, pattern="lint-error")
    measured = tuple(
        TreatmentOutcome(Treatment("test-failed", "", "small", conversation), cured)
        for conversation, cured in ((AttemptConversation.CONTINUED, True), (FRESH, False))
        for _ in range(10)
    )
    tries: dict[str, tuple[ConversationMode, Failure, dict[str, Any]]] = {
        "auto: test-failed shows": (ConversationMode.AUTO, failure, {}),
        "auto: test-failed again": (ConversationMode.AUTO, failure, {"feedback": failure}),
        "auto: lint-error says": (ConversationMode.AUTO, of_lint, {}),
        "auto: after": (ConversationMode.AUTO, failure, {"treatment_outcomes": measured}),
        "conversation: fresh": (ConversationMode.FRESH, failure, {}),
    }
    for begin, (mode, failed, given) in tries.items():
        spec = a_spec(policy=a_policy(conversation=mode))
        task = an_active_task(Stage.VERIFY, spec=spec, session="s", **given)
        said = choose_next_try(task, failed, decide_retry(task, failed, 1, 0.5)).reasoning
        match = _first_match(said)
        assert match["why"].startswith(begin)
        assert is_translated(match["why"])
        assert is_translated(match["retry"])

    spec = a_spec(policy=a_policy(learn=LearningMode.CHOOSE, conversation=ConversationMode.AUTO))
    task = an_active_task(Stage.VERIFY, spec=spec, session="s")
    drawn = choose_next_try(task, failure, decide_retry(task, failure, 1, 0.5))
    assert _first_match(drawn.reasoning)["drawn"].startswith("small ")
    assert is_translated(_first_match(drawn.otherwise)["words"])


def _first_match(said: str) -> re.Match[str]:
    matches = (compile_pattern(pattern).fullmatch(said) for pattern, _ in SAID)
    return next(match for match in matches if match)


@pytest.mark.spec("12.5", "8.4")
def test_the_reasons_against_a_last_try_are_translated() -> None:
    tree = ast.parse(inspect.getsource(recover._no_rerun_reason))
    given = (node.value for node in ast.walk(tree) if isinstance(node, ast.Return))
    reasons = {node.value for node in given if isinstance(node, ast.Constant)}
    task = a_stuck_task(failed=4)
    stuck = replace(task, failure=a_failure(), reason=Reason.MAX_RETRIES)

    for reason in sorted(map(str, reasons)):
        (decided, _) = escalate_without_rerun(stuck, reason, ClockAndChance(NOW, 0.5))
        assert isinstance(decided, EscalationDecided)
        said = decided.reason["description"]

        matches = (compile_pattern(pattern).fullmatch(said) for pattern, _ in SAID)
        assert next(match for match in matches if match)["why"] == reason
        assert is_translated(reason)
    assert len(reasons) == 2


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


@pytest.mark.spec("12.5", "18.1", "18.6")
@pytest.mark.parametrize("problem", [one for one in AccountProblem if one])
@pytest.mark.parametrize("agents", [1, 2])
@pytest.mark.parametrize(("probes", "hours"), [(1, 0), (4, 1), (9, 99)])
def test_decisions_about_accounts_are_translated(
    problem: AccountProblem, agents: int, probes: int, hours: int
) -> None:
    chain = (an_agent("small", account="one"), an_agent("large", account="two"))
    closure = AccountClosure(NOW - timedelta(hours=hours), probes)
    failure = a_failure(
        FailureKind.RATE_LIMIT, account_problem=problem, unanswered=True, closure=closure
    )
    task = an_active_task(
        Stage.WORK,
        spec=a_spec(agents=chain[:agents]),
        closed_account=ClosedAccount(problem, closure, NOW, probe_task=f"{RUN_ID}-1"),
    )
    (decided, *_) = plan_retry_or_escalate(task, failure, ClockAndChance(NOW, 0.5))
    assert isinstance(decided, RetryDecided | EscalationDecided)
    if isinstance(decided, RetryDecided):
        reasoning = decided.reasoning
    else:
        reasoning = decided.reason["description"]

    shown = [translate(words) for words in (reasoning, *decided.why.otherwise)]

    assert [words for words in shown if ENGLISH.search(words)] == []


@pytest.mark.spec("12.5", "3.5")
@pytest.mark.parametrize("said", ["", "fine", "done!"])
@pytest.mark.parametrize("files", [0, 1])
@pytest.mark.parametrize("waived", [(), ("tests",), ("tests", "lint")])
def test_the_question_about_unchanged_work_is_translated(
    said: str, files: int, waived: tuple[str, ...]
) -> None:
    failure = classify_needless_run(an_exit(output_tail=said), waived)
    task = a_stuck_task()
    task = replace(task, work=replace(task.work, attempt_file_count=files))
    asked = build_escalation(
        task, failure, Reason.NEEDS_HUMAN, decide_retry(task, failure, 1, 0.5), NOW, ()
    ).question.text

    assert ENGLISH.search(translate(asked)) is None, translate(asked)


@pytest.mark.spec("12.5")
@pytest.mark.parametrize(
    ("given", "remedy"),
    [
        ({"pattern": "test-weakened"}, "allow_weaker_tests"),
        ({"params": {DOUBTFUL_PARAM: True}}, "yaoki plan recheck"),
        ({"params": {TIMED_OUT_PARAM: True}}, "yaoki plan recheck"),
        ({"kind": FailureKind.CONFLICT}, "git merge"),
        ({"account_problem": AccountProblem.NO_CREDIT}, "残高"),
    ],
)
def test_the_remedy_in_a_question_is_translated(given: dict[str, Any], remedy: str) -> None:
    kind = given.pop("kind", FailureKind.QUALITY_FAILURE)
    failure = a_failure(kind, "fell", check="tests", **given)
    task = a_stuck_task(failed=50)
    decision = decide_retry(task, failure, 1, 0.5)
    asked = build_escalation(task, failure, Reason.MAX_RETRIES, decision, NOW, ()).question.text

    assert remedy in translate(asked)
    assert not re.search(r"\. [A-Z][a-z]+ [a-z]+ ", translate(asked)), translate(asked)


@pytest.mark.spec("12.5", "3.5")
@pytest.mark.parametrize("said", ["", "fine", "done!"])
def test_what_the_scope_left_out_of_no_change_is_translated(said: str) -> None:
    nothing = classify_needless_run(an_exit(output_tail=said))
    failure = add_left_out_files(nothing, ("f", "g"), ("lib/**",))
    task = a_stuck_task()
    asked = build_escalation(
        task, failure, Reason.NEEDS_HUMAN, decide_retry(task, failure, 1, 0.5), NOW, ()
    ).question.text

    assert "left out: f, g" in asked
    assert is_translated(asked), asked
    assert any(compile_pattern(one).fullmatch(asked) for one, _ in SAID if "left out" in one)
    assert any(compile_pattern(one).fullmatch(failure.message) for one, _ in SAID)


@pytest.mark.spec("12.5", "17.1")
def test_the_remedy_of_red_first_is_translated_in_its_question() -> None:
    """The general pattern matches as well, and would leave the remedy in English."""
    task = a_stuck_task(failed=50)
    failure = a_failure(FailureKind.QUALITY_FAILURE, "none", pattern="not-red", check="red-first")
    decision = decide_retry(task, failure, 1, 0.5)
    asked = build_escalation(task, failure, Reason.MAX_RETRIES, decision, NOW, ()).question.text

    matches = (compile_pattern(pattern).fullmatch(asked) for pattern, _ in SAID)
    first = next(match for match in matches if match)

    assert "instead of red: true" in asked
    assert first["issue"] == "check red-first: none"


@pytest.mark.spec("12.5", "12.3")
def test_refused_landings_and_the_work_of_a_person_are_translated() -> None:
    words = json.loads((WORDS / "server.ja.json").read_text())

    causes = {f"story.LAND_REFUSED.{cause}" for cause in RefusalCause if cause != "moved"}
    ends = {f"story.AGENT_FINISHED.{end}" for end in ("person", "unchanged")}

    assert {*causes, *ends, "story.LAND_REFUSED", "story.ATTEMPT_STARTED.person"} <= set(words)


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


@pytest.mark.spec("12.5", "18.4")
def test_the_decisions_of_a_race_are_translated() -> None:
    keys = {name: json.loads((WORDS / f"{name}.json").read_text()) for name in ("en", "ja")}
    said = {*race._OTHERWISE.values(), *CRITERIA.values()}
    told = {f"candidate x~1.2 won: {words}" for words in CRITERIA.values()}

    assert {words for words in said | told if not is_translated(words)} == set()
    assert {words for words in judge_defects() if not is_translated(words)} == set()
    for words in keys.values():
        assert {f"criterion.{name or 'none'}" for name in CRITERIA} <= set(words)
        assert {f"ended.{one.upper()}" for one in CandidateOutcome} <= set(words)


def judge_defects() -> set[str]:
    """Why the answer of a judge decides nothing."""
    code = '"code": "c0de"'
    answers = ("", "So: {}", f"So: {{{code}}}", f'{{"best": "Z", "reason": "x", {code}}}')
    silent = f'{{"best": "A", "reason": "", {code}}}'
    differing = f'{{"best": "A", "reason": "x", {code}}} {{"best": "B", "reason": "x", {code}}}'
    found = {race_judge.BUDGET_IS_SPENT, race_judge.WAS_STOPPED, "its agent failed: exit code 3"}
    for answer in (*answers, silent, differing):
        with pytest.raises(ValueError, match=r".") as raised:
            read_judge_answer(answer, 2, "c0de")
        found.add(str(raised.value))
    assert len(found) == 3 + len(answers) + 2
    return found


def tell_tale_words() -> set[str]:
    """The reason and the way out, with `; ` between them, in the modules that find tell-tales."""
    files = [Path(tell_tales.__file__), *Path(gaming.__file__).parent.glob("*.py")]
    nodes = (node for file in files for node in ast.walk(ast.parse(file.read_text())))
    texts = {node.value for node in nodes if isinstance(node, ast.Constant)}
    found = {str(text) for text in texts if re.fullmatch(r"[a-z][^\n]+; [a-z][^\n.]+", str(text))}
    return found | {words for _, words in tell_tales._SHELL_SHAPES}


@pytest.mark.spec("12.5", "17.4")
def test_every_tell_tale_is_translated() -> None:
    said = {words.replace("{}", "x") for words in tell_tale_words()}

    assert len(said) > 15
    assert {words for words in said if not is_translated(words)} == set()
    assert is_translated(copied_results.WORDS.format(", 3 times"))
    assert is_translated("the change satisfies the check instead of the task: a.py:1 (words)")


@pytest.mark.spec("12.5", "16.7")
def test_what_was_changed_about_an_assertion_is_translated() -> None:
    assert all(
        is_translated(f"{words}: f(1) == 2")
        for words in (comparison.CASE, comparison.CHANGED, comparison.LOOSENED)
    )


@pytest.mark.spec("12.5", "17.2")
def test_the_messages_of_hidden_checks_are_translated() -> None:
    spec = a_check(hidden=HiddenFiles())
    findings = (
        a_finding(Outcome.FAILED),
        a_finding(Outcome.FAILED, items=(FindingItem("test_a"), FindingItem("test_b"))),
        a_finding(Outcome.BROKEN, message="no pytest"),
        a_finding(Outcome.BROKEN, exit_code=2),
        a_finding(Outcome.BROKEN, exit_code=2, transient=True),
    )

    said = {conceal_details(one, spec).message for one in findings}

    assert len(said) == 5
    assert {words for words in said if not is_translated(words)} == set()


@pytest.mark.spec("12.5", "17.1")
@pytest.mark.parametrize("files", [(), ("test_half.py",)])
def test_the_reasons_of_red_first_are_translated(files: tuple[str, ...]) -> None:
    failed = a_finding(Outcome.FAILED, params={"loadError": True}, message="no module")
    before = [a_finding(), failed, a_finding(Outcome.BROKEN, message="no pytest")]
    now = a_finding(params={"testCount": 1})
    evidence = [
        compare_without_change(one, now, files) if files else compare_with_base(one, now, ())
        for one in before
    ]
    groups = (evidence[:0], evidence[:1], evidence[1:2], evidence[2:], evidence)

    said = {judge_red_first(group, CriterionLevel.TOLD, files).message for group in groups}

    assert len(said) > 1
    whys = {words.partition(": ")[2] for words in said}
    assert {words for words in {*said, *whys} if not is_translated(words)} == set()


@pytest.mark.spec("12.5", "17.3")
def test_the_words_of_mutants_are_translated() -> None:
    faults = ("it returns None", becomes("a + b", "a - b"), is_removed("save()"))
    survivors, unjudged = (
        [MutantResult(Mutant("a.py", 1, fault, ""), outcome) for fault in faults]
        for outcome in (MutantOutcome.SURVIVED, MutantOutcome.UNJUDGED)
    )
    hidden = HiddenCode("a.py", 3, "exec of a name")
    findings = [
        judge_mutants([*survivors, *unjudged], MutantRules(9), 9, has_tests=True),
        judge_mutants(unjudged, MutantRules(9), 3, has_tests=True),
        judge_mutants([], MutantRules(9), 1, has_tests=False),
        judge_mutants([], MutantRules(9), 0, has_tests=True),
        judge_mutants([], MutantRules(9), 0, has_tests=True, hidden=[hidden]),
    ]
    items = [item for one in (findings[0], findings[-1]) for item in one.items]
    said = {one.message for one in findings} | {item.message for item in items}

    assert len(said) == 9
    assert {words for words in (*said, *faults) if not is_translated(words)} == set()


SCRIPT = """
globalThis.document = { documentElement: {}, addEventListener() {}, cookie: "" };
globalThis.window = { addEventListener() {} };
globalThis.location = { hash: "", href: "http://x/", origin: "http://x" };
const { readFileSync } = await import("node:fs");
globalThis.fetch = async (url) => ({ json: async () => JSON.parse(readFileSync(url)) });
const page = process.argv[1];
await (await import(`${page}words.js`)).loadWords("ja");
const { entryWords } = await import(`${page}translation.js`);
console.log(JSON.stringify(JSON.parse(process.argv[2]).map(entryWords)));
process.exit(0);
"""
COMMIT = "0123456789abcdef"
JUDGED = {"passed": True, "commit": COMMIT}
ASKED = {"failure": {"kind": "QUALITY_FAILURE", "message": "red", "check": "t"}}
FUTILE = "the same failure 4 times in a row with the same work, and no other agent"
UNMOVED = "no other task has landed since it started"
LOST = {"kind": "LOST", "message": "gone", "check": ""}
MERGED = {"branch": "main", "commit": COMMIT, "how": "merge"}
RETRIED = {"delay_ms": 0, "strategy": "continue"}
# Entries, and the facts besides those that every entry of the event has.
FACTS: list[tuple[str, dict[str, Any], tuple[str, ...]]] = [
    ("AGENT_FINISHED", {"exit": {"code": None, "seconds": 1}}, ("起動できず",)),
    ("ATTEMPT_STARTED", {"fresh": True, "agent": "a", "account": "key-2"}, ("key-2",)),
    ("CANDIDATE_RETIRED", {"why": "the race is over", "saved_ref": COMMIT}, (COMMIT[:10],)),
    ("CANDIDATE_SETTLED",
     {"name": "x~1", "agent": "small", "outcome": "failed", "message": "late"}, ("small", "late")),
    ("CHECKS_REVISED", {"revision": {"number": 3}, "proof_is_void": True}, ("3", "やり直し")),
    ("CHECK_FINISHED",
     {"check": "t", "outcome": "PASSED", "seconds": 1, "tests": 7, "known": ["a", "b"],
      "reused": {"commit": COMMIT, "task": "other"}, "key": dict.fromkeys(PART_WORDS, COMMIT)},
     ("7 件", "2 件", "other", COMMIT[:10])),
    ("CHECK_FINISHED",
     {"check": "t", "outcome": "PASSED", "seconds": 1, "mutants": {"killed": 8, "survived": 3},
      "quarantined": [{"test": "test_slow", "owner": "kim", "expires": "2026-12-31"}]},
     ("8 件", "3 件", "test_slow", "kim", "2026-12-31")),
    ("ESCALATE_DECISION", {**ASKED, "blocked": "CONFLICT"}, ("競合", "再実行はありません")),
    ("ESCALATE_DECISION",
     {**ASKED, "blocked": "MAX_RETRIES",
      "why": {"rule": "8.4", "inputs": {"retries_ended": FUTILE}},
      "reason": {"description": f"{UNMOVED}, so there is no re-run from the run branch"}},
     ("4 回", "ほかのタスクが着地していません")),
    ("ESCALATION_ANSWERED", {"choice": "retry", "how": "page"}, ("page",)),
    ("JOINT_PROOF_FAILED", {"tasks": ["x", "y"], "why": "red"}, ("x、y", "red")),
    ("JUDGE_CALLED", {"agent": "j", "works": [{"name": "x~1"}, {"name": "x~2"}]}, ("B = x~2",)),
    ("PLAN_RECHECKED",
     {"revision": 2, "checks": ["t"], "landed_before": ["x", "y"], "message": "m"}, ("t", "x、y")),
    ("QUALITY_JUDGMENT", {**JUDGED, "checks": {"a": "PASSED", "b": "WAIVED"}}, ("免除",)),
    ("QUALITY_JUDGMENT", {**JUDGED, "checks": {"b": "WAIVED"}}, ("検証なし", "免除")),
    ("QUALITY_JUDGMENT",
     {**JUDGED, "checks": {"a": "PASSED"}, "same_at_base": ["a"]}, ("区別するチェックはなく",)),
    ("RETRY_DECISION", {**RETRIED, "failure": LOST}, ("中断",)),
    ("RETRY_DECISION",
     {**RETRIED, "failure": {**LOST, "stopped_on_request": True}}, ("次のワーカー",)),
    ("RETRY_DECISION",
     {**RETRIED, "failure": {**LOST, "kind": "RATE_LIMIT", "account_problem": "LIMIT"}},
     ("アカウントを待機",)),
    ("RUN_MERGED", {**MERGED, "unproven": True}, ("未検証",)),
    ("RUN_RESUMED", {"was": "tired", "how": "page"}, ("tired", "page")),
    ("TASK_LANDED",
     {"commit": COMMIT, "already": True, "taken_along_by": "x"}, ("変更なし", "x")),
    ("TASK_REPLACED", {"by": "", "why": "no more"}, ("no more",)),
    ("WAIT_ENDED", {"account": "key-2", "retried_task": "x", "how": "page"}, ("key-2", "page")),
    ("WAIT_ENDED", {"words": "go on"}, ("go on",)),
]  # fmt: skip


@pytest.mark.spec("12.5")
def test_the_japanese_journal_has_the_facts_of_the_english_one() -> None:
    node = shutil.which("node")
    if node is None:
        pytest.skip("node is not installed")
    entries = [
        {"event": event, "data": data, "words": entry_text._WORDS[event](data)}
        for event, data, _ in FACTS
    ]
    page = f"{WORDS.parent.as_uri()}/"
    words = (node, "--input-type=module", "-e", SCRIPT, page, json.dumps(entries))
    done = subprocess.run(words, check=True, capture_output=True, text=True)
    shown = json.loads(done.stdout)

    lost = [
        (event, said, fact)
        for (event, _, facts), said in zip(FACTS, shown, strict=True)
        for fact in facts
        if fact not in said
    ]
    untranslated = [
        entry["words"] for entry, said in zip(entries, shown, strict=True) if said == entry["words"]
    ]
    assert (lost, untranslated) == ([], [])
    assert not any("null" in said or "undefined" in said for said in shown)
