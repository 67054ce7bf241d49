"""Writes the pages, or their parts, that are made from the code.

`python -m tests.reference` after a change of events, enum values, exit codes, patterns or built-in
checks.
"""

from __future__ import annotations

from tests.reference.pages import generated_pages

for file, text in generated_pages().items():
    file.write_text(text, encoding="utf-8")
    print(file)
