"""An unreachable remote: pending pushes, tasks that wait, and races when it is back."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from tests.adapters.workspace.clones import Clones, clones, land
from tests.repositories import git, run_attempt, write
from yaoki.errors import GitFailed, RemoteUnreachable

pytestmark = pytest.mark.spec("13.1")
HEADS = "refs/heads/yaoki"
GROUP = "ab12cd34-9"


@pytest.fixture
def two_clones(tmp_path: Path) -> Clones:
    return clones(tmp_path)


def adding(name: str) -> Callable[[Path], None]:
    return lambda at: write(at, **{name: f"{name}\n"})


@pytest.mark.full
@pytest.mark.spec("13.3", "4.8")
def test_an_unreachable_remote_is_a_problem_until_it_answers(two_clones: Clones) -> None:
    space = two_clones.worlds[0].workspace
    before = space.remote.remote_problem()
    two_clones.disconnect()

    with pytest.raises(RemoteUnreachable, match="the remote origin cannot be used") as told:
        space.branches.head(two_clones.run)

    assert before == ""
    assert space.remote.remote_problem() == told.value.sentence
    assert told.value.hint.startswith("git ls-remote origin")
    two_clones.reconnect()
    assert space.remote.check_remote() == "origin"
    assert space.remote.remote_problem() == ""


@pytest.mark.spec("13.3")
def test_missing_credentials_are_not_retried(two_clones: Clones) -> None:
    """Waiting does not help: this machine needs credentials."""
    one = two_clones.worlds[0]
    git(one.repo, "remote", "set-url", "origin", "ext::sh -c 'exit 1'")
    space = replace(one, workspace=type(one.workspace)(one.repo, one.root, remote="origin"))

    with pytest.raises(GitFailed, match="not allowed") as told:
        space.workspace.branches.head(two_clones.run)

    assert not isinstance(told.value, RemoteUnreachable)
    assert not told.value.transient


@pytest.mark.full
@pytest.mark.spec("8.2", "0.2")
def test_pending_work_is_pushed_during_idle_upkeep(two_clones: Clones) -> None:
    one = two_clones.worlds[0]
    done = run_attempt(one, one.task(), adding("new"))
    two_clones.disconnect()
    kept = replace(done, attempt=2)
    one.workspace.worktrees.commit_attempt(one.run, kept)
    with pytest.raises(RemoteUnreachable):
        one.workspace.remote.catch_up_with_remote()
    two_clones.reconnect()
    assert "refs/yaoki/work/ab12cd34-1/2" not in two_clones.remote_refs()

    one.workspace.remote.catch_up_with_remote()

    assert "refs/yaoki/work/ab12cd34-1/2" in two_clones.remote_refs()
    assert one.workspace.remote.remote_problem() == ""


@pytest.mark.spec("13.3", "8.2")
def test_a_task_waits_for_work_that_another_machine_has_not_pushed(two_clones: Clones) -> None:
    one, other = two_clones.worlds
    done = run_attempt(one, one.task(), adding("new"))
    for ref in [ref for ref in two_clones.remote_refs() if "/work/" in ref]:
        git(two_clones.bare, "update-ref", "-d", ref)

    with pytest.raises(RemoteUnreachable, match="saved on another machine"):
        other.workspace.landings.build_candidate(other.run, done)

    assert other.workspace.remote.remote_problem() == ""


# ------------------------------------------------------------------ two at once


@pytest.mark.spec("8.3", "0.2")
def test_a_late_roll_back_does_not_remove_later_landings(two_clones: Clones) -> None:
    """Both machines roll back one group; a retry has landed before the second one acts."""
    one, other = two_clones.worlds
    line = one.workspace.groups.open_group_branch(one.run, GROUP)
    own = replace(one, run=line)
    land(own, run_attempt(own, own.task(1), adding("first")))
    seen = other.workspace.branches.head(line)
    one.workspace.groups.roll_back_group_branch(one.run, GROUP, seen)
    land(own, run_attempt(own, own.task(2), adding("again")))
    head = one.workspace.branches.head(line)

    with pytest.raises(GitFailed, match="moved before it was rolled back") as told:
        other.workspace.groups.roll_back_group_branch(other.run, GROUP, seen)

    assert told.value.transient
    assert other.workspace.branches.head(line) == head
    assert [ref for ref in two_clones.remote_refs() if "rollback" in ref] == [
        f"refs/yaoki/work/{GROUP}/0-rollback-1"
    ]


# ------------------------------------------------------------------ the end of a run


@pytest.mark.spec("11.7", "0.2")
def test_an_archive_contains_the_refs_of_a_dead_machine(two_clones: Clones, tmp_path: Path) -> None:
    """Its task branch and group branch are at the remote and in no other clone."""
    one, other = two_clones.worlds
    line = one.workspace.groups.open_group_branch(one.run, GROUP)
    own = replace(one, run=line)
    land(own, run_attempt(own, own.task(1), adding("new")))
    held = one.workspace.branches.head(line)
    archiving, file = other.workspace.recovery.ref_archive(), tmp_path / "run.bundle"

    refs = archiving.list_refs(other.run.id)
    assert archiving.write_bundle(other.run.id, other.run.base, refs, file)
    archiving.verify_bundle(other.run.id, refs, file)
    archiving.delete_refs(other.run.id, refs)

    assert refs[f"{HEADS}/{GROUP}-group"] == held
    assert f"{HEADS}/ab12cd34-1" in refs
    assert set(two_clones.remote_refs()) == {"refs/heads/main"}
    assert held in git(tmp_path, "bundle", "list-heads", str(file))
