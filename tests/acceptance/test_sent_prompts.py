"""Prompts of agents: read from files, editable without a restart, counted by their success."""

from __future__ import annotations

import pytest

from tests.acceptance.project import Project, a_plan, file_contains, writes
from tests.acceptance.test_agent_failures import event_data, run_one_task

pytestmark = pytest.mark.acceptance


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
