"""Which tests show what a change fixes, and which show nothing."""

from __future__ import annotations

import pytest

from tests.builders import a_finding
from yaoki.core.decide.red_first import (
    PASSES,
    RedEvidence,
    compare_with_base,
    compare_without_change,
    judge_red_first,
)
from yaoki.core.lazy_dataclass import replace
from yaoki.core.model import CriterionLevel, Finding, FindingItem, Outcome

pytestmark = pytest.mark.spec("17.1")
NOW = a_finding(Outcome.PASSED, check="tests", passing_tests=("test_a", "test_b"))
FILES = ("tests/test_x.py",)


def failed(*items: tuple[str, str], **params: object) -> Finding:
    listed = tuple(FindingItem(name, message) for name, message in items)
    return a_finding(Outcome.FAILED, message="it failed", items=listed, params=params)


@pytest.mark.parametrize(
    "message",
    [
        "assert 1 == 2",
        "AssertionError: no",
        "IndexError: list index out of range",
        "AttributeError: 'NoneType' object has no attribute 'name'",
        "Expected values to be strictly equal: 1 !== 2",
        "",
    ],
)
def test_a_test_that_fails_without_the_change_is_red(message: str) -> None:
    evidence = compare_without_change(failed(("test_a", message)), NOW, FILES)

    assert evidence.red_tests == ("test_a",)
    assert not evidence.why_not


@pytest.mark.parametrize(
    "message",
    [
        "ImportError: cannot import name 'exact' from 'half'",
        "ModuleNotFoundError: No module named 'exact'",
        "NameError: name 'exact' is not defined",
        "AttributeError: module 'half' has no attribute 'exact'",
        "module 'half' has no attribute 'exact'",
        "TypeError: exact is not a function",
        "SyntaxError: The requested module './a.js' does not provide an export named 'exact'",
        "ReferenceError: exact is not defined",
        "Error: Cannot find module './exact'",
        "SyntaxError: invalid syntax",
    ],
)
def test_a_test_that_cannot_be_loaded_shows_nothing(message: str) -> None:
    evidence = compare_without_change(failed(("test_a", message)), NOW, FILES)

    assert not evidence.red_tests
    assert evidence.is_unloaded
    assert evidence.why_not == "does not fail by an assertion without the change: it failed"


def test_only_tests_that_pass_with_the_change_count() -> None:
    evidence = compare_without_change(
        failed(("gone", "assert 0"), ("test_b", "assert 0")), NOW, FILES
    )

    assert evidence.red_tests == ("test_b",)
    assert not compare_without_change(failed(("gone", "assert 0")), NOW, FILES).red_tests


def test_a_passing_suite_names_the_tests_that_pass_anyway() -> None:
    before = a_finding(Outcome.PASSED, passing_tests=("test_b", "other"))

    evidence = compare_without_change(before, NOW, FILES)

    assert evidence == RedEvidence(
        "tests", green_tests=("test_b",), why_not="passes without the change"
    )


@pytest.mark.parametrize(
    ("files", "named"),
    [
        (("tests/test_x.py",), ("tests/test_x.py::test_a", "test_x.Case.test_b")),
        (("pkg/test_z.py",), ()),
        ((), ()),
    ],
)
def test_only_tests_of_the_files_of_the_change_are_named(
    files: tuple[str, ...], named: tuple[str, ...]
) -> None:
    """The whole suite passes without the change; most of it has nothing to do with it."""
    tests = ("tests/test_x.py::test_a", "test_x.Case.test_b", "tests/test_y.py::test_x")
    new = ("pkg/test_z.py::test_new",)
    now = a_finding(Outcome.PASSED, check="tests", passing_tests=(*tests, *new))
    before = a_finding(Outcome.PASSED, passing_tests=tests)

    assert set(compare_without_change(before, now, files).green_tests) == set(named)


def test_a_module_that_the_change_adds_is_none_to_install() -> None:
    before = failed(missingModules=["whole"], remedy="pip install whole")

    evidence = compare_without_change(before, NOW, FILES)

    missing = "does not fail by an assertion without the change: No module named 'whole'"
    assert evidence.why_not == missing
    assert evidence.is_unloaded


def test_a_check_that_cannot_run_without_the_change_shows_nothing() -> None:
    before = a_finding(Outcome.BROKEN, message="no program")

    evidence = compare_without_change(before, NOW, FILES)

    assert evidence == RedEvidence("tests", why_not="cannot run without the change: no program")


def test_a_suite_that_did_not_load_shows_nothing() -> None:
    evidence = compare_without_change(failed(loadError=True), NOW, FILES)

    assert not evidence.red_tests
    assert "its tests did not load" in evidence.why_not


