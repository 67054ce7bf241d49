"""Comments and attributes that silence the tool of a check (17.4)."""

from __future__ import annotations

import pytest

from tests.formats.quality.definition.cases import a_change, view
from yaoki.core.model import CheckSpec
from yaoki.core.model.suppression import Suppression
from yaoki.formats.quality import find_suppressions, remove_suppressions

pytestmark = pytest.mark.spec("17.4")

PY = "def add(a, b):\n    return a + b\n"
CHANGED = "def add(a, b):\n    return a + b{}\n"
OLD = CHANGED.format("  # type: ignore")
MAKE = {"Makefile": "lint:\n\tuv run ruff check .\n"}


def find(
    shell: str, after: str, before: str = PY, path: str = "calc.py", **files: str
) -> tuple[Suppression, ...]:
    change = a_change(path, before, after, ("", ""))
    return find_suppressions([change], [CheckSpec("c", shell=shell)], view({path: before, **files}))


@pytest.mark.parametrize(
    ("shell", "comment"),
    [
        ("mypy .", "# type: ignore"),
        ("mypy .", "#type:ignore[return-value]  # why"),
        ("pyright", "# pyright: ignore"),
        ("ty check", "# ty: ignore"),
        ("ruff check .", "# noqa"),
        ("ruff check .", "# NOQA: F401"),
        ("ruff check .", "# the sum  # noqa: F401"),
        ("uv run flake8", "# noqa:F401"),
        ("pylint src", "# pylint: disable=unused-import"),
        ("bandit -r .", "# nosec"),
        ("black --check .", "# fmt: skip"),
        ("make lint", "# noqa"),
        ("tox -e lint", "# noqa"),
        ("pre-commit run -a", "# type: ignore"),
        ("python check.py", "# type: ignore"),
    ],
)
def test_a_suppression_of_the_tool_of_a_check_is_found(shell: str, comment: str) -> None:
    found = find(shell, CHANGED.format(f"  {comment}"), **MAKE, **{"check.py": "import os\n"})

    assert [one.place for one in found] == ["calc.py:2"]
    assert not found[0].is_whole_file


COVERED = "pytest --cov=calc --cov-fail-under=100"


@pytest.mark.parametrize(
    ("shell", "path", "line"),
    [
        (COVERED, "calc.py", "def sub(a, b):  # pragma: no cover"),
        (COVERED, "calc.py", "    if a == 0:  # pragma: no branch"),
        ("coverage run -m pytest && coverage report", "calc.py", "x = 1  #pragma:nocover"),
        ("npx c8 --check-coverage npm test", "calc.js", "/* c8 ignore next 3 */"),
        ("npx nyc npm test", "calc.js", "/* istanbul ignore next */"),
        ("npx vitest run --coverage", "calc.ts", "/* v8 ignore next */"),
        ("node --test --experimental-test-coverage", "calc.js", "/* node:coverage ignore next */"),
    ],
)
def test_a_comment_that_leaves_code_out_of_the_coverage_is_found(
    shell: str, path: str, line: str
) -> None:
    found = find(shell, f"x = 0\n{line}\n", "x = 0\n", path)

    assert [(one.line, one.is_whole_file) for one in found] == [(2, False)]


@pytest.mark.parametrize("line", ["/* istanbul ignore file */", "/* c8 ignore start */"])
def test_a_comment_that_leaves_a_file_out_of_the_coverage_is_one_for_the_file(line: str) -> None:
    found = find("npx nyc npm test", f"{line}\nx = 0\n", "x = 0\n", "calc.js")

    assert [one.is_whole_file for one in found] == [True]


@pytest.mark.parametrize(
    ("shell", "line"),
    [
        ("pytest -q", "def sub(a, b):  # pragma: no cover"),
        (COVERED, "if TYPE_CHECKING:  # pragma: no cover"),
        (COVERED, 'if __name__ == "__main__":  # pragma: no cover'),
        (COVERED, "        raise NotImplementedError  # pragma: no cover"),
        (COVERED, "except ImportError:  # pragma: no cover"),
        (COVERED, "# coverage is not everything"),
    ],
)
def test_lines_that_no_test_can_run_may_be_left_out(shell: str, line: str) -> None:
    assert find(shell, f"x = 0\n{line}\n", "x = 0\n") == ()


def test_coverage_may_be_asked_for_by_the_settings() -> None:
    settings = {"pyproject.toml": '[tool.pytest.ini_options]\naddopts = "--cov=calc"\n'}
    comment = "x = 0\ny = 1  # pragma: no cover\n"

    assert find("pytest", comment, "x = 0\n", **settings) != ()


