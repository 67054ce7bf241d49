"""Proof rooms with real git: their content is the commit and the output of set-up, always."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from yaoki.adapters.workspace import open_repository
from yaoki.adapters.workspace.proof_rooms import GitProofRooms
from yaoki.errors import WorkspaceError
from yaoki.ports import ProofRoom

pytestmark = pytest.mark.spec("16.1")


def git(folder: Path, *words: str) -> str:
    done = subprocess.run(["git", *words], cwd=folder, check=True, capture_output=True, text=True)
    return done.stdout.strip()


@pytest.fixture
def repo(tmp_path: Path) -> Path:
    top = tmp_path / "project"
    top.mkdir()
    git(top, "init", "-q", "-b", "main")
    git(top, "config", "user.name", "n")
    git(top, "config", "user.email", "n@example.org")
    commit(top, {"a.txt": "one\n", "sub/b.txt": "two\n", ".gitignore": "*.gen\nout/\n"})
    return top


def commit(top: Path, files: dict[str, str]) -> str:
    for name, text in files.items():
        (top / name).parent.mkdir(parents=True, exist_ok=True)
        (top / name).write_text(text)
    git(top, "add", "-A")
    git(top, "commit", "-qm", "change")
    return git(top, "rev-parse", "HEAD")


def rooms_of(repo: Path) -> GitProofRooms:
    root = repo.parent / "rooms"
    return GitProofRooms(open_repository(repo), root, real_home=repo.parent / "real-home")


def content(room: ProofRoom) -> set[str]:
    paths = (path.relative_to(room.files) for path in room.files.rglob("*") if path.is_file())
    return {str(path) for path in paths if path.parts[0] != ".git"}


def test_a_room_contains_only_the_commit(repo: Path) -> None:
    head, rooms = git(repo, "rev-parse", "HEAD"), rooms_of(repo)

    with rooms.acquire("plain") as room:
        room.check_out(head)
        room.record_setup_output()
        (room.files / "x.gen").write_text("ignored")
        (room.files / "out").mkdir()
        (room.files / "out" / "y").write_text("ignored")
        (room.files / "new.txt").write_text("untracked")
        (room.files / "a.txt").write_text("changed\n")
        (room.files / "sub" / "b.txt").unlink()
        seen = room.changed_files()
        room.check_out(head)
        after = content(room)

    assert seen == ("a.txt", "sub/b.txt")
    assert after == {"a.txt", "sub/b.txt", ".gitignore"}


def edit(at: Path) -> None:
    (at / "a.txt").write_text("formatted\n")


def stage(at: Path) -> None:
    edit(at)
    git(at, "add", "-A")


def commit_it(at: Path) -> None:
    edit(at)
    git(at, "commit", "-qam", "by a check")


def hide(at: Path) -> None:
    """Set a flag in the clone's index that hides changes of the file."""
    git(at, "update-index", "--skip-worktree", "a.txt")
    edit(at)


def make_executable(at: Path) -> None:
    (at / "a.txt").chmod(0o755)


def link(at: Path) -> None:
    (at / "a.txt").unlink()
    (at / "a.txt").symlink_to("sub/b.txt")


def replace_by_a_folder(at: Path) -> None:
    (at / "a.txt").unlink()
    (at / "a.txt").mkdir()
    (at / "a.txt" / "x").write_text("deep")


ACTS = [edit, stage, commit_it, hide, make_executable, link, replace_by_a_folder]


@pytest.mark.quick_cases(6)
@pytest.mark.parametrize("act", ACTS, ids=lambda act: act.__name__)
def test_a_check_that_changes_a_tracked_file_is_noticed_and_undone(
    repo: Path, act: Callable[[Path], None]
) -> None:
    head = git(repo, "rev-parse", "HEAD")
    with rooms_of(repo).acquire("plain") as room:
        room.check_out(head)
        room.record_setup_output()

        act(room.files)

        assert room.changed_files() == ("a.txt",)
        room.check_out(head)
        assert (room.files / "a.txt").read_text() == "one\n"
        assert git(room.files, "status", "--porcelain", "--ignored") == ""
        assert room.changed_files() == ()


