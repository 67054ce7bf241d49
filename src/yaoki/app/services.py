"""The parts of the engine, wired to one repository."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from contextlib import suppress
from datetime import datetime, timedelta
from functools import cached_property
from typing import TYPE_CHECKING

from yaoki.adapters.system.files import free_disk_bytes, free_memory_bytes, state_home
from yaoki.adapters.system.machine import current_holder, is_holder_dead, machine_id
from yaoki.core.environment import COMMAND_VARIABLES, filter_environment
from yaoki.core.redact import mask, secret_values
from yaoki.core.text import quote_path
from yaoki.errors import YaokiError

if TYPE_CHECKING:
    from pathlib import Path

    from yaoki.adapters.checks import CheckDispatcher
    from yaoki.adapters.processes.daemon import Daemon
    from yaoki.app.planner_answer import PlanAnswerReader
    from yaoki.app.repository import RepositoryContext
    from yaoki.engine.commands.control import Control
    from yaoki.engine.commands.extend import ExtendCommand
    from yaoki.engine.commands.lookup import RunLookup
    from yaoki.engine.commands.recheck import RecheckCommand
    from yaoki.engine.completion.completion import RunCompletion
    from yaoki.engine.loop.notifier import Notifier
    from yaoki.engine.loop.worker import Worker
    from yaoki.engine.row_check import RowGuard
    from yaoki.engine.stage_settings import FreeCapacity
    from yaoki.engine.stages.resources import TaskResources
    from yaoki.engine.stages.stages import Stages
    from yaoki.errors import Unknown
    from yaoki.ports import WorkerSeen


ID_CHARS_MIN = 4
CAPACITY_KEPT = timedelta(seconds=0.5)
# -P, or a folder `yaoki` in the worktree would be imported instead.
TOOL_SERVER = (sys.executable, "-P", "-m", "yaoki", "mcp")
ALPHABET = "abcdefghijkmnpqrstuvwxyz23456789"


def new_run_id() -> str:
    """Eight letters and digits that are not mistaken for each other; the first is a letter."""
    import secrets

    first = secrets.choice(ALPHABET[:24])
    return first + "".join(secrets.choice(ALPHABET) for _ in range(7))


class Services:
    """Each part is built when it is first used."""

    def __init__(self, context: RepositoryContext) -> None:
        self._context = context
        # Until when the measurement counts, and the measurement.
        self._capacity: tuple[datetime, FreeCapacity] | None = None

    @cached_property
    def control(self) -> Control:
        from yaoki.engine.commands.control import Control
        from yaoki.engine.loop.leftover_worktrees import LeftoverWorktrees

        secrets = secret_values(os.environ)
        return Control(
            self._context.store,
            self._context.workspace,
            self._context.store.clock,
            is_dead=is_holder_dead,
            new_id=new_run_id,
            verify_commit=lambda *given: self.stages.verify_commit(*given),
            complete=self.completion.complete,
            mask=lambda text: mask(text, secrets),
            leftovers=LeftoverWorktrees(
                self._context.store,
                self._context.workspace,
                host=self._context.workspace.remote.worktree_host(machine_id()),
                end_processes=lambda task: self.stages.end_leftovers(task),
                on_release=self.resources.release,
                is_archived=self._archive_hint,
            ),
        )

    @cached_property
    def lookup(self) -> RunLookup:
        from yaoki.engine.commands.lookup import RunLookup

        return RunLookup(self._context.store, self._archive_hint, self._find_elsewhere)

    def _find_elsewhere(self, text: str) -> Unknown | None:
        """The error for a run or task of another checkout; for no name, for all their runs."""
        from yaoki.app.other_checkouts import find_run_elsewhere, make_runs_elsewhere_error

        if not text:
            return make_runs_elsewhere_error(self._context)
        return find_run_elsewhere(self._context, text)

    def _archive_hint(self, text: str) -> str:
        """The remedy for the name of an archived run or task, and for no name at all; empty when
        nothing is archived.

        A shorter text could as well be the name of a task.
        """
        run_id = text.removeprefix("yaoki/").partition("-")[0]
        if text and len(run_id) < ID_CHARS_MIN:
            return ""
        from yaoki.adapters.store.tables.retention import find_archive_files

        archives = find_archive_files(self._context.store.database, run_id)
        folder = self._context.yaoki_folder / "archive"
        if archives and not text:
            return f"yaoki run PLAN; the archives: ls {folder}"
        stored = {run.id for run in self._context.store.runs()} if archives else set()
        files = [name for archived, name in archives.items() if archived not in stored]
        if len(files) != 1:
            return ""
        return _describe_archive(folder / files[0])

    @cached_property
    def extend_command(self) -> ExtendCommand:
        from yaoki.engine.commands.extend import ExtendCommand

        return ExtendCommand(self._context.store)

    @cached_property
    def recheck_command(self) -> RecheckCommand:
        from yaoki.engine.commands.recheck import RecheckCommand

        context = self._context
        return RecheckCommand(context.store, context.workspace.branches, context.clock)

    @cached_property
    def plan_answers(self) -> PlanAnswerReader:
        """Reads the tasks that a planner, a person or an agent adds to a run."""
        from yaoki.app.planner_answer import PlanAnswerReader

        limit = self._context.settings.limits.task_text_bytes
        return PlanAnswerReader(self._context.store, limit)

    @cached_property
    def stages(self) -> Stages:
        from yaoki.adapters.agents import takes_tool_server
        from yaoki.app.planner_answer import read_agent_output
        from yaoki.core.settings.settings import AdoptionMode
        from yaoki.engine.stage_settings import StageSettings
        from yaoki.engine.stages.stages import AgentPorts, CheckPorts, Stages
        from yaoki.formats import quality
        from yaoki.formats.prompts import PromptLibrary

        limits = self._context.settings.limits
        lease = timedelta(seconds=limits.lease_s)
        prompts = self._context.yaoki_folder / "prompts"
        return Stages(
            self._context.workspace,
            self._context.processes,
            self._context.clock,
            StageSettings(
                folder=self._context.runs_folder,
                host=self._context.workspace.remote.worktree_host(machine_id()),
                lease=lease,
                adopt=limits.adopt is AdoptionMode.ADOPT,
                snapshots=self._context.settings.recovery.enable_snapshots,
                disk_free_min=limits.disk_free_bytes,
                memory_free_min=limits.memory_free_bytes,
                output_bytes_max=limits.output_bytes,
                prompt_bytes_max=limits.prompt_bytes,
                agent_wait=timedelta(seconds=limits.agent_wait_s),
                hang_warning=timedelta(seconds=limits.hang_warning_s),
                copy_setup=self._context.settings.setup.copy,
                environment=filter_environment(os.environ, COMMAND_VARIABLES),
                worker_environment=dict(os.environ),
                agent_environment=self._context.agent_variables,
                tool_server=TOOL_SERVER if self._context.settings.mcp.offer else (),
                quarantine=self._context.settings.quarantine,
            ),
            AgentPorts(
                self._context.find_agent,
                lambda spec: PromptLibrary(prompts, spec.language, spec.prompts),
                self.plan_answers,
                read_agent_output,
                takes_tool_server,
                self._context.store.treatment_outcomes,
            ),
            CheckPorts(
                self.checks,
                self._context.proof_rooms,
                self._context.store,
                quality,
            ),
            find_task=self._context.store.task,
            free_capacity=self.measure_free_capacity,
            resources=self.resources,
        )

    @cached_property
    def checks(self) -> CheckDispatcher:
        from yaoki.adapters.checks import CheckDispatcher

        return CheckDispatcher(
            self._context.processes,
            timedelta(seconds=self._context.settings.limits.lease_s),
            find_agent=self._context.find_agent,
            checkout=self._context.repository.top,
            find_hidden=self._context.hidden_checks.find,
            surroundings=repr(self._context.settings.sandbox),
        )

    def measure_free_capacity(self) -> FreeCapacity:
        """Free space of the fuller of two disks: the store's and that of the worktrees.

        Asked before each claim, so a measurement counts for `CAPACITY_KEPT`.
        """
        from yaoki.engine.stage_settings import FreeCapacity

        now = self._context.store.clock.now()
        if self._capacity is None or now >= self._capacity[0]:
            folders = (self._context.yaoki_folder, self._context.worktrees_root)
            free, place = min((free_disk_bytes(folder), str(folder)) for folder in folders)
            measured = FreeCapacity(free, free_memory_bytes(), place)
            self._capacity = now + CAPACITY_KEPT, measured
        return self._capacity[1]

    @cached_property
    def resources(self) -> TaskResources:
        from yaoki.adapters.system.port_ranges import PortRangeFiles
        from yaoki.engine.stages.resources import TaskResources

        wanted = self._context.settings.resources
        return TaskResources(
            self._context.store,
            PortRangeFiles(state_home() / "ports"),
            self._context.store.clock,
            host=machine_id(),
            ports=wanted.port_ranges,
            prefix=wanted.database_prefix,
            worktree=lambda task: str(self._context.worktrees_root / task.id),
        )

    @cached_property
    def row_guard(self) -> RowGuard:
        from yaoki.engine.row_check import RowGuard

        return RowGuard(self._context.store, self._context.store.clock)

    @cached_property
    def completion(self) -> RunCompletion:
        from yaoki.engine.completion.completion import RunCompletion

        limits = self._context.settings.limits
        return RunCompletion(
            self._context.store,
            self._context.workspace,
            self._context.store.clock,
            lambda *given: self.stages.verify_commit(*given),
            timeout=timedelta(seconds=limits.deadline_s),
            hang=timedelta(seconds=limits.hang_s),
        )

    def build_worker(self, slots: int, tags: Sequence[str] = ()) -> Worker:
        from yaoki.engine.branch_guard import BranchGuard
        from yaoki.engine.loop.worker import Worker
        from yaoki.ports import Claimant

        return Worker(
            self._context.store,
            self.stages,
            BranchGuard(self._context.store, self._context.workspace),
            self._context.store.clock,
            Claimant(
                current_holder(),
                timedelta(seconds=self._context.settings.limits.lease_s),
                host=machine_id(),
                host_max=slots,
                is_alive=_is_alive_here,
                tags=frozenset(tags),
                place=self._context.workspace.remote.worktree_host(machine_id()),
            ),
        )

    def worker_tags(self, more: Sequence[str] = ()) -> tuple[str, ...]:
        """The tags of a worker here."""
        return tuple(sorted({*self._context.settings.worker.tags, *more}))

    def list_live_workers(self) -> list[WorkerSeen]:
        """Workers that are not known to be dead."""
        return [
            seen for seen in self._context.store.workers() if not is_holder_dead(seen.worker.holder)
        ]

    @property
    def daemon(self) -> Daemon:
        """The one background worker of this store and repository on this machine."""
        import hashlib

        from yaoki.adapters.processes.daemon import Daemon

        store = self._context.settings.store.url or str(self._context.yaoki_folder / "state.db")
        mark = hashlib.sha256(
            f"{store} {self._context.repository.common_dir}".encode()
        ).hexdigest()[:12]
        return Daemon(state_home() / "workers" / f"{self._context.repository.top.name}-{mark}")

    @property
    def notifier(self) -> Notifier:
        from yaoki.adapters.notify import open_channels
        from yaoki.engine.loop.notifier import Notifier

        channels = open_channels(
            self._context.settings.notify, self._context.repository.top, clock=self._context.clock
        )
        return Notifier(self._context.store, channels, self._context.store.clock)


def _is_alive_here(holder: str) -> bool:
    """Is the holder known to be alive?  Only workers of this machine can be."""
    return holder.startswith(f"{machine_id()}:") and not is_holder_dead(holder)


def _describe_archive(file: Path) -> str:
    """The content of an archive, and the command that shows its report; older ones have none."""
    from yaoki.adapters.store.run_archive import REPORT, read_manifest

    has_report = False
    with suppress(YaokiError):  # the command shows what is wrong with it
        has_report = REPORT in read_manifest(file).files
    content = "it was archived, with its journal, logs and commits"
    place = quote_path(str(file))
    if not has_report:
        return f"{content}: tar -tzf {place}"
    return f"{content}; its report: tar -xOzf {place} {REPORT}"
