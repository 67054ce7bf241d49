"""`--workers N`: N processes run the tests; they are forked after the tests were collected.

pytest-xdist starts interpreters, and each imports and collects all tests again: with thousands of
tests that takes more processor time than handing them out ever saves.  A forked worker has all
modules already.  It is given a chunk of tests, and asks for another before it runs the last test of
one, so that it knows which fixtures the next test needs.  It sends the reports of each test; they
count and are shown as if the tests had run in the main process.  A worker that dies fails its test,
and a new one goes on with the rest.
"""

from __future__ import annotations

import atexit
import io
import mmap
import os
import random
import signal
import sys
import time
import traceback
from collections import deque
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from multiprocessing.connection import Connection, Pipe, wait
from pathlib import Path
from typing import Any, NoReturn

import pytest
from _pytest.config import create_terminal_writer

from tests.parallel.order import chunks

# The worker's name, in its environment; the main process has none.
VARIABLE = "TESTS_WORKER"
PLUGIN = "forked-workers"
# After an interrupt a worker may take this long for the teardown of its fixtures.
END_S = 20.0


@dataclass
class Worker:
    """A worker as the main process sees it: its tests are those without a report yet."""

    pid: int
    line: Connection[Any, Any]
    tests: list[int] = field(default_factory=list)


@dataclass(frozen=True)
class Reported:
    """The test has ended."""

    test: int
    reports: list[dict[str, Any] | None]


@dataclass(frozen=True)
class Stopped:
    """A test asked for the end of the session."""

    why: str


class ForkedWorkers:
    """Takes the place of pytest's own loop over the tests."""

    def __init__(self, config: pytest.Config, count: int) -> None:
        self._config, self._count = config, count
        self._workers: dict[Connection[Any, Any], Worker] = {}
        self._chunks: deque[list[int]] = deque()
        self._names = 0
        # Shared with the workers, which look at it before each test.
        self._stop = mmap.mmap(-1, 1)

    @pytest.hookimpl
    def pytest_runtestloop(self, session: pytest.Session) -> bool | None:
        if session.testsfailed or session.config.option.collectonly or not session.items:
            return None
        # Made once: each worker has a folder below it.
        self._config._tmp_path_factory.getbasetemp()  # type: ignore[attr-defined]
        self._chunks.extend(chunks(session.items, self._count))
        capture = self._config.pluginmanager.getplugin("capturemanager")
        # Else the workers would write into one file.
        capture.stop_global_capturing()
        try:
            for _ in range(min(self._count, len(self._chunks))):
                self._start(session)
            while self._workers:
                for line in wait(list(self._workers)):
                    self._hear(session, self._workers[line])  # type: ignore[index]
        finally:
            self._end()
        if session.shouldfail:
            raise session.Failed(session.shouldfail)
        if session.shouldstop:
            raise session.Interrupted(session.shouldstop)
        return True

    def _start(self, session: pytest.Session) -> None:
        ours, theirs = Pipe()
        self._names += 1
        # What is buffered would be written by both.
        sys.stdout.flush()
        if not (pid := os.fork()):
            # Its end is seen by the others only if nobody else holds it.
            for line in (ours, *self._workers):
                line.close()
            _work(session, theirs, f"w{self._names}", self._stop)
        theirs.close()
        self._workers[ours] = Worker(pid, ours)
        self._give(self._workers[ours])

    def _hear(self, session: pytest.Session, worker: Worker) -> None:
        try:
            said: Reported | Stopped | None = worker.line.recv()
        except (EOFError, ConnectionResetError):
            self._bury(session, worker)
            return
        match said:
            case Reported():
                worker.tests.remove(said.test)
                self._show(session.items[said.test], said.reports)
            case Stopped():
                session.shouldstop = session.shouldstop or said.why
            case None:
                self._give(worker)
        if session.shouldfail or session.shouldstop:
            self._chunks.clear()
            self._stop[0] = 1

    def _give(self, worker: Worker) -> None:
        chunk = self._chunks.popleft() if self._chunks else []
        worker.tests += chunk
        # A worker that died meanwhile is buried next.
        with suppress(BrokenPipeError):
            worker.line.send(chunk)

    def _show(self, item: pytest.Item, reports: list[dict[str, Any] | None]) -> None:
        hook = self._config.hook
        hook.pytest_runtest_logstart(nodeid=item.nodeid, location=item.location)
        for data in reports:
            report = hook.pytest_report_from_serializable(config=self._config, data=data)
            hook.pytest_runtest_logreport(report=report)
        hook.pytest_runtest_logfinish(nodeid=item.nodeid, location=item.location)

    def _bury(self, session: pytest.Session, worker: Worker) -> None:
        """Its test failed, if it died in one; its other tests go to a new worker."""
        code = os.waitstatus_to_exitcode(os.waitpid(worker.pid, 0)[1])
        del self._workers[worker.line]
        worker.line.close()
        why = f"a worker of the tests died with code {code}"
        ends = session.shouldfail or session.shouldstop
        if not (ends or worker.tests or code == 0):
            session.shouldfail = why
        if ends or not worker.tests:
            return
        item = session.items[worker.tests.pop(0)]
        died = pytest.TestReport(item.nodeid, item.location, {}, "failed", why, "call")
        to_data = self._config.hook.pytest_report_to_serializable
        self._show(item, [to_data(config=self._config, report=died)])
        if session.shouldfail or session.shouldstop:
            return
        if worker.tests:
            self._chunks.appendleft(worker.tests)
        if self._chunks:
            self._start(session)

    def _end(self) -> None:
        """Nothing is left after a normal end; after an interrupt the workers end as well."""
        self._stop[0] = 1
        for worker in self._workers.values():
            worker.line.close()
            with suppress(ProcessLookupError):
                os.kill(worker.pid, signal.SIGINT)
        give_up = time.monotonic() + END_S
        for worker in self._workers.values():
            while not os.waitpid(worker.pid, os.WNOHANG)[0]:
                if time.monotonic() > give_up:
                    os.kill(worker.pid, signal.SIGKILL)
                time.sleep(0.05)


