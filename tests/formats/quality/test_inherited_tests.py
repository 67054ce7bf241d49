"""Tests that a class inherits are lost with the class, or with their base class."""

from __future__ import annotations

import pytest

from yaoki.core.model.change import Change
from yaoki.formats.quality.inherited_tests import find_lost_inherited_tests

pytestmark = pytest.mark.spec("6.6")
BASE = "class Common:\n    def test_a(self): assert 1\n    def test_b(self): assert self.x\n"
TWO = "from tests.base import Common\n\n\nclass TestTwo(Common):\n    x = 2\n"


def lost(*changes: tuple[str, str | None, str | None]) -> list[tuple[str, str]]:
    found = find_lost_inherited_tests([Change(*change, ()) for change in changes])
    return [(item.name, item.where) for item in found]


@pytest.mark.parametrize("after", [None, TWO.replace("TestTwo", "Two"), "x = 1\n"])
def test_a_class_that_is_no_longer_collected_takes_its_tests_with_it(after: str | None) -> None:
    assert lost(("tests/test_two.py", TWO, after)) == [("TestTwo", "tests/test_two.py")]


def test_a_test_deleted_from_a_base_class_is_lost() -> None:
    after = BASE.split("    def test_b")[0]

    assert lost(("tests/base.py", BASE, after)) == [("test_b", "tests/base.py")]


def test_classes_and_tests_may_be_renamed_changed_and_moved() -> None:
    assert lost(("tests/test_two.py", TWO, TWO.replace("TestTwo", "TestThree"))) == []
    assert lost(("tests/test_two.py", TWO, TWO.replace("2", "3"))) == []
    assert lost(("tests/test_two.py", TWO, None), ("tests/test_new.py", None, TWO)) == []
    assert lost(("tests/base.py", BASE, BASE.replace("test_b", "test_c"))) == []
    own = BASE.replace("Common", "TestAll")
    assert lost(("tests/base.py", BASE, None), ("tests/test_all.py", None, own)) == []
    plain = "class TestPlain(unittest.TestCase):\n    pass\n"
    assert lost(("tests/test_plain.py", plain, None)) == []