@pytest.mark.parametrize(
    ("message", "red"), [("assert 0", ("test_a",)), ("NameError: name 'x' is not defined", ())]
)
def test_the_tests_that_pass_anyway_are_named_beside_the_failed_ones(
    message: str, red: tuple[str, ...]
) -> None:
    before = replace(failed(("test_a", message)), passing_tests=("test_b", "other"))

    evidence = compare_without_change(before, NOW, FILES)

    assert (evidence.check, evidence.red_tests, evidence.green_tests) == ("tests", red, ("test_b",))


def test_a_check_without_names_is_one_test() -> None:
    now = a_finding(Outcome.PASSED, check="smoke")

    assert compare_without_change(failed(), now, FILES).red_tests == ("check smoke",)


LOADED = a_finding(
    Outcome.PASSED,
    check="tests",
    passing_tests=("t/test_x.py::test_a", "t/test_y.py::test_b", "pkg.test_x.Case.test_c"),
    params={"testCount": 3},
)


@pytest.mark.parametrize(
    ("name", "message", "red"),
    [
        ("t/test_x.py::test_a", "assert 1 == 2", "t/test_x.py::test_a"),
        ("t/test_x.py::test_a", "NameError: name 'x' is not defined", "t/test_x.py::test_a"),
        ("t/test_x.py", "SyntaxError: invalid syntax", "t/test_x.py::test_a"),
        ("t/test_x.py", "ModuleNotFoundError: No module named 'y'", "t/test_x.py::test_a"),
        (
            "unittest.loader._FailedTest.pkg.test_x",
            "ImportError: cannot import name 'y'",
            "pkg.test_x.Case.test_c",
        ),
        ("x.test.js", "does not load: SyntaxError: Unexpected end of input", "x.test.js"),
    ],
)
def test_a_test_of_the_base_is_red_however_it_fails(name: str, message: str, red: str) -> None:
    """No test passes there, and some cannot even be loaded: the task did not write them."""
    base = failed((name, message), testCount=1, passedCount=0, loadError=True)

    # None of these files is the one of the test, though the names are alike.
    others = ("src/new.py", "t/my_test_x.py", "t/test_x.py.orig", "pkg/my_test_x.py", "pkg/test.py")

    assert compare_with_base(base, LOADED, others) == RedEvidence("tests", (red,))


@pytest.mark.parametrize(
    ("name", "message", "moved"),
    [
        ("t/test_gone.py::test_a", "assert 1 == 2", ()),
        ("t/test_x.py", "SyntaxError: invalid syntax", ("t/test_x.py",)),
        ("test_x.py", "SyntaxError: invalid syntax", ("src/a.py", "t/test_x.py", "t/b.py")),
        ("t/test_x.py::test_a", "NameError: name 'y'", ("t/test_x.py",)),
        ("a.b/test_x.py", "SyntaxError: invalid syntax", ("a.b/test_x.py",)),
        ("unittest.loader._FailedTest.pkg.test_x", "ImportError: y", ("pkg/test_x.py",)),
        (
            "unittest.loader._FailedTest.pkg.test_x",
            "ImportError: y",
            ("src/a.py", "src/pkg/test_x.py", "src/b.py"),
        ),
        ("pkg.test_x.Case.test_c", "NameError: name 'y'", ("pkg/test_x.py",)),
        ("x.test.js", "does not load: SyntaxError: x", ("x.test.js",)),
    ],
)
def test_a_test_that_the_base_or_the_change_lacks_is_not_red(
    name: str, message: str, moved: tuple[str, ...]
) -> None:
    evidence = compare_with_base(failed((name, message), loadError=True), LOADED, moved)

    assert not evidence.red_tests
    assert evidence.why_not.startswith("has no test that fails without the change and passes")


def test_a_base_on_which_the_same_tests_pass_has_no_red_file() -> None:
    base = replace(
        failed(("x.test.js", "does not load: SyntaxError: x")), passing_tests=LOADED.passing_tests
    )

    assert not compare_with_base(base, LOADED, ()).red_tests


@pytest.mark.parametrize("passing", [LOADED.passing_tests, ()])
@pytest.mark.parametrize("message", ["does not load: SyntaxError: x", "assert 1 == 2"])
def test_a_failure_that_stays_and_is_excused_is_not_red(
    message: str, passing: tuple[str, ...]
) -> None:
    """The base has it too, or a person waived it: the check passes although it fails."""
    params = {"known": ["x.test.js"], "testCount": 3}
    now = replace(LOADED, passing_tests=passing, params=params)
    base = failed(("x.test.js", message), testCount=3)

    assert not compare_with_base(base, now, ()).red_tests
    assert not compare_without_change(base, now, FILES).red_tests


def test_the_words_about_failures_that_are_not_listed_are_no_test() -> None:
    base = a_finding(Outcome.FAILED, items=(FindingItem("3 more", unlisted_count=3),))

    assert not compare_with_base(base, a_finding(Outcome.PASSED), ()).red_tests


