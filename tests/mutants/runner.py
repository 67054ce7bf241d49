"""The run: `tests/core` is collected once; each mutant gets a forked process and its tests.

A test has a limit in processor time, not on the clock, so that a busy machine kills no mutant.
"""

from __future__ import annotations

import gc
import mmap
import os
import pickle
import resource
import signal
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache, partial
from pathlib import Path
from types import CodeType, FunctionType

import pytest
from _pytest.runner import runtestprotocol
from coverage import Coverage
from hypothesis import HealthCheck, Phase, settings

from tests.mutants.mutations import Mutant, Source

KILLED, SURVIVED, UNREACHED = "killed", "survived", "unreached"
BROKEN = 70
TELL_SECONDS = 30
# Nothing in a test sends these to itself; the limit on time is SIGPROF.
FROM_OUTSIDE = (signal.SIGTERM, signal.SIGKILL, signal.SIGINT)
EXAMPLES = 12
MEMORY_MAX = 3 << 30
# Of one test: the measured time and a multiple of it, since a mutant may do more than the original.
SECONDS_FREE, SECONDS_FACTOR = 1.0, 5.0
PROFILE = settings(
    max_examples=EXAMPLES,
    deadline=None,
    derandomize=True,
    database=None,
    phases=(Phase.explicit, Phase.generate),
    suppress_health_check=list(HealthCheck),
)


@dataclass(frozen=True)
class Reach:
    """Measurements of the unchanged code: the tests of each line, and the cost of each test."""

    tests_by_line: dict[tuple[str, int], set[int]]
    seconds: list[float]

    def in_order(self, tests: Iterable[int] | None = None) -> list[int]:
        """Every test that reaches a mutated module, or these tests, the fastest first."""
        every = set().union(*self.tests_by_line.values()) if tests is None else tests
        return sorted(every, key=lambda each: self.seconds[each])

    def tests(self, filename: str, mutant: Mutant) -> list[int]:
        found = (self.tests_by_line.get((filename, line), set()) for line in mutant.lines)
        return self.in_order(set().union(*found))


class Runner:
    """A pytest plugin that runs mutants in place of the collected tests."""

    def __init__(self, sources: dict[str, Source], mutants: Sequence[Mutant], children: int):
        self.results: dict[int, str] = {}
        self.failed, self.timed_out = "", 0
        self._sources, self._mutants, self._children = sources, mutants, children
        # Which test killed a mutant: written by the children, read by us.
        self._killers = mmap.mmap(-1, 4 * max(1, len(mutants)))
        self._told = time.monotonic()
        self._first: dict[tuple[str, str], list[int]] = defaultdict(list)

    @pytest.hookimpl(tryfirst=True)
    def pytest_collection(self) -> None:
        settings.register_profile("mutants", PROFILE)
        settings.load_profile("mutants")

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        self._items = session.items
        started = time.monotonic()
        reach = measure(session.items, [source.filename for source in self._sources.values()])
        if isinstance(reach, str):
            self.failed = reach
            return True
        say(f"{len(session.items)} tests measured in {time.monotonic() - started:.0f} s")
        self._functions = functions_by_place()
        forget_cached_values()
        gc.collect()
        gc.freeze()
        if os.waitpid(fork(partial(self._run_tests, 0, reach.in_order(), reach)), 0)[1]:
            self.failed = "the unchanged code does not survive: tests depend on their order"
        else:
            self._run_all(reach)
        return True

    def _run_all(self, reach: Reach) -> None:
        running: dict[int, int] = {}
        for number, mutant in enumerate(self._mutants):
            tests = reach.tests(self._sources[mutant.module].filename, mutant)
            if not tests:
                self.results[number] = UNREACHED
                continue
            while len(running) >= self._children:
                self._await_one(running)
            running[fork(partial(self._try, number, mutant, tests, reach))] = number
            self._tell()
        while running:
            self._await_one(running)

    def _tell(self) -> None:
        if time.monotonic() - self._told > TELL_SECONDS:
            self._told = time.monotonic()
            killed = sum(result == KILLED for result in self.results.values())
            say(f"{len(self.results)} of {len(self._mutants)} mutants, {killed} killed")

    def _await_one(self, running: dict[int, int]) -> None:
        pid, status = os.wait()
        number = running.pop(pid)
        code = os.waitstatus_to_exitcode(status)
        if code == BROKEN or -code in FROM_OUTSIDE:
            # Neither result says anything about the tests.
            self.failed = f"a mutant of {self._mutants[number].module} could not be tried ({code})"
        self.results[number] = SURVIVED if status == 0 else KILLED
        self.timed_out += os.WIFSIGNALED(status)
        killer = int.from_bytes(self._killers[4 * number : 4 * number + 4], "little")
        if killer:
            mutant = self._mutants[number]
            first = self._first[mutant.module, mutant.function]
            first[:] = [killer - 1, *(each for each in first if each != killer - 1)][:20]

    def _try(self, number: int, mutant: Mutant, tests: list[int], reach: Reach) -> int:
        """In the child: 1 when a test fails; a signal at the limit counts as well."""
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY_MAX, MEMORY_MAX))
        code = self._sources[mutant.module].compile(mutant)
        functions = self._functions.get(place(mutant, self._sources), [])
        if code is None or not functions:
            raise RuntimeError(f"{mutant.module}:{mutant.line}: {mutant.function} was not found")
        for function in functions:
            function.__code__ = code
        first = [each for each in self._first[mutant.module, mutant.function] if each in tests]
        return self._run_tests(number, list(dict.fromkeys([*first, *tests])), reach)

    def _run_tests(self, number: int, tests: Sequence[int], reach: Reach) -> int:
        for at in tests:
            self._killers[4 * number : 4 * number + 4] = (at + 1).to_bytes(4, "little")
            limit = SECONDS_FREE + SECONDS_FACTOR * reach.seconds[at]
            signal.setitimer(signal.ITIMER_PROF, limit)
            if not passes(self._items[at]):
                return 1
        self._killers[4 * number : 4 * number + 4] = bytes(4)
        return 0