@pytest.mark.spec("17.3")
def test_a_replaced_file_is_restored_by_the_next_checkout(repo: Path) -> None:
    """The mutant has the size of the original."""
    head = git(repo, "rev-parse", "HEAD")
    with rooms_of(repo).acquire("plain") as room:
        room.check_out(head)

        room.replace_file("a.txt", "two\n")

        assert (room.files / "a.txt").read_text() == "two\n"
        assert room.changed_files() == ("a.txt",)
        room.check_out(head)
        assert (room.files / "a.txt").read_text() == "one\n"


def test_only_a_tracked_file_can_be_replaced(repo: Path) -> None:
    with rooms_of(repo).acquire("plain") as room:
        room.check_out(git(repo, "rev-parse", "HEAD"))
        (room.files / "new.txt").write_text("new")
        link(room.files)

        for name in ("new.txt", "a.txt", "../outside"):
            with pytest.raises(WorkspaceError, match="not a tracked file"):
                room.replace_file(name, "x")


def test_a_room_follows_from_commit_to_commit(repo: Path) -> None:
    first = git(repo, "rev-parse", "HEAD")
    git(repo, "rm", "-rq", "sub")
    second = commit(repo, {"sub": "now a file\n", "c/d.txt": "deep\n"})
    with rooms_of(repo).acquire("plain") as room:
        for at, expected in (
            (first, {"a.txt", "sub/b.txt", ".gitignore"}),
            (second, {"a.txt", "sub", "c/d.txt", ".gitignore"}),
            (first, {"a.txt", "sub/b.txt", ".gitignore"}),
        ):
            room.check_out(at)
            assert content(room) == expected
            assert not (room.files / "c").exists() or at == second


def test_output_of_set_up_is_restored_after_every_kind_of_change(repo: Path) -> None:
    head = git(repo, "rev-parse", "HEAD")
    with rooms_of(repo).acquire("key") as room:
        room.check_out(head)
        (room.files / "out" / "deep").mkdir(parents=True)
        (room.files / "out" / "lib.js").write_text("library")
        (room.files / "out" / "deep" / "gone.js").write_text("deep")
        (room.files / "out" / "link").symlink_to("lib.js")
        room.record_setup_output()
        (room.files / "out" / "lib.js").write_text("forged!")
        (room.files / "out" / "deep" / "gone.js").unlink()
        (room.files / "out" / "deep").rmdir()
        (room.files / "out" / "link").unlink()
        (room.files / "out" / "added.js").write_text("added")

        room.check_out(head)

        assert (room.files / "out" / "lib.js").read_text() == "library"
        assert (room.files / "out" / "deep" / "gone.js").read_text() == "deep"
        assert (room.files / "out" / "link").readlink() == Path("lib.js")
        assert not (room.files / "out" / "added.js").exists()


def test_another_process_finds_the_room_set_up(repo: Path) -> None:
    head = git(repo, "rev-parse", "HEAD")
    with rooms_of(repo).acquire("key") as room:
        room.check_out(head)
        (room.files / "x.gen").write_text("made by set-up")
        room.record_setup_output()
    with rooms_of(repo).acquire("key") as again:
        ready = again.is_ready
        (again.files / "y.gen").write_text("left by somebody")
        again.check_out(head)
        kept = content(again)
    with rooms_of(repo).acquire("another") as other:
        fresh = not other.is_ready

    assert ready
    assert fresh
    assert kept == {"a.txt", "sub/b.txt", ".gitignore", "x.gen"}


def test_a_room_with_interrupted_set_up_is_set_up_again(repo: Path) -> None:
    head = git(repo, "rev-parse", "HEAD")
    with rooms_of(repo).acquire("key") as room:
        room.check_out(head)
        (room.files / "half.gen").write_text("half")
    with rooms_of(repo).acquire("key") as again:
        assert not again.is_ready
        again.check_out(head)
        assert "half.gen" not in content(again)


def test_two_concurrent_users_get_two_rooms(repo: Path) -> None:
    rooms = rooms_of(repo)
    with rooms.acquire("plain") as one, rooms.acquire("plain") as other:
        assert one.files != other.files


