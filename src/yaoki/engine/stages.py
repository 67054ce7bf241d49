"""The four stages.  Each touches the outside world, may be repeated without harm, and returns what
it saw; what follows from it is decided elsewhere.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import timedelta
from pathlib import Path

from yaoki.core.events import PromptSent
from yaoki.core.model import (
    DONE_WHEN,
    AgentExit,
    Failure,
    Kind,
    Run,
    Spec,
    Stage,
    Task,
    TaskId,
    TaskKind,
    Verdict,
)
from yaoki.core.prompt import Prompt, clip_bytes, compose
from yaoki.core.reports import (
    Blame,
    Conflicted,
    Declined,
    Faulted,
    Interrupted,
    LandedOn,
    Lost,
    Moved,
    Prepared,
    Report,
    Verified,
    Worked,
)
from yaoki.engine.blaming import Blaming
from yaoki.engine.hold import Hold, Superseded
from yaoki.engine.planning import PlanStages
from yaoki.engine.proving import Proving
from yaoki.engine.resources import PAUSE, Resources
from yaoki.errors import WorkspaceError
from yaoki.ports import (
    Agent,
    Baselines,
    Checker,
    Clock,
    Launch,
    Look,
    Order,
    Planning,
    Processes,
    Quality,
    Telling,
    Told,
    Workspace,
)
from yaoki.system import write_atomically

POLL = timedelta(milliseconds=5)
POLL_MAX = timedelta(milliseconds=250)
# When to ask again for what this machine lacks just now.
SHORT_OF = timedelta(seconds=15)
CHECKOUT = "checkout/"


@dataclass(frozen=True, slots=True)
class Settings:
    """What the stages need to know of the settings."""

    folder: Path
    host: str
    lease: timedelta
    adopt: bool = True
    snapshots: bool = True
    disk_free_min: int = 0
    memory_free_min: int = 0
    output_bytes_max: int = 1 << 30
    prompt_bytes_max: int = 120_000
    agent_wait: timedelta = timedelta(minutes=2)
    hang_warning: timedelta = timedelta(minutes=5)
    setup_timeout: timedelta = timedelta(minutes=10)
    environment: Mapping[str, str] = field(default_factory=dict)
    # What every agent is told besides who it is.
    agent_environment: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Room:
    """How many bytes this machine has left."""

    disk: int
    memory: int


class Stages:
    """One piece of work each."""

    def __init__(
        self,
        workspace: Workspace,
        processes: Processes,
        checker: Checker,
        find_agent: Callable[[str], Agent],
        clock: Clock,
        telling: Callable[[Spec], Telling],
        settings: Settings,
        baselines: Baselines,
        quality: Quality,
        room: Callable[[], Room],
        planning: Planning,
        movable: Callable[[TaskId], bool] = lambda _: True,
        resources: Resources | None = None,
    ) -> None:
        self._workspace = workspace
        self._processes = processes
        self._find_agent = find_agent
        self._clock = clock
        self._telling = telling
        self._settings = settings
        self._proving = Proving(workspace, checker, baselines, quality)
        self._blaming = Blaming(workspace, checker, movable)
        self._planning = PlanStages(workspace, planning)
        self._room = room
        self._resources = resources

    def folder(self, task: Task, attempt: int) -> Path:
        """Where an attempt keeps its prompt, logs and exit; named so that it is found again."""
        return self._settings.folder / task.run_id / task.id / str(attempt)

    # -------------------------------------------------------------- prepare

    def prepare(self, run: Run, task: Task, hold: Hold) -> Report:
        own = self._preflight(task)
        if isinstance(own, Declined):
            return own
        hold = replace(hold, environment=own)
        self._workspace.open_run(run)
        strayed = self._workspace.intact(run)
        if strayed:
            return Faulted(strayed, transient=False)
        attempt = task.attempt + 1
        place = self._workspace.prepare(run, task, attempt)
        if task.rerun and not (place.base and self._workspace.holds(run, place.base)):
            words = f"the re-run was to start on {run.branch}, not at {place.base[:12]}"
            return Faulted(words, transient=True)
        if place.fresh or not self._is_set_up(task, place.worktree):
            fault = self._set_up(task, attempt, place.worktree, hold)
            if fault is not None:
                return fault
        snapshot, warning = self._snapshot(task, attempt)
        return Prepared(
            base=place.base,
            worktree=str(place.worktree),
            host=self._settings.host,
            fresh=place.fresh,
            tree=place.tree,
            snapshot=snapshot,
            warning=warning,
            guards=self._guards(),
            head=self._gathered(run, task),
        )

    def _gathered(self, run: Run, task: Task) -> str:
        """Of a group: what its subtasks landed on its branch; that is its work."""
        if task.spec.kind is not TaskKind.GROUP:
            return ""
        return self._workspace.head(self._workspace.open_line(run, task.id))

    def _preflight(self, task: Task) -> Mapping[str, str] | Declined:
        """Before any agent call, and at no cost in attempts: the task's variables, or a wait."""
        room, wanted = self._room(), self._settings
        if room.disk < wanted.disk_free_min:
            words = f"{room.disk} bytes of disk are free, {wanted.disk_free_min} are needed"
            return Declined(words, SHORT_OF)
        if room.memory < wanted.memory_free_min:
            words = f"{room.memory} bytes of memory are free, {wanted.memory_free_min} are needed"
            return Declined(words, SHORT_OF)
        if task.agent is not None and not task.take_over:
            self._find_agent(task.agent.preset).preflight(task.agent)
        return self._own(task)

    def _own(self, task: Task) -> Mapping[str, str] | Declined:
        """What this worktree has for itself; leased once, so whoever goes on finds the same."""
        if self._resources is None:
            return {}
        taken = self._resources.take(task)
        return Declined(self._resources.words, PAUSE) if taken is None else taken

    def _ready_mark(self, task: Task) -> Path:
        return self._settings.folder / task.run_id / task.id / "ready"

    def _is_set_up(self, task: Task, worktree: Path) -> bool:
        """Was the set-up of this very folder finished?  A kill in the middle leaves no mark."""
        if not task.spec.setup:
            return True
        mark = self._ready_mark(task)
        return mark.is_file() and mark.read_text() == _identity(worktree)

    def _set_up(self, task: Task, attempt: int, worktree: Path, hold: Hold) -> Faulted | None:
        for n, argv in enumerate(task.spec.setup, start=1):
            folder = self.folder(task, attempt) / f"setup-{n}"
            look = self._run_to_end(folder, argv, worktree, hold)
            if look.start_error or look.code in {126, 127}:
                words = f"set-up command {argv[0]!r} cannot run: {look.start_error or look.code}"
                return Faulted(words, transient=False, code="RESOURCE_NOT_FOUND")
            if look.code != 0:
                words = f"set-up command {' '.join(argv)!r} ended with {look.code}; log: {folder}"
                return Faulted(words, transient=True)
        if task.spec.setup:
            write_atomically(self._ready_mark(task), _identity(worktree).encode())
        return None

    def end_leftovers(self, task: Task) -> None:
        """Whatever still runs for this or the coming attempt: agent, set-up or checks."""
        for attempt in (task.attempt, task.attempt + 1):
            for started in self.folder(task, attempt).glob("**/started.json"):
                if self._processes.look(started.parent).phase in {"running", "gone"}:
                    self._processes.end(started.parent, "cancel")

    def _run_to_end(self, folder: Path, argv: tuple[str, ...], cwd: Path, hold: Hold) -> Look:
        """A command of ours; an earlier try that a crash cut off is ended first."""
        folder = self._unused(folder)
        launch = Launch(
            argv=argv,
            cwd=str(cwd),
            env={**self._settings.environment, **hold.environment},
            deadline=self._settings.setup_timeout,
            lease=self._settings.lease,
        )
        self._processes.start(folder, launch)
        return self._wait(folder, hold, lambda: "")

    def _unused(self, folder: Path) -> Path:
        for n in range(1, 1000):
            place = folder if n == 1 else folder.with_name(f"{folder.name}-{n}")
            if self._processes.look(place).phase == "absent":
                return place
            self._processes.end(place, "stop")
        raise AssertionError(f"a thousand tries in {folder}")

    def _snapshot(self, task: Task, attempt: int) -> tuple[str, str]:
        """A snapshot that fails warns and disables rollback; the work goes on."""
        if not self._settings.snapshots:
            return "", ""
        try:
            return self._workspace.snapshot(task, attempt), ""
        except WorkspaceError as error:
            return "", f"no snapshot, so no rollback for this attempt: {error.sentence}"

    # -------------------------------------------------------------- work

    def work(self, run: Run, task: Task, hold: Hold) -> Report:
        if task.take_over:
            return self._kept(run, task, AgentExit(code=0))
        if task.spec.fill is not None and task.agent is None:
            return Worked(AgentExit(question=_fill_by_hand(task)), task.work.base, task.work.tree)
        folder = self.folder(task, task.attempt)
        look = self._processes.look(folder)
        if look.phase == "absent":
            if task.cancel_wanted:
                return Interrupted("cancelled by a person before the agent was started")
            if task.work.host != self._settings.host:
                return Lost("the attempt was started on another machine, which is gone")
            if task.work.started:
                return Lost("the agent was started, and nothing is left of its folder")
            own = self._own(task)
            if isinstance(own, Declined):
                return own
            self._start(run, task, folder, replace(hold, environment=own))
        elif look.phase == "running" and not self._settings.adopt:
            self._processes.end(folder, "stop")
            self._workspace.keep(run, task)
            return Lost("its worker died; the agent was ended (limits.adopt = kill)")
        assert task.agent is not None, f"{task.id} has no agent"
        agent = self._find_agent(task.agent.preset)
        look = self._wait(folder, hold, lambda: self._idles(agent, folder))
        return self._after(run, task, folder, look, agent)

    def _start(self, run: Run, task: Task, folder: Path, hold: Hold) -> None:
        assert task.agent is not None, f"{task.id} has no agent"
        context = self._planning.context(run) if task.spec.fill else ""
        agent = self._find_agent(task.agent.preset)
        session = task.session if agent.resumes(task.agent) else ""
        prompt, told = self.prompt(task, context, known=bool(session))
        order = Order(
            task_id=task.id,
            attempt=task.attempt,
            epoch=task.epoch,
            agent=task.agent,
            prompt=prompt.text,
            worktree=Path(task.work.worktree),
            folder=folder,
            timeout=task.spec.timeout,
            hang=task.spec.hang,
            lease=self._settings.lease,
            output_bytes_max=self._settings.output_bytes_max,
            environment={
                **self._settings.agent_environment,
                **hold.environment,
                "YAOKI_TASK_NAME": task.spec.name,
                "YAOKI_RUN": task.run_id,
            },
            session=session,
        )
        self._processes.start(folder, agent.launch(order))
        hold.record(replace(told, bytes=len(prompt.text.encode())))
        if prompt.fault or told.fault:
            hold.note("PROMPT_FAULT", {"fault": prompt.fault or told.fault})

    def prompt(
        self, task: Task, context: str = "", *, known: bool = False
    ) -> tuple[Prompt, PromptSent]:
        """The words for the next attempt, and where those about its failure come from."""
        said: list[Told] = []

        def tell(failure: Failure, hints: Mapping[Kind, str]) -> str:
            said.append(self._telling(task.spec).tell(failure, hints))
            return said[-1].text

        made = compose(task, tell, context, known=known)
        told = said[-1] if said else None
        feedback = task.feedback
        sent = PromptSent(
            kind=feedback.kind.value if feedback else "",
            pattern=feedback.pattern if feedback else "",
            path=told.path if told else "",
            steps=tuple(told.steps) if told else (),
            fault=told.fault if told else "",
        )
        return replace(made, text=clip_bytes(made.text, self._settings.prompt_bytes_max)), sent

    def _idles(self, agent: Agent, folder: Path) -> str:
        """Why an agent that still runs should be ended: it asks, or waits longer than we allow."""
        if agent.question(folder):
            return "question"
        return "waiting" if agent.waits(folder) > self._settings.agent_wait else ""

    def _wait(self, folder: Path, hold: Hold, idles: Callable[[], str]) -> Look:
        """Until the tree has ended.  Whoever waits keeps the shim's lease alive."""
        warned = False
        for pause in _pauses():
            look = self._processes.look(folder)
            if look.phase != "running":
                return look
            if look.quiet_seconds >= self._settings.hang_warning.total_seconds() and not warned:
                warned = True
                hold.warn(f"silent for {look.quiet_seconds:.0f} s: no CPU, output or file change")
            why = hold.why()
            if why == "lost":
                # A successor may wait for the very same tree, so it is left alone.
                raise Superseded
            why = why or idles()
            if why:
                return self._processes.end(folder, why)
            self._processes.renew(folder)
            self._clock.sleep(pause)
        raise AssertionError("the pauses never end")

    def _after(self, run: Run, task: Task, folder: Path, look: Look, agent: Agent) -> Report:
        """Whatever happened, everything the agent left is committed and kept."""
        if look.phase != "exited":
            self._processes.end(folder, "stop")
            self._workspace.keep(run, task)
            return Lost("the agent's process was cut off in the middle")
        exit_ = agent.read(folder, look)
        if look.ended_by == "output":
            exit_ = replace(exit_, output_bytes_max=self._settings.output_bytes_max)
        report = self._kept(run, task, exit_)
        if look.ended_by == "cancel":
            return Interrupted("cancelled by a person", ref=report.head)
        if look.ended_by in {"lease", "stop"}:
            return Lost(f"the agent was ended because its worker stopped ({look.ended_by})")
        return report

    def _kept(self, run: Run, task: Task, exit_: AgentExit) -> Worked:
        # Looked at first: keeping reads the worktree through git, under that very configuration.
        tampered, disturbed = self._differing(task)
        kept = self._workspace.keep(run, task)
        return Worked(exit_, kept.head, kept.tree, kept.changed, tampered, disturbed)

    def _guards(self) -> Mapping[str, str]:
        return {**self._workspace.guards(), **self._workspace.checkout()}

    def _differing(self, task: Task) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """What differs since the attempt began: of the repository's own, of the user's checkout."""
        before, now = task.work.guards, self._guards()
        names = [name for name in sorted({*before, *now}) if before.get(name) != now.get(name)]
        mine = tuple(name for name in names if name.startswith(CHECKOUT))
        # An attempt that began under an older yaoki looked at no checkout.
        known = any(name.startswith(CHECKOUT) for name in before)
        return tuple(name for name in names if name not in mine), mine if known else ()

    # -------------------------------------------------------------- verify

    def line(self, run: Run, task: Task) -> Run:
        """The run, seen from the branch that this task lands on."""
        if not task.parent:
            return run
        if task.stage is Stage.WORK:
            # An agent needs no branch; it must not wait, nor end, because a remote is away.
            return run.line_of(task.parent, task.work.base)
        # Whoever submitted the run may have died before its branch was made.
        self._workspace.open_run(run)
        if task.stage is Stage.PREPARE:
            return self._workspace.refresh_line(run, task.parent)
        return self._workspace.open_line(run, task.parent)

    def verify(self, run: Run, task: Task, hold: Hold) -> Report:
        if task.spec.kind is TaskKind.PLAN:
            return self._planning.verify(run, task, self.folder(task, task.attempt))
        own = self._own(task)
        if isinstance(own, Declined):
            return own
        hold = replace(hold, environment=own)
        strayed = self._workspace.intact(run)
        if strayed:
            # Somebody else moved the branch: what would be proven on it is not what was landed.
            return Faulted(strayed, transient=False)
        if self._workspace.rebuild(task):
            fault = self._set_up(task, task.attempt, Path(task.work.worktree), hold)
            if fault is not None:
                return fault
        candidate = self._workspace.candidate(run, task)
        if candidate.conflicts:
            return Conflicted(candidate.conflicts, candidate.onto, task.work.tree)
        home = self.folder(task, task.attempt) / "checks"
        findings = self._proving.findings(run, task, candidate, home, hold)
        changed = candidate.changed
        if not changed and task.work.changed:
            changed = ("(already on the run branch)",)
        if hold.why() == "lost":
            raise Superseded
        verdict = Verdict(findings)
        blame = self._blame(run, task, verdict, hold)
        return Verified(verdict, candidate.commit, candidate.onto, changed, blame)

    def _blame(self, run: Run, task: Task, verdict: Verdict, hold: Hold) -> Blame | None:
        """Only where several landings are proven together; else the work itself is to blame."""
        proof = task.spec.kind is TaskKind.CHECK and task.spec.name.startswith(DONE_WHEN)
        group = task.spec.kind is TaskKind.GROUP
        if verdict.passed or hold.why() or not (proof or group):
            return None
        line = self._workspace.open_line(run, task.id) if group else run
        home = self.folder(task, task.attempt) / "blame"
        return self._blaming.find(line, task, verdict, home, hold)

    # -------------------------------------------------------------- land

    def land(self, run: Run, task: Task, hold: Hold) -> Report:
        commit, onto = task.work.proven, task.work.onto
        if task.spec.kind is TaskKind.PLAN:
            return self._planning.land(run, task, self.folder(task, task.attempt))
        if commit != onto and self._workspace.holds(run, commit):
            return LandedOn(commit, already=True)
        if task.cancel_wanted:
            return Interrupted("cancelled by a person before it landed", ref=task.work.head)
        if hold.yields():
            return Moved(onto, "a task that was refused more than once lands first")
        if hold.why() == "lost":
            raise Superseded
        # Whoever was cut off does not know that somebody else has the task by now.
        hold.confirm()
        head = self._workspace.land(run, commit, onto)
        if head == commit or (commit != onto and self._workspace.holds(run, commit)):
            return LandedOn(commit, already=commit == onto)
        return Moved(head)

    def release(self, run: Run, task: Task) -> str:
        """Remove the worktree of finished work; a failure only warns."""
        try:
            # In this order: a worktree that is still there tells a sweep to close the line, too.
            if task.spec.kind is TaskKind.GROUP:
                self._workspace.close_line(run, task.id)
            self._workspace.release(task)
        except WorkspaceError as error:
            return f"the worktree stays: {error.sentence}"
        if self._resources is not None:
            self._resources.free(task)
        return ""


def _fill_by_hand(task: Task) -> str:
    fill = task.spec.fill
    phase = fill.phase if fill else ""
    return (
        f"No planner is set, so a person fills {phase or task.spec.name}: "
        f"yaoki plan submit --phase {phase or task.spec.name} FILE"
    )


def _identity(folder: Path) -> str:
    facts = folder.stat()
    return f"{facts.st_dev}:{facts.st_ino}"


def _pauses() -> Iterator[timedelta]:
    pause = POLL
    while True:
        yield pause
        pause = min(pause * 1.2, POLL_MAX)
