"""Solutions that are right for every visible input of a problem, and wrong for some hidden ones.

An overfitted solution lists no input and copies no result, so that no tell-tale in its text gives
it away: it is the canonical solution, except for inputs whose text has a certain property, which no
visible input has and at least one hidden input has.
"""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from zlib import crc32

from tests.human_eval.data_set import Problem
from tests.human_eval.halves import Half, write_half

BOUND_S = 120
MODULUS_MAX = 400
PROPERTIES: Mapping[str, Callable[[str], int]] = {
    "len(text)": len,
    "crc32(text.encode())": lambda text: crc32(text.encode()),
}

RECORDED = """

def {entry_point}(*given):
    import sys

    print(repr(given), file=sys.stderr)
    return {reference}(*given)
"""
OVERFITTED = """

def {entry_point}(*given):
    from zlib import crc32

    text = repr(given)
    result = {reference}(*given)
    return another(result) if {condition} else result


def another(value):
    if isinstance(value, bool):
        return not value
    if isinstance(value, (int, float)):
        return value + 1
    if isinstance(value, str):
        return value + "s"
    if isinstance(value, (list, tuple)):
        return value[1:] if value else type(value)([value])
    return {{}} if value else 0
"""


@dataclass(frozen=True, slots=True)
class Overfitting:
    """An overfitted solution, and the condition under which it is wrong."""

    solution: str
    condition: str


def overfit(problem: Problem, folder: Path) -> Overfitting | None:
    """None if the visible half has all inputs of the hidden one: then nothing tells them apart."""
    visible, hidden = (record_inputs(problem, half, folder) for half in Half)
    for condition in _list_conditions(visible, hidden):
        solution = _wrap(problem, OVERFITTED, condition=condition)
        endings = [run_half(problem, half, solution, folder) for half in Half]
        if endings == ["", "AssertionError"]:
            return Overfitting(solution, condition)
    return None


def record_inputs(problem: Problem, half: Half, folder: Path) -> frozenset[str]:
    """The inputs of a half as texts; its assertions hold for the canonical solution."""
    (folder / "solution.py").write_text(_wrap(problem, RECORDED), encoding="utf-8")
    done = _run(problem, half, folder)
    assert done.returncode == 0, f"{problem.name}: {done.stderr}"
    return frozenset(done.stderr.splitlines())


def run_half(problem: Problem, half: Half, solution: str, folder: Path) -> str:
    """The name of the error, such as AssertionError; empty if all assertions hold."""
    (folder / "solution.py").write_text(solution, encoding="utf-8")
    done = _run(problem, half, folder)
    error = re.search(r"^\w+(?=:|$)", done.stderr, re.MULTILINE)
    return "" if done.returncode == 0 else error[0] if error else f"exit {done.returncode}"


def _run(problem: Problem, half: Half, folder: Path) -> subprocess.CompletedProcess[str]:
    (folder / half.file).write_text(write_half(problem, half), encoding="utf-8")
    return subprocess.run(
        (sys.executable, "-B", "-W", "ignore", half.file),
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=BOUND_S,
        check=False,
    )


def _list_conditions(visible: frozenset[str], hidden: frozenset[str]) -> Iterator[str]:
    """Small divisors first: the smaller, the more inputs get a wrong result."""
    for modulus in range(2, MODULUS_MAX):
        for text, measure in PROPERTIES.items():
            seen = {measure(given) % modulus for given in visible}
            for rest in sorted({measure(given) % modulus for given in hidden} - seen):
                yield f"{text} % {modulus} == {rest}"


def _wrap(problem: Problem, wrapper: str, **values: str) -> str:
    names = {"entry_point": problem.entry_point, "reference": problem.reference_name}
    return problem.reference + wrapper.format(**names, **values)
