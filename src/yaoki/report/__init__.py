"""The report of a run: one document as Markdown, HTML or JSON, and the receipt that proves it."""

from __future__ import annotations

from yaoki.report.canonical import receipt_text
from yaoki.report.document import EscalationDetails, ReportSources, report_document
from yaoki.report.markdown import render_markdown, render_text
from yaoki.report.page import render_page
from yaoki.report.receipt import GitFacts, RunBranchState, make_receipt, read_run_branch
from yaoki.report.tasks import CheckOutputs
from yaoki.report.verification import VerificationResult, verification_result, verify_receipt

__all__ = [
    "CheckOutputs",
    "EscalationDetails",
    "GitFacts",
    "ReportSources",
    "RunBranchState",
    "VerificationResult",
    "make_receipt",
    "read_run_branch",
    "receipt_text",
    "render_markdown",
    "render_page",
    "render_text",
    "report_document",
    "verification_result",
    "verify_receipt",
]
