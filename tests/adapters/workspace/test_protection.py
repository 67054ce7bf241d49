"""Attacks around git's settings: dangling links, replaced objects, environment variables."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.repositories import World, a_repository, a_world, git, run_attempt, start_attempt, write
from yaoki.adapters.git import config_files
from yaoki.adapters.git.command import git_environment
from yaoki.adapters.git.config_files import read_bounded
from yaoki.adapters.workspace.protect.agent_settings import read_agent_settings


def differing(world: World, before: dict[str, str], task_id: str = "") -> set[str]:
    after = dict(world.workspace.protection.hash_protected_files(task_id))
    return {name for name in {*before, *after} if before.get(name) != after.get(name)}


def replace(repo: Path) -> Path:
    """Replace a file of the base by a replace ref; returns the ref."""
    old = git(repo, "rev-parse", "HEAD:a.txt").strip()
    write(repo, other="evil\n")
    git(repo, "replace", old, git(repo, "hash-object", "-w", "other").strip())
    return repo / ".git" / "refs" / "replace" / old


@pytest.mark.spec("14.2")
@pytest.mark.parametrize("target", ["../../tools/h.sh", "/no/such/place"])
def test_a_dangling_hook_link_changes_the_protected_hashes(tmp_path: Path, target: str) -> None:
    """Landed work may create the target of the link."""
    world = a_world(tmp_path)
    before = dict(world.workspace.protection.hash_protected_files())
    hooks = world.repo / ".git" / "hooks"
    hooks.mkdir(exist_ok=True)

    (hooks / "post-merge").symlink_to(target)

    assert differing(world, before) == {"hooks/post-merge"}


@pytest.mark.spec("14.2")
def test_a_hook_link_to_equal_content_changes_the_protected_hashes(tmp_path: Path) -> None:
    repo = a_repository(tmp_path)
    hook = repo / ".git" / "hooks" / "post-merge"
    write(tmp_path, one="#!/bin/sh\n", two="#!/bin/sh\n")
    hook.parent.mkdir(exist_ok=True)
    hook.symlink_to(tmp_path / "one")
    world = a_world(tmp_path, repo)
    before = dict(world.workspace.protection.hash_protected_files())

    hook.unlink()
    hook.symlink_to(tmp_path / "two")

    assert differing(world, before) == {"hooks/post-merge"}


@pytest.mark.spec("14.2")
@pytest.mark.parametrize("name", ["hooks", "refs", "objects", "info"])
def test_a_git_folder_replaced_by_a_link_changes_the_protected_hashes(
    tmp_path: Path, name: str
) -> None:
    world = a_world(tmp_path)
    folder = world.repo / ".git" / name
    folder.mkdir(exist_ok=True)
    before = dict(world.workspace.protection.hash_protected_files())

    folder.rename(tmp_path / "moved")
    folder.symlink_to(tmp_path / "moved")

    assert name in differing(world, before)


@pytest.mark.spec("14.2")
def test_a_dangling_hooks_folder_changes_the_protected_hashes(
    tmp_path: Path,
) -> None:
    repo, folder = a_repository(tmp_path), tmp_path / "own"
    git(repo, "config", "core.hooksPath", str(folder))
    world = a_world(tmp_path, repo)
    before = dict(world.workspace.protection.hash_protected_files())

    folder.symlink_to(repo / "tools")

    assert differing(world, before) == {str(folder)}


@pytest.mark.spec("14.2")
@pytest.mark.parametrize("name", ["config", "config.worktree", "info/attributes"])
def test_a_dangling_config_link_changes_the_protected_hashes(tmp_path: Path, name: str) -> None:
    world = a_world(tmp_path)
    before = dict(world.workspace.protection.hash_protected_files())
    file = world.repo / ".git" / name
    if name == "config":
        # The same bytes, at a place that the work which lands may write.
        file.rename(world.repo / "kept.cfg")
        file.symlink_to("../kept.cfg")
    else:
        file.symlink_to("../../tools/x")

    assert name in differing(world, before)


@pytest.mark.spec("14.2")
@pytest.mark.parametrize("name", ["commondir", "objects/info/alternates", "info/grafts"])
def test_files_that_point_git_elsewhere_change_the_protected_hashes(
    tmp_path: Path, name: str
) -> None:
    world = a_world(tmp_path)
    before = dict(world.workspace.protection.hash_protected_files())
    file = world.repo / ".git" / name
    file.parent.mkdir(parents=True, exist_ok=True)

    file.write_text("/no/such/place\n")

    assert differing(world, before) == {name}


@pytest.mark.spec("14.2")
def test_the_repository_link_of_a_worktree_is_protected(tmp_path: Path) -> None:
    world = a_world(tmp_path)
    begun = start_attempt(world, world.task())
    before = dict(world.workspace.protection.hash_protected_files(begun.id))
    admin = Path(git(Path(begun.work.worktree), "rev-parse", "--absolute-git-dir").strip())

    (admin / "commondir").write_text("/no/such/place\n")

    assert {Path(name).name for name in differing(world, before, begun.id)} == {"commondir"}


@pytest.mark.spec("14.2")
def test_a_checkout_redirected_to_another_repository_changes_the_protected_hashes(
    tmp_path: Path,
) -> None:
    repo = a_repository(tmp_path)
    git(repo, "worktree", "add", "-q", "-b", "side", "../side")
    world = a_world(tmp_path, tmp_path / "side")
    before = dict(world.workspace.protection.hash_protected_files())
    pointer = tmp_path / "side" / ".git"

    pointer.write_text("gitdir: /no/such/place\n")

    assert differing(world, before) == {str(pointer)}


@pytest.mark.spec("14.2")
@pytest.mark.parametrize("packed", [False, True])
def test_replace_refs_change_the_protected_hashes(tmp_path: Path, packed: bool) -> None:
    world = a_world(tmp_path)
    before = dict(world.workspace.protection.hash_protected_files())

    ref = replace(world.repo)
    if packed:
        git(world.repo, "pack-refs", "--all")
    assert ref.exists() is not packed

    assert differing(world, before) == {"refs/replace"}


@pytest.mark.spec("14.2")
def test_packing_refs_is_no_tampering(tmp_path: Path) -> None:
    repo = a_repository(tmp_path)
    replace(repo)
    world = a_world(tmp_path, repo)
    before = dict(world.workspace.protection.hash_protected_files())

    git(repo, "pack-refs", "--all")
    git(repo, "gc", "-q")

    assert differing(world, before) == set()


@pytest.mark.spec("14.2")
@pytest.mark.parametrize(
    ("name", "act"),
    [
        (
            "remotes",
            lambda repo: git(repo, "config", "remote.origin.url", "ssh://elsewhere.example/x"),
        ),
        (
            "remotes",
            lambda repo: git(repo, "config", "branch.main.pushRemote", "https://elsewhere.example"),
        ),
        ("identity", lambda repo: git(repo, "config", "user.name", "Claude")),
        ("identity", lambda repo: git(repo, "config", "committer.email", "noreply@bot.example")),
        ("shallow", lambda repo: (repo / ".git" / "shallow").write_text("0" * 40 + "\n")),
    ],
)
def test_changes_a_person_may_make_are_reported_and_not_blamed(
    tmp_path: Path, name: str, act: Callable[[Path], object]
) -> None:
    world = a_world(tmp_path)
    blamed, told = (
        dict(world.workspace.protection.hash_protected_files()),
        dict(world.workspace.protection.hash_checkout()),
    )

    act(world.repo)

    after = dict(world.workspace.protection.hash_checkout())
    assert {n for n in {*told, *after} if told.get(n) != after.get(n)} == {f"checkout/{name}"}
    assert world.workspace.protection.hash_protected_files() == blamed


@pytest.mark.spec("14.2")
@pytest.mark.parametrize("channel", [1, 2])
def test_the_file_that_yaoki_itself_writes_its_output_to_is_no_change(
    tmp_path: Path, channel: int
) -> None:
    """As in `yaoki run plan.yaml > run.log` in the checkout."""
    world = a_world(tmp_path)
    (world.repo / "other.txt").write_text("a\n")
    with (world.repo / "run.txt").open("w") as log, redirected(channel, log.fileno()):
        before = dict(world.workspace.protection.hash_checkout())
        os.write(channel, b"more\n")
        assert world.workspace.protection.hash_checkout() == before

        (world.repo / "other.txt").write_text("more\n")
        after = world.workspace.protection.hash_checkout()

    assert "checkout/untracked run.txt" not in after
    key = "checkout/untracked other.txt"
    assert before[key] != after[key]


@contextmanager
def redirected(channel: int, file: int) -> Iterator[None]:
    kept = os.dup(channel)
    os.dup2(file, channel)
    try:
        yield
    finally:
        os.dup2(kept, channel)
        os.close(kept)


@pytest.mark.spec("14.2")
def test_a_pipe_in_place_of_a_file_blocks_nothing(tmp_path: Path) -> None:
    pipe = tmp_path / ".claude" / "settings.json"
    pipe.parent.mkdir()
    os.mkfifo(pipe)

    assert read_bounded(str(pipe)).startswith(b"[")
    assert read_agent_settings(str(tmp_path), {}) == {}


@pytest.mark.spec("14.2")
def test_an_agents_filter_sees_no_secret_in_the_environment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("UNRELATED_TOKEN", "a-key-of-the-person")
    monkeypatch.setenv("UNRELATED_NAME", "a-word-of-the-person")
    world, stolen = a_world(tmp_path), tmp_path / "stolen"
    # Planted by an agent of another worker: what comes while this one works it does not start.
    git(world.repo, "config", "filter.x.clean", f"sh -c 'env >> {stolen}; cat'")

    run_attempt(world, world.task(), lambda at: write(at, __gitattributes="* filter=x\n", new="n"))

    assert "PATH=" in stolen.read_text(), "the filter must run for the test to mean something"
    assert "of-the-person" not in stolen.read_text()


@pytest.mark.spec("14.2")
def test_git_gets_transport_variables_and_nothing_else() -> None:
    ways = {"SSH_AUTH_SOCK": "/s", "HTTPS_PROXY": "p", "https_proxy": "p", "SSL_CERT_FILE": "/c"}
    own = {"PATH": "/bin", "HOME": "/h", "LC_CTYPE": "C.UTF-8", "XDG_CONFIG_HOME": "/x"}
    others = {
        "GIT_DIR": "/g",
        "SSH_KEY_PASSPHRASE": "s",
        "AWS_SECRET_ACCESS_KEY": "s",
        "PLAIN": "s",
    }

    given = git_environment({**ways, **own, **others})

    assert given.items() >= {**ways, **own}.items()
    assert not given.keys() & others.keys()


@pytest.mark.spec("14.2")
def test_a_settings_file_that_is_kept_in_memory_is_read_again_after_any_change(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With the same size and the old modification time: the ctime cannot be set back."""
    monkeypatch.setattr(config_files, "SETTLED_S", -60.0)
    file = tmp_path / "config"
    file.write_bytes(b"[a]\n\tb = 1\n")
    before = file.stat()
    first = read_bounded(str(file))
    kept = read_bounded(str(file))

    while file.stat().st_ctime_ns == before.st_ctime_ns:
        file.write_bytes(b"[a]\n\tb = 2\n")
        os.utime(file, ns=(before.st_atime_ns, before.st_mtime_ns))

    assert (first, kept) == (b"[a]\n\tb = 1\n",) * 2
    assert read_bounded(str(file)) == b"[a]\n\tb = 2\n"


@pytest.mark.spec("14.2")
def test_a_file_that_was_just_written_is_not_kept_in_memory(tmp_path: Path) -> None:
    """Two writes within one tick of the clock have the same times."""
    file = tmp_path / "config"
    for content in (b"1", b"2", b"3"):
        file.write_bytes(content)
        os.utime(file, ns=(0, 0))
        assert read_bounded(str(file)) == content
    assert not [key for key in config_files._contents if key[0] == str(file)]
