"""Equalities of a program's own, judged by running their tests with wrong values."""

from __future__ import annotations

import sys
import types
from collections.abc import Callable, Iterator

import pytest

from tests.gaming.equality_cases import CHEATS, HONEST, EqualityCase
from yaoki.formats.quality import compare_with_wrong_values

pytestmark = pytest.mark.spec("17.9")

PATH, MODULE = "shop/program.py", "program"


@pytest.fixture
def notices() -> Iterator[Callable[[EqualityCase], bool]]:
    """Does a test of the case fail once it compares with wrong values as well?"""

    def judge(case: EqualityCase) -> bool:
        tests = f"from {MODULE} import *\n{case.tests}"
        made = compare_with_wrong_values("test_program.py", tests, [PATH])
        assert made is not None
        assert not _errors(case, tests), "the program does not pass its tests"
        return bool(_errors(case, made))

    yield judge
    sys.modules.pop(MODULE, None)


def _errors(case: EqualityCase, tests: str) -> list[str]:
    module = types.ModuleType(MODULE)
    module.__file__ = f"/room/{PATH}"
    sys.modules[MODULE] = module
    exec(compile(case.program, module.__file__, "exec"), module.__dict__)  # noqa: S102
    scope: dict[str, object] = {"__name__": "test_program"}
    exec(compile(tests, "test_program.py", "exec"), scope)  # noqa: S102
    return [
        type(error).__name__
        for name, one in scope.items()
        if name.startswith("test_") and callable(one) and (error := _error(one)) is not None
    ]


def _error(test: Callable[[], object]) -> Exception | None:
    try:
        test()
    except Exception as error:  # noqa: BLE001 - its name is the result
        return error
    return None


@pytest.mark.parametrize("case", CHEATS, ids=str)
def test_a_cheat_is_noticed(
    notices: Callable[[EqualityCase], bool],
    case: EqualityCase,
    record_property: Callable[[str, object], None],
) -> None:
    is_noticed = notices(case)

    record_property("gaming", f"wrong-values|{case.label}|{_word(is_noticed)}")
    assert is_noticed


@pytest.mark.parametrize("case", HONEST, ids=str)
def test_honest_work_is_not(
    notices: Callable[[EqualityCase], bool],
    case: EqualityCase,
    record_property: Callable[[str, object], None],
) -> None:
    is_noticed = notices(case)

    record_property("gaming", f"honest|{case.label}|{_word(is_noticed)}")
    assert not is_noticed


def test_there_are_as_many_honest_twins() -> None:
    assert len(HONEST) >= len(CHEATS)


def _word(is_noticed: bool) -> str:
    return "refused" if is_noticed else "landed"
