"""Without the sandbox an agent can write beside its worktree; what changed meanwhile is told."""

from __future__ import annotations

from typing import Any

import pytest

from tests.acceptance.project import WHO, Place, a_plan, holds, writes

pytestmark = [pytest.mark.acceptance, pytest.mark.spec("16.13", "14.3")]


def carried(place: Place, script: str) -> tuple[str, str, list[str]]:
    """One task whose agent does this; the run's output, and what CHECKOUT_CHANGED names."""
    act: dict[str, Any] = {"run": ["sh", "-ec", script]}
    plan = a_plan({"a": [[*writes("a.txt"), act]]}, [{"id": "a"}], {"a": holds("a.txt")})
    done = place.yaoki("run", place.plan(plan), "--base", "main")
    assert done.code == 0, done.out + done.err
    told = [e["data"] for e in place.events("a") if e["event"] == "CHECKOUT_CHANGED"]
    assert len(told) <= 1
    message, what = (told[0]["message"], told[0]["what"]) if told else ("", [])
    return done.out, message, what


@pytest.mark.full
def test_moved_refs_new_tags_and_pushes_are_reported_by_name(place: Place) -> None:
    """Its work left the worktree unproven, while the user stands on another branch."""
    place.git("init", "-q", "--bare", str(place.folder / "origin"))
    place.git("remote", "add", "origin", str(place.folder / "origin"))
    place.git("push", "-q", "origin", "main")
    place.git("checkout", "-q", "-b", "dev")
    was = place.git("rev-parse", "main")
    commit = f"git add .; git {' '.join(WHO)} commit -qm x"
    moves = "git update-ref refs/heads/main HEAD; git tag t1; git push -q origin HEAD:main"

    said, message, what = carried(place, f"{commit}; {moves}")

    assert what == [
        f"checkout/refs/heads/main (was {was[:12]})",
        f"checkout/refs/remotes/origin/main (was {was[:12]})",
        "checkout/refs/tags/t1 (new)",
    ]
    assert "your refs, your checkout or your own settings changed while the agent" in message
    for face in (said, place.look("report").out, place.look("why", "a").out):
        assert "refs/tags/t1" in "".join(face.split("\n")), face


def test_a_new_untracked_file_in_the_checkout_is_reported_by_name(place: Place) -> None:
    (place.repo / "mine.txt").write_text("there before\n")

    _, _, what = carried(place, f"echo x > {place.repo}/stray.txt; mkdir {place.repo}/new")

    assert what == ["checkout/untracked new", "checkout/untracked stray.txt"]


@pytest.mark.full
def test_an_ignored_file_and_the_agents_own_commits_are_not_reported(place: Place) -> None:
    (place.repo / ".gitignore").write_text("*.log\n")
    place.git("add", "-A")
    place.git(*WHO, "commit", "-qm", "ignore")
    commit = f"git add .; git {' '.join(WHO)} commit -qm x"

    _, _, what = carried(place, f"echo x > {place.repo}/a.log; {commit}; git pack-refs --all")

    assert what == []
