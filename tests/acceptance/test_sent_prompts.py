"""Prompts of agents: read from files, editable without a restart, counted by their success."""

from __future__ import annotations

import pytest

from tests.acceptance.project import Project, a_plan, file_contains, writes
from tests.acceptance.test_agent_failures import event_data, run_one_task

pytestmark = pytest.mark.acceptance
IN_A = {"good": file_contains("a.txt")}


@pytest.mark.spec("7.1", "7.3", "6.9")
def test_the_prompt_of_a_pattern_is_sent_and_its_search_is_journalled(project: Project) -> None:
    checks = {"good": {**file_contains("a.txt"), "pattern": "lint-error"}}

    code, task, entries = run_one_task(
        project, {"a": [writes("a.txt", "bad\n"), writes("a.txt")]}, {}, checks=checks
    )

    assert code == 0
    first, second = event_data(entries, "PROMPT_SENT")
    assert first["path"] == ""
    assert second["path"].endswith("steps/retry/issue/f_failed_lint-error.md")
    assert second["steps"]
    assert "a.txt does not hold good" in project.prompt(task, 2)


@pytest.mark.spec("7.1", "7.3")
def test_a_prompt_tells_only_of_changes_and_scopes_that_exist(project: Project) -> None:
    """The work of a failed check was said to be outside the scope of a task that has none, and a
    fresh worktree to hold the changes of earlier attempts.
    """
    holds = {"file": {"path": "a.txt", "contains": "good"}}
    acts = [[], writes("a.txt", "bad\n"), writes("a.txt", "bad\n"), writes("a.txt")]
    plan = a_plan({"a": acts}, [{"id": "a"}], {"good": holds})

    done = project.yaoki("run", project.plan(plan))

    assert done.code == 0, done.out
    told = [project.prompt(project.task("a"), number) for number in (2, 3, 4)]
    assert "Still missing:\n\n- `a.txt`" in told[0]
    assert "in the files of the current directory" in told[0]
    assert not any("outside the task's scope" in text for text in told)
    assert "attempt 3  started in its worktree" in done.out
    assert "attempt 4  started in a fresh worktree" in done.out
    assert ["committed in this worktree" in text for text in told] == [False, True, False]
    gone = "Nothing that earlier attempts changed is in this directory"
    assert [gone in text for text in told] == [True, False, True]


ASKING = """case $YAOKI_ATTEMPT in
1) echo '{"status": "question", "question": "Red?"}' > $YAOKI_RESULT;;
2) echo '{"status": "question", "question": "Big?"}' > $YAOKI_RESULT;;
*) echo good > a.txt;;
esac"""


@pytest.mark.spec("7.3", "10.3", "10.4")
def test_each_answer_reaches_the_agent_with_its_question(project: Project) -> None:
    """The agent read `no` alone, and the first answer was gone."""
    plan = a_plan({}, [{"id": "a"}], IN_A, agents={"m": {"command": ["sh", "-c", ASKING]}})
    assert project.yaoki("run", project.plan({**plan, "agent": "m"})).code == 4
    assert project.yaoki("answer", "a", "retry", "yes").code == 0
    assert project.yaoki("resume").code == 4
    assert project.yaoki("answer", "a", "retry", "no").code == 0

    done = project.yaoki("resume")

    assert done.code == 0, done.out
    said = "Question: Red?\nAnswer: yes\n\nQuestion: Big?\nAnswer: no\n"
    assert f"# What a person said\n\n{said}" in project.prompt(project.task("a"), 3)


@pytest.mark.spec("7.3", "9.6")
def test_after_an_undo_the_agent_reads_of_it_and_of_no_failure(project: Project) -> None:
    script = {"a": [writes("a.txt", "bad\n"), writes("a.txt"), writes("a.txt", "good\nmore\n")]}
    assert project.yaoki("run", project.plan(a_plan(script, [{"id": "a"}], IN_A))).code == 0
    assert project.yaoki("undo", "a").code == 0
    assert project.yaoki("answer", "a", "retry", "Add more.").code == 0

    done = project.yaoki("resume")

    assert done.code == 0, done.out
    prompt = project.prompt(project.task("a"), 3)
    undone = "A person undid the work of attempt 2, which had landed."
    assert f"# What a person said\n\n{undone}\n\nAdd more.\n" in prompt
    assert "The last failure" not in prompt


