"""Does a suppression hide what the base has? (17.4)"""

from __future__ import annotations

import pytest

from yaoki.core.decide.suppressions import (
    HIDES,
    HIDES_ALL,
    asks_for_suppressions,
    find_hiding,
    hiding_finding,
)
from yaoki.core.lazy_dataclass import replace
from yaoki.core.model import Finding, FindingItem, Outcome
from yaoki.core.model.suppression import Suppression

pytestmark = pytest.mark.spec("17.4")

ONE = Suppression("src/calc.py", 2, "# type: ignore")
PASSED = Finding("types", Outcome.PASSED)


def failed(*wheres: str, message: str = 'Name "x" is not defined') -> Finding:
    items = tuple(FindingItem(f"{where}: {message}", "", where) for where in wheres)
    return Finding("types", Outcome.FAILED, items=items)


def words(one: Suppression, without: Finding, base: Finding, deleted: frozenset[str]) -> list[str]:
    return [item.message for item in find_hiding([one], without, base, deleted)]


def hides(one: Suppression, without: Finding, base: Finding, *deleted: str) -> bool:
    return bool(words(one, without, base, frozenset(deleted)))


def test_it_hides_what_the_base_has_in_its_file() -> None:
    assert hides(ONE, failed("src/calc.py:2"), failed("src/calc.py:9"))
    assert hides(ONE, failed("calc.py:2"), failed("./calc.py:2"))


def test_it_hides_nothing_if_the_check_passes_without_it_or_the_base_has_nothing_there() -> None:
    assert not hides(ONE, PASSED, failed("src/calc.py:2"))
    assert not hides(ONE, failed("src/calc.py:2"), PASSED)
    assert not hides(ONE, failed("src/calc.py:2"), failed("src/other.py:2"))
    assert not hides(ONE, failed("src/other.py:2"), failed("src/calc.py:2"))


def test_a_new_import_may_have_a_finding_of_another_kind() -> None:
    one = replace(ONE, is_import=True)
    stubs = failed("src/calc.py:2", message='Library stubs not installed for "yaml"')

    assert not hides(one, stubs, failed("src/calc.py:2"))
    assert hides(
        one, stubs, failed("src/calc.py:1", message='Library stubs not installed for "toml"')
    )
    assert hides(replace(one, is_import=False), stubs, failed("src/calc.py:2"))


def test_a_file_of_the_base_is_not_silenced_as_a_whole() -> None:
    one = replace(ONE, is_whole_file=True)

    assert words(one, failed("src/calc.py:2"), PASSED, frozenset())[0].endswith(HIDES_ALL)
    assert words(one, failed("src/calc.py:2"), failed("src/calc.py:1"), frozenset())[0].endswith(
        HIDES
    )
    assert not hides(replace(one, is_new_file=True), failed("src/calc.py:2"), PASSED)


def test_a_moved_finding_is_one_of_the_base() -> None:
    one = replace(ONE, path="src/new.py", is_new_file=True)

    assert hides(one, failed("src/new.py:2"), failed("src/calc.py:2"), "src/calc.py")
    assert not hides(one, failed("src/new.py:2"), failed("src/calc.py:2"))
    assert not hides(
        one, failed("src/new.py:2"), failed("src/calc.py:2", message="another"), "src/calc.py"
    )


def test_results_without_all_places_count_as_findings_everywhere() -> None:
    unread = Finding("types", Outcome.FAILED, output="something is wrong")
    more = replace(failed("a.py:1"), items=(FindingItem("and 9 more", unlisted_count=9),))

    assert hides(ONE, unread, failed("src/calc.py:2"))
    assert hides(ONE, failed("src/calc.py:2"), more)
    assert not hides(replace(ONE, is_new_file=True), failed("src/calc.py:2"), more)


@pytest.mark.parametrize(
    ("goal", "asks"),
    [
        ("Fix the type errors.", False),
        ("Silence the false positive of ruff in a.py.", True),
        ("Add a noqa comment to the imports.", True),
        ("Fix the type errors without type: ignore.", False),
        ("Suppress nothing. Do not suppress errors.", False),
        ("Mark the entry point with pragma: no cover.", True),
        ("Exclude the entry point from coverage.", True),
        ("Cover all of calc.py, without pragma: no cover.", False),
        ("The tests cover calc.py completely.", False),
    ],
)
def test_a_goal_may_ask_for_suppressions(goal: str, asks: bool) -> None:
    assert asks_for_suppressions(goal) is asks


