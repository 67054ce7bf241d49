"""Symbolic refs: an agent points a ref of yaoki at the user's branch, which must not move."""

from __future__ import annotations

import pytest

from tests.acceptance.project import Project, a_plan, file_contains, writes

pytestmark = pytest.mark.spec("0.2", "3.1")
NAMES = (
    "refs/heads/yaoki/$YAOKI_TASK",
    "refs/heads/yaoki/$YAOKI_RUN",
    "refs/yaoki/runs/$YAOKI_RUN",
)
# Refs of one task: none of them stops the run, so each task plants another one.
NAMES_OF_TASK = (
    "refs/yaoki/candidates/$YAOKI_TASK",
    "refs/yaoki/snapshots/$YAOKI_TASK-2",
    "refs/yaoki/work/$YAOKI_TASK/1",
)


def links(name: str, then: str = "") -> dict[str, object]:
    return {"run": ["sh", "-c", f'git symbolic-ref "{name}" refs/heads/main{then}']}


@pytest.mark.quick_cases(1)
@pytest.mark.parametrize("name", NAMES)
def test_a_symbolic_ref_planted_by_an_agent_does_not_move_the_users_branch(
    project: Project, name: str
) -> None:
    run_planting(project, {"a": name, "b": name})


@pytest.mark.full
def test_symbolic_refs_of_tasks_planted_by_agents_do_not_move_the_users_branch(
    project: Project,
) -> None:
    code = run_planting(project, dict(zip("abc", NAMES_OF_TASK, strict=True)))

    assert code == 0, "every one of them was planted"


def run_planting(project: Project, planted: dict[str, str]) -> int:
    """A task for each ref, one after the other; returns the exit code of the run."""
    before = project.git("rev-parse", "refs/heads/main")
    names = list(planted)
    acts = {name: [[links(ref), *writes(f"{name}.txt")]] for name, ref in planted.items()}
    tasks = [
        {"id": name, "checks": [name], "needs": names[:n][-1:]} for n, name in enumerate(names)
    ]
    plan = a_plan(acts, tasks, {name: file_contains(f"{name}.txt") for name in names})

    done = project.yaoki("run", project.plan(plan), "--quiet")

    assert project.git("rev-parse", "refs/heads/main") == before, done.out
    assert project.git("symbolic-ref", "HEAD") == "refs/heads/main"
    assert project.git("status", "--porcelain") == ""
    if done.code == 0:
        files = [f"{name}.txt" for name in names]
        listed = project.git("ls-tree", "--name-only", project.status()["run_branch"]).split()
        assert listed == ["README", *files, "yaoki.toml"]
    return done.code


@pytest.mark.full
def test_refused_work_does_not_reach_the_users_branch_through_a_symbolic_ref(
    project: Project,
) -> None:
    before = project.git("rev-parse", "refs/heads/main")
    link = links(NAMES[0], " && git checkout -q --detach")
    plan = a_plan(
        {"a": [[*writes("a.txt", "bad\n"), link]]},
        [{"id": "a", "checks": ["a"], "retry": {"max_retries": 0}}],
        {"a": file_contains("a.txt")},
    )

    assert project.yaoki("run", project.plan(plan), "--quiet").code == 4

    assert project.git("rev-parse", "refs/heads/main") == before
    assert project.git("status", "--porcelain") == ""
