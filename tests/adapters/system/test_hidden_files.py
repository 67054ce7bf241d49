"""Hidden files: frozen whole, laid over a checkout, and gone afterwards."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from yaoki.adapters.system import hidden_files
from yaoki.adapters.system.hidden_files import (
    HiddenContent,
    HiddenFile,
    HiddenFilesRefused,
    list_revealing_paths,
    read_hidden_folder,
)

pytestmark = pytest.mark.spec("17.2")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    top = tmp_path / "hidden"
    (top / "tests").mkdir(parents=True)
    (top / "tests" / "test_a.py").write_bytes(b"assert 1\r\n\xff")
    (top / "run.sh").write_text("exit 0\n")
    (top / "run.sh").chmod(0o755)
    for name in ("__pycache__", ".git", "node_modules"):
        (top / name).mkdir()
        (top / name / "x").write_text("not ours")
    return top


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    top = tmp_path / "checkout"
    top.mkdir()
    return top


def content_of(top: Path) -> dict[str, str]:
    return {
        str(path.relative_to(top)): str(path.readlink()) if path.is_symlink() else path.read_text()
        for path in sorted(top.rglob("*"))
        if path.is_symlink() or path.is_file()
    }


def test_a_folder_is_read_whole_and_survives_the_store(folder: Path) -> None:
    content = read_hidden_folder(folder)

    assert content.files == {
        "run.sh": HiddenFile(b"exit 0\n", is_executable=True),
        "tests/test_a.py": HiddenFile(b"assert 1\r\n\xff"),
    }
    again = HiddenContent.from_text(content.to_text())
    assert again == content
    assert again.digest == content.digest


@pytest.mark.parametrize("change", ["content", "name", "rights"])
def test_the_digest_changes_with_the_files(folder: Path, change: str) -> None:
    before = read_hidden_folder(folder).digest
    file = folder / "run.sh"
    if change == "content":
        file.write_text("exit 1\n")
    elif change == "name":
        file.rename(folder / "go.sh")
    else:
        file.chmod(0o644)

    assert read_hidden_folder(folder).digest != before


def test_the_digest_does_not_depend_on_the_place(folder: Path, tmp_path: Path) -> None:
    before = read_hidden_folder(folder).digest

    assert read_hidden_folder(folder.rename(tmp_path / "elsewhere")).digest == before


def test_files_are_there_during_the_check_alone(folder: Path, checkout: Path) -> None:
    (checkout / "own.py").write_text("mine")
    before = content_of(checkout)

    with read_hidden_folder(folder).laid_over(checkout):
        assert (checkout / "tests" / "test_a.py").read_bytes() == b"assert 1\r\n\xff"
        assert os.access(checkout / "run.sh", os.X_OK)
        (checkout / "tests" / "report.xml").write_text("left by the check")

    assert content_of(checkout) == {**before, "tests/report.xml": "left by the check"}


def test_what_is_in_the_way_is_moved_aside_and_comes_back(folder: Path, checkout: Path) -> None:
    """An agent committed a file, a link and a folder at the paths of hidden files."""
    elsewhere = checkout.parent / "elsewhere"
    elsewhere.mkdir()
    (checkout / "tests").symlink_to(elsewhere)
    (checkout / "run.sh").mkdir()
    (checkout / "run.sh" / "deep.txt").write_text("mine")
    before = content_of(checkout)

    with read_hidden_folder(folder).laid_over(checkout):
        assert not (checkout / "tests").is_symlink()
        assert (checkout / "run.sh").read_text() == "exit 0\n"
        assert list(elsewhere.iterdir()) == [], "no link is followed"

    assert content_of(checkout) == before
    assert (checkout / "tests").is_symlink()


def test_a_package_called_like_a_hidden_module_is_moved_aside(folder: Path, checkout: Path) -> None:
    (folder / "tests" / "helpers.py").write_text("def expect(): ...\n")
    (checkout / "tests" / "helpers").mkdir(parents=True)
    (checkout / "tests" / "helpers" / "__init__.py").write_text("mine")
    (checkout / "tests" / "others.py").write_text("mine")
    before = content_of(checkout)

    with read_hidden_folder(folder).laid_over(checkout):
        assert not (checkout / "tests" / "helpers").exists()
        assert (checkout / "tests" / "others.py").exists()

    assert content_of(checkout) == before


def test_a_folder_that_the_check_replaced_by_a_link_is_not_followed(
    folder: Path, checkout: Path
) -> None:
    """The code under test could otherwise have files of the user deleted."""
    victim = checkout.parent / "victim"
    victim.mkdir()
    (victim / "test_a.py").write_text("the user's")

    def check() -> None:
        with read_hidden_folder(folder).laid_over(checkout):
            (checkout / "tests" / "test_a.py").unlink()
            (checkout / "tests").rmdir()
            (checkout / "tests").symlink_to(victim)

    with pytest.raises(NotADirectoryError):
        check()
    assert (victim / "test_a.py").read_text() == "the user's"


def test_only_names_that_the_files_define_are_declared(folder: Path) -> None:
    (folder / "tests" / "test_b.py").write_text(
        "class TestOrder:\n    def test_empty(self): ...\n    def test_2d(self): ...\n"
    )
    (folder / "a.test.js").write_text(
        "test('rejects an empty order', f); it(\"adds 20 and 22 to 42\", f); foo('other')\n"
    )
    (folder / "a_test.go").write_text("func TestAdd(t *testing.T) {}\n")

    declared = read_hidden_folder(folder).declared_names

    assert declared == {"TestOrder", "test_empty", "test_2d", "rejects an empty order", "TestAdd"}


def test_a_folder_in_a_repository_is_hidden_with_its_history_alone(tmp_path: Path) -> None:
    """The home folder may be a repository; everything else in it stays visible."""
    (tmp_path / "home" / ".git").mkdir(parents=True)
    tests = tmp_path / "home" / "tests"
    tests.mkdir()

    assert list_revealing_paths(tests) == (tests, tmp_path / "home" / ".git")
    assert list_revealing_paths(tmp_path / "plain") == (tmp_path / "plain",)


@pytest.mark.parametrize("name", ["a.test.js", ".eslintrc", "Makefile", "b.tar.gz"])
def test_a_file_of_the_same_name_is_replaced_whatever_its_endings_are(
    tmp_path: Path, checkout: Path, name: str
) -> None:
    (tmp_path / "plain").mkdir()
    (tmp_path / "plain" / name).write_text("hidden")
    (checkout / name).write_text("mine")

    with read_hidden_folder(tmp_path / "plain").laid_over(checkout):
        assert (checkout / name).read_text() == "hidden"

    assert content_of(checkout) == {name: "mine"}


def test_files_that_only_begin_alike_stay(folder: Path, checkout: Path) -> None:
    (checkout / "run.txt").write_text("mine")
    (checkout / "run.cpython-311.so").write_text("mine")

    with read_hidden_folder(folder).laid_over(checkout):
        assert (checkout / "run.txt").exists()
        assert not (checkout / "run.cpython-311.so").exists()


def test_files_are_removed_when_the_check_fails(folder: Path, checkout: Path) -> None:
    with (
        pytest.raises(RuntimeError, match="its check"),
        read_hidden_folder(folder).laid_over(checkout),
    ):
        raise RuntimeError("its check")

    assert content_of(checkout) == {}


@pytest.mark.parametrize("kind", ["link", "folder link", "pipe"])
def test_only_plain_files_are_taken(folder: Path, kind: str) -> None:
    place = folder / "tests" / "odd"
    if kind == "pipe":
        os.mkfifo(place)
    else:
        place.symlink_to("/etc" if kind == "folder link" else "/etc/hostname")

    with pytest.raises(HiddenFilesRefused, match="odd is not a plain file"):
        read_hidden_folder(folder)


def test_a_folder_that_is_too_large_is_refused(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(hidden_files, "FILES_MAX", 1)

    with pytest.raises(HiddenFilesRefused, match="more than 1 files or 20 MiB"):
        read_hidden_folder(folder)
    monkeypatch.undo()
    monkeypatch.setattr(hidden_files, "BYTES_MAX", 12)
    with pytest.raises(HiddenFilesRefused, match="more than 2,000 files or 12 bytes"):
        read_hidden_folder(folder)
