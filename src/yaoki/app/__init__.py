"""Wiring: the only file that knows every class.  Everything is built when it is first asked for."""

from __future__ import annotations

import hashlib
import os
import secrets
import signal
import sys
import tempfile
from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from datetime import timedelta
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from yaoki.app.planning import PlanReading
from yaoki.core.environment import BASIC, allowed
from yaoki.core.redact import mask, secret_values
from yaoki.core.settings import Settings
from yaoki.engine.hold import Hold
from yaoki.errors import Fault, NotNow, PlanInvalid, StoreError, Unknown, WorkspaceError
from yaoki.ports import Agent, PlanAnswer, Processes, Seen, Serving
from yaoki.store import Places, SqlStore, make_home, on_server, open_store, store_known
from yaoki.system import (
    Daemon,
    PortFiles,
    Sandbox,
    SandboxedProcesses,
    ShimProcesses,
    SystemClock,
    disk_free,
    holder_dead,
    holder_name,
    machine_id,
    memory_free,
    node,
    run,
    state_home,
)
from yaoki.workspace import GitWorkspace, Repository, open_repository, resolve_base

if TYPE_CHECKING:
    from yaoki.config import Loaded
    from yaoki.core.model import Finding, Run, RunId, Spec
    from yaoki.engine.closing import Closing
    from yaoki.engine.control import Control
    from yaoki.engine.growing import Growth
    from yaoki.engine.pool import Pool, Stop
    from yaoki.engine.resources import Resources
    from yaoki.engine.sending import Sending
    from yaoki.engine.stages import Stages
    from yaoki.engine.worker import Worker
    from yaoki.plan import Asked, Known, Plan
    from yaoki.store.outbox import Posting

ALPHABET = "abcdefghijkmnpqrstuvwxyz23456789"
BACKUP_EVERY = timedelta(minutes=10)
FOR_EVER = timedelta(days=10_000)
SETUP_TIMEOUT = timedelta(minutes=10)


def new_run_id() -> str:
    """Eight letters and digits that nobody mistakes for each other; the first is a letter."""
    first = secrets.choice(ALPHABET[:24])
    return first + "".join(secrets.choice(ALPHABET) for _ in range(7))


