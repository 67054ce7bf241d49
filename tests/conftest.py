"""Shared by all tests: options, a database server, and the summary at the end of the session."""

from __future__ import annotations

import gc
import os
import signal
from collections import Counter

import pytest
from hypothesis import HealthCheck, settings

from tests import compiled_code, quick_selection, started_python
from tests.acceptance import forked_cli
from tests.acceptance.project import INSTALLED
from tests.adapters.store import server
from tests.parallel.workers import PLUGIN, VARIABLE, ForkedWorkers
from tests.scripted_model import matrix


def pytest_addoption(parser: pytest.Parser) -> None:
    words = "where the acceptance tests have their store"
    parser.addoption("--store", choices=("sqlite", "postgresql"), default="sqlite", help=words)
    words = "start the installed program for every command of the acceptance tests"
    parser.addoption("--installed", action="store_true", help=words)
    words = "prove each promise once; leave out further cases"
    parser.addoption("--quick", action="store_true", help=words)
    words = "run the tests in this many processes, forked after the collection"
    parser.addoption("--workers", type=int, default=0, help=words)


def pytest_configure(config: pytest.Config) -> None:
    """`--store postgresql` without a server is an error, not a pass."""
    if config.getoption("store") == "postgresql" and (why := server.missing()):
        raise pytest.UsageError(why)
    if config.getoption("installed"):
        os.environ[INSTALLED] = "yes"
    if config.getoption("quick"):
        os.environ[quick_selection.VARIABLE] = "yes"
    # Thousands of tests are collected and none is garbage until the end of the session.
    gc.disable()
    # Most tests inspect their agents from outside; tests of the sandbox enable it themselves.
    os.environ.setdefault("YAOKI_SANDBOX_MODE", "off")
    os.environ["PATH"] = started_python.path_to_interpreter(os.environ["PATH"])
    if workers := config.getoption("workers"):
        config.pluginmanager.register(ForkedWorkers(config, workers), PLUGIN)
    _restore_signals()
    _disable_deadlines()


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if quick_selection.is_quick():
        quick_selection.select(config, items)


def pytest_collection_finish() -> None:
    """The garbage collector starts with the tests; what was collected stays until the end."""
    gc.freeze()
    gc.enable()


@pytest.hookimpl(tryfirst=True)
def pytest_runtestloop(session: pytest.Session) -> None:
    """The workers share one fork server of the program: its start takes some seconds."""
    config = session.config
    programs = any("pycache" in getattr(item, "fixturenames", ()) for item in session.items)
    if config.getoption("workers") and programs and not config.option.collectonly:
        base = config._tmp_path_factory.getbasetemp()  # type: ignore[attr-defined]
        forked_cli.start_server(str(compiled_code.shared_folder(base)))


def _restore_signals() -> None:
    """A process started in the background or by `nohup` ignores signals, and so do its children.

    A Python handler is not inherited: child processes get the default signal handling.
    """
    for number in (signal.SIGINT, signal.SIGQUIT, signal.SIGHUP):
        if signal.getsignal(number) is signal.SIG_IGN:
            signal.signal(number, lambda *_: None)


def _disable_deadlines() -> None:
    """The duration of an example depends on the machine and proves nothing.

    Examples are the same in every run, so that a change fails only by its own fault.
    """
    slow = [HealthCheck.too_slow]
    settings.register_profile(
        "any machine",
        max_examples=50 if quick_selection.is_quick() else 100,
        deadline=None,
        suppress_health_check=slow,
        derandomize=True,
    )
    settings.load_profile("any machine")


@pytest.fixture(scope="session")
def server_url(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Without a server the tests are skipped; on the build server they fail."""
    why = server.missing()
    if why and os.environ.get("CI") == "true":
        pytest.fail(why)
    if why:
        pytest.skip(why)
    base = tmp_path_factory.getbasetemp()
    return server.shared(base.parent if VARIABLE in os.environ else base)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """The confusion table of the corpus: expected against actual labels."""
    pairs: Counter[tuple[str, str]] = Counter()
    for reports in terminalreporter.stats.values():
        for report in reports:
            for name, value in getattr(report, "user_properties", ()):
                if name == "corpus" and report.when == "call":
                    expected, _, actual = str(value).partition("|")
                    pairs[expected, actual] += 1
    if pairs:
        _show_corpus_table(terminalreporter, pairs)
    _show_gaming_table(terminalreporter)
    _show_measurements(terminalreporter)
    _show_agent_matrix(terminalreporter)


def _show_agent_matrix(reporter: pytest.TerminalReporter) -> None:
    """What real agent programs were seen to do."""
    cells = matrix.collect(one for held in reporter.stats.values() for one in held)
    if cells:
        reporter.section("real agents")
    for line in matrix.lines(cells) if cells else ():
        reporter.write_line(line)


def _show_gaming_table(reporter: pytest.TerminalReporter) -> None:
    """Cheats and honest twins: how many of each class are refused."""
    counts: dict[tuple[str, str], Counter[str]] = {}
    for report in (one for held in reporter.stats.values() for one in held):
        for name, value in getattr(report, "user_properties", ()):
            if name == "gaming" and report.when == "call":
                criterion, label, word = str(value).split("|")
                counts.setdefault((criterion, label), Counter())[word] += 1
    if counts:
        reporter.section("cheats and honest twins")
        reporter.write_line(f"{'criterion':<14}{'class':<30}{'refused':>9}{'landed':>9}")
    for (criterion, label), words in sorted(counts.items()):
        cells = "".join(f"{words[word] or '.':>9}" for word in ("refused", "landed"))
        reporter.write_line(f"{criterion:<14}{label:<30}{cells}")


def _show_measurements(reporter: pytest.TerminalReporter) -> None:
    """Measurements of tests are printed and never asserted."""
    reports = (one for held in reporter.stats.values() for one in held)
    found = (
        str(value)
        for report in reports
        for name, value in getattr(report, "user_properties", ())
        if name == "measured" and report.when == "call"
    )
    if lines := list(found):
        reporter.section("measured")
    for line in lines:
        reporter.write_line(line)


def _show_corpus_table(reporter: pytest.TerminalReporter, pairs: Counter[tuple[str, str]]) -> None:
    names = sorted({name for pair in pairs for name in pair})
    reporter.section(f"corpus of failures: {pairs.total()} cases, expected (down) x actual")
    reporter.write_line(f"{'':20}" + "".join(f"{name[:9]:>10}" for name in names))
    for expected in names:
        row = (pairs[expected, actual] or "." for actual in names)
        reporter.write_line(f"{expected:20}" + "".join(f"{n:>10}" for n in row))
    wrong = sum(n for (expected, actual), n in pairs.items() if expected != actual)
    reporter.write_line(f"{wrong} mislabelled")
