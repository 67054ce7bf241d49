"""The report of a run: one document, as markdown, HTML or JSON, and the receipt that proves it."""

from __future__ import annotations

from yaoki.report.canonical import file_text
from yaoki.report.check_outputs import CheckOutputs
from yaoki.report.document import Held, Sources, report_document
from yaoki.report.fold import Fold, fold
from yaoki.report.markdown import markdown
from yaoki.report.page import page
from yaoki.report.receipt import Branch, GitFacts, Step, look, make
from yaoki.report.verification import Line, line_of, verify

__all__ = [
    "Branch",
    "CheckOutputs",
    "Fold",
    "GitFacts",
    "Held",
    "Line",
    "Sources",
    "Step",
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
