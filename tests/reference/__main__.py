"""Writes the pages; `python -m tests.reference` after a change of events or exit codes."""

from __future__ import annotations

from tests.reference.pages import made

for file, text in made().items():
    file.write_text(text, encoding="utf-8")
    print(file)
