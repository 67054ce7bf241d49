"""Symbolic refs: an agent points a ref of yaoki at the user's branch, which must not move."""

from __future__ import annotations

import pytest

from tests.acceptance.project import Project, a_plan, file_contains, writes

pytestmark = pytest.mark.spec("0.2", "3.1")
NAMES = (
    "refs/heads/yaoki/$YAOKI_TASK",
    "refs/yaoki/candidates/$YAOKI_TASK",
    "refs/heads/yaoki/$YAOKI_RUN",
    "refs/yaoki/runs/$YAOKI_RUN",
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
    before = project.git("rev-parse", "refs/heads/main")
    acts = {n: [[links(name), *writes(f"{n}.txt")]] for n in ("a", "b")}
    tasks = [{"id": "a", "checks": ["a"]}, {"id": "b", "needs": ["a"], "checks": ["b"]}]
    plan = a_plan(acts, tasks, {n: file_contains(f"{n}.txt") for n in ("a", "b")})

    done = project.yaoki("run", project.plan(plan), "--quiet")

    assert project.git("rev-parse", "refs/heads/main") == before, done.out
    assert project.git("symbolic-ref", "HEAD") == "refs/heads/main"
    assert project.git("status", "--porcelain") == ""
    if done.code == 0:
        branch = project.status()["run_branch"]
        assert project.git("ls-tree", "--name-only", branch).split() == [
            *("README", "a.txt", "b.txt", "yaoki.toml")
        ]


@pytest.mark.full
def test_refused_work_does_not_reach_the_users_branch_through_a_symbolic_ref(
    project: Project,
) -> None:
    before = project.git("rev-parse", "refs/heads/main")
    link = links(NAMES[0], " && git checkout -q --detach")
    plan = a_plan(
        {"a": [[*writes("a.txt", "bad\n"), link]] * 3},
        [{"id": "a", "checks": ["a"], "retry": {"max_retries": 1}}],
        {"a": file_contains("a.txt")},
    )

    assert project.yaoki("run", project.plan(plan), "--quiet").code == 4

    assert project.git("rev-parse", "refs/heads/main") == before
    assert project.git("status", "--porcelain") == ""