@pytest.mark.parametrize(
    ("shell", "path", "line"),
    [
        ("mypy .", "calc.py", "# mypy: ignore-errors"),
        ("mypy .", "calc.py", "# mypy: disable-error-code=return-value"),
        ("pyright", "calc.py", "# pyright: basic"),
        ("ruff check .", "calc.py", "# ruff: noqa"),
        ("ruff check .", "calc.py", "# ruff: noqa: F401"),
        ("flake8", "calc.py", "# flake8: noqa"),
        ("pylint src", "calc.py", "# pylint: skip-file"),
        ("npx eslint .", "a.js", "/* eslint-disable */"),
        ("eslint .", "a.js", "/* eslint no-var: 0 */"),
        ("tsc -p .", "a.ts", "// @ts-nocheck"),
        ("cargo clippy", "src/lib.rs", "#![allow(dead_code)]"),
    ],
)
def test_a_suppression_of_a_whole_file_is_found(shell: str, path: str, line: str) -> None:
    found = find(shell, f"{line}\n\nx = 1;\n", "x = 1;\n", path)

    assert [(one.words, one.is_whole_file) for one in found] == [(line, True)]


@pytest.mark.parametrize(
    ("shell", "path", "line"),
    [
        ("eslint .", "a.js", "// eslint-disable-next-line no-var"),
        ("npm run lint", "a.js", "x(); // eslint-disable-line"),
        ("tsc -p .", "a.ts", "// @ts-ignore"),
        ("tsc -p .", "a.ts", "// @ts-expect-error -- why"),
        ("cargo clippy", "src/lib.rs", "#[allow(dead_code)]"),
        ("golangci-lint run", "a.go", "x() //nolint:errcheck"),
        ("shellcheck a.sh", "a.sh", "# shellcheck disable=SC2086"),
        ("mypy .", "calc.py", "@typing.no_type_check"),
    ],
)
def test_suppressions_of_other_languages_are_found(shell: str, path: str, line: str) -> None:
    package = {"package.json": '{"scripts": {"lint": "eslint ."}}'}
    found = find(shell, f"x\n{line}\n", "x\n", path, **package)

    assert [(one.line, one.is_whole_file) for one in found] == [(2, False)]


@pytest.mark.parametrize(
    ("shell", "before", "after"),
    [
        ("pytest -q", PY, CHANGED.format("  # type: ignore")),
        ("ruff check .", PY, CHANGED.format("  # type: ignore")),
        ("mypy .", PY, CHANGED.format("  # noqa")),
        ("mypy .", PY, CHANGED.format("  # types are ignored by nobody")),
        ("ruff check .", PY, PY + 'TEXT = "# noqa"\n'),
        ("mypy .", OLD, "X = 1\n" + OLD),
        (
            "mypy .",
            CHANGED.format("  # type: ignore"),
            CHANGED.format(" + 0  # type: ignore"),
        ),
        ("mypy .", CHANGED.format("  # type: ignore"), PY),
    ],
)
def test_other_comments_and_those_of_the_base_do_not_count(
    shell: str, before: str, after: str
) -> None:
    assert find(shell, after, before) == ()


def test_a_second_suppression_is_new_though_it_reads_like_the_first() -> None:
    old = CHANGED.format("  # type: ignore")
    new = old + "\n\ndef sub(a, b):\n    return a - b  # type: ignore\n"

    assert [one.line for one in find("mypy .", new, old)] == [6]


def test_a_moved_line_keeps_its_suppression_and_a_copied_one_is_new() -> None:
    old = "# ruff: noqa\nX = 1\n"
    check, tree = [CheckSpec("c", shell="ruff check .")], view({"a.py": old, "b.py": PY})
    moved = [
        a_change("a.py", old, None, ("", "")),
        a_change("c.py", None, old, ("", "")),
    ]
    copied = [
        a_change("a.py", old, old + "Y = 1\n", ("", "")),
        a_change("b.py", PY, "# ruff: noqa\n" + PY, ("", "")),
    ]

    assert find_suppressions(moved, check, tree) == ()
    assert [one.place for one in find_suppressions(copied, check, tree)] == ["b.py:1"]


def test_without_its_suppressions_the_text_has_the_same_lines() -> None:
    after = "# mypy: ignore-errors\nimport x  # type: ignore[import-untyped]  # why\n" + PY
    change = a_change("calc.py", PY, after, ("", ""))
    found = find_suppressions([change], [CheckSpec("c", shell="mypy .")], view({"calc.py": PY}))

    assert [one.is_import for one in found] == [False, True]
    assert remove_suppressions([change], found) == {"calc.py": f"\nimport x  # why\n{PY}"}
