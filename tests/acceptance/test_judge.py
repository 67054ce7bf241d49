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


# Each leaves its mark in the judge's own clone; the last one leaves no repository there.
GIT_COMMANDS = (
    "echo new > z.py",
    "git branch evil",
    "git tag evil",
    "git config core.hooksPath /nowhere",
    "rm -rf .git",
)


def run_with_judges(
    project: Project,
    judges: dict[str, dict[str, Any]],
    script: dict[str, Any] | None = None,
    checks: dict[str, Any] | None = None,
    **more: Any,
) -> int:
    """One task for each judge, verified by a command and then by its judge.

    One after the other, so that no landing makes a judge be asked again.
    """
    every: dict[str, Any] = {f"good-{name}": file_contains(f"{name}.txt") for name in judges}
    for name in judges:
        ask = {"agent": f"critic-{name}", "ask": f"The file {name}.txt is good."}
        every[f"review-{name}"] = {"judge": ask}
    for name, changed in (checks or {}).items():
        every[name] = {**every.get(name, {}), **changed}
    tasks = [{"id": name, "checks": [f"good-{name}", f"review-{name}"]} for name in judges]
    acts = {name: [writes(f"{name}.txt")] for name in judges} | (script or {})
    plan = a_plan(acts, tasks, every, **more)
    plan["agents"] |= {f"critic-{name}": judge for name, judge in judges.items()}
    return project.yaoki("run", project.plan(plan), "--parallel", "1").code


def journal(project: Project, task: str) -> list[dict[str, Any]]:
    entries: list[dict[str, Any]] = project.query("trace", task, "--json").document["entries"]
    return entries


def judge_prompts(project: Project, task: dict[str, Any]) -> list[str]:
    home = project.repo / ".yaoki" / "runs"
    found = sorted(home.glob(f"*/{task['id']}/*/checks/*review-*/prompt.md"))
    return [file.read_text() for file in found]


@pytest.mark.full
@pytest.mark.spec("6.7", "6.1", "14.4", "16.1", "14.3", "5.4")
def test_work_that_its_judges_accept_lands(project: Project) -> None:
    """Judges that accept at once, after an invalid answer, after git commands and tests of their
    own, and after a rate limit; the last one sees the change of the whole run.
    """
    before = (
        project.git("for-each-ref", "refs/heads", "refs/tags"),
        project.git("config", "--list"),
    )
    flag = project.folder / "limited"
    twice = f'test "$YAOKI_TRY" = 1 && echo fine || echo {shlex.quote(PASS)}'
    limited = f"""
    test -e {flag} && {{ echo {shlex.quote(PASS)}; exit 0; }}
    touch {flag}; echo 'API Error: 429 rate limited' >&2; echo 'Retry-After: 1' >&2; exit 1"""
    caches = {"write": {"__pycache__/a.pyc": "x", ".pytest_cache/b": "x"}}
    marks = f"{' && '.join(GIT_COMMANDS)} && touch {project.folder}/all-done"
    judges = {
        "accepts": critic(PASS),
        "twice": critic([{"run": ["sh", "-c", twice]}]),
        "marks": critic([{"run": ["sh", "-c", marks]}, {"say": PASS}]),
        "caches": critic([caches, {"say": PASS}]),
        "limited": {"command": ["sh", "-c", limited], "prompt": "stdin", "account": "shared"},
    }
    whole = {"judge": {"agent": "critic-accepts", "ask": "All files are good."}}

    code = run_with_judges(project, judges, checks={"whole": whole}, done_when=["whole"])

    tasks = {name: project.task(name) for name in judges}
    assert code == 0
    assert {task["state"] for task in tasks.values()} == {"DONE"}
    # At once.
    assert tasks["accepts"]["attempt"] == 1
    found = check_findings(journal(project, "accepts"), "review-accepts")
    assert [data["outcome"] for data in found] == ["PASSED"]
    (prompt,) = judge_prompts(project, tasks["accepts"])
    assert "Do accepts." in prompt
    assert "+good" in prompt
    assert "good-accepts: PASSED (exit code 0)" in prompt
    # The valid answer after an invalid one counts, and both are recorded.
    assert tasks["twice"]["attempt"] == 1
    found = check_findings(journal(project, "twice"), "review-twice")
    assert "asked 2 times: there is no JSON object" in found[0]["message"]
    # Git commands of a judge affect only its clone.
    assert (project.folder / "all-done").exists()
    assert "z.py" not in project.git("ls-tree", "-r", "--name-only", project.status()["run_branch"])
    refs = project.git("for-each-ref", "refs/heads", "refs/tags").splitlines()
    kept = "\n".join(line for line in refs if "refs/heads/yaoki/" not in line)
    assert (kept, project.git("config", "--list")) == before
    # A limit is not counted as a system fault, and the wait is the named one.
    (decision,) = event_data(journal(project, "limited"), "RETRY_DECISION")
    assert decision["failure"]["kind"] == "RATE_LIMIT"
    assert decision["failure"]["account"] == "shared"
    assert (decision["delay_ms"], decision["failure"].get("ours", False)) == (1000, False)
    # The judge of done_when.
    (file,) = (project.repo / ".yaoki" / "runs").glob("*/*/*/checks/1-whole/prompt.md")
    output = file.read_text()
    assert "b/accepts.txt" in output
    assert "b/limited.txt" in output
    assert "Rehearse" in output