@pytest.mark.parametrize(
    ("base", "why"),
    [
        (a_finding(Outcome.PASSED), PASSES),
        (
            a_finding(Outcome.BROKEN, message="no program"),
            "cannot run without the change: no program",
        ),
        (
            failed(testCount=0, loadError=True),
            "has no test that fails without the change and passes with it: "
            "cannot run: its tests did not load: it failed",
        ),
    ],
)
def test_a_base_that_passes_or_has_no_test_shows_nothing(base: Finding, why: str) -> None:
    """The last one: the file that the command names is part of the change."""
    assert compare_with_base(base, LOADED, ()) == RedEvidence("tests", why_not=why)


@pytest.mark.parametrize("params", [{}, {"loadError": True, "missingModules": ["nosuch"]}])
def test_a_check_without_names_is_red_if_it_fails_at_the_base(params: dict[str, object]) -> None:
    now = a_finding(Outcome.PASSED, check="smoke")

    assert compare_with_base(failed(**params), now, ()).red_tests == ("check smoke",)


def test_a_suite_that_ends_without_a_word_about_its_tests_is_red() -> None:
    assert compare_with_base(failed(), LOADED, ()).red_tests == ("check tests",)


def test_one_red_test_is_enough_and_is_named() -> None:
    evidence = [RedEvidence("a", why_not="x"), RedEvidence("b", ("t1", "t2"))]

    finding = judge_red_first(evidence, CriterionLevel.REQUIRED, ("test_x.py",))

    assert finding.outcome is Outcome.PASSED
    assert finding.message == "2 tests fail without the change and pass with it: t1, t2"
    assert finding.params["failToPass"] == ["t1", "t2"]
    assert not finding.is_proof, "it proves the tests, not the work"


@pytest.mark.parametrize("level", [CriterionLevel.REQUIRED, CriterionLevel.TOLD])
def test_a_single_red_test_is_told_in_the_singular(level: CriterionLevel) -> None:
    finding = judge_red_first([RedEvidence("a", ("t1",))], level, ("test_x.py",))

    assert finding.message == "1 test fails without the change and passes with it: t1"
    assert finding.required is (level is CriterionLevel.REQUIRED)


def test_an_agent_is_told_which_files_and_which_tests_show_nothing() -> None:
    names = tuple(f"t{n}" for n in range(30))

    finding = judge_red_first(
        [RedEvidence("a", green_tests=names)], CriterionLevel.REQUIRED, ("test_x.py",)
    )

    assert finding.check == "red-first"
    assert finding.items == (FindingItem("test_x.py", "does not test the fix", "test_x.py"),)
    assert finding.params["greenTests"] == [
        {"name": name, "message": "passes without it"} for name in names[:20]
    ]


@pytest.mark.parametrize(
    ("evidence", "files", "why"),
    [
        (
            [RedEvidence("a", (), ("t",), "x"), RedEvidence("b", why_not="y")],
            ("f",),
            "check a x; check b y",
        ),
        (
            [RedEvidence("a", why_not=PASSES)],
            (),
            "no test was added or changed, and none fails without the change",
        ),
        (
            [RedEvidence("a", why_not="x"), RedEvidence("b", why_not=PASSES)],
            (),
            "no test was added or changed; check a x",
        ),
        ([], (), "no test was added or changed, and none fails without the change"),
        ([], ("f",), "no check runs tests"),
    ],
)
def test_without_a_red_test_the_reason_is_named(
    evidence: list[RedEvidence], files: tuple[str, ...], why: str
) -> None:
    finding = judge_red_first(evidence, CriterionLevel.REQUIRED, files)
    told = judge_red_first(evidence, CriterionLevel.TOLD, files)

    assert finding.message == f"no test shows what the change fixes: {why}"
    assert (finding.outcome, finding.pattern) == (Outcome.FAILED, "not-red")
    assert not finding.is_acceptable
    assert told.is_acceptable
    assert [item.name for item in finding.items] == list(files)
    names = [name for one in evidence for name in one.green_tests]
    assert [record["name"] for record in finding.params["greenTests"]] == names


@pytest.mark.parametrize(("is_fix", "is_unloaded"), [(True, True), (False, False), (False, True)])
def test_a_task_that_is_no_fix_is_told_what_red_first_is_for(
    is_fix: bool, is_unloaded: bool
) -> None:
    evidence = RedEvidence("a", why_not="x", is_unloaded=is_unloaded)

    finding = judge_red_first([evidence], CriterionLevel.REQUIRED, ("f",), is_fix=is_fix)

    note = "(red is for fixes of existing code)"
    assert (note in finding.message) == (is_unloaded and not is_fix)
