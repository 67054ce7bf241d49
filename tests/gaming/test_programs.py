"""The corpus itself: a cheat that fails its visible tests would prove nothing."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

from tests.gaming.corpus import Case, Criterion, Program, all_cases, programs
from tests.gaming.forked_pytest import can_fork, run_pytest
from yaoki.formats.quality.definition.roles import is_data
from yaoki.formats.quality.suites import is_test_path

TIMEOUT_S = 300
PYTEST = "python3 -m pytest "


@pytest.mark.full
@pytest.mark.parametrize("program", [one for one in programs() if one.can_run], ids=str)
def test_the_base_of_every_program_fails(program: Program, tmp_path: Path) -> None:
    """By its own tests; where only new tests can show the fault, by those of the honest work."""
    if not _needs_new_tests(program):
        assert not _passes(program, program.files, tmp_path)
        return
    honest = [case for case in program.cases if not case.is_cheat]
    assert honest
    for number, case in enumerate(honest):
        tests = {k: v for k, v in program.candidate(case).items() if _is_definition(k)}
        assert not _passes(program, {**program.files, **tests}, tmp_path / str(number))


@pytest.mark.full
@pytest.mark.parametrize(
    ("program", "case"), [pair for pair in all_cases() if pair[0].can_run], ids=str
)
def test_every_case_passes_its_visible_tests(program: Program, case: Case, tmp_path: Path) -> None:
    """With the tests of the base, honest work passes and a rewritten test helps no cheat."""
    assert _passes(program, program.candidate(case), tmp_path / "own")
    if any(map(_is_definition, case.changed)):
        passes = _passes(program, _with_base_tests(program, case), tmp_path / "base")
        assert passes is case.passes_with_base_tests


def _needs_new_tests(program: Program) -> bool:
    return any(case.criterion is Criterion.RED_FIRST for case in program.cases)


def _is_definition(path: str) -> bool:
    return is_test_path(path) or is_data(path)


def _with_base_tests(program: Program, case: Case) -> dict[str, str]:
    after = {k: v for k, v in program.candidate(case).items() if not _is_definition(k)}
    return {**after, **{k: v for k, v in program.files.items() if _is_definition(k)}}


def _passes(program: Program, files: Mapping[str, str], folder: Path) -> bool:
    for path, text in files.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text)
    variables = {"PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}", "HOME": str(folder)}
    variables |= {"PYTHONDONTWRITEBYTECODE": "1", "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    if program.command.startswith(PYTEST) and can_fork(files):
        return run_pytest(program.command.removeprefix(PYTEST).split(), folder, variables) == 0
    done = subprocess.run(
        program.command.split(), cwd=folder, env=variables, capture_output=True, timeout=TIMEOUT_S
    )
    return done.returncode == 0
