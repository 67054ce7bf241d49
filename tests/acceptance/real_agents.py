"""Real agent programs through `yaoki run`: a model that answers each task by its own script."""

from __future__ import annotations

import subprocess
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.acceptance.place import WHO, Completed, Place
from tests.model import ModelServer, Request, Step, Turn
from tests.model.programs import PROGRAMS, Program, environ

# Real programs on a busy machine take their time; the bound is for those that never end.
BOUND_S = 240
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
deadline_s = 100.0
agent_wait_s = 2.0
"""


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

    def __init__(self, program: Program, place: Place, home: Path) -> None:
        self.program, self.place, self._home = program, place, home
        (place.repo / "yaoki.toml").write_text(SETTINGS)

    def settle(self, **files: str) -> None:
        """Files of the repository, committed before the run."""
        for name, text in files.items():
            (self.place.repo / name.replace("__", ".")).write_text(text)
        self.place.git("add", "-A")
        self.place.git(*WHO, "commit", "-qm", "settle")

    @contextmanager
    def model(self, scripts: Mapping[str, Sequence[Step]]) -> Iterator[Scripts]:
        model = Scripts(scripts, tools=self.program.name != "aider")
        with model:
            yield model
        assert model.defects == ()

    def agent(self, model: ModelServer, **more: Any) -> dict[str, Any]:
        return {**self.program.agent(model.url, self._home), **more}

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
        return self.place.yaoki("why", task, "--json").document


@pytest.fixture(scope="session")
def homes(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """One home for each program: its first start in a new one may be slow."""
    made: dict[str, Path] = {}

    def home(name: str) -> Path:
        if name not in made:
            made[name] = tmp_path_factory.mktemp(f"home-{name}")
        return made[name]

    return home


@pytest.fixture
def theatre(request: pytest.FixtureRequest, place: Place, homes: Callable[[str], Path]) -> Theatre:
    program = PROGRAMS[request.param]
    if not program.program.exists():
        pytest.skip(f"{program.name} is not installed here; make agents")
    return Theatre(program, place, homes(program.name))


def on(*names: str) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("theatre", names, indirect=True)
