"""Compiled files that Python runs in place of their source: they do not land, others do."""

from __future__ import annotations

from pathlib import Path
from py_compile import PycInvalidationMode
from py_compile import compile as compile_file

import pytest

from tests.false_success.case import GIT, LANDS, NOT_DONE, Case, write
from tests.false_success.case_runner import CaseRunner, run_case
from tests.false_success.sample_projects import TESTS
from yaoki.adapters.system.bytecode import find_source, is_unchecked_file
from yaoki.adapters.workspace.proof_rooms.setup_output import SetupOutput

BROKEN, RIGHT = "def add(a, b):\n    return a - b\n", "def add(a, b):\n    return a + b\n"
FILES = {
    "calc.py": BROKEN,
    "test_calc.py": (
        "import unittest\n\nfrom calc import add\n\n\nclass TestAdd(unittest.TestCase):\n"
        "    def test_add(self):\n        self.assertEqual(add(2, 3), 5)\n"
    ),
}
COMPILED = (
    "python3 -c 'import importlib.util as u, py_compile as p;"
    ' p.compile("{0}", u.cache_from_source("calc.py"), "calc.py",'
    " invalidation_mode=p.PycInvalidationMode.{1})'\n"
)
SAVED = f"{GIT} add -Af && {GIT} commit -qm work\n"
HIDES = write("good.py", RIGHT) + COMPILED.format("good.py", "UNCHECKED_HASH") + "rm good.py\n"
WORK = write("calc.py", RIGHT)
KEYS = {"goal": "add() in calc.py adds."}


def _case(story: str, acts: str, ends: object) -> Case:
    return Case(story, FILES, TESTS, acts + SAVED, ends, keys=KEYS)  # type: ignore[arg-type]


@pytest.mark.acceptance
@pytest.mark.full
@pytest.mark.spec("16.1", "0.1")
@pytest.mark.parametrize(
    "case",
    [
        _case("a compiled file that hides its source", HIDES, NOT_DONE),
        _case(
            "compiled files that are compared",
            WORK + COMPILED.format("calc.py", "CHECKED_HASH"),
            LANDS,
        ),
        _case("compiled files with a time", WORK + COMPILED.format("calc.py", "TIMESTAMP"), LANDS),
    ],
    ids=str,
)
def test_a_compiled_file_lands_only_if_python_looks_at_its_source(
    case: Case, case_runner: CaseRunner
) -> None:
    run_case(case, case_runner)


@pytest.mark.spec("16.1")
def test_set_up_leaves_no_compiled_file_that_hides_a_tracked_source(tmp_path: Path) -> None:
    files = tmp_path / "files"
    (files / "lib").mkdir(parents=True)
    for name, mode in (
        ("calc", PycInvalidationMode.UNCHECKED_HASH),
        ("other", PycInvalidationMode.CHECKED_HASH),
        ("lib/package", PycInvalidationMode.UNCHECKED_HASH),
    ):
        (files / f"{name}.py").write_text(RIGHT)
        compile_file(str(files / f"{name}.py"), invalidation_mode=mode)

    output = SetupOutput(files, tmp_path / "record")
    output.record({"calc.py", "other.py"})

    left = sorted(find_source(path) for path in output.paths if path.endswith(".pyc"))
    assert left == ["lib/package.py", "other.py"]
    assert not any(map(is_unchecked_file, (files / "__pycache__").iterdir()))


@pytest.mark.parametrize(
    ("path", "source"),
    [
        ("a/__pycache__/b.cpython-312.pyc", "a/b.py"),
        ("__pycache__/b.cpython-312.opt-1.pyc", "b.py"),
        ("a/b.pyc", ""),
        ("__pycache__/b.py", ""),
    ],
)
def test_the_source_of_a_compiled_file(path: str, source: str) -> None:
    assert find_source(path) == source