@pytest.mark.full
@pytest.mark.spec("6.7", "14.4", "0.6", "10.4", "3.6", "0.1", "4.8")
def test_work_that_its_judge_does_not_accept_is_escalated(project: Project) -> None:
    """Judges that answer without JSON, change files, hang, or are overruled.  That none is asked
    about work that failed a check is proven in tests/acceptance/test_all_failures_at_once.py.
    """
    edits = [{"write": {"edits.txt": "mended by the judge\n"}}, {"say": PASS}]
    judges = {
        "undecided": critic("It passes, well done! pass: true"),
        "edits": critic(edits, PASS),
        "hung": critic(["hang"]),
    }
    script = {"edits": [writes("edits.txt"), writes("b.txt")]}

    code = run_with_judges(project, judges, script, {"review-hung": {"timeout": "500ms"}})

    tasks = {name: project.task(name) for name in judges}
    stories = {name: journal(project, name) for name in judges}
    found = {name: check_findings(stories[name], f"review-{name}") for name in judges}
    assert code == 4
    assert {task["state"] for task in tasks.values()} == {"ESCALATED"}
    assert project.git("rev-parse", project.status()["run_branch"]) == project.git(
        "rev-parse", "main"
    )
    # Three answers without JSON never pass.
    assert tasks["undecided"]["attempt"] == 1
    assert failure_kinds(stories["undecided"]) == ["ESCALATE_REQUIRED"]
    assert tasks["undecided"]["question"].startswith("undecided: ")
    (data,) = found["undecided"]
    assert (data["outcome"], data["pattern"]) == ("FAILED", "judge-undecided")
    assert "no JSON object" in data["message"]
    assert len(judge_prompts(project, tasks["undecided"])) == 3
    # A judge that changes files is at fault: a person is asked, not the agent.
    assert tasks["edits"]["attempt"] == 1
    (data,) = found["edits"]
    assert data["outcome"] == "BROKEN"
    assert "changed files" in data["message"]
    assert failure_kinds(stories["edits"]) == ["FATAL_ERROR"]
    assert "waive" in tasks["edits"]["question"].lower()
    # A hung judge does not use up a retry of the agent.
    assert tasks["hung"]["attempt"] == 1
    assert {data["outcome"] for data in found["hung"]} == {"BROKEN"}
    assert set(failure_kinds(stories["hung"])) == {"TRANSIENT_ERROR"}
    # A person may waive an undecided judge.
    waived = project.yaoki("answer", "undecided", "waive", "--check", "review-undecided")
    assert waived.code == 0
    project.yaoki("resume")
    assert project.task("undecided")["state"] == "DONE"


@pytest.mark.spec("6.7", "6.9")
def test_a_rejection_by_the_judge_is_sent_back_to_the_agent(project: Project) -> None:
    again = [{"write": {"b.txt": "the other half\n"}}]
    code, task, entries = run_with_judge(project, critic(FAIL, PASS), [writes("a.txt"), again])

    assert (code, task["state"], task["attempt"]) == (0, "DONE", 2)
    assert [data["outcome"] for data in check_findings(entries)] == ["FAILED", "PASSED"]
    assert failure_kinds(entries) == ["QUALITY_FAILURE"]
    assert "the other half" in project.prompt(task, 2)
    assert "The file a.txt is good." in project.prompt(task, 1)


@pytest.mark.spec("6.1", "6.7", "0.6")
def test_plans_with_invalid_judges_and_unknown_packages_are_refused(
    project: Project, tmp_path: Path
) -> None:
    """The check of an installed package is not: tests/acceptance/test_registry.py runs one."""
    installed(tmp_path / "site", "True")
    checks = {
        "good": file_contains("a.txt"),
        "nobody": {"judge": {"ask": "It is good."}},
        "unknown": {"judge": {"agent": "actr", "ask": "It is good."}},
        "mute": {"judge": {"agent": "actor"}},
        "timed": {"judge": {"agent": "actor", "ask": "x", "timeout": "1m"}},
        "based": {"judge": {"agent": "actor", "ask": "x"}, "baseline": "known", "success": "empty"},
        "both": {"judge": {"agent": "actor", "ask": "x"}, "shell": "true"},
        "absent": {"python": "no-such-check"},
        "mine": {"python": "mine", "options": {"word": "good"}, "timeout": "20s"},
        "spare": {"shell": "true", "options": {"a": 1}},
    }
    plan = a_plan({"a": [writes("a.txt")]}, [{"id": "a"}], checks)

    env = {"PYTHONPATH": str(tmp_path / "site")}
    refused = project.yaoki("validate", project.plan(plan), env=env)

    assert refused.code == 2
    assert "checks.mine" not in refused.err
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


@pytest.mark.spec("6.7", "9.6", "0.1")
def test_the_answer_of_one_judge_is_not_that_of_another(project: Project) -> None:
    """A judge accepted the commit that is merged; the judge of `done_when` was never asked."""
    tasks: list[dict[str, Any]] = [
        {"id": "early", "checks": ["good", "review"]},
        {"id": "late", "needs": ["early"], "checks": ["never"], "retry": {"max_retries": 0}},
    ]
    checks = {
        "good": file_contains("early.txt"),
        "never": {"shell": "false"},
        "review": {"judge": {"agent": "critic", "ask": "The file early.txt is good."}},
        "whole": {"judge": {"agent": "strict", "ask": "Everything is there."}},
    }
    acts = {"early": [writes("early.txt")], "late": [writes("late.txt")]}
    plan = a_plan(acts, tasks, checks, done_when=["whole"])
    plan["agents"] |= {"critic": critic(PASS), "strict": critic(FAIL)}
    assert project.yaoki("run", project.plan(plan), "--quiet").code == 4
    assert project.yaoki("answer", "late", "abort").code == 0

    merged = project.yaoki("merge", "--partial")

    assert (merged.code, "check whole: half" in merged.err) == (6, True), merged.out + merged.err
