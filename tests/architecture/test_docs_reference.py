"""Pages made from the code are as the code is: every event, exit code and setting has its line."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.documents import ROOT, name
from tests.reference import events, exit_codes, pages, state_machine
from tests.reference.event_descriptions import NOTE_DESCRIPTIONS
from yaoki.core.machine.codec import EVENT_CLASSES
from yaoki.core.model import State
from yaoki.formats.config import load_settings
from yaoki.views import entry_text

REFERENCE = ROOT / "docs" / "reference"
MADE = pages.generated_pages()
ROW = re.compile(r"^\| `([a-z_.]+\.[a-z_.]+|[a-z]+)` \| `", re.MULTILINE)


@pytest.mark.parametrize("file", MADE, ids=name)
def test_a_generated_page_is_up_to_date(file: Path) -> None:
    words = f"{name(file)} is old: .venv/bin/python -m tests.reference"

    assert file.read_text(encoding="utf-8") == MADE[file], words


@pytest.mark.spec("10.2", "1.5")
def test_every_event_is_described_and_every_description_has_an_event() -> None:
    page = MADE[REFERENCE / "events.md"]

    assert events.undescribed() == set()
    assert all(f"### `{event}`" in page for event in EVENT_CLASSES)
    assert set(re.findall(r"^\| `([A-Z_]+)` \|", page, re.MULTILINE)) == set(NOTE_DESCRIPTIONS)


def test_every_field_of_an_event_is_listed() -> None:
    assert events.unlisted_fields() == {}


def test_every_event_that_screens_describe_exists() -> None:
    assert set(entry_text._WORDS) <= set(EVENT_CLASSES) | set(NOTE_DESCRIPTIONS)


@pytest.mark.spec("12.1")
def test_every_page_with_exit_codes_lists_all_of_them() -> None:
    known = {0, *exit_codes.codes()}
    cli = (REFERENCE / "cli.md").read_text(encoding="utf-8")
    quickstart = (ROOT / "docs/guides/quickstart.md").read_text(encoding="utf-8")
    listed = {int(code) for code in re.findall(r"^\| (\d+) \| ", cli, re.MULTILINE)}
    first, last = re.search(r"^\| (\d+) to (\d+) \| ", cli, re.MULTILINE).groups()  # type: ignore[union-attr]
    told = re.search(r"^Exit codes:(.*?)\n\n", quickstart, re.MULTILINE | re.DOTALL)

    assert set(exit_codes.MEANING) == known
    assert listed | set(range(int(first), int(last) + 1)) == known
    assert told is not None
    assert {int(code) for code in re.findall(r"\b\d+\b", told[1])} == {0, 2, 3, 4, 5, 6, 130}


@pytest.mark.spec("15")
def test_every_setting_has_one_line_and_every_line_a_setting(tmp_path: Path) -> None:
    page = (REFERENCE / "settings.md").read_text(encoding="utf-8")
    known = {
        key
        for key in load_settings(tmp_path, {}).values
        if not key.startswith("retry.cause_specific.")
    }

    assert sorted(ROW.findall(page)) == sorted(known)


@pytest.mark.spec("1.1", "0.3")
def test_no_decision_reaches_a_task_in_a_final_state() -> None:
    """The page is drawn from these steps, so a hole in `legal` would be an arrow of the picture."""
    leaving = {
        (name, before.state)
        for name, before, after in state_machine.steps()
        if before.state.is_final and after.state is not before.state
    }

    allowed = {(name, State.DONE) for name in ("TASK_UNDONE", "TASK_UNLANDED", "TASK_REPLACED")}
    refused = {("ROW_REFUSED", state) for state in State if state.is_final}
    assert leaving == allowed | refused