class App:
    """One repository with its store, settings and workspace."""

    def __init__(
        self, where: Path, *, create: bool = False, store: str = "", patient: bool = False
    ) -> None:
        """`patient` is who carries runs: it waits for a store that is away as long as it takes."""
        self.repository: Repository = open_repository(where)
        self._patient = patient
        self._create = create
        self._store_url = store
        self.clock = SystemClock()
        self.home = self.repository.top / ".yaoki"
        self.folder = self.home / "runs"
        self._backup_warning = self._behind_warning = ""

    @cached_property
    def loaded(self) -> Loaded:
        from yaoki.config import load_settings

        return load_settings(self.repository.top)

    @property
    def settings(self) -> Settings:
        """What the file says; a store that was named when we were opened wins."""
        settings = self.loaded.settings
        if not self._store_url:
            return settings
        return replace(settings, store=replace(settings.store, url=self._store_url))

    @cached_property
    def store(self) -> SqlStore:
        limits = self.settings.limits
        for_ever = self._patient and self.store_on_server
        waits: dict[str, Any] = {"outage": FOR_EVER} if for_ever else {}
        opened = open_store(
            self._store_where,
            self.clock,
            create=self._create,
            limits={
                "pending_runs_max": limits.pending_runs,
                "pending_tasks_max": limits.pending_tasks,
                "max_in_progress": timedelta(seconds=limits.max_in_progress_s),
                "ageing": timedelta(seconds=limits.ageing_s),
                "backups_kept": self.settings.store.backups,
                "posting": self._posting,
                "day_budget": self.settings.budget.day,
            },
            warn=_warn,
            **waits,
        )
        if self.settings.store.url and (self._create or os.access(self.repository.top, os.W_OK)):
            # Logs are of this clone all the same, wherever the store is and whoever made it.
            make_home(self.home)
        return opened

    @property
    def has_store(self) -> bool:
        """Is there a store, or was there one that can be restored?"""
        return store_known(self._store_where)

    @property
    def journal_folder(self) -> Path:
        return Places(self.store_path).journal

    def set_aside(self) -> list[Path]:
        """Damaged stores that were kept, oldest first."""
        return sorted(Places(self.store_path).quarantine.glob("*"))

    @property
    def _posting(self) -> Posting:
        """Which notices are written, and for which channels."""
        from yaoki.store.outbox import Posting

        wanted, at_once = self.settings.notify, self.settings.escalate.notify_immediately
        return Posting(wanted.channels, frozenset(wanted.events), at_once)

    @property
    def _store_where(self) -> Path | str:
        url = self.settings.store.url
        return url if on_server(url) else self.store_path

    @property
    def store_on_server(self) -> bool:
        """Then there is no file of it, nor anything beside one."""
        return on_server(self.settings.store.url)

    @property
    def store_path(self) -> Path:
        """The file of the store; on a server it has none."""
        url = self.settings.store.url
        return Path(url.removeprefix("sqlite://")) if url else self.home / "state.db"

    @cached_property
    def workspace(self) -> GitWorkspace:
        remote = self.settings.workspace.remote
        return GitWorkspace(self.repository.top, self.worktrees, remote=remote, warn=_warn)

    @property
    def worktrees(self) -> Path:
        """Outside the repository, one folder per repository."""
        root = self.settings.workspace.root
        home = Path(root).expanduser() if root else state_home() / "worktrees"
        mark = hashlib.sha256(str(self.repository.common_dir).encode()).hexdigest()[:8]
        return home / f"{self.repository.top.name}-{mark}"

    @cached_property
    def processes(self) -> Processes:
        shims = ShimProcesses()
        return SandboxedProcesses(shims, self.sandbox) if self.sandbox else shims

    @cached_property
    def sandbox(self) -> Sandbox | None:
        """The walls around the commands of a task, if the settings ask for them."""
        asked, repository = self.settings.sandbox, self.repository
        if asked.mode != "on":
            return None
        return Sandbox(
            self.worktrees.resolve(),
            shown=(repository.top, repository.common_dir),
            writable=tuple(Path(place).expanduser() for place in asked.writable),
            network=asked.network,
        )

    def find_agent(self, preset: str) -> Agent:
        from yaoki.agents import find_agent
        from yaoki.agents.sandboxed import SandboxedAgent

        agent = find_agent(preset)
        return SandboxedAgent(agent, self.sandbox) if self.sandbox else agent

    @property
    def whereabouts(self) -> dict[str, str]:
        """How `yaoki`, called by an agent, finds this repository with the same settings and store.

        A password is not handed to agents; where the URL holds one, they find no store.
        """
        file, url = self.loaded.file, self._store_url
        told = {"YAOKI_REPO": str(self.repository.top)}
        if file is not None:
            told["YAOKI_REPO_CONFIG"] = str(file.absolute())
        if url and mask(url, ()) == url:
            told["YAOKI_REPO_STORE"] = url
        return told

    @cached_property
    def control(self) -> Control:
        from yaoki.engine.control import Control

        known = secret_values(os.environ)
        return Control(
            self.store,
            self.workspace,
            self.store.clock,
            dead=holder_dead,
            new_id=new_run_id,
            settle=self.closing.rests,
            mask=lambda text: mask(text, known),
            archived=self._archived,
            released=self.resources.free,
        )

    def _archived(self, text: str) -> str:
        from yaoki.app.retention import archived_hint

        return archived_hint(self, text)

    @cached_property
    def growth(self) -> Growth:
        from yaoki.engine.growing import Growth

        return Growth(self.store)

    @cached_property
    def stages(self) -> Stages:
        from yaoki import quality
        from yaoki.checks import Checks
        from yaoki.engine.stages import Room, Stages
        from yaoki.engine.stages import Settings as StageSettings
        from yaoki.prompts import PromptTree

        limits = self.settings.limits
        lease = timedelta(seconds=limits.lease_s)
        return Stages(
            self.workspace,
            self.processes,
            Checks(self.processes, lease, find_agent=self.find_agent),
            self.find_agent,
            self.clock,
            lambda spec: PromptTree(self.home / "prompts", spec.language, spec.prompts),
            StageSettings(
                folder=self.folder,
                host=self.workspace.host(machine_id()),
                lease=lease,
                adopt=limits.adopt == "adopt",
                snapshots=self.settings.recovery.enable_snapshots,
                disk_free_min=limits.disk_free_bytes,
                memory_free_min=limits.memory_free_bytes,
                output_bytes_max=limits.output_bytes,
                prompt_bytes_max=limits.prompt_bytes,
                agent_wait=timedelta(seconds=limits.agent_wait_s),
                hang_warning=timedelta(seconds=limits.hang_warning_s),
                environment=allowed(os.environ, BASIC),
                agent_environment=self.whereabouts,
            ),
            self.store,
            quality,
            lambda: Room(disk_free(self.home), memory_free()),
            PlanReading(self.store, limits.task_text_bytes),
            lambda task_id: self.store.task(task_id).movable,
            self.resources,
        )

    @cached_property
    def resources(self) -> Resources:
        from yaoki.engine.resources import Resources

        wanted = self.settings.resources
        return Resources(
            self.store,
            PortFiles(state_home() / "ports"),
            self.store.clock,
            host=machine_id(),
            ports=wanted.ranges,
            prefix=wanted.database_prefix,
            worktree=lambda task: str(self.worktrees / task.id),
        )

    @cached_property
    def closing(self) -> Closing:
        from yaoki.engine.closing import Closing

        limits = self.settings.limits
        return Closing(
            self.store,
            self.workspace,
            self.store.clock,
            timeout=timedelta(seconds=limits.deadline_s),
            hang=timedelta(seconds=limits.hang_s),
        )

    def worker(self, slots: int, tags: Sequence[str] = ()) -> Worker:
        from yaoki.engine.worker import Worker

        return Worker(
            self.store,
            self.stages,
            self.store.clock,
            holder=holder_name(),
            host=machine_id(),
            lease=timedelta(seconds=self.settings.limits.lease_s),
            parallel=slots,
            alive=_alive_here,
            tags=tags,
            place=self.workspace.host(machine_id()),
        )

    def pool(
        self,
        slots: int,
        *,
        tags: Sequence[str] = (),
        run: str = "",
        background: Daemon | None = None,
    ) -> Pool:
        """`tags` besides those of the settings; `run` is the only one it serves, if given."""
        from yaoki.engine.admission import Admission
        from yaoki.engine.pool import Pool
        from yaoki.engine.presence import Presence
        from yaoki.engine.stages import Room

        limits, tags = self.settings.limits, self.tags(tags)
        admission = Admission(
            lambda: Room(disk_free(self.home), memory_free()),
            disk_min=limits.disk_free_bytes,
            memory_min=limits.memory_free_bytes,
            full=lambda: self.resources.full,
            away=self.workspace.away,
        )
        runs = (run,) if run else ()
        here = Serving(
            holder_name(), machine_id(), node(), slots, tags, runs, background=bool(background)
        )
        return Pool(
            self.store,
            self.worker(slots, tags),
            self.store.clock,
            slots=slots,
            lease=timedelta(seconds=limits.lease_s),
            heartbeat=timedelta(seconds=limits.heartbeat_s),
            park=timedelta(seconds=self.settings.retry.rate_limit_wait_max_s),
            rests=self.closing.rests,
            scan=lambda: self.scan(background),
            admits=admission.ask,
            presence=Presence(self.store, here, timedelta(seconds=limits.lease_s)),
            aside=self.catch_up,
        )

    def catch_up(self) -> None:
        """What is owed to the remote, in a quiet moment; it is owed still when that fails."""
        try:
            self.workspace.catch_up()
        except WorkspaceError as failed:
            if failed.sentence != self._behind_warning:
                self._behind_warning = failed.sentence
                _warn(failed.sentence)

    def tags(self, more: Sequence[str] = ()) -> tuple[str, ...]:
        """What a worker here declares."""
        return tuple(sorted({*self.settings.worker.tags, *more}))

    def workers(self) -> list[Seen]:
        """Those that live as far as anybody knows."""
        return [seen for seen in self.store.workers() if not holder_dead(seen.worker.holder)]

    def check_tags(self, specs: Iterable[Spec], more: Sequence[str] = ()) -> None:
        """A task that needs what nobody declares would wait for ever, so it is refused by name."""
        wanted = [spec for spec in specs if spec.tags]
        if not wanted:
            return
        declared = [self.tags(more), *(seen.worker.tags for seen in self.workers())]
        for spec in wanted:
            if not any(set(spec.tags) <= set(tags) for tags in declared):
                names = ", ".join(spec.tags)
                raise NotNow(
                    f"task {spec.name!r} needs a worker with the tags {names}, and none is there",
                    hint=f"start one first: yaoki worker {_tag_words(spec.tags)}",
                )

    @property
    def daemon(self) -> Daemon:
        """The one background worker of this store and repository on this machine."""
        store = self.settings.store.url or str(self.home / "state.db")
        mark = hashlib.sha256(f"{store} {self.repository.common_dir}".encode()).hexdigest()[:12]
        return Daemon(state_home() / "workers" / f"{self.repository.top.name}-{mark}")

    def serve_all(
        self,
        *,
        slots: int,
        tags: Sequence[str] = (),
        run: str = "",
        background: Daemon | None = None,
        asked: Callable[[Stop], None] = lambda _: None,
    ) -> None:
        """Carry every open run, and those that come, until a signal asks to stop."""
        from yaoki.app.serving import OpenRuns

        self.back_up()
        self.expire_snapshots()
        pool = self.pool(slots, tags=tags, run=run, background=background)
        _obey_signals(pool.stop, asked, self.store.database.hurry)
        runs = OpenRuns(self, run, _warn)
        if background is not None:
            background.ready(slots=slots, tags=list(self.tags(tags)))
        try:
            with self.sending.beside(), self.traced():
                pool.serve_all(runs)
        finally:
            runs.close()

    def scan(self, background: Daemon | None = None) -> None:
        """Every heartbeat: claims of dead holders come back, backups stay fresh, logs short."""
        if background is not None:
            background.bound_log()
        self.store.database.present()
        self.store.expire(holder_dead, counted=True)
        for run_id in self.open_runs():
            self.closing.expire(run_id)
        self.back_up()

    def back_up(self) -> None:
        """A copy that cannot be made is a warning: the run goes on with the store it has."""
        try:
            self.store.backups.take_if_older(self.clock.now(), BACKUP_EVERY)
        except (OSError, StoreError) as error:
            words = f"no backup of the store could be made: {error}"
            if words != self._backup_warning:
                self._backup_warning = words
                for run_id in self.open_runs():
                    self.store.note(run_id, "WARNING", {"message": words})

    def end_cancelled(self, run: Run) -> None:
        """Carry what a cancelled run left at work to its end, when no live worker does."""
        self.store.expire(holder_dead, counted=False, runs=[run.id])
        worker = self.worker(1)
        while tasks := worker.claim_cancelled([run.id]):
            for task in tasks:
                worker.carry(task, Hold(lambda: "cancel"))

    # -------------------------------------------------------------- whole jobs

    def submit(
        self,
        plan: Plan,
        *,
        base: str = "",
        parallel: int = 0,
        approved: bool = True,
        tags: Sequence[str] = (),
    ) -> Run:
        """Freeze a plan as a run of this repository; `tags` are those of who will carry it."""
        from yaoki.engine.control import Submission

        self.check(plan)
        self.check_agents(plan)
        self.check_tags(plan.specs, tags)
        branch, commit = resolve_base(self.repository, base or plan.base)
        submission = Submission(
            goal=plan.goal,
            specs=plan.specs,
            catalogue=plan.catalogue,
            done_when=plan.done_when,
            source=plan.source,
            repo=str(self.repository.top),
            base_branch=branch,
            base=commit,
            parallel=parallel or self.settings.limits.parallel,
            priority=plan.priority,
            planner=plan.planner,
            chain=plan.chain,
            budget={**self.settings.budget.run, **plan.budget},
            continuous=plan.continuous,
            language=plan.language,
            approved=approved,
        )
        request: dict[str, Any] = {"goal": plan.goal, "base": branch, "tasks": len(plan.specs)}
        return self.control.submit(submission, request)

    def tasks_of(self, run: Run, file: Path) -> PlanAnswer:
        """Tasks that somebody wrote for a run on its way."""
        return PlanReading(self.store, self.settings.limits.task_text_bytes).from_file(run, file)

    def check(self, plan: Plan) -> None:
        """What a plan leans on besides itself: its readers and the project's prompts."""
        from yaoki.checks.readers import reader_defect

        named = ((c.name, reader_defect(c.reader)) for c in plan.catalogue.checks.values())
        defects = [f"checks.{name}.reader: {why}" for name, why in named if why]
        if defects:
            raise PlanInvalid(defects[0], hint="docs/reference/extractors.md", defects=defects)
        self.check_prompts(plan)

    @property
    def known(self) -> Known:
        """What a plan file may name besides what stands in it."""
        from yaoki.checks.readers import extractor_names
        from yaoki.plan import Known

        return Known(extractor_names, self._prompt_defects)

    def _prompt_defects(self, asked: Asked) -> Sequence[str]:
        from yaoki.core.settings import LANGUAGES
        from yaoki.prompts import check_tree

        folder, own = self.home / "prompts", self.settings.patterns
        return check_tree(folder, LANGUAGES, own, asked.files, asked.params)

    def check_prompts(self, plan: Plan) -> None:
        """The project's own prompt files, before an agent would get them."""
        defects = self._prompt_defects(plan.asked)
        if defects:
            words = f"{self.home / 'prompts'}: {len(defects)} defects in the project's own prompts"
            raise PlanInvalid(words, hint="yaoki prompts test PATTERN", defects=defects)

    def baseline(self, plan: Plan, base: str = "") -> dict[str, Finding]:
        """What the plan's commands and files say of the base, before anybody has worked on it.

        Judges cost money and git checks need a task, so neither is asked.
        """
        from yaoki.checks import Checks

        _, commit = resolve_base(self.repository, base or plan.base)
        facts = {"commit": commit, "base": commit, "onto": commit, "changed": (), "scope": ()}
        checker = Checks(self.processes, timedelta(0))
        looked = [c for c in plan.catalogue.checks.values() if c.type in {"command", "file"}]
        with self.workspace.aside(commit) as place, tempfile.TemporaryDirectory() as logs:
            for argv in plan.specs[0].setup if plan.specs else ():
                run(argv, cwd=place, env=allowed(os.environ, BASIC), timeout=SETUP_TIMEOUT)
            return {
                spec.name: checker.check(
                    spec, place, Path(logs) / spec.name, facts=facts, stop=lambda: False
                )
                for spec in looked
            }

    def check_agents(self, plan: Plan) -> None:
        """Before anything is stored: can every agent of the plan run here at all?"""
        for spec in plan.catalogue.agents.values():
            try:
                self.find_agent(spec.preset).preflight(spec)
            except Fault as fault:
                raise PlanInvalid(fault.sentence, hint=fault.hint) from fault

    def serve(
        self,
        run: Run,
        *,
        slots: int = 0,
        tags: Sequence[str] = (),
        asked: Callable[[Stop], None] = lambda _: None,
        hand_over: Callable[[Stop], None] | None = None,
    ) -> Pool:
        """Carry the run until it rests, in the foreground; signals ask it to stop.

        `asked` hears of each signal, inside its handler.  With `hand_over` the caller is given what
        stops it, and signals stay as they are.
        """
        self.back_up()
        self.control.resumed(run)
        self.control.sweep(run)
        self.expire_snapshots()
        pool = self.pool(slots or run.parallel, tags=tags, run=run.id)
        if hand_over is not None:
            hand_over(pool.stop)
        else:
            _obey_signals(pool.stop, asked, self.store.database.hurry)
        with self.sending.beside(), self.traced():
            pool.serve([run.id])
            self.closing.rests(run.id)
        self.catch_up()
        return pool

    @property
    def sending(self) -> Sending:
        from yaoki.engine.sending import Sending
        from yaoki.notify import open_channels

        channels = open_channels(self.settings.notify, self.repository.top, clock=self.clock)
        return Sending(self.store, channels, self.store.clock)

    def traced(self) -> AbstractContextManager[None]:
        """The trace is sent beside the work, where the environment names a collector."""
        if not any(name.startswith("OTEL_EXPORTER_OTLP_") for name in os.environ):
            return nullcontext()
        from yaoki.app.observing import tracing

        found = tracing(self, _warn)
        return found.beside() if found else nullcontext()

    def expire_snapshots(self) -> list[str]:
        """Old ones go; those of tasks that are not over are needed."""
        hours = timedelta(hours=self.settings.recovery.snapshot_retention_hours)
        until = self.clock.now() - hours
        needed = {
            snapshot.id
            for snapshot in self.workspace.snapshots()
            if snapshot.at < until and self._unfinished(snapshot.task_id)
        }
        return self.workspace.expire_snapshots(until, needed)

    def _unfinished(self, task_id: str) -> bool:
        try:
            return not self.store.task(task_id).state.final
        except Unknown:
            return False

    def open_runs(self) -> Sequence[RunId]:
        return [run_id for run_id, _, _ in self.store.open_runs()]

    def close(self) -> None:
        if "store" in self.__dict__:
            self.store.close()


def _warn(words: str) -> None:
    """What nobody may miss and what is no failure: a line beside the answer of any command."""
    known = secret_values(os.environ)
    print(f"yaoki: {mask(words, known)}", file=sys.stderr, flush=True)


def _tag_words(tags: Iterable[str]) -> str:
    return " ".join(f"--tag {tag}" for tag in tags)


def _alive_here(holder: str) -> bool:
    """Known to be alive: of this machine and not dead.  Other machines are not known."""
    return holder.startswith(f"{machine_id()}:") and not holder_dead(holder)


def _obey_signals(stop: Stop, asked: Callable[[Stop], None], hurry: Callable[[], None]) -> None:
    """Asked once more, it no longer waits for a store that is away."""

    def obey(*_: object) -> None:
        stop.ask()
        if stop.now:
            hurry()
        asked(stop)

    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, obey)
