"""The page that lists what cannot be held is as the catalogue is."""

from __future__ import annotations

from tests.security.attacks_page import PAGE, page


def test_the_page_of_attacks_matches_the_catalogue() -> None:
    words = "it is old: .venv/bin/python -m tests.security.attacks_page > docs/reference/attacks.md"

    assert PAGE.read_text(encoding="utf-8") == page(), words
