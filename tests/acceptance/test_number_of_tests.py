"""A passing report with fewer tests than the base does not land."""

from __future__ import annotations

from typing import Any

import pytest

from tests.acceptance.project import GIT_IDENTITY, Project, a_plan
from tests.acceptance.test_agent_failures import event_data, run_one_task

pytestmark = pytest.mark.acceptance

# A runner of tests in the fewest lines: every `t_*` beside it is one, `SKIP` in it skips it, and
# `only` narrows the choice.  It writes JUnit XML as every other runner does, and counts its calls.
RUNNER = """\
import os, pathlib, sys
only = pathlib.Path("only").read_text().split() if pathlib.Path("only").exists() else None
with open(os.environ["CALLS"], "a") as calls:
    calls.write("x")
names = [p for p in sorted(pathlib.Path(".").glob("t_*")) if only is None or p.name in only]
texts = {p.name: p.read_text() for p in names}
case = '<testcase name="{}">{}</testcase>'
told = {"SKIP": "<skipped/>", "RED": '<failure message="red"/>'}
parts = [case.format(n, told.get(t.strip(), "")) for n, t in texts.items()]
pathlib.Path(sys.argv[1]).write_text("<testsuite>" + "".join(parts) + "</testsuite>")
sys.exit("RED\\n" in texts.values())
"""


@pytest.fixture
def counted_project(project: Project) -> Project:
    for name, text in {"run.py": RUNNER, "t_a": "x\n", "t_b": "x\n", "t_c": "x\n"}.items():
        (project.repo / name).write_text(text)
    project.git("add", "-A")
    project.git(*GIT_IDENTITY, "commit", "-qm", "tests")
    return project


def check(project: Project, **more: Any) -> dict[str, Any]:
    env = {"CALLS": str(project.folder / "calls")}
    return {"tests": {"run": ["python3", "run.py", "{report}"], "env": env, **more}}


def calls(project: Project) -> int:
    return len((project.folder / "calls").read_text())


def acts(path: str, text: str) -> list[Any]:
    return [{"write": {path: text, "a.txt": "done\n"}}]


@pytest.mark.spec("6.6")
def test_a_change_with_fewer_tests_is_sent_back_to_the_agent(counted_project: Project) -> None:
    script = {"a": [acts("only", "t_a\n"), [{"delete": "only"}]]}

    code, task, entries = run_one_task(counted_project, script, {}, checks=check(counted_project))

    assert (code, task["attempt"]) == (0, 2)
    failure = event_data(entries, "RETRY_DECISION")[0]["failure"]
    assert (failure["kind"], failure["pattern"]) == ("QUALITY_FAILURE", "test-weakened")
    assert "3 tests ran before the change" in counted_project.prompt(task, 2)


@pytest.mark.full
@pytest.mark.spec("6.6")
def test_fewer_or_skipped_tests_fail_the_task_even_if_the_base_fails(
    counted_project: Project,
) -> None:
    """The first attempt leaves tests out, the second one skips one."""
    (counted_project.repo / "t_a").write_text("RED\n")
    counted_project.git(*GIT_IDENTITY, "commit", "-qam", "red")
    done = {"a.txt": "done\n", "t_a": "x\n"}
    skipped = [{"run": ["rm", "-f", "only"]}, {"write": {**done, "t_b": "SKIP\n"}}]
    mended = [{"write": {**done, "t_b": "x\n"}}]

    code, task, entries = run_one_task(
        counted_project,
        {"a": [acts("only", "t_b\n"), skipped, mended]},
        {},
        checks=check(counted_project),
    )

    assert (code, task["attempt"]) == (0, 3)
    retried = [data["failure"] for data in event_data(entries, "RETRY_DECISION")]
    assert [(one["kind"], one["pattern"]) for one in retried] == [
        ("QUALITY_FAILURE", "test-weakened")
    ] * 2
    assert "3 tests ran before the change" in counted_project.prompt(task, 3)


@pytest.mark.full
@pytest.mark.spec("16.4", "10.3")
def test_a_passed_check_shows_its_number_of_tests_everywhere(counted_project: Project) -> None:
    (counted_project.repo / "t_a").write_text("RED\n")
    counted_project.git(*GIT_IDENTITY, "commit", "-qam", "red")
    plan = a_plan(
        {"a": [acts("t_d", "x\n")]}, [{"id": "a"}], check(counted_project, baseline="known")
    )

    ran = counted_project.yaoki("run", counted_project.plan(plan))
    report = counted_project.query("report", "--format", "json", "-o", "-").document

    words = "tests PASSED, 3 tests, 1 known failure"
    assert ran.code == 0, ran.out
    assert f"check {words} in " in ran.out
    assert words in counted_project.yaoki("why", "a").out
    assert words in counted_project.yaoki("report", "--format", "markdown", "-o", "-").out
    assert (
        words.partition(" ")[2]
        in counted_project.yaoki("report", "--format", "html", "-o", "-").out
    )
    proof = report["tasks"][0]["proof"]
    assert (proof["checks"][0]["tests"], proof["checks"][0]["known_failures"]) == (3, 1)


