"""New files that look left behind, and those that are wanted."""

from __future__ import annotations

import pytest

from yaoki.core.forgotten_files import find_forgotten_files

LEFT = (
    *(".env", "app/.env.local", "core", "core.dump", "core.1234", "vgcore.77"),
    *("a.py.bak", "a.py.orig", "a.py.rej", "a.py~", ".a.py.swp"),
    *("tmp_debug.log", "logs/x.log", "tmp_try.py", "x.tmp"),
    *("__pycache__/a.cpython-311.pyc", "a.pyc", "src/.pytest_cache/README.md", ".coverage"),
    *("web/node_modules/x/index.js", ".coverage.host.1", ".DS_Store"),
)
ORDINARY = (
    ".env.example",
    ".env.sample",
    ".env.template",
    "core.py",
    "core/a.py",
    "log.py",
    "tmp",
    ".coveragerc",
)


@pytest.mark.spec("9.4")
def test_new_files_that_look_left_behind_are_found_in_order() -> None:
    assert find_forgotten_files((*ORDINARY, *LEFT), (), "Add a page.", ("**",)) == list(LEFT)


@pytest.mark.parametrize(
    ("goal", "scope", "base"),
    [
        ("Write app/x.log with the result.", (), ()),
        ("Write x.log.", (), ()),
        ("Collect `*.log` files.", (), ()),
        ("Do it.", ("app/x.log",), ()),
        ("Do it.", ("src", "app/*.log"), ()),
        ("Do it.", (), ("tests/data/old.log",)),
        ("Do it.", (), ("app/x.log",)),
    ],
)
@pytest.mark.spec("9.4")
def test_a_file_that_the_task_names_or_the_base_has_is_wanted(
    goal: str, scope: tuple[str, ...], base: tuple[str, ...]
) -> None:
    assert find_forgotten_files(("app/x.log",), base, goal, scope) == []


@pytest.mark.parametrize(
    ("path", "goal", "scope"),
    [
        (".env", "Read os.environ in settings.env.py, and .envrc.", ()),
        ("app/x.log", "Do it.", ("app",)),
        ("app/x.log", "Do it.", ("app/*",)),
        ("app/x.log", "Do it.", ("app/**",)),
        ("app/x.log", "Do it.", ("other/x.log",)),
    ],
)
@pytest.mark.spec("9.4")
def test_a_similar_word_or_a_whole_folder_names_no_file(
    path: str, goal: str, scope: tuple[str, ...]
) -> None:
    assert find_forgotten_files((path,), ("README", "a.tmp"), goal, scope) == [path]