def place(mutant: Mutant, sources: dict[str, Source]) -> tuple[str, str, int]:
    return sources[mutant.module].filename, mutant.function, mutant.first_line


def all_objects() -> list[object]:
    """`gc.get_objects` leaves out frozen objects, and `tests/conftest.py` freezes the collected."""
    gc.unfreeze()
    return gc.get_objects()


def functions_by_place() -> dict[tuple[str, str, int], list[FunctionType]]:
    """Also those behind properties and caches, and in classes that a decorator built anew."""
    found = defaultdict(list)
    for each in all_objects():
        if isinstance(each, FunctionType):
            code: CodeType = each.__code__
            found[code.co_filename, code.co_qualname, code.co_firstlineno].append(each)
    return found


def forget_cached_values() -> None:
    """What the unchanged code answered while the tests were collected."""
    kind = type(lru_cache(lambda: None))
    for each in all_objects():
        if isinstance(each, kind) and str(each.__module__).startswith("yaoki."):
            each.cache_clear()


def measure(items: Sequence[pytest.Item], filenames: Iterable[str]) -> Reach | str:
    """In a child process, so that the unchanged code fills no cache of the parent."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "reach"
        _, status = os.waitpid(fork(lambda: _measure(items, set(filenames), file)), 0)
        if not file.exists():
            return f"the tests could not be measured (status {status})"
        told = pickle.loads(file.read_bytes())  # noqa: S301 - our child wrote it
        return told if isinstance(told, (Reach, str)) else "the measurement cannot be read"


def _measure(items: Sequence[pytest.Item], filenames: set[str], file: Path) -> int:
    coverage = Coverage(data_file=None, config_file=False, include=sorted(filenames))
    seconds = []
    coverage.start()
    for at, item in enumerate(items):
        coverage.switch_context(str(at))
        began = time.process_time()
        if not passes(item):
            file.write_bytes(pickle.dumps(f"{item.nodeid} fails on the unchanged code"))
            return 1
        seconds.append(time.process_time() - began)
    coverage.stop()
    data = coverage.get_data()
    lines: dict[tuple[str, int], set[int]] = {}
    for filename in data.measured_files():
        for line, contexts in data.contexts_by_lineno(filename).items():
            if tests := {int(each) for each in contexts if each}:
                lines[filename, line] = tests
    file.write_bytes(pickle.dumps(Reach(lines, seconds)))
    return 0


def passes(item: pytest.Item) -> bool:
    # Without a next item everything is torn down: tests are independent.
    return not any(report.failed for report in runtestprotocol(item, log=False, nextitem=None))


def fork(work: Callable[[], int]) -> int:
    pid = os.fork()
    if pid:
        return pid
    code = BROKEN
    try:
        code = work()
    except BaseException as fault:  # noqa: BLE001 - a child never continues as its parent
        say(repr(fault))
    finally:
        os._exit(code)


def say(words: str) -> None:
    """Past the capturing of pytest."""
    print(words, file=sys.__stderr__, flush=True)


def run(runner: Runner, tests: str) -> int:
    options = ("-q", "-p", "no:cacheprovider", "--tb=native", "--assert=plain")
    return int(
        pytest.main([*options, "-s", "--no-header", "--no-summary", tests], plugins=[runner])
    )