def test_checks_see_an_ordinary_clone_without_traces_of_yaoki(repo: Path) -> None:
    head = git(repo, "rev-parse", "HEAD")
    git(repo, "tag", "v1")
    git(repo, "update-ref", "refs/heads/yaoki/run", head)
    git(repo, "update-ref", "refs/yaoki/work/run-1/1", head)
    with rooms_of(repo).acquire("plain") as room:
        room.check_out(head)
        inside = room.files
        assert (inside / ".git").is_dir()
        assert git(inside, "status", "--porcelain") == ""
        assert git(inside, "describe", "--tags") == "v1"
        assert "yaoki" not in git(inside, "for-each-ref")
        assert inside.name == repo.name


def list_readable_repositories(folder: Path, revision: str) -> list[str]:
    """The git folders at and below `folder` through which git finds the revision."""
    found = []
    for head in sorted(folder.rglob("HEAD")):
        words = ["git", f"--git-dir={head.parent}", "cat-file", "-e", revision]
        done = subprocess.run(words, check=False, capture_output=True)
        if done.returncode == 0:
            found.append(str(head.parent.relative_to(folder)))
    return found


@pytest.mark.spec("17.5")
@pytest.mark.parametrize("name", ["project", 'a:b "c" \\d'])
def test_no_git_folder_of_a_room_shows_what_a_check_with_declared_inputs_must_not_see(
    tmp_path: Path, name: str
) -> None:
    """A git folder of an earlier version, which had the path of the objects, is mended."""
    top = tmp_path / name
    top.mkdir()
    git(top, "init", "-q", "-b", "main")
    git(top, "config", "user.name", "n")
    git(top, "config", "user.email", "n@example.org")
    head = commit(top, {"api/a.txt": "one\n", "other/b.txt": "two\n"})
    rooms, folder = rooms_of(top), tmp_path / "rooms" / "1"

    with rooms.acquire("plain") as room:
        room.check_out(head)
        room.record_setup_output()
        whole = list_readable_repositories(folder, "HEAD:other/b.txt")
        (folder / "git/objects/info").mkdir(parents=True, exist_ok=True)
        (folder / "git/objects/info/alternates").write_text(f"{top / '.git/objects'}\n")
    with rooms_of(top).acquire("plain") as room:
        room.check_out(head)
        room.keep_only(("api/**",))
        declared = list_readable_repositories(folder, "HEAD:other/b.txt")
        (room.files / "api/a.txt").write_text("changed\n")
        changed = room.changed_files()

    assert whole == [f"tree/{name}/.git"]
    assert declared == []
    assert changed == ("api/a.txt",)


def test_git_commands_of_a_check_affect_only_the_room(repo: Path) -> None:
    head = git(repo, "rev-parse", "HEAD")
    refs = git(repo, "for-each-ref")
    with rooms_of(repo).acquire("plain") as room:
        room.check_out(head)
        git(room.files, "config", "core.hooksPath", "/tmp/planted")
        git(room.files, "commit", "-q", "--allow-empty", "-m", "by a check")
        git(room.files, "branch", "planted")
        room.check_out(head)
        assert git(room.files, "rev-parse", "HEAD") == head
        assert "planted" not in git(room.files, "branch", "--list")
    assert git(repo, "for-each-ref") == refs


def test_modes_and_line_ends_are_those_of_the_commit(repo: Path) -> None:
    """The user's settings would hide a missing execute bit or other line ends."""
    head = commit(repo, {"run.sh": "#!/bin/sh\n"})
    git(repo, "config", "core.fileMode", "false")
    git(repo, "config", "core.autocrlf", "true")
    (repo / "run.sh").chmod(0o755)
    with rooms_of(repo).acquire("plain") as room:
        room.check_out(head)
        script = room.files / "run.sh"
        assert script.stat().st_mode & 0o111 == 0
        assert script.read_bytes() == b"#!/bin/sh\n"
        script.chmod(0o755)
        assert room.changed_files() == ("run.sh",)


