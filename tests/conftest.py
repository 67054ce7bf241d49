"""What the whole test session tells at its end."""

from __future__ import annotations

from collections import Counter

import pytest


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """The corpus of failures: what was expected against what came out."""
    pairs: Counter[tuple[str, str]] = Counter()
    for reports in terminalreporter.stats.values():
        for report in reports:
            for name, value in getattr(report, "user_properties", ()):
                if name == "corpus" and report.when == "call":
                    expected, _, actual = str(value).partition("|")
                    pairs[expected, actual] += 1
    if pairs:
        _show(terminalreporter, pairs)


def _show(reporter: pytest.TerminalReporter, pairs: Counter[tuple[str, str]]) -> None:
    names = sorted({name for pair in pairs for name in pair})
    reporter.section(f"corpus of failures: {pairs.total()} cases, expected (down) x actual")
    reporter.write_line(f"{'':20}" + "".join(f"{name[:9]:>10}" for name in names))
    for expected in names:
        row = (pairs[expected, actual] or "." for actual in names)
        reporter.write_line(f"{expected:20}" + "".join(f"{n:>10}" for n in row))
    wrong = sum(n for (expected, actual), n in pairs.items() if expected != actual)
    reporter.write_line(f"{wrong} mislabelled")
