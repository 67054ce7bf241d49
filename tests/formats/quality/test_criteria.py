"""The criteria Q2 to Q4 on diffs: a table of what must be found and what must not."""

import difflib
import threading
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.quick_selection import example_count
from tests.yaml_tables import load_quickly
from yaoki.core.model import Finding, Outcome
from yaoki.formats.quality import Change, ChangeContext, judge_criteria
from yaoki.formats.quality.criteria import TEXT_CHARS_MAX, VIOLATIONS_MAX
from yaoki.formats.quality.languages import ENDINGS_OF_LANGUAGE, language_of
from yaoki.formats.quality.lexer import scan_source

pytestmark = pytest.mark.spec("4.3", "4.4", "4.5")

TABLES = Path(__file__).parents[2] / "fixtures" / "quality"
POSITIVE: list[dict[str, Any]] = load_quickly((TABLES / "positive.yaml").read_text("utf-8"))
NEGATIVE: list[dict[str, Any]] = load_quickly((TABLES / "negative.yaml").read_text("utf-8"))
PATTERNS = {"Q2": "todo-added", "Q3": "omission", "Q4": "syntax-error"}
PARAMS = {"Q2": "todos", "Q3": "omissions", "Q4": "syntaxErrors"}
SOUP = st.text(
    st.sampled_from("(){}[]'\"`/*#\\\n\t <>-.$%…略TODO:=@rR|!,;x1\0\u2028"), max_size=300
)


def change(path: str, after: str | None, before: str | None = None) -> Change:
    """A change with the lines its diff adds."""
    old, new = (before or "").split("\n"), (after or "").split("\n")
    blocks = difflib.SequenceMatcher(a=old, b=new, autojunk=False).get_opcodes()
    added = (n for tag, _, _, low, high in blocks if tag != "equal" for n in range(low, high))
    return Change(path, before, after, tuple((n + 1, new[n]) for n in added))


def of_case(case: dict[str, Any]) -> Change:
    after = case.get("after")
    if case.get("long_line"):
        after = f"{after}{'x;' * 5000}"
    return change(case["path"], after, case.get("before"))


def findings_of(*changes: Change) -> dict[str, Finding]:
    return {
        finding.check: finding
        for finding in judge_criteria(changes, ChangeContext(), exists=lambda _: True)
    }


@pytest.mark.parametrize("case", POSITIVE, ids=lambda case: str(case["name"]))
def test_each_violation_is_found_at_its_line(case: dict[str, Any]) -> None:
    found = findings_of(of_case(case))

    # A placeholder often breaks the syntax too; the table names the expected criterion.
    assert set(case["found"]) <= set(found)
    assert set(found) <= {*case["found"], "Q4"} if "Q3" in case["found"] else set(case["found"])
    finding = found[case["found"][0]]
    assert finding.outcome is Outcome.FAILED
    assert finding.pattern == PATTERNS[finding.check]
    told = finding.params[PARAMS[finding.check]]
    assert [entry["file"] for entry in told] == [case["path"]]
    assert told[0]["line"] == case.get("line", told[0]["line"])
    assert finding.items[0].where == f"{case['path']}:{told[0]['line']}"
    assert finding.params.get("truncated", False) is case.get("truncated", False)


@pytest.mark.parametrize("case", NEGATIVE, ids=lambda case: str(case["name"]))
def test_a_similar_text_is_no_violation(case: dict[str, Any]) -> None:
    assert findings_of(of_case(case)) == {}


def test_the_table_is_large_enough() -> None:
    assert len(POSITIVE) >= 60
    assert len(NEGATIVE) >= 60
    names = Counter(f"{case['path']} {case['name']}" for case in POSITIVE + NEGATIVE)
    assert names.most_common(1)[0][1] == 1


def test_a_finding_quotes_the_text_unchanged() -> None:
    found = findings_of(change("a.py", "x = 1\nif x:\n    # TODO: handle   errors\n    x = 2\n"))

    assert found["Q2"].params["todos"] == [
        {"file": "a.py", "line": 3, "text": "# TODO: handle   errors"}
    ]
    assert "a.py:3" in found["Q2"].message


def test_a_todo_moved_to_another_file_is_not_new() -> None:
    whole = "# TODO: x\na = 1\nb = 2\n"

    found = findings_of(change("a.py", "b = 2\n", whole), change("b.py", "# TODO: x\na = 1\n"))

    assert found == {}


