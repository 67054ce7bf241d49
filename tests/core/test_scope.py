"""The scope of a task, and paths outside it."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from yaoki.core.scope import (
    is_in_scope,
    matches_glob,
    paths_outside_scope,
    session_paths,
    yaoki_paths,
)

TABLE = [
    ("src/**", "src/a.py", True),
    ("src/**", "src/a/b/c.py", True),
    ("src/**", "src", False),
    ("src/**", "srcs/a.py", False),
    ("src/**", "lib/src/a.py", False),
    ("src", "src/a/b.py", True),
    ("src/", "src/a/b.py", True),
    ("./src/", "src/a", True),
    ("/src/a.py", "src/a.py", True),
    ("src/*.py", "src/a.py", True),
    ("src/*.py", "src/a/b.py", False),
    ("src/*", "src/a/b.py", False),
    ("*.md", "README.md", True),
    ("*.md", "docs/a.md", False),
    ("**/*.md", "docs/a.md", True),
    ("**/*.md", "README.md", True),
    ("**/test_*.py", "a/b/test_x.py", True),
    ("src/**/x.py", "src/x.py", True),
    ("src/**/x.py", "src/a/b/x.py", True),
    ("src/**/x.py", "src/a/b/y.py", False),
    ("**", "anything/at/all", True),
    ("file?.txt", "file1.txt", True),
    ("file[0-3].txt", "file7.txt", False),
    ("README.md", "readme.md", False),
    ("", "a", False),
    ("/", "a", False),
]


@pytest.mark.spec("3.6")
@pytest.mark.parametrize(("glob", "path", "fits"), TABLE)
def test_a_glob_matches_its_paths(glob: str, path: str, fits: bool) -> None:
    assert matches_glob(path, glob) is fits


@pytest.mark.spec("3.6")
def test_paths_that_no_glob_matches_are_outside() -> None:
    changed = ["tests/a.py", "src/auth/x.py", "setup.cfg", "docs/a.md"]

    assert paths_outside_scope(changed, ["src/**", "tests/**"]) == ("docs/a.md", "setup.cfg")


def test_no_path_is_outside_an_empty_scope() -> None:
    assert paths_outside_scope(["a", "b/c"], []) == ()


@pytest.mark.spec("3.6", "14.3")
@pytest.mark.parametrize(
    ("path", "scope", "own"),
    [
        ("yaoki.toml", (), True),
        ("yaoki.toml", ("src",), True),
        ("yaoki.toml", ("yaoki.toml",), False),
        ("docs/yaoki.toml", (), False),
        (".yaoki/state.db", (), True),
        (".yaoki/state.db", ("**",), True),
        (".Yaoki/state.db", (), True),
        ("src/.yaoki/a", (), False),
    ],
)
def test_files_of_yaoki_are_outside_the_scope_of_every_task(
    path: str, scope: tuple[str, ...], own: bool
) -> None:
    assert yaoki_paths([path, "src/a.py"], scope) == ((path,) if own else ())


def test_the_last_matching_glob_decides() -> None:
    globs = ["src/**", "!src/secret/**", "src/secret/open.py"]

    assert is_in_scope("src/a.py", globs)
    assert not is_in_scope("src/secret/a.py", globs)
    assert is_in_scope("src/secret/open.py", globs)


def test_matching_many_stars_is_fast() -> None:
    assert not matches_glob("a/" * 200 + "b", "**/a/" * 60 + "c")
    assert not matches_glob("a" * 5000, "a*" * 200 + "b")


@given(st.lists(st.sampled_from(["a", "b", "c.py"]), min_size=1, max_size=6))
def test_a_path_is_in_its_own_scope(parts: list[str]) -> None:
    path = "/".join(parts)

    assert matches_glob(path, path)
    assert matches_glob(path, "**")
    assert paths_outside_scope([path], [parts[0]]) == ()


@pytest.mark.spec("16.10")
@pytest.mark.parametrize(
    ("path", "starts"),
    [
        ("app.py", False),
        (".claude/settings.json", True),
        ("sub/.claude/hooks/stop.sh", True),
        (".claude/session-state/last", False),
        (".claude/logs/.codex/config.toml", True),
        (".mcp.json", True),
        ("plans/.vscode/tasks.json", True),
    ],
)
def test_files_that_start_a_program_in_the_next_session_are_recognised(
    path: str, starts: bool
) -> None:
    assert bool(session_paths([path], ())) is starts


@pytest.mark.spec("16.10")
@pytest.mark.parametrize(
    ("scope", "allowed"),
    [
        (("**",), False),
        ((".claude/**",), True),
        (("sub/.claude/hooks/stop.sh",), False),
        ((".claude/settings.json",), True),
        ((".claude/**", "!.claude/settings.json"), False),
        (("**", ".claude/other.json"), False),
        (("src", ".claude/other.json", ".claude"), True),
        (("x.claude/**", "**"), False),
    ],
)
def test_a_session_start_file_is_allowed_only_by_a_glob_that_names_it(
    scope: tuple[str, ...], allowed: bool
) -> None:
    path = ".claude/settings.json"

    assert session_paths([path, "src/a.py"], scope) == (() if allowed else (path,))


@pytest.mark.spec("3.6")
@pytest.mark.parametrize(
    ("glob", "path", "fits"),
    [
        ("a*/", "ab/c", True),
        ("a*", "ab/c", False),
        ("/a*", "ab/c", False),
        ("x/**/y", "a/y", False),
        ("**/**/a", "a", True),
        ("a/**/**/b", "a/b", True),
        ("a/**/c/**/e", "a/b/c/d/e", True),
        ("**/a/b", "a/a/b", True),
        ("a/b/**/c", "a", False),
        ("**/b", "a", False),
    ],
)
def test_a_double_star_spans_folders(glob: str, path: str, fits: bool) -> None:
    assert matches_glob(path, glob) is fits
