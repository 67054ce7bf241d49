"""Fakes for the simulated world: processes, agents, checks, and a notification channel."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from pathlib import Path

from tests.simulation.world import REFUSED, Accesses, Process, Tree, World
from yaoki.adapters.agents.output_files import OUT
from yaoki.core.model import (
    AgentExit,
    AgentLimit,
    AgentSpec,
    CheckSpec,
    EndCause,
    Failure,
    FailureKind,
    Finding,
    FindingItem,
    Outcome,
    Usage,
)
from yaoki.core.model.change import Change, ChangeContext
from yaoki.core.model.check_definition import DefinitionReview, TestsOfTwoRuns, TreeView
from yaoki.core.model.failing_tests import FailingTests
from yaoki.core.model.mutant import HiddenCode, Mutant
from yaoki.core.model.suppression import Suppression
from yaoki.errors import NoticeFailed
from yaoki.ports import AttemptRequest, CheckFacts, Launch, Notice, ProcessPhase, ProcessState


class NumberedProcesses:
    """Shims, as far as the engine can tell: they outlive the worker that started them.

    Only the answer of a planner is a real file, below `home`, because the real reader reads it.
    """

    def __init__(self, world: World, touch: Accesses, home: Path) -> None:
        self.world, self.touch, self._home = world, touch, home

    def _key(self, folder: Path) -> str:
        """The same for every copy of the world."""
        return str(folder.relative_to(self._home))

    def start(self, folder: Path, launch: Launch) -> None:
        self.touch("start")
        task, attempt = launch.env["task"], int(launch.env["attempt"])
        if self._key(folder) not in self.world.processes:
            key = (task, attempt)
            self.world.starts[key] = self.world.starts.get(key, 0) + 1
            looks = self.world.dice.randint(1, 3)
            place = Path(launch.cwd).name
            code = launch.env["code"]
            process = Process(task, attempt, place, looks, code=code)
            self.world.processes[self._key(folder)] = process
        self.touch("started")

    def inspect(self, folder: Path) -> ProcessState:
        process = self.world.processes.get(self._key(folder))
        if process is None:
            return ProcessState(ProcessPhase.ABSENT)
        if process.gone:
            return ProcessState(ProcessPhase.GONE)
        if not process.done and not process.ended:
            process.looks -= 1
            if process.looks > 0:
                return ProcessState(ProcessPhase.RUNNING)
            self._say(folder, self.world.act(process))
        return ProcessState(
            ProcessPhase.EXITED, code=0, ended_by=EndCause(process.ended), output_bytes=1
        )

    def _say(self, folder: Path, words: str) -> None:
        if words:
            folder.mkdir(parents=True)
            (folder / OUT).write_text(words)

    def pause(self, folder: Path, duration: timedelta) -> None:
        self.world.time += duration

    def renew_lease(self, folder: Path) -> None:
        self.touch("renew")

    def end(self, folder: Path, why: str) -> ProcessState:
        self.touch("end")
        process = self.world.processes[self._key(folder)]
        if process.running:
            process.ended = why
        return self.inspect(folder)


class PlainAgent:
    """Adds nothing to what the process did."""

    def preflight(self, spec: AgentSpec) -> None:
        return

    def build_launch(self, order: AttemptRequest) -> Launch:
        name = order.environment["YAOKI_TASK_NAME"]
        code = re.search(r'"code": "(\w+)"', order.prompt)
        env = {"task": name, "attempt": str(order.attempt), "code": code[1] if code else ""}
        return Launch(("agent",), str(order.worktree), env)

    def can_resume(self, spec: AgentSpec) -> bool:
        return False

    def read(self, folder: Path, look: ProcessState) -> AgentExit:
        exit_ = AgentExit(code=look.code, ended_by=look.ended_by, output_bytes=look.output_bytes)
        words = (folder / OUT).read_text() if (folder / OUT).exists() else ""
        if not words.startswith(REFUSED):
            return exit_
        limit, _, hours = words.removeprefix(REFUSED).partition(":")
        wait = timedelta(hours=int(hours)) if hours else None
        return replace(exit_, code=1, limit=AgentLimit(limit), retry_after=wait)

    def pending_question(self, folder: Path) -> str:
        return ""

    def announced_wait(self, folder: Path) -> timedelta:
        return timedelta(0)

    def usage_so_far(self, folder: Path) -> Usage:
        return Usage()


@dataclass(frozen=True)
class WrittenPrompt:
    text: str = "mend it"
    path: str = ""
    steps: tuple[str, ...] = ()
    fault: str = ""


class PlainPromptText:
    """One sentence for every failure."""

    def write(
        self, failure: Failure, hints: Mapping[FailureKind, str], template: str = ""
    ) -> WrittenPrompt:
        return WrittenPrompt()

    def fitting_templates(self, failure: Failure) -> tuple[str, ...]:
        return ()


class NoCriteria:
    """Trees of words have no syntax to break."""

    def judge_criteria(
        self, changes: Sequence[Change], claims: ChangeContext, *, exists: Callable[[str], bool]
    ) -> tuple[Finding, ...]:
        return ()

    def find_gaming(
        self,
        changes: Sequence[Change],
        base: object,
        *,
        goal: str = "",
        checks: Sequence[object] = (),
    ) -> Finding | None:
        return None

    def list_test_files(self, changes: Sequence[Change]) -> tuple[str, ...]:
        return ()

    def list_mutants(self, changes: Sequence[Change], count_max: int) -> tuple[Mutant, ...]:
        return ()

    def list_hidden_code(self, changes: Sequence[Change]) -> tuple[HiddenCode, ...]:
        return ()

    def find_process_access(
        self, changes: Sequence[Change], paths: Sequence[str]
    ) -> tuple[FindingItem, ...]:
        return ()

    def find_suppressions(
        self, changes: Sequence[Change], checks: Sequence[object], base: object
    ) -> tuple[Suppression, ...]:
        return ()

    def remove_suppressions(
        self, changes: Sequence[Change], suppressions: Sequence[Suppression]
    ) -> Mapping[str, str]:
        return {}

    def is_python_test_file(self, path: str) -> bool:
        return False

    def find_own_equality(self, changes: Sequence[Change]) -> tuple[FindingItem, ...]:
        return ()

    def decides_equality(self, changes: Sequence[Change]) -> bool:
        return False

    def is_unread(self, path: str, text: str, *, is_run: bool) -> bool:
        return False

    def compare_with_wrong_values(self, path: str, text: str, changed: Sequence[str]) -> str | None:
        return None

    def make_tests_fail(self, path: str, text: str) -> FailingTests | None:
        return None

    def is_trivial(self, changes: Sequence[Change]) -> bool:
        return False

    def find_absent_tests(
        self,
        tests: TestsOfTwoRuns,
        review: DefinitionReview,
        base: TreeView,
        candidate: TreeView,
        *,
        folder: str = ".",
    ) -> Mapping[str, int]:
        return {}

    def review_definition(
        self,
        checks: Sequence[CheckSpec],
        changes: Sequence[Change],
        base: TreeView,
        candidate: TreeView,
        *,
        scope: Sequence[str],
        allow_weaker_tests: bool,
        goal: str = "",
    ) -> DefinitionReview:
        return DefinitionReview()


def holds(tree: Tree, argv: Sequence[str]) -> bool:
    """What a check asks of a tree: good files, silence beside another file, enough lines."""
    match argv:
        case ("good", *paths):
            return all(tree.get(path) == "good" for path in paths)
        case ("there", *paths):
            return all(path in tree for path in paths)
        case ("quiet" | "starts", path, beside):
            return not (tree.get(path) == "loud" and beside in tree)
        case ("lines", path, most):
            return len(tree.get(path, "")) >= int(most)
        case _:
            raise AssertionError(f"no such check: {argv}")


class TreeChecker:
    """Asks the commit itself."""

    def __init__(self, world: World, touch: Accesses) -> None:
        self.world, self.touch = world, touch

    def check(
        self,
        spec: CheckSpec,
        worktree: Path,
        folder: Path,
        *,
        facts: CheckFacts,
        stop: Callable[[], bool],
    ) -> Finding:
        self.touch("check")
        commit = self.world.rooms[str(worktree)]
        assert commit == facts.commit, "a room contains the commit that is proven"
        if holds(self.world.tree(commit), spec.argv):
            self.world.proven.add(commit)
            self.touch("checked")
            return Finding(spec.name, Outcome.PASSED)
        words = f"not so: {' '.join(spec.argv)}"
        if spec.argv[0] == "starts":
            return Finding(spec.name, Outcome.BROKEN, message=words)
        return Finding(spec.name, Outcome.FAILED, pattern="test-failed", message=words)

    def identify_tools(self, spec: CheckSpec) -> str:
        return "tools"

    def narrow(self, spec: CheckSpec, finding: Finding) -> CheckSpec | None:
        """There are no single tests here."""
        return None

    def mask_finding(self, finding: Finding, handed: Sequence[str]) -> Finding:
        """There is nothing to hide here."""
        return finding

    def confidential_variables(
        self, handed: Sequence[str], written: Mapping[str, str]
    ) -> Mapping[str, str]:
        return {}


class FakeChannel:
    """A notification channel that refuses each notice as often as the scenario says."""

    def __init__(self, world: World, touch: Accesses) -> None:
        self.world, self.touch = world, touch

    def send(self, notice: Notice) -> None:
        self.touch("send")
        tries = self.world.tries[notice.id] = self.world.tries.get(notice.id, 0) + 1
        if tries <= self.world.fails:
            raise NoticeFailed("the line is busy")
        self.world.heard.append(notice.id)
        self.touch("heard")
