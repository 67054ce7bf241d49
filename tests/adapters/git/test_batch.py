"""Long-running git processes: they give the same results as single git commands."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.repositories import a_repository, commit, git, write
from yaoki.adapters.git.command import Git
from yaoki.adapters.git.commits import Commits, compose_message
from yaoki.adapters.git.refs import RefMove, Refs, move_or_fail
from yaoki.adapters.git.tree_diff import parse_raw_diff, read_raw_diff
from yaoki.errors import GitFailed

pytestmark = pytest.mark.spec("13.1")


@pytest.fixture
def top(tmp_path: Path) -> Path:
    return a_repository(tmp_path)


def test_refs_move_all_or_none_and_a_refusal_keeps_the_process_usable(top: Path) -> None:
    refs, head = Refs(Git(top / ".git")), git(top, "rev-parse", "HEAD")
    other = "1" * len(head)

    assert refs.move(RefMove("refs/yaoki/work/a/1", head), RefMove("refs/yaoki/work/a/2", head, ""))
    assert not refs.move(
        RefMove("refs/yaoki/work/a/3", head), RefMove("refs/yaoki/work/a/2", head, "")
    )
    with pytest.raises(GitFailed, match="nonexistent object"):
        refs.move(RefMove("refs/yaoki/work/a/3", other))
    assert refs.move(RefMove("refs/yaoki/work/a/1", "", head))

    there = git(top, "for-each-ref", "--format=%(refname)", "refs/yaoki").splitlines()
    assert there == ["refs/yaoki/work/a/2"]


def test_refs_moved_or_packed_by_another_process_are_read(top: Path) -> None:
    refs, first = Refs(Git(top / ".git")), git(top, "rev-parse", "HEAD")
    (top / "more").write_text("x")
    second = commit(top)
    move_or_fail(refs, RefMove("refs/yaoki/work/a/1", first))

    git(top, "update-ref", "refs/yaoki/work/a/1", second)
    git(top, "pack-refs", "--all")

    assert not refs.move(RefMove("refs/yaoki/work/a/1", first, first))
    assert refs.move(RefMove("refs/yaoki/work/a/1", first, second))


def test_the_batch_diff_equals_that_of_git(top: Path) -> None:
    """Also for names with newlines, and for an object that was created after a first query."""
    held, first = Git(top / ".git"), git(top, "rev-parse", "HEAD")
    (top / "two\nlines").write_text("x")
    (top / "end-").write_text("x")
    (top / "a.txt").unlink()
    second = commit(top)

    words = ("diff-tree", "-r", "--raw", "-z", "--no-renames", first, second)
    assert read_raw_diff(held, first, second) == git(top, *words).encode()
    assert read_raw_diff(held, second, first) != read_raw_diff(held, first, second)
    assert read_raw_diff(held, first, f"{first}^{{tree}}") == b""
    with pytest.raises(GitFailed):
        read_raw_diff(held, first, "0" * len(first))


@pytest.mark.spec("3.6")
def test_a_moved_submodule_counts_although_the_repository_ignores_it(top: Path) -> None:
    """An agent could move it out of scope, and its move was neither shown nor refused."""
    write(top, __gitmodules='[submodule "lib"]\n\tpath = lib\n\turl = ./lib\n\tignore = all\n')
    git(top, "add", ".gitmodules")
    commits = [git(top, "rev-parse", "HEAD")]
    for _ in range(2):
        git(top, "update-index", "--add", "--cacheinfo", f"160000,{commits[-1]},lib")
        git(top, "commit", "-qm", "a link")
        commits.append(git(top, "rev-parse", "HEAD"))
    assert git(top, "diff-tree", "-r", commits[1], commits[2]) == "", "git ignores it"

    (moved,) = parse_raw_diff(read_raw_diff(Git(top / ".git"), commits[1], commits[2]))

    assert (moved.path, moved.is_moved_gitlink) == ("lib", True)


@pytest.mark.parametrize(
    ("name", "email"),
    [("Una", "una@example.org"), ("七転び <八起き>\n.", '"u"<na@example.org>;')],
)
def test_a_batch_commit_equals_that_of_git(top: Path, name: str, email: str) -> None:
    git(top, "config", "user.name", name)
    git(top, "config", "user.email", email)
    held, head = Git(top / ".git"), git(top, "rev-parse", "HEAD")
    tree = git(top, "rev-parse", "HEAD^{tree}")
    words = compose_message("Ünïcode, and a subject", Run="ab12cd34")

    made = Commits(held).make(tree, [head], words)
    beside = held.read_text("commit-tree", "-p", head, tree, stdin=words.encode())

    def without_time(sha: str) -> str:
        form = "%T%n%P%n%an%n%ae%n%cn%n%ce%n%ad%n%B"
        return git(top, "log", "-1", f"--format={form}", "--date=format:%z", sha)

    assert without_time(made) == without_time(beside)
    git(top, "update-ref", "refs/heads/made", made)
    assert git(top, "fsck", "--strict", "--no-dangling") == ""


def test_a_user_name_without_letters_gives_the_default_identity(top: Path) -> None:
    git(top, "config", "user.name", "...")
    git(top, "config", "user.email", "<>")
    tree = git(top, "rev-parse", "HEAD^{tree}")

    made = Commits(Git(top / ".git")).make(tree, [], "words\n")

    assert git(top, "log", "-1", "--format=%an <%ae>", made) == "yaoki <yaoki@localhost>"


def test_a_symbolic_ref_of_yaoki_is_replaced_and_one_of_the_user_followed(top: Path) -> None:
    refs, first = Refs(Git(top / ".git")), git(top, "rev-parse", "HEAD")
    (top / "more").write_text("x")
    second = commit(top)
    for name in ("refs/yaoki/work/a/1", "refs/heads/alias"):
        git(top, "symbolic-ref", name, "refs/heads/main")
    git(top, "checkout", "-q", "--detach")

    move_or_fail(refs, RefMove("refs/yaoki/work/a/1", first))
    assert git(top, "rev-parse", "main", "refs/yaoki/work/a/1").split() == [second, first]
    assert refs.move(RefMove("refs/heads/alias", first, second), reason="test: the user's own name")
    assert git(top, "symbolic-ref", "refs/heads/alias") == "refs/heads/main"
    assert git(top, "rev-parse", "main") == first
