"""All failing checks of an attempt are reported together, to the agent and to people."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest

from tests.acceptance.prepared import Prepared
from tests.acceptance.project import (
    GIT_IDENTITY,
    WITHOUT_PLUGINS,
    Completed,
    Project,
    a_plan,
    file_contains,
    writes,
)
from tests.acceptance.test_agent_failures import event_data
from tests.acceptance.test_structured_agents import an_agent

pytestmark = pytest.mark.acceptance

LINT = {"shell": "echo 'a.py:1:1: F401 unused import'; test -f fixed", "pattern": "lint-error"}
TESTS = {"shell": "echo 'FAILED test_a.py::test_sum - assert 1 == 2'; test -f fixed"}
BAD = [{"write": {"a.txt": "bad\n"}}]
GOOD = [{"write": {"a.txt": "good\n", "fixed": "yes\n"}}]


@pytest.mark.spec("3.3", "6.9", "5.2", "6.5")
def test_every_failing_check_is_in_one_prompt_and_the_retry_counts_once(project: Project) -> None:
    """Three checks fail at first; the second attempt fixes all of them."""
    checks = {
        "tests": TESTS,
        "lint": LINT,
        "good": file_contains("a.txt"),
        "ok": {"shell": "test -s README"},
    }
    plan = a_plan({"a": [BAD, GOOD]}, [{"id": "a", "checks": list(checks)}], checks)

    done = project.yaoki("run", project.plan(plan))

    assert done.code == 0, done.out + done.err
    entries = project.events("a")
    first = [data["outcome"] for data in event_data(entries, "CHECK_FINISHED")][:4]
    assert first == ["FAILED", "FAILED", "FAILED", "PASSED"]
    prompt = project.prompt(project.task("a"), 2)
    assert "3 checks failed, and all of them must pass: tests, lint, good" in prompt
    assert "FAILED test_a.py::test_sum" in prompt
    assert "## The linter reports errors" in prompt
    assert "F401 unused import" in prompt
    assert "a.txt does not hold good" in prompt
    retries = event_data(entries, "RETRY_DECISION")
    assert len(retries) == 1
    assert [one["check"] for one in retries[0]["failure"]["failed_checks"]] == [
        *("tests", "lint", "good")
    ]


@pytest.mark.full
@pytest.mark.spec("3.3", "7.4", "6.5", "12.4")
def test_the_introduction_of_several_failures_says_that_the_agent_was_cut_off(
    project: Project,
) -> None:
    """Each failing check ran twice, and people are told so with both times."""
    events = (
        {"type": "system", "subtype": "init", "session_id": "s"},
        {"type": "result", "subtype": "error_max_turns", "is_error": True},
    )
    printed = "\n".join(map(json.dumps, events))
    script = f"[ -e begun ] && touch fixed\ntouch begun\ncat <<'END'\n{printed}\nEND\nexit 1"
    agent = an_agent(project.folder, "claude", script)
    tasks = [{"id": "a", "checks": ["tests", "lint"]}]
    plan = a_plan({}, tasks, {"tests": TESTS, "lint": LINT}, language="ja")
    plan |= {"agents": {"mine": {"command": [agent]}}, "agent": "mine"}

    done = project.yaoki("run", project.plan(plan))

    assert done.code == 0, done.out + done.err
    prompt = project.prompt(project.task("a"), 2)
    intro = "2 個のチェックが失敗しました。すべてに合格する必要があります: tests, lint"
    cut_off = "The agent reached its own limit of turns, cost or length."
    assert f"{intro}\n\n{cut_off}\n\n" in prompt
    told = r"check tests FAILED twice, [\d.]+ s \+ [\d.]+ s: "
    assert re.search(told, done.out), done.out
    assert re.search(told, project.query("trace", "a").out)
    report = project.query("report").out
    assert re.search(r"check tests of a failed, also when it was run again \([\d.]+ s\)", report)
    page = project.query("report", "--format", "html").out
    assert "check tests of a failed, also when it was run again" in page


@pytest.mark.spec("3.3", "4.8", "6.1")
def test_a_check_that_cannot_run_does_not_hide_failures_of_the_work(project: Project) -> None:
    """The agent fixes what failed first; the person is asked when only the broken check is left."""
    checks = {"broken": {"shell": "exit 127"}, "good": file_contains("a.txt")}
    plan = a_plan({"a": [BAD, writes("a.txt")]}, [{"id": "a", "checks": list(checks)}], checks)

    done = project.yaoki("run", project.plan(plan))

    assert done.code == 4, done.out + done.err
    entries = project.events("a")
    assert [d["failure"]["check"] for d in event_data(entries, "RETRY_DECISION")] == ["good"]
    (asked,) = event_data(entries, "ESCALATE_DECISION")
    assert asked["failure"]["check"] == "broken"


@pytest.mark.spec("6.7", "3.3")
def test_a_judge_is_not_asked_about_work_that_already_failed(project: Project) -> None:
    judge = {"preset": "command", "command": ["sh", "-c", "echo no >> $YAOKI_ASKED; exit 1"]}
    checks = {
        "review": {"judge": {"agent": "reviewer", "ask": "Is it good?"}},
        "good": file_contains("a.txt"),
    }
    task = {"id": "a", "checks": list(checks), "retry": {"max_retries": 0}}
    plan = a_plan({"a": [BAD, BAD]}, [task], checks)
    plan["agents"]["reviewer"] = judge

    done = project.yaoki("run", project.plan(plan))

    assert done.code == 4, done.out + done.err
    asked = {data["check"] for data in event_data(project.events("a"), "CHECK_FINISHED")}
    assert asked == {"good"}


COLOURED = """\
import os, sys
text = "#x1B[1m#x1B[31massert 1 == 2#x1B[0m"
print("\\x1b[31mplain colour\\x1b[0m")
names = ("NO_COLOR", "PY_COLORS", "FORCE_COLOR", "CLICOLOR_FORCE")
print({name: os.environ.get(name) for name in names})
fault = f'<failure message="{text}">{text}</failure>'
case = f'<testcase classname="t" name="test_a">{fault}</testcase>'
open(sys.argv[1], "w").write(f"<testsuite>{case}<testcase name='b'/></testsuite>")
sys.exit(1)
"""


def run_without_success(project: Project) -> Completed:
    """`colours` and `imports` fail their attempts; `first` lands, and then `second`."""
    script = project.folder / "coloured.py"
    script.write_text(COLOURED)
    (project.repo / "slugify").mkdir()
    (project.repo / "slugify" / "__init__.py").write_text("")
    (project.repo / "test_words.py").write_text(
        "from slugify.words import f\n\n\ndef test_f():\n    assert f()\n"
    )
    project.git("add", "-A")
    project.git(*GIT_IDENTITY, "commit", "-qm", "tests")
    run = [project.python, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--junit-xml={report}"]
    checks = {
        "tests": {"run": [project.python, str(script), "{report}"], "pattern": "test-failed"},
        "own": {
            "shell": "echo colour=$FORCE_COLOR $NO_COLOR; exit 1",
            "env": {"FORCE_COLOR": "3", "NO_COLOR": ""},
        },
        "imports": {"run": run, "env": WITHOUT_PLUGINS, "rerun": False},
        "slow": {"shell": "sleep 1.2; test -s README"},
        "quick": {"shell": "test -s README"},
    }
    tasks: list[dict[str, Any]] = [
        {"id": "colours", "checks": ["tests", "own"], "retry": {"max_retries": 1}},
        {"id": "imports", "checks": ["imports"], "retry": {"max_retries": 0}},
        {"id": "first", "checks": ["slow", "quick"]},
        {"id": "second", "checks": ["slow", "quick"], "needs": ["first"]},
    ]
    acts = {task["id"]: [writes(f"{task['id']}.txt", f"{n}\n") for n in "123"] for task in tasks}
    project.env |= {"FORCE_COLOR": "1", "CLICOLOR_FORCE": "1"}
    done = project.yaoki("run", project.plan(a_plan(acts, tasks, checks)))
    assert done.code == 4, done.out + done.err
    return done


@pytest.mark.full
@pytest.mark.spec("6.2", "7.3")
def test_colours_reach_neither_prompts_nor_messages(prepared: Prepared) -> None:
    project, done = prepared.after(run_without_success)

    prompt = project.prompt(project.task("colours"), 2)
    why, report = project.yaoki("why", "colours").out, project.yaoki("report").out
    for text in (done.out, why, report, prompt, json.dumps(project.events("colours"))):
        assert "x1B[" not in text
        assert "\x1b[31m" not in text
        assert "u001b" not in text
    assert "assert 1 == 2" in prompt
    assert "plain colour" in prompt
    wanted = {"NO_COLOR": "1", "PY_COLORS": "0", "FORCE_COLOR": None, "CLICOLOR_FORCE": None}
    assert str(wanted) in prompt
    assert "colour=3\n" in prompt or "colour=3 \n" in prompt


@pytest.mark.full
@pytest.mark.spec("6.2", "16.5")
def test_a_collection_failure_names_its_cause(prepared: Prepared) -> None:
    """The last line of the import error is what a person and an agent need first."""
    project, done = prepared.after(run_without_success)

    assert "No module named 'slugify.words'" in done.out
    assert "No module named 'slugify.words'" in project.yaoki("why", "imports").out


@pytest.mark.full
@pytest.mark.spec("3.3", "17.7")
def test_short_checks_run_first_once_their_times_are_known(prepared: Prepared) -> None:
    project, _ = prepared.after(run_without_success)

    order = {
        name: [data["check"] for data in event_data(project.events(name), "CHECK_FINISHED")]
        for name in ("first", "second")
    }
    assert order == {"first": ["slow", "quick"], "second": ["quick", "slow"]}


@pytest.mark.spec("9.3", "10.3")
def test_the_command_to_waive_names_the_other_failed_checks(project: Project) -> None:
    """Each needs its own waiver: after the first one the task asks about the second."""
    checks = {"tests": TESTS, "lint": LINT}
    tasks = [{"id": "a", "checks": list(checks), "retry": {"max_retries": 0}}]

    done = project.yaoki("run", project.plan(a_plan({"a": [BAD]}, tasks, checks)))

    assert done.code == 4, done.out + done.err
    further = "also failed: lint; each check needs its own waiver"
    assert further in done.out
    assert further in project.yaoki("report", "--format", "html").out
    for check in checks:
        answered = project.yaoki("answer", "a", "waive", "--check", check)
        assert answered.code == 0, answered.err
        resumed = project.yaoki("resume", "--quiet")
        assert further not in resumed.out
    assert resumed.code == 0, resumed.out
