"""The tests of a problem in two halves, split by the syntax tree of its `check(candidate)`.

Of the assertions in a row the first, third, … are visible and the others hidden.  A loop is in both
halves, with its even rounds in the visible one and its odd rounds in the hidden one.  Set-up and
helpers are in both.  Assertions that no solution can fail (`assert True`, the solution compared
with itself) are in neither.  A single assertion is visible: the hidden half then has the beginnings
of its input, and the results of the canonical solution.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from enum import IntEnum

from tests.human_eval.data_set import Problem

# Some loops draw random inputs: with a seed every round has the same ones in every process.
HEAD = "import random\n\nfrom solution import *\n\nrandom.seed(164)\n\n"
MAIN = '\n\nif __name__ == "__main__":\n    test_{entry_point}()\n'
DERIVED = """

def test_{entry_point}():
    given = {given}
    for end in range(len(given)):
        assert {entry_point}(given[:end]) == {reference}(given[:end])
"""


class Half(IntEnum):
    """The rest of the numbers of its assertions, divided by two."""

    VISIBLE = 0
    HIDDEN = 1

    @property
    def file(self) -> str:
        return f"test_{self.name.lower()}.py"


@dataclass(frozen=True, slots=True)
class Split:
    """How many assertions in a row and how many loops were split, and how many were left out."""

    assertions: int
    loops: int
    left_out: int

    @property
    def is_derived(self) -> bool:
        """Has the hidden half inputs that the data set does not have?"""
        return self.assertions < 2 and not self.loops


def write_half(problem: Problem, half: Half) -> str:
    """A script that fails if an assertion of this half does."""
    is_derived = half is Half.HIDDEN and describe_split(problem).is_derived
    text = _derive(problem) if is_derived else _write_chosen(problem, half)
    return HEAD + text + MAIN.format(entry_point=problem.entry_point)


def _write_chosen(problem: Problem, half: Half) -> str:
    tree = ast.parse(problem.test)
    check = _find_check(tree)
    candidate = check.args.args[0].arg
    check.name = f"test_{problem.entry_point}"
    check.body = list(_choose(check.body, candidate, problem.entry_point, half))
    check.args.args.clear()
    named = _Renamed(candidate, problem.entry_point).visit(tree)
    return ast.unparse(ast.fix_missing_locations(named))


def _derive(problem: Problem) -> str:
    check = _find_check(ast.parse(problem.test))
    (given,) = (
        one.args[0]
        for one in ast.walk(check)
        if isinstance(one, ast.Call) and check.args.args[0].arg in _names(one.func)
    )
    return problem.reference + DERIVED.format(
        entry_point=problem.entry_point,
        given=ast.unparse(given),
        reference=problem.reference_name,
    )


def describe_split(problem: Problem) -> Split:
    check = _find_check(ast.parse(problem.test))
    candidate = check.args.args[0].arg
    asserts = [one for one in check.body if isinstance(one, ast.Assert)]
    can_fail = [one for one in asserts if _can_fail(one, candidate, problem.entry_point)]
    loops = [one for one in check.body if isinstance(one, ast.For) and candidate in _names(one)]
    return Split(len(can_fail), len(loops), len(asserts) - len(can_fail))


def _find_check(tree: ast.Module) -> ast.FunctionDef:
    functions = (one for one in tree.body if isinstance(one, ast.FunctionDef))
    return next(one for one in functions if one.name == "check")


def _choose(
    body: Iterable[ast.stmt], candidate: str, entry_point: str, half: Half
) -> Iterator[ast.stmt]:
    number = 0
    for statement in body:
        match statement:
            case ast.Assert():
                if _can_fail(statement, candidate, entry_point):
                    if number % 2 == half:
                        yield statement
                    number += 1
            case ast.For() if candidate in _names(statement):
                yield _choose_rounds(statement, candidate, half)
            case _:
                yield statement


def _choose_rounds(loop: ast.For, candidate: str, half: Half) -> ast.For:
    """Statements before the first use of the candidate draw inputs: they are in every round."""
    used = [candidate in _names(statement) for statement in loop.body].index(True)
    chosen = ast.If(ast.parse(f"turn % 2 == {half:d}", mode="eval").body, loop.body[used:], [])
    loop.body = [*loop.body[:used], chosen]
    loop.target = ast.Tuple([ast.Name("turn", ast.Store()), loop.target], ast.Store())
    loop.iter = ast.Call(ast.Name("enumerate", ast.Load()), [loop.iter], [])
    return loop


def _can_fail(statement: ast.Assert, candidate: str, entry_point: str) -> bool:
    names = _names(statement)
    return candidate in names and entry_point not in names


def _names(node: ast.AST) -> set[str]:
    return {one.id for one in ast.walk(node) if isinstance(one, ast.Name)}


class _Renamed(ast.NodeTransformer):
    """The tests call the function by its own name, as tests in a repository do."""

    def __init__(self, old: str, new: str) -> None:
        self._old, self._new = old, new

    def visit_Name(self, node: ast.Name) -> ast.Name:
        return ast.Name(self._new, node.ctx) if node.id == self._old else node