def test_every_suppression_is_judged_by_its_own_file() -> None:
    other = replace(ONE, path="src/other.py", is_import=True)
    stubs = failed("src/other.py:2", message="no stubs").items
    without = failed("src/calc.py:2")
    both = replace(without, items=(*stubs, *without.items))

    # The first hides nothing, and the first import has another kind.
    for first in (replace(ONE, path="src/none.py"), other):
        (found,) = find_hiding(
            [first, ONE], both, failed("src/calc.py:7", "src/x.py:1"), frozenset()
        )
        assert (found.name, found.where) == (ONE.place, ONE.place)


def test_a_silenced_file_is_named_with_its_place() -> None:
    one = replace(ONE, is_whole_file=True)

    (found,) = find_hiding([one], failed("src/calc.py:2:7"), PASSED, frozenset())

    assert found == FindingItem(one.place, f"# type: ignore: {HIDES_ALL}", one.place)


def test_an_import_needs_only_one_finding_of_a_kind_that_the_base_has() -> None:
    one = replace(ONE, is_import=True)
    known, new = (failed("src/calc.py:2:1", message=words) for words in ("known", "new"))
    both = replace(known, items=(*known.items, *new.items))

    assert hides(one, both, failed("src/calc.py:9", message="known"))
    assert not hides(one, new, failed("src/calc.py:9", message="known"))
    # A base that passed has no findings of any kind, whatever it lists.
    assert not hides(one, known, replace(known, outcome=Outcome.PASSED))


def test_a_moved_finding_is_found_among_others() -> None:
    one = replace(ONE, path="src/new.py", is_new_file=True)
    known, new = (failed("src/new.py:2", message=words) for words in ("known", "new"))
    both = replace(known, items=(*new.items, *known.items))
    base = failed("src/calc.py:2", message="known")

    assert hides(one, both, base, "src/calc.py")
    assert not hides(replace(one, is_new_file=False), both, base, "src/calc.py")


@pytest.mark.parametrize(
    ("path", "where", "is_there"),
    [
        ("src/calc.py", "/home/me/src/calc.py:2", True),
        ("calc.py", "src/calc.py:2", True),
        ("src/calc.py", "xcalc.py:2", False),
        ("src/calc.py", "src/calc.py.bak:2", False),
    ],
)
def test_a_finding_may_name_a_longer_or_a_shorter_path(
    path: str, where: str, is_there: bool
) -> None:
    assert hides(replace(ONE, path=path), failed(where), failed("b.py:1", where)) is is_there


def test_names_and_numbers_make_no_other_kind() -> None:
    one = replace(ONE, is_import=True)
    without = failed("src/calc.py:2", message='Name "x" has 3 defects (4)')

    assert hides(one, without, failed("src/calc.py:8", message='Name "long" has 12 defects (7)'))
    told = FindingItem("E1", 'Name "y" has 1 defects (2)', "src/calc.py:8")
    assert hides(one, without, replace(without, items=(told,)))


def test_the_finding_fails_and_separates_its_places() -> None:
    items = [FindingItem(f"a.py:{n}", "m", f"a.py:{n}") for n in range(25)]

    finding = hiding_finding("types", items, 1.5)

    assert (finding.check, finding.outcome, finding.pattern) == ("gamed", Outcome.FAILED, "gamed")
    assert finding.message.endswith(": a.py:0 (m), a.py:1 (m), a.py:2 (m)")
    assert finding.items == tuple(items[:20])
    assert finding.seconds == 1.5


def test_the_finding_names_the_check_and_the_places() -> None:
    items = find_hiding([ONE], failed("src/calc.py:2"), failed("src/calc.py:2"), frozenset())
    finding = hiding_finding("types", items, 1.0)

    assert finding.message == (
        "check types passes only because the change silences its tool: src/calc.py:2"
        f" (# type: ignore: {HIDES})"
    )
    assert finding.params["tellTales"] == [
        {"name": "src/calc.py:2", "message": f"# type: ignore: {HIDES}"}
    ]
