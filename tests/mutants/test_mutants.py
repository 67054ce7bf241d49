"""The mutation tester: its mutants, its exclusions, and its results."""

from __future__ import annotations

import ast
import gc
import subprocess
import sys
from pathlib import Path
from types import FunctionType

import pytest

from tests.mutants.explanations import Explanation, read, unneeded
from tests.mutants.mutations import Source
from tests.mutants.runner import Reach, functions_by_place

ROOT = Path(__file__).resolve().parents[2]
CODE = '''
LIMIT = 3

class Box:
    @property
    def full(self):
        """Words that are left alone."""
        assert self.size >= 0, "never"
        return self.size > 2

def choose(a: "int", b=1, *, flag=True):
    if a:
        return [x + 1 for x in b if x]
    raise KeyError("none")
'''


def source(code: str = CODE) -> Source:
    return Source("box.py", "/box.py", ast.parse(code))


def changes(body: str) -> list[str]:
    return [mutant.change for mutant in source(f"def f(a, b):\n    {body}\n").mutants()]


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("return a < b", ["a < b -> a <= b"]),
        ("return a is None", ["a is None -> a is not None"]),
        ("return a and b", ["a and b -> a or b"]),
        ("return not a", ["not a -> a"]),
        ("return a + 1", ["a + 1 -> a - 1", "1 -> 2"]),
        ("return 'x'", ["'x' -> 'XXxXX'"]),
        ("return True", ["True -> False"]),
        ("return a if b else 0", ["a if b else 0 -> a", "a if b else 0 -> 0", "0 -> 1"]),
        ("a.lower()", ["a.lower() -> pass", "a.lower() -> a.upper()"]),
        ("x = f(a, k=b)", ["f(a, k=b) -> f(None, k=b)", "f(a, k=b) -> f(a)"]),
        ("if a: return 1", ["a -> not a", "1 -> 2"]),
        ("while a: break", ["a -> not a", "break -> continue"]),
        ("a += b", ["a += b -> a -= b"]),
        ("raise a", ["raise a -> pass"]),
        ("assert a < 1, 'x'", []),
        ("'only words'", []),
        ("return f'{a:>3}!'", ["'!' -> 'XX!XX'"]),
    ],
)
def test_each_change_is_small_and_named(body: str, expected: list[str]) -> None:
    whole = (f"{body} -> return None", "x = f(a, k=b) -> x = None")

    assert [change for change in changes(body) if change not in whole] == expected


def test_properties_are_changed_and_signatures_docstrings_and_modules_are_not() -> None:
    found = {(mutant.function, mutant.change) for mutant in source().mutants()}

    assert ("Box.full", "self.size > 2 -> self.size >= 2") in found
    assert ("choose", "x -> not x") in found
    text = " ".join(change for _, change in found)
    assert "Words" not in text
    assert "never" not in text
    assert "3 -> 4" not in text
    assert "True -> False" not in text


def test_the_code_of_a_mutant_can_replace_that_of_the_function() -> None:
    scope: dict[str, FunctionType] = {}
    exec(compile(ast.parse(CODE), "/box.py", "exec"), scope)  # noqa: S102 - our own text
    choose, made = scope["choose"], source()
    (mutant,) = (each for each in made.mutants() if each.change == "x + 1 -> x - 1")

    code = made.compile(mutant)
    assert code is not None
    assert choose(1, [0, 5]) == [6]
    choose.__code__ = code
    assert choose(1, [0, 5]) == [4]

    assert (mutant.module, mutant.function, list(mutant.lines)) == ("box.py", "choose", [13])
    again = next(each for each in made.mutants() if each.change == mutant.change)
    assert again.line == mutant.line, "the tree is as before"


def test_an_explanation_of_a_missing_mutant_is_reported() -> None:
    mutant = next(iter(source().mutants()))
    fits = Explanation("box.py", mutant.function, mutant.change, "because")
    gone = Explanation("box.py", mutant.function, "1 -> 2", "because")
    other = Explanation("other.py", "f", "1 -> 2", "because")

    assert fits.covers(mutant)
    assert unneeded([fits, gone, other], [mutant], ["box.py"]) == [gone]


def test_frozen_functions_are_found() -> None:
    """`tests/conftest.py` freezes every object once the tests are collected."""
    gc.freeze()
    try:
        found = functions_by_place()
    finally:
        gc.freeze()

    code = unneeded.__code__
    assert found[code.co_filename, "unneeded", code.co_firstlineno] == [unneeded]


def test_only_tests_that_reach_a_mutated_module_run_without_a_mutant() -> None:
    reach = Reach({("a.py", 1): {2, 0}, ("a.py", 5): {2}}, [0.3, 0.2, 0.1])

    assert reach.in_order() == [2, 0]


def test_every_explained_mutant_has_a_reason_and_a_module() -> None:
    for each in read(ROOT / "tests" / "core" / "mutants-explained.toml"):
        assert (ROOT / "src" / "yaoki" / "core" / each.module).is_file()
        assert " -> " in each.change
        assert len(each.reason) > 20


@pytest.mark.full
def test_a_core_module_is_mutated_and_its_table_is_printed() -> None:
    path, tests = "src/yaoki/core/decide/recovery.py", "tests/core/test_completion_decisions.py"
    options = ("--children", "1", "--sample", "4", "--tests", tests)
    words = (sys.executable, "-m", "tests.mutants", *options, path)

    done = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, check=False, timeout=110)

    assert done.returncode == 0, done.stdout + done.stderr
    rows = [line.split() for line in done.stdout.splitlines() if line.startswith(("decide", "all"))]
    assert rows == [
        ["decide/recovery.py", "4", "4", "0", "0", "100.0", "%"],
        ["all", "4", "4", "0", "0", "100.0", "%"],
    ]


def test_a_path_outside_the_core_is_refused() -> None:
    words = (sys.executable, "-m", "tests.mutants", "dev.py")

    done = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, check=False, timeout=60)

    assert done.returncode == 1
    assert done.stderr == (
        "mutants: dev.py is not in src/yaoki/core; name a file or folder there\n"
    )
