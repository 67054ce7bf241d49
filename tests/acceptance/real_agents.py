"""Real agent programs through `yaoki run`, run concurrently because they mostly wait."""

from __future__ import annotations

import subprocess
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, TypeVar

import pytest

from tests.acceptance.project import GIT_IDENTITY, Completed, Project, Stores
from tests.scripted_model import ModelServer, Request, Step, Turn
from tests.scripted_model.matrix import FAILED, SEEN, cell
from tests.scripted_model.programs import Program, environ, missing_reason, needed

# Real programs are slow on a busy machine; the bound is for those that never end.
BOUND_S = 300
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


class ScriptedModel(ModelServer):
    """Answers a request with the last script whose key it contains; the last step repeats."""

    def __init__(self, scripts: Mapping[str, Sequence[Step]], *, tools: bool) -> None:
        self._scripts = {words: list(steps) for words, steps in scripts.items()}
        self._heard = threading.Lock()
        self.requests_by_script: dict[str, list[Request]] = {words: [] for words in scripts}
        self.unexpected_requests: list[Request] = []
        super().__init__(Turn("A title"))
        self._tooled = tools

    def next(self, request: Request) -> Step:
        with self._heard:
            # Some agents read the git log, which names tasks that landed before.
            named = [held for held in self._scripts if request.holds(held)]
            words = named[-1] if named else ""
            if request.side or not words:
                self.unexpected_requests += [] if request.side else [request]
                return Turn("A title")
            self.requests_by_script[words].append(request)
            steps = self._scripts[words]
            return steps[0] if len(steps) == 1 else steps.pop(0)


class RealAgentRun:
    """One program, one repository, one home."""

    def __init__(self, program: Program, project: Project) -> None:
        self.program, self.project = program, project
        # What was seen, for the table at the end of the session.
        self.cells: dict[str, str] = {}
        project.settings(SETTINGS)

    @property
    def name(self) -> str:
        return self.program.name

    def commit_files(self, **files: str) -> None:
        """Files of the repository, committed before the run."""
        for name, text in files.items():
            (self.project.repo / name.replace("__", ".")).write_text(text)
        self.project.git("add", "-A")
        self.project.git(*GIT_IDENTITY, "commit", "-qm", "settle")

    @contextmanager
    def model(self, scripts: Mapping[str, Sequence[Step]]) -> Iterator[ScriptedModel]:
        with ScriptedModel(scripts, tools=self.program.has_tools) as model:
            assert isinstance(model, ScriptedModel)
            yield model
        assert model.defects == ()

    def agent(self, model: ModelServer, home: str = "", **more: Any) -> dict[str, Any]:
        """One home per agent: some programs fail if another one started in the same new home."""
        own = self.project.folder / f"agent-home{home}"
        own.mkdir(exist_ok=True)
        return {**self.program.agent(model.url, own), **more}

    def run(self, plan: Mapping[str, Any], *words: str) -> Completed:
        """`yaoki run`, bounded for slow programs."""
        return self.finish(self.start(plan, *words))

    def start(self, plan: Mapping[str, Any], *words: str) -> subprocess.Popen[str]:
        """The keys are in the worker's environment."""
        self.project.env |= environ()
        return self.project.start("run", self.project.plan(plan), *words)

    def resume(self) -> Completed:
        return self.finish(self.project.start("resume"))

    def finish(self, child: subprocess.Popen[str]) -> Completed:
        try:
            out, _ = child.communicate(timeout=BOUND_S)
        except subprocess.TimeoutExpired:
            child.terminate()
            out, _ = child.communicate(timeout=30)
        return Completed(child.returncode, out, "")

    def why(self, task: str) -> dict[str, Any]:
        return self.project.query("why", task, "--json").document


class RealAgentRuns:
    """One run for each program, executed concurrently."""

    def __init__(
        self,
        make: Callable[[str], Project],
        subtests: pytest.Subtests,
        record: Callable[[str, object], None],
    ) -> None:
        self._make, self._subtests, self._record = make, subtests, record

    def run_each(
        self,
        names: Sequence[str],
        act: Callable[[RealAgentRun], Seen],
        judge: Callable[[RealAgentRun, Seen], None],
        column: str = "",
    ) -> None:
        """Run `act` for all that are installed concurrently, then `judge` each separately.

        `column` of the table at the end of the session says how the judge decided.
        """
        for name in names:
            with self._subtests.test(name):
                needed(name)
        installed = [name for name in names if not missing_reason(name)]
        runs = [RealAgentRun(needed(name), self._make(name)) for name in installed]
        with ThreadPoolExecutor(SIDE_BY_SIDE) as pool:
            acts = [(agent_run, pool.submit(act, agent_run)) for agent_run in runs]
        for agent_run, future in acts:
            if column:
                agent_run.cells[column] = FAILED
            with self._subtests.test(agent_run.name):
                judge(agent_run, future.result())
                agent_run.cells |= {column: SEEN} if column else {}
            for name, value in agent_run.cells.items():
                self._record(*cell(agent_run.name, name, value))


@contextmanager
def _outside_dev(folder: Path) -> Iterator[Path]:
    """Codex starts commands in a sandbox of its own with a new `/dev`: nothing in `/dev/shm` is
    there, so its home and its worktree must be somewhere else.
    """
    if not folder.is_relative_to("/dev"):
        yield folder
        return
    with TemporaryDirectory(dir="/var/tmp", prefix="yaoki-", ignore_cleanup_errors=True) as other:
        yield Path(other)


@pytest.fixture
def real_agent_runs(
    tmp_path: Path,
    pycache: Path,
    stores: Stores,
    subtests: pytest.Subtests,
    record_property: Callable[[str, object], None],
) -> Iterator[RealAgentRuns]:
    with ExitStack() as held:
        base = held.enter_context(_outside_dev(tmp_path))

        def make(name: str) -> Project:
            folder = base / name
            folder.mkdir()
            return Project(folder, pycache, held.enter_context(stores.new()))

        yield RealAgentRuns(make, subtests, record_property)