# ------------------------------------------------------------------ in the worker


class Reports:
    """Keeps the reports of the test that runs."""

    def __init__(self, config: pytest.Config) -> None:
        self._config = config
        self.kept: list[dict[str, Any] | None] = []

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        data = self._config.hook.pytest_report_to_serializable(config=self._config, report=report)
        self.kept.append(data)


class CapturedTerminal:
    """Takes the place of the reporter: a test that takes too long writes its stacks here."""

    def __init__(self, config: pytest.Config) -> None:
        written: Any = _StandardError()
        self._tw = create_terminal_writer(config, written)


class _StandardError(io.TextIOBase):
    """The one of the moment: capturing replaces it."""

    def write(self, text: str) -> int:
        return sys.stderr.write(text)


def _work(
    session: pytest.Session, line: Connection[Any, Any], name: str, stop: mmap.mmap
) -> NoReturn:
    """Runs in the fork and never returns."""
    code = 3
    try:
        # What the main process is to do at its end is not for its workers.
        atexit._clear()
        random.seed()
        _make_own(session.config, name)
        _run_tests(session, line, stop)
        code = 0
    except (BrokenPipeError, ConnectionResetError, EOFError):
        code = 4
    except BaseException:  # noqa: BLE001 - the fork must not continue as the main process
        traceback.print_exc()
    finally:
        with suppress(BaseException):
            session._setupstate.teardown_exact(None)
        atexit._run_exitfuncs()
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)


def _make_own(config: pytest.Config, name: str) -> None:
    """Own capturing, own folder, and no terminal."""
    os.environ[VARIABLE] = name
    plugins = config.pluginmanager
    plugins.unregister(name="terminalreporter")
    plugins.register(CapturedTerminal(config), "terminalreporter")
    plugins.unregister(name=PLUGIN)
    capture: Any = plugins.getplugin("capturemanager")
    capture.start_global_capturing()
    capture.suspend_global_capture()
    factory = config._tmp_path_factory  # type: ignore[attr-defined]
    folder: Path = factory.getbasetemp() / name
    folder.mkdir()
    factory._basetemp = folder


def _run_tests(session: pytest.Session, line: Connection[Any, Any], stop: mmap.mmap) -> None:
    reports = Reports(session.config)
    session.config.pluginmanager.register(reports)
    given = _given(line)
    test = next(given, None)
    # After the failure that ends the session the worker's fixtures have ended already.
    while test is not None and not (stop[0] or session.shouldfail or session.shouldstop):
        following = next(given, None)
        item = session.items[test]
        nextitem = None if following is None else session.items[following]
        reports.kept = []
        try:
            item.ihook.pytest_runtest_protocol(item=item, nextitem=nextitem)
        except pytest.exit.Exception as asked:
            line.send(Stopped(str(asked)))
        except KeyboardInterrupt:
            return
        line.send(Reported(test, reports.kept))
        test = following


def _given(line: Connection[Any, Any]) -> Iterator[int]:
    while chunk := line.recv():
        yield from chunk
        line.send(None)