@pytest.mark.spec("7.3", "16.5")
def test_after_a_recheck_the_agent_reads_nothing_of_the_replaced_check(project: Project) -> None:
    """It was told to create the file that only the wrong check wanted."""
    checks = {"c": file_contains("zz.txt"), "same": file_contains("b.txt")}
    acts = [{"write": {"a.txt": "good\n", "b.txt": "good\n"}}]
    plan = a_plan({"a": [acts, acts]}, [{"id": "a", "retry": {"max_retries": 0}}], checks)
    assert project.yaoki("run", project.plan(plan)).code == 4
    project.plan({**plan, "checks": {**checks, "c": file_contains("a.txt")}})
    assert project.yaoki("plan", "recheck").code == 0
    assert project.yaoki("answer", "a", "retry").code == 0

    done = project.yaoki("resume")

    assert done.code == 0, done.out
    assert "zz.txt" not in project.prompt(project.task("a"), 2)


@pytest.mark.spec("7.1", "5.8")
def test_an_ejected_and_edited_prompt_changes_the_next_attempt(project: Project) -> None:
    ejected = project.yaoki("prompts", "eject", "lint-error")
    assert ejected.code == 0, ejected.err
    file = next((project.repo / ".yaoki" / "prompts").rglob("f_failed_lint-error.md"))
    file.write_text(file.read_text() + "\nSay it in our own words.\n")
    checks = {"good": {**file_contains("a.txt"), "pattern": "lint-error"}}

    code, task, _ = run_one_task(
        project, {"a": [writes("a.txt", "bad\n"), writes("a.txt")]}, {}, checks=checks
    )

    assert code == 0
    assert "Say it in our own words." in project.prompt(task, 2)


@pytest.mark.spec("7.2", "2.2")
def test_a_broken_prompt_of_the_project_is_refused_before_anything_runs(project: Project) -> None:
    folder = project.repo / ".yaoki" / "prompts" / "steps" / "retry" / "issue"
    folder.mkdir(parents=True)
    (folder / "f_failed_lint-error.md").write_text("---\nparams: []\n---\n{{ nobodyGivesThis }}\n")

    code = project.yaoki("run", project.plan(_a_plan())).code

    assert code == 2
    assert not project.has_store()


def _a_plan() -> dict[str, object]:
    return a_plan({"a": [writes("a.txt")]}, [{"id": "a"}], {"good": file_contains("a.txt")})


@pytest.mark.full
@pytest.mark.spec("7.5")
def test_successful_retries_are_counted_by_prompt_and_pattern(project: Project) -> None:
    checks = {"good": {**file_contains("a.txt"), "pattern": "lint-error"}}
    run_one_task(
        project,
        {"a": [writes("a.txt", "bad\n"), writes("a.txt", "worse\n"), writes("a.txt")]},
        {},
        checks=checks,
    )

    document = project.yaoki("stats", "prompts", "--json").document["prompts"]

    assert [(p["pattern"], p["sent"], p["cured"], p["not_cured"]) for p in document] == [
        ("lint-error", 2, 1, 1)
    ]
    shown = project.yaoki("stats", "prompts").out
    assert "50%" in shown
    assert shown.endswith("next: yaoki prompts show lint-error\n")


@pytest.mark.full
@pytest.mark.spec("7.2", "5.8")
def test_an_empty_prompt_is_replaced_by_the_built_in_text(project: Project) -> None:
    """The template is valid, but its only loop is empty for this failure."""
    folder = project.repo / ".yaoki" / "prompts" / "steps" / "retry" / "issue"
    folder.mkdir(parents=True)
    loop = "{% for one in lintErrors %}- {{ one.code }}{% endfor %}"
    (folder / "f_failed_lint-error.md").write_text(f"---\nparams: [lintErrors]\n---\n{loop}\n")
    checks = {"good": {**file_contains("a.txt"), "pattern": "lint-error"}}

    code, task, entries = run_one_task(
        project, {"a": [writes("a.txt", "bad\n"), writes("a.txt")]}, {}, checks=checks
    )

    assert code == 0
    assert "a.txt does not hold good" in project.prompt(task, 2)
    assert "renders an empty text" in event_data(entries, "PROMPT_FAULT")[0]["fault"]
