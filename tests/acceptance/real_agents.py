"""Real agent programs through `yaoki run`, side by side: they wait more than they work."""

from __future__ import annotations

import subprocess
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, TypeVar

import pytest

from tests.acceptance.project import WHO, Completed, Place, Stores
from tests.scripted_model import ModelServer, Request, Step, Turn
from tests.scripted_model.programs import Program, environ, needed

# Real programs on a busy machine take their time; the bound is for those that never end.
BOUND_S = 240
SIDE_BY_SIDE = 4
SETTINGS = """\
[retry.default_backoff]
initial_delay_ms = 20
max_delay_ms = 40

[limits]
parallel = 2
heartbeat_s = 0.5
lease_s = 20.0
hang_warning_s = 60.0
hang_s = 100.0
deadline_s = 150.0
agent_wait_s = 2.0
"""
Seen = TypeVar("Seen")


class Scripts(ModelServer):
    """A request is answered by the last script whose words it holds; its last step repeats."""

    def __init__(self, scripts: Mapping[str, Sequence[Step]], *, tools: bool) -> None:
        self._scripts = {words: list(steps) for words, steps in scripts.items()}
        self._heard = threading.Lock()
        self.asked: dict[str, list[Request]] = {words: [] for words in scripts}
        self.strange: list[Request] = []
        super().__init__(Turn("A title"))
        self._tooled = tools

    def next(self, request: Request) -> Step:
        with self._heard:
            # Some agents read the log of the repository, which tells of tasks that landed before.
            named = [held for held in self._scripts if request.holds(held)]
            words = named[-1] if named else ""
            if request.side or not words:
                self.strange += [] if request.side else [request]
                return Turn("A title")
            self.asked[words].append(request)
            steps = self._scripts[words]
            return steps[0] if len(steps) == 1 else steps.pop(0)


class Theatre:
    """One program, one repository, one home."""

    def __init__(self, program: Program, place: Place) -> None:
        self.program, self.place = program, place
        place.settings(SETTINGS)

    @property
    def name(self) -> str:
        return self.program.name

    def settle(self, **files: str) -> None:
        """Files of the repository, committed before the run."""
        for name, text in files.items():
            (self.place.repo / name.replace("__", ".")).write_text(text)
        self.place.git("add", "-A")
        self.place.git(*WHO, "commit", "-qm", "settle")

    @contextmanager
    def model(self, scripts: Mapping[str, Sequence[Step]]) -> Iterator[Scripts]:
        with Scripts(scripts, tools=True) as model:
            assert isinstance(model, Scripts)
            yield model
        assert model.defects == ()

    def agent(self, model: ModelServer, home: str = "", **more: Any) -> dict[str, Any]:
        """Its first start in a new home must be its only one there: some fail over another's."""
        own = self.place.folder / f"agent-home{home}"
        own.mkdir(exist_ok=True)
        return {**self.program.agent(model.url, own), **more}

    def run(self, plan: Mapping[str, Any], *words: str) -> Completed:
        """`yaoki run`, bounded for slow programs; the keys are in the worker's environment."""
        self.place.env |= environ()
        child = self.place.start("run", self.place.plan(plan), *words)
        try:
            out, _ = child.communicate(timeout=BOUND_S)
        except subprocess.TimeoutExpired:
            child.terminate()
            out, _ = child.communicate(timeout=30)
        return Completed(child.returncode, out, "")

    def why(self, task: str) -> dict[str, Any]:
        return self.place.look("why", task, "--json").document


class Theatres:
    """One for each program, and what becomes of all of them at the same time."""

    def __init__(self, make: Callable[[str], Place], subtests: pytest.Subtests) -> None:
        self._make, self._subtests = make, subtests

    def play(
        self,
        names: Sequence[str],
        act: Callable[[Theatre], Seen],
        judge: Callable[[Theatre, Seen], None],
    ) -> None:
        """`act` side by side, then `judge` each by itself."""
        theatres = [Theatre(needed(name), self._make(name)) for name in names]
        with ThreadPoolExecutor(SIDE_BY_SIDE) as pool:
            acts = [(theatre, pool.submit(act, theatre)) for theatre in theatres]
        for theatre, future in acts:
            with self._subtests.test(theatre.name):
                judge(theatre, future.result())


@pytest.fixture
def theatres(
    tmp_path: Path, pycache: Path, stores: Stores, subtests: pytest.Subtests
) -> Iterator[Theatres]:
    with ExitStack() as held:

        def make(name: str) -> Place:
            folder = tmp_path / name
            folder.mkdir()
            return Place(folder, pycache, held.enter_context(stores.new()))

        yield Theatres(make, subtests)