def test_private_folders_are_empty_for_every_check_and_caches_are_linked(repo: Path) -> None:
    cache = repo.parent / "real-home" / ".cargo"
    cache.mkdir(parents=True)
    (repo.parent / "real-home" / "secret").write_text("mine")
    with rooms_of(repo).acquire("plain") as room:
        places = room.empty_private_folders()
        (places.home / "mark").write_text("here")
        (places.temporary / "mark").write_text("here")
        (places.reports / "report.xml").write_text("planted")
        again = room.empty_private_folders()

    assert sorted(p.name for p in again.home.iterdir()) == [".cargo", ".gitconfig"]
    assert (again.home / ".cargo").resolve() == cache.resolve()
    assert list(again.temporary.iterdir()) == list(again.reports.iterdir()) == []
    assert cache.is_dir()


def test_the_key_changes_with_the_inputs_of_set_up_only(repo: Path) -> None:
    setup, rooms = (("sh", "make.sh"),), rooms_of(repo)
    first = rooms.key(git(repo, "rev-parse", "HEAD"), setup, ())
    same = rooms.key(commit(repo, {"a.txt": "other\n"}), setup, ())
    named = rooms.key(commit(repo, {"make.sh": "true\n"}), setup, ())
    locked = rooms.key(commit(repo, {"deep/package-lock.json": "{}"}), setup, ())
    head = commit(repo, {"data/x.csv": "1"})
    declared = rooms.key(head, setup, ("data/**",))

    assert first == same
    assert len({first, named, locked, declared, rooms.key(head, (("true",),), ())}) == 5
    assert rooms.key(head, (), ()) == "plain"


def test_files_that_every_worktree_gets_are_in_the_room_as_well(repo: Path) -> None:
    head = commit(repo, {".worktreeinclude": "local.gen\n"})
    (repo / "local.gen").write_text("settings")
    rooms = rooms_of(repo)
    key = rooms.key(head, (), ())
    with rooms.acquire(key) as room:
        room.check_out(head)
        room.record_setup_output()
        room.check_out(head)
        assert (room.files / "local.gen").read_text() == "settings"
    (repo / "local.gen").write_text("other settings")
    assert rooms_of(repo).key(head, (), ()) != key


def test_the_process_of_a_killed_worker_is_recorded(repo: Path) -> None:
    with rooms_of(repo).acquire("plain") as room:
        room.check_out(git(repo, "rev-parse", "HEAD"))
        room.record_setup_output()
        room.occupy(repo.parent / "checks" / "1-tests")
    with rooms_of(repo).acquire("plain") as again:
        assert again.occupant == repo.parent / "checks" / "1-tests"
        again.occupy(None)
        assert again.occupant is None


def test_unused_rooms_are_removed(repo: Path) -> None:
    rooms, later = rooms_of(repo), datetime.now(UTC) + timedelta(days=1)
    with rooms.acquire("plain"):
        assert rooms.remove_unused(later) == 0
    assert rooms.remove_unused(datetime.now(UTC) - timedelta(days=1)) == 0
    assert rooms.remove_unused(later) == 1


def test_linked_checkouts_of_a_clone_have_rooms_of_their_own(repo: Path) -> None:
    linked = repo.parent / "linked"
    git(repo, "worktree", "add", "-q", "-b", "feature", str(linked))
    head = git(repo, "rev-parse", "HEAD")

    used: dict[Path, set[Path]] = {repo: set(), linked: set()}
    for top in (repo, linked) * 2:
        with rooms_of(top).acquire("plain") as room:
            was_ready = room.is_ready
            room.check_out(head)
            room.record_setup_output()
            assert content(room) == {"a.txt", "sub/b.txt", ".gitignore"}
            assert was_ready == bool(used[top]), "each finds its own room again"
            used[top].add(room.files)

    assert [len(folders) for folders in used.values()] == [1, 1]
    with rooms_of(repo).acquire("plain") as one, rooms_of(linked).acquire("plain") as other:
        assert one.files.parents[1] != other.files.parents[1]


def test_a_room_without_its_files_is_set_up_again(repo: Path) -> None:
    head, rooms = git(repo, "rev-parse", "HEAD"), rooms_of(repo)
    with rooms.acquire("plain") as room:
        room.check_out(head)
        room.record_setup_output()
    room.files.rename(room.files.with_name("earlier-name"))

    with rooms_of(repo).acquire("plain") as again:
        again.check_out(head)
        assert content(again) == {"a.txt", "sub/b.txt", ".gitignore"}
