"""The report of a run: one document, as markdown, HTML or JSON, and the receipt that proves it."""

from __future__ import annotations

from yaoki.views.report.canonical import file_text
from yaoki.views.report.document import Held, Sources, report_document
from yaoki.views.report.fold import Fold, fold
from yaoki.views.report.markdown import markdown
from yaoki.views.report.page import page
from yaoki.views.report.receipt import Branch, GitFacts, Step, look, make
from yaoki.views.report.stored import Stored
from yaoki.views.report.verifying import Line, line_of, verify

__all__ = [
    "Branch",
    "Fold",
    "GitFacts",
    "Held",
    "Line",
    "Sources",
    "Step",
    "Stored",
    "file_text",
    "fold",
    "line_of",
    "look",
    "make",
    "markdown",
    "page",
    "report_document",
    "verify",
]
