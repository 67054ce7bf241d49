"""Judges and checks of packages in a whole run: they can fail passing work and nothing more."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Any

import pytest

from tests.acceptance.project import Project, a_plan, file_contains, writes
from tests.acceptance.test_agent_failures import event_data, failure_kinds
from tests.adapters.checks.test_entry_points import installed

pytestmark = pytest.mark.acceptance

PASS = '{"pass": true, "reason": "all of it holds", "missing": [], "next": "continue"}'
FAIL = '{"pass": false, "reason": "half", "missing": ["the other half"], "next": "continue"}'


def critic(*attempts: Any) -> dict[str, Any]:
    """A judge; each entry is what it does in one attempt of the task."""
    acts = [[{"say": what}] if isinstance(what, str) else what for what in attempts]
    return {"preset": "scripted", "options": {"scenario": {"tasks": {"default": acts}}}}


def run_with_judge(
    project: Project, judge: dict[str, Any], script: list[Any] | None = None, **check: Any
) -> Any:
    """Run one task that is verified by a command and then by a judge."""
    review = {"judge": {"agent": "critic", "ask": "The file a.txt is good."}, **check}
    plan = a_plan(
        {"a": script or [writes("a.txt")]},
        [{"id": "a"}],
        {"good": file_contains("a.txt"), "review": review},
    )
    plan["agents"]["critic"] = judge
    done = project.yaoki("run", project.plan(plan))
    entries = project.query("trace", "a", "--json").document["entries"]
    return done.code, project.task("a"), entries


def check_findings(entries: list[dict[str, Any]], check: str = "review") -> list[dict[str, Any]]:
    return [data for data in event_data(entries, "CHECK_FINISHED") if data["check"] == check]


def prompts(project: Project, task: dict[str, Any]) -> list[Path]:
    home = project.repo / ".yaoki" / "runs"
    return sorted(home.glob(f"*/{task['id']}/*/checks/2-review*/prompt.md"))


@pytest.mark.full
@pytest.mark.spec("6.7", "6.1")
def test_work_that_a_judge_accepts_lands(project: Project) -> None:
    code, task, entries = run_with_judge(project, critic(PASS))

    assert (code, task["state"], task["attempt"]) == (0, "DONE", 1)
    assert [data["outcome"] for data in check_findings(entries)] == ["PASSED"]
    (prompt,) = [file.read_text() for file in prompts(project, task)]
    assert "Do a." in prompt
    assert "+good" in prompt
    assert "good: PASSED (exit code 0)" in prompt


@pytest.mark.spec("6.7", "6.9")
def test_a_rejection_by_the_judge_is_sent_back_to_the_agent(project: Project) -> None:
    again = [{"write": {"b.txt": "the other half\n"}}]
    code, task, entries = run_with_judge(project, critic(FAIL, PASS), [writes("a.txt"), again])

    assert (code, task["state"], task["attempt"]) == (0, "DONE", 2)
    assert [data["outcome"] for data in check_findings(entries)] == ["FAILED", "PASSED"]
    assert failure_kinds(entries) == ["QUALITY_FAILURE"]
    assert "the other half" in project.prompt(task, 2)
    assert "The file a.txt is good." in project.prompt(task, 1)


@pytest.mark.full
@pytest.mark.spec("6.7", "14.4", "0.6")
def test_three_answers_without_json_are_escalated_and_never_pass(project: Project) -> None:
    code, task, entries = run_with_judge(project, critic("It passes, well done! pass: true"))

    assert (code, task["state"], task["attempt"]) == (4, "ESCALATED", 1)
    assert failure_kinds(entries) == ["ESCALATE_REQUIRED"]
    assert task["question"].startswith("undecided: ")
    (data,) = check_findings(entries)
    assert (data["outcome"], data["pattern"]) == ("FAILED", "judge-undecided")
    assert "no JSON object" in data["message"]
    assert len(prompts(project, task)) == 3
    assert project.git("rev-parse", project.status()["run_branch"]) == project.git(
        "rev-parse", "main"
    )


@pytest.mark.full
@pytest.mark.spec("6.7", "10.4")
def test_a_person_may_waive_an_undecided_judge(project: Project) -> None:
    run_with_judge(project, critic("hm"))

    assert project.yaoki("answer", "a", "waive", "--check", "review").code == 0
    assert project.yaoki("resume").code == 0
    assert project.task("a")["state"] == "DONE"


@pytest.mark.full
@pytest.mark.spec("6.7", "14.4")
def test_a_valid_answer_after_an_invalid_one_counts_and_both_are_recorded(project: Project) -> None:
    script = f'test "$YAOKI_TRY" = 1 && echo fine || echo {shlex.quote(PASS)}'
    code, task, entries = run_with_judge(project, critic([{"run": ["sh", "-c", script]}]))

    assert (code, task["attempt"]) == (0, 1)
    assert "asked 2 times: there is no JSON object" in check_findings(entries)[0]["message"]


@pytest.mark.full
@pytest.mark.spec("6.7", "3.6")
def test_a_judge_that_changes_files_is_broken(project: Project) -> None:
    """The judge is at fault: a person is asked, not the agent."""
    edits = [{"write": {"a.txt": "mended by the judge\n"}}, {"say": PASS}]
    code, task, entries = run_with_judge(
        project, critic(edits, PASS), [writes("a.txt"), writes("b.txt")]
    )

    (data,) = check_findings(entries)
    assert (code, task["state"], task["attempt"]) == (4, "ESCALATED", 1)
    assert data["outcome"] == "BROKEN"
    assert "changed files" in data["message"]
    assert failure_kinds(entries) == ["FATAL_ERROR"]
    assert "waive" in task["question"].lower()
    assert project.git("rev-parse", project.status()["run_branch"]) == project.git(
        "rev-parse", "main"
    )


@pytest.mark.full
@pytest.mark.spec("6.7", "16.1", "14.3")
@pytest.mark.parametrize(
    "script",
    [
        "echo new > z.py",
        "git branch evil",
        "git tag evil",
        "git config core.hooksPath /nowhere",
        "rm -rf .git",
    ],
)
def test_git_commands_of_a_judge_affect_only_its_clone(project: Project, script: str) -> None:
    """A judge works in a separate clone; the repository is not affected."""
    before = (
        project.git("for-each-ref", "refs/heads", "refs/tags"),
        project.git("config", "--list"),
    )
    acts = [{"run": ["sh", "-c", script]}, {"say": PASS}]

    code, task, _ = run_with_judge(project, critic(acts))

    assert (code, task["state"]) == (0, "DONE")
    assert "z.py" not in project.git("ls-tree", "-r", "--name-only", project.status()["run_branch"])
    refs = project.git("for-each-ref", "refs/heads", "refs/tags").splitlines()
    kept = "\n".join(line for line in refs if "refs/heads/yaoki/" not in line)
    assert (kept, project.git("config", "--list")) == before


@pytest.mark.full
@pytest.mark.spec("6.7")
def test_a_judge_may_run_tests_and_leave_their_caches(project: Project) -> None:
    acts = [{"write": {"__pycache__/a.pyc": "x", ".pytest_cache/b": "x"}}, {"say": PASS}]

    assert run_with_judge(project, critic(acts))[0] == 0


@pytest.mark.full
@pytest.mark.spec("6.7", "5.4")
def test_a_rate_limited_judge_is_retried_after_the_wait_it_names(project: Project) -> None:
    """It is not counted as a system fault, and the wait is the named one."""
    flag = project.folder / "limited"
    script = f"""
    test -e {flag} && {{ echo {shlex.quote(PASS)}; exit 0; }}
    touch {flag}; echo 'API Error: 429 rate limited' >&2; echo 'Retry-After: 1' >&2; exit 1"""
    judge = {"command": ["sh", "-c", script], "prompt": "stdin", "account": "shared"}
    code, task, entries = run_with_judge(project, judge)

    (decision,) = event_data(entries, "RETRY_DECISION")
    assert (code, task["state"]) == (0, "DONE")
    assert decision["failure"]["kind"] == "RATE_LIMIT"
    assert decision["failure"]["account"] == "shared"
    assert (decision["delay_ms"], decision["failure"].get("ours", False)) == (1000, False)


@pytest.mark.full
@pytest.mark.spec("6.7", "0.1")
def test_a_judge_is_not_asked_about_work_that_failed_a_check(project: Project) -> None:
    code, task, entries = run_with_judge(project, critic(PASS), [writes("a.txt", "bad\n")])

    assert (code, task["state"]) == (4, "ESCALATED")
    assert check_findings(entries) == []
    assert prompts(project, task) == []
    assert not any(data["passed"] for data in event_data(entries, "QUALITY_JUDGMENT"))


@pytest.mark.full
@pytest.mark.spec("6.7", "0.1")
def test_a_check_after_the_judge_can_fail_accepted_work(project: Project) -> None:
    review = {"judge": {"agent": "critic", "ask": "It is good."}}
    plan = a_plan(
        {"a": [writes("a.txt", "bad\n")]},
        [{"id": "a"}],
        {"review": review, "good": file_contains("a.txt")},
    )
    plan["agents"]["critic"] = critic(PASS)

    assert project.yaoki("run", project.plan(plan)).code == 4
    entries = project.query("trace", "a", "--json").document["entries"]
    assert {data["outcome"] for data in check_findings(entries)} == {"PASSED"}
    assert not any(data["passed"] for data in event_data(entries, "QUALITY_JUDGMENT"))


@pytest.mark.full
@pytest.mark.spec("6.7", "4.8")
def test_a_hung_judge_does_not_use_up_a_retry_of_the_agent(project: Project) -> None:
    code, task, entries = run_with_judge(project, critic(["hang"]), timeout="500ms")

    assert (code, task["state"], task["attempt"]) == (4, "ESCALATED", 1)
    assert {data["outcome"] for data in check_findings(entries)} == {"BROKEN"}
    assert set(failure_kinds(entries)) == {"TRANSIENT_ERROR"}


@pytest.mark.full
@pytest.mark.spec("6.7")
def test_a_judge_in_done_when_sees_the_change_of_the_whole_run(project: Project) -> None:
    review = {"judge": {"agent": "critic", "ask": "Both files are good."}}
    checks = {"good": {"shell": "ls [ab].txt"}, "review": review}
    plan = a_plan(
        {"a": [writes("a.txt")], "b": [writes("b.txt")]},
        [{"id": "a", "checks": ["good"]}, {"id": "b", "checks": ["good"]}],
        checks,
        done_when=["review"],
    )
    plan["agents"]["critic"] = critic(PASS)

    assert project.yaoki("run", project.plan(plan)).code == 0
    (prompt,) = (project.repo / ".yaoki" / "runs").glob("*/*/*/checks/1-review/prompt.md")
    output = prompt.read_text()
    assert "b/a.txt" in output
    assert "b/b.txt" in output
    assert "Rehearse" in output


@pytest.mark.spec("6.1", "6.7", "0.6")
def test_plans_with_invalid_judges_and_unknown_packages_are_refused(project: Project) -> None:
    checks = {
        "good": file_contains("a.txt"),
        "nobody": {"judge": {"ask": "It is good."}},
        "unknown": {"judge": {"agent": "actr", "ask": "It is good."}},
        "mute": {"judge": {"agent": "actor"}},
        "timed": {"judge": {"agent": "actor", "ask": "x", "timeout": "1m"}},
        "based": {"judge": {"agent": "actor", "ask": "x"}, "baseline": "known", "success": "empty"},
        "both": {"judge": {"agent": "actor", "ask": "x"}, "shell": "true"},
        "absent": {"python": "no-such-check"},
        "spare": {"shell": "true", "options": {"a": 1}},
    }
    plan = a_plan({"a": [writes("a.txt")]}, [{"id": "a"}], checks)

    refused = project.yaoki("validate", project.plan(plan))

    assert refused.code == 2
    for words in (
        "checks.nobody.judge: agent is missing",
        "checks.unknown.judge.agent: unknown agent 'actr'; did you mean 'actor'?",
        "checks.mute.judge: ask is missing",
        "checks.timed.judge.timeout: unknown key",
        "checks.based.baseline: a judge has no baseline",
        "checks.based.success: a judge check has no success",
        "checks.both: has shell and judge",
        "checks.absent.python: unknown entry point of yaoki.checks 'no-such-check'",
        "checks.spare.options: only a python check has options",
    ):
        assert words in refused.err


@pytest.mark.spec("6.7", "3.3")
def test_a_judge_that_cannot_run_is_refused_before_anything_starts(project: Project) -> None:
    review = {"judge": {"agent": "critic", "ask": "It is good."}}
    plan = a_plan({"a": [writes("a.txt")]}, [{"id": "a"}], {"review": review})
    plan["agents"]["critic"] = {"command": ["no-such-judge"]}

    refused = project.yaoki("run", project.plan(plan))

    assert refused.code == 2
    assert "'no-such-judge' is not on the PATH" in refused.err


@pytest.mark.full
@pytest.mark.spec("6.1")
def test_a_check_of_an_installed_package_fails_and_passes_work(
    project: Project, tmp_path: Path
) -> None:
    body = """{
        "passed": options["word"] in (worktree / "a.txt").read_text(),
        "message": f"{facts['task']} lacks {options['word']}",
        "items": ["a.txt"],
    }"""
    installed(tmp_path / "site", body)
    env = {"PYTHONPATH": str(tmp_path / "site")}
    checks = {"mine": {"python": "mine", "options": {"word": "good"}, "timeout": "20s"}}
    script = {"a": [writes("a.txt", "bad\n"), writes("a.txt")]}
    plan = project.plan(a_plan(script, [{"id": "a"}], checks))

    assert project.yaoki("validate", plan, env=env).code == 0
    assert project.yaoki("run", plan, env=env).code == 0

    task = project.task("a")
    entries = project.query("trace", "a", "--json").document["entries"]
    assert [data["outcome"] for data in check_findings(entries, "mine")] == ["FAILED", "PASSED"]
    assert f"{task['id']} lacks good" in project.prompt(task, 2)
