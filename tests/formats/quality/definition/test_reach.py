"""The tracked files that a command reaches, which define a check (16.7)."""

from __future__ import annotations

import pytest

from tests.formats.quality.definition.cases import Case, a_change, review_case, view
from tests.formats.quality.definition.indirect_rewrites import INCLUDED, NPM, PY
from yaoki.core.model import CheckSpec
from yaoki.core.model.change import Change
from yaoki.core.model.check_definition import TreeView
from yaoki.formats.quality.definition import review_definition
from yaoki.formats.quality.definition.file_index import FileIndex
from yaoki.formats.quality.definition.reach import find_reached_files

pytestmark = pytest.mark.spec("16.7")

SUITES = {"run": "#!/bin/sh\nset -e\n. lib/env.sh\nfor s in $(cat suites); do sh $s; done\n"}
SUITES |= {"suites": "t/a.sh\n", "t/a.sh": "diff out t/a.golden\n", "t/a.golden": "1\n"}
SUITES |= {"lib/env.sh": "export A=1\n", "app.c": "int main() {}\n"}


def reached_files(check: CheckSpec, tree: TreeView) -> set[str]:
    return set(find_reached_files([check], FileIndex(tree)).roles)


@pytest.mark.parametrize(
    ("shell", "files", "reached"),
    [
        ("make test", INCLUDED, {"Makefile", "mk/unit.mk", "s/t.sh"}),
        ("npm test", NPM, {"package.json", "run.js", "lint/rules.js"}),
        ("nice ./run", SUITES, {"run", "lib/env.sh", "suites", "t/a.sh", "t/a.golden"}),
        ("pytest -q", {**PY, "tests/conftest.py": ""}, {"tests/test_app.py", "tests/conftest.py"}),
        ("grep -q good a.txt", {"a.txt": "", "b.txt": ""}, set()),
        ("mypy app.py", {**PY, "mypy.ini": "[mypy]\n"}, {"mypy.ini"}),
    ],
)
def test_a_command_reaches_files_through_the_programs_it_runs(
    shell: str, files: dict[str, str], reached: set[str]
) -> None:
    found = reached_files(CheckSpec("c", shell=shell), view(files))

    assert found >= reached
    assert not found & {"app.c", "a.txt", "app.py"}


def test_an_argv_is_followed_like_a_shell() -> None:
    check = CheckSpec("c", argv=("timeout", "9", "bash", "-e", "s/t.sh"))

    assert "s/t.sh" in reached_files(check, view({"s/t.sh": "true\n"}))


def test_a_check_is_followed_from_its_own_folder() -> None:
    check = CheckSpec("c", shell="sh t.sh", cwd="sub")

    assert "sub/t.sh" in reached_files(check, view({"sub/t.sh": "", "t.sh": ""}))


@pytest.mark.parametrize(
    ("after", "words"), [("\0", "binary"), (None, "deleted"), ("true\n", "script was changed")]
)
def test_a_change_that_the_diff_leaves_out_is_found_by_its_id(
    after: str | None, words: str
) -> None:
    """A diff is bounded and omits binary files; the definition of a check is not."""
    base = TreeView(frozenset({"t.sh"}), {"t.sh": "test -f a\n"}.get, {"t.sh": "100755 1"})
    text = None if after == "\0" else after
    paths, ids = (frozenset({"t.sh"}), {"t.sh": "100755 2"}) if after else (frozenset[str](), {})
    candidate = TreeView(paths, {"t.sh": text}.get, ids)
    check = CheckSpec("c", shell="sh t.sh")

    found = review_definition([check], [], base, candidate, scope=(), allow_weaker_tests=False)

    (item,) = found.weakened
    assert item.where == "t.sh"
    assert words in item.message


def test_a_program_not_named_by_the_task_is_undecided() -> None:
    case = Case("python use.py", {"use.py": "boom()\n"}, {"use.py": "print(1)\n"})

    found = review_case(case)

    assert (found.weakened, found.undecided) == ((), ("use.py",))


def test_a_broken_file_is_reviewed_without_an_error() -> None:
    broken = {
        "tests/test_a.py": "def (:\n",
        "tests/test_b.py": "def test_b():\n    assert f() == 1\n",
        "package.json": "{",
        "Makefile": "\t\t:\n$(",
        "t.sh": "'",
    }
    changes: list[Change] = [
        a_change(p, text, text + "\n(", ("", "")) for p, text in broken.items()
    ]
    after = {one.path: one.after or "" for one in changes}
    check = CheckSpec("c", shell="sh t.sh && make test && npm test; pytest ${X:-'")

    review_definition(
        [check], changes, view(broken), view(after), scope=(), allow_weaker_tests=False
    )
