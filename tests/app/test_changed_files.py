"""What helps if a check changes tracked files on the base."""

import pytest

from yaoki.app.changed_files import suggest_remedy

pytestmark = pytest.mark.spec("12.3")


@pytest.mark.parametrize(
    ("path", "ignored"),
    [
        ("coverage.xml", "coverage.xml"),
        (".coverage", ".coverage"),
        ("out/junit-unit.xml", "out/junit-unit.xml"),
        ("src/shop.egg-info/PKG-INFO", "src/shop.egg-info"),
        ("a b/__pycache__/x.pyc", "'a b/__pycache__'"),
    ],
)
def test_a_generated_file_is_no_longer_tracked(path: str, ignored: str) -> None:
    found = suggest_remedy([path], ["pytest"])

    assert found.words == "it is generated: let git ignore it, and commit that"
    assert found.command.startswith(f"git rm -r --cached {ignored} && printf ")
    assert found.command.endswith(" >> .gitignore")


@pytest.mark.parametrize(
    ("command", "option"),
    [
        ("ruff check .", "--no-fix"),
        ("uv run ruff format", "--check"),
        ("black src", "--check"),
        ("npx prettier -w .", "--check"),
        ("cargo fmt", "--check"),
    ],
)
def test_a_formatter_gets_the_option_that_changes_nothing(command: str, option: str) -> None:
    assert suggest_remedy(["src/a.py"], command.split()).words == f"add {option}"


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        (["a/__snapshots__/x.test.js.snap"], "commit the snapshots that it writes"),
        (["Cargo.lock"], "commit the lock file, or add --locked"),
        (["sub/poetry.lock"], "run it in your checkout and commit the lock file"),
        (["README", "Cargo.lock"], "git rm --cached FILE, and add FILE to .gitignore"),
        (["src/report.py"], "a check must not change files"),
    ],
)
def test_other_changed_files_have_a_remedy_in_words(changed: list[str], words: str) -> None:
    found = suggest_remedy(changed, ["make", "test"])

    assert words in found.words
    assert found.command == ""
