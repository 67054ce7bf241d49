"""Test files that do not exist at the base, because a task has to create them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.builders import a_check, a_finding, a_spec
from yaoki.app.new_tests import explain_new_tests
from yaoki.core.model import FindingItem, Outcome

pytestmark = pytest.mark.spec("6.4")

FILE = "test/reverse.test.js"


def explain(room: Path, words: str, *files: str, **given: Any) -> str:
    finding = a_finding(Outcome.FAILED, message=f"exit code 1: {words}", **given)
    spec = a_check(argv=("node", "--test", *files))
    explained = explain_new_tests(finding, spec, [a_spec(scope=("test", "test/**"))], room)
    return explained.message if explained else ""


@pytest.mark.parametrize("path", [FILE, "test/reverse.js", "test/more", "test/"])
@pytest.mark.parametrize("place", ["/home/u/rooms/1/tree/n/", ""])
def test_a_test_file_that_node_cannot_find_has_to_be_created(
    tmp_path: Path, place: str, path: str
) -> None:
    told = explain(tmp_path, f"Could not find '{place}{path}'", path)

    assert told == f"{path.rstrip('/')} does not exist at the base, so a task has to create it"


def test_all_files_that_node_was_called_with_are_named(tmp_path: Path) -> None:
    told = explain(tmp_path, f"Could not find '{FILE}, test/b.js'", FILE, "test/b.js")

    assert told == f"{FILE}, test/b.js do not exist at the base, so a task has to create them"


def test_another_failure_of_node_is_not_explained(tmp_path: Path) -> None:
    words = f"Could not find '/w/{FILE}'"
    assert explain(tmp_path, "1 test failed", FILE) == ""
    assert explain(tmp_path, words, FILE, items=(FindingItem("t"),)) == ""
    assert explain(tmp_path, "Could not find '/w/src/x.test.js'", "src/x.test.js") == ""
    (tmp_path / "test").mkdir()
    (tmp_path / FILE).write_text("")
    assert explain(tmp_path, words, FILE) == ""