def test_a_moved_todo_excuses_only_one_copy() -> None:
    found = findings_of(
        change("a.py", "b = 2\n", "# TODO: x\nb = 2\n"), change("b.py", "# TODO: x\n" * 2)
    )

    assert len(found["Q2"].params["todos"]) == 1


def test_findings_are_bounded_and_count_the_rest() -> None:
    found = findings_of(change("a.py", "# TODO: " + "x" * 1000 + "\n" + "# TODO: y\nz = 1\n" * 100))

    finding = found["Q2"]
    assert len(finding.params["todos"]) == VIOLATIONS_MAX
    assert finding.items[-1].name == f"and {101 - VIOLATIONS_MAX} more"
    assert len(finding.params["todos"][0]["text"]) == TEXT_CHARS_MAX


def test_every_broken_file_is_named() -> None:
    found = findings_of(
        change("a.py", "x = (\n"), change("b.js", "f(;\n}\n"), change("c.json", "{}")
    )

    assert [error["file"] for error in found["Q4"].params["syntaxErrors"]] == ["a.py", "b.js"]


def test_windows_line_ends_and_byte_order_marks_are_no_mistakes() -> None:
    found = findings_of(
        change("a.json", '\ufeff{"a":\r\n1}\r\n'), change("a.py", "\ufeffx = 1\r\n")
    )

    assert found == {}


def test_terminal_codes_in_a_todo_are_removed() -> None:
    found = findings_of(change("a.py", "# TODO: \x1b[31mred\x07\n"))

    assert "\x1b" not in found["Q2"].params["todos"][0]["text"]


@given(
    path=st.sampled_from(sorted(e for es in ENDINGS_OF_LANGUAGE.values() for e in es.split())),
    text=SOUP,
)
@settings(max_examples=example_count(400), deadline=None)
def test_no_text_makes_the_criteria_raise(path: str, text: str) -> None:
    judge_criteria(
        [change(f"a.{path}", text, text[::-1])],
        ChangeContext(agent_output=text),
        exists=lambda _: False,
    )


@given(path=st.sampled_from(["a.js", "a.rs", "a.php", "a.cs", "a.swift", "a.rb"]), text=SOUP)
@settings(max_examples=example_count(300), deadline=None)
def test_the_code_keeps_its_shape_when_strings_are_blanked(path: str, text: str) -> None:
    """Line numbers in findings depend on it."""
    grammar = language_of(path)
    assert grammar is not None

    reading = scan_source(text, grammar)

    assert len(reading.code) == len(text)
    assert [i for i, c in enumerate(reading.code) if c == "\n"] == [
        i for i, c in enumerate(text) if c == "\n"
    ]


@pytest.mark.parametrize(
    "text",
    [
        "if a:\n    x = 1\n" + "elif a:\n    x = 1\n" * 2500,
        "x = (a\n" + ".b\n" * 20_000 + ")\n",
        "x = " + "[\n" * 5_000,
        "x = " + "-\\\n" * 9_000 + "1\n",
        "".join(" " * n + "if a:\n" for n in range(99)),
    ],
    ids=["branches", "attributes", "brackets", "signs", "blocks"],
)
def test_deep_nesting_in_a_thread_raises_no_error(text: str) -> None:
    """A worker judges in a thread, whose stack is smaller."""
    done: list[object] = []
    changes = [
        change("a.py", text),
        change("a.json", "[\n" * 50_000),
        change("a.toml", f"a = {'[' * 4000}"),
    ]
    worker = threading.Thread(
        target=lambda: done.append(findings_of(*changes, change("a.yaml", "[" * 4000)))
    )
    worker.start()
    worker.join()

    assert len(done) == 1


@pytest.mark.quick_cases(2)
@pytest.mark.parametrize("unit", ['\\"', "'", "/[", "`${", "<<A ", "/*", "{", "rest of ", "... "])
@pytest.mark.parametrize("path", ["a.js", "a.rb", "a.rs", "a.py", "a.php", "a.cs"])
def test_no_text_takes_quadratic_time(path: str, unit: str) -> None:
    """A step for each pair of characters would take hours; every test ends after two minutes."""
    line = unit * (4000 // len(unit))

    judge_criteria(
        [change(path, f"{line}\n" * 60)],
        ChangeContext(agent_output=line * 10),
        exists=lambda _: True,
    )
