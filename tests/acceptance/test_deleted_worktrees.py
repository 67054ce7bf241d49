"""A worktree that was deleted before its agent ended is not an unchanged worktree."""

from __future__ import annotations

import pytest

from tests.acceptance.project import Project, a_plan, writes

pytestmark = [pytest.mark.acceptance, pytest.mark.spec("0.1", "0.6", "3.7", "8.6")]
GREEN = {"ok": {"shell": "test -f README"}}


@pytest.mark.full
@pytest.mark.parametrize(
    "harm",
    [
        'rm -rf "$PWD"',
        'cd / && git -C "$OLDPWD" worktree remove --force "$OLDPWD"',
        'mv "$PWD" "$PWD.x" && ln -s "$PWD.x" "$PWD"',
    ],
    ids=["removed", "removed by git", "moved"],
)
def test_an_attempt_whose_worktree_was_deleted_is_retried(project: Project, harm: str) -> None:
    """The checks pass on the base, so only the missing worktree reveals the loss."""
    gone = [{"write": {"a.txt": "1\n"}}, {"run": ["sh", "-c", harm]}]
    plan = a_plan({"a": [gone, writes("a.txt")]}, [{"id": "a"}], GREEN)

    done = project.yaoki("run", project.plan(plan), "--quiet")

    assert done.code == 0, done.out + done.err
    task = project.task("a")
    assert task["attempt"] == 2
    assert project.show(project.status()["run_branch"], "a.txt") == "good"
    entries = [e["data"] for e in project.events("a") if e["event"] == "RETRY_DECISION"]
    assert [one["failure"]["kind"] for one in entries] == ["LOST"]
    assert "the worktree was missing after the agent had ended" in entries[0]["failure"]["message"]


def test_commits_made_before_the_worktree_was_deleted_land(project: Project) -> None:
    commit = "git add -A && git -c user.name=a -c user.email=a@b commit -qm mine"
    acts = [{"write": {"a.txt": "1\n"}}, {"run": ["sh", "-c", f'{commit} && rm -rf "$PWD"']}]

    done = project.yaoki(
        "run", project.plan(a_plan({"a": [acts]}, [{"id": "a"}], GREEN)), "--quiet"
    )

    assert done.code == 0, done.out + done.err
    assert project.show(project.status()["run_branch"], "a.txt") == "1"
    flat = " ".join(done.out.split())
    warning = "the worktree was missing after the agent had ended: only committed work is saved"
    assert warning in flat