@pytest.mark.full
@pytest.mark.spec("6.6")
def test_a_plan_may_allow_fewer_tests_and_then_the_base_is_not_run(
    counted_project: Project,
) -> None:
    code, task, _ = run_one_task(
        counted_project,
        {"a": [acts("only", "t_a\n")]},
        {"allow_weaker_tests": True, "scope": ["**"]},
        checks=check(counted_project),
    )

    assert (code, task["attempt"], calls(counted_project)) == (0, 1, 1)


@pytest.mark.spec("6.6", "16.14", "0.1")
def test_tests_that_only_the_final_check_runs_may_not_be_lost(counted_project: Project) -> None:
    """The check of the task does not run the test that the task deletes."""
    one = {"shell": "test -f a.txt"}
    script = {"a": [[{"write": {"a.txt": "done\n"}}, {"delete": "t_c"}]]}
    plan = a_plan(
        script,
        [{"id": "a", "checks": ["one"]}],
        {"one": one, **check(counted_project)},
        done_when=["tests"],
    )

    ended = counted_project.yaoki("run", counted_project.plan(plan))

    assert ended.code == 4, ended.out + ended.err
    final = counted_project.task("done_when")
    assert final["state"] == "ESCALATED"
    assert "3 tests ran before the change, 2 with it" in final["question"]
    waived = counted_project.yaoki("answer", "done_when", "waive", "test-integrity")
    assert waived.code == 0, waived.out + waived.err
    assert counted_project.yaoki("resume").code == 0


@pytest.mark.full
@pytest.mark.spec("6.6")
def test_the_final_check_accepts_tests_that_a_task_was_allowed_to_delete(
    counted_project: Project,
) -> None:
    script = {"a": [[{"write": {"a.txt": "done\n"}}, {"delete": "t_c"}]]}
    task = {"id": "a", "checks": ["one"], "scope": ["*"], "allow_weaker_tests": True}
    plan = a_plan(
        script,
        [task],
        {"one": {"shell": "test -f a.txt"}, **check(counted_project)},
        done_when=["tests"],
    )

    ended = counted_project.yaoki("run", counted_project.plan(plan))

    assert ended.code == 0, ended.out + ended.err


@pytest.mark.spec("17.1", "10.2", "6.6")
def test_work_that_no_check_tells_from_the_base_is_noted(counted_project: Project) -> None:
    """The whole suite was green before: a stub passes it as well.  A new test shows its task."""
    words = "no check tells this work from the base: all pass without it"
    work = {"stub": [acts("b.txt", "class Odd: ...\n")], "tested": [acts("t_d", "x\n")]}
    tasks = [
        {"id": "stub", "checks": ["tests"]},
        {"id": "tested", "checks": ["tests"], "needs": ["stub"]},
    ]
    plan = counted_project.plan(a_plan(work, tasks, check(counted_project)))
    planned = counted_project.yaoki("plan", plan, "--baseline")
    before = calls(counted_project)

    done = counted_project.yaoki("run", plan)

    assert done.code == 0, done.out + done.err
    assert calls(counted_project) - before == 3, "the base once, and each landing"
    assert f"stub: {words}" in " ".join(done.out.split())
    assert f"tested: {words}" not in " ".join(done.out.split())
    assert words in counted_project.query("why", "stub").out
    assert words not in counted_project.query("why", "tested").out
    shown = counted_project.query("status")
    assert f"\nstub: {words}\n" in shown.out
    assert counted_project.status()["indistinct"] == [counted_project.task("stub")["id"]]
    noted = counted_project.query("report", "--format", "json").document["noticed"]["listed"]
    assert [(one["name"], one["words"]) for one in noted] == [("stub", words)]
    assert "all checks of stub, tested pass without the work" in " ".join(planned.out.split())


@pytest.mark.spec("17.1", "10.2", "6.6")
def test_checks_without_counted_tests_run_once_on_the_base_unless_another_tells(
    project: Project,
) -> None:
    """Whether such a check passed there already is not known otherwise."""
    words = "no check tells this work from the base: all pass without it"
    lint = f"echo lint >> {project.folder / 'ran'}; ls | grep -q ."
    tasks: list[dict[str, Any]] = [
        {"id": "stub", "checks": ["lint"]},
        {"id": "also", "checks": ["lint"], "needs": ["stub"]},
        {"id": "made", "checks": ["lint", "made"], "needs": ["also"]},
    ]
    work = {one["id"]: [[{"write": {f"{one['id']}.txt": "x\n"}}]] for one in tasks}
    checks = {"lint": {"shell": lint}, "made": {"shell": "test -f made.txt"}}

    done = project.yaoki("run", project.plan(a_plan(work, tasks, checks)))

    assert done.code == 0, done.out + done.err
    shown = " ".join(done.out.split())
    assert [f"{one['id']}: {words}" in shown for one in tasks] == [True, True, False]
    assert len((project.folder / "ran").read_text().split()) == 4, "the base once, and each landing"
