"""What tests expect of the code, read from them; every way of binding a name ends."""

from __future__ import annotations

import pytest

from yaoki.formats.quality.gaming.expectations import Expectation, read_expectations

pytestmark = pytest.mark.spec("17.4", "0.4")


@pytest.mark.parametrize("part", ["r[0]", "r.fixed", "r.fixed[0]", "(r)[0]['x']"])
def test_a_name_that_is_bound_to_a_part_of_itself_keeps_its_call(part: str) -> None:
    text = f"def test_n():\n    r = m.f(1)\n    r = {part}\n    assert r == 3\n"

    assert read_expectations("test_m.py", text) == (Expectation("f", (1,), 3),)


@pytest.mark.parametrize(
    "body",
    [
        "a = b[0]\n    b = a[0]\n    assert a == 3",
        "a: int = a.x\n    assert a == 3",
        "a = b\n    b = a\n    assert a == b",
        "a = list(b)\n    b = list(a)\n    assert a == [3]",
    ],
)
def test_names_that_lead_to_each_other_expect_nothing(body: str) -> None:
    assert read_expectations("test_m.py", f"def test_n():\n    {body}\n") == ()
