"""Writes the pages; `python -m tests.reference` after a change of events or exit codes."""

from __future__ import annotations

from tests.reference.pages import generated_pages

for file, text in generated_pages().items():
    file.write_text(text, encoding="utf-8")
    print(file)
