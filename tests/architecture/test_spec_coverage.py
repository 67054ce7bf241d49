"""The count of tested rules is correct."""

from pathlib import Path

import pytest

from tests.spec_coverage import (
    RULES,
    SpecInvalid,
    count_tests,
    main,
    read_built,
    read_rules,
    select,
)

MARKED = """
import pytest

pytestmark = [pytest.mark.spec("1.1")]


@pytest.mark.spec("2.1", "2.2")
def test_of_two_rules(): ...


@pytest.mark.spec("2.1")
class TestGroup:
    @pytest.mark.parametrize("x", [pytest.param(1, marks=pytest.mark.spec("3.10"))])
    def test_in_a_class(self, x): ...

    def helper(self): ...


@pytest.mark.spec("15")
def no_test(): ...
"""


def written(folder: Path, text: str) -> Path:
    file = folder / "test_sample.py"
    file.write_text(text, encoding="utf-8")
    return file


def test_spec_marks_count_on_functions_classes_and_modules(tmp_path: Path) -> None:
    counts = count_tests([written(tmp_path, MARKED)], ["1.1", "2.1", "2.2", "3.10", "15"])

    assert counts == {"1.1": 2, "2.1": 2, "2.2": 1, "3.10": 1}


def test_a_section_selects_exactly_its_rules() -> None:
    rules = ["1.1", "1.2", "2.1", "10.1", "15"]

    assert select(["1", "15"], rules) == ["1.1", "1.2", "15"]


def test_an_unknown_rule_is_refused(tmp_path: Path) -> None:
    file = written(tmp_path, '@pytest.mark.spec("9.99")\ndef test_it(): ...\n')

    with pytest.raises(SpecInvalid, match=r"no rule 9\.99"):
        count_tests([file], read_rules(RULES))


def test_a_computed_rule_is_refused(tmp_path: Path) -> None:
    file = written(tmp_path, "@pytest.mark.spec(RULE)\ndef test_it(): ...\n")

    with pytest.raises(SpecInvalid, match="plain string"):
        count_tests([file], read_rules(RULES))


def test_a_rule_is_either_implemented_or_planned() -> None:
    built, rules = read_built(RULES), read_rules(RULES)

    assert len(rules) > len(built) > 100
    assert "20.5" not in built


@pytest.mark.parametrize(
    ("rules", "code"), [("2.1", 0), ("2.1 2.3", 1), ("99", 2), ("", 2)], ids=repr
)
def test_the_exit_code_reports_missing_rules(rules: str, code: int, tmp_path: Path) -> None:
    written(tmp_path, MARKED)

    assert main(["--tests", str(tmp_path), "--rules", rules]) == code


def test_titles_of_rules_are_printed(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--titles", "9.1", "4.5"]) == 0

    rules = read_rules(RULES)
    assert capsys.readouterr().out == f"   4.5  {rules['4.5']}\n   9.1  {rules['9.1']}\n"
    assert main(["--titles", "99.9"]) == 2
