"""Imports task lists of other tools as a native plan: ids, goals and needs.

Data in, data out.  Nothing is lost silently: finished tasks are listed by name, and what cannot be
read is reported with its line.
"""

from __future__ import annotations

from yaoki.formats.imports.forms import FORMS, detect_form, read_list
from yaoki.formats.imports.model import ImportedList, ImportedTask, ImportOptions, SkippedEntry
from yaoki.formats.imports.plan_text import plan_text

__all__ = [
    "FORMS",
    "ImportOptions",
    "ImportedList",
    "ImportedTask",
    "SkippedEntry",
    "detect_form",
    "plan_text",
    "read_list",
]
