"""A worktree that was deleted before its agent ended is not an unchanged worktree."""

from __future__ import annotations

import pytest

from tests.acceptance.project import Project, a_plan, writes

pytestmark = [pytest.mark.acceptance, pytest.mark.spec("0.1", "0.6", "3.7", "8.6")]
GREEN = {"ok": {"shell": "test -f README"}}


HARMS = {
    "removed": 'rm -rf "$PWD"',
    "removed-by-git": 'cd / && git -C "$OLDPWD" worktree remove --force "$OLDPWD"',
    "moved": 'mv "$PWD" "$PWD.x" && ln -s "$PWD.x" "$PWD"',
}


@pytest.mark.full
def test_an_attempt_whose_worktree_was_deleted_is_retried(project: Project) -> None:
    """The checks pass on the base, so only the missing worktree reveals the loss."""
    script = {
        name: [[{"write": {name: "1\n"}}, {"run": ["sh", "-c", harm]}], writes(name)]
        for name, harm in HARMS.items()
    }
    plan = a_plan(script, [{"id": name} for name in HARMS], GREEN)

    done = project.yaoki("run", project.plan(plan), "--quiet")

    assert done.code == 0, done.out + done.err
    branch = project.status()["run_branch"]
    for name in HARMS:
        assert project.task(name)["attempt"] == 2
        assert project.show(branch, name) == "good"
        entries = [e["data"] for e in project.events(name) if e["event"] == "RETRY_DECISION"]
        assert [one["failure"]["kind"] for one in entries] == ["LOST"]
        message = entries[0]["failure"]["message"]
        assert "the worktree was missing after the agent had ended" in message


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
