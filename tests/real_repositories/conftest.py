"""The fixtures of the acceptance tests, and a table of all repositories at the end."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.acceptance.conftest import project, pycache, store_url, stores

__all__ = ["project", "pycache", "store_url", "stores"]

ROW = "real repository"


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """For each repository what it shows, its seconds, and what yaoki said of it."""
    rows = sorted(set(_rows(terminalreporter)))
    if rows:
        terminalreporter.write_sep("=", "real repositories")
    for row in rows:
        terminalreporter.write_line(row)


def _rows(reporter: pytest.TerminalReporter) -> Iterator[str]:
    for report in (report for group in reporter.stats.values() for report in group):
        for name, value in getattr(report, "user_properties", ()):
            if name == ROW:
                yield str(value)
