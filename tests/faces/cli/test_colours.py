"""Colours: only on a terminal that can show them, and never against NO_COLOR."""

from __future__ import annotations

import sys

import pytest

from yaoki.faces.text.render import paint

pytestmark = pytest.mark.spec("12.1")


@pytest.mark.parametrize(
    ("look", "terminal", "coloured"),
    [
        ({"TERM": "xterm"}, True, True),
        ({"TERM": "dumb"}, True, False),
        ({"TERM": "xterm", "NO_COLOR": "1"}, True, False),
        ({"TERM": "xterm"}, False, False),
    ],
    ids=["colour", "dumb", "no colour", "a pipe"],
)
def test_terminal_codes_are_printed_only_where_wanted(
    monkeypatch: pytest.MonkeyPatch, look: dict[str, str], terminal: bool, coloured: bool
) -> None:
    monkeypatch.delenv("NO_COLOR", raising=False)
    for name, value in look.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(sys.stdout, "isatty", lambda: terminal)

    assert ("\x1b" in paint("LIES", "red")) is coloured
