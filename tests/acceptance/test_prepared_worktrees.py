"""Large repositories: while an agent works, the worktree of the next task is made."""

from __future__ import annotations

import pytest

from tests.acceptance.project import Project, a_plan

pytestmark = [pytest.mark.acceptance, pytest.mark.spec("13.1", "3.1", "8.6")]
# The first agent ends once a spare worktree is ready beside its own, or after a while: until its
# files are there git holds it locked.
SEEN = """
for i in $(seq 400); do
    for made in "$(git rev-parse --git-common-dir)"/worktrees/spare-*; do
        test -f "$made/index" && test ! -e "$made/locked" && break 2
    done
    sleep 0.05
done
pwd -P > a.txt
"""


@pytest.mark.full
def test_the_next_task_gets_a_prepared_worktree(project: Project) -> None:
    project.settings("[workspace]\nahead_from_files = 1\n")
    acts = {
        "a": [[{"run": ["sh", "-c", SEEN]}]],
        "b": [[{"run": ["sh", "-c", "cat .git > b.txt; cat a.txt >> b.txt"]}]],
    }
    tasks: list[dict[str, object]] = [{"id": "a"}, {"id": "b", "needs": ["a"]}]
    checks = {"clean": {"shell": "test -f README"}}

    done = project.yaoki("run", project.plan(a_plan(acts, tasks, checks)), "--quiet", "--json")

    assert done.code == 0, done.err
    run = done.document["run"]
    assert "/worktrees/spare-" in project.git("show", f"yaoki/{run}:b.txt"), "it was renamed"
    assert project.git("show", f"yaoki/{run}:a.txt") in project.git("show", f"yaoki/{run}:b.txt")
    assert project.git("worktree", "list").count("\n") == 0
    assert not [p for p in (project.home / "worktrees").glob("*/*") if "spare" in p.name]
