"""The quarantine in the settings: every defect is named."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pytest

from yaoki.core.model.flaky_test import QuarantineEntry
from yaoki.errors import SettingsInvalid
from yaoki.formats.config import LoadedSettings, load_settings

pytestmark = pytest.mark.spec("18.8", "15")

NOW = datetime(2030, 1, 1, 12, tzinfo=UTC)
GOOD = 'test = "t.py::a"\nowner = "mia"\nreason = "races"\n'


def load(top: Path, text: str) -> LoadedSettings:
    (top / "yaoki.toml").write_text(text, encoding="utf-8")
    return load_settings(top, {}, now=NOW)


def entry(expires: str, more: str = GOOD) -> str:
    return f"[[quarantine]]\n{more}expires = {expires}\n"


@pytest.mark.parametrize(
    ("written", "expires"),
    [
        ("2030-01-31", datetime(2030, 2, 1, tzinfo=UTC)),
        ('"2030-01-31"', datetime(2030, 2, 1, tzinfo=UTC)),
        ("2030-01-31T07:00:00Z", datetime(2030, 1, 31, 7, tzinfo=UTC)),
        ("2030-01-31T09:00:00+02:00", datetime(2030, 1, 31, 7, tzinfo=UTC)),
        ('"2030-01-31T07:00:00+00:00"', datetime(2030, 1, 31, 7, tzinfo=UTC)),
        ("2020-01-31", datetime(2020, 2, 1, tzinfo=UTC)),
    ],
)
def test_an_entry_lasts_until_the_end_of_its_date_or_its_time(
    tmp_path: Path, written: str, expires: datetime
) -> None:
    """An expired entry is no defect: it would stop every command at that moment."""
    loaded = load(tmp_path, entry(written))

    assert loaded.settings.quarantine == (QuarantineEntry("t.py::a", "mia", expires, "races"),)
    assert "quarantine" in loaded.given_keys


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("quarantine = 3", "quarantine: must be a list of tables"),
        ("[quarantine]\ntest = 't'", "quarantine: must be a list of tables"),
        ("quarantine = ['t']", "quarantine: must be a list of tables"),
        ("[[quarantine]]\ntest = 't'", "quarantine: number 1 (t): owner is missing"),
        ("[[quarantine]]\ntest = 't'", "quarantine: number 1 (t): expires is missing"),
        ("[[quarantine]]\nowner = 'o'", "quarantine: number 1: test is missing"),
        (entry("2030-01-31", GOOD.replace('"mia"', '" "')), "owner must be a string that is not"),
        (entry("2030-01-31", GOOD.replace('"races"', "7")), "reason must be a string that is not"),
        (entry("2030-01-31", GOOD.replace("races", "a\\nb")), "reason must be one line of at most"),
        (entry("2030-01-31T07:00:00"), "expires must be a date such as 2030-01-31"),
        (entry("'soon'"), "expires must be a date such as 2030-01-31, or a date with time"),
        (entry("7"), "expires must be a date such as 2030-01-31"),
        (entry("2030-04-02"), "expires 2030-04-03, more than 90 days from now"),
        (entry("2030-01-31", GOOD + "until = 1\n"), "quarantine.until: unknown key"),
        (entry("2030-01-31") + entry("2030-01-30"), "number 2 names 't.py::a' again"),
    ],
)
def test_a_defect_of_an_entry_is_named(tmp_path: Path, text: str, words: str) -> None:
    with pytest.raises(SettingsInvalid) as refused:
        load(tmp_path, text)

    assert words in "\n".join(refused.value.defects)


def test_too_many_entries_are_refused(tmp_path: Path) -> None:
    text = "".join(entry("2030-01-31", GOOD.replace("::a", f"::a{n}")) for n in range(1001))
    with pytest.raises(SettingsInvalid) as refused:
        load(tmp_path, text)

    assert "has 1001 entries, more than 1000" in refused.value.defects[0]


def test_the_entries_are_shown_as_a_file_could_write_them(tmp_path: Path) -> None:
    loaded = load(tmp_path, entry("2030-01-31"))

    assert loaded.values["quarantine"] == [
        {
            "test": "t.py::a",
            "owner": "mia",
            "expires": "2030-02-01T00:00:00+00:00",
            "reason": "races",
        }
    ]
    assert loaded.origin["quarantine"] == "yaoki.toml"
