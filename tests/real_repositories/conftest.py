"""The fixtures of the acceptance tests, and a table of all repositories at the end."""

from __future__ import annotations

import pytest

from tests.acceptance.conftest import project, pycache, store_url, stores

__all__ = ["project", "pycache", "store_url", "stores"]

ROW = "real repository"


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """One line for each repository: what it shows, seconds, and what `init` said of its tests."""
    reports = [report for group in terminalreporter.stats.values() for report in group]
    rows = {
        str(value): None
        for report in reports
        for name, value in getattr(report, "user_properties", ())
        if name == ROW
    }
    if rows:
        terminalreporter.write_sep("=", "real repositories")
    for row in sorted(rows):
        terminalreporter.write_line(row)
