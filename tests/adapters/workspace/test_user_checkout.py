"""The user's checkout, index, HEAD, stash, config, hooks and reflogs stay as they are."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest

from tests.repositories import (
    World,
    a_repository,
    a_world,
    approve,
    commit,
    git,
    land_task,
    run_attempt,
    start_attempt,
    user_state,
    with_conflict,
    write,
)
from yaoki.adapters.git.config_files import list_settings
from yaoki.errors import NotNow

NOW = datetime(2100, 1, 1, tzinfo=UTC)

ONE = "ab12cd34-1"


def a_dirty_repository(folder: Path) -> Path:
    """Modified, staged, deleted, untracked, ignored and stashed; with hooks and a reflog."""
    repo = a_repository(folder)
    git(repo, "config", "branch.autoSetupMerge", "always")
    write(repo, b__txt="stashed\n")
    git(repo, "stash", "-q")
    write(repo, a__txt="modified\n", staged="staged\n", untracked="u\n", secret__log="ignored\n")
    git(repo, "add", "staged")
    (repo / "src" / "two.py").unlink()
    (repo / "link").symlink_to("a.txt")
    return repo


def tripwire(repo: Path, trap: Path) -> None:
    """Configure every program that git can start to create the trap file."""
    program = repo.parent / "program"
    program.write_text(f"#!/bin/sh\ntouch '{trap}'\nexit 0\n")
    program.chmod(0o755)
    hooks = repo / ".git" / "hooks"
    for name in (
        *(
            "post-checkout",
            "pre-commit",
            "commit-msg",
            "post-commit",
            "post-merge",
            "post-index-change",
        ),
        *("reference-transaction", "pre-merge-commit", "prepare-commit-msg", "post-rewrite"),
    ):
        shutil.copy2(program, hooks / name)
    for key in ("core.fsmonitor", "core.pager", "core.editor", "diff.external", "gpg.program"):
        git(repo, "config", key, str(program))
    git(repo, "config", "commit.gpgSign", "true")


def the_whole_life(world: World) -> list[tuple[str, Callable[[], object]]]:
    """Every method of the workspace, in the order of a run with everything in it."""
    tasks = {"one": world.task(1), "two": world.task(2)}
    workspace, run = world.workspace, world.run

    def step(name: str, act: Callable[[World], object]) -> tuple[str, Callable[[], object]]:
        return name, lambda: act(world)

    def one(_: World) -> None:
        tasks["one"] = run_attempt(
            world, tasks["one"], lambda at: write(at, a__txt="one\n", new="n")
        )

    def two(_: World) -> None:
        tasks["two"] = land_task(world, tasks["two"], lambda at: write(at, a__txt="two\n"))

    def resolve(_: World) -> None:
        tasks["one"] = land_task(
            world, with_conflict(tasks["one"]), lambda at: write(at, a__txt="12\n")
        )

    def fresh(_: World) -> None:
        workspace.worktrees.prepare(run, replace(world.task(3), needs_fresh_worktree=True), 1)
        write(world.root / "ab12cd34-3", left="l")
        workspace.worktrees.prepare(
            run, replace(world.task(3), attempt=1, needs_fresh_worktree=True), 2
        )

    return [
        step("open_run", lambda _: workspace.branches.open_run_branch(run)),
        step("prepare, keep", one),
        step("land another", two),
        step("conflict", lambda _: workspace.landings.build_candidate(run, tasks["one"])),
        step("prepare and land a conflict", resolve),
        step("fresh", fresh),
        step("snapshot", lambda _: workspace.worktrees.take_snapshot(tasks["one"], 2)),
        step("snapshots", lambda _: workspace.recovery.list_snapshots()),
        step(
            "restore", lambda _: workspace.recovery.restore_snapshot("ab12cd34-1-2", tasks["one"])
        ),
        step("expire", lambda _: workspace.recovery.expire_snapshots(NOW, set())),
        step("release", lambda _: workspace.worktrees.remove_worktree(tasks["one"])),
        step("release two", lambda _: workspace.worktrees.remove_worktree(tasks["two"])),
        step("release three", lambda _: workspace.worktrees.remove_worktree(world.task(3))),
        step("saved", lambda _: workspace.recovery.list_saved_work()),
        step(
            "recover",
            lambda _: workspace.recovery.recover_to_branch(
                workspace.recovery.list_saved_work()[0].ref, "yaoki/look"
            ),
        ),
        step(
            "undo",
            lambda _: workspace.landings.undo(
                run, {tasks["one"].id: tasks["one"].landed_commit}, approve=approve
            ),
        ),
        step("merge", lambda _: merge_checked_out(world)),
        step(
            "merge into",
            lambda _: workspace.landings.merge(run, into="yaoki/result", approve=approve),
        ),
        step("guards", lambda _: workspace.protection.hash_protected_files()),
        step("diff", lambda _: workspace.contents.diff(run.base, workspace.branches.head(run))),
    ]


def merge_checked_out(world: World) -> None:
    """A checkout in use is refused; a clean one moves with its branch, and says so."""
    try:
        said = world.workspace.landings.merge(world.run, approve=approve).checkout
    except NotNow as refused:
        said = refused.sentence
    assert said == str(world.repo) or said.endswith("nothing was changed")


@pytest.mark.spec("0.2", "9.6", "9.5")
def test_a_dirty_checkout_is_byte_identical_after_every_operation(tmp_path: Path) -> None:
    repo = a_dirty_repository(tmp_path)
    before, status = user_state(repo), git(repo, "status", "--porcelain=v2", "--branch")
    world = a_world(tmp_path, repo)

    for name, act in the_whole_life(world):
        act()
        assert user_state(repo) == before, f"{name} changed something of the user's"

    assert git(repo, "status", "--porcelain=v2", "--branch") == status
    assert git(repo, "stash", "list") != ""


@pytest.mark.spec("0.2", "14.2")
def test_no_hook_and_no_configured_program_runs_during_yaokis_calls(tmp_path: Path) -> None:
    repo, trap = a_repository(tmp_path), tmp_path / "sprung"
    write(repo, __worktreeinclude="*.log\n", x__log="x")
    git(repo, "add", "-f", ".worktreeinclude")
    commit(repo)
    tripwire(repo, trap)
    git(repo, "status")
    assert trap.exists(), "the trap must work for the test to mean something"
    trap.unlink()
    world = a_world(tmp_path, repo)

    for name, act in the_whole_life(world):
        act()
        assert not trap.exists(), f"{name} started a program from the repository's config"


@pytest.mark.spec("14.2")
def test_changed_config_and_hooks_change_the_protected_hashes(tmp_path: Path) -> None:
    world = a_world(tmp_path)
    before = dict(world.workspace.protection.hash_protected_files())
    begun = start_attempt(world, world.task())
    assert world.workspace.protection.hash_protected_files() == before

    git(Path(begun.work.worktree), "config", "core.fsmonitor", "/bin/true")
    write(world.repo / ".git" / "hooks", post__commit="#!/bin/sh\n")
    write(world.repo / ".git" / "info", attributes="* filter=x\n")
    (world.repo / ".git" / "info" / "exclude").unlink()
    after = dict(world.workspace.protection.hash_protected_files())

    changed = {name for name in {*before, *after} if before.get(name) != after.get(name)}
    assert changed == {
        "config core.fsmonitor",
        "hooks/post.commit",
        "info/attributes",
        "info/exclude",
    }


# Set by editors, by tools beside git and by git itself, with a person who only opens a branch.
HARMLESS = (
    *("pull.rebase", "push.default", "merge.ff", "fetch.prune", "rerere.enabled", "diff.algorithm"),
    *("branch.main.vscode-merge-base", "branch.main.gk-last-accessed", "branch.autoSetupMerge"),
    *("remote.origin.gh-resolved", "gitflow.branch.master", "lfs.repositoryFormatVersion"),
    *("submodule.lib.url", "submodule.active", "commit.gpgSign", "extensions.worktreeConfig"),
    *("maintenance.auto", "blame.ignoreRevsFile", "core.untrackedCache", "yaoki.anything"),
)


@pytest.mark.spec("14.2")
def test_a_persons_harmless_settings_are_no_tampering(tmp_path: Path) -> None:
    """People fetch, push, add remotes and change their name during a run."""
    world = a_world(tmp_path)
    repo = world.repo
    git(repo, "config", "core.editor", "vi")
    before = dict(world.workspace.protection.hash_protected_files())

    git(repo, "remote", "add", "origin", "https://example.org/x.git")
    git(repo, "remote", "set-url", "--push", "origin", "git@example.org:x.git")
    git(repo, "config", "remote.origin.prune", "true")
    git(repo, "checkout", "-q", "-b", "topic.one")
    git(repo, "config", "branch.topic.one.remote", "origin")
    git(repo, "config", "branch.topic.one.merge", "refs/heads/topic.one")
    git(repo, "config", "branch.topic.one.description", "two\nlines\n[core]\nfsmonitor = x")
    git(repo, "config", "user.name", "Una")
    git(repo, "config", "gui.geometry", "1x1")
    git(repo, "config", "color.ui", "false")
    for key in HARMLESS:
        git(repo, "config", key, "true")
    with (repo / ".git" / "config").open("a") as file:
        file.write("# a comment\n")

    assert world.workspace.protection.hash_protected_files() == before


SENSITIVE = (
    *("core.hooksPath", "core.sshCommand", "core.editor", "filter.lfs.clean", "diff.external"),
    *("diff.x.textconv", "merge.x.driver", "alias.st", "include.path", "credential.helper"),
    *("includeIf.gitdir:/.path", "url.https://evil/.insteadOf", "gpg.program", "http.proxy"),
    *("extensions.partialClone", "remote.origin.uploadpack", "remote.origin.vcs"),
    *("remote.pushDefault", "branch.main.mergeOptions", "core.autocrlf", "core.user.name"),
    *("submodule.lib.update", "svn.authorsProg", "lfs.extension.x.clean"),
    *("gc.recentObjectsHook", "gpg.ssh.program"),
    *("attr.tree", "diff.x.command", "uploadpack.packObjectsHook", "fetch.bundleURI"),
)


@pytest.mark.quick_cases(6)
@pytest.mark.spec("14.2")
@pytest.mark.parametrize(
    "keys", [*((key,) for key in SENSITIVE[:6]), SENSITIVE[6:]], ids=lambda keys: keys[0]
)
def test_sensitive_settings_change_the_protected_hashes(
    tmp_path: Path, keys: tuple[str, ...]
) -> None:
    world = a_world(tmp_path)
    config = world.repo / ".git" / "config"
    before, whole = dict(world.workspace.protection.hash_protected_files()), config.read_bytes()

    for key in keys:
        git(world.repo, "config", key, "x")
        after = dict(world.workspace.protection.hash_protected_files())
        config.write_bytes(whole)

        changed = {name for name in {*after, *before} if after.get(name) != before.get(name)}
        assert len(changed) == 1, key
        assert changed.pop().lower() == f"config {key}".lower()


@pytest.mark.spec("14.2")
def test_an_unreadable_config_changes_the_protected_hashes(tmp_path: Path) -> None:
    world = a_world(tmp_path)
    config = world.repo / ".git" / "config"
    before, whole = dict(world.workspace.protection.hash_protected_files()), config.read_bytes()

    config.write_bytes(whole + b"[broken\n")
    broken = dict(world.workspace.protection.hash_protected_files())
    config.write_bytes(whole + b"[broken again\n")

    assert (
        len(
            {
                before["config"],
                broken["config"],
                world.workspace.protection.hash_protected_files()["config"],
            }
        )
        == 3
    )
    config.write_bytes(whole)
    assert world.workspace.protection.hash_protected_files() == before


def differing(world: World, before: dict[str, str]) -> set[str]:
    after = dict(world.workspace.protection.hash_protected_files())
    return {name for name in {*before, *after} if before.get(name) != after.get(name)}


@pytest.mark.spec("14.2")
@pytest.mark.parametrize("where", ["inside", "outside", "home"])
def test_hooks_in_a_configured_folder_are_protected(tmp_path: Path, where: str) -> None:
    """A relative path is relative to the checkout."""
    repo = a_repository(tmp_path)
    folder = {"inside": repo / ".husky" / "_", "outside": tmp_path / "own"}.get(where)
    if where == "home":
        # Nothing is written there: a home is found, and what is not there is no error.
        git(repo, "config", "core.hooksPath", "~/no-such-folder-of-hooks")
        assert "config" in a_world(tmp_path, repo).workspace.protection.hash_protected_files()
        return
    assert folder is not None
    git(repo, "config", "core.hooksPath", ".husky/_" if where == "inside" else str(folder))
    write(folder, pre__commit="#!/bin/sh\n", quiet="#!/bin/sh\n")
    (folder / "called").mkdir()
    write(folder / "called", lib="echo\n")
    world = a_world(tmp_path, repo)
    before = dict(world.workspace.protection.hash_protected_files())
    assert world.workspace.protection.hash_protected_files() == before

    write(folder, pre__commit="#!/bin/sh\nevil\n", post__merge="#!/bin/sh\n")
    write(folder / "called", lib="evil\n")
    (folder / "quiet").chmod(0o755)

    names = ("pre.commit", "post.merge", "called/lib", "quiet")
    assert differing(world, before) == {str(folder / name) for name in names}


@pytest.mark.spec("14.2")
def test_hooks_that_come_with_a_persons_own_commit_are_no_tampering(tmp_path: Path) -> None:
    repo = a_repository(tmp_path)
    folder = repo / ".husky"
    write(folder, pre__commit="#!/bin/sh\n")
    git(repo, "add", "-A")
    git(repo, "commit", "-qm", "a hook")
    git(repo, "config", "core.hooksPath", ".husky")
    world = a_world(tmp_path, repo)
    before = dict(world.workspace.protection.hash_protected_files())

    write(folder, pre__commit="#!/bin/sh\nother\n", post__merge="#!/bin/sh\n")
    assert {Path(name).name for name in differing(world, before)} == {"pre.commit", "post.merge"}
    git(repo, "add", "-A")
    git(repo, "commit", "-qm", "other hooks")

    assert differing(world, before) == set()


@pytest.mark.spec("14.2")
@pytest.mark.parametrize("where", [".", "..", ".git"])
def test_in_a_shared_hooks_folder_only_files_that_git_starts_are_protected(
    tmp_path: Path, where: str
) -> None:
    (tmp_path / "around").mkdir()
    repo = a_repository(tmp_path / "around")
    git(repo, "config", "core.hooksPath", where)
    world = a_world(tmp_path, repo)
    folder = (repo / where).resolve()
    before = dict(world.workspace.protection.hash_protected_files())

    land_task(world, world.task(), lambda at: write(at, new="n"))
    write(repo, a__txt="a person's own work\n")
    assert differing(world, before) == set()

    write(folder, planted="#!/bin/sh\n")
    (folder / "planted").chmod(0o755)
    assert {Path(name).name for name in differing(world, before)} == {"planted"}


@pytest.mark.spec("14.2")
@pytest.mark.parametrize(
    "key", ["include.path", "includeIf.gitdir:/elsewhere/.path", "includeIf.onbranch:topic.path"]
)
def test_included_config_files_are_protected(tmp_path: Path, key: str) -> None:
    """Whether or not the include condition holds."""
    repo = a_repository(tmp_path)
    write(repo, shared__cfg="[user]\n\tname = Una\n[include]\n\tpath = deeper.cfg\n")
    git(repo, "config", key, "../shared.cfg")
    world = a_world(tmp_path, repo)
    shared, deeper = repo / "shared.cfg", repo / "deeper.cfg"
    before = dict(world.workspace.protection.hash_protected_files())
    assert str(shared) in before

    shared.write_text(shared.read_text().replace("Una", "Una Other"))
    assert differing(world, before) == set(), "a name is harmless, here as well"

    # A circle, where its condition keeps git itself out of it.
    back = "none.cfg" if key == "include.path" else "shared.cfg"
    write(repo, deeper__cfg=f"[include]\n\tpath = {back}\n[core]\n\tfsmonitor = evil\n")
    added = {str(deeper), f"{deeper} include.path", f"{deeper} core.fsmonitor"}
    assert differing(world, before) == added
    shared.write_text(shared.read_text() + "[alias]\n\tst = !evil\n")
    assert differing(world, before) == {*added, f"{shared} alias.st"}


@pytest.mark.spec("14.2")
def test_hooks_named_by_an_included_file_are_protected(tmp_path: Path) -> None:
    repo, folder = a_repository(tmp_path), tmp_path / "own"
    write(repo, shared__cfg=f"[core]\n\thooksPath = {folder}\n")
    git(repo, "config", "include.path", "../shared.cfg")
    world = a_world(tmp_path, repo)
    before = dict(world.workspace.protection.hash_protected_files())

    write(folder, post__merge="#!/bin/sh\n")

    assert differing(world, before) == {str(folder / "post.merge")}


@pytest.mark.spec("14.2")
def test_a_change_beyond_the_size_limit_of_a_config_is_noticed(tmp_path: Path) -> None:
    world = a_world(tmp_path)
    config = world.repo / ".git" / "config"
    before, whole = dict(world.workspace.protection.hash_protected_files()), config.read_bytes()

    config.write_bytes(whole + b"# padding\n" * 110_000 + b"[core]\n\tfsmonitor = evil\n")

    # It is not read as settings any more.
    assert "config" in differing(world, before)


MISSING = ("~nobody-of-this-name/x", "x" * 5000, "/dev/zero", "..", "%(prefix)/x", "~")


@pytest.mark.quick_cases(6)
@pytest.mark.spec("14.2")
@pytest.mark.parametrize(
    ("key", "values"),
    [*(("include.path", (value,)) for value in MISSING), ("core.hooksPath", MISSING)],
    ids=lambda held: held if isinstance(held, str) else held[0][:20],
)
def test_a_missing_path_in_the_config_is_no_error(
    tmp_path: Path, key: str, values: tuple[str, ...]
) -> None:
    world = a_world(tmp_path)
    for value in values:
        git(world.repo, "config", key, value)

        assert (
            world.workspace.protection.hash_protected_files()
            == world.workspace.protection.hash_protected_files()
        )


@pytest.mark.spec("14.2")
def test_settings_are_parsed_only_when_their_content_is_new(tmp_path: Path) -> None:
    repo = a_repository(tmp_path)
    write(repo, shared__cfg="[core]\n\thooksPath = .husky\n")
    git(repo, "config", "include.path", "../shared.cfg")
    world = a_world(tmp_path, repo)
    world.workspace.protection.hash_protected_files(), world.workspace.protection.hash_checkout()
    asked = list_settings.cache_info().misses

    world.workspace.protection.hash_protected_files(), world.workspace.protection.hash_checkout()
    assert list_settings.cache_info().misses == asked

    write(repo, shared__cfg="[core]\n\thooksPath = .other\n")
    world.workspace.protection.hash_protected_files(), world.workspace.protection.hash_checkout()
    assert list_settings.cache_info().misses == asked + 1


@pytest.mark.spec("0.2")
def test_worktrees_of_the_user_are_left_alone(tmp_path: Path) -> None:
    """Also a worktree on an unmounted disk, which `git worktree prune` would forget."""
    repo = a_repository(tmp_path)
    git(repo, "worktree", "add", "-q", "-b", "side", "../side")
    shutil.move(tmp_path / "side", tmp_path / "unplugged")
    world = a_world(tmp_path, repo)

    done = land_task(world, world.task(), lambda at: write(at, new="n"))
    world.workspace.worktrees.remove_worktree(done)

    shutil.move(tmp_path / "unplugged", tmp_path / "side")
    assert git(tmp_path / "side", "status", "--porcelain") == ""


@pytest.mark.spec("0.2", "3.1")
def test_a_run_may_be_started_from_a_linked_worktree(tmp_path: Path) -> None:
    repo = a_repository(tmp_path)
    git(repo, "worktree", "add", "-q", "-b", "side", "../side")
    write(tmp_path / "side", untracked="u")
    before = user_state(tmp_path / "side")
    world = a_world(tmp_path, tmp_path / "side")

    done = land_task(world, world.task(), lambda at: write(at, new="n"))
    world.workspace.worktrees.remove_worktree(done)

    assert world.show(world.run.branch, "new") == "n"
    assert user_state(tmp_path / "side") == before
